"""Implicit marches of Matrix R: the scheme acts on the independent coordinates, which are chosen along the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.model.mechanism import N_ALL
from mechgrad.steps.independent.choices import Choosing
from mechgrad.steps.independent.dead_points import at_dead_point
from mechgrad.steps.independent.kernels.choices import Choice
from mechgrad.steps.matrix_r.kernels import march as _kernels
from mechgrad.steps.matrix_r.kernels.controlled import NOTES, march_controlled_independent
from mechgrad.steps.newmark.control import controlled, nodes_of
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.newmark.kernels.step_length import Limits, Wanted
from mechgrad.steps.newmark.step import Run, fixed
from mechgrad.steps.record import Record
from mechgrad.steps.task import Task
from mechgrad.typing import Array, FloatArray


class IndependentRun(Run):
    """A march in independent coordinates."""

    def __init__(self, task: Task, outputs: int) -> None:
        self.choosing = task.choosing()
        super().__init__(task, outputs)

    def first_accelerations(self) -> tuple[Array, Array]:
        """Those of the mechanism, with multipliers of the rows that are solved, as in the steps that follow."""
        a, lam = super().first_accelerations()
        system, choices = self.task.system, self.task.choices
        assert choices is not None
        if choices.rank == system.n_constraints:
            return a, lam
        J = system.constraints(self.task.q, t=self.task.t0).J[0]
        rows = choices.picks[0, : choices.rank]
        solved = np.zeros_like(lam)
        solved[rows] = np.linalg.lstsq(J[rows].T, J.T @ lam, rcond=None)[0]
        return a, solved

    def first_memory(self, q: Array, v: Array, a: Array) -> Array:
        """Second rates of the independent coordinates."""
        system, choices = self.task.system, self.task.choices
        assert choices is not None
        last, t = int(system.T.ints[N_ALL]), np.array([self.task.t0])
        rows = evaluate_rows(system.T, q[None], v[None], a[None], t, 0, last)
        chosen = choices.picks[0, choices.rank :]
        x = np.zeros_like(a)
        x[: len(chosen)] = rows.seconds[0, chosen]
        return x

    def march(
        self, choosing: Choosing | None, ranks: Array, h: float, t: float, every: int, arrays: list[Array]
    ) -> Any:
        assert choosing is not None
        before = ranks.copy()

        def taken(choice: Choice) -> Any:
            ranks[:] = before  # once more, if there was not room for all changes of choice
            return _kernels.march_independent(
                self.task.system.T, choice, self.settings, ranks, h, t, every, Samples(*arrays)
            )

        return choosing.run(taken)

    def undetermined(self, reason: int, at: float) -> bool:
        """Whether the march ended at a change point or at a dead point of its coordinates."""
        assert self.choosing is not None
        there = at_dead_point(self.task.system, self.choosing, at)
        return there or self.task.why(reason, self.choosing, at) == CHANGE_POINT

    def march_held(self, steps: FloatArray) -> Any:
        def taken(choice: Choice) -> Any:
            T, into = self.task.system.T, Samples(*self.arrays)
            return _kernels.march_independent_held(T, choice, self.settings, self.ranks, steps, into)

        assert self.choosing is not None
        return self.choosing.run(taken)

    def march_controlled(self, workspace: Any, limits: Limits, wanted: Wanted) -> tuple[int, int]:
        assert self.choosing is not None
        self.choosing.extend_log(NOTES)
        T, choice, settings, ranks = self.task.system.T, self.choosing.record, self.settings, self.ranks
        found: tuple[int, int] = march_controlled_independent(T, choice, workspace, settings, ranks, limits, wanted)
        return found


def march(task: Task) -> Record:
    """Fixed steps, or steps that control their error."""
    return fixed(task, IndependentRun) if task.step is not None else controlled(task, IndependentRun)


def nodes(record: Record) -> Record:
    """The march that controlled its error with the states at the ends of all its steps."""
    return nodes_of(record, IndependentRun)
