"""Accelerations and multipliers at the start of a motion, differentiated.

[ M  Gamma^T ; Gamma  0 ] [ da; dlam ] = -[ K dq + C dv + r_p;  second_q dq + second_v dv + second_p ]
"""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import (
    States,
    coordinate_slopes,
    linearised,
    slopes,
    velocity_slopes,
)
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.record import Record
from mechgrad.steps.weights import Weights
from mechgrad.tolerances import RANK
from mechgrad.typing import FloatArray, IntArray


@final
class InitialAccelerations:
    """The first state of a motion, whose accelerations follow from positions and velocities.

    rows : constraint rows that have multipliers, all of them if left out
    """

    def __init__(self, record: Record, rows: IntArray | None = None) -> None:
        system, model = record.system, record.model
        self.states = States(*(x[:1] for x in (record.q, record.v, record.a, record.multipliers, record.t)))
        n = model.n_v
        self.rows = np.arange(system.n_constraints) if rows is None else rows
        self.all, m = system.n_constraints, len(self.rows)
        self.n, self.m = n, m
        here = linearised(system.T, self.states)
        self.K, self.C = here.K[0], here.C[0]
        matrix = np.zeros((n + m, n + m))
        matrix[:n, :n] = here.M[0]
        matrix[n:, :n], matrix[:n, n:] = here.J[0, self.rows], here.J[0, self.rows].T
        self.inverse = np.linalg.pinv(matrix, rcond=RANK) if m else np.linalg.inv(matrix)
        self.second_q = self.second_v = np.zeros((m, n))
        if m:
            T = system.unforced_complex
            rate_q, second_q = coordinate_slopes(model, T, self.states)
            second_v = velocity_slopes(model, T, self.states, rate_q, self.all == system.n_holonomic)
            self.second_q, self.second_v = second_q[0, self.rows], second_v[0, self.rows]

    def direct(self, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> tuple[FloatArray, FloatArray]:
        """da, dlam (np, .) from dq, dv (np, n_v)."""
        right = np.concatenate([dq @ self.K.T + dv @ self.C.T, dq @ self.second_q.T + dv @ self.second_v.T], axis=1)
        for k in parameters.acting:
            found = slopes(parameters.record(k), self.states)
            right[k, : self.n] += found.r[0]
            right[k, self.n :] += found.seconds[0, self.rows]
        change = -right @ self.inverse.T
        dlam = np.zeros((len(change), self.all))
        dlam[:, self.rows] = change[:, self.n :]
        return change[:, : self.n], dlam

    def adjoint(self, yq: FloatArray, yv: FloatArray, ya: FloatArray, yl: FloatArray) -> Weights:
        """Take gradients by a and lam (no, .) back to q and v, in place; returns the weights of parameters."""
        x = np.concatenate([ya, yl[:, self.rows]], axis=1) @ self.inverse
        eta, theta = x[:, : self.n], x[:, self.n :]
        yq -= eta @ self.K + theta @ self.second_q
        yv -= eta @ self.C + theta @ self.second_v
        seconds = np.zeros((len(theta), 1, self.all))
        seconds[:, 0, self.rows] = -theta
        return Weights(self.states, -eta[:, None], None, None, seconds if self.m else None)
