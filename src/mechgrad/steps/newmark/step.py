"""Implicit marches: the Newmark family with fixed steps, or with steps that control their error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mechgrad.dynamics.kernels.accelerations import TOO_SMALL
from mechgrad.dynamics.kernels.saddle import no_ranks
from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.system import INDEX_1
from mechgrad.errors import InputError
from mechgrad.kinematics.mechanism import evaluate_rows
from mechgrad.model.mechanism import N_ALL
from mechgrad.simulation.trajectory import Trace, Trajectory
from mechgrad.steps.cuts import CUTTABLE, Segment, divided, next_divided, place, put_end
from mechgrad.steps.matrix_r.choices import Choices, Choosing
from mechgrad.steps.matrix_r.kernels.choice import Choice
from mechgrad.steps.matrix_r.kernels.march import march_independent
from mechgrad.steps.newmark.kernels import controlled as _controlled
from mechgrad.steps.newmark.kernels import march as _kernels
from mechgrad.steps.newmark.kernels.states import Samples
from mechgrad.steps.runge_kutta.step import first_step
from mechgrad.steps.schemes import NewmarkFamily
from mechgrad.steps.task import CHANGE_POINT, DONE, MOST_STEPS, REASONS, Job, bisected, crossing, taken_again
from mechgrad.typing import Array

ENOUGH = 1e-13  # share of defects that a projection leaves under error control, which measures rank by what is left


class _Run:
    """Arrays of one march and how to advance them."""

    def __init__(self, job: Job, outputs: int) -> None:
        if not job.single:
            raise InputError("implicit schemes take one start; call simulate once per start, or use scheme 'rk4'.")
        assert isinstance(job.scheme, NewmarkFamily)
        self.job, system = job, job.system
        self.choosing, self.ranks = job.choosing(), no_ranks()
        self.divisions = dict(job.divisions or {})
        n, m = system.model.n_v, system.n_constraints
        redundant = bool(system.redundant(job.q[0], job.t0))
        settings = job.formulation.settings(job.scheme.numbers, n + m, redundant)
        assert settings is not None
        self.settings = settings._replace(scales=system.row_scales(job.q[0], job.t0))
        dtype = job.q.dtype
        self.arrays: list[Array] = [np.empty((outputs, job.q.shape[1]), dtype)]
        self.arrays += [np.empty((outputs, k), dtype) for k in (n, n, n, m, n)]
        self.arrays += [np.zeros((outputs, 6)), np.zeros(outputs, np.int64)]
        Q, V, A, X, L, S, norms, _ = self.arrays
        Q[0], V[0] = job.q[0], job.v[0]
        A[0], L[0] = self._start()
        X[0] = S[0] = self._memory(Q[0], V[0], A[0])
        norms[0, :3] = job.norms(np.array([job.t0]), Q[:1], V[:1], A[:1])[0]
        if job.formulation.fixed_point:
            if m:
                raise InputError(f"{job.formulation.name} is for open trees.")
            self.kernel: Any = _kernels.march_fixed_point
        else:
            self.kernel = _kernels.march

    def _start(self) -> tuple[Array, Array]:
        job = self.job
        a, lam, _, reason = job.system.accelerations(job.q, job.v, np.array([job.t0]), INDEX_1)
        if reason != DONE:
            empty = job.q[:0], job.v[:0]
            partial = job.trajectory(
                np.zeros(0), *empty, a=job.v[:0], multipliers=lam[:0], norms=np.zeros((0, 3)),
                iterations=np.zeros(0, np.int64), steps=0, rejected=0, ended=REASONS[reason],
            )  # fmt: skip
            raise job.failed(reason, job.t0, partial, "Look at the start.")
        if job.choices is None or job.choices.rank == job.system.n_constraints:
            return a[0], lam[0]
        # multipliers of the rows that are solved, as in the steps that follow
        J = job.system.constraints(job.q, t=job.t0).J[0]
        rows = job.choices.picks[0, : job.choices.rank]
        solved = np.zeros_like(lam[0])
        solved[rows] = np.linalg.lstsq(J[rows].T, J.T @ lam[0], rcond=None)[0]
        return a[0], solved

    def _memory(self, q: Array, v: Array, a: Array) -> Array:
        """The memory of the scheme at the start: accelerations, or those of the independent coordinates."""
        system = self.job.system
        choices = self.job.choices
        if choices is None:
            return a
        rows = evaluate_rows(system.T, q[None], v[None], a[None], np.array([self.job.t0]), 0, int(system.T.ints[N_ALL]))
        free = choices.picks[0, choices.rank :]
        x = np.zeros_like(a)
        x[: len(free)] = rows.seconds[0, free]
        return x

    def march(
        self, choosing: Choosing | None, ranks: Array, h: float, t: float, every: int, arrays: list[Array]
    ) -> Any:
        """The compiled march."""
        arguments = self.settings, ranks, h, t, every, Samples(*arrays)
        if choosing is None:
            return self.kernel(self.job.system.T, *arguments)
        before = ranks.copy()

        def taken(c: Choice) -> Any:
            ranks[:] = before  # once more, if there was not room for all changes of choice
            return march_independent(self.job.system.T, c, *arguments)

        return choosing.run(taken)

    def advance(self, first: int, last: int, t: Array, every: int, h: float) -> tuple[int, int, float]:
        """From output `first` to `last`: (outputs written, reason, time). Steps that fail are divided."""
        k = first
        while k < last:
            end = next_divided(self.divisions, k * every, last * every) // every
            if end > k:
                saved = None if self.choosing is None else (self.choosing.saved(), self.ranks.copy())
                got, reason, at = self._whole(k, end, t, every, h)
                k, before = k + int(got) - 1, k
                if reason != DONE and (reason not in CUTTABLE or self.laws_failed or self._undetermined(reason, at)):
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

    def _undetermined(self, reason: int, at: float) -> bool:
        """Whether a step failed since independent coordinates do not tell any more: no part of it can."""
        return self.choosing is not None and self.job.is_undetermined(reason, self.choosing, at)

    @property
    def laws_failed(self) -> bool:
        """Whether a law in Python raised an error."""
        return bool(self.job.system.users.errors)

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

    @property
    def choices(self) -> Choices | None:
        """What was chosen so far."""
        return None if self.choosing is None else self.choosing.taken()

    def trajectory(self, t: Array, count: int, steps: int, rejected: int, ended: str) -> Trajectory:
        """The result of the first `count` outputs."""
        Q, V, A, X, L, S, norms, iterations = (x[:count] for x in self.arrays)
        return self.job.trajectory(
            t[:count], Q, V, a=A, multipliers=L, norms=norms[:, :3], iterations=iterations, steps=steps,
            rejected=rejected, ended=ended,
            trace=Trace(self.job, self.settings, X, S, norms[:, 3] != 0.0, self.choices, self.divisions),
        )  # fmt: skip

    def stopped(self, t: Array, k: int, every: int, steps: int) -> Trajectory:
        """The motion until the stop condition changes sign between outputs k and k + 1."""
        assert self.job.stop is not None
        held = replace(self.job, choices=self.choices, hold=True)

        def advance(time: float) -> tuple[Array, ...]:
            choosing = held.choosing(place(self.divisions, k * every))
            segments, reason, at = self.divided(choosing, k, t, every, (time - t[k]) / every, no_ranks())
            taken_again(reason, at)
            return tuple(x[-1] for x in segments[-1].arrays)

        low, state = bisected(self.job.stop, t, self.arrays[0], self.arrays[1], k, advance)
        count, times = k + 1, t[: k + 1]
        if state is not None:
            self.arrays = [np.concatenate([x[:count], y[None]]) for x, y in zip(self.arrays, state, strict=True)]
            count, times = count + 1, np.append(times, low)
        return self.trajectory(times, count, steps, 0, "stop")


def fixed(job: Job) -> Trajectory:
    """Steps of one length."""
    outputs, every, h = job.steps()
    run = _Run(job, outputs)
    t = job.t0 + np.linspace(0.0, job.duration, outputs)
    for first, last in job.parts(outputs):
        got, reason, at = run.advance(first, last, t, every, h)
        end = first + got
        if reason != DONE:
            reason = job.why(reason, run.choosing, at)
            if reason == CHANGE_POINT:  # noticed when it had been passed
                end = max(1, int(np.sum(t[:end] < at - 0.5 * h)))
            partial = run.trajectory(t, end, (end - 1) * every, 0, REASONS[reason])
            hint = "Take a shorter step, or look at what happens there."
            raise job.failed(reason, at, partial, hint, run.choosing)
        if job.stop is not None:
            crossed = crossing(job.stop, t[first:end], run.arrays[0][first:end], run.arrays[1][first:end])
            if crossed is not None:
                return run.stopped(t, first + crossed, every, (first + crossed) * every)
        job.report(last / (outputs - 1), t[last])
    return run.trajectory(t, outputs, every * (outputs - 1), 0, "duration")


def controlled(job: Job) -> Trajectory:
    """Steps that keep their local error within rtol and atol; results by cubic interpolation."""
    if isinstance(job.formulation, MatrixR) or job.formulation.fixed_point:
        raise InputError(f"{job.formulation.name} has no step control with implicit schemes; give a step.")
    if job.q.dtype == complex:
        raise InputError("step control takes real numbers; give a step.")
    if job.stop is not None:
        raise InputError("a stop condition with an implicit scheme needs a fixed step; give one.")
    samples = job.instants()
    run = _Run(job, samples)
    run.settings = run.settings._replace(enough=ENOUGH)
    t = job.t0 + np.linspace(0.0, job.duration, samples)
    T, arrays = job.system.T, run.arrays
    into = Samples(*arrays)
    room = _controlled.controlled_workspace(T, into, job.t0, first_step(job, INDEX_1))
    limits = _controlled.Limits(float(job.t0 + job.duration), float(job.rtol), float(job.atol), MOST_STEPS)
    for first, last in job.parts(samples):
        got, reason = _controlled.march_controlled(
            T, room, run.settings, run.ranks, limits, t[1 : last + 1], first, into
        )
        now = room[-1][0]
        at, steps, rejected = float(now["t"]), int(now["steps"]), int(now["rejected"])
        if reason != DONE:
            if reason == CHANGE_POINT:  # noticed when it had been passed
                got = max(1, int(np.sum(t[:got] < at - now["h_before"])))
            partial = run.trajectory(t, got, steps, rejected, REASONS[reason])
            hint = "Loosen rtol and atol, or look at what happens there."
            if reason == TOO_SMALL:
                hint = (
                    "Steps of a scheme of order two that would keep it are lost in rounding. Loosen rtol and atol, or "
                    "take Index1() or an open tree with scheme 'dop853', of order eight."
                )
            raise job.failed(reason, at, partial, hint)
        job.report(last / (samples - 1), at)
    return run.trajectory(t, samples, steps, rejected, "duration")
