"""LU factors of small dense matrices of one sample (float64 or complex128), stored flat, row by row."""

from __future__ import annotations

from mechgrad.kernels.jit import inner


@inner
def lu_factor(A, pivots, n):
    """A = P L U in place, partial pivoting. Returns False where a pivot is zero or not a number."""
    for k in range(n):
        best, row = -1.0, k
        for i in range(k, n):
            size = abs(A[i * n + k])
            if size > best:
                best, row = size, i
        pivots[k] = row
        if not best > 0.0:
            return False
        if row != k:
            for j in range(n):
                A[k * n + j], A[row * n + j] = A[row * n + j], A[k * n + j]
        inverse = 1.0 / A[k * n + k]
        for i in range(k + 1, n):
            factor = A[i * n + k] * inverse
            A[i * n + k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i * n + j] -= factor * A[k * n + j]
    return True


@inner
def _dot(A, at, b, first, last):
    """sum of A[at + j] b[j], j = first .. last - 1, in four running sums: one would wait for itself."""
    s0, s1, s2, s3 = 0.0 * b[0], 0.0 * b[0], 0.0 * b[0], 0.0 * b[0]
    j = first
    while j + 3 < last:
        s0 += A[at + j] * b[j]
        s1 += A[at + j + 1] * b[j + 1]
        s2 += A[at + j + 2] * b[j + 2]
        s3 += A[at + j + 3] * b[j + 3]
        j += 4
    while j < last:
        s0 += A[at + j] * b[j]
        j += 1
    return (s0 + s1) + (s2 + s3)


@inner
def lu_solve(A, pivots, b, n):
    """b := A^-1 b from the factors."""
    for k in range(n):
        row = pivots[k]
        if row != k:
            b[k], b[row] = b[row], b[k]
    for k in range(1, n):
        b[k] = b[k] - _dot(A, k * n, b, 0, k)
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - _dot(A, k * n, b, k + 1, n)) / A[k * n + k]


@inner
def lu_solve_transposed(A, pivots, b, n):
    """b := A^-T b from the factors."""
    for k in range(n):
        x = b[k] / A[k * n + k]
        b[k] = x
        for j in range(k + 1, n):
            b[j] -= A[k * n + j] * x
    for k in range(n - 1, -1, -1):
        x = b[k]
        for j in range(k):
            b[j] -= A[k * n + j] * x
    for k in range(n - 1, -1, -1):
        row = pivots[k]
        if row != k:
            b[k], b[row] = b[row], b[k]
