"""What fixed-point iteration serves: implicit steps of open trees whose accelerations are eliminated body by body."""

from __future__ import annotations

from collections.abc import Iterator

from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.states import States
from mechgrad.steps.base import StepMethod
from mechgrad.steps.fixed_point.adjoint import FixedPointAdjoint
from mechgrad.steps.fixed_point.pieces import FixedPointSteps, states_after
from mechgrad.steps.fixed_point.step import controlled_fixed_point, fixed_point, nodes_by_fixed_point
from mechgrad.steps.fixed_point.tangent import FixedPointTangent
from mechgrad.steps.record import Record
from mechgrad.steps.schemes import Scheme


def _serves(formulation: Formulation, scheme: Scheme) -> bool:
    return scheme.implicit and formulation.fixed_point


def _every_step(record: Record, per_step: int) -> int:
    return record.steps


def _states(record: Record) -> Iterator[States]:
    yield nodes_by_fixed_point(record).states(slice(1, None))


METHODS = (
    StepMethod(
        "fixed-point iteration", lambda f, s, free: _serves(f, s) and not free, fixed_point,
        FixedPointSteps, FixedPointTangent, FixedPointAdjoint,
        states_after, _every_step, notices_rank=True, smooth_reports=False,
    ),
    StepMethod(
        "fixed-point iteration with error control", lambda f, s, free: _serves(f, s) and free, controlled_fixed_point,
        FixedPointSteps, FixedPointTangent, FixedPointAdjoint,
        _states, _every_step, notices_rank=True, smooth_reports=False, nodes=nodes_by_fixed_point,
    ),
)  # fmt: skip
