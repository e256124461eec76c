"""Motions in independent coordinates made by implicit steps, differentiated: Matrix R, direct and adjoint."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from mechgrad.dynamics.kernels.saddle import no_ranks
from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.states import (
    StateGradients,
    States,
    StateSlopes,
    as_complex,
    coordinate_slopes,
    linearised,
    slopes,
    velocity_slopes,
)
from mechgrad.errors import InputError
from mechgrad.model.mechanism import N_ALL
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.cuts import Segment, divided, next_divided, place
from mechgrad.steps.initial import InitialAccelerations
from mechgrad.steps.matrix_r.choices import Choices, Choosing, coordinate_rows
from mechgrad.steps.matrix_r.kernels import tangent as _kernels
from mechgrad.steps.matrix_r.kernels.march import march_independent
from mechgrad.steps.matrix_r.kernels.tangent import FreeColumns, IndependentBlocks, LevelTerms
from mechgrad.steps.newmark.derivative import CHUNK_BYTES
from mechgrad.steps.newmark.kernels.blocks import StateColumns
from mechgrad.steps.newmark.kernels.states import Samples
from mechgrad.steps.task import taken_again
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import Array, FloatArray, IntArray


class _Rows(NamedTuple):
    """W = [Gamma; B] and the partials of its rows, (nt, n, n) each: rates by q, second rates by q and by v."""

    W: FloatArray
    rate_q: FloatArray
    second_q: FloatArray
    second_v: FloatArray


class _Part(NamedTuple):
    """Some of the steps of a chunk; velocities of coordinates that are chosen anew with the first of them, or None."""

    here: slice
    anew: IntArray | None


class _Chunk(NamedTuple):
    """Steps of one length h [s] that are linearised together.

    first : how many steps were taken before, parts of divided ones counted
    states : after each of them;   reported : which of these are outputs, and `outputs` which of the motion's
    """

    h: float
    first: int
    states: States
    reported: slice
    outputs: slice


def _after(segment: Segment) -> States:
    """The states after each step of a segment."""
    Q, V, A, _, L, *_ = segment.arrays
    return States(Q, V, A, L, segment.t).rows(slice(1, None))


@final
class IndependentSteps:
    """The steps of a motion by Matrix R and a scheme of the Newmark family.

        W dq = [ -value_p; dz - z_p ],   W dv, W da likewise,   R^T (K dq + C dv + M da + r_p) = 0

    z are the independent coordinates, which the scheme acts on; q, v, a and the multipliers of a state follow from z,
    z', z'' and the model. Where others are chosen, they and their memory follow from q, v, a, and the choices are held
    as they were made. Only the reported instants of the motion are kept; steps between them are taken again.

    >>> start = mg.assemble(five_bar(), {"A": -2.3, "1": 1.7}, guess=five_bar_start())
    >>> swing = mg.simulate(five_bar(), start, duration=0.02, formulation="matrix-r", scheme="trapezoidal", step=0.01)
    >>> gravity = Parameters(swing, "gravity.y")
    >>> by_gravity = IndependentSteps(swing).direct(gravity, np.zeros((1, 4)), np.zeros((1, 4)))
    >>> by_gravity.q.shape, by_gravity.lam.shape  # instants, parameters, coordinates or constraints
    ((3, 1, 4), (3, 1, 2))
    """

    def __init__(self, motion: Trajectory) -> None:
        trace, outputs = motion.trace, len(motion.t) - 1
        form, choices = trace.job.formulation, trace.choices
        if not isinstance(form, MatrixR) or trace.settings is None or trace.memory is None or choices is None:
            raise InputError(
                f"the motion of {motion.model.name!r} was made by {motion.formulation} and {motion.scheme!r}, not by "
                "implicit steps of Matrix R; simulate with formulation=MatrixR(...) and a scheme such as 'trapezoidal'."
            )
        if outputs < 1 or motion.steps % outputs or motion.ended == "stop":
            raise InputError(
                f"the motion of {motion.model.name!r} has {motion.steps} steps between {outputs + 1} instants and ended"
                f" by {motion.ended!r}; its derivative needs steps of one length. Simulate without a stop condition."
            )
        self.motion, self.system, self.model, self.trace = motion, motion.system, motion.model, trace
        self.settings = trace.settings
        self.every = motion.steps // outputs
        self.h = float(motion.t[-1] - motion.t[0]) / motion.steps
        self.T, self.T_complex = self.system.T, as_complex(self.system.T)
        self.choices: Choices = choices
        self.n, self.m, self.rank = self.model.n_v, self.system.n_constraints, self.choices.rank
        self.freedom, self.all = self.n - self.rank, int(self.T.ints[N_ALL])
        self.start = self.choices.picks[0]
        rows = coordinate_rows(self.system) if not self.choices.named else np.full(self.n, -1)
        self.column = {int(row): j for j, row in enumerate(rows) if row >= 0}  # whose coordinate an offered row is

    # ---- the steps, a chunk at a time

    def chunks(self, columns: int, *, backwards: bool = False) -> Iterator[_Chunk]:
        """All steps; columns: vectors kept per step."""
        size = 8 * self.n * (3 * self.n + 4 * self.all + columns)
        per = max(1, int(np.clip(CHUNK_BYTES // size, 8, 4096)) // self.every)
        outputs = len(self.motion.t) - 1
        spans, first = [], 0
        while first < outputs:
            # outputs with a divided step between them stand alone
            last = next_divided(self.trace.divisions, first * self.every, min(first + per, outputs) * self.every)
            spans.append((first, max(last // self.every, first + 1)))
            first = spans[-1][1]
        for first, last in reversed(spans) if backwards else spans:
            found = self._between(first, last)
            yield from reversed(found) if backwards else found

    def _between(self, first: int, last: int) -> list[_Chunk]:
        """The steps from output `first` to `last`: one chunk, or one for each length where some are divided."""
        every, outputs = self.every, slice(first + 1, last + 1)
        taken = place(self.trace.divisions, first * every)
        if next_divided(self.trace.divisions, first * every, last * every) < last * every:
            segments = self._again(first)
            counts = [len(s.t) - 1 for s in segments]
            none = slice(0, 0), slice(0, 0)
            ends = [*[none] * (len(segments) - 1), (slice(counts[-1] - 1, None), outputs)]
            before = taken + np.cumsum([0, *counts[:-1]])
            return [_Chunk(s.h, int(k), _after(s), *end) for s, k, end in zip(segments, before, ends, strict=True)]
        if every == 1:
            return [_Chunk(self.h, taken, self._reported(outputs), slice(0, None), outputs)]
        parts = [_after(self._again(k)[0]) for k in range(first, last)]
        states = States(*(np.concatenate(x) for x in zip(*parts, strict=True)))
        return [_Chunk(self.h, taken, states, slice(every - 1, None, every), outputs)]

    def _reported(self, which: slice) -> States:
        motion = self.motion
        return States(motion.q, motion.v, motion.a, motion.multipliers, motion.t).rows(which)

    def _again(self, k: int) -> list[Segment]:
        """The steps from output k to the next, taken again: one segment, or more if some were divided."""
        motion, trace, every = self.motion, self.trace, self.every
        start = [motion.q, motion.v, motion.a, trace.memory, motion.multipliers, trace.solved]
        rows = [*(np.asarray(x)[k] for x in start), np.zeros(6), np.zeros((), np.int64)]
        choosing = Choosing(self.system, self.choices, hold=True, step=place(trace.divisions, k * every))

        def march(ranks: Array, h: float, t: float, every: int, arrays: list[Array]) -> Any:
            return march_independent(self.T, choosing.record, self.settings, ranks, h, t, every, Samples(*arrays))

        steps = range(k * every, (k + 1) * every)
        segments, reason, at = divided(
            march, no_ranks(), self.h, float(motion.t[k]), trace.divisions, steps, rows, hold=True
        )
        self.system.users.raise_pending()
        taken_again(reason, at)
        return segments

    def _picks(self, chunk: _Chunk) -> IntArray:
        """The rows of W in each step of a chunk."""
        return self.choices.at(np.arange(chunk.first, chunk.first + len(chunk.states.t)))

    def _parts(self, chunk: _Chunk) -> list[_Part]:
        """The steps of a chunk in parts with one choice each."""
        a, b = chunk.first, chunk.first + len(chunk.states.t)
        cuts = [a, *self.choices.changes(a, b).tolist(), b]
        return [_Part(slice(x - a, y - a), self._anew(x)) for x, y in pairwise(cuts)]

    def _anew(self, step: int) -> IntArray | None:
        """Velocities whose coordinates are chosen anew with a step, None if they stay."""
        if step == 0 or self.choices.named or step not in self.choices.first:
            return None
        return np.array([self.column[int(row)] for row in self.choices.at(np.array([step]))[0, self.rank :]])

    # ---- mechanics

    def _rows(self, states: States, J: FloatArray, rate_q: FloatArray, picks: IntArray) -> _Rows:
        _, second_q = coordinate_slopes(self.model, self.T_complex, states)
        second_v = velocity_slopes(self.model, self.T_complex, states, rate_q, holonomic=True)
        return _Rows(*(np.take_along_axis(x, picks[:, :, None], axis=1) for x in (J, rate_q, second_q, second_v)))

    def _blocks(self, states: States, picks: IntArray) -> IndependentBlocks:
        found = linearised(self.T, states)
        rows = self._rows(states, found.J, found.J_rate, picks)
        return IndependentBlocks(*(x.reshape(len(states.t), -1) for x in (found.K, found.C, found.M, *rows)))

    def _first_rows(self) -> _Rows:
        """The free rows at the start of the motion, (f, n_v) each."""
        states = self._reported(slice(0, 1))
        found = linearised(self.T, states)
        return _Rows(*(x[0, self.rank :] for x in self._rows(states, found.J, found.J_rate, self.start[None])))

    # ---- direct

    def direct(self, parameters: Parameters, dq: FloatArray, dv: FloatArray) -> StateSlopes:
        """Derivatives of all reported states, from those of the start (np, n_v)."""
        nt, count, n, m, rank = len(self.motion.t), len(parameters), self.n, self.m, self.rank
        da, dlam = InitialAccelerations(self.motion, self.start[:rank]).direct(parameters, dq, dv)
        out = [np.zeros((nt, k, count)) for k in (n, n, n, m)]
        for whole, start in zip(out, (dq, dv, da, dlam), strict=True):
            whole[0] = start.T
        B, rate_q, second_q, second_v = self._first_rows()
        at_start = self._parameter_terms(parameters, self._reported(slice(0, 1)), self.start[None], residual=False)
        _, *free = (x[0, rank:] for x in at_start)
        dz, dzd = B @ dq.T + free[0], B @ dv.T + rate_q @ dq.T + free[1]
        dzdd = B @ da.T + second_v @ dv.T + second_q @ dq.T + free[2]
        now = [dz, dzd, dzdd, dzdd.copy()]
        before = [whole[0] for whole in out[:3]]
        for chunk in self.chunks(8 * count):
            states, picks = chunk.states, self._picks(chunk)
            terms = self._parameter_terms(parameters, states, picks)
            after = [np.empty((len(states.t), k, count)) for k in (n, n, n, rank)]
            blocks = self._blocks(states, picks)
            for here, anew in self._parts(chunk):
                if anew is not None:
                    # a coordinate that is chosen anew, its rates, and the memory, which is its second rate
                    now = [np.array(before[k][anew], order="C") for k in (0, 1, 2, 2)]
                part = IndependentBlocks(*(x[here] for x in blocks))
                into = [x[here] for x in after]
                given = [x[here] for x in terms]
                bad = _kernels.independent_tangent_steps(
                    self.settings, chunk.h, part, LevelTerms(*given), FreeColumns(*now), StateColumns(*into)
                )
                self._check(bad, states.rows(here))
                before = [x[-1] for x in into[:3]]
            for whole, change in zip(out[:3], after[:3], strict=True):
                whole[chunk.outputs] = change[chunk.reported]
            solved = picks[chunk.reported, :rank, None]
            np.put_along_axis(out[3][chunk.outputs], solved, after[3][chunk.reported], axis=1)
        return StateSlopes(*(x.swapaxes(1, 2) for x in out))

    def _parameter_terms(
        self, parameters: Parameters, states: States, picks: IntArray, *, residual: bool = True
    ) -> list[FloatArray]:
        """r_p, value_p, rate_p, second_p (nt, n, np); the last three in the order of the rows of W."""
        terms = [np.zeros((len(states.t), self.n, len(parameters))) for _ in range(4)]
        for k in parameters.acting:
            found = slopes(parameters.record(k), states, residual=residual)
            if residual:
                terms[0][:, :, k] = found.r
            for term, slope in zip(terms[1:], found[1:], strict=True):
                term[:, :, k] = np.take_along_axis(slope, picks, axis=1)
        return terms

    # ---- adjoint

    def adjoint(self, g: StateGradients, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, q and v (no, n_v); the weights that parameters act with go to `sink`."""
        count, n, rank = g.q.shape[1], self.n, self.rank
        y = [np.zeros((self.freedom, count)) for _ in range(4)]
        # what coordinates that were chosen anew pull at the state before
        pending = [np.zeros((n, count)) for _ in range(3)]
        for chunk in self.chunks(8 * count, backwards=True):
            states, picks = chunk.states, self._picks(chunk)
            N = len(states.t)
            pulls = []
            for whole in g:
                part = np.zeros((N, whole.shape[2], count))
                part[chunk.reported] = whole[chunk.outputs].swapaxes(1, 2)
                pulls.append(part)
            pulls[3] = np.take_along_axis(pulls[3], picks[:, :rank, None], axis=1)
            weights = [np.zeros((count, N, n)) for _ in range(4)]
            blocks = self._blocks(states, picks)
            for here, anew in reversed(self._parts(chunk)):
                for pull, more in zip(pulls, pending, strict=False):
                    pull[here.stop - 1] += more
                    more[:] = 0.0
                part_of = IndependentBlocks(*(x[here] for x in blocks))
                into = [np.ascontiguousarray(x[:, here]) for x in weights]
                by_states = StateColumns(*(x[here] for x in pulls))
                bad = _kernels.independent_adjoint_steps(
                    self.settings, chunk.h, part_of, by_states, FreeColumns(*y), LevelTerms(*into)
                )
                self._check(bad, states.rows(here))
                for whole, part in zip(weights, into, strict=True):
                    whole[:, here] = part
                if anew is not None:
                    yz, yzd, yzdd, yx = y
                    for more, pull in zip(pending, (yz, yzd, yzdd + yx), strict=True):
                        more[anew] = pull
                    y = [np.zeros((self.freedom, count)) for _ in range(4)]
            mu, *levels = weights
            w0, w1, w2 = (self._spread(x, picks) for x in levels)
            sink(Weights(states, mu, w0, w1, w2))
        yz, yzd, yzdd, yx = (x.T for x in y)
        yzdd = yzdd + yx
        B, rate_q, second_q, second_v = self._first_rows()
        yq = g.q[0] + yz @ B + yzd @ rate_q + yzdd @ second_q
        yv = g.v[0] + yzd @ B + yzdd @ second_v
        w0, w1, w2 = (self._spread(x[:, None], self.start[None, rank:]) for x in (yz, yzd, yzdd))
        sink(Weights(self._reported(slice(0, 1)), None, w0, w1, w2))
        first_accelerations = InitialAccelerations(self.motion, self.start[:rank])
        sink(first_accelerations.adjoint(yq, yv, g.a[0] + yzdd @ B, g.lam[0]))
        return yq, yv

    def _spread(self, weights: FloatArray, picks: IntArray) -> FloatArray:
        """Weights (no, N, .) of the rows `picks` (N, .) among those of all rows."""
        out = np.zeros((*weights.shape[:2], self.all))
        np.put_along_axis(out, np.broadcast_to(picks, weights.shape), weights, axis=2)
        return out

    def _check(self, bad: int, states: States) -> None:
        if bad >= 0:
            at = int(np.searchsorted(self.choices.times, states.t[bad] - 0.5 * self.h, side="right")) - 1
            chosen = self.choices.described(self.system)[at].independent
            raise InputError(
                f"the linearised step to t = {states.t[bad]:.6g} s of model {self.model.name!r} is singular: "
                f"{', '.join(chosen)} do not determine the motion there. Choose others, or take ALI3P."
            )
