"""Many right-hand sides at once: arrays X (n, count) whose columns are vectors; matrices are flat, row by row.

Columns lie side by side: rows go through SIMD registers in full blocks of LANES, what remains number by number. Where
speed matters, let `count` be a multiple (`padded`).
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import LaneType, element_address, lane_zero, part_addresses

REFINED = 1e-14  # what is left of a right-hand side, beside its largest entry, when refinement ends


def padded(count: int) -> int:
    """The number of columns that fill whole blocks; a few are better off one by one."""
    return count if count < LANES // 2 else -(-count // LANES) * LANES


@intrinsic
def load_at(typingctx, X, at, scalar):
    """The scalar of the type of `scalar` that begins at element `at`."""
    if not isinstance(scalar, LaneType):
        return X.dtype(X, types.intp, scalar), lambda context, builder, signature, args: context.unpack_value(
            builder, X.dtype, element_address(context, builder, X, args[0], args[1])
        )

    def codegen(context, builder, signature, args):
        (address,) = part_addresses(context, builder, X, args[0], args[1], scalar)
        return builder.load(address, align=8)

    return scalar(X, types.intp, scalar), codegen


@intrinsic
def store_at(typingctx, X, at, value):
    """Put a scalar where it begins at element `at`."""

    def codegen(context, builder, signature, args):
        if isinstance(value, LaneType):
            (address,) = part_addresses(context, builder, X, args[0], args[1], value)
            builder.store(args[2], address, align=8)
        else:
            context.pack_value(builder, X.dtype, args[2], element_address(context, builder, X, args[0], args[1]))
        return context.get_dummy_value()

    return types.void(X, types.intp, value), codegen


@inlined
def put_row(table, row, x):
    """table[row] := x."""
    for j in range(x.size):
        table[row, j] = x[j]


# Each of the following works on one block of columns, or one column, that begins at column k: sums run in a register,
# since adding to memory again and again would wait for it every time.
@inlined
def _add_product(A, rows, n, X, out, first, factor, k, scalar):
    count = X.shape[1]
    for i in range(rows):
        at = (first + i) * count + k
        total = load_at(out, at, scalar)
        for j in range(n):
            total = total + load_at(X, j * count + k, scalar) * (factor * A[i * n + j])
        store_at(out, at, total)


@inlined
def _add_transposed(A, rows, n, X, first, out, factor, k, scalar):
    count = X.shape[1]
    for j in range(n):
        total = load_at(out, j * count + k, scalar)
        for i in range(rows):
            total = total + load_at(X, (first + i) * count + k, scalar) * (factor * A[i * n + j])
        store_at(out, j * count + k, total)


@inlined
def _solve(A, pivots, X, n, k, scalar):
    count = X.shape[1]
    for i in range(n):
        row = pivots[i]
        if row != i:
            x, y = load_at(X, i * count + k, scalar), load_at(X, row * count + k, scalar)
            store_at(X, i * count + k, y)
            store_at(X, row * count + k, x)
    for i in range(1, n):
        total = load_at(X, i * count + k, scalar)
        for j in range(i):
            total = total - load_at(X, j * count + k, scalar) * A[i * n + j]
        store_at(X, i * count + k, total)
    for i in range(n - 1, -1, -1):
        total = load_at(X, i * count + k, scalar)
        for j in range(i + 1, n):
            total = total - load_at(X, j * count + k, scalar) * A[i * n + j]
        store_at(X, i * count + k, total * (1.0 / A[i * n + i]))


@inlined
def _solve_transposed(A, pivots, X, n, k, scalar):
    count = X.shape[1]
    for i in range(n):
        total = load_at(X, i * count + k, scalar)
        for j in range(i):
            total = total - load_at(X, j * count + k, scalar) * A[j * n + i]
        store_at(X, i * count + k, total * (1.0 / A[i * n + i]))
    for i in range(n - 2, -1, -1):
        total = load_at(X, i * count + k, scalar)
        for j in range(i + 1, n):
            total = total - load_at(X, j * count + k, scalar) * A[j * n + i]
        store_at(X, i * count + k, total)
    for i in range(n - 1, -1, -1):
        row = pivots[i]
        if row != i:
            x, y = load_at(X, i * count + k, scalar), load_at(X, row * count + k, scalar)
            store_at(X, i * count + k, y)
            store_at(X, row * count + k, x)


@inner
def add_product(A, rows, n, X, out, first, factor):
    """out[first:] += factor A X."""
    k = 0
    while k + LANES <= X.shape[1]:
        _add_product(A, rows, n, X, out, first, factor, k, lane_zero())
        k += LANES
    while k < X.shape[1]:
        _add_product(A, rows, n, X, out, first, factor, k, 0.0)
        k += 1


# One column alone: rows of the matrix go through registers instead, in the same order of sums.
@inlined
def _add_transposed_alone(A, rows, n, X, first, out, factor, j, scalar):
    total = load_at(out, j, scalar)
    for i in range(rows):
        total = total + load_at(A, i * n + j, scalar) * (factor * X[first + i, 0])
    store_at(out, j, total)


@inlined
def _take_row(A, at, x, X, j, scalar):
    """X[j:] -= x A[at + j:]."""
    store_at(X, j, load_at(X, j, scalar) - load_at(A, at + j, scalar) * x)


@inner
def _take_rows(A, at, x, X, first, last):
    """X[j] -= x A[at + j], first <= j < last, of one column."""
    j = first
    while j + LANES <= last:
        _take_row(A, at, x, X, j, lane_zero())
        j += LANES
    while j < last:
        _take_row(A, at, x, X, j, 0.0)
        j += 1


@inner
def _solve_transposed_alone(A, pivots, X, n):
    for i in range(n):
        X[i, 0] = X[i, 0] * (1.0 / A[i * n + i])
        _take_rows(A, i * n, X[i, 0], X, i + 1, n)
    for i in range(n - 1, 0, -1):
        _take_rows(A, i * n, X[i, 0], X, 0, i)
    for i in range(n - 1, -1, -1):
        row = pivots[i]
        if row != i:
            X[i, 0], X[row, 0] = X[row, 0], X[i, 0]


@inner
def add_transposed(A, rows, n, X, first, out, factor):
    """out += factor A^T X[first:]."""
    k = 0
    if X.shape[1] == 1:
        while k + LANES <= n:
            _add_transposed_alone(A, rows, n, X, first, out, factor, k, lane_zero())
            k += LANES
        while k < n:
            _add_transposed_alone(A, rows, n, X, first, out, factor, k, 0.0)
            k += 1
        return
    while k + LANES <= X.shape[1]:
        _add_transposed(A, rows, n, X, first, out, factor, k, lane_zero())
        k += LANES
    while k < X.shape[1]:
        _add_transposed(A, rows, n, X, first, out, factor, k, 0.0)
        k += 1


@inner
def solve_columns(A, pivots, X, n):
    """X := A^-1 X from the factors of `lu_factor`."""
    k = 0
    while k + LANES <= X.shape[1]:
        _solve(A, pivots, X, n, k, lane_zero())
        k += LANES
    while k < X.shape[1]:
        _solve(A, pivots, X, n, k, 0.0)
        k += 1


@inner
def solve_columns_transposed(A, pivots, X, n):
    """X := A^-T X from the factors of `lu_factor`."""
    if X.shape[1] == 1:
        _solve_transposed_alone(A, pivots, X, n)
        return
    k = 0
    while k + LANES <= X.shape[1]:
        _solve_transposed(A, pivots, X, n, k, lane_zero())
        k += LANES
    while k < X.shape[1]:
        _solve_transposed(A, pivots, X, n, k, 0.0)
        k += 1


@inner
def refined_columns(S, pivots, J, X, n, m, back, passes, c, work):
    """X := S^-1 X or S^-T X for a saddle matrix S with -eps in its last block, without the influence of eps.

    back: None for the first, 1 for the second; branches on None vanish, so that only one is compiled. J: the block
    below (or, transposed, the transpose of the one above); c (m, count), work (n + m, count): workspace.
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
    if back is None:
        solve_columns(S, pivots, X, size)
    if back is not None:
        solve_columns_transposed(S, pivots, X, size)
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
        if worst <= REFINED * most:
            break
        if back is None:
            solve_columns(S, pivots, work, size)
        if back is not None:
            solve_columns_transposed(S, pivots, work, size)
        for i in range(size):
            for k in range(X.shape[1]):
                X[i, k] += work[i, k]
