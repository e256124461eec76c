"""Explicit steps of open trees once more, without a matrix of the whole mechanism: O(n) per parameter.

    a = M^-1 (Q - h)          by recursive elimination
    a' = da/dq q' + da/dv v' + a_p          the elimination differentiated along (q', v'),   M a_p = -r_p

r_p, the direct effect of a parameter, is evaluated for all stages of a piece at once; what marches in time carries q'
and v' for eight parameters at a time. Backwards, steps are those of `steps.runge_kutta`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.states import StateGradients, States, as_complex, slopes
from mechgrad.errors import InputError
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.model.columns import STEP
from mechgrad.steps.base import Adjoint, ParameterColumns, Steps
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.record import Record
from mechgrad.steps.recursive.tangent import RecursiveTangent
from mechgrad.steps.runge_kutta.child_axes import to_child, to_parent
from mechgrad.steps.runge_kutta.pieces import RungeKuttaSteps
from mechgrad.steps.runge_kutta.step import fixed_states
from mechgrad.steps.weights import WeightSink
from mechgrad.typing import Array, FloatArray

CHUNK_BYTES = 2**26  # of direct effects kept at a time


class Piece(NamedTuple):
    """Steps between two outputs, and what parameters do to accelerations directly in all their stages, (stages, np,
    n_v), as imaginary parts."""

    outputs: range
    direct_effects: Array


class RecursiveSteps(Steps):
    """The steps of a tree by an explicit method with fixed steps and recursive elimination."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        if record.system.n_constraints:
            raise InputError("recursive sensitivities are for open trees.")
        self.dense = RungeKuttaSteps(record, threads)
        self.record, self.model, self.system = record, record.model, record.system
        self.pool, self.T, self.tableau = ChunkPool(1), as_complex(record.system.T), record.scheme.tableau
        self.weightless = self.model.open_tree().with_values({f"gravity.{axis}": 0.0 for axis in "xyz"})
        self.every, self.h = record.steps_per_output, record.step_length

    def pieces(self, columns: int) -> list[range]:
        outputs = len(self.record.t) - 1
        per = max(1, CHUNK_BYTES // (16 * self.tableau.B.size * self.every * columns * self.model.n_v))
        return [range(first, min(first + per, outputs)) for first in range(0, outputs, per)]

    def linearised(self, piece: range, parameters: ParameterColumns | None = None) -> Piece:
        assert parameters is not None  # of direct sweeps only
        return Piece(piece, self._direct_effects(parameters, piece.start, len(piece) * self.every))

    def tangent(self, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> RecursiveTangent:
        return RecursiveTangent(self, parameters, dq, dv)

    def adjoint_of(self, g: StateGradients, sink: WeightSink) -> Adjoint:
        return self.dense.adjoint_of(g, sink)

    def adjoint(self, g: StateGradients, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, through the pieces of `RungeKuttaSteps`, of the same steps."""
        return self.dense.adjoint(g, sink)

    def accelerated(self, q: Array, r: FloatArray) -> FloatArray:
        """-M^-1 r, by recursive elimination."""
        return np.asarray(forward_dynamics(self.weightless, np.asarray(q.real, float), tau=-r, method="recursive"))

    def _direct_effects(self, parameters: ParameterColumns, first: int, N: int) -> Array:
        """In all stages of N steps from report `first` on."""
        found = self._stages(first, N)
        effects: Array = np.zeros((N, len(found), len(parameters), self.model.n_v), complex)
        for i, states in enumerate(found):
            for k in parameters.acting:
                effects[:, i, k] = 1j * STEP * self.accelerated(states.q, slopes(parameters.record(k), states).r)
        return effects.reshape(N * len(found), len(parameters), self.model.n_v)

    def _stages(self, first: int, N: int) -> list[States]:
        """The stages of N steps from report `first` on."""
        q, v = fixed_states(self.record, first, N, self.h)
        start = np.concatenate([q, to_child(self.model, q, v)], axis=1)
        t = self.record.t[first] + self.h * np.arange(N)
        rates: list[FloatArray] = []
        found = []
        for row, c in zip(self.tableau.A, self.tableau.C, strict=True):
            at = start
            for share, rate in zip(row, rates, strict=False):
                if share:
                    at = at + self.h * share * rate
            at_q = np.ascontiguousarray(at[:, : q.shape[1]])
            at_v = to_parent(self.model, at_q, at[:, q.shape[1] :])
            times = t + c * self.h
            a, lam, _, _ = self.system.accelerations(at_q, at_v, times)
            rates.append(self.dense.slope_of(at_q, at_v, a))
            found.append(States(at_q, at_v, a, lam, times))
        return found
