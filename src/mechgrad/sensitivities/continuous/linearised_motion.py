"""What all continuous adjoints read: the linearised mechanics of a motion at its reported instants.

    r_q, r_v, r_a = M, Gamma,   rates and second rates of rows by q and v,   dM/dt and dGamma/dt along the motion

Positions vary along `model.integrate`. There the variation q' of a ball turns with it, so that

    d(q')/dt = v' + T q',        T = v x  for balls, 0 for hinges and sliders
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import (
    States,
    as_complex,
    linearised,
    slopes,
    unforced,
)
from mechgrad.dynamics.system import System
from mechgrad.model.columns import STEP
from mechgrad.model.mechanism import Mechanism
from mechgrad.model.model import Model
from mechgrad.model.primitives.frames import skew
from mechgrad.simulation.quadrature import weights as quadrature_weights
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.weights import Weights
from mechgrad.tolerances import RANK
from mechgrad.typing import FloatArray


class Terminal(NamedTuple):
    """Gradients of terms at the end of a motion by its last q and v, (no, n_v) each."""

    q: FloatArray
    v: FloatArray


class AdjointResult(NamedTuple):
    """What an adjoint leaves behind: gradients by the start (no, n_v), and the weights that parameters act with."""

    yq: FloatArray
    yv: FloatArray
    weights: list[Weights]


class RowSlopes(NamedTuple):
    """Gamma of rows, their rates and second rates by q and v, (nt, rows, n_v) each."""

    J: FloatArray
    rate_q: FloatArray
    second_q: FloatArray
    second_v: FloatArray

    @property
    def J_rate(self) -> FloatArray:
        """dGamma/dt along the motion: the second rate is rate_q v + Gamma a, and rate_q is linear in v."""
        return self.second_v - self.rate_q


def states_of(motion: Trajectory) -> States:
    """The reported states of a motion."""
    return States(motion.q, motion.v, motion.a, motion.multipliers, motion.t)


def row_slopes(system: System, T: Mechanism, states: States, J: FloatArray) -> RowSlopes:
    """Slopes of all rows of a record, which may be that of the system or one without forces."""
    complex_T = as_complex(T)
    rate_q, second_q = coordinate_slopes(system.model, complex_T, states)
    holonomic = system.n_constraints == system.n_holonomic
    second_v = velocity_slopes(system.model, complex_T, states, rate_q, J, holonomic)
    return RowSlopes(J, rate_q, second_q, second_v)


def constraint_slopes(system: System, states: States) -> RowSlopes:
    """Slopes of the constraint rows."""
    bare = unforced(system.T)
    return row_slopes(system, bare, states, linearised(bare, states, False).J)


def mass_rate(system: System, states: States) -> FloatArray:
    """dM/dt along the motion (nt, n_v, n_v), exactly: a complex step of M along v, column by column."""
    model, (nt, n) = system.model, states.v.shape
    T = as_complex(unforced(system.T))
    along = np.asarray(model.integrate(states.q + 0j, 1j * STEP * states.v))
    still, lam = np.zeros((nt, n)), np.zeros_like(states.lam)
    columns = [slopes(T, States(along, still, np.tile(unit, (nt, 1)), lam, states.t)).r for unit in np.eye(n)]
    return np.stack(columns, axis=2)


def turning(model: Model, v: FloatArray) -> FloatArray:
    """T of all instants (nt, n_v, n_v)."""
    T = np.zeros((*v.shape, v.shape[1]))
    for ball in model.layout.ball_v:
        T[:, ball[:, None], ball] = skew(v[:, ball])
    return T


def saddle_inverse(M: FloatArray, J: FloatArray, compliance: float, redundant: bool) -> FloatArray:
    """Inverses of [ M  Gamma^T; Gamma  -compliance ] at all instants; shortest solutions where rows are redundant."""
    nt, m, n = J.shape
    matrix = np.zeros((nt, n + m, n + m))
    matrix[:, :n, :n], matrix[:, n:, :n], matrix[:, :n, n:] = M, J, J.swapaxes(1, 2)
    matrix[:, n:, n:] = -compliance * np.eye(m)
    if redundant and compliance == 0.0:
        return np.asarray(np.linalg.pinv(matrix, rcond=RANK, hermitian=True), float)
    return np.asarray(np.linalg.inv(matrix), float)


def solved(matrix: FloatArray, b: FloatArray, redundant: bool) -> FloatArray:
    """The solution of a square system, the shortest one where rows of constraints are redundant."""
    if redundant:
        return np.asarray(np.linalg.lstsq(matrix, b, rcond=RANK)[0], float)
    return np.asarray(np.linalg.solve(matrix, b), float)


def times(x: FloatArray, A: FloatArray) -> FloatArray:
    """A^T x at all instants: x (nt, no, rows), A (nt, rows, n)."""
    return np.asarray(np.matmul(x, A), float)


def time_rate(x: FloatArray, t: FloatArray) -> FloatArray:
    """dx/dt of a series by differences of second order."""
    return np.asarray(np.gradient(x, t, axis=0, edge_order=2 if len(t) > 2 else 1))


def integrated(t: FloatArray, x: FloatArray) -> FloatArray:
    """Integrands (nt, no, .) as the weights (no, nt, .) of a sum: times those of the trapezoidal rule."""
    return np.ascontiguousarray((quadrature_weights(t, "trapezoid")[:, None, None] * x).swapaxes(0, 1))
