"""The step of `implicit`, differentiated: what it does to changes of the state before (tangent), and its transpose.

Stage 1, Newton's equations, with u = beta h^2 dx1, the changes that the state before leaves behind marked 0:

    d(q) = dq0 + D u,   d(v*) = dv0 + cv u,   d(a*) = da0 + ca u
    [ bh2 (K D + cv C + ca M)                Gamma^T ] [ u        ]   [ -bh2 (K dq0 + C dv0 + M da0 + r_p)     ]
    [ (c_q D + cv c_v + ca c_a) / total      -eps    ] [ bh2 dlam ] = [ -(c_q dq0 + c_v dv0 + c_a da0 + c_p) / total ]

c = w0 value + w1 rate + w2 second is the constraint that is solved. Stages 2 and 3, the projections:

    [ M  Gamma^T ; Gamma  -1/p ] [ dv; dsig ] = [ M d(v*) - K2 dq - s_p;  -rate_q dq - rate_p              ]
    [ M  Gamma^T ; Gamma  -1/p ] [ da; dkap ] = [ M d(a*) - K3 dq - k_p;  -second_q dq - second_v dv - second_p ]

K2 = (M (v - v*) + Gamma^T sig)_q, s_p its twin by parameters, K3 and k_p likewise with a and kap. The influence of eps
is taken away by repetition where rows depend on each other; elsewhere there is none. What mechanics says of all steps
is linearised beforehand (`linearised`, `slopes`): here is matrix algebra only. Adjoints run the same stages backwards,
transposed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.saddle import log_root_det, saddle_factor
from mechgrad.dynamics.kernels.turning import carry, spread, spread_matrix
from mechgrad.kernels.columns import add_product, add_transposed, refined_columns
from mechgrad.kernels.jit import inner, kernel, runtime_int, wrapper
from mechgrad.kernels.records import refer

# Of the second block where rows depend on each other: it only keeps them regular, and repetitions (a few, PASSES at
# most) take its influence away.
REGULAR, PASSES = 1e-8, 12


class StepBlocks(NamedTuple):
    """Linearised equations of N steps; matrices row by row, one line per step.

    d : (N, n) the tangent step from the state before; low, high : (N, m n) c_q and c_v; c_a is w2 Gamma
    total, w2, eps : (m,) weights of the rows; projected : (N,) which steps were; K2 .. second_v : their partials
    """

    d: np.ndarray
    K: np.ndarray
    C: np.ndarray
    M: np.ndarray
    gamma: np.ndarray
    c_q: np.ndarray
    c_v: np.ndarray
    total: np.ndarray
    w2: np.ndarray
    projected: np.ndarray
    K2: np.ndarray
    rate_q: np.ndarray
    K3: np.ndarray
    second_q: np.ndarray
    second_v: np.ndarray


class StepNumbers(NamedTuple):
    """Numbers of N steps of one scheme; every field has its own type."""

    h: float
    scale: float  # beta h^2
    cv: float
    ca: float
    eps: float  # of the second block of Newton's matrix, times the total weight of its row
    passes: int
    eps_projection: np.ndarray  # (m,)
    passes_projection: int


@inner
def stage_matrix(atoms_i, d, K, C, M, gamma, c_q, c_v, total, w2, eps, scale, cv, ca, A, low, S, pivots):
    """Factors of stage 1 of one step."""
    n, m = d.size, total.size
    for i in range(n * n):
        A[i] = scale * K[i]
    spread_matrix(atoms_i, d, A, n, n)
    for i in range(n * n):
        A[i] += scale * (cv * C[i] + ca * M[i])
    for i in range(m * n):
        low[i] = c_q[i]
    spread_matrix(atoms_i, d, low, m, n)
    for k in range(m):
        for j in range(n):
            at = k * n + j
            low[at] = (low[at] + cv * c_v[at] + ca * w2[k] * gamma[at]) / total[k]
    return saddle_factor(A, gamma, low, eps, n, m, S, pivots)


@inner
def _add_weighted(gamma, w2, m, n, X, out, first, factor):
    """out[first:] += factor w2 Gamma X."""
    for r in range(m):
        for j in range(n):
            a = factor * w2[r] * gamma[r * n + j]
            if a != 0.0:
                for k in range(X.shape[1]):
                    out[first + r, k] += a * X[j, k]


class _Room(NamedTuple):
    """Factors of both matrices of a step, right-hand sides and changes (., columns)."""

    A: np.ndarray
    low: np.ndarray
    S: np.ndarray
    P: np.ndarray
    pivots_S: np.ndarray
    pivots_P: np.ndarray
    x: np.ndarray
    c: np.ndarray
    work: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    d: np.ndarray
    eps: np.ndarray
    loose: np.ndarray


def _make_workspace(n, m, count, eps_projection):
    size = n + m
    return _Room(
        np.empty(n * n), np.empty(m * n), np.empty(size * size), np.empty(size * size), np.empty(size, np.int64),
        np.empty(size, np.int64), np.empty((size, count)), np.empty((m, count)), np.empty((size, count)),
        np.empty((n, count)), np.empty((n, count)), np.empty((n, count)), np.empty((n, count)), np.empty(m),
        eps_projection,
    )  # fmt: skip


@kernel
def _tangent_steps(atoms_i, p, s, B, o, r_p, c_p, s_p, rate_p, k_p, second_p, dq, dv, da, dx, DQ, DV, DA, DL, rank):
    p, s, B, o = refer(p), refer(s), refer(B), refer(o)
    A, low, S, P, pivots_S, pivots_P = o.A, o.low, o.S, o.P, o.pivots_S, o.pivots_P
    x, c, work, q, v, a, d, eps, loose = o.x, o.c, o.work, o.q, o.v, o.a, o.d, o.eps, o.loose
    N, n, m, count = B.d.shape[0], B.d.shape[1], B.total.size, dq.shape[1]
    h, scale, cv, ca = s.h, s.scale, s.cv, s.ca
    beta, gamma, alpha_m, alpha_f = p.beta, p.gamma, p.alpha_m, p.alpha_f
    total, w2 = B.total, B.w2
    for k in range(m):
        eps[k] = s.eps / total[k]
    for i in range(N):
        if not stage_matrix(
            atoms_i, B.d[i], B.K[i], B.C[i], B.M[i], B.gamma[i], B.c_q[i], B.c_v[i], total, w2, eps, scale, cv, ca,
            A, low, S, pivots_S,
        ):  # fmt: skip
            return i
        rank[i] = log_root_det(S, n + m)
        projected = m > 0 and B.projected[i]
        if projected and not saddle_factor(B.M[i], B.gamma[i], B.gamma[i], loose, n, m, P, pivots_P):
            return i
        for j in range(n):
            for k in range(count):
                q[j, k] = dq[j, k]
                d[j, k] = h * dv[j, k] + h * h * (0.5 - beta) * dx[j, k]
                v[j, k] = dv[j, k] + h * (1.0 - gamma) * dx[j, k]
                a[j, k] = (alpha_m * dx[j, k] - alpha_f * da[j, k]) / (1.0 - alpha_f)
                x[j, k] = -scale * r_p[i, j, k]
        carry(atoms_i, B.d[i], q, 1.0)
        spread(atoms_i, B.d[i], d, 1.0)
        for j in range(n):
            for k in range(count):
                q[j, k] += d[j, k]
        add_product(B.K[i], n, n, q, x, 0, -scale)
        add_product(B.C[i], n, n, v, x, 0, -scale)
        add_product(B.M[i], n, n, a, x, 0, -scale)
        for r in range(m):
            for k in range(count):
                x[n + r, k] = -c_p[i, r, k]
        add_product(B.c_q[i], m, n, q, x, n, -1.0)
        add_product(B.c_v[i], m, n, v, x, n, -1.0)
        _add_weighted(B.gamma[i], w2, m, n, a, x, n, -1.0)
        for r in range(m):
            for k in range(count):
                x[n + r, k] /= total[r]
        refined_columns(S, pivots_S, low, x, n, m, None, s.passes, c, work)
        for r in range(m):
            for k in range(count):
                DL[i, r, k] = x[n + r, k] / scale
        for j in range(n):
            for k in range(count):
                d[j, k] = x[j, k]
                v[j, k] += cv * x[j, k]
                a[j, k] += ca * x[j, k]
        spread(atoms_i, B.d[i], d, 1.0)
        for j in range(n):
            for k in range(count):
                q[j, k] += d[j, k]
        if projected:
            for j in range(n):
                for k in range(count):
                    x[j, k] = -s_p[i, j, k]
            for r in range(m):
                for k in range(count):
                    x[n + r, k] = -rate_p[i, r, k]
            add_product(B.M[i], n, n, v, x, 0, 1.0)
            add_product(B.K2[i], n, n, q, x, 0, -1.0)
            add_product(B.rate_q[i], m, n, q, x, n, -1.0)
            refined_columns(P, pivots_P, B.gamma[i], x, n, m, None, s.passes_projection, c, work)
            for j in range(n):
                for k in range(count):
                    v[j, k] = x[j, k]
            if p.project_accelerations:
                for j in range(n):
                    for k in range(count):
                        x[j, k] = -k_p[i, j, k]
                for r in range(m):
                    for k in range(count):
                        x[n + r, k] = -second_p[i, r, k]
                add_product(B.M[i], n, n, a, x, 0, 1.0)
                add_product(B.K3[i], n, n, q, x, 0, -1.0)
                add_product(B.second_q[i], m, n, q, x, n, -1.0)
                add_product(B.second_v[i], m, n, v, x, n, -1.0)
                refined_columns(P, pivots_P, B.gamma[i], x, n, m, None, s.passes_projection, c, work)
                for j in range(n):
                    for k in range(count):
                        a[j, k] = x[j, k]
        for j in range(n):
            for k in range(count):
                memory = (1.0 - alpha_f) * a[j, k] + alpha_f * da[j, k] - alpha_m * dx[j, k]
                dx[j, k] = memory / (1.0 - alpha_m)
                dq[j, k], dv[j, k], da[j, k] = q[j, k], v[j, k], a[j, k]
                DQ[i, j, k], DV[i, j, k], DA[i, j, k] = q[j, k], v[j, k], a[j, k]
    return -1


@wrapper
def tangent_steps(atoms_i, p, s, B, r_p, c_p, s_p, rate_p, k_p, second_p, dq, dv, da, dx, DQ, DV, DA, DL, rank):
    """Changes (n, np) of state and memory through N steps, in place; those after each step into DQ .. DL (N, ., np).

    r_p, s_p, k_p: (N, n, np); c_p, rate_p, second_p: (N, m, np), np best `padded`. rank: (N,), how far constraints are
    from losing theirs (`sensitivities.rank`). Returns the first step with a singular matrix, or -1.
    """
    o = _make_workspace(B.d.shape[1], B.total.size, dq.shape[1], s.eps_projection)
    return _tangent_steps(
        atoms_i, p, s, B, o, r_p, c_p, s_p, rate_p, k_p, second_p, dq, dv, da, dx, DQ, DV, DA, DL, rank
    )


@kernel
def _adjoint_steps(atoms_i, p, s, B, o, GQ, GV, GA, GL, yq, yv, ya, yx, mu, nu, eta2, theta2, eta3, theta3, rank):
    p, s, B, o = refer(p), refer(s), refer(B), refer(o)
    A, low, S, P, pivots_S, pivots_P = o.A, o.low, o.S, o.P, o.pivots_S, o.pivots_P
    x, c, work, q, v, a, d, eps, loose = o.x, o.c, o.work, o.q, o.v, o.a, o.d, o.eps, o.loose
    N, n, m, count = B.d.shape[0], B.d.shape[1], B.total.size, yq.shape[1]
    h, scale, cv, ca = s.h, s.scale, s.cv, s.ca
    beta, gamma, alpha_m, alpha_f = p.beta, p.gamma, p.alpha_m, p.alpha_f
    total, w2 = B.total, B.w2
    for k in range(m):
        eps[k] = s.eps / total[k]
    for i in range(N - 1, -1, -1):
        if not stage_matrix(
            atoms_i, B.d[i], B.K[i], B.C[i], B.M[i], B.gamma[i], B.c_q[i], B.c_v[i], total, w2, eps, scale, cv, ca,
            A, low, S, pivots_S,
        ):  # fmt: skip
            return i
        rank[i] = log_root_det(S, n + m)
        projected = m > 0 and B.projected[i]
        if projected and not saddle_factor(B.M[i], B.gamma[i], B.gamma[i], loose, n, m, P, pivots_P):
            return i
        for j in range(n):
            for k in range(count):
                q[j, k], v[j, k] = yq[j, k] + GQ[i, j, k], yv[j, k] + GV[i, j, k]
                a[j, k] = ya[j, k] + GA[i, j, k] + (1.0 - alpha_f) / (1.0 - alpha_m) * yx[j, k]
                ya[j, k] = alpha_f / (1.0 - alpha_m) * yx[j, k]
                yx[j, k] *= -alpha_m / (1.0 - alpha_m)
        if projected:
            if p.project_accelerations:
                for j in range(n):
                    for k in range(count):
                        x[j, k], a[j, k] = a[j, k], 0.0
                for r in range(m):
                    for k in range(count):
                        x[n + r, k] = 0.0
                refined_columns(P, pivots_P, B.gamma[i], x, n, m, runtime_int(1), s.passes_projection, c, work)
                _keep(x, n, m, eta3, theta3, i)
                add_transposed(B.M[i], n, n, x, 0, a, 1.0)
                add_transposed(B.K3[i], n, n, x, 0, q, -1.0)
                add_transposed(B.second_q[i], m, n, x, n, q, -1.0)
                add_transposed(B.second_v[i], m, n, x, n, v, -1.0)
            for j in range(n):
                for k in range(count):
                    x[j, k], v[j, k] = v[j, k], 0.0
            for r in range(m):
                for k in range(count):
                    x[n + r, k] = 0.0
            refined_columns(P, pivots_P, B.gamma[i], x, n, m, runtime_int(1), s.passes_projection, c, work)
            _keep(x, n, m, eta2, theta2, i)
            add_transposed(B.M[i], n, n, x, 0, v, 1.0)
            add_transposed(B.K2[i], n, n, x, 0, q, -1.0)
            add_transposed(B.rate_q[i], m, n, x, n, q, -1.0)
        for j in range(n):
            for k in range(count):
                d[j, k] = q[j, k]
        spread(atoms_i, B.d[i], d, -1.0)
        for j in range(n):
            for k in range(count):
                x[j, k] = d[j, k] + cv * v[j, k] + ca * a[j, k]
        for r in range(m):
            for k in range(count):
                x[n + r, k] = GL[i, r, k] / scale
        refined_columns(S, pivots_S, B.gamma[i], x, n, m, runtime_int(1), s.passes, c, work)
        for j in range(n):
            for k in range(count):
                x[j, k] *= scale
        for r in range(m):
            for k in range(count):
                x[n + r, k] /= total[r]
        _keep(x, n, m, mu, nu, i)
        add_transposed(B.K[i], n, n, x, 0, q, -1.0)
        add_transposed(B.c_q[i], m, n, x, n, q, -1.0)
        add_transposed(B.C[i], n, n, x, 0, v, -1.0)
        add_transposed(B.c_v[i], m, n, x, n, v, -1.0)
        add_transposed(B.M[i], n, n, x, 0, a, -1.0)
        for r in range(m):
            for j in range(n):
                f = w2[r] * B.gamma[i, r * n + j]
                if f != 0.0:
                    for k in range(count):
                        a[j, k] -= f * x[n + r, k]
        for j in range(n):
            for k in range(count):
                d[j, k] = q[j, k]
        carry(atoms_i, B.d[i], q, -1.0)
        spread(atoms_i, B.d[i], d, -1.0)
        for j in range(n):
            for k in range(count):
                yq[j, k] = q[j, k]
                yv[j, k] = h * d[j, k] + v[j, k]
                yx[j, k] += h * h * (0.5 - beta) * d[j, k] + h * (1.0 - gamma) * v[j, k]
                yx[j, k] += alpha_m / (1.0 - alpha_f) * a[j, k]
                ya[j, k] -= alpha_f / (1.0 - alpha_f) * a[j, k]
    return -1


@wrapper
def adjoint_steps(atoms_i, p, s, B, GQ, GV, GA, GL, yq, yv, ya, yx, mu, nu, eta2, theta2, eta3, theta3, rank):
    """The transpose of `tangent_steps`, from the last step to the first.

    GQ, GV, GA (N, n, no), GL (N, m, no): gradients by the state after each step, no best `padded`; yq .. yx (n, no):
    adjoints of the state, in place, those after the last step on entry. Out, for as many objectives as they have room
    for: weights of r_p and c_p (mu, nu), of s_p and rate_p (eta2, theta2), of k_p and second_p (eta3, theta3), each
    (objectives, N, .), so that the gradient is their sum over steps; rank as there. Returns the first step with a
    singular matrix, or -1.
    """
    o = _make_workspace(B.d.shape[1], B.total.size, yq.shape[1], s.eps_projection)
    return _adjoint_steps(atoms_i, p, s, B, o, GQ, GV, GA, GL, yq, yv, ya, yx, mu, nu, eta2, theta2, eta3, theta3, rank)


@inner
def _keep(x, n, m, first, second, i):
    """Note minus the two halves of x in line i of (no, N, .) arrays."""
    for k in range(first.shape[0]):
        for j in range(n):
            first[k, i, j] = -x[j, k]
        for r in range(m):
            second[k, i, r] = -x[n + r, k]


@kernel
def _impulses(M, gamma, w, y, passes, sigma, kappa, P, pivots, x, c, work, loose):
    n, m = w.shape[1], sigma.shape[1]
    for i in range(w.shape[0]):
        if not saddle_factor(M[i], gamma[i], gamma[i], loose, n, m, P, pivots):
            return i
        for j in range(n):
            x[j, 0] = x[j, 1] = 0.0
        for r in range(m):
            x[n + r, 0] = x[n + r, 1] = 0.0
            for j in range(n):
                x[n + r, 0] += gamma[i, r * n + j] * w[i, j]
                x[n + r, 1] += gamma[i, r * n + j] * y[i, j]
        refined_columns(P, pivots, gamma[i], x, n, m, None, passes, c, work)
        for r in range(m):
            sigma[i, r], kappa[i, r] = x[n + r, 0], x[n + r, 1]
    return -1


@wrapper
def impulses(M, gamma, w, y, eps, passes, sigma, kappa):
    """sigma and kappa with M w + Gamma^T sigma = 0 and M y + Gamma^T kappa = 0, for all lines; w and y do belong to
    such impulses. Returns the first line with a singular matrix, or -1."""
    n, m = w.shape[1], sigma.shape[1]
    size = n + m
    P, pivots = np.empty(size * size), np.empty(size, np.int64)
    x, c, work, loose = np.empty((size, 2)), np.empty((m, 2)), np.empty((size, 2)), np.full(m, eps)
    return _impulses(M, gamma, w, y, passes, sigma, kappa, P, pivots, x, c, work, loose)
