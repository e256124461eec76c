"""Entries over many states, in SIMD lanes: the equations of motion and the constraint rows, linearised."""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.system import begin, forces, linearise, make_work, place_free
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.records import refer
from mechgrad.kinematics.kernels.rows import row_columns, row_rate_columns
from mechgrad.model.mechanism import N_ALL, N_CONSTRAINTS


@kernel
def _linearised(T, w, Q, V, A, L, t, K, C, M, J, J_rate, moving, q, v, a, lam, time, k, c, mass, r):
    scalar = lane_zero()
    T, w = refer(T), refer(w)
    begin(T, w, scalar)
    n, rows, m = width(scalar), T.ints[N_ALL], T.ints[N_CONSTRAINTS]
    for row in range(0, Q.shape[0], n):
        gather(Q, row, q, 0, scalar)
        gather(V, row, v, 0, scalar)
        gather(A, row, a, 0, scalar)
        gather(L, row, lam, 0, scalar)
        gather(t, row, time, 0, scalar)
        now = load(time, 0, scalar)
        check = place_free(T, w, q, v, a, now, scalar)
        if any_not_less(check, 1.0):
            return row
        forces(T, w, now, scalar)
        for i in range(m):
            store(w.y, i, load(lam, i, scalar))
        linearise(T, w, r, k, c, mass, scalar)
        row_columns(T.ints, T.numbers, w.twists, w.attachments, runtime_int(0), rows, w.J, scalar)
        scatter(k, 0, K, row, scalar)
        scatter(c, 0, C, row, scalar)
        scatter(mass, 0, M, row, scalar)
        scatter(w.J, 0, J, row, scalar)
        if moving:
            row_rate_columns(
                T.ints, T.numbers, w.motion, w.frames, w.twists, w.attachments, runtime_int(0), rows, w.J_rate, scalar
            )
            scatter(w.J_rate, 0, J_rate, row, scalar)
    return -1


@wrapper
def linearised_lanes(T, Q, V, A, L, t, K, C, M, J, J_rate, moving):
    """K = r_q, C = r_v, M = r_a (nt, n_v n_v), and Gamma and the rates by q of all rows J, J_rate (nt, rows n_v).

    t: (nt, 1). Where `moving` is False, J_rate is left alone. Returns the first sample of a block with a bad number,
    or -1.
    """
    n, n_v = LANES, T.columns_i.shape[0]
    q, v, a = np.empty(Q.shape[1] * n), np.empty(n_v * n), np.empty(n_v * n)
    lam, time = np.empty(T.ints[N_CONSTRAINTS] * n), np.empty(n)
    k, c, mass, r = np.empty(n_v * n_v * n), np.empty(n_v * n_v * n), np.empty(n_v * n_v * n), np.empty(n_v * n)
    w = make_work(T, LANES)
    return _linearised(T, w, Q, V, A, L, t, K, C, M, J, J_rate, moving, q, v, a, lam, time, k, c, mass, r)
