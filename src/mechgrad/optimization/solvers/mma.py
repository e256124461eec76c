"""NLopt's MMA: convex separable approximations, for many variables and inequalities."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.solvers.active_multipliers import active_multipliers, dense_jacobian
from mechgrad.optimization.solvers.adapter import Outcome, Task
from mechgrad.optimization.solvers.bad_points import BadPoints
from mechgrad.optimization.solvers.monitor import HessianKind
from mechgrad.optimization.solvers.result import Status
from mechgrad.typing import FloatArray


@final
@dataclass(frozen=True)
class Mma:
    """Svanberg's method of moving asymptotes, globally convergent (NLopt's LD_MMA).

    Choose it for thousands of variables with a few inequalities, from starts that may violate them. Avoid it for
    equalities, which it does not take, and where many digits are wanted: it is of first order.
    """

    name: str = "mma"
    hessians: tuple[HessianKind, ...] = ("lbfgs",)

    def missing(self) -> str:
        """What to install."""
        there = importlib.util.find_spec("nlopt") is not None
        return "" if there else "no NLopt; pip install 'mechgrad[nlopt]'"

    def run(self, task: Task) -> Outcome:
        """Solve."""
        nlopt: Any = importlib.import_module("nlopt")
        monitor, program = task.monitor, task.monitor.program
        if len(equal := np.flatnonzero(program.cl == program.cu)):
            name = (program.constraint_names or ())[equal[0]]
            raise InputError(f"mma takes inequalities only, and {name} is an equality. Choose slsqp or ipopt.")
        tried, count = BadPoints(monitor), 0
        low, high = np.flatnonzero(np.isfinite(program.cl)), np.flatnonzero(np.isfinite(program.cu))

        def objective(x: FloatArray, gradient: FloatArray) -> float:
            nonlocal count
            f = tried.objective(x)
            if gradient.size:
                gradient[:] = tried.gradient(x)
                if tried.has_value(x):
                    monitor.iterate(count, x)
                    count += 1
            return f

        def margins(result: FloatArray, x: FloatArray, gradient: FloatArray) -> None:
            c = tried.constraints(x)
            result[:] = np.concatenate([program.cl[low] - c[low], c[high] - program.cu[high]])
            if gradient.size:
                J = dense_jacobian(monitor, x)
                gradient[:] = np.concatenate([-J[low], J[high]])

        search = nlopt.opt(nlopt.LD_MMA, program.n)
        search.set_lower_bounds(program.lb)
        search.set_upper_bounds(program.ub)
        search.set_min_objective(objective)
        if len(low) + len(high):
            search.add_inequality_mconstraint(margins, np.full(len(low) + len(high), task.tolerance))
        search.set_xtol_rel(task.tolerance)
        search.set_ftol_rel(task.tolerance**1.5)
        search.set_maxeval(task.max_iterations)
        for name, value in task.options.items():
            search.set_param(name, value)
        x = np.clip(search.optimize(np.clip(task.x0, program.lb, program.ub)), program.lb, program.ub)
        status: Status = "converged"
        reason = "converged"
        if search.last_optimize_result() == nlopt.MAXEVAL_REACHED:
            status, reason = (
                "iteration limit",
                f"iteration limit: not converged after {task.max_iterations} evaluations",
            )
        elif (violation := monitor.infeasibility(x, monitor.values(x)[1])) > max(100.0 * task.tolerance, 1e-6):
            status, reason = "infeasible", f"no progress at a point that violates the constraints by {violation:.2g}"
        return Outcome(x, active_multipliers(monitor, x), status, reason, count)
