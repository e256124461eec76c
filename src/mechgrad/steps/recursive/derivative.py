"""Fully recursive sensitivities of trees: O(n) per parameter, no matrix of the whole mechanism.

    a = M^-1 (Q - h)          by recursive elimination
    a' = da/dq q' + da/dv v' + a_p          the elimination differentiated along (q', v'),   M a_p = -r_p

r_p, the direct effect of a parameter, is evaluated for all stages of the motion at once; the march in time carries q'
and v' for eight parameters at a time. The adjoint is that of `ExplicitSteps`.
"""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import StateGradients, States, StateSlopes, as_complex, slopes
from mechgrad.errors import InputError
from mechgrad.inverse.forward import forward_dynamics
from mechgrad.model.columns import STEP
from mechgrad.model.joints.base import BALL
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.recursive.kernels import tangent as _kernels
from mechgrad.steps.runge_kutta.child_axes import to_child, to_parent
from mechgrad.steps.runge_kutta.derivative import ExplicitSteps
from mechgrad.steps.runge_kutta.step import RK4_A, RK4_B, RK4_C, RK4_TABLEAU, fixed_states
from mechgrad.steps.task import DONE, REASONS
from mechgrad.steps.weights import WeightSink
from mechgrad.typing import Array, FloatArray

CHUNK_BYTES = 2**26  # of direct effects kept at a time


@final
class RecursiveSteps:
    """The steps of a tree by RK4 and recursive elimination."""

    def __init__(self, motion: Trajectory) -> None:
        if motion.system.n_constraints:
            raise InputError("recursive sensitivities are for open trees.")
        self.steps = ExplicitSteps(motion)
        self.motion, self.model, self.system = motion, motion.model, motion.system
        self.T = as_complex(motion.system.T)
        self.weightless = self.model.open_tree().with_values({f"gravity.{axis}": 0.0 for axis in "xyz"})
        self.every = motion.steps // (len(motion.t) - 1)
        self.h = float(motion.t[-1] - motion.t[0]) / motion.steps

    def _accelerated(self, q: Array, r: FloatArray) -> FloatArray:
        """-M^-1 r, by recursive elimination."""
        return np.asarray(forward_dynamics(self.weightless, np.asarray(q.real, float), tau=-r, method="recursive"))

    def direct(self, parameters: Parameters, dq: FloatArray, dv: FloatArray) -> StateSlopes:
        """Derivatives of all reported states, from those of the start (np, n_v)."""
        motion, model, count = self.motion, self.model, len(parameters)
        nt, n = len(motion.t), model.n_v
        Q: Array = np.zeros((nt, count, model.n_q), complex)
        V: Array = np.zeros((nt, count, n), complex)
        Q[0] = model.integrate(np.tile(motion.q[0] + 0j, (count, 1)), 1j * STEP * dq)
        V[0] = motion.v[0] + 1j * STEP * dv
        per = max(1, CHUNK_BYTES // (16 * RK4_B.size * self.every * count * n))
        for first in range(0, nt - 1, per):
            last = min(first + per, nt - 1)
            pushes = self._pushes(parameters, first, (last - first) * self.every)
            _, reason = _kernels.recursive_tangents(
                self.T, RK4_TABLEAU, self.h, float(motion.t[first]), self.every, pushes, Q[first : last + 1],
                V[first : last + 1],
            )  # fmt: skip
            if reason != DONE:
                raise InputError(f"sensitivities end after t = {motion.t[first]:.6g} s: {REASONS[reason]}.")
        by_q, by_v = self._tangent(Q), V.imag / STEP
        by_a = np.zeros((nt, count, n))
        for k in range(count):
            T = self.T if parameters.is_start(k) else parameters.record(k)
            at = States(Q[:, k], V[:, k], motion.a + 0j, motion.multipliers, motion.t)
            by_a[:, k] = self._accelerated(motion.q, slopes(T, at).r)
        return StateSlopes(by_q, by_v, by_a, np.zeros((nt, count, 0)))

    def adjoint(self, g: StateGradients, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        """Gradients by the start, q and v (no, n_v); the weights that parameters act with go to `sink`."""
        return self.steps.adjoint(g, sink)

    def _pushes(self, parameters: Parameters, first: int, N: int) -> Array:
        """What parameters do to accelerations directly, in all stages of N steps from report `first` on."""
        q, v = fixed_states(self.motion, first, N, self.h)
        u = to_child(self.model, q, v)
        t = self.motion.t[first] + self.h * np.arange(N)
        slope: FloatArray = np.zeros((N, q.shape[1] + v.shape[1]))
        found = []
        for i, c in enumerate(RK4_C):
            at = np.concatenate([q, u], axis=1) + (self.h * RK4_A[i, i - 1] if i else 0.0) * slope
            at_q = np.ascontiguousarray(at[:, : q.shape[1]])
            at_v = to_parent(self.model, at_q, at[:, q.shape[1] :])
            times = t + c * self.h
            a, lam, _, _ = self.system.accelerations(at_q, at_v, times)
            slope = self.steps.slope_of(at_q, at_v, a)
            found.append(States(at_q, at_v, a, lam, times))
        shape = (N, len(found), len(parameters), self.model.n_v)
        pushes: Array = np.zeros(shape, complex)
        for i, states in enumerate(found):
            for k in parameters.acting:
                pushes[:, i, k] = 1j * STEP * self._accelerated(states.q, slopes(parameters.record(k), states).r)
        return pushes.reshape(N * len(found), len(parameters), self.model.n_v)

    def _tangent(self, Q: Array) -> FloatArray:
        """Changes along `model.integrate` from slopes of coordinates."""
        out = np.zeros((*Q.shape[:2], self.model.n_v))
        layout = self.model._layout
        out[..., layout.plain_v] = Q[..., layout.plain_q].imag / STEP
        atoms = self.system.T.atoms_i
        for k, j in atoms[atoms[:, KIND] == BALL][:, [Q_AT, V_AT]]:
            e, de = Q[..., k : k + 4].real, Q[..., k : k + 4].imag / STEP
            turn = e[..., :1] * de[..., 1:] - de[..., :1] * e[..., 1:] - np.cross(de[..., 1:], e[..., 1:])
            out[..., j : j + 3] = 2.0 * turn / np.sum(e * e, axis=-1, keepdims=True)
        return out
