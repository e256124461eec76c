"""Many right-hand sides at once: arrays X (n, count) whose columns are vectors; matrices are flat, row by row.

The innermost loop runs over columns, which lie side by side: SIMD registers fill up as soon as there are a few.
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined, inner


@inlined
def put_row(table, row, x):
    """table[row] := x."""
    for j in range(x.size):
        table[row, j] = x[j]


@inner
def add_product(A, rows, n, X, out, first, factor):
    """out[first:] += factor A X."""
    for i in range(rows):
        for j in range(n):
            a = factor * A[i * n + j]
            if a != 0.0:
                for k in range(X.shape[1]):
                    out[first + i, k] += a * X[j, k]


@inner
def add_transposed(A, rows, n, X, first, out, factor):
    """out += factor A^T X[first:]."""
    for i in range(rows):
        for j in range(n):
            a = factor * A[i * n + j]
            if a != 0.0:
                for k in range(X.shape[1]):
                    out[j, k] += a * X[first + i, k]


@inner
def solve_columns(A, pivots, X, n):
    """X := A^-1 X from the factors of `lu_factor`."""
    for i in range(n):
        row = pivots[i]
        if row != i:
            for k in range(X.shape[1]):
                X[i, k], X[row, k] = X[row, k], X[i, k]
    for i in range(1, n):
        for j in range(i):
            a = A[i * n + j]
            if a != 0.0:
                for k in range(X.shape[1]):
                    X[i, k] -= a * X[j, k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            a = A[i * n + j]
            if a != 0.0:
                for k in range(X.shape[1]):
                    X[i, k] -= a * X[j, k]
        inverse = 1.0 / A[i * n + i]
        for k in range(X.shape[1]):
            X[i, k] *= inverse


@inner
def solve_columns_transposed(A, pivots, X, n):
    """X := A^-T X from the factors of `lu_factor`."""
    for i in range(n):
        inverse = 1.0 / A[i * n + i]
        for k in range(X.shape[1]):
            X[i, k] *= inverse
        for j in range(i + 1, n):
            a = A[i * n + j]
            if a != 0.0:
                for k in range(X.shape[1]):
                    X[j, k] -= a * X[i, k]
    for i in range(n - 1, -1, -1):
        for j in range(i):
            a = A[i * n + j]
            if a != 0.0:
                for k in range(X.shape[1]):
                    X[j, k] -= a * X[i, k]
    for i in range(n - 1, -1, -1):
        row = pivots[i]
        if row != i:
            for k in range(X.shape[1]):
                X[i, k], X[row, k] = X[row, k], X[i, k]


@inner
def refined_columns(S, pivots, J, X, n, m, transposed, passes, c, work):
    """X := S^-1 X (or S^-T X) for a saddle matrix S with -eps in its last block, without the influence of eps.

    J: the block below (or, transposed, the transpose of the one above); c (m, count), work (n + m, count): room.
    """
    size = n + m
    most = 0.0
    if passes:
        for i in range(m):
            for k in range(X.shape[1]):
                c[i, k] = X[n + i, k]
        for i in range(size):
            for k in range(X.shape[1]):
                most = max(most, abs(X[i, k]))
    if transposed:
        solve_columns_transposed(S, pivots, X, size)
    else:
        solve_columns(S, pivots, X, size)
    for _ in range(passes):
        worst = 0.0
        for i in range(n):
            for k in range(X.shape[1]):
                work[i, k] = 0.0
        for i in range(m):
            for k in range(X.shape[1]):
                work[n + i, k] = c[i, k]
        add_product(J, m, n, X, work, n, -1.0)
        for i in range(m):
            for k in range(X.shape[1]):
                worst = max(worst, abs(work[n + i, k]))
        if worst <= 1e-14 * most:
            break
        if transposed:
            solve_columns_transposed(S, pivots, work, size)
        else:
            solve_columns(S, pivots, work, size)
        for i in range(size):
            for k in range(X.shape[1]):
                X[i, k] += work[i, k]
