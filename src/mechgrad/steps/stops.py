"""Where a stop condition changes its sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def bisected(stop: Stop, t: Array, q: Array, v: Array, k: int, advance: Callable[[float], tuple[Any, ...]]) -> Any:
    """Where a stop condition changes sign between instants k and k + 1: what `advance(time)` gives just before.

    advance: from instant k to a time in between, returns (q, v, ...) there.
    """
    low, high = float(t[k]), float(t[k + 1])
    before = signs(stop, t[k : k + 1], q[k : k + 1], v[k : k + 1])[0]
    best: tuple[Any, ...] | None = None
    start = low
    while high - low > 1e-13 * max(abs(high), float(t[-1])):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        state = advance(middle)
        if np.sign(signs(stop, np.array([middle]), state[0][None], state[1][None])[0]) == np.sign(before):
            low, best = middle, state
        else:
            high = middle
    return (low, best) if best is not None else (start, None)
