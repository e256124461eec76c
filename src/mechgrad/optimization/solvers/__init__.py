"""Where is the minimum? Programs with sparse derivatives go in, results with reasons come out; knows no mechanism."""

from mechgrad.optimization.solvers.adapter import Adapter, Outcome, SolverUnavailableError, Task
from mechgrad.optimization.solvers.program import NonlinearProgram
from mechgrad.optimization.solvers.progress import Iteration, print_progress
from mechgrad.optimization.solvers.result import Multipliers, SolverResult, Violation
from mechgrad.optimization.solvers.scaling import ScaledProgram, scaled
from mechgrad.optimization.solvers.solve import available_solvers, register, solve

__all__ = [
    "Adapter",
    "Iteration",
    "Multipliers",
    "NonlinearProgram",
    "Outcome",
    "ScaledProgram",
    "SolverResult",
    "SolverUnavailableError",
    "Task",
    "Violation",
    "available_solvers",
    "print_progress",
    "register",
    "scaled",
    "solve",
]
