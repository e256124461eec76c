"""One call for all solvers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.optimization.solvers.adapter import Adapter, Outcome, SolverUnavailableError, Task
from mechgrad.optimization.solvers.gauss_newton import GaussNewton
from mechgrad.optimization.solvers.ipopt import Ipopt
from mechgrad.optimization.solvers.lbfgsb import LBfgsB
from mechgrad.optimization.solvers.mma import Mma
from mechgrad.optimization.solvers.monitor import BadNumberError, HessianKind, Monitor, StopSolverError
from mechgrad.optimization.solvers.program import NonlinearProgram
from mechgrad.optimization.solvers.progress import Progress, print_progress
from mechgrad.optimization.solvers.result import (
    Multipliers,
    SolverResult,
    Status,
    unknown_multipliers,
    worst_violations,
)
from mechgrad.optimization.solvers.scaling import ScaledProgram, scaled
from mechgrad.optimization.solvers.slsqp import Slsqp
from mechgrad.optimization.solvers.trust_constr import TrustConstr
from mechgrad.typing import ArrayLike, FloatArray

_ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter for adapter in (Ipopt(), TrustConstr(), Slsqp(), LBfgsB(), GaussNewton(), Mma())
}


def register(adapter: Adapter) -> None:
    """Make a solver known under its name; one with the same name is replaced."""
    _ADAPTERS[adapter.name] = adapter


def available_solvers() -> tuple[str, ...]:
    """Names of the solvers that would run on this machine."""
    return tuple(name for name, adapter in _ADAPTERS.items() if not adapter.missing())


def solve(
    program: NonlinearProgram,
    x0: ArrayLike,
    solver: str = "ipopt",
    *,
    hessian: Literal["auto", "exact", "gauss-newton", "lbfgs"] = "auto",
    max_iterations: int = 500,
    tolerance: float = 1e-8,
    time_limit: float | None = None,
    progress: Progress | bool | None = None,
    warm_start: Multipliers | None = None,
    options: Mapping[str, Any] | None = None,
) -> SolverResult:
    """Minimise a nonlinear program.

    Numerical failure is a result with a reason; an error in the program's functions is raised, with the point as its
    `iterate`. Ctrl-C ends the solve with the best iterate and the status "interrupted".

    Parameters
    ----------
    program, x0
        What to minimise, and from where.
    solver : str
        "ipopt" (needs the extra `ipopt`), "trust-constr", "slsqp" (small, dense problems), "mma" (inequalities only;
        needs the extra `nlopt`); with bounds alone "l-bfgs-b"; if the program states residuals, and its constraints
        are linear, "least-squares".
    hessian : str
        "exact", "gauss-newton" (if the program has one), "lbfgs" (from gradients), or "auto": exact if there is one.
    max_iterations, tolerance, time_limit
        Limits; the tolerance is that of the solver, in scaled units; seconds.
    progress : callable or True
        Called with an `Iteration` after each one; True prints a line. Returning False ends the solve.
    warm_start : Multipliers
        Those of an earlier, similar solve; x0 is then best its x.
    options : mapping
        Further options in the solver's own words.

    >>> p = NonlinearProgram(n=1, objective=lambda x: (x[0] - 3) ** 2, gradient=lambda x: 2 * (x - 3), ub=1.0)
    >>> best = solve(p, [0.0], "slsqp")
    >>> best.status, best.x.round(6), best.multipliers.bounds.round(4)
    ('converged', array([1.]), array([4.]))
    """
    adapter = _adapter(solver)
    start = program.check_start(x0)
    kind = _hessian_kind(program, adapter, hessian)
    _check_limits(max_iterations, tolerance, time_limit)
    _check_there(adapter)
    scaling = scaled(program)
    report = print_progress if progress is True else progress or None
    monitor = Monitor(scaling, kind, tolerance, time_limit, report)
    warm = None if warm_start is None else scaling.multipliers_inward(_checked(warm_start, program))
    task = Task(
        monitor, scaling.inward(start), kind, int(max_iterations), float(tolerance), time_limit, warm,
        dict(options or {}),
    )  # fmt: skip
    return _result(scaling, monitor, _run(adapter, task), adapter.name)


def _adapter(solver: str) -> Adapter:
    if solver not in _ADAPTERS:
        raise unknown_name("solver", solver, _ADAPTERS)
    return _ADAPTERS[solver]


def _check_limits(max_iterations: int, tolerance: float, time_limit: float | None) -> None:
    if max_iterations < 1 or not 0.0 < tolerance < 1.0 or (time_limit is not None and not time_limit > 0.0):
        raise InputError(
            f"solve: max_iterations = {max_iterations}, tolerance = {tolerance}, time_limit = {time_limit}; "
            "at least one iteration, a tolerance between 0 and 1 and a positive time are needed."
        )


def _check_there(adapter: Adapter) -> None:
    if missing := adapter.missing():
        others = ", ".join(available_solvers())
        raise SolverUnavailableError(f"solver {adapter.name!r} is not there: {missing}. Available: {others}.")


def _run(adapter: Adapter, task: Task) -> Outcome:
    """The adapter's outcome, or the best iterate where the solve was ended before."""
    monitor = task.monitor
    unknown = unknown_multipliers(monitor.program.n, monitor.program.m)
    try:
        with monitor.interruptible():
            try:
                monitor.values(task.x0)  # a start that has no value is told before the solver wonders about it
                outcome = adapter.run(task)
            except BadNumberError as bad:
                outcome = Outcome(task.x0, unknown, "failed", f"not a number: {bad}", _iterations(monitor))
    except (StopSolverError, KeyboardInterrupt):
        if monitor.stopped is None:
            monitor.stopped, monitor.reason = "interrupted", "interrupted; the best iterate so far is returned"
        outcome = Outcome(task.x0, unknown, monitor.stopped, monitor.reason, _iterations(monitor))
    if outcome.status in ("converged", "infeasible") or monitor.best is None:
        return outcome
    best = monitor.best
    multipliers = outcome.multipliers if np.array_equal(best.x, outcome.x) else best.multipliers
    return replace(outcome, x=best.x, multipliers=multipliers)


def _result(scaling: ScaledProgram, monitor: Monitor, outcome: Outcome, solver: str) -> SolverResult:
    program = scaling.original
    f, c = monitor.known_values(outcome.x)
    if monitor.error is not None:
        raise monitor.error
    status, reason = _judge(outcome, f, c, _beyond(scaling.program, outcome.x, c), monitor.tolerance)
    x, c_original = scaling.outward(outcome.x), c * program.constraint_scale
    allowed = _allowed(monitor.tolerance)
    total = time.perf_counter() - monitor.started
    return SolverResult(
        x=x,
        objective=f * program.objective_scale,
        constraints=c_original,
        multipliers=scaling.multipliers_outward(outcome.multipliers),
        status=status,
        reason=reason,
        infeasibility=monitor.infeasibility(outcome.x, c),
        worst=() if status == "converged" else worst_violations(program, x, c_original, allowed),
        iterations=outcome.iterations,
        evaluations=dict(monitor.counts),
        time_functions=monitor.time_functions,
        time_solver=max(total - monitor.time_functions, 0.0),
        history=tuple(monitor.history),
        solver=solver,
    )


def _allowed(tolerance: float) -> float:
    """Solvers relax bounds a little; beyond this, a point is not feasible whatever they say."""
    return max(100.0 * tolerance, 1e-6)


def _beyond(program: NonlinearProgram, x: FloatArray, c: FloatArray) -> float:
    """Largest violation relative to its bound's magnitude (at least one): Ipopt relaxes bounds that way."""
    worst = 0.0
    for value, low, high in ((x, program.lb, program.ub), (c, program.cl, program.cu)):
        for distance, bound in ((low - value, low), (value - high, high)):
            finite = np.isfinite(bound)
            size = np.maximum(1.0, np.abs(bound[finite]))
            worst = max(worst, float((distance[finite] / size).max(initial=0.0)))
    return worst


def _judge(outcome: Outcome, objective: float, c: FloatArray, violation: float, tolerance: float) -> tuple[Status, str]:
    """A solver's claim of success counts only at a point with finite values inside of the bounds."""
    if not (np.isfinite(objective) and np.isfinite(c).all()) and outcome.status != "interrupted":
        return "failed", outcome.reason if outcome.status == "failed" else f"not a number at the end: {outcome.reason}"
    if outcome.status == "converged" and not violation <= _allowed(tolerance):
        return "failed", f"the solver reports success, but a bound is violated by {violation:.2g} ({outcome.reason})"
    return outcome.status, outcome.reason


def _iterations(monitor: Monitor) -> int:
    return monitor.history[-1].iteration if monitor.history else 0


def _hessian_kind(program: NonlinearProgram, adapter: Adapter, wanted: str) -> HessianKind:
    offered: dict[str, HessianKind] = {"lbfgs": "lbfgs"}
    if program.gauss_newton is not None:
        offered["gauss-newton"] = "gauss-newton"
    if program.hessian is not None:
        offered["exact"] = "exact"
    if wanted == "auto":
        return next(kind for kind in adapter.hessians if kind in offered)
    if wanted not in ("exact", "gauss-newton", "lbfgs"):
        raise InputError(f"hessian = {wanted!r}; choose auto, exact, gauss-newton or lbfgs.")
    if wanted not in offered:
        raise InputError(
            f"hessian = {wanted!r}, but the program does not have one; it offers {', '.join(sorted(offered))}."
        )
    if wanted not in adapter.hessians:
        raise InputError(f"hessian = {wanted!r}: solver {adapter.name!r} takes {', '.join(adapter.hessians)} only.")
    return offered[wanted]


def _checked(warm: Multipliers, program: NonlinearProgram) -> Multipliers:
    lam, z = np.asarray(warm.constraints, dtype=float), np.asarray(warm.bounds, dtype=float)
    if lam.shape != (program.m,) or z.shape != (program.n,):
        raise InputError(
            f"warm_start: multipliers of shapes {lam.shape} and {z.shape}; "
            f"({program.m},) for the constraints and ({program.n},) for the bounds are needed."
        )
    if not (np.isfinite(lam).all() and np.isfinite(z).all()):
        raise InputError("warm_start: multipliers that are NaN: the earlier solve ended before it knew them.")
    return Multipliers(lam, z)
