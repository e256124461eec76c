"""Implicit steps once more, linearised: formulations with multipliers, and open trees.

Only the reported instants of a march are kept; steps between them are taken again, so that a motion with few samples is
a set of checkpoints.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mechgrad.dynamics.elimination import Elimination
from mechgrad.dynamics.kernels.saddle import PASSES, REGULAR, no_ranks
from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import (
    Linearised,
    States,
    linearised,
    linearised_entries,
    put_force_slopes,
    put_slopes,
    slopes,
)
from mechgrad.errors import InputError
from mechgrad.kernels.right_hand_sides import padded
from mechgrad.model.mechanism import Mechanism
from mechgrad.steps.base import ParameterColumns, Steps
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.cuts import March, Segment, divided, next_divided, place
from mechgrad.steps.failures import taken_again
from mechgrad.steps.newmark.kernels.blocks import StepBlocks, StepNumbers
from mechgrad.steps.newmark.kernels.impulses import impulses
from mechgrad.steps.newmark.marched import elimination_of, marched
from mechgrad.steps.newmark.scheme import coefficients, row_weights, scheme_update
from mechgrad.steps.rank import check_rank
from mechgrad.steps.record import Record
from mechgrad.typing import Array, FloatArray

CHUNK_BYTES = 2**25  # of linearised equations kept at a time, by all threads together
FEWEST_STEPS, MOST_STEPS = 256, 2048  # in a piece, as far as memory allows: threads share the work, caches hold it


class Span(NamedTuple):
    """Steps from one output to another, or one segment of the steps between two, if some of these were divided."""

    first: int
    last: int
    segment: int | None = None


class Taken(NamedTuple):
    """A run of steps with all that the march knew.

    h : (N,) their lengths;   before : how many steps came before, parts of divided ones counted
    states : N + 1, the first before the first step;   memory, solved, projected : (N + 1, .) as in `Record`
    reported : which of the states after each step are outputs, and `outputs` which of the march's
    """

    h: FloatArray
    before: int
    states: States
    memory: Array
    solved: Array
    projected: Array
    reported: slice
    outputs: slice


class ImplicitSteps(Steps):
    """Implicit steps, taken again where they were not reported: fixed ones, or all of those that controlled their error
    (`steps.newmark.control.nodes_of`)."""

    def __init__(self, record: Record) -> None:
        if record.settings is None or record.memory is None or record.solved is None or record.projected is None:
            raise InputError("the motion was not made by implicit steps.")
        self.record, self.system, self.model, self.settings = record, record.system, record.model, record.settings
        self.memory, self.solved, self.projected = record.memory, record.solved, record.projected
        self.every, self.h = record.steps_per_output, record.step_length

    @abstractmethod
    def march_from(self, output: int) -> March:
        """The compiled march from an output on."""

    @abstractmethod
    def steps_at_once(self, columns: int) -> int:
        """How many steps a piece may have."""

    def pieces(self, columns: int) -> list[Span]:
        outputs, every = len(self.record.t) - 1, self.every
        per = max(1, self.steps_at_once(columns) // every)
        per = -(-outputs // max(1, -(-outputs // per)))  # all of about one size
        found, first = [], 0
        while first < outputs:
            last = min(first + per, outputs)
            last = next_divided(self.record.divisions, first * every, last * every) // every
            if last > first:
                found.append(Span(first, last))
            else:
                last = first + 1
                found += [Span(first, last, k) for k in range(len(self._again(first)))]
            first = last
        return found

    def taken(self, span: Span) -> Taken:
        """The steps of a span."""
        first, last, segment = span
        record, every = self.record, self.every
        outputs, before = slice(first + 1, last + 1), place(record.divisions, first * every)
        if segment is not None:
            segments = self._again(first)
            before += sum(len(s.t) - 1 for s in segments[:segment])
            if segment < len(segments) - 1:
                return _joined(segments[segment : segment + 1], before, slice(0, 0), slice(0, 0))
            return _joined(segments[segment:], before, slice(len(segments[segment].t) - 2, None), outputs)
        if every > 1:
            whole = [self._again(k)[0] for k in range(first, last)]
            return _joined(whole, before, slice(every - 1, None, every), outputs)
        here = slice(first, last + 1)
        some = self.memory[here], self.solved[here], self.projected[here]
        return Taken(record.lengths(first, last), before, record.states(here), *some, slice(0, None), outputs)

    def _again(self, k: int) -> list[Segment]:
        """The steps from output k to the next, taken again: one segment, or more if some were divided."""
        record, every = self.record, self.every
        start = [record.q, record.v, record.a, self.memory, record.multipliers, self.solved]
        rows = [*(np.asarray(x)[k] for x in start), np.zeros(6), np.zeros((), np.int64)]
        steps = range(k * every, (k + 1) * every)
        segments, reason, at = divided(
            self.march_from(k), no_ranks(), self.h, float(record.t[k]), record.divisions, steps, rows, hold=True
        )
        self.system.users.raise_pending()
        taken_again(reason, at)
        return segments


def _joined(segments: list[Segment], before: int, reported: slice, outputs: slice) -> Taken:
    """Segments that follow each other with steps of one length, as one."""
    more = [(s.t[1:], *(x[1:] for x in s.arrays)) for s in segments]
    start = [(x[:1] for x in (segments[0].t, *segments[0].arrays))]
    t, Q, V, A, X, L, S, norms, _ = (np.concatenate(x) for x in zip(*start, *more, strict=True))
    h, projected = np.full(len(t) - 1, segments[0].h), norms[:, 3] != 0.0
    return Taken(h, before, States(Q, V, A, L, t), X, S, projected, reported, outputs)


class Stages(NamedTuple):
    """Where the stages of N steps are linearised: Newton's iteration, the two projections, and the state after."""

    newton: States
    impulses: States | None
    accelerations: States | None
    after: States | None


class Piece(NamedTuple):
    """Steps, linearised.

    numbers : what follows from the lengths of steps;   terms : what parameters do, in a direct sweep
    elimination : where entries of the blocks are, if they are not dense
    """

    taken: Taken
    numbers: StepNumbers
    blocks: StepBlocks
    stages: Stages
    terms: list[FloatArray]
    elimination: Elimination | None

    def sparse(self) -> Sparse | None:
        """Where entries of the blocks are, with a workspace of its own; None for dense blocks."""
        return None if self.elimination is None else self.elimination.record(float)


class NewmarkSteps(ImplicitSteps):
    """Steps of the Newmark family."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        super().__init__(record)
        self.T = record.system.T
        self.unforced, self.unforced_complex = record.system.unforced, record.system.unforced_complex
        self.n, self.m = self.model.n_v, self.system.n_constraints
        self.w0, self.w1, self.w2 = row_weights(self.settings, self.m, self.system.n_holonomic)
        self.weights = {
            name: w for name, w in (("values", self.w0), ("rates", self.w1), ("seconds", self.w2)) if np.any(w)
        }
        redundant = bool(self.system.redundant(record.q[0], float(record.t[0])))
        self.regular = (REGULAR, PASSES) if redundant else (0.0, 0)
        self.holonomic = self.system.n_holonomic == self.m
        self.rated = bool(np.any(self.w1) or np.any(self.w2))
        self.elimination = elimination_of(record.task, self.settings)
        self.pool = ChunkPool(threads)

    def steps_at_once(self, columns: int) -> int:
        n, m = self.n, self.m
        square, rows = n * n, m * n
        if self.elimination is not None:
            square, rows = self.elimination.tables["entry_rows"].size, self.elimination.constraint_entries
        size = 8 * (6 * square + 8 * rows + 10 * n)
        share = -(-self.record.steps // (2 * self.pool.size)) if self.pool.size > 1 else MOST_STEPS
        fits = CHUNK_BYTES // (max(size, 1) * self.pool.size)  # every thread has a piece of its own
        return int(np.clip(fits, 8, np.clip(share, FEWEST_STEPS, MOST_STEPS)))

    def march_from(self, output: int) -> March:
        sparse = None if self.elimination is None else self.elimination.record(float)

        def march(ranks: Array, h: float, t: float, every: int, arrays: list[Array]) -> Any:
            return marched(self.T, self.settings, sparse, ranks, h, t, every, arrays)[0]

        return march

    def numbers(self, h: FloatArray) -> StepNumbers:
        """What follows from the lengths of steps (N,)."""
        p, (regular, passes) = self.settings, self.regular
        scale, cv, ca = coefficients(p, h)
        once = p.passes == 0 and p.projection != 0.0
        return StepNumbers(
            h=np.array(h),
            scale=scale,
            cv=cv,
            ca=ca,
            eps=1.0 / (p.alpha * scale) if p.compliant else np.full(len(h), regular),
            passes=0 if p.compliant else passes,
            eps_projection=p.scales / p.projection if once else np.full(self.m, regular),
            passes_projection=0 if once else passes,
        )

    def linearised(self, piece: Span, parameters: ParameterColumns | None = None) -> Piece:
        taken = self.taken(piece)
        numbers = self.numbers(taken.h)
        blocks, stages = self._blocks(taken, numbers, self.elimination)
        terms = [] if parameters is None else self._parameter_terms(parameters, stages, len(blocks.d))
        return Piece(taken, numbers, blocks, stages, terms, self.elimination)

    def dense(self, piece: Piece) -> Piece:
        """The same with dense matrices, for factors with pivoting."""
        blocks, stages = self._blocks(piece.taken, piece.numbers, None)
        return piece._replace(blocks=blocks, stages=stages, elimination=None)

    def _linearised(self, T: Mechanism, states: States, moving: bool, by: Elimination | None) -> Linearised:
        """Partials in states, of constraint rows alone."""
        if by is None:
            found = linearised(T, states, moving)
            return found._replace(J=found.J[:, : self.m], J_rate=found.J_rate[:, : self.m])
        found = linearised_entries(T, states, by, moving)
        count = by.constraint_entries
        return found._replace(J=found.J[:, :count], J_rate=found.J_rate[:, :count])

    def _per_row(self, w: FloatArray, by: Elimination | None) -> FloatArray:
        """Weights of rows, for matrices of rows or for their entries."""
        return w[:, None] if by is None else w[by.tables["row_of"][: by.constraint_entries]]

    def _blocks(self, taken: Taken, numbers: StepNumbers, by: Elimination | None) -> tuple[StepBlocks, Stages]:
        p, m = self.settings, self.m
        q, v, a, lam, t = taken.states
        d, v_star, a_star = scheme_update(p, taken.h[:, None], v[:-1], a[:-1], taken.memory[:-1], taken.solved[1:])
        newton = States(q[1:], v_star, a_star, lam[1:], t[1:])
        N = len(d)
        found = self._linearised(self.T, newton, self.rated, by)
        gamma = np.ascontiguousarray(found.J)
        c_q, c_v = self._constraint_partials(newton, gamma, found.J_rate, by)
        projected = taken.projected[1:] & (p.projection != 0.0)
        stages, projections = Stages(newton, None, None, None), self._no_projections(found.M, gamma)
        if m and projected.any():
            after = States(*(x[1:] for x in taken.states))
            some = self._projections(newton, after, found.M, gamma, by)
            if some is None:
                return self._blocks(taken, numbers, None)
            stages, projections = some
        matrices = {"K": found.K, "C": found.C, "M": found.M, "Gamma": gamma, "c_q": c_q, "c_v": c_v, **projections}
        flat = {name: np.ascontiguousarray(x.reshape(N, -1)) for name, x in matrices.items()}
        total = self.w0 + np.outer(numbers.cv, self.w1) + np.outer(numbers.ca, self.w2)
        return StepBlocks(d=np.ascontiguousarray(d), total=total, w2=self.w2, projected=projected, **flat), stages

    def _constraint_partials(
        self, at: States, gamma: FloatArray, rate_q: FloatArray, by: Elimination | None
    ) -> tuple[FloatArray, FloatArray]:
        """Of w0 value + w1 rate + w2 second, by q and by v."""
        w0, w1, w2 = (self._per_row(w, by) for w in (self.w0, self.w1, self.w2))
        c_q, c_v = w0 * gamma, np.zeros_like(gamma)
        if self.rated and self.m:
            c_q, c_v = c_q + w1 * rate_q, w1 * gamma
            if self.settings.weight_2:
                _, second_q = coordinate_slopes(self.model, self.unforced_complex, at, by, with_rates=False)
                second_v = velocity_slopes(self.model, self.unforced_complex, at, rate_q, gamma, self.holonomic, by)
                c_q, c_v = c_q + w2 * second_q, c_v + w2 * second_v
        return c_q, c_v

    def _no_projections(self, square: FloatArray, gamma: FloatArray) -> dict[str, FloatArray]:
        none, rows = np.zeros_like(square), np.zeros_like(gamma)
        return {"K2": none, "rate_q": rows, "K3": none, "second_q": rows, "second_v": rows}

    def _projections(
        self, newton: States, after: States, M: FloatArray, gamma: FloatArray, by: Elimination | None
    ) -> tuple[Stages, dict[str, FloatArray]] | None:
        """Where projections are linearised, and their matrices: K of both, rates and second rates by q, these by v.
        None where sparse factors lose digits."""
        N, zero, none = len(after.t), np.zeros_like(newton.v), np.zeros((len(after.t), self.m))
        w, y = after.v - newton.v, after.a - newton.a
        sigma, kappa = none, none.copy()
        sparse = None if by is None else by.record(float)
        bad = impulses(M.reshape(N, -1), gamma.reshape(N, -1), w, y, *self.regular, sigma, kappa, sparse)
        if bad >= 0 and by is not None:
            return None
        still = States(after.q, zero, w, sigma, after.t)
        rates, second_q = coordinate_slopes(self.model, self.unforced_complex, after, by)
        second_v = velocity_slopes(self.model, self.unforced_complex, after, rates, gamma, self.holonomic, by)
        K2, K3 = self._linearised(self.unforced, still, False, by).K, np.zeros_like(M)
        accelerations = None
        if self.settings.project_accelerations:
            accelerations = States(after.q, zero, y, kappa, after.t)
            K3 = self._linearised(self.unforced, accelerations, False, by).K
        found = {"K2": K2, "rate_q": rates, "K3": K3, "second_q": second_q, "second_v": second_v}
        return Stages(newton, still, accelerations, after), found

    def _parameter_terms(self, parameters: ParameterColumns, stages: Stages, N: int) -> list[FloatArray]:
        count, n, m = len(parameters), self.n, self.m
        r_p, s_p, k_p = (np.zeros((N, n, padded(count))) for _ in range(3))
        c_p, rate_p, second_p = (np.zeros((N, m, padded(count))) for _ in range(3))
        alone = [k for k in parameters.acting if parameters.keeps_geometry(k)]
        impulsive = [(x, out) for x, out in ((stages.impulses, s_p), (stages.accelerations, k_p)) if x is not None]
        if alone:
            put_force_slopes(self.T, [parameters.record(k) for k in alone], stages.newton, alone, r_p)
        if heavy := [k for k in alone if parameters.changes_mass(k)]:
            for states, out in impulsive:
                put_force_slopes(self.unforced, [parameters.unforced_record(k) for k in heavy], states, heavy, out)
        newton = stages.newton.complex()
        for k in set(parameters.acting) - set(alone):
            found = slopes(parameters.record(k), newton, rows=self.weights)
            r_p[:, :, k] = found.r
            for name, w in self.weights.items():
                c_p[:, :, k] += w * getattr(found, name)[:, :m]
            bare = parameters.unforced_record(k)
            for states, out in impulsive:
                put_slopes(bare, states, k, out)
            if stages.after is not None:
                put_slopes(bare, stages.after, k, rates=rate_p, seconds=second_p)
        return [r_p, c_p, s_p, rate_p, k_p, second_p]

    def check(self, bad: int, stages: Stages) -> None:
        """Raise where a linearised step has no solution."""
        if bad >= 0:
            raise InputError(
                f"the linearised step to t = {stages.newton.t[bad]:.6g} s of model {self.model.name!r} is singular: "
                "the motion has no derivative beyond. mg.mobility(model, q) tells what loses its rank there."
            )

    def check_rank(self, sizes: list[tuple[FloatArray, FloatArray]]) -> None:
        """Raise where constraints lost their rank; sizes: instants and log s of pieces in their order."""
        if self.m and not self.record.formulation.compliant:
            t, s = (np.concatenate(x) for x in zip(*sizes, strict=True))
            check_rank(self.model, s, t)


def states_after(record: Record) -> Iterator[States]:
    """The states after all steps, some at a time."""
    steps = NewmarkSteps(record)
    for span in steps.pieces(0):
        yield steps.taken(span).states.rows(slice(1, None))
