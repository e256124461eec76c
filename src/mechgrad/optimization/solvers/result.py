"""What a solver came back with: the point, the reason, the cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from mechgrad.optimization.solvers.program import NonlinearProgram
from mechgrad.optimization.solvers.progress import Iteration
from mechgrad.typing import FloatArray

Status: TypeAlias = Literal["converged", "infeasible", "iteration limit", "time limit", "interrupted", "failed"]


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Sensitivities of the minimum to its bounds, of L = f + lam . c + z . x.

    Positive at an upper bound, negative at a lower one, zero in between: moving an active bound b by db changes the
    minimum by -lam db.

    Attributes
    ----------
    constraints : (m,) array
        lam.
    bounds : (n,) array
        z, of the bounds of the variables.
    """

    constraints: FloatArray
    bounds: FloatArray


def unknown_multipliers(n: int, m: int) -> Multipliers:
    """NaN: the solver did not get far enough to know them."""
    return Multipliers(np.full(m, np.nan), np.full(n, np.nan))


@dataclass(frozen=True)
class Violation:
    """One constraint or bound that is not met: its name, its value, the bound, and the distance (positive)."""

    name: str
    value: float
    bound: float
    amount: float

    def __str__(self) -> str:
        side = "below" if self.value < self.bound else "above"
        return f"{self.name} = {self.value:.6g}, {self.amount:.3g} {side} its bound {self.bound:.6g}"


@dataclass(frozen=True, eq=False)
class SolverResult:
    """The end of a solve, whether good or not.

    Attributes
    ----------
    x, objective, constraints
        The point, f(x) and c(x), in the units of the program. After an interruption or at a limit it is the best
        iterate: the least infeasible, among feasible ones the one with the smallest objective.
    multipliers : Multipliers
    status : str
        converged, infeasible, iteration limit, time limit, interrupted, failed.
    reason : str
        The same in a sentence with numbers.
    infeasibility : float
        Largest violation of a constraint or bound, divided by its scale.
    worst : tuple of Violation
        The largest violations with names; empty at a feasible point.
    iterations : int
    evaluations : dict
        Number of calls of objective, gradient, constraints, jacobian, hessian.
    time_functions, time_solver : float
        Seconds in the program's functions, and in everything else.
    history : tuple of Iteration
        Objective, infeasibility, step and time of each iteration.
    solver : str
    """

    x: FloatArray
    objective: float
    constraints: FloatArray
    multipliers: Multipliers
    status: Status
    reason: str
    infeasibility: float
    worst: tuple[Violation, ...]
    iterations: int
    evaluations: dict[str, int]
    time_functions: float
    time_solver: float
    history: tuple[Iteration, ...] = field(repr=False, default=())
    solver: str = ""

    @property
    def success(self) -> bool:
        """Whether the solver converged to a feasible point."""
        return self.status == "converged"

    @property
    def time(self) -> float:
        """Seconds in all."""
        return self.time_functions + self.time_solver

    def __str__(self) -> str:
        lines = [
            f"{self.solver}: {self.reason}",
            f"  objective {self.objective:.8g}, infeasibility {self.infeasibility:.2g}, {self.iterations} iterations, "
            f"{self.time:.3g} s ({self.time_functions:.3g} s in functions)",
        ]
        return "\n".join(lines + [f"  violated: {violation}" for violation in self.worst])


def worst_violations(
    program: NonlinearProgram, x: FloatArray, c: FloatArray, above: float, most: int = 5
) -> tuple[Violation, ...]:
    """The largest violations relative to their scales, if they exceed `above`."""
    outside_x, outside_c = program.violations(x, c)
    relative = np.concatenate([outside_c / program.constraint_scale, outside_x / program.variable_scale])
    amount = np.concatenate([outside_c, outside_x])
    values = np.concatenate([c, x])
    low = np.concatenate([program.cl, program.lb])
    high = np.concatenate([program.cu, program.ub])
    names: Sequence[str] = [*(program.constraint_names or ()), *(program.variable_names or ())]
    order = np.argsort(-relative, kind="stable")[:most]
    return tuple(
        Violation(names[k], float(values[k]), float(low[k] if values[k] < low[k] else high[k]), float(amount[k]))
        for k in order
        if relative[k] > above
    )
