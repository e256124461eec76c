"""What steps in independent coordinates serve."""

from __future__ import annotations

from collections.abc import Iterator

from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.states import States
from mechgrad.steps.base import StepMethod
from mechgrad.steps.matrix_r.adjoint import IndependentAdjoint
from mechgrad.steps.matrix_r.pieces import IndependentSteps
from mechgrad.steps.matrix_r.step import march, nodes
from mechgrad.steps.matrix_r.tangent import IndependentTangent
from mechgrad.steps.record import Record
from mechgrad.steps.schemes import Scheme


def _states_after(record: Record) -> Iterator[States]:
    steps = IndependentSteps(record)
    for span in steps.pieces(0):
        yield steps.taken(span).states.rows(slice(1, None))


def _states_of_nodes(record: Record) -> Iterator[States]:
    yield nodes(record).states(slice(1, None))


def _serves(formulation: Formulation, scheme: Scheme) -> bool:
    return scheme.implicit and formulation.independent_coordinates


def _every_step(record: Record, per_step: int) -> int:
    return record.steps


METHODS = (
    StepMethod(
        "implicit steps in independent coordinates", lambda f, s, free: _serves(f, s) and not free, march,
        IndependentSteps, IndependentTangent, IndependentAdjoint, _states_after, _every_step, smooth_reports=False,
    ),
    StepMethod(
        "implicit steps in independent coordinates with error control", lambda f, s, free: _serves(f, s) and free,
        march, IndependentSteps, IndependentTangent, IndependentAdjoint,
        _states_of_nodes, _every_step, smooth_reports=False, nodes=nodes,
    ),
)  # fmt: skip
