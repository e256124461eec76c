"""Laws of spheres, wheels and tyres on surfaces: forces on their rows, partials, and the gradient by their numbers.

`model.primitives.rows` says what the rows are, `contact_forces` what acts. Sloped numbers give all partials by the
state in one evaluation, and those by the numbers in two more.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.contact_forces import touching
from mechgrad.dynamics.kernels.contact_places import OWN, RADIUS, SHIFT, TILT_X, TILT_Y
from mechgrad.dynamics.kernels.hull_places import add_hull_numbers, beside_hull
from mechgrad.dynamics.kernels.surface_heights import add_surface_numbers, surface_int, surface_top
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.sloped import SLOPES, seeded, slope_part, value_part
from mechgrad.model.mechanism import (
    AT_LAW_NUMBERS,
    AT_LAWS,
    L_FIRST,
    L_KIND,
    L_ROWS,
    L_SURFACE,
    LAW,
    LAW_NUMBERS,
    S_KIND,
)
from mechgrad.model.primitives.rows import CAPSULES, GROUND_SPHERE, GROUND_TYRE, HULL

FORCES = 6  # rows that forces act on
POSITION, AXIS, SPEED, SLIDE = 0, 3, 6, 9  # directions of the state: of p, w, v and the slips
UNSEEDED = 1 << 30  # no number is a variable


@inlined
def _tables(ints, k):
    """Kind of law k, where its numbers begin, and its surface."""
    at = ints[AT_LAWS] + k * LAW
    return ints[at + L_KIND], ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS, ints[at + L_SURFACE]


@inlined
def _three(x, first, direction):
    return seeded(x[first], direction), seeded(x[first + 1], direction + 1), seeded(x[first + 2], direction + 2)


@inlined
def nine_rows(ints, k, x):
    """Plain numbers of the rows of law k; where it has six, the last three are others."""
    at = ints[AT_LAWS] + k * LAW
    first, last = ints[at + L_FIRST], ints[at + L_FIRST] + ints[at + L_ROWS] - 3
    return (
        x[first], x[first + 1], x[first + 2], x[first + 3], x[first + 4], x[first + 5], x[last], x[last + 1],
        x[last + 2],
    )  # fmt: skip


@inner
def evaluated(ints, numbers, k, axis, g, gd, seeds):
    """The forces on the rows of law k, its depth, the share of N, and the place where the surface is touched.

    axis : where the rows of the axis begin in g; without an axis, where numbers are that have no influence
    seeds : UNSEEDED for partials by the state, otherwise the number of the law that is the variable of direction 0
    """
    kind, at, ground = _tables(ints, k)
    state = 0 if seeds == UNSEEDED else UNSEEDED
    p, v = _three(g, 0, POSITION + state), _three(gd, 0, SPEED + state)
    s = _three(gd, 3, SLIDE + state)
    w = _three(g, axis, AXIS + state)
    spin = (v[1] - s[1], s[2] - v[0], s[0] - v[1])
    f, m, depth, share, place = touching(kind, ints, numbers, (at, seeds), ground, p, w, v, spin)
    return (m[1] - f[0], m[2] - m[0] - f[1], -f[2], -m[2], m[0], -m[1]), depth, share, place


@inner
def plain_ground_law(ints, numbers, k, rows, g, gd, F):
    """Forces of law k without partials, into an array of zeros: the same formulas in plain numbers."""
    if out_of_reach(ints, numbers, k, g):
        return
    kind, at, ground = _tables(ints, k)
    axis = rows - 3
    spin = (gd[1] - gd[4], gd[5] - gd[0], gd[3] - gd[1])
    f, m, _, _, _ = touching(
        kind, ints, numbers, (at, None), ground, (g[0], g[1], g[2]), (g[axis], g[axis + 1], g[axis + 2]),
        (gd[0], gd[1], gd[2]), spin,
    )  # fmt: skip
    F[0], F[1], F[2], F[3], F[4], F[5] = m[1] - f[0], m[2] - m[0] - f[1], -f[2], -m[2], m[0], -m[1]


@inlined
def out_of_reach(ints, numbers, k, g):
    """Whether a sphere or rim is above all of its surface; tyres look at the slope below them."""
    kind, at, ground = _tables(ints, k)
    if kind == CAPSULES:
        reach = numbers[at + RADIUS].real + numbers[at + OWN + 2].real
        reach += numbers[at + OWN + 3].real + numbers[at + OWN + 4].real
        x, y, z = g[0].real, g[1].real, g[2].real
        return x * x + y * y + z * z > reach * reach
    if kind == GROUND_SPHERE and surface_int(ints, ground, S_KIND) == HULL:
        return beside_hull(ints, numbers, ground, numbers[at + RADIUS], (g[0], g[1], g[2])) > 0.0
    return kind < GROUND_TYRE and g[2].real > surface_top(ints, numbers, ground) + numbers[at + RADIUS].real


@inner
def ground_law(ints, numbers, k, rows, g, gd, F, F_g, F_gd):
    """Forces of law k and their partials, into arrays of zeros."""
    if out_of_reach(ints, numbers, k, g):
        return
    forces, depth, _, _ = evaluated(ints, numbers, k, rows - 3, g, gd, UNSEEDED)
    if depth.real <= 0.0:
        return
    for i in range(FORCES):
        force = forces[i]
        F[i] = value_part(force)
        for j in range(3):
            F_g[i * rows + j] = slope_part(force, POSITION + j)
            F_gd[i * rows + j] = slope_part(force, SPEED + j)
            F_gd[i * rows + 3 + j] = slope_part(force, SLIDE + j)
            if rows > FORCES:
                F_g[i * rows + FORCES + j] = slope_part(force, AXIS + j)


@inner
def ground_push(ints, numbers, k, g, gd):
    """(push, depth): positive while law k pushes; both zero at its kinks."""
    if out_of_reach(ints, numbers, k, g):
        kind, at, ground = _tables(ints, k)
        if kind == CAPSULES:
            away = math.sqrt(g[0].real * g[0].real + g[1].real * g[1].real + g[2].real * g[2].real)
            depth = numbers[at + RADIUS].real + numbers[at + OWN + 2].real - away
            depth += numbers[at + OWN + 3].real + numbers[at + OWN + 4].real
            return depth, depth
        if kind == GROUND_SPHERE and surface_int(ints, ground, S_KIND) == HULL:
            depth = -beside_hull(ints, numbers, ground, numbers[at + RADIUS], (g[0], g[1], g[2]))
            return depth, depth
        depth = surface_top(ints, numbers, ground) + numbers[at + RADIUS].real - g[2].real
        return depth, depth
    _, depth, share, _ = evaluated(ints, numbers, k, FORCES, g, gd, UNSEEDED)
    return min(depth.real, share), depth.real


@inner
def add_ground_numbers(ints, numbers, k, g, gd, power, gradient, n, lane):
    """gradient += sum of power_i dF_i by all numbers of law k and of its surface.

    g, gd, power : of its rows; gradient : slots of n lanes
    """
    if out_of_reach(ints, numbers, k, g):
        return
    kind, at, ground = _tables(ints, k)
    for first in range(0, TILT_Y + 1, SLOPES):
        forces, depth, _, place = evaluated(ints, numbers, k, FORCES, g, gd, first)
        if depth.real <= 0.0:
            return
        total = forces[0] * power[0]
        for i in range(1, FORCES):
            total = total + forces[i] * power[i]
        for i in range(first, min(first + SLOPES, LAW_NUMBERS)):
            gradient[(at + i) * n + lane] += slope_part(total, i - first)
        if first + SLOPES <= SHIFT or kind == CAPSULES:
            continue
        if kind == GROUND_SPHERE and surface_int(ints, ground, S_KIND) == HULL:
            add_hull_numbers(
                ints, numbers, ground, slope_part(total, SHIFT - first), slope_part(total, TILT_X - first),
                slope_part(total, TILT_Y - first), gradient, n, lane,
            )  # fmt: skip
        else:
            add_surface_numbers(
                ints, numbers, ground, place[0], place[1], slope_part(total, SHIFT - first),
                slope_part(total, TILT_X - first), slope_part(total, TILT_Y - first), gradient, n, lane,
            )  # fmt: skip
