"""Factors of symmetric matrices with the pattern of a tree, sample by sample."""

from __future__ import annotations

from mechgrad.kernels.elementary import reciprocal
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load, store, where_less

# A symmetric matrix whose entry (i, j) vanishes unless one of i, j is an ancestor of the other is stored by chains:
# row j holds (j, j), (j, parent j), (j, grandparent j), ... from start[j] on. Its factors L^T D L have no fill-in.
PIVOT_TOLERANCE = 1.0e-13  # a smaller pivot, relative to its diagonal entry, has lost all its digits


@inlined
def ancestors(parent, k):
    """How many k has."""
    count, i = 0, parent[k]
    while i >= 0:
        count, i = count + 1, parent[i]
    return count


@inner
def tree_factor(M, start, parent, diagonal, scalar):
    """M = L^T D L in place, L unit lower triangular; returns 1 in samples where M is singular. `diagonal`: n slots
    of scratch.

    The pivots are the inertia that a joint moves with all joints beyond it free; one of them vanishes if M is singular.
    """
    one = 1.0 + 0.0 * scalar
    failed = 0.0 * scalar
    n = parent.size
    for k in range(n):
        store(diagonal, k, PIVOT_TOLERANCE * load(M, start[k], scalar))
    for k in range(n - 1, -1, -1):
        failed = where_less(load(diagonal, k, scalar), load(M, start[k], scalar), failed, one)
        inverse = reciprocal(load(M, start[k], scalar))
        i, ki = parent[k], start[k] + 1
        for left in range(ancestors(parent, k), 0, -1):
            factor, row = load(M, ki, scalar) * inverse, start[i]
            for e in range(left):
                store(M, row + e, load(M, row + e, scalar) - factor * load(M, ki + e, scalar))
            store(M, ki, factor)
            i = parent[i]
            ki += 1
    return failed


@inner
def tree_solve(M, start, parent, x, m, scalar):
    """Solve L^T D L Y = X in place with the factors of `tree_factor`; X is (n, m) in slots, row by row."""
    n = parent.size
    for k in range(n - 1, -1, -1):
        i, ki = parent[k], start[k] + 1
        while i >= 0:
            factor = load(M, ki, scalar)
            for c in range(m):
                store(x, i * m + c, load(x, i * m + c, scalar) - factor * load(x, k * m + c, scalar))
            i = parent[i]
            ki += 1
    for k in range(n):
        inverse = reciprocal(load(M, start[k], scalar))
        for c in range(m):
            store(x, k * m + c, load(x, k * m + c, scalar) * inverse)
        i, ki = parent[k], start[k] + 1
        while i >= 0:
            factor = load(M, ki, scalar)
            for c in range(m):
                store(x, k * m + c, load(x, k * m + c, scalar) - factor * load(x, i * m + c, scalar))
            i = parent[i]
            ki += 1
