"""The step of `implicit`, differentiated: what it does to changes of the state before (tangent), and its transpose.

Stage 1, Newton's equations, with u = beta h^2 dx1, the changes that the state before leaves behind marked 0:

    d(q) = dq0 + D u,   d(v*) = dv0 + cv u,   d(a*) = da0 + ca u
    [ bh2 (K D + cv C + ca M)                Gamma^T ] [ u        ]   [ -bh2 (K dq0 + C dv0 + M da0 + r_p)     ]
    [ (c_q D + cv c_v + ca c_a) / total      -eps    ] [ bh2 dlam ] = [ -(c_q dq0 + c_v dv0 + c_a da0 + c_p) / total ]

c = w0 value + w1 rate + w2 second is the constraint that is solved. Stages 2 and 3, the projections:

    [ M  Gamma^T ; Gamma  -1/p ] [ dv; dsig ] = [ M d(v*) - K2 dq - s_p;  -rate_q dq - rate_p              ]
    [ M  Gamma^T ; Gamma  -1/p ] [ da; dkap ] = [ M d(a*) - K3 dq - k_p;  -second_q dq - second_v dv - second_p ]

K2 = (M (v - v*) + Gamma^T sig)_q, s_p its twin by parameters, K3 and k_p likewise with a and kap. The influence of eps
is taken away by repetition where multipliers take its place. What mechanics says of all steps is linearised beforehand
(`linearised`, `slopes`): here is matrix algebra only. Adjoints run the same stages backwards, transposed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.saddle import ROUNDING, saddle_factor
from mechgrad.dynamics.kernels.turning import carry, spread, spread_columns
from mechgrad.kernels.jit import entry, inner
from mechgrad.kernels.lu import lu_solve, lu_solve_transposed

# Of the second block where multipliers take the place of penalties: it only keeps rows that depend on each other
# regular, and repetitions (a few, PASSES at most) take its influence away.
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


@inner
def refined(S, pivots, J, x, n, m, transposed, passes, c, work):
    """x := S^-1 x or S^-T x without the influence of eps; J: the block that stands below (tangent) or above."""
    size = n + m
    most = 0.0
    for k in range(m):
        c[k] = x[n + k]
    for i in range(size):
        most = max(most, abs(x[i]))
    if transposed:
        lu_solve_transposed(S, pivots, x, size)
    else:
        lu_solve(S, pivots, x, size)
    for _ in range(passes):
        worst = 0.0
        for j in range(n):
            work[j] = 0.0
        for k in range(m):
            defect = c[k]
            for j in range(n):
                defect -= J[k * n + j] * x[j]
            work[n + k] = defect
            worst = max(worst, abs(defect))
        if worst <= ROUNDING * most:
            break
        if transposed:
            lu_solve_transposed(S, pivots, work, size)
        else:
            lu_solve(S, pivots, work, size)
        for i in range(size):
            x[i] += work[i]


@inner
def _minus_product(A, at, rows, n, x, out, first, factor):
    """out[first:] -= factor A x for a matrix that starts at A[at]."""
    for i in range(rows):
        total = 0.0
        for j in range(n):
            total += A[at + i * n + j] * x[j]
        out[first + i] -= factor * total


@inner
def _minus_transposed(A, rows, n, x, first, out, factor):
    """out -= factor A^T x[first:]."""
    for i in range(rows):
        y = factor * x[first + i]
        if y != 0.0:
            for j in range(n):
                out[j] -= A[i * n + j] * y


@inner
def stage_matrices(atoms_i, d, K, C, M, gamma, c_q, c_v, total, w2, eps, scale, cv, ca, A, low, S, pivots):
    """Factors of stage 1 of one step."""
    n, m = d.size, total.size
    for i in range(n * n):
        A[i] = scale * K[i]
    spread_columns(atoms_i, d, A, n, n)
    for i in range(n * n):
        A[i] += scale * (cv * C[i] + ca * M[i])
    for i in range(m * n):
        low[i] = c_q[i]
    spread_columns(atoms_i, d, low, m, n)
    for k in range(m):
        for j in range(n):
            at = k * n + j
            low[at] = (low[at] + cv * c_v[at] + ca * w2[k] * gamma[at]) / total[k]
    return saddle_factor(A, gamma, low, eps, n, m, S, pivots)


@entry
def tangent_steps(atoms_i, p, h, B, r_p, c_p, s_p, rate_p, k_p, second_p, dq, dv, da, dx, DQ, DV, DA, DL):
    """Changes (np, n) of state and memory through N steps, in place; those after each step into DQ .. DL (N, np, .).

    r_p, s_p, k_p: (N, np, n); c_p, rate_p, second_p: (N, np, m). Returns the first step with a singular matrix, or -1.
    """
    N, n, m, count = B.d.shape[0], B.d.shape[1], B.total.size, dq.shape[0]
    scale = p.beta * h * h
    cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
    size = n + m
    A, low, S, P = np.empty(n * n), np.empty(m * n), np.empty(size * size), np.empty(size * size)
    pivots_S, pivots_P = np.empty(size, np.int64), np.empty(size, np.int64)
    x, c, work, eps, loose = np.empty(size), np.empty(m), np.empty(size), np.empty(m), np.empty(m)
    before, vs, acc = np.empty(n), np.empty(n), np.empty(n)
    passes = 0 if p.compliant != 0.0 else PASSES
    for k in range(m):
        eps[k] = 1.0 / (p.alpha * scale * B.total[k]) if p.compliant != 0.0 else REGULAR
        loose[k] = 1.0 / p.projection if p.projection != 0.0 else 0.0
    for i in range(N):
        if not stage_matrices(
            atoms_i, B.d[i], B.K[i], B.C[i], B.M[i], B.gamma[i], B.c_q[i], B.c_v[i], B.total, B.w2, eps, scale, cv, ca,
            A, low, S, pivots_S,
        ):  # fmt: skip
            return i
        projected = m > 0 and B.projected[i]
        if projected and not saddle_factor(B.M[i], B.gamma[i], B.gamma[i], loose, n, m, P, pivots_P):
            return i
        for k in range(count):
            for j in range(n):
                before[j] = dq[k, j]
                work[j] = h * dv[k, j] + h * h * (0.5 - p.beta) * dx[k, j]
                vs[j] = dv[k, j] + h * (1.0 - p.gamma) * dx[k, j]
                acc[j] = (p.alpha_m * dx[k, j] - p.alpha_f * da[k, j]) / (1.0 - p.alpha_f)
            carry(atoms_i, B.d[i], before, 0, 1.0)
            spread(atoms_i, B.d[i], work, 0, 1.0)
            for j in range(n):
                before[j] += work[j]
                x[j] = -scale * r_p[i, k, j]
            _minus_product(B.K[i], 0, n, n, before, x, 0, scale)
            _minus_product(B.C[i], 0, n, n, vs, x, 0, scale)
            _minus_product(B.M[i], 0, n, n, acc, x, 0, scale)
            for r in range(m):
                x[n + r] = -c_p[i, k, r]
            _minus_product(B.c_q[i], 0, m, n, before, x, n, 1.0)
            _minus_product(B.c_v[i], 0, m, n, vs, x, n, 1.0)
            for r in range(m):
                for j in range(n):
                    x[n + r] -= B.w2[r] * B.gamma[i, r * n + j] * acc[j]
                x[n + r] /= B.total[r]
            refined(S, pivots_S, low, x, n, m, False, passes, c, work)
            for r in range(m):
                DL[i, k, r] = x[n + r] / scale
            for j in range(n):
                work[j] = x[j]
                vs[j] += cv * x[j]
                acc[j] += ca * x[j]
            spread(atoms_i, B.d[i], work, 0, 1.0)
            for j in range(n):
                before[j] += work[j]
            if projected:
                for j in range(n):
                    x[j] = -s_p[i, k, j]
                for r in range(m):
                    x[n + r] = -rate_p[i, k, r]
                _minus_product(B.M[i], 0, n, n, vs, x, 0, -1.0)
                _minus_product(B.K2[i], 0, n, n, before, x, 0, 1.0)
                _minus_product(B.rate_q[i], 0, m, n, before, x, n, 1.0)
                refined(P, pivots_P, B.gamma[i], x, n, m, False, PASSES if p.passes > 0 else 0, c, work)
                for j in range(n):
                    vs[j] = x[j]
                if p.project_accelerations:
                    for j in range(n):
                        x[j] = -k_p[i, k, j]
                    for r in range(m):
                        x[n + r] = -second_p[i, k, r]
                    _minus_product(B.M[i], 0, n, n, acc, x, 0, -1.0)
                    _minus_product(B.K3[i], 0, n, n, before, x, 0, 1.0)
                    _minus_product(B.second_q[i], 0, m, n, before, x, n, 1.0)
                    _minus_product(B.second_v[i], 0, m, n, vs, x, n, 1.0)
                    refined(P, pivots_P, B.gamma[i], x, n, m, False, PASSES if p.passes > 0 else 0, c, work)
                    for j in range(n):
                        acc[j] = x[j]
            for j in range(n):
                memory = (1.0 - p.alpha_f) * acc[j] + p.alpha_f * da[k, j] - p.alpha_m * dx[k, j]
                dx[k, j] = memory / (1.0 - p.alpha_m)
                dq[k, j], dv[k, j], da[k, j] = before[j], vs[j], acc[j]
                DQ[i, k, j], DV[i, k, j], DA[i, k, j] = before[j], vs[j], acc[j]
    return -1


@entry
def adjoint_steps(atoms_i, p, h, B, GQ, GV, GA, GL, yq, yv, ya, yx, mu, nu, eta2, theta2, eta3, theta3):
    """The transpose of `tangent_steps`, from the last step to the first.

    GQ, GV, GA (N, no, n), GL (N, no, m): gradients by the state after each step; yq .. yx (no, n): adjoints of the
    state, in place, those after the last step on entry. Out: weights of r_p and c_p (mu, nu), of s_p and rate_p (eta2,
    theta2), of k_p and second_p (eta3, theta3), (no, N, .), so that the gradient is their sum over steps.
    Returns the first step with a singular matrix, or -1.
    """
    N, n, m, count = B.d.shape[0], B.d.shape[1], B.total.size, yq.shape[0]
    scale = p.beta * h * h
    cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
    size = n + m
    A, low, S, P = np.empty(n * n), np.empty(m * n), np.empty(size * size), np.empty(size * size)
    pivots_S, pivots_P = np.empty(size, np.int64), np.empty(size, np.int64)
    x, c, work, eps, loose = np.empty(size), np.empty(m), np.empty(size), np.empty(m), np.empty(m)
    q, v, a, x0, a0 = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    passes = 0 if p.compliant != 0.0 else PASSES
    for k in range(m):
        eps[k] = 1.0 / (p.alpha * scale * B.total[k]) if p.compliant != 0.0 else REGULAR
        loose[k] = 1.0 / p.projection if p.projection != 0.0 else 0.0
    for i in range(N - 1, -1, -1):
        if not stage_matrices(
            atoms_i, B.d[i], B.K[i], B.C[i], B.M[i], B.gamma[i], B.c_q[i], B.c_v[i], B.total, B.w2, eps, scale, cv, ca,
            A, low, S, pivots_S,
        ):  # fmt: skip
            return i
        projected = m > 0 and B.projected[i]
        if projected and not saddle_factor(B.M[i], B.gamma[i], B.gamma[i], loose, n, m, P, pivots_P):
            return i
        for k in range(count):
            for j in range(n):
                q[j], v[j], a[j] = yq[k, j] + GQ[i, k, j], yv[k, j] + GV[i, k, j], ya[k, j] + GA[i, k, j]
                a[j] += (1.0 - p.alpha_f) / (1.0 - p.alpha_m) * yx[k, j]
                a0[j] = p.alpha_f / (1.0 - p.alpha_m) * yx[k, j]
                x0[j] = -p.alpha_m / (1.0 - p.alpha_m) * yx[k, j]
            if projected:
                if p.project_accelerations:
                    for j in range(n):
                        x[j] = a[j]
                    for r in range(m):
                        x[n + r] = 0.0
                    refined(P, pivots_P, B.gamma[i], x, n, m, True, PASSES if p.passes > 0 else 0, c, work)
                    for j in range(n):
                        a[j], eta3[k, i, j] = 0.0, -x[j]
                    for r in range(m):
                        theta3[k, i, r] = -x[n + r]
                    _minus_transposed(B.M[i], n, n, x, 0, a, -1.0)
                    _minus_transposed(B.K3[i], n, n, x, 0, q, 1.0)
                    _minus_transposed(B.second_q[i], m, n, x, n, q, 1.0)
                    _minus_transposed(B.second_v[i], m, n, x, n, v, 1.0)
                for j in range(n):
                    x[j] = v[j]
                for r in range(m):
                    x[n + r] = 0.0
                refined(P, pivots_P, B.gamma[i], x, n, m, True, PASSES if p.passes > 0 else 0, c, work)
                for j in range(n):
                    v[j], eta2[k, i, j] = 0.0, -x[j]
                for r in range(m):
                    theta2[k, i, r] = -x[n + r]
                _minus_transposed(B.M[i], n, n, x, 0, v, -1.0)
                _minus_transposed(B.K2[i], n, n, x, 0, q, 1.0)
                _minus_transposed(B.rate_q[i], m, n, x, n, q, 1.0)
            for j in range(n):
                x[j] = q[j]
            spread(atoms_i, B.d[i], x, 0, -1.0)
            for j in range(n):
                x[j] += cv * v[j] + ca * a[j]
            for r in range(m):
                x[n + r] = GL[i, k, r] / scale
            refined(S, pivots_S, B.gamma[i], x, n, m, True, passes, c, work)
            for r in range(m):
                x[n + r] /= B.total[r]
                nu[k, i, r] = -x[n + r]
            for j in range(n):
                mu[k, i, j] = -scale * x[j]
            _minus_transposed(B.K[i], n, n, x, 0, q, scale)
            _minus_transposed(B.c_q[i], m, n, x, n, q, 1.0)
            _minus_transposed(B.C[i], n, n, x, 0, v, scale)
            _minus_transposed(B.c_v[i], m, n, x, n, v, 1.0)
            _minus_transposed(B.M[i], n, n, x, 0, a, scale)
            for r in range(m):
                for j in range(n):
                    a[j] -= B.w2[r] * B.gamma[i, r * n + j] * x[n + r]
            for j in range(n):
                work[j] = q[j]
            carry(atoms_i, B.d[i], q, 0, -1.0)
            spread(atoms_i, B.d[i], work, 0, -1.0)
            for j in range(n):
                yq[k, j] = q[j]
                yv[k, j] = h * work[j] + v[j]
                x0[j] += h * h * (0.5 - p.beta) * work[j] + h * (1.0 - p.gamma) * v[j]
                yx[k, j] = x0[j] + p.alpha_m / (1.0 - p.alpha_f) * a[j]
                ya[k, j] = a0[j] - p.alpha_f / (1.0 - p.alpha_f) * a[j]
    return -1


@entry
def impulses(M, gamma, w, y, sigma, kappa):
    """sigma and kappa with M w + Gamma^T sigma = 0 and M y + Gamma^T kappa = 0, for all lines; w and y do belong to
    such impulses. Returns the first line with a singular matrix, or -1."""
    n, m = w.shape[1], sigma.shape[1]
    size = n + m
    P, pivots = np.empty(size * size), np.empty(size, np.int64)
    x, c, work, eps = np.empty(size), np.empty(m), np.empty(size), np.full(m, REGULAR)
    for i in range(w.shape[0]):
        if not saddle_factor(M[i], gamma[i], gamma[i], eps, n, m, P, pivots):
            return i
        for j in range(n):
            x[j] = 0.0
        for k in range(m):
            x[n + k] = 0.0
        _minus_product(gamma[i], 0, m, n, w[i], x, n, -1.0)
        refined(P, pivots, gamma[i], x, n, m, False, PASSES, c, work)
        for k in range(m):
            sigma[i, k] = x[n + k]
            x[n + k] = 0.0
        for j in range(n):
            x[j] = 0.0
        _minus_product(gamma[i], 0, m, n, y[i], x, n, -1.0)
        refined(P, pivots, gamma[i], x, n, m, False, PASSES, c, work)
        for k in range(m):
            kappa[i, k] = x[n + k]
    return -1
