"""3-vectors and 3x3 matrices as tuples of scalars: they live in registers, whatever the scalar is.

A symmetric matrix is (xx, xy, xz, yy, yz, zz); a general one is its nine entries row by row.
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined
from mechgrad.kernels.lanes import load, store


@inlined
def add(a, b):
    """a + b"""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def sub(a, b):
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scale(s, a):
    """s a"""
    return s * a[0], s * a[1], s * a[2]


@inlined
def dot(a, b):
    """a . b, without conjugation"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def plus_cross(a, d, b):
    """a + d x b, in fused operations."""
    return (a[0] + d[1] * b[2] - d[2] * b[1], a[1] + d[2] * b[0] - d[0] * b[2], a[2] + d[0] * b[1] - d[1] * b[0])


@inlined
def combine(c0, c1, c2, x, y, z):
    """c0 x + c1 y + c2 z: a vector given by its components in the axes x, y, z"""
    return (
        c0 * x[0] + c1 * y[0] + c2 * z[0],
        c0 * x[1] + c1 * y[1] + c2 * z[1],
        c0 * x[2] + c1 * y[2] + c2 * z[2],
    )


@inlined
def sym_mul(S, y):
    """S y for symmetric S = (xx, xy, xz, yy, yz, zz)"""
    return (
        S[0] * y[0] + S[1] * y[1] + S[2] * y[2],
        S[1] * y[0] + S[3] * y[1] + S[4] * y[2],
        S[2] * y[0] + S[4] * y[1] + S[5] * y[2],
    )


@inlined
def mat_mul(D, y):
    """D y for D given row by row"""
    return (
        D[0] * y[0] + D[1] * y[1] + D[2] * y[2],
        D[3] * y[0] + D[4] * y[1] + D[5] * y[2],
        D[6] * y[0] + D[7] * y[1] + D[8] * y[2],
    )


@inlined
def mat_tmul(D, y):
    """D^T y for D given row by row"""
    return (
        D[0] * y[0] + D[3] * y[1] + D[6] * y[2],
        D[1] * y[0] + D[4] * y[1] + D[7] * y[2],
        D[2] * y[0] + D[5] * y[1] + D[8] * y[2],
    )


@inlined
def get3(A, slot, scalar):
    """The vector in slots slot .. slot+2."""
    return load(A, slot, scalar), load(A, slot + 1, scalar), load(A, slot + 2, scalar)


@inlined
def put3(A, slot, x):
    """Store the vector x in slots slot .. slot+2."""
    store(A, slot, x[0])
    store(A, slot + 1, x[1])
    store(A, slot + 2, x[2])


@inlined
def add3(A, slot, x, scalar):
    """Add the vector x to slots slot .. slot+2."""
    put3(A, slot, add(get3(A, slot, scalar), x))


@inlined
def get6(A, slot, scalar):
    """Six scalars from slot on (a symmetric matrix)."""
    return (
        load(A, slot, scalar),
        load(A, slot + 1, scalar),
        load(A, slot + 2, scalar),
        load(A, slot + 3, scalar),
        load(A, slot + 4, scalar),
        load(A, slot + 5, scalar),
    )


@inlined
def get9(A, slot, scalar):
    """Nine scalars from slot on (a matrix, row by row)."""
    return (
        load(A, slot, scalar),
        load(A, slot + 1, scalar),
        load(A, slot + 2, scalar),
        load(A, slot + 3, scalar),
        load(A, slot + 4, scalar),
        load(A, slot + 5, scalar),
        load(A, slot + 6, scalar),
        load(A, slot + 7, scalar),
        load(A, slot + 8, scalar),
    )


@inlined
def zero3(scalar):
    """The zero vector of the kernel's scalar."""
    zero = scalar * 0.0
    return zero, zero, zero


@inlined
def clear(A, slot, count, scalar):
    """Zero `count` slots from `slot` on."""
    zero = scalar * 0.0
    for k in range(count):
        store(A, slot + k, zero)
