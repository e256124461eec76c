"""Explicit steps of open trees once more, without a matrix of the whole mechanism: O(n) per parameter or objective.

    a = M^-1 (Q - h)          by recursive elimination
    forwards      a' = da/dq q' + da/dv v' + a_p          the elimination differentiated along (q', v'),   M a_p = -r_p
    backwards     M mu = -w,    d(w . a) = mu . (r_q dq + r_v dv + r_p dp)      the elimination, and one sweep each way

r_p, the direct effect of a parameter, is evaluated for all stages of a piece at once; what marches forwards in time
carries q' and v' for eight parameters at a time. Steps with error control are held as they were taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.states import States, as_complex, slopes
from mechgrad.errors import InputError
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.mechanics.energies import weightless_tree
from mechgrad.model.columns import STEP
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.record import Record
from mechgrad.steps.runge_kutta.held_steps import HeldSteps, Span, Stages
from mechgrad.typing import Array, FloatArray

CHUNK_BYTES = 2**25  # of stages and their weights, or of direct effects, kept at a time
PER_STAGE = 24  # numbers per velocity that a stage takes itself


class Piece(NamedTuple):
    """Steps of a span with their stages, and what parameters do to accelerations directly in all of these, (stages, np,
    n_v), as imaginary parts; None in an adjoint sweep."""

    span: Span
    stages: Stages
    direct_effects: Array | None


class RecursiveSteps(HeldSteps):
    """The steps of a tree by an explicit method and recursive elimination."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        if record.system.n_constraints:
            raise InputError("recursive sensitivities are for open trees.")
        super().__init__(record)
        self.T = as_complex(record.system.recursive)
        self.weightless = weightless_tree(self.model)

    def stages_at_once(self, columns: int) -> int:
        fits = CHUNK_BYTES // (8 * (PER_STAGE + 2 * columns) * max(self.n, 1))
        return int(np.clip(fits, 64, 16384))

    def linearised(self, piece: range, parameters: ParameterColumns | None = None) -> Piece:
        span = self.span(piece)
        stages = self.stages(span)
        return Piece(span, stages, None if parameters is None else self._direct_effects(parameters, stages.states))

    def accelerated(self, q: Array, r: FloatArray) -> FloatArray:
        """-M^-1 r, by recursive elimination."""
        return np.asarray(forward_dynamics(self.weightless, np.asarray(q.real, float), tau=-r, method="recursive"))

    def _direct_effects(self, parameters: ParameterColumns, states: States) -> Array:
        """In some stages."""
        effects: Array = np.zeros((len(states.t), len(parameters), self.n), complex)
        for k in parameters.acting:
            effects[:, k] = 1j * STEP * self.accelerated(states.q, slopes(parameters.record(k), states).r)
        return effects
