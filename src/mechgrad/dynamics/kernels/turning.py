"""How a step d of balls carries changes on: q1 = q0 moved by d.

    d(q1) = E dq0 + D dd        E = exp(d),  D = (exp(d) - 1) / d      for each ball, unit matrices otherwise

with changes of rotations as rotation vectors in parent axes, d as matrix the cross product with it.
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
def _applied(d0, d1, d2, first, second, x, j):
    """x_j := x_j + first d x x_j + second d x (d x x_j), three entries from j on."""
    x0, x1, x2 = x[j], x[j + 1], x[j + 2]
    c0, c1, c2 = d1 * x2 - d2 * x1, d2 * x0 - d0 * x2, d0 * x1 - d1 * x0
    x[j] = x0 + first * c0 + second * (d1 * c2 - d2 * c1)
    x[j + 1] = x1 + first * c1 + second * (d2 * c0 - d0 * c2)
    x[j + 2] = x2 + first * c2 + second * (d0 * c1 - d1 * c0)


@inner
def carry(atoms_i, d, x, at, sign):
    """x := E x (sign 1) or E^T x (sign -1), in the entries of x from `at` on."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            a, b, _ = _factors(d[j] * d[j] + d[j + 1] * d[j + 1] + d[j + 2] * d[j + 2])
            _applied(d[j], d[j + 1], d[j + 2], sign * a, b, x, at + j)


@inner
def spread(atoms_i, d, x, at, sign):
    """x := D x (sign 1) or D^T x (sign -1), in the entries of x from `at` on."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            _, b, c = _factors(d[j] * d[j] + d[j + 1] * d[j + 1] + d[j + 2] * d[j + 2])
            _applied(d[j], d[j + 1], d[j + 2], sign * b, c, x, at + j)


@inner
def spread_columns(atoms_i, d, A, rows, n):
    """A := A D for a matrix of some rows, stored row by row."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            _, b, c = _factors(d[j] * d[j] + d[j + 1] * d[j + 1] + d[j + 2] * d[j + 2])
            for row in range(rows):
                _applied(d[j], d[j + 1], d[j + 2], -b, c, A, row * n + j)
