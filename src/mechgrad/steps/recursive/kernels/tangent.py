"""Runge-Kutta steps of trees with slopes along many parameters: the recursive elimination itself carries them.

Accelerations by recursive elimination (`inverse.kernels.articulated`) in dual lanes, each lane a parameter: values are
those of the motion, slopes its derivatives. Triangularisation and back-substitution are differentiated as they go,
joint by joint, without any matrix of the whole mechanism: cost O(n) per parameter.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.accelerations import DONE, tree_accelerations
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.dual_lanes import dual_zero
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import kernel, wrapper
from mechgrad.kernels.lanes import gather, load, scatter, store, width
from mechgrad.kernels.records import refer
from mechgrad.model.mechanism import N_Q
from mechgrad.steps.runge_kutta.kernels.fixed import joined, normalise, split, turn_balls


@kernel
def _steps(T, w, A, B, C, h, t0, every, pushes, Q, V, y, at, K, q, v, a, push):
    scalar = dual_zero()
    T, w = refer(T), refer(w)
    begin(T, w, scalar)
    lanes, n_q, n_v, stages = width(scalar), T.ints[N_Q], T.columns_i.shape[0], B.size
    n = n_q + n_v
    for row in range(0, Q.shape[1], lanes):
        gather(Q[0], row, y, 0, scalar)
        gather(V[0], row, y, n_q, scalar)
        turn_balls(T.atoms_i, n_q - n_v, y, y, n_q, -1.0, scalar)
        step = 0
        for out in range(1, Q.shape[0]):
            for _ in range(every):
                for i in range(stages):
                    for j in range(n):
                        x = load(y, j, scalar)
                        for m in range(i):
                            if A[i, m] != 0.0:
                                x = x + load(K, m * n + j, scalar) * (h * A[i, m])
                        store(at, j, x)
                    split(T.atoms_i, at, n_q, q, v, scalar)
                    reason = tree_accelerations(T, w, q, v, scalar * 0.0 + (t0 + (step + C[i]) * h), a, scalar)
                    if reason != DONE:
                        return out, reason
                    gather(pushes[step * stages + i], row, push, 0, scalar)
                    for j in range(n_v):
                        store(a, j, load(a, j, scalar) + load(push, j, scalar))
                    joined(T.atoms_i, q, v, a, n_q, K, i, scalar)
                for j in range(n):
                    x = load(y, j, scalar)
                    for i in range(stages):
                        x = x + load(K, i * n + j, scalar) * (h * B[i])
                    store(y, j, x)
                normalise(T.atoms_i, y, scalar)
                step += 1
            split(T.atoms_i, y, n_q, q, v, scalar)
            scatter(q, 0, Q[out], row, scalar)
            scatter(v, 0, V[out], row, scalar)
    return Q.shape[0], DONE


@wrapper
def recursive_tangents(T, A, B, C, h, t0, every, pushes, Q, V):
    """Steps h from row 0 of Q, V (outputs, parameters, n), complex: values and slopes; every `every`-th state goes to
    the next row.

    T: of complex numbers without slopes; pushes (stages of all steps, parameters, n_v): what parameters themselves do
    to accelerations, in imaginary parts. Returns (outputs written, reason).
    """
    lanes, dtype = LANES, Q.dtype
    n_q, n_v, stages = int(T.ints[N_Q]), T.columns_i.shape[0], B.size
    n = n_q + n_v
    w = make_work(T, lanes)
    y, at, K = np.empty(n * lanes, dtype), np.empty(n * lanes, dtype), np.empty(stages * n * lanes, dtype)
    q, v, a, push = (
        np.empty(n_q * lanes, dtype), np.empty(n_v * lanes, dtype), np.empty(n_v * lanes, dtype),
        np.empty(n_v * lanes, dtype),
    )  # fmt: skip
    return _steps(T, w, A, B, C, h, t0, every, pushes, Q, V, y, at, K, q, v, a, push)
