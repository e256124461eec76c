"""Ipopt: a primal-dual interior point method with a filter line search, for large sparse programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.solvers import ipopt_library as c
from mechgrad.optimization.solvers.adapter import Outcome, Task
from mechgrad.optimization.solvers.monitor import BadNumberError, HessianKind, StopSolverError
from mechgrad.optimization.solvers.result import Multipliers, Status
from mechgrad.typing import FloatArray

INFINITE = 2e19  # Ipopt takes bounds beyond 1e19 as none

# ApplicationReturnStatus of IpReturnCodes_inc.h.
STATUS: dict[int, tuple[Status, str]] = {
    0: ("converged", "converged"),
    1: ("converged", "converged to Ipopt's acceptable level, not to the tolerance"),
    2: ("infeasible", "converged to a point of local infeasibility: the constraints contradict each other near it"),
    3: ("failed", "the search direction became too small"),
    4: ("failed", "the iterates diverge: the objective may be unbounded, or a bound is missing"),
    5: ("interrupted", "stopped on request"),
    6: ("converged", "converged: feasible point of a square problem"),
    -1: ("iteration limit", "iteration limit"),
    -2: ("failed", "the restoration phase found no way to reduce the infeasibility: the program may be infeasible"),
    -3: ("failed", "the step could not be computed: the linear system stays singular"),
    -4: ("time limit", "time limit"),
    -5: ("time limit", "time limit"),
    -10: ("failed", "more equality constraints than free variables"),
    -11: ("failed", "Ipopt takes this problem definition as invalid"),
    -12: ("failed", "Ipopt does not take one of the options"),
    -13: ("failed", "not a number in a function or derivative"),
    -102: ("failed", "out of memory"),
}


@final
@dataclass(frozen=True)
class Ipopt:
    """Interior point, exact sparse derivatives.

    Choose it for large sparse programs with many inequalities, and whenever there is an exact Hessian. Avoid it for
    long sequences of nearly equal small programs, where an active set can be kept.
    """

    name: str = "ipopt"
    hessians: tuple[HessianKind, ...] = ("exact", "gauss-newton", "lbfgs")

    def missing(self) -> str:
        """What to install."""
        try:
            c.load()
        except c.IpoptNotFoundError as error:
            return f"no Ipopt library ({error}); pip install 'mechgrad[ipopt]', or set MECHGRAD_IPOPT to its path"
        return ""

    def run(self, task: Task) -> Outcome:
        """Solve."""
        return _Run(task).solve()


class _Run:
    """One problem in Ipopt's memory; holds what its callbacks need alive."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.monitor = task.monitor
        self.program = task.monitor.program
        self.library = c.load()
        self.bounds = [
            np.clip(bound, -INFINITE, INFINITE)
            for bound in (self.program.lb, self.program.ub, self.program.cl, self.program.cu)
        ]
        self.callbacks = (
            c.EvaluateF(self.evaluate_f),
            c.EvaluateG(self.evaluate_g),
            c.EvaluateF(self.evaluate_gradient),
            c.EvaluateJacobian(self.evaluate_jacobian),
            c.EvaluateHessian(self.evaluate_hessian),
        )
        self.intermediate = c.Intermediate(self.on_iteration)
        self.problem: Any = None
        self.iterations = 0

    def solve(self) -> Outcome:
        p, m, n = self.program, self.program.m, self.program.n
        lb, ub, cl, cu = (c.doubles(bound) for bound in self.bounds)
        hessian_size = 0 if self.monitor.hessian_structure is None else len(self.monitor.hessian_structure[0])
        jacobian_size = len(p.jacobian_structure[0])
        self.problem = self.library.CreateIpoptProblem(
            n, lb, ub, m, cl, cu, jacobian_size, hessian_size, 0, *self.callbacks
        )
        x, values, objective = self.task.x0.copy(), np.zeros(m), np.zeros(1)
        lam, z_low, z_high = self.initial_multipliers()
        pointers = [c.doubles(array) for array in (x, values, objective, lam, z_low, z_high)]
        try:
            for name, value in self.options().items():
                self.set_option(name, value)
            self.library.SetIntermediateCallback(self.problem, self.intermediate)
            code = self.library.IpoptSolve(self.problem, *pointers, None)
        finally:
            self.library.FreeIpoptProblem(self.problem)
        if self.monitor.stopped is not None:
            raise StopSolverError(self.monitor.reason)
        status, reason = STATUS.get(code, ("failed", f"Ipopt ended with the code {code}"))
        if code == -1:
            reason = f"iteration limit: not converged after {self.iterations} iterations"
        elif status == "failed" and self.monitor.bad_number:
            reason = f"not a number: {self.monitor.bad_number}"
        return Outcome(x, Multipliers(lam, z_high - z_low), status, reason, self.iterations)

    def options(self) -> dict[str, Any]:
        task = self.task
        chosen: dict[str, Any] = {
            "print_level": 0,
            "sb": "yes",
            "max_iter": task.max_iterations,
            "tol": task.tolerance,
            "constr_viol_tol": min(1e-4, 10.0 * task.tolerance),
            # Ipopt divides the cost by its slope at the start, and `tol` with it; these two are not divided
            "compl_inf_tol": min(1e-4, 10.0 * task.tolerance),
            "dual_inf_tol": min(1.0, 1e3 * task.tolerance),
            "hessian_approximation": "limited-memory" if task.hessian == "lbfgs" else "exact",
        }
        if task.time_limit is not None:
            chosen["max_wall_time"] = float(task.time_limit)
        if task.warm_start is not None:
            chosen["warm_start_init_point"] = "yes"
            chosen["mu_init"] = 1e-6
            for name in ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push"):
                chosen[f"warm_start_{name}"] = 1e-8
        return {**chosen, **task.options}

    def set_option(self, name: str, value: Any) -> None:
        key = name.encode()
        if isinstance(value, str):
            taken = self.library.AddIpoptStrOption(self.problem, key, value.encode())
        elif isinstance(value, bool):
            taken = self.library.AddIpoptStrOption(self.problem, key, b"yes" if value else b"no")
        elif isinstance(value, int | np.integer):
            taken = self.library.AddIpoptIntOption(self.problem, key, int(value)) or self.library.AddIpoptNumOption(
                self.problem, key, float(value)
            )
        else:
            taken = self.library.AddIpoptNumOption(self.problem, key, float(value))
        if not taken:
            raise InputError(f"Ipopt does not take the option {name} = {value!r}; see its manual for names and values.")

    def initial_multipliers(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        warm = self.task.warm_start
        if warm is None:
            return np.zeros(self.program.m), np.zeros(self.program.n), np.zeros(self.program.n)
        return warm.constraints.copy(), np.maximum(-warm.bounds, 0.0), np.maximum(warm.bounds, 0.0)

    # -- callbacks: True to go on, False for no value here -----------------------------------------------------------

    def evaluate_f(self, n: int, x: Any, new_x: bool, out: Any, data: Any) -> bool:
        return self.store(c.view(out, 1), self.monitor.objective, self.point(x))

    def evaluate_gradient(self, n: int, x: Any, new_x: bool, out: Any, data: Any) -> bool:
        return self.store(c.view(out, n), self.monitor.gradient, self.point(x))

    def evaluate_g(self, n: int, x: Any, new_x: bool, m: int, out: Any, data: Any) -> bool:
        return self.store(c.view(out, m), self.monitor.constraints, self.point(x))

    def evaluate_jacobian(
        self, n: int, x: Any, new_x: bool, m: int, size: int, rows: Any, cols: Any, out: Any, data: Any
    ) -> bool:
        if not out:
            c.fill_structure(rows, cols, self.program.jacobian_structure)
            return True
        return self.store(c.view(out, size), self.monitor.jacobian, self.point(x))

    def evaluate_hessian(
        self,
        n: int,
        x: Any,
        new_x: bool,
        sigma: float,
        m: int,
        lam: Any,
        new_lam: bool,
        size: int,
        rows: Any,
        cols: Any,
        out: Any,
        data: Any,
    ) -> bool:
        if self.monitor.hessian_structure is None:
            return False
        if not out:
            c.fill_structure(rows, cols, self.monitor.hessian_structure)
            return True
        weights = c.view(lam, m).copy()
        return self.store(c.view(out, size), self.monitor.hessian, self.point(x), sigma, weights)

    def point(self, x: Any) -> FloatArray:
        return c.view(x, self.program.n).copy()

    def store(self, out: FloatArray, function: Callable[..., Any], *arguments: Any) -> bool:
        """No exception may leave a callback: Ipopt gets False, and `solve` finds the reason in the monitor."""
        try:
            out[:] = function(*arguments)
        except StopSolverError:  # or no number here, and Ipopt tries a shorter step
            return False
        except KeyboardInterrupt:
            self.monitor.interrupt_requested = True
            return False
        return True

    def on_iteration(self, mode: int, iteration: int, *rest: Any) -> bool:
        self.iterations = iteration
        n, m = self.program.n, self.program.m
        x, z_low, z_high, values, lam = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m)
        try:
            if self.monitor.stopped is not None:
                return False
            known = self.library.GetIpoptCurrentIterate(
                self.problem, False, n, *map(c.doubles, (x, z_low, z_high)), m, *map(c.doubles, (values, lam))
            )
            if known:
                self.monitor.iterate(iteration, x, Multipliers(lam, z_high - z_low))
        except BadNumberError:
            return True
        except StopSolverError:
            return False
        except KeyboardInterrupt:
            self.monitor.interrupt_requested = True
        return True
