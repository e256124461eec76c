"""Which constraint rows and which independent coordinates make W = [Gamma; B], and the best of them in a state.

A mechanism with n velocities and constraints of rank r offers all its constraint rows, and rows for coordinates that
could be independent. A choice names n of them. Its measure is the larger of two numbers: how far another coordinate
moves when an independent one moves by one, the largest number in R = W^-1 [0; 1], which grows without bound at a dead
point; and the ratio of pivots of W, which does so, too, where rows that are kept come to depend on each other. Errors
that a stage or a step leaves in the constraints are magnified by it, so it had better stay near one.

The best choice comes from elimination of Gamma with full pivoting: rows of pivots are kept, and columns without one are
the independent coordinates. So W stays well conditioned, whatever the configuration, unless Gamma itself loses its
rank: at a change point, where two motions meet, there is no choice. Balls have no coordinates that could be
independent: their columns come first. Coordinates that a user named stay, and only rows are chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import inner
from mechgrad.kernels.lu import lu_solve

# counts of a choice: constraint rows in W; whether coordinates are named; whether choices are held; changes noted; next
# of those held; steps taken
RANK, NAMED, HOLDS, NOTED, NEXT, STEP = range(6)
# sizes of a choice: its measure where the last step ended; that from which on to choose again
NOW, LIMIT = range(2)

LEAST_LIMIT = 2.0  # of the measure, from which on others may be chosen; best choices have about one
GROWTH = 1.5  # of the measure since the last look, from which on to look again
BETTER = 0.7  # of the measure, below which a change is worth it
PIVOTS = 0.25  # the measure beside the ratio of pivots, which is about four for best choices
NO_PIVOT = 1e-12  # beside rows of length one


class Choice(NamedTuple):
    """What is chosen, and the workspace to choose again.

    pick, other : (n,) rows of W, constraints first; now, and space for others
    columns : (n,) the row that makes a velocity's coordinate independent, -1 where there is none
    held : (k, 1 + n) choices to be made, the step from which on each holds first
    log, times : (lines, 1 + n), (lines,) changes as they were made, in the same form, and their instants
    counts, sizes : RANK .. STEP; NOW, LIMIT
    E, marks : workspace of an elimination
    last : (n_q,) where a march ended that could not go on
    """

    pick: np.ndarray
    other: np.ndarray
    columns: np.ndarray
    held: np.ndarray
    log: np.ndarray
    times: np.ndarray
    counts: np.ndarray
    sizes: np.ndarray
    E: np.ndarray
    marks: np.ndarray
    last: np.ndarray


@inner
def spread(solver, choice):
    """The measure of a choice, from the factors of W in solver.P."""
    n, rank, P = choice.pick.size, choice.counts[RANK], solver.P
    least, most, largest = np.inf, 0.0, 0.0
    for k in range(n):
        size = abs(P[k * n + k].real)
        least, most = min(least, size), max(most, size)
    for k in range(rank, n):
        for j in range(n):
            solver.x[j] = 0.0
        solver.x[k] = 1.0
        lu_solve(P, solver.pivots_P, solver.x, n)
        for j in range(n):
            largest = max(largest, abs(solver.x[j].real))
    return max(largest, PIVOTS * most / least)


@inner
def _load_rows(work, choice, n, m, named):
    """Rows of Gamma, and after them those of named coordinates, with length one, into choice.E."""
    for i in range(m + named):
        row = i if i < m else choice.pick[choice.counts[RANK] + i - m]
        square = 0.0
        for j in range(n):
            x = work.J[row * n + j].real
            choice.E[i * n + j] = x
            square += x * x
        if square > 0.0:
            for j in range(n):
                choice.E[i * n + j] /= np.sqrt(square)


@inner
def best_rows(mechanism, work, choice):
    """The best choice from the rows in work.J, into choice.other. Returns False where there is none."""
    n, m, rank = choice.pick.size, mechanism.n_constraints, choice.counts[RANK]
    named = n - rank if choice.counts[NAMED] else 0
    _load_rows(work, choice, n, m, named)
    if not _eliminate(choice, n, m, named):
        return False
    marks, at = choice.marks, 0
    for i in range(m):
        if marks[i]:
            choice.other[at] = i
            at += 1
    for j in range(n):
        if named:
            if j >= rank:
                choice.other[j] = choice.pick[j]
        elif not marks[m + j]:
            choice.other[at] = choice.columns[j]
            at += 1
    return True


@inner
def _eliminate(choice, n, m, named):
    """Elimination with full pivoting of the rows in choice.E; choice.marks: 1 for rows, then columns, of pivots. Rows
    of named coordinates come first, then columns of balls. Returns False where a pivot is missing."""
    E, marks, columns, rank = choice.E, choice.marks, choice.columns, choice.counts[RANK]
    balls = 0
    for i in range(m + named):
        marks[i] = 0
    for j in range(n):
        marks[m + named + j] = 0
        if columns[j] < 0 and not named:
            balls += 1
    for p in range(named + rank):
        best, row, column = 0.0, -1, -1
        for i in range(m + named):
            if marks[i] or (i != m + p if p < named else i >= m):
                continue
            for j in range(n):
                if marks[m + named + j] or (balls > 0 and columns[j] >= 0):
                    continue
                if abs(E[i * n + j]) > best:
                    best, row, column = abs(E[i * n + j]), i, j
        if not best > NO_PIVOT:
            return False
        marks[row], marks[m + named + column] = 1, 1
        if balls > 0:
            balls -= 1
        for i in range(m + named):
            if not marks[i]:
                factor = E[i * n + column] / E[row * n + column]
                for j in range(n):
                    E[i * n + j] -= factor * E[row * n + j]
    return True


@inner
def swap(choice):
    """Exchange the choice and the other one."""
    for j in range(choice.pick.size):
        choice.pick[j], choice.other[j] = choice.other[j], choice.pick[j]


@inner
def note(choice, t):
    """Note that what is chosen now holds from the next step on, which begins at t."""
    k = choice.counts[NOTED]
    if k < choice.log.shape[0]:
        choice.log[k, 0], choice.times[k] = choice.counts[STEP], t
        for j in range(choice.pick.size):
            choice.log[k, 1 + j] = choice.pick[j]
    choice.counts[NOTED] = k + 1
