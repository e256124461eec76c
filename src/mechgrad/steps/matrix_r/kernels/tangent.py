"""The step of `matrix_r`, differentiated: what it does to changes of the independent coordinates, and its transpose.

With W = [Gamma; B] and R = W^-1 [0; 1] after the step, u = beta h^2 dx1, and changes that the state before leaves
behind marked 0:

    W dq = [ 0; dz0 + u ]      - value_p
    W dv = [ 0; dz'0 + cv u ]  - rate_q dq - rate_p
    W da = [ 0; dz''0 + ca u ] - second_q dq - second_v dv - second_p
    K dq + C dv + M da + r_p + Gamma^T dlam = 0

The last, projected by R^T, determines u; its other rows, by W^-T, determine dlam. K holds the change of Gamma under the
multipliers; that of B under its own vanishes with them, so neither R nor W needs a derivative. The state after the step
follows from z, z', z'' alone: these and the memory are all that passes on, and no ball is carried from one state to the
next. Mechanics is linearised beforehand (`linearised`, `slopes`); adjoints run backwards, transposed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.columns import add_product, add_transposed, solve_columns, solve_columns_transposed
from mechgrad.kernels.jit import entry, inner
from mechgrad.kernels.lu import lu_factor


class IndependentBlocks(NamedTuple):
    """Linearised equations after each of N steps, (N, n n), row by row; rows of W: constraints, then free."""

    K: np.ndarray
    C: np.ndarray
    M: np.ndarray
    W: np.ndarray
    rate_q: np.ndarray
    second_q: np.ndarray
    second_v: np.ndarray


@inner
def _solve_levels(F, pivots, rate_q, second_q, second_v, q, v, a, n):
    """Changes of q, v and a (n, count) from the right-hand sides of the three levels, which they replace."""
    solve_columns(F, pivots, q, n)
    add_product(rate_q, n, n, q, v, 0, -1.0)
    solve_columns(F, pivots, v, n)
    add_product(second_q, n, n, q, a, 0, -1.0)
    add_product(second_v, n, n, v, a, 0, -1.0)
    solve_columns(F, pivots, a, n)


@inner
def _solve_levels_transposed(F, pivots, rate_q, second_q, second_v, q, v, a, n):
    """Minus the adjoints of the three levels from the gradients by q, v and a (n, count), which they replace."""
    solve_columns_transposed(F, pivots, a, n)
    add_transposed(second_v, n, n, a, 0, v, -1.0)
    solve_columns_transposed(F, pivots, v, n)
    add_transposed(second_q, n, n, a, 0, q, -1.0)
    add_transposed(rate_q, n, n, v, 0, q, -1.0)
    solve_columns_transposed(F, pivots, q, n)


@inner
def _add_forces(K, C, M, q, v, a, r, n):
    """r += K q + C v + M a."""
    add_product(K, n, n, q, r, 0, 1.0)
    add_product(C, n, n, v, r, 0, 1.0)
    add_product(M, n, n, a, r, 0, 1.0)


@inner
def _add_forces_transposed(K, C, M, x, q, v, a, n):
    """q += K^T x, v += C^T x, a += M^T x."""
    add_transposed(K, n, n, x, 0, q, 1.0)
    add_transposed(C, n, n, x, 0, v, 1.0)
    add_transposed(M, n, n, x, 0, a, 1.0)


@inner
def responses(K, C, M, W, rate_q, second_q, second_v, m, cv, ca, F, pivots, Rq, Rv, Ra, push, S, pivots_S):
    """Factors F of W and S of the projected matrix; what a unit of each u does to q, v, a and r, flat (n, f) each.

    Returns False where one of the two matrices is singular.
    """
    n, f = pivots.size, pivots_S.size
    for i in range(n * n):
        F[i] = W[i]
    if not lu_factor(F, pivots, n):
        return False
    for i in range(n * f):
        Rq[i] = Rv[i] = Ra[i] = push[i] = 0.0
    for k in range(f):
        o = (m + k) * f + k
        Rq[o], Rv[o], Ra[o] = 1.0, cv, ca
    q, v, a, r = Rq.reshape(n, f), Rv.reshape(n, f), Ra.reshape(n, f), push.reshape(n, f)
    _solve_levels(F, pivots, rate_q, second_q, second_v, q, v, a, n)
    _add_forces(K, C, M, q, v, a, r, n)
    for i in range(f * f):
        S[i] = 0.0
    add_transposed(Rq, n, f, r, 0, S.reshape(f, f), 1.0)
    return lu_factor(S, pivots_S, f)


@entry
def independent_tangent_steps(p, h, B, r_p, value_p, rate_p, second_p, dz, dzd, dzdd, dx, DQ, DV, DA, DL):
    """Changes (f, np) of independent coordinates and memory through N steps, in place; states into DQ .. DL (N, ., np).

    r_p and, in the order of the rows of W, value_p, rate_p, second_p: (N, n, np).
    Returns the first step with a singular matrix, or -1.
    """
    N, n, count, m, f = DQ.shape[0], DQ.shape[1], DQ.shape[2], DL.shape[1], dz.shape[0]
    scale = p.beta * h * h
    cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
    F, S, pivots, pivots_S = np.empty(n * n), np.empty(f * f), np.empty(n, np.int64), np.empty(f, np.int64)
    Rq, Rv, Ra, push = np.empty(n * f), np.empty(n * f), np.empty(n * f), np.empty(n * f)
    r, u = np.empty((n, count)), np.empty((f, count))
    for i in range(N):
        if not responses(
            B.K[i], B.C[i], B.M[i], B.W[i], B.rate_q[i], B.second_q[i], B.second_v[i], m, cv, ca, F, pivots, Rq, Rv, Ra,
            push, S, pivots_S,
        ):  # fmt: skip
            return i
        q, v, a = DQ[i], DV[i], DA[i]
        for j in range(n):
            for k in range(count):
                q[j, k], v[j, k], a[j, k] = -value_p[i, j, k], -rate_p[i, j, k], -second_p[i, j, k]
                r[j, k] = r_p[i, j, k]
        for c in range(f):
            for k in range(count):
                x0 = dx[c, k]
                dz[c, k] += h * dzd[c, k] + h * h * (0.5 - p.beta) * x0
                dzd[c, k] += h * (1.0 - p.gamma) * x0
                dzdd[c, k] = (p.alpha_m * x0 - p.alpha_f * dzdd[c, k]) / (1.0 - p.alpha_f)
                q[m + c, k] += dz[c, k]
                v[m + c, k] += dzd[c, k]
                a[m + c, k] += dzdd[c, k]
                u[c, k] = 0.0
        _solve_levels(F, pivots, B.rate_q[i], B.second_q[i], B.second_v[i], q, v, a, n)
        _add_forces(B.K[i], B.C[i], B.M[i], q, v, a, r, n)
        add_transposed(Rq, n, f, r, 0, u, -1.0)
        solve_columns(S, pivots_S, u, f)
        add_product(Rq, n, f, u, q, 0, 1.0)
        add_product(Rv, n, f, u, v, 0, 1.0)
        add_product(Ra, n, f, u, a, 0, 1.0)
        add_product(push, n, f, u, r, 0, 1.0)
        solve_columns_transposed(F, pivots, r, n)
        for j in range(m):
            for k in range(count):
                DL[i, j, k] = -r[j, k]
        for c in range(f):
            for k in range(count):
                dz[c, k] += u[c, k]
                dzd[c, k] += cv * u[c, k]
                dzdd[c, k] += ca * u[c, k]
                dx[c, k] = u[c, k] / scale
    return -1


@entry
def independent_adjoint_steps(p, h, B, GQ, GV, GA, GL, yz, yzd, yzdd, yx, mu, w0, w1, w2):
    """The transpose of `independent_tangent_steps`, from the last step to the first.

    GQ, GV, GA (N, n, no), GL (N, m, no): gradients by the state after each step; yz .. yx (f, no): adjoints of
    independent coordinates and memory, in place, those after the last step on entry. Out: weights of r_p (mu) and of
    value_p, rate_p, second_p (w0, w1, w2), (no, N, n), so that the gradient is their sum over steps.
    Returns the first step with a singular matrix, or -1.
    """
    N, n, count, m, f = GQ.shape[0], GQ.shape[1], GQ.shape[2], GL.shape[1], yz.shape[0]
    scale = p.beta * h * h
    cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
    F, S, pivots, pivots_S = np.empty(n * n), np.empty(f * f), np.empty(n, np.int64), np.empty(f, np.int64)
    Rq, Rv, Ra, push = np.empty(n * f), np.empty(n * f), np.empty(n * f), np.empty(n * f)
    q, v, a = np.empty((n, count)), np.empty((n, count)), np.empty((n, count))
    x, along, w = np.empty((n, count)), np.empty((n, count)), np.empty((f, count))
    for i in range(N - 1, -1, -1):
        if not responses(
            B.K[i], B.C[i], B.M[i], B.W[i], B.rate_q[i], B.second_q[i], B.second_v[i], m, cv, ca, F, pivots, Rq, Rv, Ra,
            push, S, pivots_S,
        ):  # fmt: skip
            return i
        for j in range(n):
            for k in range(count):
                q[j, k], v[j, k], a[j, k] = GQ[i, j, k], GV[i, j, k], GA[i, j, k]
                x[j, k] = -GL[i, j, k] if j < m else 0.0
                along[j, k] = 0.0
        solve_columns(F, pivots, x, n)
        _add_forces_transposed(B.K[i], B.C[i], B.M[i], x, q, v, a, n)
        for c in range(f):
            for k in range(count):
                w[c, k] = -(yz[c, k] + cv * yzd[c, k] + ca * yzdd[c, k] + yx[c, k] / scale)
        add_transposed(Rq, n, f, q, 0, w, -1.0)
        add_transposed(Rv, n, f, v, 0, w, -1.0)
        add_transposed(Ra, n, f, a, 0, w, -1.0)
        solve_columns_transposed(S, pivots_S, w, f)
        add_product(Rq, n, f, w, along, 0, 1.0)
        _add_forces_transposed(B.K[i], B.C[i], B.M[i], along, q, v, a, n)
        _solve_levels_transposed(F, pivots, B.rate_q[i], B.second_q[i], B.second_v[i], q, v, a, n)
        for k in range(count):
            for j in range(n):
                mu[k, i, j] = x[j, k] + along[j, k]
                w0[k, i, j], w1[k, i, j], w2[k, i, j] = -q[j, k], -v[j, k], -a[j, k]
        for c in range(f):
            for k in range(count):
                by_z, by_zd, by_zdd = yz[c, k] + q[m + c, k], yzd[c, k] + v[m + c, k], yzdd[c, k] + a[m + c, k]
                yz[c, k] = by_z
                yzd[c, k] = h * by_z + by_zd
                yzdd[c, k] = -p.alpha_f / (1.0 - p.alpha_f) * by_zdd
                yx[c, k] = h * h * (0.5 - p.beta) * by_z + h * (1.0 - p.gamma) * by_zd
                yx[c, k] += p.alpha_m / (1.0 - p.alpha_f) * by_zdd
    return -1
