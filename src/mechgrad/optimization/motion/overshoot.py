"""Torques between the instants where their limits are enforced: how far they overshoot, where, and what helps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mechgrad.optimization.motion.constraints import TorqueLimits
from mechgrad.optimization.motion.transcription import Transcription
from mechgrad.typing import Array

TOLERATED = 0.01  # of the limit
SMALLEST = 1e-4  # [N m or N]: of joints without a motor, what solvers leave of zero is no overshoot
MOST_FOLD = 8  # how many more instants are advised at most: beyond, the spline itself is too coarse
FINER = 8  # how much finer than where it is enforced


class OvershootWarning(UserWarning):
    """Torques of a motion exceed their limits between the instants where these are enforced."""


class Overshoot(NamedTuple):
    """The worst violation of some rows.

    what : which value, "tau(elbow)";   xi : when, t / T
    limit : the magnitude of its limits
    amount : beyond them, in its unit;   part : the same in parts of the limit, or of the largest value if that is zero
    """

    what: str
    xi: float
    limit: float
    amount: float
    part: float


def worst_overshoot(t: Transcription, x: Array) -> Overshoot:
    """Of all rows of a program, in parts of their limits."""
    worst = Overshoot("", 0.0, 0.0, 0.0, 0.0)
    for bundle in t.bundles:
        values, at = bundle.values(x), 0
        for rows in bundle.rows:
            y = values[at : at + rows.lower.size]
            at += rows.lower.size
            beyond = np.maximum(rows.lower - y, y - rows.upper)
            # limits of zero (joints without a motor) are measured by the largest value of all
            limits = np.maximum(*(np.where(np.isfinite(b), np.abs(b), 0.0) for b in (rows.lower, rows.upper)))
            largest = max(float(np.abs(bundle.all_values(x)).max()), SMALLEST)
            parts = beyond / np.where(limits > 0.0, limits, largest)
            k = int(np.argmax(parts))
            part = float(parts[k])
            if part > worst.part:
                instant, which = divmod(int(rows.combine.indices[rows.combine.indptr[k]]), bundle.measure.m)
                found = bundle.measure.names[which], float(bundle.grid.xi[instant])
                worst = Overshoot(*found, float(limits[k]), float(beyond[k]), part)
    return worst


def warn_of_overshoot(
    constraints: Sequence[Any], program: Callable[[Sequence[Any]], Transcription], x: Array, segments: int,
    time: Callable[[float], float],
) -> None:  # fmt: skip
    """Warn where torques of a motion exceed their limits by more than a hundredth between instants of its program.

    program : of other constraints, with the same unknowns x;   segments : of its splines;   time : [s] of an
        instant of normalised time
    """
    for limits in constraints:
        if not isinstance(limits, TorqueLimits) or np.ndim(limits.lower) == 2 or np.ndim(limits.upper) == 2:
            continue
        finer = program([replace(limits, per_segment=limits.per_segment * FINER)])
        worst = worst_overshoot(finer, x)
        if worst.part <= TOLERATED:
            continue
        # between instants a smooth curve rises by the square of their distance
        fold = min(max(2, math.ceil(math.sqrt(worst.part / TOLERATED))), MOST_FOLD)
        if worst.limit == 0.0:  # as many equations as instants: a finer spline alone has the unknowns for more
            how = f"{worst.amount:.3g} where it should be 0, {100 * worst.part:.1f} % of the largest torque,"
            remedy = f"Take more segments: Splines({segments * fold}, ...)."
        else:
            how = f"{100 * worst.part:.1f} % ({worst.amount:.3g}) beyond its limit"
            more = f"TorqueLimits(..., per_segment={limits.per_segment * fold}) instead of {limits.per_segment}"
            remedy = f"Enforce it at more of them: {more}."
        warnings.warn(
            f"{worst.what} is {how} at t = {time(worst.xi):.4g} s (xi = {worst.xi:.4g}), between the instants "
            f"where it is enforced. {remedy} solution.residuals() tells how far all constraints are violated.",
            OvershootWarning,
            stacklevel=3,
        )
