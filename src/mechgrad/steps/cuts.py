"""Implicit steps that fail, taken in shorter ones.

A stiff contact that begins within a step, or a hard impulse, may leave Newton's iteration without an answer where steps
half as long have one. A step that fails is divided into 2, 4, .. parts, at most `FINEST`; the next one is whole again.
How often is kept with the motion (`Trajectory.cuts`): repetitions divide the same steps, and derivatives are those of
the steps that were taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import BAD_NUMBER, DONE, NOT_CONVERGED, SINGULAR
from mechgrad.typing import Array

FINEST = 1024
CUTTABLE = (BAD_NUMBER, SINGULAR, NOT_CONVERGED)

# march(ranks, h, t, every, arrays) -> (rows, reason, time): from row 0 of all arrays on (`steps.newmark.kernels`);
# it leaves nothing behind where it fails but `ranks`, which are put back here
March = Callable[[Array, float, float, int, list[Array]], Any]
# into how many parts steps were divided, by their number; those that are not there were not
Divisions = dict[int, int]
ITERATIONS = 7  # among the arrays of a march, which begin with Q, V, A, X, L, S


class Cut(NamedTuple):
    """A step that was taken in several parts: when it begins [s], its length [s], and how many."""

    t: float
    length: float
    parts: int


class Segment(NamedTuple):
    """Steps of one length: h [s], t (N + 1,) and arrays of N + 1 rows, the first of which is the state before."""

    h: float
    t: Array
    arrays: list[Array]


def as_cuts(divisions: Divisions, t0: float, step: float) -> tuple[Cut, ...]:
    """The steps that were divided, from the first to the last."""
    return tuple(Cut(t0 + step * k, step, divisions[k]) for k in sorted(divisions))


def next_divided(divisions: Divisions, first: int, last: int) -> int:
    """The first step from `first` on that is divided, or `last`."""
    return min((k for k in divisions if first <= k < last), default=last)


def place(divisions: Divisions, step: int) -> int:
    """How many steps come before one, if every part of a divided step counts.

    >>> place({3: 4}, 3), place({3: 4}, 5)
    (3, 8)
    """
    return step + sum(parts - 1 for k, parts in divisions.items() if k < step)


def divided(
    march: March, ranks: Array, h: float, t: float, divisions: Divisions, steps: range, start: Sequence[Array], *,
    hold: bool = False,
) -> tuple[list[Segment], int, float]:  # fmt: skip
    """Some steps from a state at time t on, in as many parts as `divisions` says, or more where that fails (which is
    noted there), unless these are to be held.

    start: a row of each array of a march. Returns (segments, reason, time).
    """
    segments: list[Segment] = []
    row = [np.asarray(x) for x in start]
    first, k = steps.start, steps.start
    while k < steps.stop:
        count = divisions.get(k, 1)
        # neighbours that are not divided make one segment
        together = next_divided(divisions, k, steps.stop) - k if count == 1 else 1
        rows = together if count == 1 else count
        arrays = [np.repeat(x[None], rows + 1, axis=0) for x in row]
        before = ranks.copy()
        got, reason, at = march(ranks, h / count, t + h * (k - first), 1, arrays)
        if reason != DONE:
            done = int(got) - 1 if count == 1 else 0
            if hold or reason not in CUTTABLE or 2 * count > FINEST:
                return segments, int(reason), float(at)
            ranks[:] = before
            divisions[k + done] = 2 * count
            continue
        times = t + h * (k - first) + h / count * np.arange(rows + 1)
        segments.append(Segment(h / count, times, arrays))
        row = [x[-1] for x in arrays]
        k += together
    return segments, DONE, t + h * len(steps)


def put_end(segments: list[Segment], arrays: list[Array], row: int) -> None:
    """The state after the last segment, and all iterations, into a row of the arrays of a march."""
    for x, end in zip(arrays, segments[-1].arrays, strict=True):
        x[row] = end[-1]
    arrays[ITERATIONS][row] = sum(int(s.arrays[ITERATIONS][1:].sum()) for s in segments)


__all__ = [
    "CUTTABLE",
    "FINEST",
    "Cut",
    "Divisions",
    "Segment",
    "as_cuts",
    "divided",
    "next_divided",
    "place",
    "put_end",
]
