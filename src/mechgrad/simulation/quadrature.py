"""Weights of quadrature rules over instants.

trapezoid   h/2, h, ..., h, h/2                                         order 2, any instants
gregory     the trapezoidal rule with five corrected weights at both ends    order 6, equal distances
gauss       four points of Gauss and Legendre in each of many steps            order 8, between both ends, weighed zero
"""

from __future__ import annotations

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.typing import FloatArray

RULES = ("trapezoid", "gregory")
GAUSS = 4  # points in a step
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(GAUSS)
GAUSS_SHARES, GAUSS_WEIGHTS = 0.5 + 0.5 * _POINTS, 0.5 * _WEIGHTS


def _gregory_ends() -> FloatArray:
    """What the first five weights of a rule with unit weights lack to be of order 6.

    By the sum formula of Euler and Maclaurin the integral differs from the sum by -f/2 + f_x/12 - f_xxx/720 at the
    lower end; five corrections d_j do the same to polynomials up to degree 4.
    """
    samples = np.array([-1 / 2, 1 / 12, 0.0, -1 / 120, 0.0])  # of 1, x, x^2, x^3, x^4
    return np.linalg.solve(np.vander(np.arange(5.0), increasing=True).T, samples)


def weights(t: FloatArray, rule: str) -> FloatArray:
    """Weights w with  integral f dt = sum w_i f(t_i)."""
    if rule == "gauss":
        inner = t[1:-1].reshape(-1, GAUSS)
        lengths = (inner[:, -1] - inner[:, 0]) / (GAUSS_SHARES[-1] - GAUSS_SHARES[0])
        return np.concatenate([[0.0], (lengths[:, None] * GAUSS_WEIGHTS).ravel(), [0.0]])
    if rule not in RULES:
        raise unknown_name("rule", rule, RULES)
    h = np.diff(t)
    w = np.zeros(len(t))
    if rule == "trapezoid":
        w[:-1] += 0.5 * h
        w[1:] += 0.5 * h
        return w
    rounding = 4.0 * np.finfo(float).eps * float(np.abs(t).max())  # of late instants, whose distances are small
    if len(t) < 10 or np.ptp(h) > 1e-9 * h.mean() + rounding:
        raise InputError(f"rule 'gregory' needs at least 10 instants at equal distances; there are {len(t)}.")
    w[:] = 1.0
    ends = _gregory_ends()
    w[:5] += ends
    w[-5:] += ends[::-1]
    return np.asarray(w * h.mean())
