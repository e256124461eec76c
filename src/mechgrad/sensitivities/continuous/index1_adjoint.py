"""Continuous adjoints of the index-1 equations: multipliers mu1 of d(q')/dt = v' + T q', mu2 of the residual, nu of the
second rates.

    M mu2' + (M' - r_v)^T mu2 + Gamma^T nu' + (Gamma' - second_v)^T nu + mu1 = -g_v + (g_a)'
    mu1' + T^T mu1 - r_q^T mu2 - second_q^T nu = -g_q,            Gamma mu2 = g_lam
    at the end     mu1 = Theta_q,     M mu2 + Gamma^T nu = g_a + Theta_v

    dpsi/dp = [ mu1 . q_p + (M mu2 + Gamma^T nu - g_a) . v_p ] at the start
              - integral mu2 . r_p + nu . second_p dt

Approach 1 solves these. Approach 2 first eliminates accelerations and multipliers from the objective through

    [ M  Gamma^T; Gamma  0 ] [ a'; lam' ] = -[ r_q q' + r_v v' + r_p;  second_q q' + second_v v' + second_p ]

so that g_a = 0 and g_lam = 0 in the equations above, and no derivative of g over time is needed.
"""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import StateGradients, linearised
from mechgrad.sensitivities.continuous.linearised_motion import (
    AdjointResult,
    Terminal,
    constraint_slopes,
    integrated,
    mass_rate,
    saddle_inverse,
    solved,
    states_of,
    time_rate,
    times,
    turning,
)
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray


@final
class Index1Adjoint:
    """Of the index-1 equations.

    eliminate : approach 2 instead of approach 1
    """

    def __init__(self, motion: Trajectory, *, eliminate: bool = True) -> None:
        system = motion.system
        self.eliminate = eliminate
        self.states = states_of(motion)
        self.n, self.m = motion.model.n_v, system.n_constraints
        self.redundant = bool(system.redundant(motion.q[0], float(motion.t[0])))
        here = linearised(system.T, self.states, False)
        self.K, self.C, self.M = here.K, here.C, here.M
        rows = constraint_slopes(system, self.states)
        self.J, self.second_q, self.second_v = rows.J, rows.second_q, rows.second_v
        self.J_rate, self.M_rate = rows.J_rate, mass_rate(system, self.states)
        self.turn = turning(motion.model, self.states.v)
        self.inverse = saddle_inverse(self.M, self.J, 0.0, self.redundant)

    def adjoint(self, g: StateGradients, terminal: Terminal) -> AdjointResult:
        """Gradients by the start and weights of parameters, from densities g and terminal terms."""
        n, t = self.n, self.states.t
        eta: FloatArray | float = 0.0
        if self.eliminate:
            eta = np.concatenate([g.a, g.lam], axis=2) @ self.inverse
            by_q, by_v = (
                np.concatenate([self.K, self.second_q], axis=1),
                np.concatenate([self.C, self.second_v], axis=1),
            )
            nothing = np.zeros_like(g.a), np.zeros_like(g.lam)
            g = StateGradients(g.q - times(eta, by_q), g.v - times(eta, by_v), *nothing)
        mu1, x = self._march(g, terminal)
        weights = integrated(t, -(x + eta))
        mu, nu = (np.ascontiguousarray(part) for part in (weights[:, :, :n], weights[:, :, n:]))
        yv = x[0, :, :n] @ self.M[0] + x[0, :, n:] @ self.J[0] - g.a[0]
        return AdjointResult(mu1[0], yv, [Weights(self.states, mu, None, None, nu)])

    def _march(self, g: StateGradients, terminal: Terminal) -> tuple[FloatArray, FloatArray]:
        """mu1 (nt, no, n) and [ mu2 nu ] (nt, no, n + m), backwards by the trapezoidal rule."""
        n, m, t = self.n, self.m, self.states.t
        nt, count = g.q.shape[:2]
        mu1, x = np.zeros((nt, count, n)), np.zeros((nt, count, n + m))
        force = -g.v + time_rate(g.a, t)
        damping = np.concatenate([self.M_rate - self.C, self.J_rate - self.second_v], axis=1)
        inertia = np.concatenate([self.M, self.J], axis=1)
        stiffness = np.concatenate([self.K, self.second_q], axis=1)
        mu1[-1] = terminal.q
        x[-1] = np.concatenate([g.a[-1] + terminal.v, g.lam[-1]], axis=1) @ self.inverse[-1]
        mu1_rate = -g.q[-1] - mu1[-1] @ self.turn[-1] + x[-1] @ stiffness[-1]
        lam_rate = time_rate(g.lam, t)[-1] - x[-1, :, :n] @ self.J_rate[-1].T
        x_rate = np.concatenate([force[-1] - x[-1] @ damping[-1] - mu1[-1], lam_rate], axis=1) @ self.inverse[-1]
        for k in range(nt - 2, -1, -1):
            c = 2.0 / (t[k + 1] - t[k])
            mu1_hat, x_hat = c * mu1[k + 1] - mu1_rate, c * x[k + 1] - x_rate
            # unknowns mu1 / c, mu2, nu; the lines of q divided by c^2, those of v by c
            matrix = np.zeros((2 * n + m, 2 * n + m))
            matrix[:n, :n] = self.turn[k].T / c - np.eye(n)
            matrix[:n, n:] = -stiffness[k].T / c**2
            matrix[n : 2 * n, :n] = np.eye(n)
            matrix[n : 2 * n, n:] = damping[k].T / c - inertia[k].T
            matrix[2 * n :, n : 2 * n] = self.J[k]
            right = np.concatenate([(-g.q[k] - mu1_hat) / c**2, (force[k] - x_hat @ inertia[k]) / c, g.lam[k]], axis=1)
            y = solved(matrix, right.T, self.redundant).T
            mu1[k], x[k] = c * y[:, :n], y[:, n:]
            mu1_rate, x_rate = mu1_hat - c * mu1[k], x_hat - c * x[k]
        return mu1, x
