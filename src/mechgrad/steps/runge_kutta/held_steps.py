"""Explicit steps taken again where they were taken: fixed ones and those with error control.

The steps are those that were taken: their lengths are held fixed. Reports within a step are sums of its stages, with
weights that depend on the instant alone. Of fixed steps only the reported instants are kept, and steps between them are
taken again; steps with error control are all taken again, once, and their starts kept.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.errors import InputError
from mechgrad.kernels.in_numpy import in_numpy
from mechgrad.steps.base import Steps
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.record import Record
from mechgrad.steps.runge_kutta import dop853
from mechgrad.steps.runge_kutta.child_axes import to_child, to_parent
from mechgrad.steps.runge_kutta.kernels.blocks import CorrectionMatrices, RungeKuttaBlocks
from mechgrad.steps.runge_kutta.kernels.interpolant import interpolant_weights
from mechgrad.steps.runge_kutta.kernels.stages_again import (
    Atoms,
    KnownSteps,
    StageStates,
    note_derivatives,
    sum_of_stages,
)
from mechgrad.steps.runge_kutta.kinds import numbers
from mechgrad.steps.runge_kutta.step import fixed_states, held_steps
from mechgrad.typing import Array, FloatArray, IntArray


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


class Stages(NamedTuple):
    """All stages of the steps of a span, and what they add up to.

    taken : (N, stages of a method) which there are: more where a report lies within a step
    first : (N + 1,) where those of each step begin;   states : of all, with accelerations and multipliers
    before, before_v : q, v as the sum of stages gives them
    start_v : of steps;   end_q, end_v : after steps, as the sum of stages gives them
    out_first : (N + 1,) where the reports within each step begin;   weights : (reports, stages) of h k
    out_q, out_v : there
    """

    taken: Array
    first: IntArray
    states: States
    before: FloatArray
    before_v: FloatArray
    start_v: FloatArray
    end_q: FloatArray
    end_v: FloatArray
    out_first: IntArray
    weights: FloatArray
    out_q: FloatArray
    out_v: FloatArray


def report_weights(shares: FloatArray) -> FloatArray:
    """Weights (reports, 16) of h k_i in the interpolant of order 7, at shares of a step."""
    weights = np.empty((dop853.EXTENDED, len(shares)))
    in_numpy(interpolant_weights)(shares, dop853.B, dop853.D, weights)
    return np.ascontiguousarray(weights.T)


class HeldSteps(Steps):
    """The steps of a march by an explicit Runge-Kutta method."""

    def __init__(self, record: Record) -> None:
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
        self.atoms = Atoms(self.system.recursive.atoms_i, self.model.n_q, self.n)
        self.balls = np.stack([layout.ball_q[:, 0], layout.ball_v[:, 0]], axis=1)
        self.A, self.B, self.C = (np.array(x) for x in record.scheme.tableau)
        self.path = held_steps(record) if record.scheme.chooses_steps else None

    @abstractmethod
    def stages_at_once(self, columns: int) -> int:
        """How many stages a piece may have."""

    def pieces(self, columns: int) -> list[range]:
        units = len(self.record.t) - 1 if self.path is None else len(self.path)
        every = self.record.steps_per_output if self.path is None else 1
        per = max(1, self.stages_at_once(columns) // (len(self.A) * every))
        return [range(first, min(first + per, units)) for first in range(0, units, per)]

    def span(self, piece: range) -> Span:
        """The steps of a piece."""
        if self.path is None:
            return self._fixed(piece.start, piece.stop, self.record.steps_per_output)
        return self._taken(self.path, piece.start, piece.stop)

    def onto_constraints(
        self, q: FloatArray, v: FloatArray, t: FloatArray, picks: IntArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """q and v of stages as derivatives were taken there, from what the sum of stages gives."""
        return q, v

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

    def stages(self, span: Span) -> Stages:
        """The stages of a span, taken again."""
        N, n_q, n, m, S = len(span.t), self.model.n_q, self.model.n_v, self.system.n_constraints, len(self.A)
        made = self.B.size
        taken = np.zeros((N, S), bool)
        taken[:, :made] = True
        taken[span.within[:, 0]] = True
        before, q, v = np.zeros((N, S, n_q)), np.zeros((N, S, n_q)), np.zeros((N, S, n))
        raw_v, a, lam = np.zeros((N, S, n)), np.zeros((N, S, n)), np.zeros((N, S, m))
        sums = _Sums(self.atoms, np.concatenate([span.q, span.u], axis=1), span.h, S)
        times = span.t[:, None] + self.C * span.h[:, None]
        every = np.arange(N)
        for i in range(S):
            rows = np.flatnonzero(taken[:, i])
            if i == made:
                end_q, end_v = sums.at(every, self.B[None], made)
            before[rows, i], raw_v[rows, i] = sums.at(rows, self.A[i : i + 1], i)
            picks = None if span.picks is None else span.picks[rows]
            here_q, here_v = self.onto_constraints(before[rows, i], raw_v[rows, i], times[rows, i], picks)
            q[rows, i], v[rows, i] = here_q, here_v
            a[rows, i], lam[rows, i], _, _ = self.system.accelerations(
                here_q, here_v, times[rows, i], self.f, recursive=self.record.formulation.recursive
            )
            sums.note(rows, i, here_q, here_v, a[rows, i])
        if made == S:
            end_q, end_v = sums.at(every, self.B[None], made)
        owner = span.within[:, 0]
        weights = report_weights(span.shares) if self.path is not None else np.zeros((0, S))
        out_q, out_v = sums.at(owner, weights, S)
        return Stages(
            taken=taken, first=np.concatenate([[0], np.cumsum(taken.sum(axis=1))]),
            states=States(q[taken], v[taken], a[taken], lam[taken], times[taken]), before=before[taken],
            before_v=raw_v[taken], start_v=to_parent(self.model, span.q, span.u), end_q=end_q, end_v=end_v,
            out_first=np.searchsorted(owner, np.arange(N + 1)), weights=weights, out_q=out_q, out_v=out_v,
        )  # fmt: skip

    def blocks(self, span: Span, stages: Stages) -> RungeKuttaBlocks:
        """What tangent and adjoint marches read of them; without matrices, and without corrections."""
        here, none = stages.states, np.zeros((0, 0))
        nothing = CorrectionMatrices(*(np.zeros((0, self.n * self.n)),) * 3)
        return RungeKuttaBlocks(
            A=self.A, B=self.B, h=np.array(span.h), start=_rows(span.q), start_v=_rows(stages.start_v),
            end=_rows(stages.end_q), end_v=_rows(stages.end_v), first=stages.first, q=here.q, v=here.v, a=here.a,
            before=stages.before, before_v=stages.before_v, F_q=none, F_v=none, corrected=nothing,
            corrected_ends=nothing, out_first=stages.out_first, weights=stages.weights, out_q=_rows(stages.out_q),
            out_v=_rows(stages.out_v), corrected_reports=nothing,
        )  # fmt: skip


class _Sums:
    """Sums of the stages of some steps, as the march makes them."""

    def __init__(self, atoms: Atoms, y: FloatArray, h: FloatArray, stages: int) -> None:
        n = y.shape[1]
        self.atoms, self.steps = atoms, KnownSteps(_rows(y), _rows(h), np.zeros((len(y), stages * n)), np.zeros(n))

    def at(self, rows: IntArray, factors: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        """q and v (parent axes) of y + h sum factors K over the first stages, of the steps `rows`."""
        found = StageStates(*(np.empty((len(rows), k)) for k in (self.atoms.n_q, self.atoms.n_v, 0)))
        sum_of_stages(self.atoms, self.steps, rows, _rows(factors), count, found)
        return found.q, found.v

    def note(self, rows: IntArray, stage: int, q: FloatArray, v: FloatArray, a: FloatArray) -> None:
        """The derivatives of a stage, from its states and accelerations."""
        note_derivatives(self.atoms, self.steps, rows, stage, StageStates(_rows(q), _rows(v), _rows(a)))


def _rows(x: FloatArray) -> FloatArray:
    """A copy as kernels take it."""
    return np.array(x, order="C")
