"""scipy's trust region for least squares within bounds: Gauss-Newton steps from residuals and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.optimize import least_squares

from mechgrad.errors import InputError
from mechgrad.optimization.solvers.active_multipliers import active_multipliers
from mechgrad.optimization.solvers.adapter import Outcome, Task
from mechgrad.optimization.solvers.monitor import BadNumberError, HessianKind
from mechgrad.typing import FloatArray


@final
@dataclass(frozen=True)
class GaussNewton:
    """Trust region reflective for f = r . r / 2 within bounds.

    Choose it for programs that state their residuals: identification from data. Avoid it where anything but bounds has
    to hold.
    """

    name: str = "least-squares"
    hessians: tuple[HessianKind, ...] = ("lbfgs",)

    def missing(self) -> str:
        """Nothing: scipy is always there."""
        return ""

    def run(self, task: Task) -> Outcome:
        """Solve."""
        monitor, program = task.monitor, task.monitor.program
        if program.m or program.residuals is None:
            what = f"there are {program.m} constraints" if program.m else "the objective is no sum of squares"
            raise InputError(
                f"least-squares minimises sums of squares within bounds, and {what}. Choose slsqp or ipopt."
            )
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
            "xtol": min(task.tolerance, 1e-8) ** 1.5,
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
