"""Many right-hand sides at once: arrays X (n, count) whose columns are vectors; matrices are flat, row by row.

Columns lie side by side: rows go through SIMD registers in full blocks of LANES, what remains number by number. Where
speed matters, let `count` be a multiple (`padded`).
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import LaneType, load, part_addresses, store


def padded(count: int) -> int:
    """The number of columns that fill whole blocks."""
    return -(-count // LANES) * LANES


@intrinsic
def _block(typingctx, X, at):
    """LANES numbers from element `at` on."""
    lanes = LaneType(LANES)

    def codegen(context, builder, signature, args):
        (address,) = part_addresses(context, builder, signature.args[0], args[0], args[1], lanes)
        return builder.load(address, align=8)

    return lanes(X, types.intp), codegen


@intrinsic
def _put_block(typingctx, X, at, block):
    """Store LANES numbers from element `at` on."""

    def codegen(context, builder, signature, args):
        (address,) = part_addresses(context, builder, signature.args[0], args[0], args[1], block)
        builder.store(args[2], address, align=8)
        return context.get_dummy_value()

    return types.void(X, types.intp, block), codegen


@inlined
def put_row(table, row, x):
    """table[row] := x."""
    for j in range(x.size):
        table[row, j] = x[j]


@inlined
def _add_row(out, i, X, j, a):
    """Row i of out += a times row j of X."""
    count = X.shape[1]
    to, at, k = i * count, j * count, 0
    while k + LANES <= count:
        _put_block(out, to + k, _block(out, to + k) + _block(X, at + k) * a)
        k += LANES
    while k < count:
        store(out, to + k, load(out, to + k, 0.0) + load(X, at + k, 0.0) * a)
        k += 1


@inlined
def _scale_row(X, i, a):
    """Row i of X times a."""
    count = X.shape[1]
    to, k = i * count, 0
    while k + LANES <= count:
        _put_block(X, to + k, _block(X, to + k) * a)
        k += LANES
    while k < count:
        store(X, to + k, load(X, to + k, 0.0) * a)
        k += 1


@inner
def _swap_rows(X, i, j):
    for k in range(X.shape[1]):
        X[i, k], X[j, k] = X[j, k], X[i, k]


@inner
def add_product(A, rows, n, X, out, first, factor):
    """out[first:] += factor A X."""
    for i in range(rows):
        for j in range(n):
            a = factor * A[i * n + j]
            if a != 0.0:
                _add_row(out, first + i, X, j, a)


@inner
def add_transposed(A, rows, n, X, first, out, factor):
    """out += factor A^T X[first:]."""
    for i in range(rows):
        for j in range(n):
            a = factor * A[i * n + j]
            if a != 0.0:
                _add_row(out, j, X, first + i, a)


@inner
def solve_columns(A, pivots, X, n):
    """X := A^-1 X from the factors of `lu_factor`."""
    for i in range(n):
        if pivots[i] != i:
            _swap_rows(X, i, pivots[i])
    for i in range(1, n):
        for j in range(i):
            if A[i * n + j] != 0.0:
                _add_row(X, i, X, j, -A[i * n + j])
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if A[i * n + j] != 0.0:
                _add_row(X, i, X, j, -A[i * n + j])
        _scale_row(X, i, 1.0 / A[i * n + i])


@inner
def solve_columns_transposed(A, pivots, X, n):
    """X := A^-T X from the factors of `lu_factor`."""
    for i in range(n):
        _scale_row(X, i, 1.0 / A[i * n + i])
        for j in range(i + 1, n):
            if A[i * n + j] != 0.0:
                _add_row(X, j, X, i, -A[i * n + j])
    for i in range(n - 1, -1, -1):
        for j in range(i):
            if A[i * n + j] != 0.0:
                _add_row(X, j, X, i, -A[i * n + j])
    for i in range(n - 1, -1, -1):
        if pivots[i] != i:
            _swap_rows(X, i, pivots[i])


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
