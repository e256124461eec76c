"""Estimates of a step of the method of order eight, beside its tolerance."""

from __future__ import annotations

import numpy as np

from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import load


@inner
def error_of_step(y, new, K, E3, E5, rtol, atol, step, n, scalar):
    """Estimated error of a step beside the tolerance."""
    five, three = 0.0, 0.0
    for j in range(n):
        x5, x3 = scalar * 0.0, scalar * 0.0
        for m in range(13):
            k = load(K, m * n + j, scalar)
            x5 = x5 + k * E5[m]
            x3 = x3 + k * E3[m]
        size = atol + rtol * max(abs(load(y, j, scalar)), abs(load(new, j, scalar)))
        five += (abs(x5) / size) ** 2
        three += (abs(x3) / size) ** 2
    scale = five + 0.01 * three
    return abs(step) * five / np.sqrt(scale * n) if scale > 0.0 else 0.0


@inner
def error_of_rates(K, E3, E5, rtol, n_q, n, scalar):
    """Estimated error of the mean derivative over a step beside the derivative's own size: of velocities and of
    accelerations, each component and at least a hundredth of the largest."""
    largest_q, largest_v = 1e-300, 1e-300
    for m in range(13):
        for j in range(n_q):
            largest_q = max(largest_q, abs(load(K, m * n + j, scalar)))
        for j in range(n_q, n):
            largest_v = max(largest_v, abs(load(K, m * n + j, scalar)))
    five, three = 0.0, 0.0
    for j in range(n):
        x5, x3, size = scalar * 0.0, scalar * 0.0, 0.01 * (largest_q if j < n_q else largest_v)
        for m in range(13):
            k = load(K, m * n + j, scalar)
            x5 = x5 + k * E5[m]
            x3 = x3 + k * E3[m]
            size = max(size, abs(k))
        five += (abs(x5) / (rtol * size)) ** 2
        three += (abs(x3) / (rtol * size)) ** 2
    scale = five + 0.01 * three
    return five / np.sqrt(scale * n) if scale > 0.0 else 0.0


@inner
def correction(before, y, rtol, atol, n):
    """How far a state was corrected, beside the tolerance."""
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(y[j].real - before[j].real) / (atol + rtol * abs(y[j].real)))
    return largest


@inner
def moved(Q, V, row, y, rtol, atol):
    """`correction` of the state in a row of Q and V."""
    largest, n_q = 0.0, Q.shape[1]
    for j in range(n_q):
        largest = max(largest, abs(y[j].real - Q[row, j].real) / (atol + rtol * abs(y[j].real)))
    for j in range(V.shape[1]):
        largest = max(largest, abs(y[n_q + j].real - V[row, j].real) / (atol + rtol * abs(y[n_q + j].real)))
    return largest
