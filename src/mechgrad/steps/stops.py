"""Where a stop condition changes its sign."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mechgrad.errors import InputError
from mechgrad.steps.task import Stop
from mechgrad.typing import Array


def signs(stop: Stop, t: Array, q: Array, v: Array) -> Array:
    """Values of a stop condition, checked."""
    values = np.asarray(stop(t, q, v), float)
    if values.shape != t.shape:
        raise InputError(f"stop returned shape {values.shape} for {t.size} instants; it must return ({t.size},).")
    if not np.all(np.isfinite(values)):
        raise InputError(f"stop returned {values[~np.isfinite(values)][0]} at t = {t[~np.isfinite(values)][0]:g} s.")
    return values


def crossing(stop: Stop, t: Array, q: Array, v: Array) -> int | None:
    """The first instant after which the sign differs from that before."""
    values = signs(stop, t, q, v)
    changes = np.flatnonzero((values[:-1] != 0) & (np.sign(values[:-1]) != np.sign(values[1:])))
    return int(changes[0]) if changes.size else None


def located(stop: Stop, low: float, high: float, between: Callable[[float], tuple[Array, Array]]) -> float:
    """The last instant before a stop condition changes its sign, by bisection down to rounding.

    low, high : instants with different signs;   between : q and v at an instant between them
    """

    def sign(t: float) -> float:
        q, v = between(t)
        return float(np.sign(signs(stop, np.array([t]), q[None], v[None])[0]))

    before = sign(low)
    while (middle := 0.5 * (low + high)) not in (low, high):
        if sign(middle) == before:
            low = middle
        else:
            high = middle
    return low
