"""What recursive elimination serves: explicit steps of open trees, differentiated body by body."""

from __future__ import annotations

from mechgrad.steps.base import StepMethod
from mechgrad.steps.recursive.pieces import RecursiveSteps
from mechgrad.steps.runge_kutta.step import fixed, states_before

METHODS = (
    StepMethod(
        "explicit steps of open trees",
        lambda formulation, scheme, controlled: (
            not scheme.implicit and not scheme.chooses_steps and formulation.recursive
        ),
        fixed,
        RecursiveSteps,
        states_before,
        lambda record, per_step: record.steps,
        degree=5,
    ),
)
