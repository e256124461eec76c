"""An implicit step by fixed-point iteration on the accelerations: x := x(a(q, v)), no derivatives needed."""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.state_accelerations import DONE, NOT_CONVERGED, tree_accelerations
from mechgrad.kernels.jit import spliced
from mechgrad.steps.newmark.kernels.step import memory_of, scheme_state


@spliced
def fixed_point_step(mechanism, work, settings, states, before, after, h, t, scalar):
    """As `implicit_step`, without constraints. Returns (reason, iterations)."""
    scale = settings.beta * h * h
    new, solved = states.accelerations, states.solved
    for iteration in range(1, settings.max_iterations + 1):
        scheme_state(mechanism, settings, h, before, after, states.d)
        reason = tree_accelerations(mechanism, work, after.q, after.v, scalar * 0.0 + t, new, scalar)
        if reason != DONE:
            return reason, iteration
        size, x, a0, x0 = 0.0, after.x, before.a, before.x
        for j in range(new.size):
            memory = memory_of(settings, new, a0, x0, j)
            size += abs(scale * (memory - x[j])) ** 2
            x[j] = memory
        if math.sqrt(size) < settings.tolerance:
            scheme_state(mechanism, settings, h, before, after, states.d)
            for j in range(new.size):
                solved[j] = x[j]
            return DONE, iteration
    return NOT_CONVERGED, settings.max_iterations
