"""LU factors of sparse matrices of one sample, whose pattern and order were found beforehand (`dynamics.elimination`).

The pattern is symmetric, pivots stay on the diagonal. Eliminating unknown i = order[p] changes its neighbours later[..]
that are eliminated after it, and nothing else:

    A_ab -= A_ai A_ib / A_ii        for all neighbours a, b;   A_ab stands in slot target[..], one after the other

Slots of a matrix S: the diagonal by places p, the rows of U, the columns of L, the inverses of pivots; then, once more,
diagonal, rows and columns as they were before, for `kernels.sparse_refinement`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import inner


class Elimination(NamedTuple):
    """In which order N unknowns are eliminated, and what that changes."""

    order: np.ndarray  # (N,) unknowns in the order of their elimination
    start: np.ndarray  # (N + 1,) where the neighbours of each begin
    later: np.ndarray  # (E,) unknowns that are eliminated after it
    target: np.ndarray  # slots that its elimination changes, row by row of its neighbours


def slot_count(elimination):
    """Slots of a matrix: factors, inverses, and the matrix as it was."""
    unknowns, entries = elimination.order.size, elimination.later.size
    return 3 * unknowns + 4 * entries


@inner
def sparse_factor(lu, S):
    """Factors of the matrix in the first slots of S. Returns False where a pivot is zero or not a number."""
    order, start, target = lu.order, lu.start, lu.target
    unknowns, entries = order.size, lu.later.size
    upper, lower = unknowns, unknowns + entries
    inverses = lower + entries
    kept = inverses + unknowns
    for k in range(inverses):
        S[kept + k] = S[k]
    t = 0
    for p in range(unknowns):
        if not abs(S[p]) > 0.0:
            return False
        inverse = 1.0 / S[p]
        S[inverses + p] = inverse
        first, last = start[p], start[p + 1]
        for a in range(first, last):
            factor = S[lower + a] * inverse
            S[lower + a] = factor
            for b in range(first, last):
                S[target[t]] -= factor * S[upper + b]
                t += 1
    return True


@inner
def sparse_substitute(lu, S, x):
    """x := A^-1 x from the factors."""
    order, start, later = lu.order, lu.start, lu.later
    unknowns, entries = order.size, later.size
    upper, lower = unknowns, unknowns + entries
    inverses = lower + entries
    for p in range(unknowns):
        value = x[order[p]]
        for a in range(start[p], start[p + 1]):
            x[later[a]] -= S[lower + a] * value
    for p in range(unknowns - 1, -1, -1):
        value = x[order[p]]
        for a in range(start[p], start[p + 1]):
            value = value - S[upper + a] * x[later[a]]
        x[order[p]] = value * S[inverses + p]
