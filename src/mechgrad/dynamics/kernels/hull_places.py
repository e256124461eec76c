"""The point of a superellipsoid that is closest to a sphere's centre.

    f(x) = sum (x_i / s_i)^m = 1         s: half of its length, width and height; m even

The closest point x of a point p outside, with its multiplier, solves

    x_i + lam m x_i^(m-1) / s_i^m = p_i,     f(x) = 1,     lam > 0

Newton's iteration for x and lam together finds it from the ray to the middle on, in plain real numbers; where it does
not settle, one within a bracket: for a given lam these are three scalar equations, convex and increasing in |x_i|, and
f falls with lam. One Newton step for x and lam together in the kernel's numbers,
and one more in sloped ones, have the derivatives, exactly. The normal is n = f_x / |f_x|, the distance lam |f_x|. A
point inside has no distance here: it is NaN, the march stops, and what called it says where.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.surface_heights import surface_at, surface_int
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.sloped import direction_in, seeded, value_part
from mechgrad.kernels.sloped_functions import root_of
from mechgrad.kernels.vec3 import dot, scale
from mechgrad.model.mechanism import LAW_NUMBERS, S_LINES

HALVES = 1  # where half of the length, width and height stand in the numbers of the surface
# their directions, beyond the numbers of a law: the ones by which heights rise and tilt
FIRST_HALF = LAW_NUMBERS
ROUNDING, TRIALS, STEPS = 4e-16, 60, 60
QUICK, SETTLED = 12, 1e-9  # two more steps follow, each of which squares what is left


@inlined
def power_of(x, n):
    """x^n of a whole n."""
    result = x * 0.0 + 1.0
    for _ in range(n):
        result = result * x
    return result


@inner
def _coordinate(y, target, weight, m):
    """The root y >= 0 of y + weight y^(m-1) = target >= 0, from some y."""
    for _ in range(STEPS):
        q = power_of(y, m - 2)
        change = (y + weight * q * y - target) / (1.0 + (m - 1) * weight * q)
        y = max(y - change, 0.0)
        if not abs(change) > ROUNDING * y:
            break
    return y


@inner
def _multiplier(m, s, p):
    """(lam, x) of the closest point, real numbers; NaN for a point inside."""
    y0, y1, y2 = abs(p[0]) / s[0], abs(p[1]) / s[1], abs(p[2]) / s[2]
    t0, t1, t2 = y0, y1, y2
    size = power_of(y0, m) + power_of(y1, m) + power_of(y2, m)
    if not size > 1.0:
        return math.nan, (math.nan, math.nan, math.nan)
    shrink = math.exp(-math.log(size) / m)  # onto the surface, along the ray to the centre
    y0, y1, y2 = y0 * shrink, y1 * shrink, y2 * shrink
    g0, g1, g2 = (
        m * power_of(y0, m - 1) / s[0],
        m * power_of(y1, m - 1) / s[1],
        m * power_of(y2, m - 1) / s[2],
    )
    outward = (t0 - y0) * s[0] * g0 + (t1 - y1) * s[1] * g1 + (t2 - y2) * s[2] * g2
    lam, low, high = outward / (g0 * g0 + g1 * g1 + g2 * g2), 0.0, math.inf
    for _ in range(TRIALS):
        w0, w1, w2 = lam * m / (s[0] * s[0]), lam * m / (s[1] * s[1]), lam * m / (s[2] * s[2])
        y0, y1, y2 = _coordinate(y0, t0, w0, m), _coordinate(y1, t1, w1, m), _coordinate(y2, t2, w2, m)
        q0, q1, q2 = power_of(y0, m - 2), power_of(y1, m - 2), power_of(y2, m - 2)
        excess = q0 * y0 * y0 + q1 * y1 * y1 + q2 * y2 * y2 - 1.0
        slope = (
            q0 * q0 * y0 * y0 / (s[0] * s[0] * (1.0 + (m - 1) * w0 * q0))
            + q1 * q1 * y1 * y1 / (s[1] * s[1] * (1.0 + (m - 1) * w1 * q1))
            + q2 * q2 * y2 * y2 / (s[2] * s[2] * (1.0 + (m - 1) * w2 * q2))
        ) * (m * m)
        if excess > 0.0:
            low = lam
        else:
            high = lam
        new = lam + excess / slope
        if not (low <= new <= high):
            new = 2.0 * lam if high == math.inf else 0.5 * (low + high)
        change = abs(new - lam)
        lam = new
        if not change > 1e-13 * lam:
            break
    x = (math.copysign(y0 * s[0], p[0]), math.copysign(y1 * s[1], p[1]), math.copysign(y2 * s[2], p[2]))
    return lam, x


@inner
def _refined(m, s, p, x, lam, slope):
    """One Newton step for x and lam at once. s, p: in the numbers wanted; x, lam: plain; slope: values of s."""
    q = (power_of(x[0] / slope[0], m - 2), power_of(x[1] / slope[1], m - 2), power_of(x[2] / slope[2], m - 2))
    g = (
        m * q[0] * x[0] / (slope[0] * slope[0]),
        m * q[1] * x[1] / (slope[1] * slope[1]),
        m * q[2] * x[2] / (slope[2] * slope[2]),
    )
    d = (
        1.0 / (1.0 + lam * (m * (m - 1)) * q[0] / (slope[0] * slope[0])),
        1.0 / (1.0 + lam * (m * (m - 1)) * q[1] / (slope[1] * slope[1])),
        1.0 / (1.0 + lam * (m * (m - 1)) * q[2] / (slope[2] * slope[2])),
    )
    u = (x[0] / s[0], x[1] / s[1], x[2] / s[2])
    t = (power_of(u[0], m - 1), power_of(u[1], m - 1), power_of(u[2], m - 1))
    r = (
        x[0] + (lam * m) * t[0] / s[0] - p[0],
        x[1] + (lam * m) * t[1] / s[1] - p[1],
        x[2] + (lam * m) * t[2] / s[2] - p[2],
    )
    miss = t[0] * u[0] + t[1] * u[1] + t[2] * u[2] - 1.0
    along = r[0] * (g[0] * d[0]) + r[1] * (g[1] * d[1]) + r[2] * (g[2] * d[2])
    square = g[0] * g[0] * d[0] + g[1] * g[1] * d[1] + g[2] * g[2] * d[2]
    change = (miss - along) / square
    found = (
        x[0] - (r[0] + change * g[0]) * d[0],
        x[1] - (r[1] + change * g[1]) * d[1],
        x[2] - (r[2] + change * g[2]) * d[2],
    )
    return found, change + lam


@inner
def _found_at_once(m, s, p):
    """(lam, x) as of `_multiplier`, by Newton's iteration for both at once from the ray to the middle on, real numbers;
    a negative lam where this does not settle, or leads elsewhere: a solution with lam > 0 is the only one."""
    u = (p[0] / s[0], p[1] / s[1], p[2] / s[2])
    size = power_of(u[0], m) + power_of(u[1], m) + power_of(u[2], m)
    if not size > 1.0:
        return math.nan, (math.nan, math.nan, math.nan)
    shrink = math.exp(-math.log(size) / m)
    x = (p[0] * shrink, p[1] * shrink, p[2] * shrink)
    g = (
        m * power_of(u[0] * shrink, m - 1) / s[0],
        m * power_of(u[1] * shrink, m - 1) / s[1],
        m * power_of(u[2] * shrink, m - 1) / s[2],
    )
    lam = (dot(p, g) - dot(x, g)) / dot(g, g)
    for _ in range(QUICK):
        new, lam = _refined(m, s, p, x, lam, s)
        change = abs(new[0] - x[0]) + abs(new[1] - x[1]) + abs(new[2] - x[2])
        x = new
        if change <= SETTLED * (s[0] + s[1] + s[2]):
            same = x[0] * p[0] >= 0.0 and x[1] * p[1] >= 0.0 and x[2] * p[2] >= 0.0
            return (lam if same else -1.0), x
    return -1.0, x


@inner
def hull_halves(ints, numbers, k):
    """Half of length, width and height of surface k."""
    o = surface_at(ints, k) + HALVES
    return numbers[o], numbers[o + 1], numbers[o + 2]


@inner
def closest_of_hull(ints, numbers, k, law, p):
    """(n, distance): the outward normal at the point of surface k that is closest to p, and how far it is."""
    m, plain = surface_int(ints, k, S_LINES), hull_halves(ints, numbers, k)
    at = (value_part(p[0]), value_part(p[1]), value_part(p[2]))
    real = (plain[0].real, plain[1].real, plain[2].real)
    there = (at[0].real, at[1].real, at[2].real)
    lam, x = _found_at_once(m, real, there)
    if lam <= 0.0:
        lam, x = _multiplier(m, real, there)
    zero = at[0] * 0.0
    x, lam = _refined(m, plain, at, (zero + x[0], zero + x[1], zero + x[2]), zero + lam, plain)
    s = (
        seeded(plain[0], direction_in(law, FIRST_HALF)),
        seeded(plain[1], direction_in(law, FIRST_HALF + 1)),
        seeded(plain[2], direction_in(law, FIRST_HALF + 2)),
    )
    y, weight = _refined(m, s, p, x, lam, plain)
    u = (y[0] / s[0], y[1] / s[1], y[2] / s[2])
    g = (power_of(u[0], m - 1) / s[0], power_of(u[1], m - 1) / s[1], power_of(u[2], m - 1) / s[2])
    size = root_of(dot(g, g))
    return scale(1.0 / size, g), weight * size * m


@inner
def beside_hull(ints, numbers, k, radius, p):
    """A lower bound of the gap between a sphere and surface k, in real numbers: f^(1/m) changes by at most
    1 / (the least half) per metre."""
    m, s = surface_int(ints, k, S_LINES), hull_halves(ints, numbers, k)
    u = (p[0].real / s[0].real, p[1].real / s[1].real, p[2].real / s[2].real)
    largest = max(max(abs(u[0]), abs(u[1])), abs(u[2]))
    if not largest > 0.0:
        return -radius.real
    size = power_of(u[0] / largest, m) + power_of(u[1] / largest, m) + power_of(u[2] / largest, m)
    least = min(min(s[0].real, s[1].real), s[2].real)
    return (largest * math.exp(math.log(size) / m) - 1.0) * least - radius.real


@inner
def add_hull_numbers(ints, numbers, k, by_length, by_width, by_height, gradient, n, lane):
    """gradient += what is asked by half of length, width and height of surface k; slots of n lanes."""
    o = surface_at(ints, k) + HALVES
    gradient[o * n + lane] += by_length
    gradient[(o + 1) * n + lane] += by_width
    gradient[(o + 2) * n + lane] += by_height
