"""Gradient by the numbers of a function of one argument: the coefficients and the start of the piece that is active.

    cubic       y = c0 + c1 s + c2 s^2 + c3 s^3,   s = x - start            harmonic    y = c0 + c1 sin(c2 x + c3)

Given are covectors of the value and of the first two derivatives by x.
"""

from __future__ import annotations

from mechgrad.kernels.elementary import sincos
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import extract, width
from mechgrad.model.mechanism import AT_FUNCTIONS, AT_PIECES, CUBIC, P_COEFFICIENT, P_KIND, P_START, PIECE


@inlined
def active_piece(ints, numbers, k, x):
    """Where the numbers of the piece of function k that holds at x begin."""
    low = ints[ints[AT_FUNCTIONS] + 2 * k]
    high = low + ints[ints[AT_FUNCTIONS] + 2 * k + 1]
    while high - low > 1:
        middle = (low + high) // 2
        if numbers[ints[AT_PIECES] + middle * PIECE + P_START].real <= x.real:
            low = middle
        else:
            high = middle
    return ints[AT_PIECES] + low * PIECE


@inner
def add_function(ints, numbers, k, argument, by_value, by_rate, by_second, gradient, scalar):
    """Add the gradient by the numbers of function k at `argument`, sample by sample."""
    n = width(scalar)
    for lane in range(n):
        x, f0, f1, f2 = (
            extract(argument, lane),
            extract(by_value, lane),
            extract(by_rate, lane),
            extract(by_second, lane),
        )
        o = active_piece(ints, numbers, k, x)
        c1, c2, c3 = numbers[o + P_COEFFICIENT + 1], numbers[o + P_COEFFICIENT + 2], numbers[o + P_COEFFICIENT + 3]
        if int(numbers[o + P_KIND].real) == CUBIC:
            s = x - numbers[o + P_START]
            rate, second, third = c1 + s * (2.0 * c2 + s * (3.0 * c3)), 2.0 * c2 + s * (6.0 * c3), 6.0 * c3
            gradient[(o + P_START) * n + lane] -= f0 * rate + f1 * second + f2 * third
            by_1, by_2, by_3 = (
                f0 * s + f1,
                (f0 * s + 2.0 * f1) * s + 2.0 * f2,
                ((f0 * s + 3.0 * f1) * s + 6.0 * f2) * s,
            )
        else:
            sine, cosine = sincos(c2 * x + c3)
            by_1 = (f0 - f2 * c2 * c2) * sine + f1 * c2 * cosine
            by_3 = c1 * ((f0 - f2 * c2 * c2) * cosine - f1 * c2 * sine)
            by_2 = by_3 * x + c1 * (f1 * cosine - 2.0 * f2 * c2 * sine)
        gradient[(o + P_COEFFICIENT) * n + lane] += f0
        gradient[(o + P_COEFFICIENT + 1) * n + lane] += by_1
        gradient[(o + P_COEFFICIENT + 2) * n + lane] += by_2
        gradient[(o + P_COEFFICIENT + 3) * n + lane] += by_3
