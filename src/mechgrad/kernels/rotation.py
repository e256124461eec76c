"""The rotation group in kernels: axes of frames, Euler parameters, and the exponential map with its derivatives.

A frame is its three unit axes x, y, z as columns, R = [x y z], in world components. Euler parameters are a tuple
e = (e0, e1, e2, e3), scalar first, of any non-zero length: R(e) = R(e/|e|). A rotation vector d turns by |d| about
itself.

    R(e) x = x + 2 (e0 c + e_v x c) / e.e,   c = e_v x x               e_v = (e1, e2, e3)
    R(a b) = R(a) R(b),    a b = (a0 b0 - a_v . b_v,  a0 b_v + b0 a_v + a_v x b_v)
    e' = (0, w) e / 2      for the angular velocity w in the axes before the rotation
    Exp(d) = (cos |d|/2,  d sin(|d|/2) / |d|),      R(Exp(d)) = exp([d x])
    d(Exp(d) e) = Exp(d) applied to D dd,           D = (exp([d x]) - 1) / [d x]

All are written once for every scalar but `half_angle` and what uses it, which look at the size of an angle: these take
one sample, real or complex.
"""

from __future__ import annotations

import math

from mechgrad.kernels.elementary import reciprocal, sincos, square_root
from mechgrad.kernels.jit import inlined
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.vec3 import add, combine, cross, dot, scale, sub

SMALL_ANGLE = 1.0e-2  # squared angle (half angle, of Euler parameters) below which series are exact to rounding


@inlined
def get4(A, slot, scalar):
    """The Euler parameters in slots slot .. slot+3."""
    return load(A, slot, scalar), load(A, slot + 1, scalar), load(A, slot + 2, scalar), load(A, slot + 3, scalar)


@inlined
def put4(A, slot, e):
    """Store Euler parameters in slots slot .. slot+3."""
    store(A, slot, e[0])
    store(A, slot + 1, e[1])
    store(A, slot + 2, e[2])
    store(A, slot + 3, e[3])


@inlined
def square(e):
    """e . e"""
    return e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]


@inlined
def no_rotation(e):
    """0, or NaN where Euler parameters are not finite, or all zero: these stand for no rotation."""
    size = square(e)
    inverse = reciprocal(size)
    return (size - size) + (inverse - inverse)


@inlined
def unit(e):
    """e / |e|"""
    f = reciprocal(square_root(square(e)))
    return e[0] * f, e[1] * f, e[2] * f, e[3] * f


@inlined
def product(a, b):
    """a b, of R(a) R(b)."""
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
        a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
    )


@inlined
def pure_product(x, e):
    """(0, x) e: twice the rate of e with the angular velocity x."""
    e0, e1, e2, e3 = e
    return (
        -1.0 * (x[0] * e1 + x[1] * e2 + x[2] * e3),
        e0 * x[0] + x[1] * e3 - x[2] * e2,
        e0 * x[1] + x[2] * e1 - x[0] * e3,
        e0 * x[2] + x[0] * e2 - x[1] * e1,
    )


@inlined
def pure_product_back(y, e):
    """The vector x with x . z = y . ((0, z) e) for every z: the transpose of `pure_product` in its vector."""
    return add(sub(scale(e[0], y[1:]), scale(y[0], e[1:])), cross(e[1:], y[1:]))


@inlined
def rotated(e, x, way):
    """R(e) x (way 1.0), or R(e)^T x (way -1.0)."""
    c = cross(e[1:], x)
    return add(x, scale(2.0 * reciprocal(square(e)), add(scale(way * e[0], c), cross(e[1:], c))))


@inlined
def turn_z(sine, cosine, x, y):
    """Axes x, y after a turn about z by the angle with this sine and cosine: R <- R Rz(angle)."""
    return add(scale(cosine, x), scale(sine, y)), sub(scale(cosine, y), scale(sine, x))


@inlined
def turn_quaternion(e, x, y, z):
    """Axes after R <- R R(e).

    Dividing by e.e instead of normalising makes the partial derivative along e vanish off the unit sphere too, which
    tangents and complex steps rely on.
    """
    e0, e1, e2, e3 = e
    s = 2.0 * reciprocal(square(e))
    s1, s2, s3 = s * e1, s * e2, s * e3
    xx, yy, zz = s1 * e1, s2 * e2, s3 * e3
    xy, xz, yz = s1 * e2, s1 * e3, s2 * e3
    wx, wy, wz = s1 * e0, s2 * e0, s3 * e0
    return (
        combine(1.0 - (yy + zz), xy + wz, xz - wy, x, y, z),
        combine(xy - wz, 1.0 - (xx + zz), yz + wx, x, y, z),
        combine(xz + wy, yz - wx, 1.0 - (xx + yy), x, y, z),
    )


@inlined
def half_angle(size):
    """cos(x / 2) and sin(x / 2) / x of an angle x with this square; a series where the angle is small."""
    u = size * 0.25
    if abs(u) < SMALL_ANGLE:
        cosine = 1.0 - u * (1.0 / 2 - u * (1.0 / 24 - u * (1.0 / 720 - u * (1.0 / 40320 - u / 3628800.0))))
        sine = 1.0 - u * (1.0 / 6 - u * (1.0 / 120 - u * (1.0 / 5040 - u * (1.0 / 362880 - u / 39916800.0))))
        return cosine, 0.5 * sine
    angle = square_root(u)
    s, c = sincos(angle)
    return c, 0.5 * s * reciprocal(angle)


@inlined
def exponential(d):
    """Exp(d), the Euler parameters of a rotation vector; of one sample."""
    c, s = half_angle(dot(d, d))
    return c, s * d[0], s * d[1], s * d[2]


@inlined
def angle_factors(size):
    """sin x / x, (1 - cos x) / x^2 and (x - sin x) / x^3 of an angle x with this square; of one real sample."""
    if size < SMALL_ANGLE:
        u = size
        a = 1.0 - u / 6.0 * (1.0 - u / 20.0 * (1.0 - u / 42.0 * (1.0 - u / 72.0)))
        b = 0.5 - u / 24.0 * (1.0 - u / 30.0 * (1.0 - u / 56.0 * (1.0 - u / 90.0)))
        c = 1.0 / 6.0 - u / 120.0 * (1.0 - u / 42.0 * (1.0 - u / 72.0 * (1.0 - u / 110.0)))
        return a, b, c
    x = math.sqrt(size)
    return math.sin(x) / x, (1.0 - math.cos(x)) / size, (x - math.sin(x)) / (size * x)


@inlined
def cross_polynomial(d, first, second, x):
    """x + first d x x + second d x (d x x): exp([d x]) x with the first two of `angle_factors`, D x with the last
    two, and their transposes with -first."""
    c = cross(d, x)
    return add(add(x, scale(first, c)), scale(second, cross(d, c)))
