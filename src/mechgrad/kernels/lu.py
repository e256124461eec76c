"""LU factors of small dense matrices of one sample (float64 or complex128), stored flat, row by row."""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import LaneType, width, zero_of
from mechgrad.kernels.right_hand_sides import load_at, store_at

BY_ROWS = 8  # unknowns, up to which solutions go row by row


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


@inlined
def _forwards(L, b, n):
    """b := L^-1 b, four unknowns at a time: once they are found they leave all others together."""
    k = 0
    while k + 4 <= n:
        at1, at2, at3 = (k + 1) * n + k, (k + 2) * n + k, (k + 3) * n + k
        x0 = b[k]
        x1 = b[k + 1] - L[at1] * x0
        x2 = b[k + 2] - L[at2] * x0 - L[at2 + 1] * x1
        x3 = b[k + 3] - L[at3] * x0 - L[at3 + 1] * x1 - L[at3 + 2] * x2
        b[k + 1], b[k + 2], b[k + 3] = x1, x2, x3
        for i in range(k + 4, n):
            at = i * n + k
            b[i] = b[i] - (L[at] * x0 + L[at + 1] * x1) - (L[at + 2] * x2 + L[at + 3] * x3)
        k += 4
    while k < n:
        for i in range(k + 1, n):
            b[i] -= L[i * n + k] * b[k]
        k += 1


@inlined
def _backwards(U, b, n):
    """b := U^-1 b, four unknowns at a time; quotients of pivots wait for nothing."""
    k = n - 1
    while k >= 3:
        at0, at1, at2 = (k - 3) * n + k, (k - 2) * n + k, (k - 1) * n + k
        x3 = b[k] * (1.0 / U[k * n + k])
        x2 = (b[k - 1] - U[at2] * x3) * (1.0 / U[at2 - 1])
        x1 = (b[k - 2] - U[at1] * x3 - U[at1 - 1] * x2) * (1.0 / U[at1 - 2])
        x0 = (b[k - 3] - U[at0] * x3 - U[at0 - 1] * x2 - U[at0 - 2] * x1) * (1.0 / U[at0 - 3])
        b[k - 3], b[k - 2], b[k - 1], b[k] = x0, x1, x2, x3
        for i in range(k - 3):
            at = i * n + k
            b[i] = b[i] - (U[at] * x3 + U[at - 1] * x2) - (U[at - 2] * x1 + U[at - 3] * x0)
        k -= 4
    while k >= 0:
        b[k] = b[k] * (1.0 / U[k * n + k])
        for i in range(k):
            b[i] -= U[i * n + k] * b[k]
        k -= 1


@inner
def lu_solve(A, pivots, b, n):
    """b := A^-1 b from the factors.

    Small systems go row by row, and the unknown found last comes last, so that one product and one sum are all that an
    unknown waits for.
    """
    for k in range(n):
        row = pivots[k]
        if row != k:
            b[k], b[row] = b[row], b[k]
    if n > BY_ROWS:
        _forwards(A, b, n)
        _backwards(A, b, n)
        return
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
