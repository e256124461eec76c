"""Many right-hand sides at once, the columns of X (N, count), for the factors of `kernels.sparse_lu`; and products with
matrices that are given by entries. Columns go through registers as in `kernels.right_hand_sides`."""

from __future__ import annotations

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import lane_zero
from mechgrad.kernels.right_hand_sides import load_at, store_at


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
