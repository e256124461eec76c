"""How a step d of balls carries changes on: q1 = q0 moved by d.

    d(q1) = E dq0 + D dd        E = exp(d),  D = (exp(d) - 1) / d      for each ball, unit matrices otherwise

with changes of rotations as rotation vectors in parent axes, d as matrix the cross product with it. Changes are the
columns of arrays (n, count).
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.rotation import angle_factors, cross_polynomial
from mechgrad.kernels.vec3 import dot
from mechgrad.model.joints.base import BALL
from mechgrad.model.tree import KIND, V_AT


@inlined
def _vector(d, j):
    """The rotation vector of the ball whose velocities begin at j."""
    return d[j], d[j + 1], d[j + 2]


@inner
def carry(atoms_i, d, X, sign):
    """X := E X (sign 1) or E^T X (sign -1)."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            by = _vector(d, j)
            a, b, _ = angle_factors(dot(by, by))
            for k in range(X.shape[1]):
                x = (X[j, k], X[j + 1, k], X[j + 2, k])
                X[j, k], X[j + 1, k], X[j + 2, k] = cross_polynomial(by, sign * a, b, x)


@inner
def spread(atoms_i, d, X, sign):
    """X := D X (sign 1) or D^T X (sign -1)."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            by = _vector(d, j)
            _, b, c = angle_factors(dot(by, by))
            for k in range(X.shape[1]):
                x = (X[j, k], X[j + 1, k], X[j + 2, k])
                X[j, k], X[j + 1, k], X[j + 2, k] = cross_polynomial(by, sign * b, c, x)


@inner
def spread_matrix(atoms_i, d, A, rows, n):
    """A := A D for a flat matrix of some rows."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, V_AT]
            by = _vector(d, j)
            _, b, c = angle_factors(dot(by, by))
            for row in range(rows):
                o = row * n + j
                A[o], A[o + 1], A[o + 2] = cross_polynomial(by, -b, c, (A[o], A[o + 1], A[o + 2]))
