"""What steps of the Newmark family serve."""

from __future__ import annotations

from collections.abc import Iterator

from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.states import States
from mechgrad.steps.base import StepMethod
from mechgrad.steps.newmark.adjoint import NewmarkAdjoint
from mechgrad.steps.newmark.control import controlled, nodes_of
from mechgrad.steps.newmark.pieces import NewmarkSteps, states_after
from mechgrad.steps.newmark.step import fixed
from mechgrad.steps.newmark.tangent import NewmarkTangent
from mechgrad.steps.record import Record
from mechgrad.steps.schemes import Scheme


def _newton(formulation: Formulation, scheme: Scheme) -> bool:
    return scheme.implicit and not formulation.independent_coordinates and not formulation.fixed_point


def _every_step(record: Record, per_step: int) -> int:
    return record.steps


def _states(record: Record) -> Iterator[States]:
    yield nodes_of(record).states(slice(1, None))


METHODS = (
    StepMethod(
        "implicit steps", lambda f, s, free: _newton(f, s) and not free, fixed,
        NewmarkSteps, NewmarkTangent, NewmarkAdjoint,
        states_after, _every_step, notices_rank=True, smooth_reports=False,
    ),
    StepMethod(
        "implicit steps with error control", lambda f, s, free: _newton(f, s) and free, controlled,
        NewmarkSteps, NewmarkTangent, NewmarkAdjoint,
        _states, _every_step, notices_rank=True, smooth_reports=False, nodes=nodes_of,
    ),
)  # fmt: skip
