"""What explicit steps serve, with error control and without."""

from __future__ import annotations

from mechgrad.steps.base import StepMethod
from mechgrad.steps.record import Record
from mechgrad.steps.runge_kutta.adjoint import RungeKuttaAdjoint
from mechgrad.steps.runge_kutta.pieces import RungeKuttaSteps
from mechgrad.steps.runge_kutta.step import adaptive, controlled_states, fixed, reported_at, states_before
from mechgrad.steps.runge_kutta.tangent import RungeKuttaTangent


def per_step(record: Record, per_step: int) -> int:
    """The least multiple of the reported intervals with at least `per_step` in each step."""
    reported = len(record.t) - 1
    return reported * -(-per_step * record.steps // reported)


METHODS = (
    StepMethod(
        "explicit steps with error control",
        lambda formulation, scheme, controlled: (
            not scheme.implicit and scheme.chooses_steps and not formulation.recursive
        ),
        adaptive,
        RungeKuttaSteps,
        RungeKuttaTangent,
        RungeKuttaAdjoint,
        controlled_states,
        per_step,
        reported_at=reported_at,
    ),
    StepMethod(
        "explicit steps",
        lambda formulation, scheme, controlled: (
            not scheme.implicit and not scheme.chooses_steps and not formulation.recursive
        ),
        fixed,
        RungeKuttaSteps,
        RungeKuttaTangent,
        RungeKuttaAdjoint,
        states_before,
        lambda record, per_step: record.steps,
        degree=5,
    ),
)
