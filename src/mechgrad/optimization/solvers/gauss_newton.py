"""Gauss-Newton steps from residuals and their derivatives: scipy's trust region within bounds, ours between planes.

With linear constraints every step is the least squares problem

    min |J d + r|^2 + damping |d|^2     subject to   lb <= x + d <= ub,  cl <= A (x + d) <= cu

(Levenberg and Marquardt; damping by the ratio of what f falls by and what was expected, Nielsen 1999). All points on
the way hold the constraints: a mechanism that they keep together stays together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.optimize import least_squares

from mechgrad.errors import InputError
from mechgrad.optimization.solvers.active_multipliers import active_multipliers, dense_jacobian
from mechgrad.optimization.solvers.adapter import Outcome, Task
from mechgrad.optimization.solvers.bad_points import PATIENCE
from mechgrad.optimization.solvers.monitor import BadNumberError, HessianKind, Monitor
from mechgrad.optimization.solvers.planes import least_squares_within, sides
from mechgrad.typing import FloatArray

FIRST_DAMPING = 1e-3  # of the largest diagonal entry of J^T J


@final
@dataclass(frozen=True)
class GaussNewton:
    """Least squares f = r . r / 2 within bounds (trust region reflective) and linear constraints (damped steps).

    Choose it for programs that state their residuals: identification from data, paths of linkages. Avoid it where
    anything but bounds and linear constraints has to hold.
    """

    name: str = "least-squares"
    hessians: tuple[HessianKind, ...] = ("lbfgs",)

    def missing(self) -> str:
        """Nothing: scipy is always there."""
        return ""

    def run(self, task: Task) -> Outcome:
        """Solve."""
        program = task.monitor.program
        if program.residuals is None or not program.linear.all():
            bent = int((~program.linear).sum())
            what = f"there are {bent} constraints that are not linear" if bent else "the objective is no sum of squares"
            raise InputError(
                f"least-squares minimises sums of squares within bounds and linear constraints, and {what}. Choose "
                "slsqp or ipopt."
            )
        return _between_planes(task) if program.m else _within_bounds(task)


def _within_bounds(task: Task) -> Outcome:
    """By scipy's trust region."""
    monitor, program = task.monitor, task.monitor.program
    count, last = -1, np.zeros(0)

    def residuals(x: FloatArray) -> FloatArray:
        nonlocal last
        try:
            last = monitor.residuals(x)
        except BadNumberError:
            if not len(last):
                raise
            return np.full(len(last), np.nan)  # the trust region becomes smaller
        return last

    def jacobian(x: FloatArray) -> FloatArray:  # asked for once at every accepted point
        nonlocal count
        count += 1
        monitor.iterate(count, x)
        return monitor.residual_jacobian(x)

    given: dict[str, Any] = {
        "ftol": None,
        "gtol": task.tolerance,
        "xtol": _smallest_step(task),
        "max_nfev": task.max_iterations,
        **task.options,
    }
    result = least_squares(
        residuals, np.clip(task.x0, program.lb, program.ub), jacobian, (program.lb, program.ub), "trf", **given
    )
    x = np.clip(np.asarray(result.x, float), program.lb, program.ub)
    multipliers = active_multipliers(monitor, x)
    if result.status == 0:
        reason = f"iteration limit: not converged after {result.nfev} evaluations"
        return Outcome(x, multipliers, "iteration limit", reason, max(count, 0))
    return Outcome(x, multipliers, "converged", "converged", max(count, 0))


def _smallest_step(task: Task) -> float:
    return float(min(task.tolerance, 1e-8) ** 1.5)


def _between_planes(task: Task) -> Outcome:
    """Damped Gauss-Newton steps that hold bounds and linear constraints."""
    if task.options:
        raise InputError(f"least-squares with linear constraints takes no options, and got {', '.join(task.options)}.")
    monitor, n = task.monitor, task.monitor.program.n
    start = np.clip(task.x0, monitor.program.lb, monitor.program.ub)
    inside = least_squares_within(np.eye(n), np.zeros(n), *_sides(monitor, start))
    if inside is None:
        reason = "no point meets all bounds and linear constraints together"
        return Outcome(start, active_multipliers(monitor, start), "infeasible", reason, 0)
    x = _clipped(monitor, start + inside)
    r, J = monitor.residuals(x), monitor.residual_jacobian(x)
    monitor.iterate(0, x)
    damping, growth, bad = FIRST_DAMPING * float((J**2).sum(axis=0).max(initial=0.0)), 2.0, 0
    count, status, reason = 0, "iteration limit", f"iteration limit: not converged after {task.max_iterations} steps"
    for _ in range(task.max_iterations):
        G, h = _sides(monitor, x)
        if _remaining(J.T @ r, G, h) <= task.tolerance:
            status = reason = "converged"
            break
        E = np.vstack([J, np.sqrt(max(damping, np.finfo(float).tiny)) * np.eye(n)])
        d = least_squares_within(E, np.append(-r, np.zeros(n)), G, h)
        if d is None or np.abs(d).max() <= _smallest_step(task):
            status, reason = "converged", "converged: steps became small"
            break
        trial = _clipped(monitor, x + d)
        try:
            r_trial = monitor.residuals(trial)
        except BadNumberError:
            bad += 1
            if bad > PATIENCE:
                raise
            damping, growth = growth * damping, 2.0 * growth
            continue
        bad = 0
        expected = float(r @ r - (r + J @ d) @ (r + J @ d))
        gain = float(r @ r - r_trial @ r_trial) / expected if expected > 0.0 else -1.0
        if gain <= 0.0:
            damping, growth = growth * damping, 2.0 * growth
            continue
        x, r, J, count = trial, r_trial, monitor.residual_jacobian(trial), count + 1
        damping, growth = damping * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3), 2.0
        monitor.iterate(count, x)
    return Outcome(x, active_multipliers(monitor, x), "converged" if status == "converged" else "iteration limit",
                   reason, count)  # fmt: skip


def _sides(monitor: Monitor, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """G, h of steps from x that hold everything."""
    p, c = monitor.program, monitor.constraints(x)
    A = np.vstack([np.eye(p.n), dense_jacobian(monitor, x)])
    return sides(A, np.concatenate([p.lb - x, p.cl - c]), np.concatenate([p.ub - x, p.cu - c]))


def _remaining(slope: FloatArray, G: FloatArray, h: FloatArray) -> float:
    """The largest part of -slope that the sides leave room for; no more where there is no slope left."""
    d = least_squares_within(np.eye(len(slope)), -slope, G, h)
    return 0.0 if d is None else float(np.abs(d).max())


def _clipped(monitor: Monitor, x: FloatArray) -> FloatArray:
    return np.clip(x, monitor.program.lb, monitor.program.ub)
