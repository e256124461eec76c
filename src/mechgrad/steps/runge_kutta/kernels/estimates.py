"""Estimates of a step of the method of order eight, beside its tolerance."""

from __future__ import annotations

import numpy as np

from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import load

ESTIMATED = 13  # stages of a step and the derivative at its end: what estimates are made of
THIRD = 0.01  # weight of the square of the estimate of order three
SMALL = 0.01  # components of a derivative count as no smaller than that part of the largest
NOTHING = 1e-300


@inner
def error_of_step(stages, task, step, n, scalar):
    """Estimated error of a step beside the tolerance."""
    y, end, K, E3, E5, rtol, atol = (
        stages.y, stages.end, stages.K, task.tableau.E3, task.tableau.E5, task.rtol, task.atol,
    )  # fmt: skip
    five, three = 0.0, 0.0
    for j in range(n):
        x5, x3 = scalar * 0.0, scalar * 0.0
        for m in range(ESTIMATED):
            k = load(K, m * n + j, scalar)
            x5 = x5 + k * E5[m]
            x3 = x3 + k * E3[m]
        size = atol + rtol * max(abs(load(y, j, scalar)), abs(load(end, j, scalar)))
        five += (abs(x5) / size) ** 2
        three += (abs(x3) / size) ** 2
    scale = five + THIRD * three
    return abs(step) * five / np.sqrt(scale * n) if scale > 0.0 else 0.0


@inner
def error_of_rates(K, tableau, rtol, n_q, n, scalar):
    """Estimated error of the mean derivative over a step beside the derivative's own size: of velocities and of
    accelerations, each component and at least a hundredth of the largest."""
    E3, E5 = tableau.E3, tableau.E5
    largest_q, largest_v = NOTHING, NOTHING
    for m in range(ESTIMATED):
        for j in range(n_q):
            largest_q = max(largest_q, abs(load(K, m * n + j, scalar)))
        for j in range(n_q, n):
            largest_v = max(largest_v, abs(load(K, m * n + j, scalar)))
    five, three = 0.0, 0.0
    for j in range(n):
        x5, x3, size = scalar * 0.0, scalar * 0.0, SMALL * (largest_q if j < n_q else largest_v)
        for m in range(ESTIMATED):
            k = load(K, m * n + j, scalar)
            x5 = x5 + k * E5[m]
            x3 = x3 + k * E3[m]
            size = max(size, abs(k))
        five += (abs(x5) / (rtol * size)) ** 2
        three += (abs(x3) / (rtol * size)) ** 2
    scale = five + THIRD * three
    return five / np.sqrt(scale * n) if scale > 0.0 else 0.0


@inner
def correction(before, y, task, n):
    """How far a state was corrected, beside the tolerance."""
    largest, rtol, atol = 0.0, task.rtol, task.atol
    for j in range(n):
        largest = max(largest, abs(y[j].real - before[j].real) / (atol + rtol * abs(y[j].real)))
    return largest


@inner
def moved(Q, V, row, y, task):
    """`correction` of the state in a row of Q and V."""
    largest, n_q, rtol, atol = 0.0, Q.shape[1], task.rtol, task.atol
    for j in range(n_q):
        largest = max(largest, abs(y[j].real - Q[row, j].real) / (atol + rtol * abs(y[j].real)))
    for j in range(V.shape[1]):
        largest = max(largest, abs(y[n_q + j].real - V[row, j].real) / (atol + rtol * abs(y[n_q + j].real)))
    return largest
