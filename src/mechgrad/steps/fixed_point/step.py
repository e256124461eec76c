"""Implicit marches of open trees by fixed-point iteration on the accelerations."""

from __future__ import annotations

from typing import Any

from mechgrad.errors import InputError
from mechgrad.steps.independent.choices import Choosing
from mechgrad.steps.newmark.kernels import march as _kernels
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.newmark.step import Run, fixed
from mechgrad.steps.record import Record
from mechgrad.steps.task import Task
from mechgrad.typing import Array


class FixedPointRun(Run):
    """Steps by fixed-point iteration on the accelerations of an open tree."""

    def march(
        self, choosing: Choosing | None, ranks: Array, h: float, t: float, every: int, arrays: list[Array]
    ) -> Any:
        T = self.task.system.recursive
        return _kernels.march_fixed_point(T, self.settings, ranks, h, t, every, Samples(*arrays))


def fixed_point(task: Task) -> Record:
    """Steps of one length."""
    if task.step is None:
        raise InputError(f"{task.formulation.name} has no step control with implicit schemes; give a step.")
    return fixed(task, FixedPointRun)
