"""Stands between a solver and the program: counts, times, judges numbers, keeps the best iterate, stops on request."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.solvers.program import HessianFunction, NonlinearProgram, Structure
from mechgrad.optimization.solvers.progress import Iteration, Progress
from mechgrad.optimization.solvers.result import Multipliers, unknown_multipliers
from mechgrad.optimization.solvers.scaling import ScaledProgram
from mechgrad.typing import FloatArray

HessianKind: TypeAlias = Literal["exact", "gauss-newton", "lbfgs"]


class StopSolverError(Exception):
    """Ends a solver from inside of a callback; the monitor knows why."""


class BadNumberError(StopSolverError):
    """A function gave NaN or an infinity; a solver with a line search may try a shorter step."""


class Best(NamedTuple):
    """The least infeasible iterate, among feasible ones that with the smallest objective; in scaled units."""

    rank: tuple[float, float]
    x: FloatArray
    objective: float
    constraints: FloatArray
    multipliers: Multipliers


class Monitor:
    """The functions of a (scaled) program as a solver sees them.

    Every function raises `StopSolverError` once the solve is to end and `BadNumberError` for a value that is no
    number. Adapters let the first pass, or carry it across foreign code by a return value.
    """

    def __init__(
        self,
        scaling: ScaledProgram,
        hessian: HessianKind,
        tolerance: float,
        time_limit: float | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.program: NonlinearProgram = scaling.program
        self.scaling = scaling
        self.tolerance = tolerance
        self.time_limit = time_limit
        self.progress = progress
        self.counts = dict.fromkeys(("objective", "gradient", "constraints", "jacobian", "hessian"), 0)
        self.time_functions = 0.0
        self.started = time.perf_counter()
        self.history: list[Iteration] = []
        self.stopped: Literal["interrupted", "time limit", "failed"] | None = None
        self.reason = ""
        self.error: BaseException | None = None
        self.bad_number = ""
        self.interrupt_requested = False
        self._last: dict[str, tuple[FloatArray, Any]] = {}
        self._previous: FloatArray | None = None
        self.best: Best | None = None
        chosen = {
            "exact": (self.program.hessian, self.program.hessian_structure),
            "gauss-newton": (self.program.gauss_newton, self.program.gauss_newton_structure),
            "lbfgs": (None, None),
        }[hessian]
        self.hessian_function: HessianFunction | None = chosen[0]
        self.hessian_structure: Structure | None = chosen[1]

    # -- the functions ------------------------------------------------------------------------------------------

    def objective(self, x: FloatArray) -> float:
        """f(x)."""
        value = float(self._call("objective", self.program.objective, x, (), x))
        self._last["objective"] = (x.copy(), value)
        return value

    def gradient(self, x: FloatArray) -> FloatArray:
        """f_x, shape (n,)."""
        return self._call("gradient", self.program.gradient, x, (self.program.n,), x)

    def constraints(self, x: FloatArray) -> FloatArray:
        """c(x), shape (m,)."""
        if self.program.constraints is None:
            return np.zeros(0)
        value = self._call("constraints", self.program.constraints, x, (self.program.m,), x)
        self._last["constraints"] = (x.copy(), value)
        return value

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Stored entries of c_x."""
        if self.program.jacobian is None:
            return np.zeros(0)
        return self._call("jacobian", self.program.jacobian, x, self.program.jacobian_structure[0].shape, x)

    def hessian(self, x: FloatArray, sigma: float, lam: FloatArray) -> FloatArray:
        """Stored entries of the lower triangle of sigma f_xx + lam . c_xx, or of its Gauss-Newton stand-in."""
        assert self.hessian_function is not None
        assert self.hessian_structure is not None
        return self._call("hessian", self.hessian_function, x, self.hessian_structure[0].shape, x, sigma, lam)

    def residuals(self, x: FloatArray) -> FloatArray:
        """r of an objective r . r / 2, shape (k,)."""
        assert self.program.residuals is not None
        return self._call("residuals", self.program.residuals, x, None, x)

    def residual_jacobian(self, x: FloatArray) -> FloatArray:
        """r_x, shape (k, n)."""
        assert self.program.residual_jacobian is not None
        return self._call("residual_jacobian", self.program.residual_jacobian, x, None, x)

    def values(self, x: FloatArray) -> tuple[float, FloatArray]:
        """f and c at x, from the last call if that was for the same x."""
        f, c = self._last.get("objective"), self._last.get("constraints")
        return (
            f[1] if f is not None and np.array_equal(f[0], x) else self.objective(x),
            c[1] if c is not None and np.array_equal(c[0], x) else self.constraints(x),
        )

    def known_values(self, x: FloatArray) -> tuple[float, FloatArray]:
        """f and c at x for the result; NaN where the program has no value or the solve was ended before."""
        if self.best is not None and np.array_equal(self.best.x, x):
            return self.best.objective, self.best.constraints
        try:
            return self.values(x)
        except StopSolverError:
            return np.nan, np.full(self.program.m, np.nan)

    def infeasibility(self, x: FloatArray, c: FloatArray) -> float:
        """Largest violation of a bound or constraint of the scaled program."""
        outside_x, outside_c = self.program.violations(x, c)
        return float(max(outside_x.max(initial=0.0), outside_c.max(initial=0.0)))

    # -- the course ---------------------------------------------------------------------------------------------

    def iterate(self, iteration: int, x: FloatArray, multipliers: Multipliers | None = None) -> None:
        """Record an accepted iterate; raises `StopSolverError` if the solve is to end here."""
        x = np.array(x, dtype=float)
        f, c = self.values(x)
        violation = self.infeasibility(x, c)
        step = 0.0 if self._previous is None else float(np.abs(x - self._previous).max(initial=0.0))
        self._previous = x
        # Among iterates that are feasible for the tolerance the objective decides, not the last digits of c.
        rank = (max(violation, self.tolerance), f)
        if self.best is None or rank <= self.best.rank:
            known = multipliers or unknown_multipliers(self.program.n, self.program.m)
            self.best = Best(rank, x, f, c, known)
        elapsed = time.perf_counter() - self.started
        record = Iteration(iteration, f * self.scaling.original.objective_scale, violation, step, elapsed)
        if self.history and self.history[-1].iteration == iteration:
            self.history[-1] = record
            return
        self.history.append(record)
        if self.progress is not None:
            self._report(record, x)
        if self.time_limit is not None and elapsed > self.time_limit:
            self.stop("time limit", f"stopped after {elapsed:.3g} s (time limit {self.time_limit:.3g} s)")
        self._check_interrupt()

    def stop(self, status: Literal["interrupted", "time limit", "failed"], reason: str) -> NoReturn:
        """End the solve from here; the first reason stays."""
        if self.stopped is None:
            self.stopped, self.reason = status, reason
        raise StopSolverError(reason)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Turn the first Ctrl-C into a request that the next evaluation answers; the second one is Python's again.

        A KeyboardInterrupt raised on entry of a callback from foreign code would be lost, and that is where Python
        raises it when Ctrl-C comes while the solver factorises.
        """
        ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if not ours:
            yield
            return

        def request(number: int, frame: FrameType | None) -> None:
            self.interrupt_requested = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        signal.signal(signal.SIGINT, request)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    # -- within -------------------------------------------------------------------------------------------------

    def _call(
        self, name: str, function: Callable[..., Any], x: FloatArray, shape: tuple[int, ...] | None, *arguments: Any
    ) -> FloatArray:
        if self.stopped is not None:
            raise StopSolverError(self.reason)
        self._check_interrupt()
        self.counts[name] = self.counts.get(name, 0) + 1
        begin = time.perf_counter()
        try:
            value = np.asarray(function(*arguments), dtype=float)
            if shape is not None and value.shape != shape:
                wanted = "a number" if shape == () else f"an array of shape {shape}"
                raise InputError(f"program: `{name}` returned an array of shape {value.shape}; {wanted} is needed.")
        except KeyboardInterrupt:
            self._interrupted()
        except Exception as error:
            self._failed(error, f"`{name}`", x)
        finally:
            self.time_functions += time.perf_counter() - begin
        if not np.isfinite(value).all():
            self.bad_number = self._describe(name, value)
            raise BadNumberError(self.bad_number)
        return value

    def _report(self, record: Iteration, x: FloatArray) -> None:
        assert self.progress is not None
        try:
            wish = self.progress(record)
        except KeyboardInterrupt:
            self._interrupted()
        except Exception as error:
            self._failed(error, "the progress function", x)
        if wish is False:
            self.stop("interrupted", f"interrupted at iteration {self._iteration}: the progress function asked for it")

    @property
    def _iteration(self) -> int:
        return self.history[-1].iteration if self.history else 0

    def _check_interrupt(self) -> None:
        if self.interrupt_requested:
            self._interrupted()

    def _interrupted(self) -> NoReturn:
        self.stop("interrupted", f"interrupted at iteration {self._iteration}; the best iterate so far is returned")

    def _failed(self, error: BaseException, where: str, x: FloatArray) -> NoReturn:
        error.iterate = self.scaling.outward(x)  # type: ignore[attr-defined]
        error.add_note(
            f"Raised in {where} after iteration {self._iteration}; the point x is in `.iterate` of this error."
        )
        self.error = error
        self.stop("failed", f"{type(error).__name__} in {where}: {error}")

    def _describe(self, name: str, value: FloatArray) -> str:
        bad = np.flatnonzero(~np.isfinite(value))
        variables, constraints = self.program.variable_names or (), self.program.constraint_names or ()
        if name == "objective":
            what = "the objective"
        elif name in ("residuals", "residual_jacobian"):
            what = "a residual" if name == "residuals" else "the derivative of a residual"
        elif name == "gradient":
            what = f"the derivative of the objective by {variables[bad[0]]}"
        elif name == "constraints":
            what = f"constraint {constraints[bad[0]]}"
        elif name == "jacobian":
            rows, cols = self.program.jacobian_structure
            what = f"the derivative of constraint {constraints[rows[bad[0]]]} by {variables[cols[bad[0]]]}"
        else:
            assert self.hessian_structure is not None
            rows, cols = self.hessian_structure
            what = f"the second derivative by {variables[rows[bad[0]]]} and {variables[cols[bad[0]]]}"
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        return f"{what} is {value.reshape(-1)[bad[0]]}{more} after iteration {self._iteration}"
