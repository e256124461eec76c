"""Motions made by explicit steps, differentiated: direct and adjoint, with fixed steps and with error control.

The steps are those that were taken: their lengths are held fixed. Reports within a step are sums of its stages, with
weights that depend on the instant alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

import numpy as np

from mechgrad.dynamics.states import StateGradients, States, StateSlopes
from mechgrad.errors import InputError
from mechgrad.model.joints.base import BALL
from mechgrad.model.mechanism import N_ALL
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.accelerations import Mechanics, StateAccelerations
from mechgrad.steps.runge_kutta import dop853
from mechgrad.steps.runge_kutta.child_axes import to_child, to_parent
from mechgrad.steps.runge_kutta.constraint_correction import ConstraintCorrection
from mechgrad.steps.runge_kutta.kernels.adjoint import adjoint_march
from mechgrad.steps.runge_kutta.kernels.blocks import EndColumns, RungeKuttaBlocks, Settled, StageTerms, StateChange
from mechgrad.steps.runge_kutta.kernels.tangent import tangent_march
from mechgrad.steps.runge_kutta.step import RK4_A, RK4_B, RK4_C, fixed_states, held_steps, numbers
from mechgrad.steps.schemes import DOP853, RK4
from mechgrad.steps.weights import WeightSink
from mechgrad.typing import FloatArray, IntArray

CHUNK_BYTES = 2**25  # of linearised equations kept at a time


class _Span(NamedTuple):
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


class _Prepared(NamedTuple):
    """Steps of a span, linearised."""

    blocks: RungeKuttaBlocks
    stages: StateAccelerations
    corrected: ConstraintCorrection | None
    settled: ConstraintCorrection | None
    reported: ConstraintCorrection | None


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


@final
class ExplicitSteps:
    """The steps of a motion by RK4 or DOP853.

    Of fixed steps only the reported instants are kept; steps between them are taken again. Steps with error control are
    all taken again, once, and their starts kept.
    """

    def __init__(self, motion: Trajectory) -> None:
        if not isinstance(motion.scheme, RK4 | DOP853):
            raise InputError(f"the motion was not made by explicit steps, but by {motion.scheme}.")
        if motion.q.ndim != 2 or np.iscomplexobj(motion.q):
            raise InputError("a batch of motions, or a complex one, has no derivative here; simulate one real start.")
        if motion.ended != "duration":
            raise InputError(
                f"the motion ended early ({motion.ended}), at an instant that moves with the parameters. Simulate "
                f"duration={motion.t[-1] - motion.t[0]:.6g} without a stop condition to hold it fixed."
            )
        self.motion, self.job = motion, motion.trace.job
        self.model, self.system = motion.model, motion.system
        self.f, self.kind = numbers(self.job)
        layout = self.model._layout
        self.balls = np.stack([layout.ball_q[:, 0], layout.ball_v[:, 0]], axis=1)
        self.mechanics = Mechanics.of(self.system, self.f)
        self.adaptive = isinstance(motion.scheme, DOP853)
        tables = (dop853.A, dop853.B, dop853.C) if self.adaptive else (RK4_A, RK4_B, RK4_C)
        self.A, self.B, self.C = (np.array(x) for x in tables)
        self.path = held_steps(motion) if self.adaptive else None
        n, m = self.model.n_v, self.system.n_constraints
        rows = int(self.system.T.ints[N_ALL])
        size = 8 * (5 * n * n + 4 * n * (n + m) + 4 * rows * n + 20 * n)
        self.chunk = int(np.clip(CHUNK_BYTES // size, 64, 16384))  # states linearised at a time

    # ---- the steps, a span at a time

    def _spans(self, *, backwards: bool = False) -> Iterator[_Span]:
        count = self.motion.steps if self.path is None else len(self.path)
        outputs = len(self.motion.t) - 1
        every = 1 if self.path is not None else count // outputs
        units = count if self.path is not None else outputs
        per = max(1, self.chunk // (len(self.A) * every))
        starts = range(0, units, per)
        for first in reversed(starts) if backwards else starts:
            last = min(first + per, units)
            yield self._fixed(first, last, every) if self.path is None else self._taken(self.path, first, last)

    def _fixed(self, first: int, last: int, every: int) -> _Span:
        """The steps from report `first` to report `last`, taken again."""
        motion = self.motion
        h = float(motion.t[-1] - motion.t[0]) / motion.steps
        N = (last - first) * every
        q, v = fixed_states(motion, first, N, h)
        reports = np.arange(first + 1, last + 1)
        ends = np.stack([(reports - first) * every - 1, reports], axis=1)
        none = np.zeros((0, 2), np.int64)
        t = motion.t[first] + h * np.arange(N)
        return _Span(
            t, np.full(N, h), q, to_child(self.model, q, v), ends, none, np.zeros(0), self._picks(first * every, N)
        )

    def _taken(self, path: FloatArray, first: int, last: int) -> _Span:
        t, n_q = self.motion.t, self.model.n_q
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
        return _Span(here[:, 0], here[:, 1], q, u, none, within, shares, self._picks(first, len(here)))

    def _picks(self, first: int, count: int) -> IntArray | None:
        """The rows of W in some steps, where dependent coordinates are solved for."""
        choices = self.motion.trace.choices
        return None if choices is None else choices.at(np.arange(first, first + count))

    def rates_of(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Rates of the coordinates, Euler parameters included."""
        out = np.empty_like(q)
        layout = self.model._layout
        out[:, layout.plain_q] = v[:, layout.plain_v]
        atoms = self.system.T.atoms_i
        for k, j in atoms[atoms[:, KIND] == BALL][:, [Q_AT, V_AT]]:
            e, w = q[:, k : k + 4], v[:, j : j + 3]
            out[:, k] = -0.5 * np.sum(w * e[:, 1:], axis=1)
            out[:, k + 1 : k + 4] = 0.5 * (e[:, :1] * w + np.cross(w, e[:, 1:]))
        return out

    def slope_of(self, q: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
        """Derivatives of states as steps carry them (N, n_q + n_v)."""
        return np.concatenate([self.rates_of(q, v), to_child(self.model, q, a)], axis=1)

    def _split(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q and v, in parent axes, of states as steps carry them."""
        q = y[:, : self.model.n_q]
        return q, to_parent(self.model, q, y[:, self.model.n_q :])

    def _prepared(self, span: _Span) -> _Prepared:
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
        weights = report_weights(span.shares) if self.adaptive else np.zeros((0, S))
        out_q, out_v = self._split(y[owner] + span.h[owner, None] * np.einsum("om,omj->oj", weights, k[owner]))
        reported = None
        if settles and len(owner):
            of_reports = None if picks is None else picks[owner]
            reported = ConstraintCorrection(self.mechanics, out_q, out_v, self.motion.t[span.within[:, 1]], of_reports)
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
        return _Prepared(blocks, stages, corrected, settled, reported)

    def _reports(self) -> Iterator[tuple[slice, StateAccelerations]]:
        """Accelerations and multipliers of the reported states follow from q and v."""
        motion = self.motion
        whole = States(*(np.asarray(x) for x in (motion.q, motion.v, motion.a, motion.multipliers, motion.t)))
        for first in range(0, len(motion.t), self.chunk):
            here = slice(first, first + self.chunk)
            yield here, StateAccelerations(self.mechanics, whole.rows(here))

    # ---- direct

    def direct(self, parameters: Parameters, dq: FloatArray, dv: FloatArray) -> StateSlopes:
        """Derivatives of all reported states, from those of the start (np, n_v)."""
        nt, count, n, m = len(self.motion.t), len(parameters), self.model.n_v, self.system.n_constraints
        out = StateSlopes(*(np.zeros((nt, count, k)) for k in (n, n, n, m)))
        out.q[0], out.v[0] = dq, dv
        now = [np.array(x, float, order="C") for x in (dq, dv)]
        for span in self._spans():
            ready = self._prepared(span)
            terms = [np.ascontiguousarray(ready.stages.by_parameters(parameters)[:, :, :n])]
            for settling in (ready.corrected, ready.settled, ready.reported):
                none = (np.zeros((0, count, n)), np.zeros((0, count, n)))
                terms += none if settling is None else settling.by_parameters(parameters)
            after = [np.zeros((k, count, n)) for k in (len(span.t),) * 2 + (len(span.within),) * 2]
            tangent_march(
                self.system.T.atoms_i, self.balls, ready.blocks, StageTerms(*terms), StateChange(*now),
                EndColumns(*after),
            )  # fmt: skip
            for target, at_ends, at_reports in ((out.q, after[0], after[2]), (out.v, after[1], after[3])):
                target[span.ends[:, 1]] = at_ends[span.ends[:, 0]]
                target[span.within[:, 1]] = at_reports
        for here, found in self._reports():
            change = found.by_parameters(parameters)
            change += out.q[here] @ found.by_q.swapaxes(1, 2) + out.v[here] @ found.by_v.swapaxes(1, 2)
            out.a[here], out.lam[here] = change[:, :, :n], change[:, :, n:]
        return out

    # ---- adjoint

    def adjoint(self, g: StateGradients, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, q and v (no, n_v); the weights that parameters act with go to `sink`."""
        count, n = g.q.shape[1], self.model.n_v
        pull_q, pull_v = np.array(g.q, float), np.array(g.v, float)
        for here, found in self._reports():
            pulls = np.concatenate([g.a[here], g.lam[here]], axis=2)
            pull_q[here] += pulls @ found.by_q
            pull_v[here] += pulls @ found.by_v
            sink(found.weights(pulls.swapaxes(0, 1)))
        yq, yv = np.zeros((count, n)), np.zeros((count, n))
        for span in self._spans(backwards=True):
            ready = self._prepared(span)
            pulls_in = [self._gathered(x, span.ends, len(span.t)) for x in (pull_q, pull_v)]
            pulls_in += [np.ascontiguousarray(x[span.within[:, 1]]) for x in (pull_q, pull_v)]
            lines = [0 if x is None else x.shape[0] for x in (ready.corrected, ready.settled, ready.reported)]
            weights = [np.zeros((count, k, n)) for k in (len(ready.blocks.q), *np.repeat(lines, 2))]
            adjoint_march(
                self.system.T.atoms_i, self.balls, ready.blocks, EndColumns(*pulls_in), StateChange(yq, yv),
                StageTerms(*weights),
            )  # fmt: skip
            alpha = np.zeros((count, len(ready.blocks.q), n + self.system.n_constraints))
            alpha[:, :, :n] = weights[0]
            sink(ready.stages.weights(alpha))
            for k, settling in enumerate((ready.corrected, ready.settled, ready.reported)):
                if settling is not None:
                    for each in settling.weights(weights[1 + 2 * k], weights[2 + 2 * k]):
                        sink(each)
        return yq + pull_q[0], yv + pull_v[0]

    @staticmethod
    def _gathered(pulls: FloatArray, ends: IntArray, N: int) -> FloatArray:
        out = np.zeros((N, *pulls.shape[1:]))
        out[ends[:, 0]] = pulls[ends[:, 1]]
        return out


def _rows(x: FloatArray) -> FloatArray:
    """A copy as kernels take it."""
    return np.array(x, order="C")


def _matrices(settling: ConstraintCorrection | None, n: int) -> Settled:
    if settling is None:
        return Settled(*(np.zeros((0, n * n)) for _ in range(3)))
    return settling.matrices()
