"""Continuous adjoint of Matrix R, in the independent coordinates z:  y = [ z; z' ].

With W = [ Gamma; B ], B of the rows z(q), all variations follow from those of z, z', z'':

    W q' = [ 0; z' ] - value_p,    W v' = [ 0; (z')' ] - rate_q q' - rate_p,
    W a' = [ 0; (z'')' ] - second_q q' - second_v v' - second_p,        r_q q' + r_v v' + M a' + Gamma^T lam' + r_p = 0

The last is projected by R = W^-1 [ 0; 1 ] for z'', and by S = W^-1 [ 1; 0 ] for multipliers. Read backwards, these
four lines give the adjoint without any derivative of R and S.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from mechgrad.dynamics.states import StateGradients, linearised
from mechgrad.model.mechanism import N_ALL
from mechgrad.sensitivities.continuous.first_order_adjoint import march_back
from mechgrad.sensitivities.continuous.linearised_motion import (
    AdjointResult,
    Terminal,
    integrated,
    row_slopes,
    states_of,
    times,
)
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray, IntArray


class _Pulled(NamedTuple):
    """Weights (nt, no, n) of values, rates and second rates of the rows of W."""

    value: FloatArray
    rate: FloatArray
    second: FloatArray


@final
class MatrixRAdjoint:
    """Of the formulation Matrix R, in joint or natural coordinates.

    Between two choices of coordinates the adjoint of z and z' ends with what the later coordinates pull at q and v.
    """

    def __init__(self, motion: Trajectory) -> None:
        choices, t = motion.record.choices, motion.t
        assert choices is not None
        first = np.minimum(np.searchsorted(t, choices.times - 1e-9 * (t[-1] - t[0])), len(t) - 1)
        # of several choices before the next instant the last counts; from the last instant on none does
        used = [k for k in range(len(first)) if k + 1 == len(first) or first[k + 1] > first[k]]
        used = [k for k in used if first[k] < len(t) - 1]
        ends = [*(int(first[k]) for k in used[1:]), len(t) - 1]
        self.parts = [
            _Part(motion, choices.picks[k], choices.rank, slice(int(first[k]), end + 1))
            for k, end in zip(used, ends, strict=True)
        ]

    def adjoint(self, g: StateGradients, terminal: Terminal) -> AdjointResult:
        """Gradients by the start and weights of parameters, from densities g and terminal terms."""
        weights: list[Weights] = []
        for part in reversed(self.parts):
            found = part.adjoint(StateGradients(*(x[part.here] for x in g)), terminal)
            terminal = Terminal(found.yq, found.yv)
            weights += found.weights
        return AdjointResult(terminal.q, terminal.v, weights)


class _Part:
    """The instants of a motion with one choice of coordinates, both ends included."""

    def __init__(self, motion: Trajectory, rows: IntArray, rank: int, here: slice) -> None:
        system, model = motion.system, motion.model
        self.here, self.states = here, states_of(motion).rows(here)
        self.n, self.m, self.width = model.n_v, rank, int(system.T.ints[N_ALL])
        self.rows = rows
        linear = linearised(system.T, self.states, False)
        self.K, self.C, self.M = linear.K, linear.C, linear.M
        slopes = row_slopes(system, system.T, self.states, linear.J)
        self.W, self.rate_q, self.second_q, self.second_v = (x[:, self.rows] for x in slopes)
        self.inverse: FloatArray = np.asarray(np.linalg.inv(self.W), float)
        self.S, self.R = self.inverse[:, :, :rank], self.inverse[:, :, rank:]

    def _pulled(self, g: StateGradients, rho: FloatArray) -> _Pulled:
        """Take gradients by states, and the weights rho (nt, no, n) of the residual, back to the rows of W."""
        second = times(g.a - times(rho, self.M), self.inverse)
        rate = times(g.v - times(rho, self.C) - times(second, self.second_v), self.inverse)
        left = g.q - times(rho, self.K) - times(second, self.second_q) - times(rate, self.rate_q)
        return _Pulled(times(left, self.inverse), rate, second)

    def adjoint(self, g: StateGradients, terminal: Terminal) -> AdjointResult:
        """Gradients by the start and weights of parameters, from densities g and terminal terms."""
        t, m, nt = self.states.t, self.m, len(self.states.t)
        free = self.n - m
        R_T = self.R.swapaxes(1, 2)
        mass: FloatArray = np.asarray(np.linalg.inv(R_T @ self.M @ self.R), float)
        zero = StateGradients(*(np.zeros((nt, free, k)) for k in (self.n, self.n, self.n, m)))
        # unit accelerations z'' are pulled by rho = R mass
        unit = self._pulled(zero, times(mass, R_T))
        fixed = times(g.lam[:, :, self.rows[:m]], self.S.swapaxes(1, 2))
        drive = times(times(g.a - times(fixed, self.M), self.R), mass)
        given = self._pulled(g, fixed + times(drive, R_T))
        A = np.zeros((nt, 2 * free, 2 * free))
        A[:, free:, :free] = np.eye(free)
        A[:, :free, free:] = unit.value[:, :, m:].swapaxes(1, 2)
        A[:, free:, free:] = unit.rate[:, :, m:].swapaxes(1, 2)
        c = np.concatenate([given.value[:, :, m:], given.rate[:, :, m:]], axis=2)
        # at the end: Theta by z and z' through the positions and velocities that follow from them
        rate = terminal.v @ self.inverse[-1]
        value = (terminal.q - rate @ self.rate_q[-1]) @ self.inverse[-1]
        mu = march_back(A, c, np.concatenate([value[:, m:], rate[:, m:]], axis=1), t)
        rho = fixed + times(drive + times(mu[:, :, free:], mass), R_T)
        pulled = self._pulled(g, rho)
        w0, w1, w2 = (self._spread(integrated(t, -x)) for x in pulled)
        end = self.states.rows(slice(nt - 1, nt))
        weights = [
            Weights(self.states, integrated(t, -rho), w0, w1, w2),
            Weights(end, None, self._spread(-value[:, None]), self._spread(-rate[:, None])),
        ]
        return self._start(mu[0], weights)

    def _spread(self, x: FloatArray) -> FloatArray:
        """Weights of the rows of W among all rows."""
        out = np.zeros((*x.shape[:2], self.width))
        out[:, :, self.rows] = x
        return out

    def _start(self, mu: FloatArray, weights: list[Weights]) -> AdjointResult:
        """z and z' at the start follow from q and v there, and from parameters."""
        m, free = self.m, self.n - self.m
        on_z = np.concatenate([np.zeros((len(mu), m)), mu[:, :free]], axis=1)
        on_rate = np.concatenate([np.zeros((len(mu), m)), mu[:, free:]], axis=1)
        yq = on_z @ self.W[0] + on_rate @ self.rate_q[0]
        start = Weights(
            self.states.rows(slice(0, 1)), None, self._spread(on_z[:, None]), self._spread(on_rate[:, None])
        )
        return AdjointResult(yq, on_rate @ self.W[0], [*weights, start])
