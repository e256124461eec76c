"""Small linear systems, sample by sample: Gaussian elimination, and factors of matrices with the pattern of a
tree."""

from __future__ import annotations

from mechgrad.kernels.elementary import magnitude, reciprocal
from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import load, store, where_less


@inner
def solve_dense(A, B, n, m, like):
    """Solve A X = B in place: A is (n, n) and is destroyed, B is (n, m) and becomes X; both slot arrays, row by row.

    Partial pivoting: in lanes every sample picks its own pivot row, by conditional exchanges instead of indices.
    A singular matrix gives infinities or NaN in that sample only.
    """
    for k in range(n):
        for i in range(k + 1, n):
            top, low = magnitude(load(A, k * n + k, like)), magnitude(load(A, i * n + k, like))
            for j in range(k, n):
                a, b = load(A, k * n + j, like), load(A, i * n + j, like)
                store(A, k * n + j, where_less(top, low, b, a))
                store(A, i * n + j, where_less(top, low, a, b))
            for j in range(m):
                a, b = load(B, k * m + j, like), load(B, i * m + j, like)
                store(B, k * m + j, where_less(top, low, b, a))
                store(B, i * m + j, where_less(top, low, a, b))
        inverse = reciprocal(load(A, k * n + k, like))
        for i in range(k + 1, n):
            factor = load(A, i * n + k, like) * inverse
            for j in range(k + 1, n):
                store(A, i * n + j, load(A, i * n + j, like) - factor * load(A, k * n + j, like))
            for j in range(m):
                store(B, i * m + j, load(B, i * m + j, like) - factor * load(B, k * m + j, like))
    for k in range(n - 1, -1, -1):
        inverse = reciprocal(load(A, k * n + k, like))
        for j in range(m):
            x = load(B, k * m + j, like)
            for i in range(k + 1, n):
                x = x - load(A, k * n + i, like) * load(B, i * m + j, like)
            store(B, k * m + j, x * inverse)


# A symmetric matrix whose entry (i, j) vanishes unless one of i, j is an ancestor of the other is stored by chains:
# row j holds (j, j), (j, parent j), (j, grandparent j), ... from start[j] on. Its factors L^T D L have no fill-in.
PIVOT_TOLERANCE = 1.0e-13  # a smaller pivot, relative to its diagonal entry, has lost all its digits


@inner
def tree_factor(M, start, parent, diagonal, like):
    """M = L^T D L in place, L unit lower triangular; returns 1 in samples where M is singular. `diagonal`: n slots
    of scratch.

    The pivots are the inertia a joint feels with all joints beyond it free; one of them vanishes when M is singular.
    """
    one = 1.0 + 0.0 * like
    failed = 0.0 * like
    n = parent.size
    for k in range(n):
        store(diagonal, k, PIVOT_TOLERANCE * load(M, start[k], like))
    for k in range(n - 1, -1, -1):
        failed = where_less(load(diagonal, k, like), load(M, start[k], like), failed, one)
        inverse = reciprocal(load(M, start[k], like))
        i, ki = parent[k], start[k] + 1
        while i >= 0:
            factor = load(M, ki, like) * inverse
            j, kj, ij = i, ki, start[i]
            while j >= 0:
                store(M, ij, load(M, ij, like) - factor * load(M, kj, like))
                j = parent[j]
                kj += 1
                ij += 1
            store(M, ki, factor)
            i = parent[i]
            ki += 1
    return failed


@inner
def tree_solve(M, start, parent, x, m, like):
    """Solve L^T D L Y = X in place with the factors of `tree_factor`; X is (n, m) in slots, row by row."""
    n = parent.size
    for k in range(n - 1, -1, -1):
        i, ki = parent[k], start[k] + 1
        while i >= 0:
            factor = load(M, ki, like)
            for c in range(m):
                store(x, i * m + c, load(x, i * m + c, like) - factor * load(x, k * m + c, like))
            i = parent[i]
            ki += 1
    for k in range(n):
        inverse = reciprocal(load(M, start[k], like))
        for c in range(m):
            store(x, k * m + c, load(x, k * m + c, like) * inverse)
        i, ki = parent[k], start[k] + 1
        while i >= 0:
            factor = load(M, ki, like)
            for c in range(m):
                store(x, k * m + c, load(x, k * m + c, like) - factor * load(x, i * m + c, like))
            i = parent[i]
            ki += 1
