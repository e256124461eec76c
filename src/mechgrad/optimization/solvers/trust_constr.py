"""scipy's trust-constr: a trust region method with sparse matrices, always there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy import sparse
from scipy.optimize import BFGS, Bounds, NonlinearConstraint, OptimizeResult, minimize

from mechgrad.optimization.solvers.adapter import Outcome, Task
from mechgrad.optimization.solvers.bad_points import BadPoints
from mechgrad.optimization.solvers.monitor import HessianKind, Monitor
from mechgrad.optimization.solvers.remarks import without_remarks
from mechgrad.optimization.solvers.result import Multipliers, Status
from mechgrad.typing import FloatArray

BARRIER = 1e-4  # of bounds, at the start


@final
@dataclass(frozen=True)
class TrustConstr:
    """Byrd-Omojokun trust region for equalities, a barrier for inequalities.

    Choose it where Ipopt is not installed, or as a second opinion. Avoid it for many inequalities: it needs several
    times as many iterations, each in Python. Its "lbfgs" is a dense BFGS matrix.
    """

    name: str = "trust-constr"
    hessians: tuple[HessianKind, ...] = ("exact", "gauss-newton", "lbfgs")

    def missing(self) -> str:
        """Nothing: scipy is always there."""
        return ""

    def run(self, task: Task) -> Outcome:
        """Solve."""
        monitor, program = task.monitor, task.monitor.program
        n, m = program.n, program.m
        tried = BadPoints(monitor)
        with_hessian = task.hessian != "lbfgs"
        no_weights = np.zeros(m)
        constraints = []
        if m:
            rows, cols = program.jacobian_structure
            constraints.append(
                NonlinearConstraint(
                    tried.constraints,
                    program.cl,
                    program.cu,
                    jac=lambda x: sparse.csr_matrix((tried.jacobian(x), (rows, cols)), shape=(m, n)),
                    hess=(lambda x, lam: _hessian(monitor, x, 0.0, lam)) if with_hessian else BFGS(),
                )
            )
        bounded = bool(np.isfinite(program.lb).any() or np.isfinite(program.ub).any())
        # scipy's barrier begins at 0.1: where bounds alone are in the way, most iterations would go into lowering it
        barrier = dict.fromkeys(("initial_barrier_parameter", "initial_barrier_tolerance"), BARRIER) if not m else {}
        start = np.clip(task.x0, program.lb, program.ub)

        def callback(x: FloatArray, state: OptimizeResult) -> None:
            monitor.iterate(int(state.nit), x)

        with without_remarks():  # remarks about quasi-Newton updates; the outcome is judged afterwards
            result = minimize(
                tried.objective,
                start,
                jac=tried.gradient,
                hess=(lambda x: _hessian(monitor, x, 1.0, no_weights)) if with_hessian else BFGS(),
                method="trust-constr",
                bounds=Bounds(program.lb, program.ub) if bounded else None,
                constraints=constraints,
                callback=callback,
                options={
                    "gtol": min(task.tolerance**1.5, 1e-8),  # its test of optimality leaves out the barrier
                    "xtol": min(task.tolerance, 1e-10),
                    "barrier_tol": task.tolerance,
                    "maxiter": task.max_iterations,
                    "sparse_jacobian": True,
                    **barrier,
                    **task.options,
                },
            )
        tried.check_end()
        lam = np.asarray(result.v[0], dtype=float) if m else np.zeros(0)
        z = np.asarray(result.v[-1], dtype=float) if bounded else np.zeros(n)
        violation = monitor.infeasibility(result.x, monitor.values(result.x)[1])
        status, reason = _status(result, violation, task)
        return Outcome(np.asarray(result.x), Multipliers(lam, z), status, reason, int(result.nit))


def _hessian(monitor: Monitor, x: FloatArray, sigma: float, lam: FloatArray) -> Any:
    assert monitor.hessian_structure is not None
    rows, cols = monitor.hessian_structure
    values = monitor.hessian(x, sigma, np.asarray(lam, dtype=float))
    n = monitor.program.n
    lower = sparse.csr_matrix((values, (rows, cols)), shape=(n, n))
    return lower + sparse.tril(lower, -1).T


def _status(result: OptimizeResult, violation: float, task: Task) -> tuple[Status, str]:
    if result.status == 0:
        return "iteration limit", f"iteration limit: not converged after {result.nit} iterations"
    if violation > max(100.0 * task.tolerance, 1e-6):
        return "infeasible", f"no progress at a point that violates the constraints by {violation:.2g}"
    return "converged", "converged" if result.status == 1 else "converged: the trust region became small"
