"""Projections of closed mechanisms after explicit steps, once more, and what parameters do in them.

One repetition q_p+1 = q_p moved by d changes by parameters themselves by

    d_p  = -S^-1 [ (M d + Gamma^T s)_p;   value_p + Gamma_p d ],        dv_p likewise with rate_p(q+, v+)

`dynamics.kernels.loop_gradient` has the equations, and the way back.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels import loop_gradient as _kernels
from mechgrad.dynamics.kernels.loop_gradient import Passes, PassWeights
from mechgrad.dynamics.kernels.state_accelerations import DONE
from mechgrad.dynamics.states import States, slopes, unforced
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.model.columns import STEP
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.failures import REASONS
from mechgrad.steps.recursive.kernels.tangent import CorrectionEffects
from mechgrad.steps.recursive.solutions import solved_recursively
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray


class Projections:
    """Of N states q, v at instants t; passes: the repetitions. Without any states, or without projections, no lines."""

    def __init__(self, system: System, numbers: FloatArray, q: FloatArray, v: FloatArray, t: FloatArray) -> None:
        self.system, self.numbers = system, numbers
        if len(t):
            loops = system.recursion(numbers, dtype=float)
            self.passes, bad, reason = _kernels.projection_passes(system.unforced_recursive, loops, q, v, t)
            if reason != DONE:
                raise InputError(
                    f"the state near t = {t[bad]:.6g} s cannot be brought back to the constraints: {REASONS[reason]}."
                )
        else:
            lines, duals = np.zeros_like(v), np.zeros((0, system.n_constraints))
            self.passes = Passes(
                np.zeros(1, np.int64), np.array(q), lines, duals, np.array(t), np.array(q), lines, lines, duals,
                np.array(t),
            )  # fmt: skip
        self.holonomic = np.where(np.arange(system.n_constraints) < system.n_holonomic, 1.0, 0.0)

    def no_weights(self, count: int) -> PassWeights:
        """Zeros for the weights of some objectives."""
        p = self.passes
        shapes = p.d.shape, p.s.shape, p.dv.shape, p.dual.shape
        return PassWeights(*(np.zeros((count, *shape)) for shape in shapes))

    def weights(self, w: PassWeights) -> list[Weights]:
        """What parameters act with."""
        p = self.passes
        if len(p.first) <= 1:
            return []
        still, moving, end_still, end_moving = self._states(p)
        return [
            Weights(still, w.mu, self.holonomic * w.nu, -w.nu, forced=False),
            Weights(moving, None, None, w.nu, forced=False),
            Weights(end_still, w.end_mu, forced=False),
            Weights(end_moving, None, None, w.end_nu, forced=False),
        ]

    @staticmethod
    def _states(p: Passes) -> tuple[States, States, States, States]:
        """Where repetitions were made, at rest under d and moving with d; and where velocities were projected."""
        none, end_none = np.zeros_like(p.d), np.zeros_like(p.dv)
        return (
            States(p.q, none, p.d, p.s, p.t),
            States(p.q, p.d, none, np.zeros_like(p.s), p.t),
            States(p.end_q, end_none, p.dv, p.dual, p.end_t),
            States(p.end_q, p.end_v, end_none, np.zeros_like(p.dual), p.end_t),
        )

    def effects(self, parameters: ParameterColumns) -> CorrectionEffects:
        """What parameters themselves do, as imaginary parts."""
        p, n, count = self.passes, self.system.model.n_v, len(parameters)
        if len(p.first) <= 1:
            nothing: Array = np.zeros((0, count, n), complex)
            return CorrectionEffects(p.first, p.end_t, nothing, nothing)
        right = np.zeros((len(p.d), count, n + self.system.n_constraints))
        end_right = np.zeros((len(p.dv), count, n + self.system.n_constraints))
        still, moving, end_still, end_moving = (x.complex() for x in self._states(p))
        for k in parameters.acting:
            T = unforced(parameters.record(k))
            here = slopes(T, still, rows=("values", "rates"))
            right[:, k, :n] = here.r
            turned = slopes(T, moving, residual=False, rows=("rates",)).rates - here.rates
            right[:, k, n:] = self.holonomic * here.values + turned
            end_right[:, k, :n] = slopes(T, end_still, rows=()).r
            end_right[:, k, n:] = slopes(T, end_moving, residual=False, rows=("rates",)).rates
        found = (
            solved_recursively(self.system, self.numbers, q, t, x)[:, :, :n]
            for q, t, x in ((p.q, p.t, right), (p.end_q, p.end_t, end_right))
        )
        return CorrectionEffects(p.first, p.end_t, *(-1j * STEP * x for x in found))
