"""What a solver has to offer to be used here: one small interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mechgrad.errors import MechgradError
from mechgrad.optimization.solvers.monitor import HessianKind, Monitor
from mechgrad.optimization.solvers.result import Multipliers, Status
from mechgrad.typing import FloatArray


class SolverUnavailableError(MechgradError, ImportError):
    """A solver whose package is not installed; the message says which one to install."""


@dataclass(frozen=True, eq=False)
class Task:
    """One solve: the functions behind a monitor, and the limits.

    Attributes
    ----------
    monitor : Monitor
        The only way to the program's functions. `monitor.program` has the bounds and structures, in scaled units.
    x0 : (n,) array
    hessian : str
        exact, gauss-newton or lbfgs; `monitor.hessian` gives the first two.
    max_iterations, tolerance, time_limit
        `monitor.iterate` watches the time; a solver with a clock of its own may have the limit, too.
    warm_start : Multipliers or None
    options : mapping
        In the words of the solver; they win over what the adapter sets.
    """

    monitor: Monitor
    x0: FloatArray
    hessian: HessianKind
    max_iterations: int
    tolerance: float
    time_limit: float | None = None
    warm_start: Multipliers | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a solver ended, in its own opinion; `solve` checks it against the program."""

    x: FloatArray
    multipliers: Multipliers
    status: Status
    reason: str
    iterations: int


class Adapter(Protocol):
    """A solver.

    An adapter 1. takes values only from `task.monitor`, 2. calls `monitor.iterate` once per accepted iterate, 3. lets
    `StopSolverError` out of `run`, and 4. turns signs of multipliers into those of `Multipliers`.
    """

    @property
    def name(self) -> str:
        """What `solve(solver=...)` calls it."""
        ...

    @property
    def hessians(self) -> tuple[HessianKind, ...]:
        """The kinds of Hessians it takes, the one to prefer first."""
        ...

    def missing(self) -> str:
        """What to install before it runs; empty if it is there."""
        ...

    def run(self, task: Task) -> Outcome:
        """Solve."""
        ...
