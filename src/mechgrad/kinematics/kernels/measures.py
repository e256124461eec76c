"""Gradients of rows by their markers, and how these gradients vary when the markers move.

For a holonomic row g(x0 .. x3) of points and directions:

    gradient:   value and g_m = dg/dx_m              variation:   dg_m = sum_n g_mn dx_n

PROFILE rows also read their function, `along`: p, p', p'' where the point is.

With dx = xdot the variation is the rate of the gradient, with dx a column of a Jacobian it is a column of the row's
curvature. Velocity-level rows act along e at a point c (`model.primitives.rows`): `contact` gives (c, e),
`contact_variation` their changes.
"""

from __future__ import annotations

import math

from mechgrad.kernels.elementary import angle_of, reciprocal, sincos, square_root
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import extract, insert, width
from mechgrad.kernels.vec3 import add, cross, dot, scale, sub, zero3
from mechgrad.kinematics.kernels.header import function_pieces, piece_at, row_int
from mechgrad.model.mechanism import CUBIC, P_COEFFICIENT, P_KIND, P_START, R_FIRST
from mechgrad.model.primitives.rows import (
    ADVANCE,
    ANGLE,
    CIRCLE,
    DISTANCE,
    DOT,
    LINEAR,
    PLANE,
    POINT,
    PROFILE,
    ROLL_ACROSS,
    SKEW,
    SLIP,
)


@inlined
def attachments_of_kind(kind):
    """How many attachments a row has: markers that it acts on, or the two bodies in contact."""
    if kind == LINEAR:
        return 0
    if kind in (PLANE, ANGLE):
        return 3
    return 4 if kind in (SKEW, CIRCLE, PROFILE) else 2


@inner
def profile(ints, numbers, k, kind, x1, x2, x3, scalar):
    """p, p', p'' of a PROFILE row k where its point is; nothing of other kinds."""
    nothing = scalar * 0.0
    if kind != PROFILE:
        return nothing, nothing, nothing
    return evaluate(ints, numbers, row_int(ints, k, R_FIRST), dot(x1, sub(x2, x3)), scalar)


@inner
def gradient(kind, radius, e, x0, x1, x2, x3, along, scalar):
    """Value and g_0 .. g_3 of a holonomic row; e is its world direction."""
    zero = zero3(scalar)
    if kind == POINT:
        return dot(e, sub(x0, x1)), e, scale(-1.0, e), zero, zero
    if kind == DOT:
        return dot(x0, x1), x1, x0, zero, zero
    if kind == PLANE:
        d = sub(x1, x2)
        return dot(x0, d), d, x0, scale(-1.0, x0), zero
    if kind == DISTANCE:
        d = sub(x0, x1)
        length = square_root(dot(d, d))
        u = scale(reciprocal(length), d)
        return length, u, scale(-1.0, u), zero, zero
    if kind == ANGLE:
        normal = cross(x0, x1)
        s, c = dot(x2, normal), dot(x0, x1)
        size = reciprocal(s * s + c * c)
        g0 = scale(size, sub(scale(c, cross(x1, x2)), scale(s, x1)))
        g1 = scale(size, sub(scale(c, cross(x2, x0)), scale(s, x0)))
        return angle_of(s, c), g0, g1, scale(size * c, normal), zero
    if kind == SKEW:
        value = (dot(x0, x1) - dot(x2, x3)) * 0.5
        return value, scale(0.5, x1), scale(0.5, x0), scale(-0.5, x3), scale(-0.5, x2)
    if kind == PROFILE:
        d, normal = sub(x2, x3), sub(x0, scale(along[1], x1))
        return dot(x0, d) - along[0], d, scale(-1.0 * along[1], d), normal, scale(-1.0, normal)
    # CIRCLE
    k = dot(x2, x3)
    root = square_root(1.0 - k * k)
    lean = radius * k * reciprocal(root)
    d = sub(x0, x1)
    return dot(x2, d) - radius * root, x2, scale(-1.0, x2), add(d, scale(lean, x3)), scale(lean, x2)


@inner
def variation(kind, radius, x0, x1, x2, x3, d0, d1, d2, d3, along, scalar):
    """Changes of g_0 .. g_3 when the markers move by d0 .. d3."""
    zero = zero3(scalar)
    if kind == DOT:
        return d1, d0, zero, zero
    if kind == PLANE:
        return sub(d1, d2), d0, scale(-1.0, d0), zero
    if kind == DISTANCE:
        d, dd = sub(x0, x1), sub(d0, d1)
        inverse = reciprocal(square_root(dot(d, d)))
        u = scale(inverse, d)
        du = scale(inverse, sub(dd, scale(dot(u, dd), u)))
        return du, scale(-1.0, du), zero, zero
    if kind == ANGLE:
        normal, c = cross(x0, x1), dot(x0, x1)
        s = dot(x2, normal)
        size = reciprocal(s * s + c * c)
        s0, s1 = cross(x1, x2), cross(x2, x0)
        dnormal = add(cross(d0, x1), cross(x0, d1))
        ds, dc = dot(d2, normal) + dot(x2, dnormal), dot(d0, x1) + dot(x0, d1)
        grow = (c * dc + s * ds) * (size * -2.0)
        g0, g1 = sub(scale(c, s0), scale(s, x1)), sub(scale(c, s1), scale(s, x0))
        ds0, ds1 = add(cross(d1, x2), cross(x1, d2)), add(cross(d2, x0), cross(x2, d0))
        dg0 = add(sub(scale(dc, s0), scale(ds, x1)), sub(scale(c, ds0), scale(s, d1)))
        dg1 = add(sub(scale(dc, s1), scale(ds, x0)), sub(scale(c, ds1), scale(s, d0)))
        dg2 = add(scale(dc, normal), scale(c, dnormal))
        return (
            scale(size, add(dg0, scale(grow, g0))),
            scale(size, add(dg1, scale(grow, g1))),
            scale(size, add(dg2, scale(grow * c, normal))),
            zero,
        )
    if kind == SKEW:
        return scale(0.5, d1), scale(0.5, d0), scale(-0.5, d3), scale(-0.5, d2)
    if kind == PROFILE:
        d, dd = sub(x2, x3), sub(d2, d3)
        bend = along[2] * (dot(d1, d) + dot(x1, dd))
        turn = sub(d0, add(scale(bend, x1), scale(along[1], d1)))
        return dd, scale(-1.0, add(scale(bend, d), scale(along[1], dd))), turn, scale(-1.0, turn)
    if kind == CIRCLE:
        k = dot(x2, x3)
        inverse = reciprocal(square_root(1.0 - k * k))
        lean = radius * k * inverse
        dlean = radius * inverse * inverse * inverse * (dot(d2, x3) + dot(x2, d3))
        return (
            d2,
            scale(-1.0, d2),
            add(sub(d0, d1), add(scale(lean, d3), scale(dlean, x3))),
            add(scale(lean, d2), scale(dlean, x2)),
        )
    return zero, zero, zero, zero  # POINT


@inner
def contact(kind, radius, x, n, u):
    """Where a velocity-level row acts, and its direction: (c, e)."""
    if kind == SLIP:
        return sub(x, scale(radius, n)), u
    e = cross(u, n)
    inverse = reciprocal(square_root(dot(e, e)))
    e = scale(inverse, e)
    if kind == ADVANCE:
        return x, e
    down = scale(inverse, sub(n, scale(dot(n, u), u)))
    return sub(x, scale(radius, down)), cross(n, e) if kind == ROLL_ACROSS else e


@inner
def contact_variation(kind, radius, n, u, dx, dn, du):
    """Changes of (c, e) when the markers move by dx, dn, du."""
    if kind == SLIP:
        return sub(dx, scale(radius, dn)), du
    e = cross(u, n)
    inverse = reciprocal(square_root(dot(e, e)))
    e = scale(inverse, e)
    de = scale(inverse, add(cross(du, n), cross(u, dn)))
    de = sub(de, scale(dot(e, de), e))
    if kind == ADVANCE:
        return dx, de
    k = dot(n, u)
    down = scale(inverse, sub(n, scale(k, u)))
    ddown = scale(inverse, sub(sub(dn, scale(dot(dn, u) + dot(n, du), u)), scale(k, du)))
    ddown = sub(ddown, scale(dot(down, ddown), down))
    if kind == ROLL_ACROSS:
        de = add(cross(dn, e), cross(n, de))
    return sub(dx, scale(radius, ddown)), de


@inlined
def whole_turns(x):
    """The multiple of 2 pi nearest to x, sample by sample."""
    turns = x * 0.0
    for lane in range(width(x)):
        turns = insert(turns, lane, extract(x, lane) * 0.0 + 2.0 * math.pi * round(extract(x, lane).real / 2 / math.pi))
    return turns


@inner
def evaluate(ints, numbers, k, x, scalar):
    """Value, first and second derivative of function k at x."""
    f, fd, fdd = scalar * 0.0, scalar * 0.0, scalar * 0.0
    first, count = function_pieces(ints, k)
    for lane in range(width(scalar)):
        s = extract(x, lane)
        low, high = first, first + count
        while high - low > 1:
            middle = (low + high) // 2
            if numbers[piece_at(ints, middle) + P_START].real <= s.real:
                low = middle
            else:
                high = middle
        o = piece_at(ints, low)
        c0, c1 = numbers[o + P_COEFFICIENT], numbers[o + P_COEFFICIENT + 1]
        c2, c3 = numbers[o + P_COEFFICIENT + 2], numbers[o + P_COEFFICIENT + 3]
        if int(numbers[o + P_KIND].real) == CUBIC:
            u = s - numbers[o + P_START]
            y = c0 + u * (c1 + u * (c2 + u * c3))
            yd = c1 + u * (2.0 * c2 + u * (3.0 * c3))
            ydd = 2.0 * c2 + u * (6.0 * c3)
        else:
            sine, cosine = c1 * _sin(c2 * s + c3), c1 * c2 * _cos(c2 * s + c3)
            y, yd, ydd = c0 + sine, cosine, -(c2 * c2) * sine
        f, fd, fdd = insert(f, lane, y), insert(fd, lane, yd), insert(fdd, lane, ydd)
    return f, fd, fdd


@inlined
def _sin(x):
    return sincos(x)[0]


@inlined
def _cos(x):
    return sincos(x)[1]
