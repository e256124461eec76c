"""Continuous adjoints of motions in first-order form, y = [ x; x' ], y' = f(y, p):

    mu' = -f_y^T (mu + g_y'^T) - g_y^T,     mu(end) = Theta_y^T            backwards, trapezoidal rule
    dpsi/dp = mu(start) . y_p + integral f_p^T (mu + g_y'^T) + g_p dt

with x = q for trees and for the penalty formulation, whose accelerations and multipliers follow from

    [ M  Gamma^T; Gamma  -1/penalty ] [ a'; lam' ] = -[ r_q q' + r_v v' + r_p;  c_q q' + c_v v' + c_p ],
    c = second rate + 2 damping frequency rate + frequency^2 value

The start enters with a plus sign (a published form of these equations has a minus there).
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from mechgrad.dynamics.states import StateGradients, linearised
from mechgrad.sensitivities.continuous.linearised_motion import (
    AdjointResult,
    Terminal,
    constraint_slopes,
    integrated,
    saddle_inverse,
    states_of,
    times,
    turning,
)
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray


def march_back(A: FloatArray, c: FloatArray, end: FloatArray, t: FloatArray) -> FloatArray:
    """mu (nt, no, k) with mu' = -A mu - c, backwards from its value at the end (no, k); A (nt, k, k), c (nt, no, k)."""
    mu = np.zeros_like(c)
    mu[-1] = end
    rate = -end @ A[-1].T - c[-1]
    eye = np.eye(A.shape[1])
    for n in range(len(t) - 2, -1, -1):
        half = 0.5 * (t[n + 1] - t[n])
        mu[n] = np.linalg.solve(eye - half * A[n], (mu[n + 1] - half * (rate - c[n])).T).T
        rate = -mu[n] @ A[n].T - c[n]
    return mu


@final
class FirstOrderAdjoint:
    """Of open trees, and of the penalty formulation as the ordinary differential equation that it is."""

    def __init__(self, motion: Trajectory) -> None:
        system = motion.system
        form: Any = motion.formulation  # of trees, or the penalty formulation, whose numbers are known here
        self.states = states_of(motion)
        n, m = motion.model.n_v, system.n_constraints
        self.n, self.m = n, m
        here = linearised(system.T, self.states, False)
        self.K, self.C = here.K, here.C
        self.turn = turning(motion.model, self.states.v)
        self.w0 = self.w1 = np.zeros(m)
        self.c_q = self.c_v = np.zeros((len(motion.t), m, n))
        compliance = 1.0
        if m:
            rows = constraint_slopes(system, self.states)
            late = np.arange(m) >= system.n_holonomic
            self.w0 = np.where(late, 0.0, form.frequency**2)
            self.w1 = np.full(m, 2.0 * form.damping * form.frequency)
            self.c_q = self.w0[:, None] * rows.J + self.w1[:, None] * rows.rate_q + rows.second_q
            self.c_v = self.w1[:, None] * rows.J + rows.second_v
            compliance = 1.0 / form.penalty
        self.inverse = saddle_inverse(here.M, here.J[:, :m], compliance, redundant=False)

    def adjoint(self, g: StateGradients, terminal: Terminal) -> AdjointResult:
        """Gradients by the start and weights of parameters, from densities g and terminal terms."""
        n, t = self.n, self.states.t
        pull = np.concatenate([g.a, g.lam], axis=2) @ self.inverse
        response = self.inverse[:, :n]
        by_q, by_v = (np.concatenate(x, axis=1) for x in ((self.K, self.c_q), (self.C, self.c_v)))
        A = np.zeros((len(t), 2 * n, 2 * n))
        A[:, :n, :n], A[:, n:, :n] = self.turn.swapaxes(1, 2), np.eye(n)
        A[:, :n, n:], A[:, n:, n:] = (-(response @ x).swapaxes(1, 2) for x in (by_q, by_v))
        c = np.concatenate([g.q - times(pull, by_q), g.v - times(pull, by_v)], axis=2)
        mu = march_back(A, c, np.concatenate(terminal, axis=1), t)
        eta = pull + times(mu[:, :, n:], response)
        weights = integrated(t, -eta)
        nu = weights[:, :, n:]
        rows = (nu * self.w0, nu * self.w1, nu) if self.m else (None, None, None)
        found = Weights(self.states, np.ascontiguousarray(weights[:, :, :n]), *rows)
        return AdjointResult(mu[0, :, :n], mu[0, :, n:], [found])
