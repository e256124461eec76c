"""Where spheres and rims touch a surface, in sloped numbers.

The place is the answer to an equation: the closest point of a surface, the lowest of a rim. It is found in plain
numbers; one more Newton step in sloped ones has its derivatives, exactly.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.surface_heights import surface, surface_int
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.sloped import direction_in, seeded, value_part
from mechgrad.kernels.sloped_functions import root_of, sin_slope
from mechgrad.kernels.vec3 import add, scale, sub
from mechgrad.model.mechanism import LAW_NUMBERS, S_KIND
from mechgrad.model.primitives.rows import PLANE_SURFACE

# numbers of laws that push: K, D, n, then both dampings, the depth within which these set in and the speed within
# which they change; then the radius and what is the law's own
STIFFNESS, DAMPING, EXPONENT, COMPRESSION, RESTITUTION, ONSET, CHANGE, RADIUS, OWN = range(9)
# beyond the numbers of a law: how the surface rises, tilts along x and tilts along y
SHIFT, TILT_X, TILT_Y = LAW_NUMBERS, LAW_NUMBERS + 1, LAW_NUMBERS + 2

PARALLEL = 1e-4  # square of the sine of an angle, about which parallel capsules are told from others
# the search for the lowest point of a rim: half of the arc that is looked at [rad], places looked at
ARC, PLACES, TRIALS = 1.2, 13, 60


@inlined
def number(numbers, law, i):
    """Number i of a law that is (where its numbers begin, which of them is the variable of direction 0)."""
    return seeded(numbers[law[0] + i], direction_in(law, i))


@inlined
def normal_of(hx, hy):
    """The upward normal of a surface with these slopes."""
    inverse = 1.0 / root_of(hx * hx + hy * hy + 1.0)
    return (-(hx * inverse), -(hy * inverse), inverse)


@inner
def surface_here(ints, numbers, k, law, x, y):
    """(h, h_x, h_y) of surface k at sloped coordinates; it also rises and tilts about that place, along directions of
    their own.

    The surface is asked in plain numbers: x - x0 is zero with the slopes of x, so that h + h_x (x - x0) has those of h.
    """
    x0, y0 = value_part(x), value_part(y)
    h, hx, hy, hxx, hxy, hyy = surface(ints, numbers, k, x0, y0)
    zero = numbers[law[0]] * 0.0
    rise, dx, dy = seeded(zero, direction_in(law, SHIFT)), x - x0, y - y0
    tilt_x, tilt_y = seeded(zero, direction_in(law, TILT_X)) + hx, seeded(zero, direction_in(law, TILT_Y)) + hy
    return rise + tilt_x * dx + tilt_y * dy + h, tilt_x + (dx * hxx + dy * hxy), tilt_y + (dx * hxy + dy * hyy)


# ---------------------------------------------------------------------------------------------- where it touches
@inlined
def _within(x, half):
    """x between -half and half."""
    if x.real > half.real:
        return half
    if x.real < -half.real:
        return -half
    return x


@inner
def between_capsules(numbers, law, p, w, radius):
    """Two capsules about p + s w and t e3: the place between them relative to p, the normal towards the first, depth.

    s and t are those of the closest points of the two segments; of parallel ones, the middle of the first decides.
    """
    other = number(numbers, law, OWN + 2)
    half, half_other = number(numbers, law, OWN + 3), number(numbers, law, OWN + 4)
    along = p[0] * w[0] + p[1] * w[1] + p[2] * w[2]
    s = _within((w[2] * p[2] - along) / (1.0 - w[2] * w[2] + PARALLEL), half)
    t = _within(p[2] + s * w[2], half_other)
    s = _within(t * w[2] - along, half)
    t = _within(p[2] + s * w[2], half_other)
    mine = scale(s, w)
    d = (p[0] + mine[0], p[1] + mine[1], p[2] + mine[2] - t)
    length = root_of(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    n, depth = scale(1.0 / length, d), radius + other - length
    return sub(mine, scale(radius - depth * 0.5, n)), n, depth


@inner
def _closest_plain(ints, numbers, k, x, y, z):
    """(X, Y) of the point of a surface closest to a point: Gauss-Newton with halved steps, then Newton."""
    X, Y = x, y
    h, hx, hy, hxx, hxy, hyy = surface(ints, numbers, k, X, Y)
    size = (z - h) * (z - h)
    for _ in range(TRIALS):
        gx, gy = (x - X) + (z - h) * hx, (y - Y) + (z - h) * hy
        a, b, c = hx * hx + 1.0 - (z - h) * hxx, hx * hy - (z - h) * hxy, hy * hy + 1.0 - (z - h) * hyy
        if not (a.real > 0.0 and (a * c - b * b).real > 0.0):
            a, b, c = hx * hx + 1.0, hx * hy, hy * hy + 1.0
        det = a * c - b * b
        sx, sy = (c * gx - b * gy) / det, (a * gy - b * gx) / det
        factor = 1.0
        for _ in range(30):
            Xn, Yn = X + factor * sx, Y + factor * sy
            h, hx, hy, hxx, hxy, hyy = surface(ints, numbers, k, Xn, Yn)
            new = (x - Xn) * (x - Xn) + (y - Yn) * (y - Yn) + (z - h) * (z - h)
            if new.real <= size.real * (1.0 + 1e-14):
                break
            factor *= 0.5
        X, Y, size = Xn, Yn, new
        if not (sx * sx + sy * sy).real > 1e-26 * (1.0 + size.real):
            break
    return X, Y


@inner
def closest(ints, numbers, k, law, p):
    """(X, Y, h, h_x, h_y) of the point of a surface closest to p."""
    X0, Y0 = _closest_plain(ints, numbers, k, value_part(p[0]), value_part(p[1]), value_part(p[2]))
    X, Y = p[0] * 0.0 + X0, p[1] * 0.0 + Y0
    h, hx, hy = surface_here(ints, numbers, k, law, X, Y)
    _, _, _, hxx, hxy, hyy = surface(ints, numbers, k, X0, Y0)
    gap = p[2] - h
    gx, gy = (p[0] - X) + gap * hx, (p[1] - Y) + gap * hy
    high, tx, ty = value_part(gap), value_part(hx), value_part(hy)
    a, b, c = tx * tx + 1.0 - high * hxx, tx * ty - high * hxy, ty * ty + 1.0 - high * hyy
    det = a * c - b * b
    X, Y = X + (gx * c - gy * b) / det, Y + (gy * a - gx * b) / det
    h, hx, hy = surface_here(ints, numbers, k, law, X, Y)
    return X, Y, h, hx, hy


@inner
def _rim_gap(ints, numbers, k, p, a, b, radius, angle):
    """Gap between the point of a rim at an angle and the surface, and its first two derivatives."""
    s, c = math.sin(angle), math.cos(angle)
    x = p[0] + radius * (c * a[0] + s * b[0])
    y = p[1] + radius * (c * a[1] + s * b[1])
    out = (radius * (c * a[0] + s * b[0]), radius * (c * a[1] + s * b[1]), radius * (c * a[2] + s * b[2]))
    along = (radius * (c * b[0] - s * a[0]), radius * (c * b[1] - s * a[1]), radius * (c * b[2] - s * a[2]))
    h, hx, hy, hxx, hxy, hyy = surface(ints, numbers, k, x, y)
    bend = hxx * along[0] * along[0] + 2.0 * hxy * along[0] * along[1] + hyy * along[1] * along[1]
    second = hx * out[0] + hy * out[1] - out[2] - bend
    return p[2] + out[2] - h, along[2] - hx * along[0] - hy * along[1], second


@inner
def _lowest_plain(ints, numbers, k, p, a, b, radius):
    """The angle from `a` to the lowest point of a rim above a surface: the best of some places, then Newton."""
    best, least = 0, math.inf
    pitch = 2.0 * ARC / (PLACES - 1)
    for i in range(PLACES):
        gap, _, _ = _rim_gap(ints, numbers, k, p, a, b, radius, pitch * i - ARC)
        if gap.real < least:
            best, least = i, gap.real
    low, high = pitch * (best - 1) - ARC, pitch * (best + 1) - ARC
    angle = pitch * best - ARC
    for _ in range(TRIALS):
        _, slope, bend = _rim_gap(ints, numbers, k, p, a, b, radius, angle)
        if slope.real > 0.0:
            high = angle
        else:
            low = angle
        step = slope.real / bend.real if bend.real > 0.0 else math.inf
        new = angle - step
        if not (low < new < high):
            new = 0.5 * (low + high)
        if not abs(new - angle) > 1e-15:
            break
        angle = new
    return angle


@inner
def lowest(ints, numbers, k, law, p, a, b, radius):
    """The lowest point of a rim above a surface, relative to its centre, and (x, y, h, h_x, h_y) there."""
    if surface_int(ints, k, S_KIND) == PLANE_SURFACE:  # its tilt turns the lowest point by slope / bend
        slope_x, slope_y = _tilts(numbers, law)
        turn = (slope_x * b[0] + slope_y * b[1]) / (a[2] * -1.0)
        out = add(scale(radius, a), scale(radius * turn, b))
    else:
        plain_p = (value_part(p[0]), value_part(p[1]), value_part(p[2]))
        plain_a = (value_part(a[0]), value_part(a[1]), value_part(a[2]))
        plain_b = (value_part(b[0]), value_part(b[1]), value_part(b[2]))
        angle = _lowest_plain(ints, numbers, k, plain_p, plain_a, plain_b, value_part(radius))
        s, c = math.sin(angle), math.cos(angle)
        _, _, bend = _rim_gap(ints, numbers, k, plain_p, plain_a, plain_b, value_part(radius), angle)
        out = add(scale(radius * c, a), scale(radius * s, b))
        along = sub(scale(radius * c, b), scale(radius * s, a))
        _, hx, hy = surface_here(ints, numbers, k, law, p[0] + out[0], p[1] + out[1])
        turned = (along[2] - hx * along[0] - hy * along[1]) / bend * -1.0 + angle
        out = add(scale(radius * sin_slope(turned + 0.5 * math.pi), a), scale(radius * sin_slope(turned), b))
    h, hx, hy = surface_here(ints, numbers, k, law, p[0] + out[0], p[1] + out[1])
    return out, h, hx, hy


@inlined
def _tilts(numbers, law):
    zero = numbers[law[0]] * 0.0
    return seeded(zero, direction_in(law, TILT_X)), seeded(zero, direction_in(law, TILT_Y))
