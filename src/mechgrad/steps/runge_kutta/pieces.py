"""Explicit steps once more, linearised: fixed ones and those with error control.

The steps are those that were taken: their lengths are held fixed. Reports within a step are sums of its stages, with
weights that depend on the instant alone. Of fixed steps only the reported instants are kept, and steps between them are
taken again; steps with error control are all taken again, once, and their starts kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.states import StateGradients, States
from mechgrad.errors import InputError
from mechgrad.model.mechanism import N_ALL
from mechgrad.model.primitives.frames import quaternion_product
from mechgrad.steps.acceleration_slopes import Mechanics, StateAccelerations
from mechgrad.steps.base import ParameterColumns, Steps
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.record import Record
from mechgrad.steps.runge_kutta import dop853
from mechgrad.steps.runge_kutta.adjoint import RungeKuttaAdjoint
from mechgrad.steps.runge_kutta.child_axes import to_child, to_parent
from mechgrad.steps.runge_kutta.constraint_correction import ConstraintCorrection
from mechgrad.steps.runge_kutta.kernels.blocks import RungeKuttaBlocks, Settled
from mechgrad.steps.runge_kutta.step import fixed_states, held_steps, numbers
from mechgrad.steps.runge_kutta.tangent import RungeKuttaTangent
from mechgrad.steps.weights import WeightSink
from mechgrad.typing import FloatArray, IntArray

CHUNK_BYTES = 2**25  # of linearised equations kept at a time


class Span(NamedTuple):
    """Steps from t, q, u of lengths h, u the velocities as steps carry them (child axes); `ends`: reports at the ends
    of steps, (step, report) each; `within`: reports within steps likewise, with their share of the step; picks: (steps,
    n) rows of W in each, of Matrix R."""

    t: FloatArray
    h: FloatArray
    q: FloatArray
    u: FloatArray
    ends: IntArray
    within: IntArray
    shares: FloatArray
    picks: IntArray | None


class Piece(NamedTuple):
    """Steps of a span, linearised.

    corrections : of the stages, of the states after steps and of reports within steps; None where there are none
    terms : what parameters do, in a direct sweep
    """

    span: Span
    blocks: RungeKuttaBlocks
    stages: StateAccelerations
    corrections: tuple[ConstraintCorrection | None, ConstraintCorrection | None, ConstraintCorrection | None]
    terms: list[FloatArray]


def report_weights(shares: FloatArray) -> FloatArray:
    """Weights (reports, 16) of h k_i in the interpolant of order 7, at shares of a step."""
    unit = np.eye(dop853.EXTENDED)
    first, final = unit[0], unit[12]
    change = np.concatenate([dop853.B, np.zeros(dop853.EXTENDED - dop853.STAGES)])
    parts = np.vstack([change, first - change, 2.0 * change - first - final, dop853.D])
    u = shares[:, None]
    total = np.zeros((len(shares), dop853.EXTENDED))
    for i in range(6, -1, -1):
        total = (total + parts[i]) * (u if (6 - i) % 2 == 0 else 1.0 - u)
    return total


class RungeKuttaSteps(Steps):
    """The steps of a march by an explicit Runge-Kutta method."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        if record.scheme.implicit:
            raise InputError(f"the motion was not made by explicit steps, but by {record.scheme}.")
        if record.q.ndim != 2 or np.iscomplexobj(record.q):
            raise InputError("a batch of motions, or a complex one, has no derivative here; simulate one real start.")
        if record.ended != "duration":
            raise InputError(
                f"the motion ended early ({record.ended}), at an instant that moves with the parameters. Simulate "
                f"duration={record.t[-1] - record.t[0]:.6g} without a stop condition to hold it fixed."
            )
        self.record, self.model, self.system = record, record.model, record.system
        self.pool, self.n = ChunkPool(1), record.model.n_v
        self.f, self.kind = numbers(record.task)
        layout = self.model.layout
        self.balls = np.stack([layout.ball_q[:, 0], layout.ball_v[:, 0]], axis=1)
        self.mechanics = Mechanics.of(self.system, self.f)
        self.A, self.B, self.C = (np.array(x) for x in record.scheme.tableau)
        self.path = held_steps(record) if record.scheme.chooses_steps else None
        n, m = self.n, self.system.n_constraints
        rows = int(self.system.T.ints[N_ALL])
        size = 8 * (5 * n * n + 4 * n * (n + m) + 4 * rows * n + 20 * n)
        self.chunk = int(np.clip(CHUNK_BYTES // size, 64, 16384))  # states linearised at a time

    def pieces(self, columns: int) -> list[range]:
        count = self.record.steps if self.path is None else len(self.path)
        units = count if self.path is not None else len(self.record.t) - 1
        every = 1 if self.path is not None else self.record.steps_per_output
        per = max(1, self.chunk // (len(self.A) * every))
        return [range(first, min(first + per, units)) for first in range(0, units, per)]

    def linearised(self, piece: range, parameters: ParameterColumns | None = None) -> Piece:
        if self.path is None:
            found = self._prepared(self._fixed(piece.start, piece.stop, self.record.steps_per_output))
        else:
            found = self._prepared(self._taken(self.path, piece.start, piece.stop))
        if parameters is None:
            return found
        count, n = len(parameters), self.n
        terms = [np.ascontiguousarray(found.stages.by_parameters(parameters)[:, :, :n])]
        for correction in found.corrections:
            none = (np.zeros((0, count, n)), np.zeros((0, count, n)))
            terms += none if correction is None else correction.by_parameters(parameters)
        return found._replace(terms=terms)

    def tangent(self, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> RungeKuttaTangent:
        return RungeKuttaTangent(self, parameters, dq, dv)

    def adjoint_of(self, g: StateGradients, sink: WeightSink) -> RungeKuttaAdjoint:
        return RungeKuttaAdjoint(self, g, sink)

    def _fixed(self, first: int, last: int, every: int) -> Span:
        """The steps from report `first` to report `last`, taken again."""
        record, h = self.record, self.record.step_length
        N = (last - first) * every
        q, v = fixed_states(record, first, N, h)
        reports = np.arange(first + 1, last + 1)
        ends = np.stack([(reports - first) * every - 1, reports], axis=1)
        none = np.zeros((0, 2), np.int64)
        t = record.t[first] + h * np.arange(N)
        return Span(
            t, np.full(N, h), q, to_child(self.model, q, v), ends, none, np.zeros(0), self._picks(first * every, N)
        )

    def _taken(self, path: FloatArray, first: int, last: int) -> Span:
        t, n_q = self.record.t, self.model.n_q
        ends = np.append(path[1:, 0], t[-1])
        # a report belongs to the first step that reaches it
        owner = np.searchsorted(ends, t[1:], side="left")
        reports = np.flatnonzero((owner >= first) & (owner < last))
        steps = owner[reports]
        here = path[first:last]
        shares = (t[reports + 1] - path[steps, 0]) / path[steps, 1]
        within = np.stack([steps - first, reports + 1], axis=1)
        q, u = here[:, 2 : 2 + n_q], here[:, 2 + n_q :]
        none = np.zeros((0, 2), np.int64)
        return Span(here[:, 0], here[:, 1], q, u, none, within, shares, self._picks(first, len(here)))

    def _picks(self, first: int, count: int) -> IntArray | None:
        """The rows of W in some steps, where dependent coordinates are solved for."""
        choices = self.record.choices
        return None if choices is None else choices.at(np.arange(first, first + count))

    def rates_of(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Rates of the coordinates; those of Euler parameters are e' = (0, w) e / 2."""
        out = np.empty_like(q)
        layout = self.model.layout
        out[:, layout.plain_q] = v[:, layout.plain_v]
        for e, w in zip(layout.ball_q, layout.ball_v, strict=True):
            pure = np.pad(v[:, w], ((0, 0), (1, 0)))  # (0, w)
            out[:, e] = 0.5 * quaternion_product(pure, q[:, e])
        return out

    def slope_of(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Derivatives of states as steps carry them (N, n_q + n_v)."""
        return np.concatenate([self.rates_of(q, v), to_child(self.model, q, a)], axis=1)

    def _split(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q and v, in parent axes, of states as steps carry them."""
        q = y[:, : self.model.n_q]
        return q, to_parent(self.model, q, y[:, self.model.n_q :])

    def _prepared(self, span: Span) -> Piece:
        N, n_q, n, m, S = len(span.t), self.model.n_q, self.model.n_v, self.system.n_constraints, len(self.A)
        made = self.B.size
        taken = np.zeros((N, S), bool)
        taken[:, :made] = True
        taken[span.within[:, 0]] = True
        picks = span.picks
        before, q, v = np.zeros((N, S, n_q)), np.zeros((N, S, n_q)), np.zeros((N, S, n))
        raw_v, a, lam = np.zeros((N, S, n)), np.zeros((N, S, n)), np.zeros((N, S, m))
        y = np.concatenate([span.q, span.u], axis=1)
        k = np.zeros((N, S, n_q + n))
        times = span.t[:, None] + self.C * span.h[:, None]
        for i in range(S):
            rows = np.flatnonzero(taken[:, i])
            at = y[rows] + span.h[rows, None] * np.einsum("m,tmj->tj", self.A[i, :i], k[rows, :i])
            here_q, here_v = self._split(at)
            before[rows, i], raw_v[rows, i] = here_q, here_v
            if picks is not None:
                there = ConstraintCorrection(self.mechanics, here_q, here_v, times[rows, i], picks[rows], derive=False)
                here_q, here_v = there.q, there.v
            q[rows, i], v[rows, i] = here_q, here_v
            a[rows, i], lam[rows, i], _, _ = self.system.accelerations(here_q, here_v, times[rows, i], self.f)
            k[rows, i] = self.slope_of(here_q, here_v, a[rows, i])
        stages = StateAccelerations(self.mechanics, States(q[taken], v[taken], a[taken], lam[taken], times[taken]))
        corrected = None
        if picks is not None:
            of_stages = np.repeat(picks, taken.sum(axis=1), axis=0)
            corrected = ConstraintCorrection(self.mechanics, before[taken], raw_v[taken], times[taken], of_stages)
        end_q, end_v = self._split(y + span.h[:, None] * np.einsum("m,tmj->tj", self.B, k[:, :made]))
        settles = self.kind.settles is not None
        settled = ConstraintCorrection(self.mechanics, end_q, end_v, span.t + span.h, picks) if settles else None
        owner = span.within[:, 0]
        weights = report_weights(span.shares) if self.path is not None else np.zeros((0, S))
        out_q, out_v = self._split(y[owner] + span.h[owner, None] * np.einsum("om,omj->oj", weights, k[owner]))
        reported = None
        if settles and len(owner):
            of_reports = None if picks is None else picks[owner]
            reported = ConstraintCorrection(self.mechanics, out_q, out_v, self.record.t[span.within[:, 1]], of_reports)
        first = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
        out_first = np.searchsorted(owner, np.arange(N + 1))
        F_q, F_v = (np.ascontiguousarray(x[:, :n].reshape(len(x), -1)) for x in (stages.by_q, stages.by_v))
        start_q, start_v = (_rows(x) for x in self._split(y))
        blocks = RungeKuttaBlocks(
            A=self.A, B=self.B, h=np.array(span.h), start=start_q, start_v=start_v, end=_rows(end_q),
            end_v=_rows(end_v), first=first, q=q[taken], v=v[taken], a=a[taken], before=before[taken],
            before_v=raw_v[taken], F_q=F_q, F_v=F_v, corrected=_matrices(corrected, n), settled=_matrices(settled, n),
            out_first=out_first, weights=weights, out_q=_rows(out_q), out_v=_rows(out_v),
            out_settled=_matrices(reported, n),
        )  # fmt: skip
        return Piece(span, blocks, stages, (corrected, settled, reported), [])

    def reports(self) -> Iterator[tuple[slice, StateAccelerations]]:
        """Accelerations and multipliers of the reported states follow from q and v."""
        for first in range(0, len(self.record.t), self.chunk):
            here = slice(first, first + self.chunk)
            yield here, StateAccelerations(self.mechanics, self.record.states(here))


def _rows(x: FloatArray) -> FloatArray:
    """A copy as kernels take it."""
    return np.array(x, order="C")


def _matrices(correction: ConstraintCorrection | None, n: int) -> Settled:
    if correction is None:
        return Settled(*(np.zeros((0, n * n)) for _ in range(3)))
    return correction.matrices()
