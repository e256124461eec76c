"""What touches pushes: forces and moments of spheres, rims and tyres on a surface, in sloped numbers.

Everything is in the axes of the surface z = h(x, y): p the centre of the wheel or sphere, w its axis, v and spin its
velocity and angular velocity relative to the surface. Of two
capsules the axes are those of the second. At the place c where it touches, with the normal n, depth d, and
velocity u of the material point there (`model.primitives.rows` has the laws):

    force    N n + friction against the slip u - (u . n) n            moment    (c - p) x force, about p
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.contact_places import (
    CHANGE,
    COMPRESSION,
    DAMPING,
    EXPONENT,
    ONSET,
    OWN,
    RADIUS,
    RESTITUTION,
    STIFFNESS,
    between_capsules,
    closest,
    lowest,
    normal_of,
    number,
    surface_here,
)
from mechgrad.dynamics.kernels.hull_places import closest_of_hull
from mechgrad.dynamics.kernels.surface_heights import surface_int
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.sloped import value_part
from mechgrad.kernels.sloped_functions import atan_slope, exp_slope, power_slope, root_of, sin_slope, tanh_slope
from mechgrad.kernels.vec3 import add, cross, dot, scale, sub
from mechgrad.model.mechanism import S_KIND
from mechgrad.model.primitives.rows import CAPSULES, GROUND_MAGIC, GROUND_SPHERE, GROUND_TANH, GROUND_WHEEL, HULL

SMALL_SLIP = 1e-8  # of its square: below, a series


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
    if kind == CAPSULES:
        arm, n, depth = between_capsules(numbers, law, p, w, radius)
        at_x, at_y = depth, depth
    elif kind == GROUND_SPHERE and surface_int(ints, k, S_KIND) == HULL:
        n, distance = closest_of_hull(ints, numbers, k, law, p)
        depth = radius - distance
        arm, at_x, at_y = scale(radius * -1.0, n), depth, depth
    elif kind == GROUND_SPHERE:
        X, Y, h, hx, hy = closest(ints, numbers, k, law, p)
        n = normal_of(hx, hy)
        depth = radius - dot(n, (p[0] - X, p[1] - Y, p[2] - h))
        arm, at_x, at_y = scale(radius * -1.0, n), X, Y
    elif kind == GROUND_WHEEL:
        rho = root_of(1.0 - w[2] * w[2])
        down = scale(-1.0 / rho, sub(up, scale(w[2], w)))
        arm, h, hx, hy = lowest(ints, numbers, k, law, p, down, cross(w, down), radius)
        n = normal_of(hx, hy)
        depth = (h - p[2] - arm[2]) * n[2]
        at_x, at_y = p[0] + arm[0], p[1] + arm[1]
    else:
        h, hx, hy = surface_here(ints, numbers, k, law, p[0], p[1])
        n = normal_of(hx, hy)
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
    if kind in (GROUND_SPHERE, GROUND_WHEEL, CAPSULES):
        force = add(scale(N, n), _friction(numbers, law, N, add(u, scale(approach, n))))
        return force, cross(arm, force), value_part(depth), share, place
    ahead = cross(w, n)
    ahead = scale(1.0 / root_of(dot(ahead, ahead)), ahead)
    side = cross(n, ahead)
    fx, fy, turning = _tyre_force(kind, numbers, law, N, dot(ahead, u), dot(side, u), dot(ahead, v), dot(n, w))
    force = add(scale(N, n), add(scale(fx, ahead), scale(fy, side)))
    return force, add(cross(arm, force), scale(turning, n)), value_part(depth), share, place
