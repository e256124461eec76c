"""scipy's SLSQP: sequential quadratic programs with dense matrices, always there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.optimize import Bounds, minimize

from mechgrad.errors import InputError
from mechgrad.optimization.solvers.active_multipliers import active_multipliers, dense_jacobian, lagrangian_slope
from mechgrad.optimization.solvers.adapter import Outcome, Task
from mechgrad.optimization.solvers.bad_points import BadPoints
from mechgrad.optimization.solvers.monitor import HessianKind
from mechgrad.optimization.solvers.program import NonlinearProgram
from mechgrad.optimization.solvers.remarks import without_remarks
from mechgrad.optimization.solvers.result import Status
from mechgrad.typing import FloatArray

FIRST_CURVATURE = "first_curvature"


@final
@dataclass(frozen=True)
class Slsqp:
    """Sequential least squares quadratic programming with a BFGS matrix.

    Choose it for up to about a hundred variables without second derivatives. Avoid it for more: all its matrices are
    dense and its time grows with the cube of the size. Multipliers are a least-squares estimate from the gradients.

    BFGS begins with the identity as curvature: with slopes of about one, as scaling leaves them, a slope changes by
    itself over one unit of a variable. `options={"first_curvature": 0.01}` begins with a hundredth (the objective is
    divided by it, which is the same). Flat valleys, such as those of tracking with many knots, are then left three
    times sooner, since curvature is learned along steps only and steps were short; where curvatures are alike, the
    first steps are far too long, take up to seven times as many evaluations to correct, and may lead to another valley.
    """

    name: str = "slsqp"
    hessians: tuple[HessianKind, ...] = ("lbfgs",)

    def missing(self) -> str:
        """Nothing: scipy is always there."""
        return ""

    def run(self, task: Task) -> Outcome:
        """Solve."""
        monitor, program = task.monitor, task.monitor.program
        tried = BadPoints(monitor)
        equal = np.flatnonzero(program.cl == program.cu)
        low = np.flatnonzero(np.isfinite(program.cl) & (program.cl < program.cu))
        high = np.flatnonzero(np.isfinite(program.cu) & (program.cl < program.cu))
        constraints: list[dict[str, Any]] = []
        if len(equal):
            constraints.append(
                {
                    "type": "eq",
                    "fun": lambda x: tried.constraints(x)[equal] - program.cl[equal],
                    "jac": lambda x: dense_jacobian(monitor, x)[equal],
                }
            )
        if len(low) or len(high):
            constraints.append(
                {
                    "type": "ineq",
                    "fun": lambda x: _margins(program, tried.constraints(x), low, high),
                    "jac": lambda x: _margin_slopes(dense_jacobian(monitor, x), low, high),
                }
            )
        start = np.clip(task.x0, program.lb, program.ub)
        options = dict(task.options)
        steep = 1.0 / _first_curvature(options.pop(FIRST_CURVATURE, 1.0))
        monitor.iterate(0, start)
        count = 0

        def callback(x: FloatArray) -> None:
            nonlocal count
            count += 1
            if tried.has_value(x):  # it may be the first trial of a line search, not yet an iterate
                monitor.iterate(count, x)

        with without_remarks():  # clipped values in a line search; the outcome is judged afterwards
            result = minimize(
                lambda x: steep * tried.objective(x),
                start,
                jac=lambda x: steep * tried.gradient(x),
                method="SLSQP",
                bounds=Bounds(program.lb, program.ub),
                constraints=constraints,
                callback=callback,
                options={"maxiter": task.max_iterations, **options, "ftol": steep * _ftol(task)},
            )
        tried.check_end()
        x = np.clip(np.asarray(result.x, dtype=float), program.lb, program.ub)
        violation = monitor.infeasibility(x, monitor.values(x)[1])
        multipliers = active_multipliers(monitor, x)
        left = float(np.abs(lagrangian_slope(monitor, x, multipliers)).max(initial=0.0))
        status, reason = _status(result, violation, left, task)
        return Outcome(x, multipliers, status, reason, int(result.nit))


def _first_curvature(given: Any) -> float:
    """Positive and finite."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0.0 < given < np.inf:
        raise InputError(f"slsqp: first_curvature is {given!r}; give a positive number, 1 is the identity.")
    return float(given)


def _ftol(task: Task) -> float:
    """What the objective may still fall by."""
    return float(task.options.get("ftol", task.tolerance**1.25))


def _margins(program: NonlinearProgram, c: FloatArray, low: Any, high: Any) -> FloatArray:
    return np.concatenate([c[low] - program.cl[low], program.cu[high] - c[high]])


def _margin_slopes(jacobian: FloatArray, low: Any, high: Any) -> FloatArray:
    return np.concatenate([jacobian[low], -jacobian[high]])


def _status(result: Any, violation: float, left: float, task: Task) -> tuple[Status, str]:
    """What an end means; left: the largest slope of the Lagrangian.

    SLSQP gives up where its quadratic program has no solution or no better point, which may be at an optimum, such as
    the one that it was started from. Its own measure of that is what the objective still falls by, ftol: with
    curvatures about one, as scales make them, that is a slope of sqrt(2 ftol).
    """
    feasible = violation <= max(100.0 * task.tolerance, 1e-6)
    if result.status == 0:
        return "converged", "converged"
    if result.status == 9:
        return "iteration limit", f"iteration limit: not converged after {result.nit} iterations"
    if violation <= task.tolerance and left <= np.sqrt(2.0 * _ftol(task)):
        return "converged", f"converged: slopes of {left:.1e} are left ({result.message})"
    if not feasible:
        return (
            "infeasible",
            f"no progress at a point that violates the constraints by {violation:.2g} ({result.message})",
        )
    return "failed", str(result.message)
