"""First pass of the recursive Lagrangian form: transforms of links, their rates, and the sensitivities of both.

Links are numbered 1..n as in the papers, 0 is the ground; p is the parent of i.

    T_i = T_p A_i       S_i = dT_i/dt = S_p A_i + T_p B_i v_i
    R_i = d2T_i/dt2 = R_p A_i + 2 S_p B_i v_i + T_p (C_i v_i^2 + B_i a_i)

A sensitivity lives on a *pair* (i, m): link i and a moving link m on one path to the ground, in either order (motion
needs those with m at or before i). All others are zero and have no place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.inverse.kernels.affine import by_coordinate, product_rule, rates
from mechgrad.kernels.jit import allocating, entry, inner
from mechgrad.model.joints.base import REVOLUTE


class LinkTables(NamedTuple):
    """Links 1..n, row 0 is the ground; arrays as in `inverse.lagrange.LinkTables`, which explains them."""

    phi: np.ndarray
    psi: np.ndarray
    links: np.ndarray
    sign: np.ndarray
    constant: np.ndarray
    J: np.ndarray
    gravity: np.ndarray
    first: np.ndarray
    pairs: np.ndarray


class PointMotion(NamedTuple):
    """Results: position, velocity and acceleration of points (nt, points * 3), and by q (nt, points * 3 * n_v)."""

    x: np.ndarray
    xd: np.ndarray
    xdd: np.ndarray
    x_q: np.ndarray
    xd_q: np.ndarray
    xdd_q: np.ndarray


# columns of `links`
KIND, COLUMN, MASSIVE = range(3)
# columns of `pairs`: the link m, the pair (parent of i, m), and where (i, m) stands in the packed derivatives
M, UP, ENTRY = range(3)


# --------------------------------------------------------------------------------------------------------- tree
@allocating
def read_branches(phi, psi):
    """Parents and children from the branch parent matrix Phi and the joint-branch matrix Psi.

    Parent rule: i - 1 inside a branch; for its first link the last one of the parent branch. Child rule: i + 1 inside a
    branch; for its last link the first ones of all branches that start there, as a list child, sibling, sibling, ... 0.
    """
    n = psi[-1, 1] if psi.shape[0] else 0
    parent, child, sibling = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for k in range(phi.shape[0] - 1, -1, -1):
        first, last, above = psi[k, 0], psi[k, 1], phi[k, 1]
        for i in range(first, last):
            parent[i + 1] = i
            child[i] = i + 1
        if above > 0:
            end = psi[above - 1, 1]
            parent[first] = end
            sibling[first] = child[end]
            child[end] = first
    return parent, child, sibling


# --------------------------------------------------------------------------------------------- first pass: motion
@inner
def local_transforms(links, sign, constant, q, v, a, row, local):
    """A = Screw_z(sigma q) constant, its derivatives B, C, D by q, and the time derivatives of A and B."""
    A, B, C, D, dA, ddA, dB, ddB = local
    zero = 0.0 * sign[0]
    for i in range(1, links.shape[0]):
        kind, j = links[i, KIND], links[i, COLUMN]
        for r in range(3):
            for c in range(4):
                A[i, r, c] = constant[i, r, c]
        dx = ddx = zero
        if j >= 0:
            x, dx, ddx = sign[i] * q[row, j], v[row, j], a[row, j]
            if kind == REVOLUTE:
                cos, sin = np.cos(x), np.sin(x)
                for c in range(4):
                    A[i, 0, c] = cos * constant[i, 0, c] - sin * constant[i, 1, c]
                    A[i, 1, c] = sin * constant[i, 0, c] + cos * constant[i, 1, c]
            else:
                A[i, 2, 3] += x
        by_coordinate(A, i, kind, sign[i], 1.0, B)
        by_coordinate(B, i, kind, sign[i], 0.0, C)
        by_coordinate(C, i, kind, sign[i], 0.0, D)
        rates(B, C, i, dx, ddx, dA, ddA)
        rates(C, D, i, dx, ddx, dB, ddB)


@inner
def outward(parent, local, motion):
    """T, S, R of all links."""
    A, _, _, _, dA, ddA, _, _ = local
    for i in range(1, parent.size):
        product_rule(motion, parent[i], (A, dA, ddA), i, 1.0, motion, i)


@inner
def outward_sensitivities(parent, first, pairs, local, motion, motion_q):
    """T, S, R by q_m.

    Those by velocities and accelerations need no recursion: S_v = R_a = T_q and R_v = 2 S_q.
    """
    A, B, _, _, dA, ddA, dB, ddB = local
    for i in range(1, parent.size):
        for at in range(first[i], first[i + 1]):
            if pairs[at, M] < i:
                product_rule(motion_q, pairs[at, UP], (A, dA, ddA), i, 1.0, motion_q, at)
            elif pairs[at, M] == i:
                product_rule(motion, parent[i], (B, dB, ddB), i, 0.0, motion_q, at)


# ------------------------------------------------------------------------------------------------------- memory
@allocating
def stack(count, rows, columns, like):
    """Matrices, not yet filled, in the type of the array `like`."""
    return np.empty((count, rows, columns), like.dtype)


@allocating
def local_stacks(n, scalar):
    """Workspace of A, B, C, D, dA, ddA, dB, ddB."""
    return (
        stack(n, 3, 4, scalar), stack(n, 3, 4, scalar), stack(n, 3, 4, scalar), stack(n, 3, 4, scalar),
        stack(n, 3, 4, scalar), stack(n, 3, 4, scalar), stack(n, 3, 4, scalar), stack(n, 3, 4, scalar),
    )  # fmt: skip


@allocating
def motion_stacks(n, scalar):
    """Workspace of T, S, R; row 0 is the ground: at rest, its frame the world's."""
    T, S, R = stack(n, 3, 4, scalar), stack(n, 3, 4, scalar), stack(n, 3, 4, scalar)
    for r in range(3):
        for c in range(4):
            T[0, r, c] = 1.0 if r == c else 0.0
            S[0, r, c] = 0.0
            R[0, r, c] = 0.0
    return T, S, R


@inner
def finite(x, row):
    """Whether a sample holds numbers only."""
    total = 0.0
    for j in range(x.shape[1]):
        rest = x[row, j] - x[row, j]
        total += rest.real + rest.imag
    return total == 0


# ------------------------------------------------------------------------------------------------------- points
@inner
def place(X, x, points_f, k, out, row, column, width):
    """out = X[x] r for the point r = points_f[k]: column `column` of the rows of point k, each `width` wide."""
    for c in range(3):
        y = X[x, c, 0] * points_f[k, 0] + X[x, c, 1] * points_f[k, 1] + X[x, c, 2] * points_f[k, 2] + X[x, c, 3]
        out[row, (3 * k + c) * width + column] = y


@entry
def lagrange_points(tables, samples, points, out):
    """Position T r, velocity S r and acceleration R r of points, and by q.

    Tuples of arrays: tables as in `LinkTables`, samples q, v, a (nt, n_v), points: link (n,) int64 and place in its
    frame (n, 3), out as in `PointMotion`. Returns the first row with a bad number, or -1.
    """
    phi, psi, links, sign, constant, _, _, first, pairs = tables
    q, v, a = samples
    points_i, points_f = points
    x, xd, xdd, x_q, xd_q, xdd_q = out
    parent, _, _ = read_branches(phi, psi)
    n, n_pairs, n_v = parent.size, pairs.shape[0], v.shape[1]
    local, motion = local_stacks(n, x), motion_stacks(n, x)
    motion_q = stack(n_pairs, 3, 4, x), stack(n_pairs, 3, 4, x), stack(n_pairs, 3, 4, x)
    for row in range(q.shape[0]):
        local_transforms(links, sign, constant, q, v, a, row, local)
        outward(parent, local, motion)
        outward_sensitivities(parent, first, pairs, local, motion, motion_q)
        x_q[row] = 0.0
        xd_q[row] = 0.0
        xdd_q[row] = 0.0
        for k in range(points_i.size):
            i = points_i[k]
            place(motion[0], i, points_f, k, x, row, 0, 1)
            place(motion[1], i, points_f, k, xd, row, 0, 1)
            place(motion[2], i, points_f, k, xdd, row, 0, 1)
            for at in range(first[i], first[i + 1]):
                if pairs[at, M] <= i:
                    j = links[pairs[at, M], COLUMN]
                    place(motion_q[0], at, points_f, k, x_q, row, j, n_v)
                    place(motion_q[1], at, points_f, k, xd_q, row, j, n_v)
                    place(motion_q[2], at, points_f, k, xdd_q, row, j, n_v)
        if not (finite(q, row) and finite(v, row) and finite(a, row) and finite(xdd, row)):
            return row
    return -1
