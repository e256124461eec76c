"""What steps in independent coordinates serve."""

from __future__ import annotations

from collections.abc import Iterator

from mechgrad.dynamics.states import States
from mechgrad.steps.base import StepMethod
from mechgrad.steps.matrix_r.pieces import IndependentSteps
from mechgrad.steps.matrix_r.step import march
from mechgrad.steps.record import Record


def _states_after(record: Record) -> Iterator[States]:
    steps = IndependentSteps(record)
    for span in steps.pieces(0):
        yield steps.taken(span).states.rows(slice(1, None))


METHODS = (
    StepMethod(
        "implicit steps in independent coordinates",
        lambda formulation, scheme, controlled: scheme.implicit and formulation.independent_coordinates,
        march,
        IndependentSteps,
        _states_after,
        lambda record, per_step: record.steps,
        smooth_reports=False,
    ),
)
