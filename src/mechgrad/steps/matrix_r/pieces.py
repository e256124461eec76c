"""Implicit steps in independent coordinates once more, linearised.

    W dq = [ -value_p; dz - z_p ],   W dv, W da likewise,   R^T (K dq + C dv + M da + r_p) = 0

z are the independent coordinates, which the scheme acts on; q, v, a and the multipliers of a state follow from z, z',
z'' and the model. Where others are chosen, they and their memory follow from q, v, a, and the choices are held as they
were made.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import (
    States,
    as_complex,
    linearised,
    put_force_slopes,
    slopes,
    without_laws,
)
from mechgrad.errors import InputError
from mechgrad.kernels.right_hand_sides import padded
from mechgrad.kinematics.mechanism_record import one_of_all
from mechgrad.model.mechanism import N_ALL
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.cuts import March, place
from mechgrad.steps.independent.choices import Choices, Choosing, coordinate_rows
from mechgrad.steps.matrix_r.kernels.march import march_independent
from mechgrad.steps.matrix_r.kernels.tangent import IndependentBlocks
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.newmark.pieces import ImplicitSteps, Span, Taken
from mechgrad.steps.record import Record
from mechgrad.typing import Array, FloatArray, IntArray

CHUNK_BYTES = 2**25  # of linearised equations kept at a time
FEWEST_STEPS, MOST_STEPS = 8, 4096


class Rows(NamedTuple):
    """W = [Gamma; B] and the partials of its rows, (nt, n, n) each: rates by q, second rates by q and by v."""

    W: FloatArray
    rate_q: FloatArray
    second_q: FloatArray
    second_v: FloatArray


def picked(rows: FloatArray, picks: IntArray) -> FloatArray:
    """Some rows of each state: rows (nt, all, n), picks (nt, some)."""
    if (picks == picks[0]).all():
        return rows[:, picks[0]]
    return np.take_along_axis(rows, picks[:, :, None], axis=1)


class Part(NamedTuple):
    """Some of the steps of a piece; velocities of coordinates that are chosen anew with the first of them, or None."""

    here: slice
    anew: IntArray | None


class Piece(NamedTuple):
    """Steps, linearised.

    states : after each of them;   picks : (N, n_v) the rows of W in each;   parts : with one choice each
    terms : what parameters do, in a direct sweep
    """

    taken: Taken
    states: States
    picks: IntArray
    parts: list[Part]
    blocks: IndependentBlocks
    terms: list[FloatArray]


class IndependentSteps(ImplicitSteps):
    """The steps of a motion by Matrix R and a scheme of the Newmark family.

    >>> start = mg.assemble(five_bar(), {"A": -2.3, "1": 1.7}, guess=five_bar_start())
    >>> swing = mg.simulate(five_bar(), start, duration=0.02, formulation="matrix-r", scheme="trapezoidal", step=0.01)
    >>> len(IndependentSteps(swing.record).pieces(1))
    1
    """

    def __init__(self, record: Record, threads: int = 1) -> None:
        outputs, choices = len(record.t) - 1, record.choices
        if outputs < 1 or record.steps % outputs or record.ended == "stop":
            raise InputError(
                f"the motion of {record.model.name!r} has {record.steps} steps between {outputs + 1} instants and ended"
                f" by {record.ended!r}; its derivative needs steps of one length. Simulate without a stop condition."
            )
        if record.settings is None or record.memory is None or choices is None:
            raise InputError(
                f"the motion of {record.model.name!r} was made by {record.formulation} and {record.scheme!r}, not by "
                "implicit steps of Matrix R; simulate with formulation=MatrixR(...) and a scheme such as 'trapezoidal'."
            )
        super().__init__(record)
        self.pool = ChunkPool(1)
        self.T = record.system.T
        self.choices: Choices = choices
        self.n, self.m, self.rank = self.model.n_v, self.system.n_constraints, self.choices.rank
        self.freedom, self.all = self.n - self.rank, int(self.T.ints[N_ALL])
        bare = without_laws(self.T)
        self.T_rows = as_complex(bare._replace(ints=one_of_all(self.model, bare.ints)))
        self.kept = np.r_[0 : self.m, self.system.n_rows : self.all]  # rows of the record that these are
        self.start = self.choices.picks[0]
        rows = coordinate_rows(self.system) if not self.choices.named else np.full(self.n, -1)
        self.column = {int(row): j for j, row in enumerate(rows) if row >= 0}  # whose coordinate an offered row is

    def steps_at_once(self, columns: int) -> int:
        size = 8 * self.n * (3 * self.n + 4 * self.all + 8 * columns)
        return int(np.clip(CHUNK_BYTES // size, FEWEST_STEPS, MOST_STEPS))

    def march_from(self, output: int) -> March:
        first = place(self.record.divisions, output * self.every)
        choosing = Choosing(self.system, self.choices, hold=True, step=first)

        def march(ranks: Array, h: float, t: float, every: int, arrays: list[Array]) -> Any:
            return march_independent(self.T, choosing.record, self.settings, ranks, h, t, every, Samples(*arrays))

        return march

    def linearised(self, piece: Span, parameters: ParameterColumns | None = None) -> Piece:
        taken = self.taken(piece)
        states = taken.states.rows(slice(1, None))
        first, last = taken.before, taken.before + len(states.t)
        picks = self.choices.at(np.arange(first, last))
        found = linearised(self.T, states)
        rows = self._rows(states, found.J, found.J_rate, picks)
        blocks = IndependentBlocks(*(x.reshape(len(states.t), -1) for x in (found.K, found.C, found.M, *rows)))
        terms = [] if parameters is None else self.parameter_terms(parameters, states, picks)
        return Piece(taken, states, picks, self._parts(first, last), blocks, terms)

    def _parts(self, first: int, last: int) -> list[Part]:
        """The steps from one to another in parts with one choice each."""
        cuts = [first, *self.choices.changes(first, last).tolist(), last]
        return [Part(slice(x - first, y - first), self._anew(x)) for x, y in pairwise(cuts)]

    def _anew(self, step: int) -> IntArray | None:
        """Velocities whose coordinates are chosen anew with a step, None if they stay."""
        if step == 0 or self.choices.named or step not in self.choices.first:
            return None
        return np.array([self.column[int(row)] for row in self.choices.at(np.array([step]))[0, self.rank :]])

    def _rows(self, states: States, J: FloatArray, rate_q: FloatArray, picks: IntArray) -> Rows:
        _, second_q = coordinate_slopes(self.model, self.T_rows, states, with_rates=False)
        among_kept = np.searchsorted(self.kept, picks)
        W, rates, seconds = picked(J, picks), picked(rate_q, picks), picked(second_q, among_kept)
        return Rows(W, rates, seconds, velocity_slopes(self.model, self.T_rows, states, rates, W, holonomic=True))

    @property
    def first_state(self) -> States:
        """The state that the march began with, as one sample."""
        return self.record.states(slice(0, 1))

    def first_rows(self) -> Rows:
        """The rows of independent coordinates at the start of the motion, (f, n_v) each."""
        found = linearised(self.T, self.first_state)
        rows = self._rows(self.first_state, found.J, found.J_rate, self.start[None])
        return Rows(*(x[0, self.rank :] for x in rows))

    def parameter_terms(
        self, parameters: ParameterColumns, states: States, picks: IntArray, *, residual: bool = True
    ) -> list[FloatArray]:
        """r_p, value_p, rate_p, second_p (nt, n, columns); the last three in the order of the rows of W. Columns beyond
        the parameters fill blocks."""
        terms = [np.zeros((len(states.t), self.n, padded(len(parameters)))) for _ in range(4)]
        alone = [k for k in parameters.acting if parameters.keeps_geometry(k)]
        if alone and residual:
            put_force_slopes(self.T, [parameters.record(k) for k in alone], states, alone, terms[0])
        for k in set(parameters.acting) - set(alone):
            found = slopes(parameters.record(k), states, residual=residual)
            if residual:
                terms[0][:, :, k] = found.r
            for term, slope in zip(terms[1:], found[1:], strict=True):
                term[:, :, k] = picked(slope[:, :, None], picks)[:, :, 0]
        return terms

    def spread(self, weights: FloatArray, picks: IntArray) -> FloatArray:
        """Weights (no, N, .) of the rows `picks` (N, .) among those of all rows."""
        out = np.zeros((*weights.shape[:2], self.all))
        np.put_along_axis(out, np.broadcast_to(picks, weights.shape), weights, axis=2)
        return out

    def check(self, bad: int, states: States, h: FloatArray) -> None:
        """Raise where a linearised step, one of lengths h (N,), has no solution."""
        if bad >= 0:
            at = int(np.searchsorted(self.choices.times, states.t[bad] - 0.5 * h[bad], side="right")) - 1
            chosen = self.choices.described(self.system)[at].independent
            raise InputError(
                f"the linearised step to t = {states.t[bad]:.6g} s of model {self.model.name!r} is singular: "
                f"{', '.join(chosen)} do not determine the motion there. Choose others, or take ALI3P."
            )
