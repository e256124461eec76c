"""Explicit steps once more, without a matrix of the whole mechanism: O(n) per parameter or objective.

    a, lam = S^-1 (Q - h, ..)      by recursive elimination; S = M for open trees
    forwards      a' = da/dq q' + da/dv v' + a_p     the elimination differentiated along (q', v'),   S (a_p, .) = -r_p
    backwards     S (mu, nu) = -w,    d(w . a) = mu . dr + nu . d(second rates)     the elimination, one sweep each way

r_p, the direct effect of a parameter, is evaluated for all stages of a piece at once; what marches forwards in time
carries q' and v' for eight parameters at a time. Steps with error control are held as they were taken. Projections of
closed mechanisms after steps, and of reports within them, are taken again with them (`projections`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.states import States, as_complex, slopes
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.mechanics.energies import weightless_tree
from mechgrad.model.columns import STEP
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.record import Record
from mechgrad.steps.recursive.kernels.tangent import CorrectionEffects
from mechgrad.steps.recursive.projections import Projections
from mechgrad.steps.recursive.solutions import solved_recursively
from mechgrad.steps.runge_kutta.held_steps import HeldSteps, Span, Stages
from mechgrad.typing import Array, FloatArray

CHUNK_BYTES = 2**25  # of stages and their weights, or of direct effects, kept at a time
PER_STAGE = 24  # numbers per velocity that a stage takes itself


class Piece(NamedTuple):
    """Steps of a span with their stages and projections, and what parameters do directly in all of these: to
    accelerations (stages, np, n_v), as imaginary parts, and to projections; None in an adjoint sweep."""

    span: Span
    stages: Stages
    ends: Projections
    within: Projections
    direct_effects: Array | None
    correction_effects: tuple[CorrectionEffects, CorrectionEffects] | None


class RecursiveSteps(HeldSteps):
    """The steps of a mechanism by an explicit method and recursive elimination."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        super().__init__(record)
        self.closed = record.system.n_constraints > 0
        self.T = as_complex(record.system.recursive)
        self.weightless = weightless_tree(self.model)

    def stages_at_once(self, columns: int) -> int:
        fits = CHUNK_BYTES // (8 * (PER_STAGE + 2 * columns) * max(self.n, 1))
        return int(np.clip(fits, 64, 16384))

    def linearised(self, piece: range, parameters: ParameterColumns | None = None) -> Piece:
        span = self.span(piece)
        stages = self.stages(span)
        ends = self._projections(stages.end_q, stages.end_v, span.t + span.h)
        within = self._projections(stages.out_q, stages.out_v, self.record.t[span.within[:, 1]])
        if parameters is None:
            return Piece(span, stages, ends, within, None, None)
        corrected = ends.effects(parameters), within.effects(parameters)
        return Piece(span, stages, ends, within, self._direct_effects(parameters, stages.states), corrected)

    def _projections(self, q: FloatArray, v: FloatArray, t: FloatArray) -> Projections:
        """Of some states, none of them where steps are not projected."""
        count = len(q) if self.closed and self.kind.projected is not None else 0
        return Projections(self.system, self.f, q[:count], v[:count], t[:count])

    def accelerated(self, q: Array, r: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray]:
        """-S^-1 (r, c) for lines (N, columns, n) and (N, columns, m), by recursive elimination."""
        if not self.closed:
            tree, columns = self.weightless, r.shape[1]
            found = [
                forward_dynamics(tree, np.asarray(q.real, float), tau=-r[:, k], method="recursive")
                for k in range(columns)
            ]
            return np.stack(found, axis=1) if columns else np.zeros_like(r), np.zeros((*r.shape[:2], 0))
        x = -solved_recursively(self.system, self.f, q, np.zeros(len(q)), np.concatenate([r, c], axis=2))
        return x[:, :, : self.n], x[:, :, self.n :]

    def rows_of(self, values: FloatArray, rates: FloatArray, seconds: FloatArray) -> FloatArray:
        """Changes of the rows of the acceleration problem, from those of all rows (N, rows)."""
        m, (_, frequency, damping, _) = self.system.n_constraints, self.f
        holonomic = np.where(np.arange(m) < self.system.n_holonomic, 1.0, 0.0)
        mixed = frequency**2 * holonomic * values[:, :m] + 2.0 * frequency * damping * rates[:, :m] + seconds[:, :m]
        return np.asarray(mixed)

    def _direct_effects(self, parameters: ParameterColumns, states: States) -> Array:
        """In some stages."""
        N, some, m = len(states.t), parameters.acting, self.system.n_constraints
        r, c = np.zeros((N, len(some), self.n)), np.zeros((N, len(some), m))
        for i, k in enumerate(some):
            found = slopes(parameters.record(k), states)
            r[:, i], c[:, i] = found.r, self.rows_of(*found[1:])
        effects: Array = np.zeros((N, len(parameters), self.n), complex)
        effects[:, some] = 1j * STEP * self.accelerated(states.q, r, c)[0]
        return effects
