"""What fixed-point iteration serves: implicit steps of open trees whose accelerations are eliminated body by body."""

from __future__ import annotations

from mechgrad.steps.base import StepMethod
from mechgrad.steps.fixed_point.pieces import FixedPointSteps, states_after
from mechgrad.steps.fixed_point.step import fixed_point

METHODS = (
    StepMethod(
        "fixed-point iteration",
        lambda formulation, scheme, controlled: scheme.implicit and formulation.fixed_point,
        fixed_point,
        FixedPointSteps,
        states_after,
        lambda record, per_step: record.steps,
        notices_rank=True,
        smooth_reports=False,
    ),
)
