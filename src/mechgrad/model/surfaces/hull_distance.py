"""How far a point is from a superellipsoid, in Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

TRIALS, STEPS, ROUNDING = 200, 100, 1e-15


def distance_of_hull(s: Sequence[float], m: int, p: Sequence[float]) -> float:
    """From a point p outside of sum (x_i / s_i)^m = 1; inside, how deep it is along the ray from the middle, negative.

    >>> round(distance_of_hull((6.0, 1.5, 2.0), 4, (0.0, 2.5, 0.0)), 12)
    1.0
    """
    at = [abs(x) / half for x, half in zip(p, s, strict=True)]
    size = sum(x**m for x in at) ** (1.0 / m)
    if size <= 1.0:
        away = math.hypot(*(x * half for x, half in zip(at, s, strict=True)))
        return -(1.0 - size) * away / size if size > 0.0 else -min(s)
    y = _closest(at, s, m)
    return math.hypot(*((x - c) * half for x, c, half in zip(at, y, s, strict=True)))


def _closest(at: list[float], s: Sequence[float], m: int) -> list[float]:
    """The closest point of a point outside, both over the halves s: y + lam m / s^2 y^(m-1) = at, sum y^m = 1."""

    lam, low, high = 0.0, 0.0, math.inf
    for _ in range(TRIALS):  # the excess falls with lam: Newton's iteration within a bracket
        y = [_settled(x, lam * m / half**2, m) for x, half in zip(at, s, strict=True)]
        excess = sum(x**m for x in y) - 1.0
        slope = sum(
            (m * x ** (m - 1) / half) ** 2 / (1.0 + (m - 1) * m * lam / half**2 * x ** (m - 2))
            for x, half in zip(y, s, strict=True)
        )
        low, high = (lam, high) if excess > 0.0 else (low, lam)
        new = lam + excess / slope
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - lam) <= ROUNDING * new:
            break
        lam = new
    return y


def _settled(target: float, weight: float, m: int) -> float:
    """The root y of y + weight y^(m-1) = target: from above Newton's iteration for this convex function only falls."""
    y = target
    for _ in range(STEPS):
        change = (y + weight * y ** (m - 1) - target) / (1.0 + (m - 1) * weight * y ** (m - 2))
        y -= change
        if abs(change) <= ROUNDING * y:
            break
    return y
