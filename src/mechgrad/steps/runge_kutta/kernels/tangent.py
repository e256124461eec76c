"""Steps of explicit Runge-Kutta methods, differentiated: what they do to changes of the state, and the transpose.

    y_i = y + h sum_m A_im k_m,    k_i = (N(q_i) v_i, R^T a(q_i, v_i)),    y+ = y + h sum_i B_i k_i,    y = (q, R^T v)

The state between steps changes by (dq, dv), dq a tangent change, n_v numbers. Within a step Euler parameters change by
four numbers, since stages are sums of them:

    lift    de = (0, dq) e / 2                    k_e = (0, w) e / 2,   dk_e = lift of dw + (0, w) de / 2
    drop    dq = 2 vec(de conj(e)) / |e|^2        = 4 / |e|^2 times the transpose of lift

    to child     du = R^T (dv - dq x v)           for each ball, whose velocities steps carry in child axes, u = R^T v
    to parent    dv = R du + dq x v

The length of e at the start of a step is felt by no rotation after it, so normalisation has no derivative that matters.
Accelerations change by F_q dq + F_v dv + f_p. Where states are brought back to the constraints (`Settled`), they change
to X dq + x_p and Y dv + Z dq + y_p. All that is prepared beforehand: here is matrix algebra only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.saddle import saddle_factor
from mechgrad.kernels.columns import refined_columns, solve_columns, solve_columns_transposed
from mechgrad.kernels.jit import entry, inlined, inner, runtime_int
from mechgrad.kernels.lu import lu_factor
from mechgrad.kernels.rotation import pure_product, pure_product_back, rotated, square
from mechgrad.kernels.vec3 import cross, scale
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.steps.newmark.kernels.tangent import PASSES


class Settled(NamedTuple):
    """How corrections of N states pass changes on, matrices row by row (N, n n); no lines where there are none."""

    X: np.ndarray
    Y: np.ndarray
    Z: np.ndarray


class RungeKuttaBlocks(NamedTuple):
    """N steps with their stages, and states reported within steps.

    h : (N,);   start, end : (N, n_q) configurations, the latter as the sum of stages gives it
    start_v, end_v : (N, n) velocities there; all velocities and accelerations in parent axes
    first : (N + 1,) where the stages of each step begin among all
    q, v, a : stages where derivatives were taken;   before, before_v : q, v as the sum of stages gives it
    F_q, F_v : (stages, n n)
    corrected : of stages;   settled : of the ends of steps
    out_first : (N + 1,) where the reports of each step begin;   weights : (reports, stages of a step) of h k
    out_q, out_v : (reports, n_q), (reports, n) as that sum gives them;   out_settled : their corrections
    """

    A: np.ndarray
    B: np.ndarray
    h: np.ndarray
    start: np.ndarray
    start_v: np.ndarray
    end: np.ndarray
    end_v: np.ndarray
    first: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    before: np.ndarray
    before_v: np.ndarray
    F_q: np.ndarray
    F_v: np.ndarray
    corrected: Settled
    settled: Settled
    out_first: np.ndarray
    weights: np.ndarray
    out_q: np.ndarray
    out_v: np.ndarray
    out_settled: Settled


@inlined
def _three(x, j):
    """The vector of a ball in x from j on."""
    return x[j], x[j + 1], x[j + 2]


@inlined
def _four(q, k):
    """The Euler parameters of a ball in q from k on."""
    return q[k], q[k + 1], q[k + 2], q[k + 3]


@inlined
def _add(out, at, values):
    """out[at:] += values."""
    for c in range(len(values)):
        out[at + c] += values[c]


@inner
def lift(atoms_i, q, x, out, shared):
    """out (n_q) += the change of q by the tangent change x; that of Euler parameters times 4 / |e|^2 where `shared`."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e = _four(q, k)
            f = 2.0 / square(e) if shared else 0.5
            _add(out, k, pure_product(scale(f, _three(x, j)), e))
        elif kind != FIXED:
            out[k] += x[j]


@inner
def drop(atoms_i, q, x, out, shared):
    """out (n_v) += the transpose of `lift` times x (n_q)."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e = _four(q, k)
            f = 2.0 / square(e) if shared else 0.5
            _add(out, j, scale(f, pure_product_back(_four(x, k), e)))
        elif kind != FIXED:
            out[j] += x[k]


@inner
def turn(atoms_i, v, x, out, sign):
    """out += sign (0, w) x / 2 for the Euler parameters of all balls; its own transpose with the other sign."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k, j = atoms_i[i, Q_AT], atoms_i[i, V_AT]
            _add(out, k, pure_product(scale(0.5 * sign, _three(v, j)), _four(x, k)))


@inner
def stretch(atoms_i, along, x, out, to):
    """out += the change of length that x is to `along`, as one of `to`, for the Euler parameters of all balls."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k = atoms_i[i, Q_AT]
            square, dot = 0.0, 0.0
            for c in range(k, k + 4):
                square += along[c] * along[c]
                dot += along[c] * x[c]
            for c in range(k, k + 4):
                out[c] += to[c] * dot / square


@inner
def _turned(q, x, k, j, way):
    """The vector of one ball in x from child into parent axes (way 1) or back (-1), in place."""
    x[j], x[j + 1], x[j + 2] = rotated(_four(q, k), _three(x, j), way)


@inner
def _crossed(x, y, out, j, sign):
    """out += sign x cross y, for one ball."""
    _add(out, j, cross(scale(sign, _three(x, j)), _three(y, j)))


@inner
def to_child(balls, q, v, dq, dv):
    """Changes dv of vectors v of balls := R^T (dv - dq x v); balls: (count, 2), where they begin in q and v."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _crossed(dq, v, dv, j, -1.0)
        _turned(q, dv, k, j, -1.0)


@inner
def to_child_back(balls, q, v, dq, dv):
    """The transpose of `to_child`, which adds to dq."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _turned(q, dv, k, j, 1.0)
        _crossed(v, dv, dq, j, -1.0)


@inner
def to_parent(balls, q, v, dq, dv):
    """Changes dv of vectors of balls, v in parent axes := R dv + dq x v."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _turned(q, dv, k, j, 1.0)
        _crossed(dq, v, dv, j, 1.0)


@inner
def to_parent_back(balls, q, v, dq, dv):
    """The transpose of `to_parent`, which adds to dq."""
    for i in range(balls.shape[0]):
        k, j = balls[i, 0], balls[i, 1]
        _crossed(v, dv, dq, j, 1.0)
        _turned(q, dv, k, j, -1.0)


@inner
def _product(F, x, out, n):
    """out += F x."""
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += F[i * n + j] * x[j]
        out[i] += total


@inner
def _transposed(F, x, out, n):
    """out += F^T x."""
    for i in range(n):
        if x[i] != 0.0:
            for j in range(n):
                out[j] += F[i * n + j] * x[i]


@inner
def _corrected(X, Y, Z, x_p, y_p, dq, dv, work, n):
    """(dq, dv) after a correction, in place."""
    for j in range(n):
        work[j], work[n + j] = x_p[j], y_p[j]
    _product(X, dq, work, n)
    _product(Z, dq, work[n:], n)
    _product(Y, dv, work[n:], n)
    for j in range(n):
        dq[j], dv[j] = work[j], work[n + j]


@inner
def _corrected_back(X, Y, Z, dq, dv, work, n):
    """The transpose of `_corrected`."""
    for j in range(2 * n):
        work[j] = 0.0
    _transposed(X, dq, work, n)
    _transposed(Z, dv, work, n)
    _transposed(Y, dv, work[n:], n)
    for j in range(n):
        dq[j], dv[j] = work[j], work[n + j]


@inner
def _sum(base, K, factors, count, h, out):
    """out = base + h sum_m factors_m K_m."""
    for j in range(out.size):
        out[j] = base[j]
    for m in range(count):
        f = h * factors[m]
        if f != 0.0:
            for j in range(out.size):
                out[j] += f * K[m, j]


@inner
def _sum_back(x, K, factors, count, h, base):
    """The transpose of `_sum`."""
    for j in range(x.size):
        base[j] += x[j]
    for m in range(count):
        f = h * factors[m]
        if f != 0.0:
            for j in range(x.size):
                K[m, j] += f * x[j]


@entry
def tangent_march(atoms_i, balls, S, f_p, x_p, y_p, xe_p, ye_p, xo_p, yo_p, dq, dv, DQ, DV, OQ, OV):
    """Changes (np, n) of the state through N steps, in place; those after each step into DQ, DV (N, np, n), those of
    reports into OQ, OV (reports, np, n).

    f_p, x_p, y_p: by parameters (stages, np, n), xe_p, ye_p of ends of steps, xo_p, yo_p of reports; as `Settled`.
    """
    N, n, n_q, count = S.h.size, dq.shape[1], S.start.shape[1], dq.shape[0]
    most = S.A.shape[0]
    base_q, y_q, k_q = np.empty(n_q), np.empty(n_q), np.empty((most, n_q))
    x, y_v, base_v, k_v, work = np.empty(n), np.empty(n), np.empty(n), np.empty((most, n)), np.empty(2 * n)
    corrects, settles, out_settles = S.corrected.X.shape[0] > 0, S.settled.X.shape[0] > 0, S.out_settled.X.shape[0] > 0
    for i in range(N):
        h, stages = S.h[i], S.first[i + 1] - S.first[i]
        for k in range(count):
            base_q[:] = 0.0
            lift(atoms_i, S.start[i], dq[k], base_q, False)
            base_v[:] = dv[k]
            to_child(balls, S.start[i], S.start_v[i], dq[k], base_v)
            for m in range(stages):
                at = S.first[i] + m
                _sum(base_q, k_q, S.A[m], m, h, y_q)
                _sum(base_v, k_v, S.A[m], m, h, y_v)
                x[:] = 0.0
                drop(atoms_i, S.before[at], y_q, x, True)
                to_parent(balls, S.before[at], S.before_v[at], x, y_v)
                k_q[m] = 0.0
                if corrects:
                    c = S.corrected
                    _corrected(c.X[at], c.Y[at], c.Z[at], x_p[at, k], y_p[at, k], x, y_v, work, n)
                    stretch(atoms_i, S.before[at], y_q, k_q[m], S.q[at])
                    lift(atoms_i, S.q[at], x, k_q[m], False)
                    y_q[:] = k_q[m]
                    k_q[m] = 0.0
                lift(atoms_i, S.q[at], y_v, k_q[m], False)
                turn(atoms_i, S.v[at], y_q, k_q[m], 1.0)
                k_v[m] = f_p[at, k]
                _product(S.F_q[at], x, k_v[m], n)
                _product(S.F_v[at], y_v, k_v[m], n)
                to_child(balls, S.q[at], S.a[at], x, k_v[m])
            for o in range(S.out_first[i], S.out_first[i + 1]):
                _sum(base_q, k_q, S.weights[o], stages, h, y_q)
                _sum(base_v, k_v, S.weights[o], stages, h, y_v)
                x[:] = 0.0
                drop(atoms_i, S.out_q[o], y_q, x, True)
                to_parent(balls, S.out_q[o], S.out_v[o], x, y_v)
                if out_settles:
                    c = S.out_settled
                    _corrected(c.X[o], c.Y[o], c.Z[o], xo_p[o, k], yo_p[o, k], x, y_v, work, n)
                OQ[o, k] = x
                OV[o, k] = y_v
            _sum(base_q, k_q, S.B, S.B.size, h, y_q)
            _sum(base_v, k_v, S.B, S.B.size, h, y_v)
            x[:] = 0.0
            drop(atoms_i, S.end[i], y_q, x, True)
            to_parent(balls, S.end[i], S.end_v[i], x, y_v)
            if settles:
                c = S.settled
                _corrected(c.X[i], c.Y[i], c.Z[i], xe_p[i, k], ye_p[i, k], x, y_v, work, n)
            dq[k], dv[k], DQ[i, k], DV[i, k] = x, y_v, x, y_v


@entry
def adjoint_march(atoms_i, balls, S, GQ, GV, HQ, HV, yq, yv, alpha, xi, eta, xi_e, eta_e, xi_o, eta_o):
    """The transpose of `tangent_march`, from the last step to the first.

    GQ, GV (N, no, n): gradients by the state after each step, HQ, HV (reports, no, n) by reports; yq, yv (no, n):
    adjoints of the state, in place. Out: weights of f_p (alpha), of x_p and y_p (xi, eta), of xe_p .. yo_p
    (xi_e .. eta_o), each (no, lines, n).
    """
    N, n, n_q, count = S.h.size, yq.shape[1], S.start.shape[1], yq.shape[0]
    most = S.A.shape[0]
    base_q, y_q, k_q = np.empty(n_q), np.empty(n_q), np.empty((most, n_q))
    x, y_v, base_v, k_v = np.empty(n), np.empty(n), np.empty(n), np.empty((most, n))
    around, work = np.empty(n_q), np.empty(2 * n)
    corrects, settles, out_settles = S.corrected.X.shape[0] > 0, S.settled.X.shape[0] > 0, S.out_settled.X.shape[0] > 0
    for i in range(N - 1, -1, -1):
        h, stages = S.h[i], S.first[i + 1] - S.first[i]
        for k in range(count):
            for j in range(n):
                x[j], y_v[j] = yq[k, j] + GQ[i, k, j], yv[k, j] + GV[i, k, j]
            if settles:
                c = S.settled
                xi_e[k, i], eta_e[k, i] = x, y_v
                _corrected_back(c.X[i], c.Y[i], c.Z[i], x, y_v, work, n)
            base_q[:], base_v[:], k_q[:], k_v[:], y_q[:] = 0.0, 0.0, 0.0, 0.0, 0.0
            to_parent_back(balls, S.end[i], S.end_v[i], x, y_v)
            lift(atoms_i, S.end[i], x, y_q, True)
            _sum_back(y_q, k_q, S.B, S.B.size, h, base_q)
            _sum_back(y_v, k_v, S.B, S.B.size, h, base_v)
            for o in range(S.out_first[i], S.out_first[i + 1]):
                x[:], y_v[:], y_q[:] = HQ[o, k], HV[o, k], 0.0
                if out_settles:
                    c = S.out_settled
                    xi_o[k, o], eta_o[k, o] = x, y_v
                    _corrected_back(c.X[o], c.Y[o], c.Z[o], x, y_v, work, n)
                to_parent_back(balls, S.out_q[o], S.out_v[o], x, y_v)
                lift(atoms_i, S.out_q[o], x, y_q, True)
                _sum_back(y_q, k_q, S.weights[o], stages, h, base_q)
                _sum_back(y_v, k_v, S.weights[o], stages, h, base_v)
            for m in range(stages - 1, -1, -1):
                at = S.first[i] + m
                x[:], y_v[:], y_q[:] = 0.0, 0.0, 0.0
                to_child_back(balls, S.q[at], S.a[at], x, k_v[m])
                alpha[k, at] = k_v[m]
                _transposed(S.F_q[at], k_v[m], x, n)
                _transposed(S.F_v[at], k_v[m], y_v, n)
                drop(atoms_i, S.q[at], k_q[m], y_v, False)
                turn(atoms_i, S.v[at], k_q[m], y_q, -1.0)
                if corrects:
                    c = S.corrected
                    drop(atoms_i, S.q[at], y_q, x, False)
                    xi[k, at], eta[k, at] = x, y_v
                    around[:] = y_q
                    y_q[:] = 0.0
                    _stretch_back(atoms_i, S.before[at], around, y_q, S.q[at])
                    _corrected_back(c.X[at], c.Y[at], c.Z[at], x, y_v, work, n)
                to_parent_back(balls, S.before[at], S.before_v[at], x, y_v)
                lift(atoms_i, S.before[at], x, y_q, True)
                _sum_back(y_q, k_q, S.A[m], m, h, base_q)
                _sum_back(y_v, k_v, S.A[m], m, h, base_v)
            yq[k] = 0.0
            to_child_back(balls, S.start[i], S.start_v[i], yq[k], base_v)
            drop(atoms_i, S.start[i], base_q, yq[k], False)
            yv[k] = base_v


@inner
def _stretch_back(atoms_i, along, x, out, to):
    """The transpose of `stretch`."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            k = atoms_i[i, Q_AT]
            square, dot = 0.0, 0.0
            for c in range(k, k + 4):
                square += along[c] * along[c]
                dot += to[c] * x[c]
            for c in range(k, k + 4):
                out[c] += along[c] * dot / square


@entry
def solve_saddles(M, gamma, eps, compliant, X, transposed):
    """Lines of X (N, columns, n + m) := S^-1 or S^-T of them, S = [ M Gamma^T ; Gamma -eps ], without the influence of
    eps unless `compliant`. Returns the first of the N with a singular matrix, or -1."""
    m, count = eps.size, X.shape[1]
    size = X.shape[2]
    n = size - m
    P, pivots = np.empty(size * size), np.empty(size, np.int64)
    x, c, work = np.empty((size, count)), np.empty((m, count)), np.empty((size, count))
    passes = 0 if compliant else PASSES
    for i in range(X.shape[0]):
        if not saddle_factor(M[i], gamma[i], gamma[i], eps, n, m, P, pivots):
            return i
        x[:] = X[i].T
        if transposed:
            refined_columns(P, pivots, gamma[i], x, n, m, runtime_int(1), passes, c, work)
        else:
            refined_columns(P, pivots, gamma[i], x, n, m, None, passes, c, work)
        X[i] = x.T
    return -1


@entry
def solve_lines(W, X, transposed):
    """Lines of X (N, columns, n) := W^-1 or W^-T of them, W (N, n n). Returns the first singular one, or -1."""
    n = X.shape[2]
    P, pivots, x = np.empty(n * n), np.empty(n, np.int64), np.empty((n, X.shape[1]))
    for i in range(X.shape[0]):
        P[:] = W[i]
        if not lu_factor(P, pivots, n):
            return i
        x[:] = X[i].T
        if transposed:
            solve_columns_transposed(P, pivots, x, n)
        else:
            solve_columns(P, pivots, x, n)
        X[i] = x.T
    return -1
