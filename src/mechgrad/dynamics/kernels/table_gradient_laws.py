"""What laws do to s: the weights they put on the values and rates of their rows, and the gradient by their numbers.

A law's forces F(g, g', numbers) on its rows contribute sum_i (Gamma mu)_i F_i to s, hence

    W0_j += sum_i (Gamma mu)_i dF_i/dg_j        W1_j += sum_i (Gamma mu)_i dF_i/dg'_j

and to the law's own numbers sum_i (Gamma mu)_i dF_i/dnumber (`model.primitives.rows` has the formulas; a law in Python
has none).
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.laws import law_int, law_number
from mechgrad.dynamics.kernels.table_gradient_functions import add_function
from mechgrad.dynamics.kernels.table_gradient_rows import add_to, virtual_rate
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
    N_LAWS,
)
from mechgrad.model.primitives.rows import CONTACT, CURVE, FRICTION, MOTOR, SPRING, TYRE


@inner
def add_law_weights(mechanism, work, block, scalar):
    """Gamma mu of the rows of laws into rates_u, and what laws add to the weights w0 and w1 of their rows."""
    ints, most, y_g, y_gd = mechanism.ints, mechanism.law_width, work.y_g, work.y_gd
    rates_u, W0, W1 = block.rates_u, block.w0, block.w1
    for k in range(mechanism.n_laws):
        first, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
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


@inlined
def _normal(ints, numbers, k, g, gd):
    """Contact force N = K d^n (1 + D d') of the penetration d = -g, and its partials by K, D and n."""
    zero = g * 0.0
    depth = -g
    factor = 1.0 - law_number(ints, numbers, k, 1) * gd
    if depth.real <= 0.0 or factor.real <= 0.0:
        return zero, zero, zero, zero
    stiffness, power = law_number(ints, numbers, k, 0), depth ** law_number(ints, numbers, k, 2)
    normal = stiffness * power * factor
    return normal, power * factor, -(stiffness * power * gd), normal * np.log(depth)


@inner
def _contact_numbers(ints, numbers, k, rows, lane, values, rates, rates_u, gradient, scalar):
    n, first, o = width(scalar), law_int(ints, k, L_FIRST), ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS
    normal, by_K, by_D, by_n = _normal(
        ints, numbers, k, _sample(values, first, lane, scalar), _sample(rates, first, lane, scalar)
    )  # fmt: skip
    by_push = -_sample(rates_u, first, lane, scalar)
    if rows == 3:
        mu, speed = law_number(ints, numbers, k, 3), law_number(ints, numbers, k, 4)
        s1, s2 = _sample(rates, first + 1, lane, scalar), _sample(rates, first + 2, lane, scalar)
        u1, u2 = _sample(rates_u, first + 1, lane, scalar), _sample(rates_u, first + 2, lane, scalar)
        inverse = 1.0 / np.sqrt(s1 * s1 + s2 * s2 + speed * speed)
        share = (u1 * s1 + u2 * s2) * inverse
        by_push += mu * share
        gradient[(o + 3) * n + lane] += normal * share
        gradient[(o + 4) * n + lane] -= mu * normal * share * speed * inverse * inverse
    gradient[o * n + lane] += by_push * by_K
    gradient[(o + 1) * n + lane] += by_push * by_D
    gradient[(o + 2) * n + lane] += by_push * by_n


@inner
def _tyre_numbers(ints, numbers, k, lane, values, rates, rates_u, gradient, scalar):
    n, first, o = width(scalar), law_int(ints, k, L_FIRST), ints[AT_LAW_NUMBERS] + k * LAW_NUMBERS
    normal, by_K, by_D, by_n = _normal(
        ints, numbers, k, _sample(values, first, lane, scalar), _sample(rates, first, lane, scalar)
    )  # fmt: skip
    by_push = -_sample(rates_u, first, lane, scalar)
    forward, speed = _sample(rates, first + 3, lane, scalar), law_number(ints, numbers, k, 7)
    U = np.sqrt(forward * forward + speed * speed)
    for i in range(1, 3):
        power = _sample(rates_u, first + i, lane, scalar)
        mu, critical = law_number(ints, numbers, k, 2 + i), law_number(ints, numbers, k, 4 + i)
        slip = _sample(rates, first + i, lane, scalar) / (critical * U)
        share = np.tanh(slip)
        by_slip = power * mu * normal * (1.0 - share * share)
        by_push += power * mu * share
        gradient[(o + 2 + i) * n + lane] += power * normal * share
        gradient[(o + 4 + i) * n + lane] -= by_slip * slip / critical
        gradient[(o + 7) * n + lane] -= by_slip * slip * speed / (U * U)
    gradient[o * n + lane] += by_push * by_K
    gradient[(o + 1) * n + lane] += by_push * by_D
    gradient[(o + 2) * n + lane] += by_push * by_n


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
def add_law_numbers(ints, numbers, t, values, rates, rates_u, gradient, scalar):
    """Gradient by the numbers and functions of all laws; rates_u holds Gamma mu of their rows."""
    zero = scalar * 0.0
    for k in range(ints[N_LAWS]):
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
        elif kind in (FRICTION, CONTACT, TYRE):
            for lane in range(width(scalar)):
                if kind == FRICTION:
                    _friction_numbers(ints, numbers, k, lane, rates, rates_u, gradient, scalar)
                elif kind == CONTACT:
                    _contact_numbers(ints, numbers, k, rows, lane, values, rates, rates_u, gradient, scalar)
                else:
                    _tyre_numbers(ints, numbers, k, lane, values, rates, rates_u, gradient, scalar)
