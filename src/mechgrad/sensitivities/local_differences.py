"""Differences of functions that act on every instant for itself: as a judge of partials, and as the last resort.

    one-sided   g(y + d) - g(y)  and  g(y) - g(y - d)        what partials times d must lie between, at every instant
    central     D(h) = (g(y + h) - g(y - h)) / 2h, extrapolated from three steps, the best of several taken at every
                instant, with an estimate of its error

Steps go with the size of each number at its instant, or with a thousandth of its largest size over time where it is
smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mechgrad.typing import Array, FloatArray

EPS = float(np.finfo(float).eps)
Evaluate = Callable[[Sequence[FloatArray]], FloatArray | None]
"""From measures (nt, ...) to g (nt, k), NaN where it has no value; None where it has none at all."""

JUDGE_STEPS = (
    1e-6,
    1e-4,
    1e-8,
)  # a right partial agrees for one of them: noise spoils short steps, curvature long ones
AGREEMENT = 1e-5  # relative, of a difference along one step
ROUNDING = 16 * EPS
LONGEST, RATIO, STEPS = 2.0**-4, 4.0, 8  # of central differences
ACCEPTED = 1e-6  # error of a partial, relative to the largest of its row over time
KINKS = 0.02  # share of the instants that may stand at a kink


class Contradiction(NamedTuple):
    """Where partials and differences disagree: instant, row, what partials say, and the one-sided differences."""

    instant: int
    row: int
    found: float
    low: float
    high: float


class Central(NamedTuple):
    """Partials (nt, k, size) by each measure, errors of the same shapes, and where the estimate is not good enough:
    (instant, row, error relative to its row), or None."""

    partials: list[FloatArray]
    errors: list[FloatArray]
    bad: tuple[int, int, float] | None


def sizes(y: FloatArray) -> FloatArray:
    """How large each number is, (nt, ...): steps are relative to it."""
    x = np.abs(y)
    largest = x.max(axis=0, initial=0.0)
    return np.maximum(x, np.where(largest > 0.0, 1e-3 * largest, 1.0))


@lru_cache(maxsize=16)
def one_way(shape: tuple[int, ...]) -> FloatArray:
    """Numbers of size 1/2 to 1 and of either sign, without order but always the same."""
    x = np.random.default_rng(0).random(shape)
    way = np.where(x < 0.5, x - 1.0, x)
    way.setflags(write=False)
    return way


def contradiction(
    evaluate: Evaluate,
    y: Sequence[FloatArray],
    g: FloatArray,
    partials: Sequence[FloatArray],
    errors: Sequence[FloatArray] | None = None,
    *,
    each: bool = False,
) -> Contradiction | None:
    """The worst instant at which partials are refuted by differences, or None.

    At a kink the two one-sided differences differ, and anything between them is a derivative.

    errors : of the partials, if they have any
    each : go along each component of the measures for itself, instead of along all at once
    """
    nt = len(g)
    masks = [[np.ones(x.shape[1:]) for x in y]]
    if each:
        masks = [
            [np.where(np.arange(x[0].size).reshape(x.shape[1:]) == j, float(i == m), 0.0) for i, x in enumerate(y)]
            for m, one in enumerate(y)
            for j in range(one[0].size)
        ]
    scales = [sizes(x) for x in y]
    for mask in masks:
        # instants go different ways, so that a function that mixes them is found out
        ways = [one_way(x.shape) * s * m for x, s, m in zip(y, scales, mask, strict=True)]
        refuted: Array = np.ones(g.shape, bool)
        last: tuple[FloatArray, ...] = ()
        for step in JUDGE_STEPS:
            ahead = [x + step * d for x, d in zip(y, ways, strict=True)]
            behind = [x - step * d for x, d in zip(y, ways, strict=True)]
            g1, g0 = evaluate(ahead), evaluate(behind)
            if g1 is None or g0 is None:
                continue
            taken = [(0.5 * (a - b)).reshape(nt, -1) for a, b in zip(ahead, behind, strict=True)]
            found = np.asarray(sum(_along(p, d) for p, d in zip(partials, taken, strict=True)))
            up, down = g1 - g, g - g0
            low, high = np.minimum(up, down), np.maximum(up, down)
            slack = AGREEMENT * np.maximum(np.abs(up), np.abs(down)) + ROUNDING * (np.abs(g1) + np.abs(g) + np.abs(g0))
            if errors is not None:
                slack = slack + 2.0 * sum(_along(e, np.abs(d)) for e, d in zip(errors, taken, strict=True))
            excess = np.maximum(low - found, found - high) - slack
            refuted &= excess > 0.0  # a NaN is no judge
            last = excess, found / step, low / step, high / step
            if not refuted.any():
                break
        if last and refuted.any():
            i, k = np.unravel_index(int(np.argmax(np.where(refuted, last[0], -np.inf))), g.shape)
            return Contradiction(int(i), int(k), *(float(x[i, k]) for x in last[1:]))
    return None


def _along(partials: FloatArray, d: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("tks,ts->tk", partials, d))


def central(evaluate: Evaluate, y: Sequence[FloatArray], g: FloatArray) -> Central:
    """Partials of g (nt, k) by all measures, by extrapolated central differences."""
    nt, k = g.shape
    partials, errors, effects = [], [], []
    for m, x in enumerate(y):
        flat = x.reshape(nt, -1)
        scale = sizes(flat)
        found, doubt = np.zeros((nt, k, flat.shape[1])), np.zeros((nt, k, flat.shape[1]))
        for j in range(flat.shape[1]):
            found[:, :, j], doubt[:, :, j] = _column(evaluate, y, m, j, scale[:, j], g)
        partials.append(found)
        errors.append(doubt)
        effects.append((np.abs(found) * scale[:, None, :], doubt * scale[:, None, :]))
    largest = np.max([effect.max(axis=(0, 2), initial=0.0) for effect, _ in effects], axis=0)
    row = np.maximum(largest, 1e-3 * np.abs(g).max(axis=0, initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.max([doubt.max(axis=2, initial=0.0) for _, doubt in effects], axis=0) / row
    relative = np.where(row > 0.0, relative, 0.0)
    wrong = ~(relative <= ACCEPTED)
    most = int(KINKS * nt) or int(nt >= 10)
    bad = None
    if wrong.sum(axis=0).max(initial=0) > most or not all(np.all(np.isfinite(p)) for p in partials):
        i, r = np.unravel_index(int(np.argmax(np.where(np.isnan(relative), np.inf, relative))), relative.shape)
        bad = int(i), int(r), float(relative[i, r])
    return Central(partials, errors, bad)


def _column(
    evaluate: Evaluate, y: Sequence[FloatArray], m: int, j: int, scale: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """g by component j of measure m, and its error, (nt, k)."""
    D, noise = [], []
    nothing = np.full(g.shape, np.nan)
    for n in range(STEPS):
        sides = []
        for sign in (1.0, -1.0):
            flat = y[m].reshape(len(g), -1).copy()
            flat[:, j] += sign * LONGEST * RATIO**-n * scale
            value = evaluate([*y[:m], flat.reshape(y[m].shape), *y[m + 1 :]])
            sides.append((flat[:, j], nothing if value is None else value))
        (x1, g1), (x0, g0) = sides
        h = (x1 - x0)[:, None]
        D.append((g1 - g0) / h)
        noise.append(EPS * (np.abs(g1) + np.abs(g0)) / h)
    D_ = np.stack(D)
    R1 = (RATIO**2 * D_[1:] - D_[:-1]) / (RATIO**2 - 1)
    R2 = (RATIO**4 * R1[1:] - R1[:-1]) / (RATIO**4 - 1)
    # what the last extrapolation changed, and what the next shorter steps would: a coincidence of two fools both less
    error = np.abs(R2 - R1[1:]) + np.abs(np.diff(R2, axis=0, append=R2[-1:])) + np.stack(noise)[2:]
    error = np.where(np.isfinite(error), error, np.inf)
    best = np.argmin(error, axis=0)[None]
    found, doubt = (np.take_along_axis(x, best, axis=0)[0] for x in (R2, error))
    # near a kink extrapolation means nothing; the shortest central difference lies between both sides
    return np.where(np.isfinite(found), found, D_[-1]), doubt
