"""How an optimum is searched for from one start: which solver, how long, how exactly."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

from mechgrad.errors import MechgradWarning
from mechgrad.optimization.design.design_program import DesignProgram, without_influence
from mechgrad.optimization.design.evaluation import Evaluator
from mechgrad.optimization.design.optimum import Optimum
from mechgrad.optimization.design.problem_parts import ProblemParts
from mechgrad.optimization.design.progress_table import shown
from mechgrad.optimization.solvers import available_solvers, solve
from mechgrad.optimization.solvers.progress import Progress
from mechgrad.typing import ArrayLike, FloatArray

MANY = 100  # variables beyond which dense quadratic programs take longer than sparse steps


class NoInfluenceWarning(MechgradWarning):
    """A variable that changes nothing at the start."""


@final
@dataclass(frozen=True, eq=False)
class Search:
    """What `DesignProblem.solve` was told of the way to an optimum; its parameters are explained there."""

    solver: str = "auto"
    max_iterations: int = 300
    tolerance: float = 1e-8
    time_limit: float | None = None
    progress: Progress | bool | None = None
    options: Mapping[str, Any] | None = None

    def run(
        self,
        problem: ProblemParts,
        evaluator: Evaluator,
        start: ArrayLike | Mapping[str, float] | None = None,
        *,
        warn: bool = True,
        scaled_at: FloatArray | None = None,
    ) -> Optimum:
        """The optimum that a start leads to; `start` and `scaled_at` as in `DesignProblem.program`."""
        evaluator.course = Course(problem, replace(self, time_limit=None, progress=None), start, scaled_at)
        program = problem.program(evaluator, start, scaled_at=scaled_at)
        idle = without_influence(problem.space.names, program.first, problem.space.scale) if warn else []
        if idle:
            warnings.warn(
                f"{', '.join(map(repr, idle))}: no influence at the start, on the objective or on any limit, to first "
                "order. Such variables stay where they are: leave them out, or start elsewhere.",
                NoInfluenceWarning,
                stacklevel=4,
            )
        with shown(self.progress, self.max_iterations, self.time_limit) as report:
            found = solve(
                program.program(), program.start, _chosen(program) if self.solver == "auto" else self.solver,
                max_iterations=self.max_iterations, tolerance=self.tolerance, time_limit=self.time_limit,
                progress=report, options=self.options,
            )  # fmt: skip
        return Optimum.of(problem, program, found)

    def after(self, found: Optimum) -> Search:
        """What is left of it once one search has ended: its time; nothing at all where it was interrupted."""
        left = None if self.time_limit is None else max(self.time_limit - found.seconds, 1e-9)
        interrupted = found.status == "interrupted"
        return replace(self, time_limit=left, progress=(lambda _: False) if interrupted else self.progress)


class Course(NamedTuple):
    """All that the way of a search depends on, as data: the arguments of `Search.run`."""

    problem: ProblemParts
    search: Search
    start: ArrayLike | Mapping[str, float] | None
    scaled_at: FloatArray | None


def _chosen(program: DesignProgram) -> str:
    if program.goal.squares and len(program.constraint_names) == len(program.linear):
        return "least-squares"
    if not program.constraint_names:
        return "l-bfgs-b"
    if len(program.evaluator.space.names) <= MANY:
        return "slsqp"
    return "ipopt" if "ipopt" in available_solvers() else "trust-constr"
