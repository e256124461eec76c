"""What steps of the Newmark family serve."""

from __future__ import annotations

from mechgrad.dynamics.formulations import Formulation
from mechgrad.steps.base import StepMethod
from mechgrad.steps.newmark.pieces import NewmarkSteps, states_after
from mechgrad.steps.newmark.step import controlled, controlled_at, fixed
from mechgrad.steps.rank import reported
from mechgrad.steps.record import Record
from mechgrad.steps.schemes import Scheme


def _serves(formulation: Formulation, scheme: Scheme, controlled: bool) -> bool:
    return scheme.implicit and not formulation.independent_coordinates and not formulation.fixed_point


def _every_step(record: Record, per_step: int) -> int:
    return record.steps


def _as_reported(record: Record, per_step: int) -> int:
    """Steps that an implicit scheme controlled cannot be taken again."""
    return len(record.t) - 1


METHODS = (
    StepMethod(
        "implicit steps", lambda f, s, free: _serves(f, s, free) and not free, fixed, NewmarkSteps, states_after,
        _every_step, notices_rank=True, smooth_reports=False,
    ),
    StepMethod(
        "implicit steps with error control", lambda f, s, free: _serves(f, s, free) and free, controlled, NewmarkSteps,
        reported, _as_reported, notices_rank=True, smooth_reports=False, reported_at=controlled_at,
    ),
)  # fmt: skip
