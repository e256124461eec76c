"""Implicit marches: the Newmark family with fixed steps; what it takes to let them control their error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mechgrad.dynamics.kernels.saddle import no_ranks
from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT, DONE, TOO_FEW_DIGITS
from mechgrad.dynamics.system import INDEX_1
from mechgrad.errors import InputError
from mechgrad.model.mechanism import Mechanism
from mechgrad.steps.cuts import CUTTABLE, Segment, divided, next_divided, place, put_end
from mechgrad.steps.failures import REASONS, ended, taken_again
from mechgrad.steps.independent.choices import Choosing
from mechgrad.steps.newmark.kernels import controlled as _controlled
from mechgrad.steps.newmark.kernels import march as _kernels
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.newmark.kernels.step_length import Limits, Wanted
from mechgrad.steps.newmark.marched import elimination_of, marched
from mechgrad.steps.record import Record, recorded
from mechgrad.steps.stopped import Nodes, stopped_between
from mechgrad.steps.stops import crossing
from mechgrad.steps.task import Task
from mechgrad.typing import Array, FloatArray

DEGREE = 3  # of polynomials between steps, which are of order two


class Run:
    """Arrays of one march of implicit steps, and how to advance them.

    arrays : (outputs, .) of q, v, a, the memory of the scheme, multipliers, the memory before projections, norms and
        iterations
    """

    choosing: Choosing | None = None  # of Matrix R

    def __init__(self, task: Task, outputs: int) -> None:
        if not task.single:
            raise InputError("implicit schemes take one start; call simulate once per start, or use scheme 'rk4'.")
        self.task, system = task, task.system
        self.ranks, self.divisions = no_ranks(), dict(task.divisions or {})
        n, m = system.model.n_v, system.n_constraints
        redundant = bool(system.redundant(task.q[0], task.t0))
        settings = task.formulation.settings(task.scheme.numbers, n + m, redundant)
        assert settings is not None
        self.settings = settings._replace(scales=system.row_scales(task.q[0], task.t0))
        found = elimination_of(task, self.settings)
        self.sparse, self.dense_steps = None if found is None else found.record(system.dtype), 0
        dtype = task.q.dtype
        self.arrays: list[Array] = [np.empty((outputs, task.q.shape[1]), dtype)]
        self.arrays += [np.empty((outputs, k), dtype) for k in (n, n, n, m, n)]
        self.arrays += [np.zeros((outputs, 6)), np.zeros(outputs, np.int64)]
        Q, V, A, X, L, S, norms, _ = self.arrays
        Q[0], V[0] = task.q[0], task.v[0]
        A[0], L[0] = self.first_accelerations()
        X[0] = S[0] = self.first_memory(Q[0], V[0], A[0])
        norms[0, :3] = task.norms(np.array([task.t0]), Q[:1], V[:1], A[:1])[0]

    def first_accelerations(self) -> tuple[Array, Array]:
        """Accelerations and multipliers at the start."""
        task = self.task
        a, lam, _, reason = task.system.accelerations(task.q, task.v, np.array([task.t0]), INDEX_1)
        if reason != DONE:
            nothing = recorded(
                task, np.zeros(0), task.q[:0], task.v[:0], a=task.v[:0], multipliers=lam[:0], norms=np.zeros((0, 3)),
                iterations=np.zeros(0, np.int64), steps=0, rejected=0, ended=REASONS[reason],
            )  # fmt: skip
            raise ended(task, reason, task.t0, nothing, "Look at the start.")
        return a[0], lam[0]

    def first_memory(self, q: Array, v: Array, a: Array) -> Array:
        """The memory of the scheme at the start: the accelerations."""
        return a

    def march(
        self, choosing: Choosing | None, ranks: Array, h: float, t: float, every: int, arrays: list[Array]
    ) -> Any:
        """The compiled march from row 0 of the arrays on: (rows written, reason, time)."""
        found, dense = marched(self.mechanism, self.settings, self.sparse, ranks, h, t, every, arrays)
        self.dense_steps += dense
        return found

    @property
    def mechanism(self) -> Mechanism:
        """The record that the march reads."""
        return self.task.system.T

    def march_held(self, steps: FloatArray) -> Any:
        """All steps of another march, time and length of each (k, 2): (rows written, reason, time)."""
        T, settings, sparse = self.mechanism, self.settings, self.sparse
        ranks = self.ranks.copy()
        found = _kernels.march_held(T, settings, self.ranks, steps, Samples(*self.arrays), sparse)
        if found[1] == TOO_FEW_DIGITS:
            self.ranks[:], self.dense_steps = ranks, self.dense_steps + len(steps)
            found = _kernels.march_held(T, settings, self.ranks, steps, Samples(*self.arrays))
        return found

    def march_controlled(self, workspace: Any, limits: Limits, wanted: Wanted) -> tuple[int, int]:
        """The compiled march with error control, from where it stands: (instants done, reason)."""
        T, settings, ranks = self.mechanism, self.settings, self.ranks
        found: tuple[int, int] = _controlled.march_controlled(T, workspace, settings, ranks, limits, wanted)
        return found

    def advance(self, first: int, last: int, t: Array, every: int, h: float) -> tuple[int, int, float]:
        """From output `first` to `last`: (outputs written, reason, time). Steps that fail are divided."""
        k = first
        while k < last:
            end = next_divided(self.divisions, k * every, last * every) // every
            if end > k:
                saved = None if self.choosing is None else (self.choosing.saved(), self.ranks.copy())
                got, reason, at = self._whole(k, end, t, every, h)
                k, before = k + int(got) - 1, k
                if reason != DONE and (reason not in CUTTABLE or self.laws_failed or self.undetermined(reason, at)):
                    return k + 1 - first, int(reason), float(at)
                if reason == DONE:
                    continue
                if saved is not None:
                    # choices of steps behind the last output are to be made again
                    assert self.choosing is not None
                    self.choosing.back_to(saved[0])
                    self.ranks[:] = saved[1]
                    self._whole(before, k, t, every, h)
            segments, reason, at = self.divided(self.choosing, k, t, every, h, self.ranks)
            if reason != DONE:
                return k + 1 - first, reason, at
            put_end(segments, self.arrays, k + 1)
            k += 1
        return last - first + 1, DONE, float(t[last])

    def _whole(self, first: int, last: int, t: Array, every: int, h: float) -> Any:
        """The compiled march from output `first` to `last`, none of whose steps is divided."""
        return self.march(self.choosing, self.ranks, h, t[first], every, [x[first : last + 1] for x in self.arrays])

    def undetermined(self, reason: int, at: float) -> bool:
        """Whether a step failed so that no part of it can do better."""
        return False

    @property
    def laws_failed(self) -> bool:
        """Whether a law in Python raised an error."""
        return bool(self.task.system.users.errors)

    def divided(
        self, choosing: Choosing | None, k: int, t: Array, every: int, h: float, ranks: Array
    ) -> tuple[list[Segment], int, float]:
        """The steps from output k to the next, one by one: those that fail are divided."""

        def march(ranks: Array, h: float, t: float, every: int, arrays: list[Array]) -> Any:
            saved = None if choosing is None else choosing.saved()
            found = self.march(choosing, ranks, h, t, every, arrays)
            if choosing is not None and saved is not None and found[1] != DONE:
                choosing.back_to(saved)
            return found

        steps, start = range(k * every, (k + 1) * every), [x[k] for x in self.arrays]
        return divided(march, ranks, h, float(t[k]), self.divisions, steps, start)

    def record(self, t: Array, count: int, steps: int, rejected: int, why: str) -> Record:
        """The result of the first `count` outputs."""
        Q, V, A, X, L, S, norms, iterations = (x[:count] for x in self.arrays)
        return recorded(
            self.task, t[:count], Q, V, a=A, multipliers=L, norms=norms[:, :3], iterations=iterations, steps=steps,
            rejected=rejected, ended=why, settings=self.settings, memory=X, solved=S, projected=norms[:, 3] != 0.0,
            choices=None if self.choosing is None else self.choosing.taken(), divisions=self.divisions,
            dense_steps=self.dense_steps,
        )  # fmt: skip

    def stopped(self, t: Array, k: int, every: int, h: float) -> Record:
        """The motion until the stop condition changes sign between outputs k and k + 1."""
        marched = self.record(t, k + 2, (k + 1) * every, 0, "duration")
        nodes = Nodes(t[k : k + 2], *(x[k : k + 2] for x in self.arrays[:3]))
        if every > 1:
            held = replace(self.task, choices=marched.choices, hold=True)
            choosing = held.choosing(place(self.divisions, k * every))
            segments, reason, at = self.divided(choosing, k, t, every, h, no_ranks())
            taken_again(reason, at)
            # of a step that was divided, its end alone
            whole = [[x[:1] for x in segments[0].arrays]]
            whole += [[x[1:] if s.h == h else x[-1:] for x in s.arrays] for s in segments]
            states = [np.concatenate(x) for x in zip(*(arrays[:3] for arrays in whole), strict=True)]
            nodes = Nodes(t[k] + h * np.arange(every + 1), *states)
        return stopped_between(marched, k, nodes, h, DEGREE)


def fixed(task: Task, kind: type[Run] = Run) -> Record:
    """Steps of one length."""
    outputs, every, h = task.steps()
    run = kind(task, outputs)
    t = task.t0 + np.linspace(0.0, task.duration, outputs)
    task.fills(t, run.arrays[0])
    for first, last in task.parts(outputs):
        got, reason, at = run.advance(first, last, t, every, h)
        end = first + got
        if reason != DONE:
            reason = task.why(reason, run.choosing, at)
            if reason == CHANGE_POINT:  # noticed when it had been passed
                end = max(1, int(np.sum(t[:end] < at - 0.5 * h)))
            partial = run.record(t, end, (end - 1) * every, 0, REASONS[reason])
            hint = "Take a shorter step, or look at what happens there."
            raise ended(task, reason, at, partial, hint, run.choosing)
        if task.stop is not None:
            crossed = crossing(task.stop, t[first:end], run.arrays[0][first:end], run.arrays[1][first:end])
            if crossed is not None:
                return run.stopped(t, first + crossed, every, h)
        task.report(last / (outputs - 1), t[last])
    return run.record(t, outputs, every * (outputs - 1), 0, "duration")
