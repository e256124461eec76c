"""What recursive elimination serves: explicit steps of trees and of loops, differentiated body by body."""

from __future__ import annotations

from mechgrad.steps.base import StepMethod
from mechgrad.steps.recursive.adjoint import RecursiveAdjoint
from mechgrad.steps.recursive.pieces import RecursiveSteps
from mechgrad.steps.recursive.tangent import RecursiveTangent
from mechgrad.steps.runge_kutta.methods import per_step
from mechgrad.steps.runge_kutta.step import adaptive, controlled_states, fixed, reported_at, states_before

METHODS = (
    StepMethod(
        "explicit steps by elimination with error control",
        lambda formulation, scheme, controlled: not scheme.implicit and scheme.chooses_steps and formulation.recursive,
        adaptive,
        RecursiveSteps,
        RecursiveTangent,
        RecursiveAdjoint,
        controlled_states,
        per_step,
        reported_at=reported_at,
    ),
    StepMethod(
        "explicit steps by elimination",
        lambda formulation, scheme, controlled: (
            not scheme.implicit and not scheme.chooses_steps and formulation.recursive
        ),
        fixed,
        RecursiveSteps,
        RecursiveTangent,
        RecursiveAdjoint,
        states_before,
        lambda record, per_step: record.steps,
        degree=5,
    ),
)
