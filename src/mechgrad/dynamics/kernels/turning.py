"""How a step d of balls carries changes on: q1 = q0 moved by d.

    d(q1) = E dq0 + D dd        E = exp(d),  D = (exp(d) - 1) / d      for each ball, unit matrices otherwise

with changes of rotations as rotation vectors in parent axes, d as matrix the cross product with it. Changes are the
columns of arrays (n, count).
"""

from __future__ import annotations

import math

from mechgrad.kernels.jit import inlined, inner
from mechgrad.model.joints.base import BALL
from mechgrad.model.tree import KIND, V_AT

SMALL = 1e-2  # squared angle below which series are exact to rounding


@inlined
def _factors(square):
    """sin x / x, (1 - cos x) / x^2 and (x - sin x) / x^3 of an angle with this square."""
    if square < SMALL:
        u = square
        a = 1.0 - u / 6.0 * (1.0 - u / 20.0 * (1.0 - u / 42.0 * (1.0 - u / 72.0)))
        b = 0.5 - u / 24.0 * (1.0 - u / 30.0 * (1.0 - u / 56.0 * (1.0 - u / 90.0)))
        c = 1.0 / 6.0 - u / 120.0 * (1.0 - u / 42.0 * (1.0 - u / 72.0 * (1.0 - u / 110.0)))
        return a, b, c
    x = math.sqrt(square)
    return math.sin(x) / x, (1.0 - math.cos(x)) / square, (x - math.sin(x)) / (square * x)


@inlined
def _turned(d0, d1, d2, first, second, x0, x1, x2):
    """x + first d x x + second d x (d x x)."""
    c0, c1, c2 = d1 * x2 - d2 * x1, d2 * x0 - d0 * x2, d0 * x1 - d1 * x0
    return (
        x0 + first * c0 + second * (d1 * c2 - d2 * c1),
        x1 + first * c1 + second * (d2 * c0 - d0 * c2),
        x2 + first * c2 + second * (d0 * c1 - d1 * c0),
    )


@inner
def carry(atoms_i, d, X, sign):
    """X := E X (sign 1) or E^T X (sign -1)."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            a, b, _ = _factors(d[j] * d[j] + d[j + 1] * d[j + 1] + d[j + 2] * d[j + 2])
            for k in range(X.shape[1]):
                X[j, k], X[j + 1, k], X[j + 2, k] = _turned(
                    d[j], d[j + 1], d[j + 2], sign * a, b, X[j, k], X[j + 1, k], X[j + 2, k]
                )


@inner
def spread(atoms_i, d, X, sign):
    """X := D X (sign 1) or D^T X (sign -1)."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            _, b, c = _factors(d[j] * d[j] + d[j + 1] * d[j + 1] + d[j + 2] * d[j + 2])
            for k in range(X.shape[1]):
                X[j, k], X[j + 1, k], X[j + 2, k] = _turned(
                    d[j], d[j + 1], d[j + 2], sign * b, c, X[j, k], X[j + 1, k], X[j + 2, k]
                )


@inner
def spread_matrix(atoms_i, d, A, rows, n):
    """A := A D for a flat matrix of some rows."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            _, b, c = _factors(d[j] * d[j] + d[j + 1] * d[j + 1] + d[j + 2] * d[j + 2])
            for row in range(rows):
                o = row * n + j
                A[o], A[o + 1], A[o + 2] = _turned(d[j], d[j + 1], d[j + 2], -b, c, A[o], A[o + 1], A[o + 2])
