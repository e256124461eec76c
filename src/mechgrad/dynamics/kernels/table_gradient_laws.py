"""What laws do to s: the weights they put on the values and rates of their rows, and the gradient by their numbers.

A law's forces F(g, g', numbers) on its rows contribute sum_i (Gamma mu)_i F_i to s, hence

    W0_j += sum_i (Gamma mu)_i dF_i/dg_j        W1_j += sum_i (Gamma mu)_i dF_i/dg'_j

and to the law's own numbers sum_i (Gamma mu)_i dF_i/dnumber (`model.primitives.rows` has the formulas; a law in Python
has none).
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.ground_laws import add_ground_numbers
from mechgrad.dynamics.kernels.law_partials import law_acts
from mechgrad.dynamics.kernels.laws import (
    VISCOUS_OF_CONTACT,
    VISCOUS_OF_TYRE,
    law_int,
    law_number,
    viscous_normal,
)
from mechgrad.dynamics.kernels.table_gradient_functions import add_function
from mechgrad.dynamics.kernels.table_gradient_rows import add_to, virtual_rate
from mechgrad.kernels.elementary import tanh_of
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import extract, load, store, width
from mechgrad.kinematics.kernels.measures import evaluate
from mechgrad.model.mechanism import (
    AT_LAW_NUMBERS,
    L_FIRST,
    L_FUNCTION,
    L_KIND,
    L_ROWS,
    L_SECOND_FUNCTION,
    LAW_NUMBERS,
)
from mechgrad.model.primitives.rows import CONTACT, CURVE, FIRST_GROUND, FRICTION, MOTOR, SPRING, TYRE


@inner
def add_law_weights(mechanism, work, block, scalar):
    """Gamma mu of the rows of laws into rates_u, and what laws add to the weights w0 and w1 of their rows."""
    ints, most, y_g, y_gd = mechanism.ints, mechanism.law_width, work.y_g, work.y_gd
    rates_u, W0, W1 = block.rates_u, block.w0, block.w1
    near_laws = work.near_laws
    for near in range(near_laws[0]):
        k = near_laws[1 + near]
        first, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
        if not law_acts(ints, work.y, y_g, y_gd, k, scalar) and law_int(ints, k, L_KIND) >= FIRST_GROUND:
            for i in range(first, first + rows):
                store(rates_u, i, scalar * 0.0)
            continue
        for i in range(first, first + rows):
            store(rates_u, i, virtual_rate(mechanism, work, block, i, scalar))
        for j in range(rows):
            w0, w1 = load(W0, first + j, scalar), load(W1, first + j, scalar)
            for i in range(first, first + rows):
                power = load(rates_u, i, scalar)
                w0 = w0 + power * load(y_g, i * most + j, scalar)
                w1 = w1 + power * load(y_gd, i * most + j, scalar)
            store(W0, first + j, w0)
            store(W1, first + j, w1)


@inlined
def _sample(values, row, lane, scalar):
    return extract(load(values, row, scalar), lane)


@inner
def _add_normal(ints, numbers, k, viscous, g, gd, by_push, gradient, n, lane):
    """gradient += by_push dN by the numbers of N (`laws`); returns N."""
    zero, depth, approach = g * 0.0, -g, -gd
    if depth.real <= 0.0:
        return zero
    o = ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS
    factor = 1.0 + law_number(ints, numbers, k, 1) * approach
    stiffness, power = law_number(ints, numbers, k, 0), depth ** law_number(ints, numbers, k, 2)
    elastic = stiffness * power
    compression, restitution = law_number(ints, numbers, k, viscous), law_number(ints, numbers, k, viscous + 1)
    onset, change = law_number(ints, numbers, k, viscous + 2), law_number(ints, numbers, k, viscous + 3)
    V, _, _ = viscous_normal(compression, restitution, onset, change, depth, approach)
    normal = elastic * factor + V
    if normal.real <= 0.0:
        return zero
    turn, u = tanh_of(approach / change), depth / onset
    s, s_u = zero + 1.0, zero
    if u.real < 1.0:
        s, s_u = u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u)
    half = 0.5 * (compression - restitution)
    gradient[o * n + lane] += by_push * power * factor
    gradient[(o + 1) * n + lane] += by_push * elastic * approach
    gradient[(o + 2) * n + lane] += by_push * elastic * factor * np.log(depth)
    gradient[(o + viscous) * n + lane] += by_push * 0.5 * (1.0 + turn) * approach * s
    gradient[(o + viscous + 1) * n + lane] += by_push * 0.5 * (1.0 - turn) * approach * s
    by_onset = (restitution + half * (1.0 + turn)) * approach * s_u * u / onset
    gradient[(o + viscous + 2) * n + lane] -= by_push * by_onset
    by_change = half * (1.0 - turn * turn) * approach * approach * s / (change * change)
    gradient[(o + viscous + 3) * n + lane] -= by_push * by_change
    return normal


@inner
def _contact_numbers(ints, numbers, k, rows, lane, values, rates, rates_u, gradient, scalar):
    n, first, o = width(scalar), law_int(ints, k, L_FIRST), ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS
    g, gd = _sample(values, first, lane, scalar), _sample(rates, first, lane, scalar)
    by_push = -_sample(rates_u, first, lane, scalar)
    if rows != 3:
        _add_normal(ints, numbers, k, VISCOUS_OF_CONTACT, g, gd, by_push, gradient, n, lane)
        return
    mu, speed = law_number(ints, numbers, k, 3), law_number(ints, numbers, k, 4)
    s1, s2 = _sample(rates, first + 1, lane, scalar), _sample(rates, first + 2, lane, scalar)
    u1, u2 = _sample(rates_u, first + 1, lane, scalar), _sample(rates_u, first + 2, lane, scalar)
    inverse = 1.0 / np.sqrt(s1 * s1 + s2 * s2 + speed * speed)
    share = (u1 * s1 + u2 * s2) * inverse
    normal = _add_normal(ints, numbers, k, VISCOUS_OF_CONTACT, g, gd, by_push + mu * share, gradient, n, lane)
    gradient[(o + 3) * n + lane] += normal * share
    gradient[(o + 4) * n + lane] -= mu * normal * share * speed * inverse * inverse


@inner
def _tyre_numbers(ints, numbers, k, lane, values, rates, rates_u, gradient, scalar):
    n, first, o = width(scalar), law_int(ints, k, L_FIRST), ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS
    by_push = -_sample(rates_u, first, lane, scalar)
    forward, speed = _sample(rates, first + 3, lane, scalar), law_number(ints, numbers, k, 7)
    U = np.sqrt(forward * forward + speed * speed)
    for i in range(1, 3):
        mu, critical = law_number(ints, numbers, k, 2 + i), law_number(ints, numbers, k, 4 + i)
        slip = _sample(rates, first + i, lane, scalar) / (critical * U)
        by_push += _sample(rates_u, first + i, lane, scalar) * mu * np.tanh(slip)
    g, gd = _sample(values, first, lane, scalar), _sample(rates, first, lane, scalar)
    normal = _add_normal(ints, numbers, k, VISCOUS_OF_TYRE, g, gd, by_push, gradient, n, lane)
    for i in range(1, 3):
        power = _sample(rates_u, first + i, lane, scalar)
        mu, critical = law_number(ints, numbers, k, 2 + i), law_number(ints, numbers, k, 4 + i)
        slip = _sample(rates, first + i, lane, scalar) / (critical * U)
        share = np.tanh(slip)
        by_slip = power * mu * normal * (1.0 - share * share)
        gradient[(o + 2 + i) * n + lane] += power * normal * share
        gradient[(o + 4 + i) * n + lane] -= by_slip * slip / critical
        gradient[(o + 7) * n + lane] -= by_slip * slip * speed / (U * U)


@inlined
def _nine(values, first, rows, lane, scalar):
    """Samples of nine rows of a law, of which those that it does not have are others."""
    a, b, c = first, first + 3, first + rows - 3
    return (
        _sample(values, a, lane, scalar), _sample(values, a + 1, lane, scalar), _sample(values, a + 2, lane, scalar),
        _sample(values, b, lane, scalar), _sample(values, b + 1, lane, scalar), _sample(values, b + 2, lane, scalar),
        _sample(values, c, lane, scalar), _sample(values, c + 1, lane, scalar), _sample(values, c + 2, lane, scalar),
    )  # fmt: skip


@inlined
def _friction_numbers(ints, numbers, k, lane, rates, rates_u, gradient, scalar):
    n, first, o = width(scalar), law_int(ints, k, L_FIRST), ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS
    coulomb, speed = law_number(ints, numbers, k, 0), law_number(ints, numbers, k, 2)
    gd, power = _sample(rates, first, lane, scalar), _sample(rates_u, first, lane, scalar)
    share = np.tanh(gd / speed)
    gradient[o * n + lane] += power * share
    gradient[(o + 1) * n + lane] += power * gd
    gradient[(o + 2) * n + lane] -= power * coulomb * (1.0 - share * share) * gd / (speed * speed)


@inner
def add_law_numbers(ints, numbers, near_laws, t, values, rates, rates_u, gradient, scalar):
    """Gradient by the numbers and functions of all laws; rates_u holds Gamma mu of their rows."""
    zero = scalar * 0.0
    for near in range(near_laws[0]):
        k = near_laws[1 + near]
        kind, first, rows = law_int(ints, k, L_KIND), law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
        o, power = ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS, load(rates_u, first, scalar)
        function, second = law_int(ints, k, L_FUNCTION), law_int(ints, k, L_SECOND_FUNCTION)
        if kind == SPRING:
            add_to(gradient, o, power * (load(values, first, scalar) - law_number(ints, numbers, k, 2)), scalar)
            add_to(gradient, o + 1, power * load(rates, first, scalar), scalar)
            add_to(gradient, o + 2, power * law_number(ints, numbers, k, 0) * -1.0, scalar)
        elif kind == CURVE:
            if function >= 0:
                x = load(values, first, scalar) - law_number(ints, numbers, k, 0)
                add_function(ints, numbers, function, x, power, zero, zero, gradient, scalar)
                _, slope, _ = evaluate(ints, numbers, function, x, scalar)
                add_to(gradient, o, power * slope * -1.0, scalar)
            if second >= 0:
                add_function(ints, numbers, second, load(rates, first, scalar), power, zero, zero, gradient, scalar)
        elif kind == MOTOR:
            add_function(ints, numbers, function, t, power * -1.0, zero, zero, gradient, scalar)
        elif kind in (FRICTION, CONTACT, TYRE) or kind >= FIRST_GROUND:
            for lane in range(width(scalar)):
                if kind >= FIRST_GROUND:
                    add_ground_numbers(
                        ints, numbers, k, _nine(values, first, rows, lane, scalar),
                        _nine(rates, first, rows, lane, scalar), _nine(rates_u, first, rows, lane, scalar), gradient,
                        width(scalar), lane,
                    )  # fmt: skip
                elif kind == FRICTION:
                    _friction_numbers(ints, numbers, k, lane, rates, rates_u, gradient, scalar)
                elif kind == CONTACT:
                    _contact_numbers(ints, numbers, k, rows, lane, values, rates, rates_u, gradient, scalar)
                else:
                    _tyre_numbers(ints, numbers, k, lane, values, rates, rates_u, gradient, scalar)
