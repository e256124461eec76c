"""LU factors of sparse matrices of one sample, whose pattern and order were found beforehand (`dynamics.elimination`).

The pattern is symmetric, pivots stay on the diagonal. Eliminating unknown i = order[p] changes its neighbours later[..]
that are eliminated after it, and nothing else:

    A_ab -= A_ai A_ib / A_ii        for all neighbours a, b;   A_ab stands in slot target[..], one after the other

Slots of a matrix S: the diagonal by places p, the rows of U, the columns of L, the inverses of pivots; then, once more,
diagonal, rows and columns as they were before. From these the backward error of every solution is taken,

    max_i |b - A x|_i / (|A| |x| + |b|)_i,

which pivots on the diagonal do not bound beforehand: solutions are refined by it, and where that does not help `lost`
counts them. Whoever called then takes factors with pivoting (`kernels.lu`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import lane_zero
from mechgrad.kernels.right_hand_sides import load_at, store_at

ENOUGH, LOST = 1e-13, 1e-9  # backward errors that need no refinement, and that count as lost after
REFINED = 4  # at most so often


class Elimination(NamedTuple):
    """In which order N unknowns are eliminated, and what that changes."""

    order: np.ndarray  # (N,) unknowns in the order of their elimination
    start: np.ndarray  # (N + 1,) where the neighbours of each begin
    later: np.ndarray  # (E,) unknowns that are eliminated after it
    target: np.ndarray  # slots that its elimination changes, row by row of its neighbours


class Refinement(NamedTuple):
    """Workspace of solutions of one matrix at a time."""

    given: np.ndarray  # (N,) right-hand side, what is left of it, and the size of the terms it is made of
    rest: np.ndarray
    size: np.ndarray
    lost: np.ndarray  # (2,) solutions without enough digits, and repetitions


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


@inner
def _backward_error(lu, S, x, refinement):
    """What x leaves of the right-hand side, into refinement.rest, and its largest share of the terms it is made of."""
    order, start, later = lu.order, lu.start, lu.later
    given, rest, size = refinement.given, refinement.rest, refinement.size
    unknowns, entries = order.size, later.size
    kept = 2 * (unknowns + entries)
    upper, lower = kept + unknowns, kept + unknowns + entries
    for i in range(unknowns):
        rest[i], size[i] = given[i], abs(given[i])
    for p in range(unknowns):
        i = order[p]
        here = S[kept + p] * x[i]
        left, terms = rest[i] - here, abs(size[i]) + abs(here)
        for a in range(start[p], start[p + 1]):
            j = later[a]
            there, here = S[lower + a] * x[i], S[upper + a] * x[j]
            left, terms = left - here, terms + abs(here)
            rest[j] -= there
            size[j] += abs(there)
        rest[i], size[i] = left, terms
    worst = 0.0
    for i in range(unknowns):
        left, terms = abs(rest[i]), abs(size[i])
        if not left <= worst * terms:
            worst = left / terms
    return worst


@inner
def sparse_solve(lu, S, x, refinement):
    """x := A^-1 x, refined; counts in refinement.lost[0] where too few digits are left."""
    given, rest, lost = refinement.given, refinement.rest, refinement.lost
    for i in range(x.size):
        given[i] = x[i]
    sparse_substitute(lu, S, x)
    worst = _backward_error(lu, S, x, refinement)
    passes = 0
    while worst > ENOUGH and passes < REFINED:
        sparse_substitute(lu, S, rest)
        for i in range(x.size):
            x[i] += rest[i]
        passes += 1
        worst = _backward_error(lu, S, x, refinement)
    lost[1] += passes
    if not worst <= LOST:
        lost[0] += 1


# ---- many right-hand sides, the columns of X (N, count), as in `kernels.right_hand_sides`


@inlined
def _substitute(lu, S, X, k, scalar):
    order, start, later = lu.order, lu.start, lu.later
    unknowns, entries, count = order.size, later.size, X.shape[1]
    upper, lower = unknowns, unknowns + entries
    inverses = lower + entries
    for p in range(unknowns):
        value = load_at(X, order[p] * count + k, scalar)
        for a in range(start[p], start[p + 1]):
            at = later[a] * count + k
            store_at(X, at, load_at(X, at, scalar) - value * S[lower + a])
    for p in range(unknowns - 1, -1, -1):
        at = order[p] * count + k
        value = load_at(X, at, scalar)
        for a in range(start[p], start[p + 1]):
            value = value - load_at(X, later[a] * count + k, scalar) * S[upper + a]
        store_at(X, at, value * S[inverses + p])


@inlined
def _substitute_transposed(lu, S, X, k, scalar):
    order, start, later = lu.order, lu.start, lu.later
    unknowns, entries, count = order.size, later.size, X.shape[1]
    upper, lower = unknowns, unknowns + entries
    inverses = lower + entries
    for p in range(unknowns):
        at = order[p] * count + k
        value = load_at(X, at, scalar) * S[inverses + p]
        store_at(X, at, value)
        for a in range(start[p], start[p + 1]):
            at = later[a] * count + k
            store_at(X, at, load_at(X, at, scalar) - value * S[upper + a])
    for p in range(unknowns - 1, -1, -1):
        at = order[p] * count + k
        value = load_at(X, at, scalar)
        for a in range(start[p], start[p + 1]):
            value = value - load_at(X, later[a] * count + k, scalar) * S[lower + a]
        store_at(X, at, value)


@inlined
def _take_product(lu, S, back, X, out, k, scalar):
    """out -= A X, or A^T X where `back` is not 0."""
    order, start, later = lu.order, lu.start, lu.later
    unknowns, entries, count = order.size, later.size, X.shape[1]
    kept = 2 * (unknowns + entries)
    upper, lower = kept + unknowns, kept + unknowns + entries
    if back:
        upper, lower = lower, upper
    for p in range(unknowns):
        at = order[p] * count + k
        x = load_at(X, at, scalar)
        left = load_at(out, at, scalar) - x * S[kept + p]
        for a in range(start[p], start[p + 1]):
            there = later[a] * count + k
            left = left - load_at(X, there, scalar) * S[upper + a]
            store_at(out, there, load_at(out, there, scalar) - x * S[lower + a])
        store_at(out, at, left)


@inner
def sparse_substitute_columns(lu, S, X, back):
    """X := A^-1 X, or A^-T X where `back` is not 0."""
    k = 0
    while k + LANES <= X.shape[1]:
        if back:
            _substitute_transposed(lu, S, X, k, lane_zero())
        else:
            _substitute(lu, S, X, k, lane_zero())
        k += LANES
    while k < X.shape[1]:
        if back:
            _substitute_transposed(lu, S, X, k, 0.0)
        else:
            _substitute(lu, S, X, k, 0.0)
        k += 1


@inner
def sparse_solve_columns(lu, S, X, back, passes, given, rest):
    """`sparse_substitute_columns`, refined `passes` times; given, rest: arrays of the shape of X."""
    for i in range(X.shape[0] if passes else 0):
        for k in range(X.shape[1]):
            given[i, k] = X[i, k]
    sparse_substitute_columns(lu, S, X, back)
    for _ in range(passes):
        for i in range(X.shape[0]):
            for k in range(X.shape[1]):
                rest[i, k] = given[i, k]
        k = 0
        while k + LANES <= X.shape[1]:
            _take_product(lu, S, back, X, rest, k, lane_zero())
            k += LANES
        while k < X.shape[1]:
            _take_product(lu, S, back, X, rest, k, 0.0)
            k += 1
        sparse_substitute_columns(lu, S, rest, back)
        for i in range(X.shape[0]):
            for k in range(X.shape[1]):
                X[i, k] += rest[i, k]


@inner
def passes_needed(lu, S, x, refinement):
    """How often solutions with these factors are to be refined, by that of a right-hand side of ones."""
    before = refinement.lost[1]
    for i in range(x.size):
        x[i] = 1.0
    sparse_solve(lu, S, x, refinement)
    return refinement.lost[1] - before


@inlined
def _add_entries(A, rows, first_row, cols, first_col, X, out, factor, k, scalar):
    count = X.shape[1]
    for e in range(A.size):
        at = (first_row + rows[e]) * count + k
        x = load_at(X, (first_col + cols[e]) * count + k, scalar)
        store_at(out, at, load_at(out, at, scalar) + x * (factor * A[e]))


@inner
def add_entries(A, rows, first_row, cols, first_col, X, out, factor):
    """out[first_row:] += factor A X[first_col:] for a matrix of entries A at (rows, cols)."""
    k = 0
    while k + LANES <= X.shape[1]:
        _add_entries(A, rows, first_row, cols, first_col, X, out, factor, k, lane_zero())
        k += LANES
    while k < X.shape[1]:
        _add_entries(A, rows, first_row, cols, first_col, X, out, factor, k, 0.0)
        k += 1
