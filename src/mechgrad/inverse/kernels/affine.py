"""Products of the 4x4 matrices of homogeneous coordinates.

Transforms end with the row (0 0 0 1), their derivatives with (0 0 0 0): these rows are not stored but told as `last`.
The sums H and F of the inward pass have a last column of zeros, which is not stored either. Matrices stand in stacks,
(count, 3, 4) or (count, 4, 3), so that a product is told by two stacks and two indices.
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined
from mechgrad.model.joints.base import PRISMATIC, REVOLUTE


@inlined
def by_coordinate(X, i, kind, sign, last, out):
    """out = sigma Z X, the derivative by the link's own coordinate; the last row of X is (0 0 0 last)."""
    for c in range(4):
        out[i, 0, c] = -sign * X[i, 1, c] if kind == REVOLUTE else 0.0
        out[i, 1, c] = sign * X[i, 0, c] if kind == REVOLUTE else 0.0
        out[i, 2, c] = 0.0
    if kind == PRISMATIC:
        out[i, 2, 3] = sign * last


@inlined
def rates(X_q, X_qq, i, v, a, dX, ddX):
    """Time derivatives of a function of q:  dX = X_q v,  ddX = X_qq v^2 + X_q a."""
    for r in range(3):
        for c in range(4):
            dX[i, r, c] = X_q[i, r, c] * v
            ddX[i, r, c] = X_qq[i, r, c] * (v * v) + X_q[i, r, c] * a


@inlined
def times(X, x, Y, y, out, o):
    """out[o] = X[x] Y[y], where the last row of Y is zero."""
    for r in range(3):
        for c in range(4):
            out[o, r, c] = X[x, r, 0] * Y[y, 0, c] + X[x, r, 1] * Y[y, 1, c] + X[x, r, 2] * Y[y, 2, c]


@inlined
def product_rule(motion, p, local, i, last, out, o):
    """T, S, R of a product T_p Y, where Y, dY, ddY = local and the last row of Y is (0 0 0 last).

    T = T_p Y,   S = S_p Y + T_p dY,   R = R_p Y + 2 S_p dY + T_p ddY
    """
    T, S, R = motion
    Y, dY, ddY = local
    T_o, S_o, R_o = out
    for r in range(3):
        t0, t1, t2, t3 = T[p, r, 0], T[p, r, 1], T[p, r, 2], T[p, r, 3]
        s0, s1, s2, s3 = S[p, r, 0], S[p, r, 1], S[p, r, 2], S[p, r, 3]
        r0, r1, r2, r3 = R[p, r, 0], R[p, r, 1], R[p, r, 2], R[p, r, 3]
        for c in range(4):
            y0, y1, y2 = Y[i, 0, c], Y[i, 1, c], Y[i, 2, c]
            d0, d1, d2 = dY[i, 0, c], dY[i, 1, c], dY[i, 2, c]
            T_o[o, r, c] = t0 * y0 + t1 * y1 + t2 * y2
            S_o[o, r, c] = s0 * y0 + s1 * y1 + s2 * y2 + t0 * d0 + t1 * d1 + t2 * d2
            R_o[o, r, c] = (
                r0 * y0 + r1 * y1 + r2 * y2 + 2.0 * (s0 * d0 + s1 * d1 + s2 * d2)
                + t0 * ddY[i, 0, c] + t1 * ddY[i, 1, c] + t2 * ddY[i, 2, c]
            )  # fmt: skip
        T_o[o, r, 3] += t3 * last
        S_o[o, r, 3] += s3 * last
        R_o[o, r, 3] += r3 * last


@inlined
def inertia_times(J, i, X, x, factor, out, o):
    """out[o] = factor J_i X[x]^T."""
    for r in range(4):
        for c in range(3):
            total = (
                J[i, r, 0] * X[x, c, 0] + J[i, r, 1] * X[x, c, 1] + J[i, r, 2] * X[x, c, 2] + J[i, r, 3] * X[x, c, 3]
            )
            out[o, r, c] = factor * total


@inlined
def add_moved(Y, c, last, X, x, out, o):
    """out[o] += Y[c] X[x] for sums H and F; the last row of Y is (0 0 0 last)."""
    for r in range(3):
        y0, y1, y2, y3 = Y[c, r, 0], Y[c, r, 1], Y[c, r, 2], Y[c, r, 3]
        for j in range(3):
            out[o, r, j] += y0 * X[x, 0, j] + y1 * X[x, 1, j] + y2 * X[x, 2, j] + y3 * X[x, 3, j]
    for j in range(3):
        out[o, 3, j] += last * X[x, 3, j]


@inlined
def add_moved_vector(Y, c, last, X, x, out, o):
    """out[o] += Y[c] X[x] for the 4-vectors E."""
    for r in range(3):
        out[o, r] += Y[c, r, 0] * X[x, 0] + Y[c, r, 1] * X[x, 1] + Y[c, r, 2] * X[x, 2] + Y[c, r, 3] * X[x, 3]
    out[o, 3] += last * X[x, 3]


@inlined
def trace(U, u, X, x):
    """tr[U[u] X[x]] for U with a zero last row."""
    total = U[u, 0, 0] * X[x, 0, 0] + U[u, 0, 1] * X[x, 1, 0] + U[u, 0, 2] * X[x, 2, 0] + U[u, 0, 3] * X[x, 3, 0]
    total += U[u, 1, 0] * X[x, 0, 1] + U[u, 1, 1] * X[x, 1, 1] + U[u, 1, 2] * X[x, 2, 1] + U[u, 1, 3] * X[x, 3, 1]
    total += U[u, 2, 0] * X[x, 0, 2] + U[u, 2, 1] * X[x, 1, 2] + U[u, 2, 2] * X[x, 2, 2] + U[u, 2, 3] * X[x, 3, 2]
    return total


@inlined
def clear(X, x):
    """X[x] = 0 for a sum."""
    for r in range(4):
        for c in range(3):
            X[x, r, c] = 0.0
