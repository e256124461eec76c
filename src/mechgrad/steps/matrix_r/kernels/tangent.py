"""The implicit step of Matrix R, differentiated: changes of the independent coordinates, and the transpose.

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

from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.lu import lu_factor
from mechgrad.kernels.records import allocate, refer
from mechgrad.kernels.right_hand_sides import (
    add_product,
    add_transposed,
    padded,
    solve_columns,
    solve_columns_transposed,
)
from mechgrad.steps.newmark.kernels.scheme import step_factors


class IndependentBlocks(NamedTuple):
    """Linearised equations after each of N steps, (N, n n), row by row; rows of W: constraints, then free."""

    K: np.ndarray
    C: np.ndarray
    M: np.ndarray
    W: np.ndarray
    rate_q: np.ndarray
    second_q: np.ndarray
    second_v: np.ndarray


class LevelTerms(NamedTuple):
    """What parameters do to the residual and to values, rates and second rates of the rows of W, (N, n, columns); for
    adjoints their weights, (objectives, N, n)."""

    residual: np.ndarray
    value: np.ndarray
    rate: np.ndarray
    second: np.ndarray


class FreeColumns(NamedTuple):
    """Changes of the f independent coordinates, their rates, second rates and memory, (f, columns); or adjoints."""

    z: np.ndarray
    rate: np.ndarray
    second: np.ndarray
    x: np.ndarray


class Scratch(NamedTuple):
    """Factors of a step, what a unit of each u does, and columns. There are more u than freedoms, so that rows of what
    they do fill whole blocks (`padded`): those beyond are zero."""

    F: np.ndarray  # factors of W, and of the projected matrix
    S: np.ndarray
    Rq: np.ndarray  # (n, u) what a unit of each u does to q, v, a and r
    Rv: np.ndarray
    Ra: np.ndarray
    forces: np.ndarray
    q: np.ndarray  # (n, columns)
    v: np.ndarray
    a: np.ndarray
    r: np.ndarray
    u: np.ndarray  # (u, columns)
    pivots: np.ndarray
    pivots_S: np.ndarray


def _make_scratch(n, f, count):
    wide = padded(f)
    sizes = {"F": n * n, "S": wide * wide, **dict.fromkeys(("Rq", "Rv", "Ra", "forces"), n * wide)}
    sizes |= {"u": (wide, count), **dict.fromkeys(("q", "v", "a", "r"), (n, count))}
    return allocate(Scratch, sizes, float, pivots=np.zeros(n, np.int64), pivots_S=np.zeros(wide, np.int64))


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
def _responses(blocks, i, f, cv, ca, scratch):
    """Factors of W and of the projected matrix in step i, and what a unit of each of f u does to q, v, a and r.

    Returns False where one of the two matrices is singular.
    """
    n, wide, F, S, Rq, Rv, Ra = (
        scratch.pivots.size,
        scratch.pivots_S.size,
        scratch.F,
        scratch.S,
        scratch.Rq,
        scratch.Rv,
        scratch.Ra,
    )
    W, forces = blocks.W[i], scratch.forces
    for j in range(n * n):
        F[j] = W[j]
    if not lu_factor(F, scratch.pivots, n):
        return False
    for j in range(n * wide):
        Rq[j] = Rv[j] = Ra[j] = forces[j] = 0.0
    for k in range(f):
        o = (n - f + k) * wide + k
        Rq[o], Rv[o], Ra[o] = 1.0, cv, ca
    q, v, a, r = Rq.reshape(n, wide), Rv.reshape(n, wide), Ra.reshape(n, wide), forces.reshape(n, wide)
    _solve_levels(F, scratch.pivots, blocks.rate_q[i], blocks.second_q[i], blocks.second_v[i], q, v, a, n)
    _add_forces(blocks.K[i], blocks.C[i], blocks.M[i], q, v, a, r, n)
    for j in range(wide * wide):
        S[j] = 0.0
    add_transposed(Rq, n, wide, r, 0, S.reshape(wide, wide), 1.0)
    for k in range(f, wide):
        S[k * wide + k] = 1.0
    return lu_factor(S, scratch.pivots_S, wide)


# ---- tangent


@inlined
def _scheme_changes(settings, h, i, terms, change, q, v, a, scratch):
    """Right-hand sides of the three levels into q, v, a, and of the motion into scratch.r: what parameters and the
    state before do."""
    beta, gamma, alpha_m, alpha_f = settings.beta, settings.gamma, settings.alpha_m, settings.alpha_f
    dz, dzd, dzdd, dx, r = change.z, change.rate, change.second, change.x, scratch.r
    n, f = r.shape[0], dz.shape[0]
    for j in range(n):
        for k in range(r.shape[1]):
            q[j, k], v[j, k], a[j, k] = -terms.value[i, j, k], -terms.rate[i, j, k], -terms.second[i, j, k]
            r[j, k] = terms.residual[i, j, k]
    for c in range(f):
        for k in range(r.shape[1]):
            x0 = dx[c, k]
            dz[c, k] += h * dzd[c, k] + h * h * (0.5 - beta) * x0
            dzd[c, k] += h * (1.0 - gamma) * x0
            dzdd[c, k] = (alpha_m * x0 - alpha_f * dzdd[c, k]) / (1.0 - alpha_f)
            q[n - f + c, k] += dz[c, k]
            v[n - f + c, k] += dzd[c, k]
            a[n - f + c, k] += dzdd[c, k]
    for c in range(scratch.u.shape[0]):
        for k in range(r.shape[1]):
            scratch.u[c, k] = 0.0


@spliced
def _motion_changes(blocks, i, scratch, q, v, a):
    """u from R^T (K dq + C dv + M da + r_p) = 0, added to q, v, a; minus the multipliers of all rows into scratch.r."""
    n, f, r, u = scratch.pivots.size, scratch.pivots_S.size, scratch.r, scratch.u
    _solve_levels(scratch.F, scratch.pivots, blocks.rate_q[i], blocks.second_q[i], blocks.second_v[i], q, v, a, n)
    _add_forces(blocks.K[i], blocks.C[i], blocks.M[i], q, v, a, r, n)
    add_transposed(scratch.Rq, n, f, r, 0, u, -1.0)
    solve_columns(scratch.S, scratch.pivots_S, u, f)
    add_product(scratch.Rq, n, f, u, q, 0, 1.0)
    add_product(scratch.Rv, n, f, u, v, 0, 1.0)
    add_product(scratch.Ra, n, f, u, a, 0, 1.0)
    add_product(scratch.forces, n, f, u, r, 0, 1.0)
    solve_columns_transposed(scratch.F, scratch.pivots, r, n)


@kernel
def _tangent_steps(settings, h, blocks, scratch, terms, change, after):
    settings, blocks, scratch = refer(settings), refer(blocks), refer(scratch)
    terms, change, after = refer(terms), refer(change), refer(after)
    lam, r, u = after.lam, scratch.r, scratch.u
    for i in range(after.q.shape[0]):
        scale, cv, ca = step_factors(settings, h[i])
        if not _responses(blocks, i, change.z.shape[0], cv, ca, scratch):
            return i
        q, v, a = after.q[i], after.v[i], after.a[i]
        _scheme_changes(settings, h[i], i, terms, change, q, v, a, scratch)
        _motion_changes(blocks, i, scratch, q, v, a)
        for j in range(lam.shape[1]):
            for k in range(lam.shape[2]):
                lam[i, j, k] = -r[j, k]
        for c in range(change.z.shape[0]):
            for k in range(u.shape[1]):
                change.z[c, k] += u[c, k]
                change.rate[c, k] += cv * u[c, k]
                change.second[c, k] += ca * u[c, k]
                change.x[c, k] = u[c, k] / scale
    return -1


@wrapper
def independent_tangent_steps(settings, h, blocks, terms, change, after):
    """Changes (`FreeColumns`) of independent coordinates and memory through N steps of lengths h (N,), in place; those
    of states into the fields q, v, a, lam of `after` (N, ., np).

    terms: `LevelTerms` (N, n, np), in the order of the rows of W. Returns the first step with a singular matrix, or -1.
    """
    scratch = _make_scratch(after.q.shape[1], change.z.shape[0], after.q.shape[2])
    return _tangent_steps(settings, h, blocks, scratch, terms, change, after)


# ---- adjoint


@spliced
def _motion_back(blocks, i, cv, ca, scale, adjoint, scratch):
    """The transpose of `_motion_changes`: gradients by q, v, a become minus adjoints of the three levels; scratch.r
    becomes the weights of the residual, those of multipliers and of u together."""
    n, wide, q, v, a, r, w = (
        scratch.pivots.size,
        scratch.pivots_S.size,
        scratch.q,
        scratch.v,
        scratch.a,
        scratch.r,
        scratch.u,
    )
    solve_columns(scratch.F, scratch.pivots, r, n)
    for c in range(adjoint.z.shape[0]):
        for k in range(w.shape[1]):
            w[c, k] = -(adjoint.z[c, k] + cv * adjoint.rate[c, k] + ca * adjoint.second[c, k] + adjoint.x[c, k] / scale)
    for c in range(adjoint.z.shape[0], wide):
        for k in range(w.shape[1]):
            w[c, k] = 0.0
    add_transposed(scratch.Rq, n, wide, q, 0, w, -1.0)
    add_transposed(scratch.Rv, n, wide, v, 0, w, -1.0)
    add_transposed(scratch.Ra, n, wide, a, 0, w, -1.0)
    add_transposed(scratch.forces, n, wide, r, 0, w, -1.0)  # what multipliers' weights pull at u, by K, C and M
    solve_columns_transposed(scratch.S, scratch.pivots_S, w, wide)
    add_product(scratch.Rq, n, wide, w, r, 0, 1.0)
    _add_forces_transposed(blocks.K[i], blocks.C[i], blocks.M[i], r, q, v, a, n)
    _solve_levels_transposed(
        scratch.F, scratch.pivots, blocks.rate_q[i], blocks.second_q[i], blocks.second_v[i], q, v, a, n
    )


@inlined
def _scheme_back(settings, h, i, adjoint, scratch, weights):
    """The transpose of `_scheme_changes`, with the weights of a step noted."""
    beta, gamma, alpha_m, alpha_f = settings.beta, settings.gamma, settings.alpha_m, settings.alpha_f
    yz, yzd, yzdd, yx, q, v, a = adjoint.z, adjoint.rate, adjoint.second, adjoint.x, scratch.q, scratch.v, scratch.a
    n, f = q.shape[0], yz.shape[0]
    for k in range(q.shape[1]):
        for j in range(n):
            weights.residual[k, i, j] = scratch.r[j, k]
            weights.value[k, i, j], weights.rate[k, i, j], weights.second[k, i, j] = -q[j, k], -v[j, k], -a[j, k]
    for c in range(f):
        at = n - f + c
        for k in range(q.shape[1]):
            by_z, by_zd, by_zdd = yz[c, k] + q[at, k], yzd[c, k] + v[at, k], yzdd[c, k] + a[at, k]
            yz[c, k] = by_z
            yzd[c, k] = h * by_z + by_zd
            yzdd[c, k] = -alpha_f / (1.0 - alpha_f) * by_zdd
            yx[c, k] = h * h * (0.5 - beta) * by_z + h * (1.0 - gamma) * by_zd
            yx[c, k] += alpha_m / (1.0 - alpha_f) * by_zdd


@kernel
def _adjoint_steps(settings, h, blocks, scratch, pulls, adjoint, weights):
    settings, blocks, scratch = refer(settings), refer(blocks), refer(scratch)
    pulls, adjoint, weights = refer(pulls), refer(adjoint), refer(weights)
    q, v, a, x, m = scratch.q, scratch.v, scratch.a, scratch.r, pulls.lam.shape[1]
    for i in range(pulls.q.shape[0] - 1, -1, -1):
        scale, cv, ca = step_factors(settings, h[i])
        if not _responses(blocks, i, adjoint.z.shape[0], cv, ca, scratch):
            return i
        for j in range(q.shape[0]):
            for k in range(q.shape[1]):
                q[j, k], v[j, k], a[j, k] = pulls.q[i, j, k], pulls.v[i, j, k], pulls.a[i, j, k]
                x[j, k] = -pulls.lam[i, j, k] if j < m else 0.0
        _motion_back(blocks, i, cv, ca, scale, adjoint, scratch)
        _scheme_back(settings, h[i], i, adjoint, scratch, weights)
    return -1


@wrapper
def independent_adjoint_steps(settings, h, blocks, pulls, adjoint, weights):
    """The transpose of `independent_tangent_steps`, from the last step to the first.

    pulls: gradients by the state after each step, fields q, v, a (N, n, no) and lam (N, m, no); adjoint: `FreeColumns`
    (f, no), in place, those after the last step on entry. Out: weights of `LevelTerms`, (no, N, n), so that the
    gradient is their sum over steps. Returns the first step with a singular matrix, or -1.
    """
    scratch = _make_scratch(pulls.q.shape[1], adjoint.z.shape[0], pulls.q.shape[2])
    return _adjoint_steps(settings, h, blocks, scratch, pulls, adjoint, weights)
