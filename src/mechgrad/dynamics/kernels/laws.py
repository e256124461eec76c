"""Forces on rows from their values and rates, with partials (`model.primitives.rows` has the formulas)."""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.ground_laws import ground_law, plain_ground_law
from mechgrad.dynamics.kernels.user_laws import call_law
from mechgrad.kernels.elementary import magnitude, tanh_of
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import any_not_less, extract, insert, load, store, width
from mechgrad.kinematics.kernels.measures import evaluate
from mechgrad.model.mechanism import (
    AT_LAW_NUMBERS,
    AT_LAWS,
    L_FIRST,
    L_FUNCTION,
    L_KIND,
    L_ROWS,
    L_SECOND_FUNCTION,
    L_USER,
    LAW,
    LAW_NUMBERS,
    LAW_WIDTH,
)
from mechgrad.model.primitives.rows import CONTACT, CURVE, FAR, FIRST_GROUND, FRICTION, MOTOR, SPRING, TYRE

VISCOUS_OF_CONTACT, VISCOUS_OF_TYRE = 5, 8  # where the numbers of Kelvin-Voigt damping begin


@inlined
def law_int(ints, k, what):
    """An integer of law k."""
    return ints[ints[AT_LAWS] + k * LAW + what]


@inlined
def law_number(ints, numbers, k, what):
    """A number of law k."""
    return numbers[ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS + what]


@inner
def viscous_normal(compression, restitution, onset, change, depth, approach):
    """Kelvin-Voigt part of a contact force, V = c(d') d' s(d), with V_d and V_d' (`model.primitives.rows`)."""
    turn = tanh_of(approach / change)
    half = 0.5 * (compression - restitution)
    c, c_rate = restitution + half * (1.0 + turn), half * (1.0 - turn * turn) / change
    u = depth / onset
    if u.real >= 1.0:
        return c * approach, depth * 0.0, c + approach * c_rate
    s = u * u * (3.0 - 2.0 * u)
    return c * approach * s, c * approach * 6.0 * u * (1.0 - u) / onset, (c + approach * c_rate) * s


@inner
def _normal(ints, numbers, k, viscous, g, gd):
    """Contact force N = K d^n (1 + D d') + V, d = -g, d' = -g', and its partials by g and g'; never pulls.

    viscous : the first number of law k that V has
    """
    zero, depth = g * 0.0, -g
    if depth.real <= 0.0:
        return zero, zero, zero
    K, D, n = law_number(ints, numbers, k, 0), law_number(ints, numbers, k, 1), law_number(ints, numbers, k, 2)
    power = depth ** (n - 1.0)
    factor = 1.0 - D * gd
    elastic = K * power * depth
    N, N_g, N_gd = elastic * factor, -(n * K * power * factor), -(elastic * D)
    compression, restitution = law_number(ints, numbers, k, viscous), law_number(ints, numbers, k, viscous + 1)
    if compression != 0.0 or restitution != 0.0:
        onset, change = law_number(ints, numbers, k, viscous + 2), law_number(ints, numbers, k, viscous + 3)
        V, V_d, V_rate = viscous_normal(compression, restitution, onset, change, depth, -gd)
        N, N_g, N_gd = N + V, N_g - V_d, N_gd - V_rate
    if N.real <= 0.0:
        return zero, zero, zero
    return N, N_g, N_gd


@inner
def contact_push(ints, numbers, k, g, gd):
    """(push, depth) of a law CONTACT or TYRE: push is positive while it pushes, and zero at its kinks."""
    depth = -g.real
    share = 1.0 - (law_number(ints, numbers, k, 1) * gd).real
    viscous = VISCOUS_OF_CONTACT if law_int(ints, k, L_KIND) == CONTACT else VISCOUS_OF_TYRE
    compression, restitution = (
        law_number(ints, numbers, k, viscous).real,
        law_number(ints, numbers, k, viscous + 1).real,
    )
    if depth > 0.0 and (compression != 0.0 or restitution != 0.0):
        onset, change = law_number(ints, numbers, k, viscous + 2).real, law_number(ints, numbers, k, viscous + 3).real
        V, _, _ = viscous_normal(compression, restitution, onset, change, depth, -gd.real)
        share += V / (law_number(ints, numbers, k, 0).real * depth ** law_number(ints, numbers, k, 2).real)
    return min(depth, share), depth


@inner
def _contact(ints, numbers, k, rows, g, gd, F, F_g, F_gd):
    normal, normal_g, normal_d = _normal(ints, numbers, k, VISCOUS_OF_CONTACT, g[0], gd[0])
    F[0], F_g[0], F_gd[0] = -normal, -normal_g, -normal_d
    if rows == 3:
        mu, speed = law_number(ints, numbers, k, 3), law_number(ints, numbers, k, 4)
        inverse = 1.0 / np.sqrt(gd[1] * gd[1] + gd[2] * gd[2] + speed * speed)
        for i in range(1, 3):
            share = mu * gd[i] * inverse
            F[i], F_g[3 * i], F_gd[3 * i] = normal * share, normal_g * share, normal_d * share
            for j in range(1, 3):
                F_gd[3 * i + j] = -(normal * share * gd[j] * inverse * inverse)
            F_gd[4 * i] += mu * normal * inverse


@inner
def _tyre(ints, numbers, k, g, gd, F, F_g, F_gd):
    normal, normal_g, normal_d = _normal(ints, numbers, k, VISCOUS_OF_TYRE, g[0], gd[0])
    F[0], F_g[0], F_gd[0] = -normal, -normal_g, -normal_d
    speed = law_number(ints, numbers, k, 7)
    U = np.sqrt(gd[3] * gd[3] + speed * speed)
    for i in range(1, 3):
        mu, critical = law_number(ints, numbers, k, 2 + i), law_number(ints, numbers, k, 4 + i)
        slip = gd[i] / (critical * U)
        share = tanh_of(slip)
        slope = 1.0 - share * share
        F[i], F_g[4 * i], F_gd[4 * i] = mu * normal * share, mu * normal_g * share, mu * normal_d * share
        F_gd[5 * i] = mu * normal * slope / (critical * U)
        F_gd[4 * i + 3] = -(mu * normal * slope * slip * gd[3] / (U * U))


@inner
def one_law(ints, numbers, k, t, rows, g, gd, F, F_g, F_gd, partials):
    """Law k, not a SPRING: forces F (rows) and partials F_g, F_gd (rows x rows, row by row), scalars of one sample.
    Where `partials` is None, laws of the ground have none."""
    kind = law_int(ints, k, L_KIND)
    for i in range(rows):
        F[i] = 0.0
    if partials is not None:
        for i in range(rows * rows):
            F_g[i] = 0.0
            F_gd[i] = 0.0
    if kind == CURVE:
        if law_int(ints, k, L_FUNCTION) >= 0:
            x = g[0] - law_number(ints, numbers, k, 0)
            f, fd, _ = evaluate(ints, numbers, law_int(ints, k, L_FUNCTION), x, x)
            F[0] += f
            F_g[0] = fd
        if law_int(ints, k, L_SECOND_FUNCTION) >= 0:
            f, fd, _ = evaluate(ints, numbers, law_int(ints, k, L_SECOND_FUNCTION), gd[0], gd[0])
            F[0] += f
            F_gd[0] = fd
    elif kind == MOTOR:
        f, _, _ = evaluate(ints, numbers, law_int(ints, k, L_FUNCTION), g[0] * 0.0 + t, g[0])
        F[0] = -f
    elif kind == FRICTION:
        share = tanh_of(gd[0] / law_number(ints, numbers, k, 2))
        F[0] = law_number(ints, numbers, k, 0) * share + law_number(ints, numbers, k, 1) * gd[0]
        F_gd[0] = law_number(ints, numbers, k, 0) * (1.0 - share * share) / law_number(
            ints, numbers, k, 2
        ) + law_number(ints, numbers, k, 1)
    elif kind == CONTACT:
        _contact(ints, numbers, k, rows, g, gd, F, F_g, F_gd)
    elif kind == TYRE:
        _tyre(ints, numbers, k, g, gd, F, F_g, F_gd)
    elif kind >= FIRST_GROUND:
        if partials is None:
            plain_ground_law(ints, numbers, k, rows, g, gd, F)
        if partials is not None:
            ground_law(ints, numbers, k, rows, g, gd, F, F_g, F_gd)
    else:
        call_law(
            law_int(ints, k, L_USER), rows, t, g.ctypes.data, gd.ctypes.data, F.ctypes.data, F_g.ctypes.data,
            F_gd.ctypes.data, 1 if g.itemsize == 16 else 0,
        )  # fmt: skip


@inner
def let_go(y, y_g, y_gd, first, rows, most, scalar):
    """No force on rows, nor partials, which were none already where there was no force."""
    total, zero = scalar * 0.0, scalar * 0.0
    for i in range(first, first + rows):
        total = total + magnitude(load(y, i, scalar))
    if any_not_less(total, 1e-300):
        for i in range(first, first + rows):
            store(y, i, zero)
            for j in range(i * most, i * most + rows):
                store(y_g, j, zero)
                store(y_gd, j, zero)


@inner
def apply_laws(ints, numbers, work, t, partials, scalar):
    """Forces of all laws into the slots of their rows in y; partials into slots (row, row within the law), unless
    `partials` is None: those are then left as they are.

    numbers: those of the mechanism, or others in their place; work: a reference to a `system.Work`.
    """
    values, rates, y, y_g, y_gd = work.values, work.rates, work.y, work.y_g, work.y_gd
    g, gd, F, F_g, F_gd = work.law_g, work.law_gd, work.law_F, work.law_F_g, work.law_F_gd
    most = ints[LAW_WIDTH]
    near_laws = work.near_laws
    for near in range(near_laws[0]):
        k = near_laws[1 + near]
        first, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
        if law_int(ints, k, L_KIND) == SPRING:  # the commonest law, without a detour through samples
            stiffness, damping = law_number(ints, numbers, k, 0), law_number(ints, numbers, k, 1)
            stretch = load(values, first, scalar) - law_number(ints, numbers, k, 2)
            store(y, first, stretch * stiffness + load(rates, first, scalar) * damping)
            store(y_g, first * most, scalar * 0.0 + stiffness)
            store(y_gd, first * most, scalar * 0.0 + damping)
            continue
        if law_int(ints, k, L_KIND) >= FIRST_GROUND and not any_not_less(FAR * 0.5 - load(values, first, scalar), 0.0):
            let_go(y, y_g, y_gd, first, rows, most, scalar)
            continue
        for lane in range(width(scalar)):
            for i in range(rows):
                g[i], gd[i] = (
                    extract(load(values, first + i, scalar), lane),
                    extract(load(rates, first + i, scalar), lane),
                )
            one_law(ints, numbers, k, extract(t, lane).real, rows, g, gd, F, F_g, F_gd, partials)
            for i in range(rows):
                store(y, first + i, insert(load(y, first + i, scalar), lane, F[i]))
                if partials is not None:
                    for j in range(rows):
                        at = (first + i) * most + j
                        store(y_g, at, insert(load(y_g, at, scalar), lane, F_g[i * rows + j]))
                        store(y_gd, at, insert(load(y_gd, at, scalar), lane, F_gd[i * rows + j]))
