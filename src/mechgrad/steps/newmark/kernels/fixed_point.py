"""An implicit step by fixed-point iteration on the accelerations: x := x(a(q, v)), no derivatives needed."""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.accelerations import DONE, NOT_CONVERGED, tree_accelerations
from mechgrad.kernels.jit import spliced
from mechgrad.steps.newmark.kernels.step import scheme_state


@spliced
def fixed_point_step(T, w, p, h, t, q0, v0, a0, x0, q, v, a, x, d, new, solved, scalar):
    """As `implicit_step`, without constraints; `new`: room for accelerations. Returns (reason, iterations)."""
    n = v.size
    scale = p.beta * h * h
    for iteration in range(1, p.max_iterations + 1):
        scheme_state(T, p, h, q0, v0, a0, x0, x, q, v, a, d)
        reason = tree_accelerations(T, w, q, v, scalar * 0.0 + t, new, scalar)
        if reason != DONE:
            return reason, iteration
        size = 0.0
        for j in range(n):
            memory = ((1.0 - p.alpha_f) * new[j] + p.alpha_f * a0[j] - p.alpha_m * x0[j]) / (1.0 - p.alpha_m)
            size += abs(scale * (memory - x[j])) ** 2
            x[j] = memory
        if math.sqrt(size) < p.tolerance:
            scheme_state(T, p, h, q0, v0, a0, x0, x, q, v, a, d)
            for j in range(n):
                solved[j] = x[j]
            return DONE, iteration
    return NOT_CONVERGED, p.max_iterations
