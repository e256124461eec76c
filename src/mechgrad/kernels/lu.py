"""LU factors of small dense matrices of one sample (float64 or complex128), stored flat, row by row."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import LaneType, width, zero_of
from mechgrad.kernels.right_hand_sides import load_at, store_at

BY_ROWS = 20  # unknowns, up to which solutions go row by row


@intrinsic
def _wide(typingctx, array):
    """Zero of the widest scalar that an array holds: lanes of real numbers, one of others."""
    return _zero_beside(array, LANES)


@intrinsic
def _half_wide(typingctx, array):
    """The same, of half the width."""
    return _zero_beside(array, max(LANES // 2, 1))


def _zero_beside(array, n):
    if array.dtype == types.float64:
        result, code = zero_of(LaneType(n))
        return result.return_type(array), code
    number = array.dtype
    return number(array), lambda context, builder, signature, args: context.get_constant_generic(builder, number, 0)


@inlined
def _subtract(A, at, factor, other, count):
    """A[at ..] -= factor A[other ..], `count` numbers, most of them in registers of several."""
    j, wide, half = 0, _wide(A), _half_wide(A)
    while j + width(wide) <= count:
        store_at(A, at + j, load_at(A, at + j, wide) - load_at(A, other + j, wide) * factor)
        j += width(wide)
    while j + width(half) <= count:
        store_at(A, at + j, load_at(A, at + j, half) - load_at(A, other + j, half) * factor)
        j += width(half)
    while j < count:
        A[at + j] -= factor * A[other + j]
        j += 1


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
                _subtract(A, i * n + k + 1, factor, k * n + k + 1, n - k - 1)
    return True


@inner
def lu_solve(A, pivots, b, n):
    """b := A^-1 b from the factors.

    Small systems go row by row, and the unknown found last comes last, so that one product and one sum are all that an
    unknown waits for; large ones column by column: what is found leaves all others at once. Quotients wait for nothing.
    """
    for k in range(n):
        row = pivots[k]
        if row != k:
            b[k], b[row] = b[row], b[k]
    if n <= BY_ROWS:
        for k in range(1, n):
            x, at = b[k], k * n
            for j in range(k):
                x -= A[at + j] * b[j]
            b[k] = x
        for k in range(n - 1, -1, -1):
            x, at = b[k], k * n
            inverse = 1.0 / A[at + k]
            for j in range(n - 1, k, -1):
                x -= A[at + j] * b[j]
            b[k] = x * inverse
        return
    for k in range(n - 1):
        x = b[k]
        for i in range(k + 1, n):
            b[i] -= A[i * n + k] * x
    for k in range(n - 1, -1, -1):
        x = b[k] * (1.0 / A[k * n + k])
        b[k] = x
        for i in range(k):
            b[i] -= A[i * n + k] * x


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
