"""What touches pushes: forces and moments of spheres, rims and tyres on a surface, in sloped numbers.

Everything is in the axes of the surface z = h(x, y): p the centre of the wheel or sphere, w its axis, v and spin its
velocity and angular velocity relative to the surface. At the place c where it touches, with the normal n, depth d, and
velocity u of the material point there (`model.primitives.rows` has the laws):

    force    N n + friction against the slip u - (u . n) n            moment    (c - p) x force, about p

Where c is, is the answer to an equation (the closest point of a surface, the lowest of a rim). It is found in plain
numbers; one more Newton step in sloped ones has its derivatives, exactly.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.surfaces import surface, surface_int
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.sloped import (
    atan_slope,
    exp_slope,
    power_slope,
    root_of,
    seeded,
    sin_slope,
    tanh_slope,
    value_part,
)
from mechgrad.kernels.vec3 import add, cross, dot, scale, sub
from mechgrad.model.mechanism import LAW_NUMBERS, S_KIND
from mechgrad.model.primitives.rows import GROUND_MAGIC, GROUND_SPHERE, GROUND_TANH, GROUND_WHEEL, PLANE_SURFACE

# numbers of laws that push: K, D, n, then both dampings, the depth within which these set in and the speed within
# which they change; then the radius and what is the law's own
STIFFNESS, DAMPING, EXPONENT, COMPRESSION, RESTITUTION, ONSET, CHANGE, RADIUS, OWN = range(9)
# beyond the numbers of a law: how the surface rises, tilts along x and tilts along y
SHIFT, TILT_X, TILT_Y = LAW_NUMBERS, LAW_NUMBERS + 1, LAW_NUMBERS + 2
SMALL_SLIP = 1e-8  # of its square: below, a series

# the search for the lowest point of a rim: half of the arc that is looked at [rad], places looked at
ARC, PLACES, TRIALS = 1.2, 13, 60


@inlined
def number(numbers, law, i):
    """Number i of a law that is (where its numbers begin, which of them is the variable of direction 0)."""
    return seeded(numbers[law[0] + i], i - law[1])


@inner
def normal_force(numbers, law, depth, approach):
    """(N, share): N = K d^n (1 + D d') + D_pm(d') d' s(d), and N over its elastic part; then N is cut off at zero."""
    K, n = number(numbers, law, STIFFNESS), number(numbers, law, EXPONENT)
    elastic = K * power_slope(depth, n)
    compression, restitution = number(numbers, law, COMPRESSION), number(numbers, law, RESTITUTION)
    towards = (tanh_slope(approach / number(numbers, law, CHANGE)) + 1.0) * 0.5
    viscous = (restitution + (compression - restitution) * towards) * approach
    u = depth / number(numbers, law, ONSET)
    if u.real < 1.0:
        viscous = viscous * (u * u * (3.0 - u * 2.0))
    total = elastic * (number(numbers, law, DAMPING) * approach + 1.0) + viscous
    share = total.real / elastic.real
    if total.real <= 0.0:
        total = total * 0.0
    return total, share


@inlined
def _normal_of(hx, hy):
    inverse = 1.0 / root_of(hx * hx + hy * hy + 1.0)
    return (-(hx * inverse), -(hy * inverse), inverse)


@inner
def _surface_here(ints, numbers, k, law, x, y):
    """`surface` at sloped coordinates; it also rises and tilts about that place, along directions of their own."""
    h, hx, hy, _, _, _ = surface(ints, numbers, k, x, y)
    zero = numbers[law[0]] * 0.0
    rise, tilt_x = seeded(zero, SHIFT - law[1]), seeded(zero, TILT_X - law[1])
    tilt_y = seeded(zero, TILT_Y - law[1])
    h = h + rise + tilt_x * (x - value_part(x)) + tilt_y * (y - value_part(y))
    return h, hx + tilt_x, hy + tilt_y


# ---------------------------------------------------------------------------------------------- where it touches
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
def _closest(ints, numbers, k, law, p):
    """(X, Y, h, h_x, h_y) of the point of a surface closest to p."""
    X0, Y0 = _closest_plain(ints, numbers, k, value_part(p[0]), value_part(p[1]), value_part(p[2]))
    X, Y = p[0] * 0.0 + X0, p[1] * 0.0 + Y0
    h, hx, hy = _surface_here(ints, numbers, k, law, X, Y)
    _, _, _, hxx, hxy, hyy = surface(ints, numbers, k, X0, Y0)
    gap = p[2] - h
    gx, gy = (p[0] - X) + gap * hx, (p[1] - Y) + gap * hy
    high, tx, ty = value_part(gap), value_part(hx), value_part(hy)
    a, b, c = tx * tx + 1.0 - high * hxx, tx * ty - high * hxy, ty * ty + 1.0 - high * hyy
    det = a * c - b * b
    X, Y = X + (gx * c - gy * b) / det, Y + (gy * a - gx * b) / det
    h, hx, hy = _surface_here(ints, numbers, k, law, X, Y)
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
def _lowest(ints, numbers, k, law, p, a, b, radius):
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
        _, hx, hy = _surface_here(ints, numbers, k, law, p[0] + out[0], p[1] + out[1])
        turned = (along[2] - hx * along[0] - hy * along[1]) / bend * -1.0 + angle
        out = add(scale(radius * sin_slope(turned + 0.5 * math.pi), a), scale(radius * sin_slope(turned), b))
    h, hx, hy = _surface_here(ints, numbers, k, law, p[0] + out[0], p[1] + out[1])
    return out, h, hx, hy


@inlined
def _tilts(numbers, law):
    zero = numbers[law[0]] * 0.0
    return seeded(zero, TILT_X - law[1]), seeded(zero, TILT_Y - law[1])


# ----------------------------------------------------------------------------------------------- along the ground
@inlined
def _tanh_over(square):
    """tanh(r) / r of r^2, smooth at zero."""
    if square.real < SMALL_SLIP:
        return 1.0 - square / 3.0
    r = root_of(square)
    return tanh_slope(r) / r


@inner
def _magic_over(square, shape, curvature):
    """sin(C atan(B r - E (B r - atan(B r)))) / r of r^2 with B = 1 / C: slope one at zero, where it is smooth."""
    if square.real < SMALL_SLIP:
        return 1.0 - square * ((curvature + 1.0) / (shape * shape * 3.0) + 1.0 / 6.0)
    r = root_of(square)
    x = r / shape
    return sin_slope(shape * atan_slope(x - curvature * (x - atan_slope(x)))) / r


@inner
def _tyre_force(kind, numbers, law, N, slip, lateral, forward, lean):
    """(force along, force across, moment about n) of a tyre on its track; lean is n . w."""
    at = OWN
    if kind == GROUND_MAGIC:
        speed = number(numbers, law, OWN + 13)
        U = root_of(forward * forward + speed * speed)
        load = N / number(numbers, law, OWN + 10)
        grip = exp_slope(number(numbers, law, OWN + 11) * (1.0 - load))
        mu_x, mu_y = number(numbers, law, at) * grip, number(numbers, law, at + 1) * grip
        cornering = number(numbers, law, OWN + 3) / (number(numbers, law, OWN + 12) * load * load + 1.0)
        rolling = forward / U
        camber = number(numbers, law, OWN + 8) * lean * rolling * rolling
        x = number(numbers, law, OWN + 2) * slip / (U * mu_x)
        y = (cornering * lateral / U + camber) / mu_y
        square = x * x + y * y
        along = _magic_over(square, number(numbers, law, OWN + 4), number(numbers, law, OWN + 6))
        across = _magic_over(square, number(numbers, law, OWN + 5), number(numbers, law, OWN + 7))
        fx, fy = -(mu_x * N * x * along), -(mu_y * N * y * across)
        return fx, fy, -(number(numbers, law, OWN + 9) * rolling * fy / (square + 1.0))
    mu_x, mu_y = number(numbers, law, at), number(numbers, law, at + 1)
    speed = number(numbers, law, at + 4)
    U = root_of(forward * forward + speed * speed)
    x, y = slip / (number(numbers, law, at + 2) * U), lateral / (number(numbers, law, at + 3) * U)
    if kind == GROUND_TANH:
        return -(mu_x * N * tanh_slope(x)), -(mu_y * N * tanh_slope(y)), N * 0.0
    share = _tanh_over(x * x + y * y)
    return -(mu_x * N * x * share), -(mu_y * N * y * share), N * 0.0


@inlined
def _friction(numbers, law, N, slide):
    """Force against the slide, which is along the surface."""
    speed = number(numbers, law, OWN + 1)
    inverse = 1.0 / root_of(dot(slide, slide) + speed * speed)
    return scale(number(numbers, law, OWN) * N * inverse * -1.0, slide)


# ---------------------------------------------------------------------------------------------------- all together
@inner
def touching(kind, ints, numbers, law, k, p, w, v, spin):
    """What a sphere, rim or tyre gets from surface k.

    Returns force, moment about p, depth, share (of N in its elastic part; negative: let go), and the place (x, y)
    where the surface is touched, plain numbers.
    """
    radius, up = number(numbers, law, RADIUS), (p[0] * 0.0, p[0] * 0.0, p[0] * 0.0 + 1.0)
    if kind == GROUND_SPHERE:
        X, Y, h, hx, hy = _closest(ints, numbers, k, law, p)
        n = _normal_of(hx, hy)
        depth = radius - dot(n, (p[0] - X, p[1] - Y, p[2] - h))
        arm, at_x, at_y = scale(radius * -1.0, n), X, Y
    elif kind == GROUND_WHEEL:
        rho = root_of(1.0 - w[2] * w[2])
        down = scale(-1.0 / rho, sub(up, scale(w[2], w)))
        arm, h, hx, hy = _lowest(ints, numbers, k, law, p, down, cross(w, down), radius)
        n = _normal_of(hx, hy)
        depth = (h - p[2] - arm[2]) * n[2]
        at_x, at_y = p[0] + arm[0], p[1] + arm[1]
    else:
        h, hx, hy = _surface_here(ints, numbers, k, law, p[0], p[1])
        n = _normal_of(hx, hy)
        lean = dot(n, w)
        rho = root_of(1.0 - lean * lean)
        depth = radius * rho - (p[2] - h) * n[2]
        arm, at_x, at_y = scale(radius / rho * -1.0, sub(n, scale(lean, w))), p[0], p[1]
    place = value_part(at_x), value_part(at_y)
    nothing = (depth * 0.0, depth * 0.0, depth * 0.0)
    if depth.real <= 0.0:
        return nothing, nothing, value_part(depth), 1.0, place
    u = add(v, cross(spin, arm))
    approach = dot(n, u) * -1.0
    N, share = normal_force(numbers, law, depth, approach)
    if kind in (GROUND_SPHERE, GROUND_WHEEL):
        force = add(scale(N, n), _friction(numbers, law, N, add(u, scale(approach, n))))
        return force, cross(arm, force), value_part(depth), share, place
    ahead = cross(w, n)
    ahead = scale(1.0 / root_of(dot(ahead, ahead)), ahead)
    side = cross(n, ahead)
    fx, fy, turning = _tyre_force(kind, numbers, law, N, dot(ahead, u), dot(side, u), dot(ahead, v), dot(n, w))
    force = add(scale(N, n), add(scale(fx, ahead), scale(fy, side)))
    return force, add(cross(arm, force), scale(turning, n)), value_part(depth), share, place
