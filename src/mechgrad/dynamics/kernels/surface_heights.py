"""Heights of surfaces and their derivatives (`model.surfaces` has the formulas), and the gradient by their numbers.

A surface is z = h(x, y) in its own axes. Coordinates are plain numbers; `contact_places.surface_here` has sloped ones.
Outside of a map of heights h is NaN: the march stops there, and what called it says where.
"""

from __future__ import annotations

import math

from mechgrad.kernels.jit import inlined, inner
from mechgrad.model.mechanism import (
    AT_SURFACE_NUMBERS,
    AT_SURFACES,
    S_COLUMNS,
    S_FIRST,
    S_KIND,
    S_LINES,
    SURFACE,
)
from mechgrad.model.primitives.rows import BUMP, HEIGHT_MAP, STEP

TOP = 0  # the first number of every surface: nothing of it is higher; only its real part is read
MAP_NUMBERS = 5  # numbers of a map before its coefficients: top, x0, y0, dx, dy


@inlined
def surface_int(ints, k, what):
    """An integer of surface k."""
    return ints[ints[AT_SURFACES] + k * SURFACE + what]


@inlined
def surface_at(ints, k):
    """Where the numbers of surface k begin."""
    return ints[AT_SURFACE_NUMBERS] + surface_int(ints, k, S_FIRST)


@inlined
def surface_top(ints, numbers, k):
    """The greatest height of surface k."""
    return numbers[surface_at(ints, k) + TOP].real


@inlined
def _weights(f):
    """Cubic B-spline: the four weights at f within an interval, and their first two derivatives."""
    g, third = 1.0 - f, f * f * f
    return (
        (
            g * g * g / 6.0,
            (third * 3.0 - f * f * 6.0 + 4.0) / 6.0,
            ((f * f + f) * 3.0 - third * 3.0 + 1.0) / 6.0,
            third / 6.0,
        ),
        (g * g * -0.5, (f * f * 3.0 - f * 4.0) * 0.5, (f * 2.0 + 1.0 - f * f * 3.0) * 0.5, f * f * 0.5),
        (g, f * 3.0 - 2.0, 1.0 - f * 3.0, f),
    )


@inlined
def _interval(u, count):
    """The interval of a uniform grid that u lies in, -1 outside."""
    if not (u.real >= 0.0 and u.real <= count - 1.0):
        return -1
    return min(int(u.real), count - 2)


@inner
def _map_height(ints, numbers, k, x, y):
    o, zero = surface_at(ints, k), x * 0.0
    lines, columns = surface_int(ints, k, S_LINES), surface_int(ints, k, S_COLUMNS)
    per_x, per_y = 1.0 / numbers[o + 3], 1.0 / numbers[o + 4]
    u, v = (x - numbers[o + 1]) * per_x, (y - numbers[o + 2]) * per_y
    i, j = _interval(u, lines), _interval(v, columns)
    if i < 0 or j < 0:
        nowhere = zero + math.nan
        return nowhere, nowhere, nowhere, nowhere, nowhere, nowhere
    (a, ad, add), (b, bd, bdd) = _weights(u - i), _weights(v - j)
    h, hx, hy, hxx, hxy, hyy = zero, zero, zero, zero, zero, zero
    for m in range(4):
        at = o + MAP_NUMBERS + (i + m) * (columns + 2) + j
        c0, c1, c2, c3 = numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]
        s = b[0] * c0 + b[1] * c1 + b[2] * c2 + b[3] * c3
        sd = bd[0] * c0 + bd[1] * c1 + bd[2] * c2 + bd[3] * c3
        sdd = bdd[0] * c0 + bdd[1] * c1 + bdd[2] * c2 + bdd[3] * c3
        h, hx, hy = h + a[m] * s, hx + ad[m] * s, hy + a[m] * sd
        hxx, hxy, hyy = hxx + add[m] * s, hxy + ad[m] * sd, hyy + a[m] * sdd
    return h, hx * per_x, hy * per_y, hxx * (per_x * per_x), hxy * (per_x * per_y), hyy * (per_y * per_y)


@inner
def surface(ints, numbers, k, x, y):
    """h, h_x, h_y, h_xx, h_xy, h_yy of surface k."""
    zero, kind, o = x * 0.0, surface_int(ints, k, S_KIND), surface_at(ints, k)
    if kind == HEIGHT_MAP:
        return _map_height(ints, numbers, k, x, y)
    if kind == STEP:
        start, height, width = numbers[o + 1], numbers[o + 2], numbers[o + 3]
        u = (x - start) / width
        if u.real <= 0.0:
            return zero, zero, zero, zero, zero, zero
        if u.real >= 1.0:
            return zero + height, zero, zero, zero, zero, zero
        g = 1.0 - u
        h = u * u * u * (10.0 - u * 15.0 + u * u * 6.0) * height
        return (
            h,
            u * u * g * g * (30.0 * height / width),
            zero,
            u * g * (1.0 - u * 2.0) * (60.0 * height / (width * width)),
            zero,
            zero,
        )
    if kind == BUMP:
        half = numbers[o + 3] * 0.5
        u = (x - numbers[o + 1]) / half
        g = 1.0 - u * u
        if g.real <= 0.0:
            return zero, zero, zero, zero, zero, zero
        height = numbers[o + 2]
        hxx = g * (u * u * 24.0 - g * 6.0) * (height / (half * half))
        return g * g * g * height, u * g * g * (-6.0 * height / half), zero, hxx, zero, zero
    return zero, zero, zero, zero, zero, zero


@inlined
def _add(gradient, slot, n, lane, x):
    gradient[slot * n + lane] += x


@inner
def add_surface_numbers(ints, numbers, k, x, y, by_h, by_hx, by_hy, gradient, n, lane):
    """gradient += by_h dh + by_hx dh_x + by_hy dh_y by all numbers of surface k at a place (x, y), plain numbers.

    gradient : slots of n lanes
    """
    kind, o = surface_int(ints, k, S_KIND), surface_at(ints, k)
    h, hx, hy, hxx, hxy, hyy = surface(ints, numbers, k, x, y)
    if kind in (STEP, BUMP):  # start or centre, height, width or length
        height, length = numbers[o + 2], numbers[o + 3]
        away = (x - numbers[o + 1]) / length
        _add(gradient, o + 1, n, lane, -(by_h * hx + by_hx * hxx))
        _add(gradient, o + 3, n, lane, -(by_h * hx * away + by_hx * (hxx * away + hx / length)))
        if height.real != 0.0:
            _add(gradient, o + 2, n, lane, (by_h * h + by_hx * hx) / height)
        else:
            _add_unit_height(ints, numbers, kind, o, x, by_h, by_hx, gradient, n, lane)
    elif kind == HEIGHT_MAP:
        lines, columns = surface_int(ints, k, S_LINES), surface_int(ints, k, S_COLUMNS)
        dx, dy = numbers[o + 3], numbers[o + 4]
        u, v = (x - numbers[o + 1]) / dx, (y - numbers[o + 2]) / dy
        _add(gradient, o + 1, n, lane, -(by_h * hx + by_hx * hxx + by_hy * hxy))
        _add(gradient, o + 2, n, lane, -(by_h * hy + by_hx * hxy + by_hy * hyy))
        _add(gradient, o + 3, n, lane, -(by_h * hx * u + by_hx * (hxx * u + hx / dx) + by_hy * hxy * u))
        _add(gradient, o + 4, n, lane, -(by_h * hy * v + by_hx * hxy * v + by_hy * (hyy * v + hy / dy)))
        i, j = _interval(u, lines), _interval(v, columns)
        if i >= 0 and j >= 0:
            (a, ad, _), (b, bd, _) = _weights(u - i), _weights(v - j)
            for m in range(4):
                at = o + MAP_NUMBERS + (i + m) * (columns + 2) + j
                for p in range(4):
                    by = by_h * a[m] * b[p] + by_hx * ad[m] * b[p] / dx + by_hy * a[m] * bd[p] / dy
                    _add(gradient, at + p, n, lane, by)


@inlined
def _add_unit_height(ints, numbers, kind, o, x, by_h, by_hx, gradient, n, lane):
    """The derivative by a height that is zero: the shape of a step or bump of height one."""
    length = numbers[o + 3]
    if kind == STEP:
        u = (x - numbers[o + 1]) / length
        if u.real >= 1.0:
            _add(gradient, o + 2, n, lane, by_h)
        elif u.real > 0.0:
            g = 1.0 - u
            s = u * u * u * (10.0 - u * 15.0 + u * u * 6.0)
            _add(gradient, o + 2, n, lane, by_h * s + by_hx * 30.0 * u * u * g * g / length)
    else:
        u = (x - numbers[o + 1]) / (length * 0.5)
        g = 1.0 - u * u
        if g.real > 0.0:
            _add(gradient, o + 2, n, lane, by_h * g * g * g - by_hx * 12.0 * u * g * g / length)
