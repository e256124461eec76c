"""Implicit marches of open trees by fixed-point iteration on the accelerations."""

from __future__ import annotations

from typing import Any

from mechgrad.model.mechanism import Mechanism
from mechgrad.steps.independent.choices import Choosing
from mechgrad.steps.newmark.control import controlled, nodes_of
from mechgrad.steps.newmark.kernels import controlled as _controlled
from mechgrad.steps.newmark.kernels import march as _kernels
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.newmark.kernels.step_length import Limits, Wanted
from mechgrad.steps.newmark.step import Run, fixed
from mechgrad.steps.record import Record
from mechgrad.steps.task import Task
from mechgrad.typing import Array, FloatArray


class FixedPointRun(Run):
    """Steps by fixed-point iteration on the accelerations of an open tree."""

    @property
    def mechanism(self) -> Mechanism:
        return self.task.system.recursive

    def march(
        self, choosing: Choosing | None, ranks: Array, h: float, t: float, every: int, arrays: list[Array]
    ) -> Any:
        T, settings = self.mechanism, self.settings
        return _kernels.march_fixed_point(T, settings, ranks, h, t, every, Samples(*arrays))

    def march_held(self, steps: FloatArray) -> Any:
        into = Samples(*self.arrays)
        return _kernels.march_held_fixed_point(self.mechanism, self.settings, self.ranks, steps, into)

    def march_controlled(self, workspace: Any, limits: Limits, wanted: Wanted) -> tuple[int, int]:
        T, settings, ranks = self.mechanism, self.settings, self.ranks
        found: tuple[int, int] = _controlled.march_controlled_fixed_point(T, workspace, settings, ranks, limits, wanted)
        return found


def fixed_point(task: Task) -> Record:
    """Steps of one length."""
    return fixed(task, FixedPointRun)


def controlled_fixed_point(task: Task) -> Record:
    """Steps that keep their local error within rtol and atol; or those that are held."""
    return controlled(task, FixedPointRun)


def nodes_by_fixed_point(record: Record) -> Record:
    """A march with error control with the states at the ends of all its steps, taken again once."""
    return nodes_of(record, FixedPointRun)
