"""Two objectives at once: designs of which no other is better in both.

    min f_1   subject to   f_2 <= eps          eps from f_2 at the optimum of f_1 down to its own minimum,

each problem started from the optimum of the one before (epsilon constraint). The multiplier of the limit is the slope
of the front, -df_1/df_2. Where the front is not convex its points are found as well; parts of it that no local search
from the neighbour reaches are not: these are worth a `multistart`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count as count_from
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from mechgrad.errors import InputError, MechgradError
from mechgrad.optimization.design.executors import ExecutorGiven, Workers
from mechgrad.optimization.design.optimum import Optimum
from mechgrad.optimization.design.requirements import Limit
from mechgrad.optimization.design.search import Search
from mechgrad.pictures import plots
from mechgrad.sensitivities.objectives import Objective, as_objective
from mechgrad.typing import FloatArray

if TYPE_CHECKING:
    from mechgrad.optimization.design.design_problem import DesignProblem

SAME: Final = 1e-6  # of the range of an objective: nearer values are equal
NAME: Final = "second objective"


@final
@dataclass(frozen=True, eq=False)
class FrontPoint:
    """A design of the front.

    Attributes
    ----------
    first, second : its objectives
    optimum : the search that found it;   values : its variables by name
    slope : df_1/df_2 along the front, negative: what a unit of the second buys of the first; 0 at
        the optimum of the first, NaN (not known) at that of the second
    """

    first: float
    second: float
    optimum: Optimum
    slope: float

    @property
    def values(self) -> dict[str, float]:
        """The variables by name."""
        return self.optimum.values


@final
@dataclass(frozen=True, eq=False)
class Front:
    """Designs of which no other is better in both objectives, by rising second objective.

    Attributes
    ----------
    points : the front
    dominated : designs found on the way that others beat in one objective and equal or beat in the other
    failed : limits of the second objective for which no design was found, with the reason
    """

    points: tuple[FrontPoint, ...]
    dominated: tuple[FrontPoint, ...]
    failed: tuple[tuple[float, str], ...]

    @property
    def array(self) -> FloatArray:
        """(count, 2) the objectives of the front."""
        return np.array([(p.first, p.second) for p in self.points], float).reshape(-1, 2)

    def plot(self) -> Any:
        """The front in the plane of the objectives; the matplotlib figure."""
        return plots("front_plots").plot_front(self)

    def __repr__(self) -> str:
        return (
            f"Front of {len(self.points)} designs, {len(self.dominated)} dominated, {len(self.failed)} limits without "
            "one. Next: print(front), .points, .array, .dominated, .failed, .plot()"
        )

    def __str__(self) -> str:
        lines = [f"{'first':>15}  {'second':>15}  {'slope':>11}"]
        lines += [f"{p.first:15.8g}  {p.second:15.8g}  {p.slope:11.4g}" for p in self.points]
        lines += [f"{p.first:15.8g}  {p.second:15.8g}  dominated, left out" for p in self.dominated]
        lines += [f"{'no design':>15}  {eps:15.8g}  {reason}" for eps, reason in self.failed]
        return "\n".join(lines)


def pareto(
    problem: DesignProblem,
    second: Objective,
    count: int = 11,
    *,
    scenario: str = "",
    solver: str = "auto",
    max_iterations: int = 300,
    tolerance: float = 1e-8,
    log: str | Path | None = None,
    resume: str | Path | None = None,
    executor: ExecutorGiven = None,
) -> Front:
    """The front of the objective of a problem and of a second one that is to be small, too. Ctrl-C ends it with what is
    there.

    Parameters
    ----------
    problem : its objective is the first
    second : an objective with one value
    count : designs, the two ends among them
    scenario : whose motion the second objective is of; needed where there are several
    log, resume : as in `DesignProblem.solve`; every search has a file of its own, "run.front-1.jsonl"
    solver, max_iterations, tolerance, executor : as in `DesignProblem.solve`

    >>> swing = mg.simulate(model, mg.assemble(model, {"pin": 0.0}, {"pin": 1.0}), 1.0, step=0.01)
    >>> far = mg.AtEnd(lambda q: (q - 0.2) ** 2, mg.measures.JointCoordinate("pin"))
    >>> slow = mg.AtTime(0.0, lambda v: v**2, mg.measures.JointVelocity("pin"))
    >>> front = mg.design.pareto(mg.DesignProblem(swing, {"start.velocity.pin": (-4.0, 4.0)}, far), slow, 5)
    >>> len(front.points), bool((np.diff(front.array[:, 0]) < 0).all()), bool((np.diff(front.array[:, 1]) > 0).all())
    (5, True, True)
    """
    second = as_objective(second)
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise InputError(f"pareto: count is {count!r}; give a whole number, 2 or more: the two ends are among them.")
    names = [s.name for s in problem.scenarios]
    if len(names) > 1 and scenario not in names:
        raise InputError(f"pareto: scenario is {scenario!r}; say whose motion the second objective is of: {names}.")
    where = scenario or names[0]
    other = replace(problem, minimize={where: second})

    search = Search(solver, max_iterations, tolerance)
    with Workers(executor, len(names)) as workers:
        numbers = count_from(1)

        def solve(asked: DesignProblem, start: FloatArray) -> Optimum:
            """From an optimum nearby, where slopes may vanish: scales are those at the problem's own start."""
            known, written = asked._part_log(log, resume, "front", next(numbers))
            evaluator = asked.evaluator(written, known, workers.answers, ahead=workers.ahead)
            if known:
                asked._continue(evaluator, start)
            best = search.run(asked, evaluator, start, warn=False, scaled_at=problem.space.start)
            evaluator.forget()
            return best

        found, failed = _walk(problem, other, Limits(second, where), count, solve)
    points, dominated = _sorted(found)
    return Front(points, dominated, tuple(failed))


@dataclass(frozen=True)
class Limits:
    """Limits of the second objective."""

    objective: Objective
    scenario: str

    def at(self, problem: DesignProblem, eps: float) -> DesignProblem:
        """The problem with one of them."""
        limit = Limit(self.objective, upper=eps, name=NAME, scenarios=(self.scenario,))
        return replace(problem, constraints=(*problem.constraints, limit))


def _walk(
    problem: DesignProblem,
    other: DesignProblem,
    limits: Limits,
    count: int,
    solve: Callable[[DesignProblem, FloatArray], Optimum],
) -> tuple[list[FrontPoint], list[tuple[float, str]]]:
    """From the optimum of the first objective to that of the second."""
    first = solve(problem, problem.space.start)
    if not first.success:
        raise InputError(f"pareto: the first objective alone has no optimum: {first.reason}.")
    last = solve(other, first.x)
    if not last.success:
        raise InputError(f"pareto: the second objective alone has no optimum: {last.reason}.")
    high, low = _value(other, first.x), _value(other, last.x)
    found, x = [FrontPoint(first.value, high, first, 0.0)], first.x
    failed: list[tuple[float, str]] = []
    if high - low <= SAME * max(abs(high), abs(low)):
        return found, failed
    for eps in np.linspace(high, low, count)[1:-1].tolist():
        try:
            best = solve(limits.at(problem, eps), x)
        except MechgradError as error:
            failed.append((eps, str(error)))
            continue
        if best.status == "interrupted":
            return found, [*failed, (eps, best.reason)]
        if not best.success:
            failed.append((eps, best.reason))
            continue
        side = next(s for s in best.constraints if s.name == NAME)
        found.append(FrontPoint(best.value, side.value, best, -side.multiplier))
        x = best.x
    found.append(FrontPoint(_value(problem, last.x), low, last, np.nan))
    return found, failed


def _value(problem: DesignProblem, x: FloatArray) -> float:
    """The objective of a problem at a point."""
    program = problem.program(problem.evaluator(), x)
    F = program.first.values[: program.goal_size]
    return float(F[0]) if len(F) == 1 else program.value(program.first.values)


def _sorted(found: Sequence[FrontPoint]) -> tuple[tuple[FrontPoint, ...], tuple[FrontPoint, ...]]:
    """Those that no other dominates, by rising second objective, and the rest; of equal ones the first stays."""
    F = np.array([(p.first, p.second) for p in found])
    near = SAME * np.maximum(np.ptp(F, axis=0), np.finfo(float).tiny)
    good: list[FrontPoint] = []
    bad: list[FrontPoint] = []
    for k, p in enumerate(found):
        equal_or_better = (F[k] + near >= F).all(axis=1)
        better = (F[k] - near > F).any(axis=1)
        equal = equal_or_better & ~better & (np.arange(len(F)) < k)
        (bad if (equal_or_better & better).any() or equal.any() else good).append(p)
    return tuple(sorted(good, key=lambda p: p.second)), tuple(sorted(bad, key=lambda p: p.second))
