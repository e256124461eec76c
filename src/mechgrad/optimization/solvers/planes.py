"""Least squares between planes: what a step may be where sides of bounds and of linear constraints have to hold.

    min |E d - f|     subject to   G d >= h          E of full column rank

With E = Q R and y = R d - Q^T f this asks for the shortest y with G R^-1 y >= h - G R^-1 Q^T f, which is a problem of
nonnegative least squares (Lawson and Hanson, Solving Least Squares Problems, ch. 23).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from mechgrad.typing import FloatArray

INCOMPATIBLE = 1e-10  # what is left of 1 in the dual problem where no y meets all sides: rounding
ROUNDING = 1e-13  # by which sides give way, so that the two sides of an equality have something between them


def shortest(G: FloatArray, h: FloatArray) -> FloatArray | None:
    """The shortest y with G y >= h; None where there is none.

    >>> shortest(np.array([[1.0, 1.0]]), np.array([2.0])).round(9)
    array([1., 1.])
    """
    n = G.shape[1]
    size = np.linalg.norm(G, axis=1)
    told = size > 0.0
    if (h[~told] > ROUNDING).any():
        return None
    G, h = G[told] / size[told, None], h[told] / size[told]
    if (h <= 0.0).all():
        return np.zeros(n)
    A, b = np.vstack([G.T, h]), np.append(np.zeros(n), 1.0)
    u, _ = nnls(A, b, maxiter=30 * max(len(h), 10))
    left = b - A @ u
    return None if left[-1] <= INCOMPATIBLE else np.asarray(-left[:n] / left[-1])


def least_squares_within(E: FloatArray, f: FloatArray, G: FloatArray, h: FloatArray) -> FloatArray | None:
    """d with the smallest |E d - f| and G d >= h; None where no d meets all sides.

    >>> least_squares_within(np.eye(2), np.array([1.0, 3.0]), np.array([[0.0, -1.0]]), np.array([-2.0])).round(9)
    array([1., 2.])
    """
    Q, R = np.linalg.qr(E)
    c = Q.T @ f
    H = solve_triangular(R, G.T, trans="T").T
    y = shortest(H, h - H @ c)
    return None if y is None else np.asarray(solve_triangular(R, y + c))


def sides(A: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """G, h of low <= A d <= high; sides at infinity are left out."""
    below, above = np.isfinite(low), np.isfinite(high)
    G = np.vstack([A[below], -A[above]])
    h = np.concatenate([low[below], -high[above]])
    return G, h - ROUNDING * (1.0 + np.abs(h))
