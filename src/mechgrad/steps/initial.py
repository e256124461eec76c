"""Accelerations and multipliers at the start of a motion, differentiated.

[ M  Gamma^T ; Gamma  0 ] [ da; dlam ] = -[ K dq + C dv + r_p;  second_q dq + second_v dv + second_p ]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, final

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from mechgrad.dynamics.elimination import Elimination
from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import (
    States,
    linearised,
    linearised_entries,
    slopes,
)
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.record import Record
from mechgrad.steps.weights import Weights
from mechgrad.tolerances import RANK
from mechgrad.typing import FloatArray, IntArray


def _product(matrix: FloatArray, x: FloatArray, transposed: bool) -> FloatArray:
    """Lines of x times the matrix, or its transpose."""
    return np.asarray(x @ matrix if transposed else x @ matrix.T)


@final
class InitialAccelerations:
    """The first state of a motion, whose accelerations follow from positions and velocities.

    rows : constraint rows that have multipliers, all of them if left out
    """

    K: Any
    C: Any
    second_q: Any
    second_v: Any
    solve: Callable[[FloatArray, bool], FloatArray]

    def __init__(self, record: Record, rows: IntArray | None = None) -> None:
        system, model = record.system, record.model
        self.states = States(*(x[:1] for x in (record.q, record.v, record.a, record.multipliers, record.t)))
        n = model.n_v
        self.rows = np.arange(system.n_constraints) if rows is None else rows
        self.all, m = system.n_constraints, len(self.rows)
        self.n, self.m = n, m
        by = self._elimination(record)
        if by is not None:
            self._make_sparse(record, by)
            return
        here = linearised(system.T, self.states)
        self.K, self.C = here.K[0], here.C[0]
        matrix = np.zeros((n + m, n + m))
        matrix[:n, :n] = here.M[0]
        matrix[n:, :n], matrix[:n, n:] = here.J[0, self.rows], here.J[0, self.rows].T
        inverse = np.linalg.pinv(matrix, rcond=RANK) if m else np.linalg.inv(matrix)
        self.solve = partial(_product, np.asarray(inverse, float))
        self.second_q = self.second_v = np.zeros((m, n))
        if m:
            T = system.unforced_complex
            rate_q, second_q = coordinate_slopes(model, T, self.states)
            second_v = velocity_slopes(model, T, self.states, rate_q, here.J, self.all == system.n_holonomic)
            self.second_q, self.second_v = second_q[0, self.rows], second_v[0, self.rows]

    def _elimination(self, record: Record) -> Elimination | None:
        """Where entries are, if matrices are large and regular."""
        system = record.system
        if self.m < self.all or system.redundant(record.q[0], float(record.t[0])):
            return None
        return system.elimination(record.formulation.matrix_choice())

    def _make_sparse(self, record: Record, by: Elimination) -> None:
        """The same by sparse matrices."""
        system, model, n, m, tables = record.system, record.model, self.n, self.m, by.tables
        count, T = by.constraint_entries, system.unforced_complex
        here = linearised_entries(system.T, self.states, by)
        rate_q, second_q = coordinate_slopes(model, T, self.states, by)
        second_v = velocity_slopes(model, T, self.states, rate_q, here.J, self.all == system.n_holonomic, by)
        square = tables["entry_rows"], tables["entry_cols"]
        rows = tables["row_of"][:count], tables["row_columns"][:count]
        self.K, self.C, M = (sparse.csr_array((x[0], square), shape=(n, n)) for x in (here.K, here.C, here.M))
        J, self.second_q, self.second_v = (
            sparse.csr_array((x[0], rows), shape=(m, n)) for x in (here.J[:, :count], second_q, second_v)
        )
        factors = splu(sparse.csc_matrix(sparse.block_array([[M, J.T], [J, None]])))

        def solve(x: FloatArray, transposed: bool) -> FloatArray:
            return np.asarray(factors.solve(np.ascontiguousarray(x.T), "T" if transposed else "N")).T

        self.solve = solve

    def direct(self, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> tuple[FloatArray, FloatArray]:
        """da, dlam (np, .) from dq, dv (np, n_v)."""
        right = np.concatenate([dq @ self.K.T + dv @ self.C.T, dq @ self.second_q.T + dv @ self.second_v.T], axis=1)
        for k in parameters.acting:
            found = slopes(parameters.record(k), self.states)
            right[k, : self.n] += found.r[0]
            right[k, self.n :] += found.seconds[0, self.rows]
        change = -self.solve(right, False)
        dlam = np.zeros((len(change), self.all))
        dlam[:, self.rows] = change[:, self.n :]
        return change[:, : self.n], dlam

    def adjoint(self, yq: FloatArray, yv: FloatArray, ya: FloatArray, yl: FloatArray) -> Weights:
        """Take gradients by a and lam (no, .) back to q and v, in place; returns the weights of parameters."""
        x = self.solve(np.concatenate([ya, yl[:, self.rows]], axis=1), True)
        eta, theta = x[:, : self.n], x[:, self.n :]
        yq -= eta @ self.K + theta @ self.second_q
        yv -= eta @ self.C + theta @ self.second_v
        seconds = np.zeros((len(theta), 1, self.all))
        seconds[:, 0, self.rows] = -theta
        return Weights(self.states, -eta[:, None], None, None, seconds if self.m else None)
