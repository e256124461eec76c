"""Continuous adjoint of ALI3-P: multipliers mu1 of d(q')/dt = v' + T q', mu2 of the residual, nu of the constraints,
(pi1, theta1) and (pi2, theta2) of the projections of velocities and accelerations.

    [ M  Gamma^T; Gamma  -1/p ] [ pi2; theta2 ] = [ g_a; 0 ]
    [ M  Gamma^T; Gamma  -1/p ] [ pi1; theta1 ] = [ g_v - second_v^T theta2; 0 ]
    M mu2' + (M' - r_v)^T mu2 - M pi2' - M' pi2 + mu1 + M pi1 = 0,                      Gamma mu2 = g_lam
    mu1' + T^T mu1 - r_q^T mu2 - Gamma^T nu = -g_q + rate_q^T theta1 + second_q^T theta2

p is the penalty of projections, infinite where they are repeated until nothing is left. Without a projection M pi2 is
g_a, M pi1 is g_v. At the end

    mu1 = Theta_q + rate_q^T eta + Gamma^T xi,     M mu2 - Gamma^T eta = M pi2 + Theta_v,     Gamma mu2 = g_lam

with xi from the rate of the last equation. The multipliers nu start at zero there: the trapezoidal rule then
lets them swing about their true values, and their sum with its weights is that of the true ones.

    dpsi/dp = [ xi . value_p + eta . rate_p ] at the end + [ mu1 . q_p + (M mu2 - M pi2) . v_p ] at the start
              - integral mu2 . r_p + nu . value_p + theta1 . rate_p + theta2 . second_p dt

The signs of the two brackets, and M' where a published form has M, are those that follow from the derivation. That form
also takes r at v*, a* and lam, as steps leave them before they are projected. Projections change velocities by O(h^2),
but accelerations by O(h) across the constraints: a* and lam are of first order only. Here r stands at v, and at the
accelerations and multipliers that meet the equations of motion in (q, v); what the projections did to the state drops
out, and gradients are of second order, those of accelerations too.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import DONE
from mechgrad.dynamics.states import StateGradients, linearised
from mechgrad.errors import InputError
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


class _Projected(NamedTuple):
    """Multipliers theta (nt, no, m) of the projections; M pi1, M pi2 and d(M pi2)/dt as they enter the
    equations of motion."""

    theta1: FloatArray
    theta2: FloatArray
    push1: FloatArray
    push2: FloatArray
    push2_rate: FloatArray


@final
class ALI3PAdjoint:
    """Of ALI3-P; a formulation with conditional projections counts as one that always projects."""

    def __init__(self, motion: Trajectory) -> None:
        system, model = motion.system, motion.model
        form: Any = motion.formulation  # whose numbers these equations know
        if system.n_constraints > system.n_holonomic:
            raise InputError(
                f"the continuous adjoint of ALI3-P takes holonomic constraints only, and "
                f"{system.names[system.n_holonomic]!r} of model {model.name!r} is one of velocities. Use "
                "method='adjoint'."
            )
        self.velocities = form.projection is not None
        self.accelerations = self.velocities and form.accelerations
        compliance = 1.0 / (form.penalty * form.scaling) if form.projection == "penalty" else 0.0
        self.n, self.m = model.n_v, system.n_constraints
        self.redundant = bool(system.redundant(motion.q[0], float(motion.t[0])))
        a, lam, row, reason = system.accelerations(motion.q, motion.v, motion.t)
        if reason != DONE:
            raise InputError(
                f"model {model.name!r} has no unique accelerations at t = {motion.t[row]:.6g} s, and so no continuous "
                "adjoint. Use method='adjoint'."
            )
        states = self.states = states_of(motion)._replace(a=a, lam=lam)
        here = linearised(system.T, states, False)
        self.K, self.C, self.M = here.K, here.C, here.M
        self.J = here.J[:, : self.m]
        self.inverse = self.exact = saddle_inverse(self.M, self.J, 0.0, self.redundant)
        if compliance:
            self.inverse = saddle_inverse(self.M, self.J, compliance, self.redundant)
        self.M_rate, self.turn = mass_rate(system, states), turning(model, states.v)
        self.rows = constraint_slopes(system, states)
        self.J_rate = self.rows.J_rate

    def _projections(self, g: StateGradients) -> _Projected:
        n, t = self.n, self.states.t
        none = np.zeros_like(g.lam)
        if not self.velocities:
            return _Projected(none, none, g.v, g.a, time_rate(g.a, t))
        theta2, push2, push2_rate = none, g.a, time_rate(g.a, t)
        if self.accelerations:
            x = times(g.a, self.inverse[:, :n])
            pi2, theta2 = x[:, :, :n], x[:, :, n:]
            push2 = times(pi2, self.M)
            push2_rate = times(self._rate(x, push2_rate), self.M) + times(pi2, self.M_rate)
        x = times(g.v - times(theta2, self.rows.second_v), self.inverse[:, :n])
        return _Projected(x[:, :, n:], theta2, times(x[:, :, :n], self.M), push2, push2_rate)

    def _rate(self, x: FloatArray, a_rate: FloatArray) -> FloatArray:
        """d(pi2)/dt: at the end from the differentiated projection, then by the rule that steps of mu2 take too."""
        n, t = self.n, self.states.t
        pi, theta = x[:, :, :n], x[:, :, n:]
        right = [
            a_rate[-1] - pi[-1] @ self.M_rate[-1] - theta[-1] @ self.J_rate[-1],
            -pi[-1] @ self.J_rate[-1].T,
        ]
        rates = np.zeros_like(pi)
        rates[-1] = (np.concatenate(right, axis=1) @ self.inverse[-1])[:, :n]
        for k in range(len(t) - 2, -1, -1):
            rates[k] = 2.0 / (t[k + 1] - t[k]) * (pi[k + 1] - pi[k]) - rates[k + 1]
        return rates

    def adjoint(self, g: StateGradients, terminal: Terminal) -> AdjointResult:
        """Gradients by the start and weights of parameters, from densities g and terminal terms."""
        n, t, nt = self.n, self.states.t, len(self.states.t)
        p = self._projections(g)
        rows = self.rows
        pull = g.q - times(p.theta1, rows.rate_q) - times(p.theta2, rows.second_q)
        damping = self.C - self.M_rate
        mu1, mu2, nu = np.zeros_like(g.q), np.zeros_like(g.q), np.zeros_like(g.lam)
        x = np.concatenate([p.push2[-1] + terminal.v, g.lam[-1]], axis=1) @ self.exact[-1]
        mu2[-1], eta = x[:, :n], -x[:, n:]
        mu1[-1] = terminal.q + eta @ rows.rate_q[-1]
        force = p.push2_rate[-1] - p.push1[-1] + mu2[-1] @ damping[-1] - mu1[-1]
        lam_rate = time_rate(g.lam, t)[-1] - mu2[-1] @ self.J_rate[-1].T
        x = np.concatenate([force, lam_rate], axis=1) @ self.exact[-1]
        mu2_rate, xi = x[:, :n], x[:, n:]
        mu1[-1] += xi @ self.J[-1]
        mu1_rate = -pull[-1] - mu1[-1] @ self.turn[-1] + mu2[-1] @ self.K[-1]
        matrix = np.zeros((n + self.m, n + self.m))
        for k in range(nt - 2, -1, -1):
            c = 2.0 / (t[k + 1] - t[k])
            mu1_hat, mu2_hat = c * mu1[k + 1] - mu1_rate, c * mu2[k + 1] - mu2_rate
            # mu1 = push + (c M + r_v - M')^T mu2, put into (c - T^T) mu1 + r_q^T mu2 + Gamma^T nu = pull + mu1_hat
            push = p.push2_rate[k] - p.push1[k] - mu2_hat @ self.M[k]
            slope, turned = c * self.M[k] + damping[k].T, c * np.eye(n) - self.turn[k].T
            matrix[:n, :n] = (turned @ slope + self.K[k].T) / c**2
            matrix[:n, n:], matrix[n:, :n] = self.J[k].T, self.J[k]
            right = np.concatenate([(pull[k] + mu1_hat - push @ turned.T) / c**2, g.lam[k]], axis=1)
            x = solved(matrix, right.T, self.redundant).T
            mu2[k], nu[k] = x[:, :n], c**2 * x[:, n:]
            mu1[k] = push + mu2[k] @ slope.T
            mu1_rate, mu2_rate = mu1_hat - c * mu1[k], mu2_hat - c * mu2[k]
        rates, seconds = (integrated(t, -x) if self.velocities else None for x in (p.theta1, p.theta2))
        weights = [
            Weights(self.states, integrated(t, -mu2), integrated(t, -nu), rates, seconds),
            Weights(self.states.rows(slice(nt - 1, nt)), None, xi[:, None], eta[:, None], forced=False),
        ]
        return AdjointResult(mu1[0], mu2[0] @ self.M[0] - p.push2[0], weights)
