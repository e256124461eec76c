"""scipy's L-BFGS-B: quasi-Newton steps within bounds, for many variables and no other constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import Bounds, minimize

from mechgrad.errors import InputError
from mechgrad.optimization.solvers.active_multipliers import active_multipliers
from mechgrad.optimization.solvers.adapter import Outcome, Task
from mechgrad.optimization.solvers.bad_points import BadPoints
from mechgrad.optimization.solvers.monitor import HessianKind, Monitor
from mechgrad.optimization.solvers.result import Status
from mechgrad.typing import FloatArray

STALLED = 1e4  # times the tolerance: slopes that rounding leaves where no step improves any more


@final
@dataclass(frozen=True)
class LBfgsB:
    """Limited-memory BFGS with projections onto bounds.

    Choose it for any number of variables with bounds alone: knots of drives, thousands of them. Avoid it where anything
    else has to hold.
    """

    name: str = "l-bfgs-b"
    hessians: tuple[HessianKind, ...] = ("lbfgs",)

    def missing(self) -> str:
        """Nothing: scipy is always there."""
        return ""

    def run(self, task: Task) -> Outcome:
        """Solve."""
        monitor, program = task.monitor, task.monitor.program
        if program.m:
            raise InputError(
                f"l-bfgs-b keeps bounds of variables alone, and there are {program.m} constraints. Choose slsqp, ipopt "
                "or trust-constr."
            )
        tried = BadPoints(monitor, slopes=True)
        start = np.clip(task.x0, program.lb, program.ub)
        monitor.iterate(0, start)
        count = 0

        def callback(x: FloatArray) -> None:
            nonlocal count
            count += 1
            monitor.iterate(count, x)

        result = minimize(
            tried.objective,
            start,
            jac=tried.gradient,
            method="L-BFGS-B",
            bounds=Bounds(program.lb, program.ub),
            callback=callback,
            options={
                "ftol": 0.0,
                "gtol": task.tolerance,
                "maxcor": 20,
                "maxiter": task.max_iterations,
                "maxfun": 20 * task.max_iterations + 100,
                **task.options,
            },
        )
        tried.check_end()
        x = np.clip(np.asarray(result.x, float), program.lb, program.ub)
        status, reason = _status(result, monitor, x, task.tolerance)
        return Outcome(x, active_multipliers(monitor, x), status, reason, int(result.nit))


def _status(result: object, monitor: Monitor, x: FloatArray, tolerance: float) -> tuple[Status, str]:
    ended, message, iterations = (getattr(result, name) for name in ("status", "message", "nit"))
    if ended == 0:
        return "converged", "converged"
    if ended == 1:
        return "iteration limit", f"iteration limit: not converged after {iterations} iterations"
    p = monitor.program
    left = float(np.abs(np.clip(x - monitor.gradient(x), p.lb, p.ub) - x).max())
    if left <= STALLED * tolerance:
        return "converged", f"converged as far as rounding allows: slopes of {left:.1e} are left"
    return "failed", f"no step improves any more, with slopes of {left:.1e} left ({message})"
