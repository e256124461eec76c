"""Multipliers of a point from gradients alone, for solvers that tell none."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

from mechgrad.optimization.solvers.monitor import Monitor
from mechgrad.optimization.solvers.result import Multipliers
from mechgrad.typing import FloatArray

NEAR = 1e-6  # a bound counts as active within so much of its value


def dense_jacobian(monitor: Monitor, x: FloatArray) -> FloatArray:
    """c_x as a matrix (m, n)."""
    dense = np.zeros((monitor.program.m, monitor.program.n))
    dense[monitor.program.jacobian_structure] = monitor.jacobian(x)
    return dense


def active_multipliers(monitor: Monitor, x: FloatArray) -> Multipliers:
    """Least squares of f_x + c_x^T lam + z over the active bounds, with the signs of their sides."""
    p = monitor.program
    c = monitor.values(x)[1]
    slopes = np.concatenate([dense_jacobian(monitor, x), np.eye(p.n)])
    values, low, high = np.concatenate([c, x]), np.concatenate([p.cl, p.lb]), np.concatenate([p.cu, p.ub])
    near = NEAR * np.maximum(1.0, np.abs(values))
    at_low, at_high = values - low <= near, high - values <= near
    active = np.flatnonzero(at_low | at_high)
    multipliers = np.zeros(p.m + p.n)
    if len(active):
        sides = (np.where(at_low[active], -np.inf, 0.0), np.where(at_high[active], np.inf, 0.0))
        multipliers[active] = lsq_linear(slopes[active].T, -monitor.gradient(x), bounds=sides, tol=1e-12).x
    return Multipliers(multipliers[: p.m], multipliers[p.m :])


def lagrangian_slope(monitor: Monitor, x: FloatArray, multipliers: Multipliers) -> FloatArray:
    """f_x + c_x^T lam + z (n,), zero at an optimum."""
    return monitor.gradient(x) + dense_jacobian(monitor, x).T @ multipliers.constraints + multipliers.bounds
