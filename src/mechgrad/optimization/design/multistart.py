"""Many starts: optima from Sobol points between the bounds, and which of them are one.

Two optima are one if

    |f_1 - f_2| <= same max(|f|, scale of f)     and     |x_1 - x_2| <= same scale of x, every variable

with the scales that the solver sees (`design_program`). Sorted by value, each optimum joins the first basin whose best
one it equals. Where a whole line of designs is best, basins are places on it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np
from scipy.stats import qmc

from mechgrad.errors import InputError, MechgradError
from mechgrad.optimization.design.evaluation import Evaluation, WorkError, failure_of
from mechgrad.optimization.design.evaluation_log import EvaluationLog
from mechgrad.optimization.design.executors import LISTEN, ExecutorGiven, Workers
from mechgrad.optimization.design.optimum import Optimum
from mechgrad.optimization.design.problem_parts import ProblemParts
from mechgrad.optimization.design.requirements import Linear
from mechgrad.optimization.design.search import Search
from mechgrad.optimization.solvers.planes import shortest, sides
from mechgrad.pictures import plots
from mechgrad.typing import FloatArray

MOST_AT_ONCE: Final = 64  # starts that wait for an executor at the same time
SHOWN: Final = 6  # variables in the table of basins


@final
@dataclass(frozen=True, eq=False)
class Started:
    """One start and what became of it.

    Attributes
    ----------
    number : from 1, the problem's own start; the others are Sobol points in their order
    start : the variables there, by name
    optimum : where it led to; None where the start itself could not be computed
    failure : why there is none
    """

    number: int
    start: dict[str, float]
    optimum: Optimum | None
    failure: str = ""

    @property
    def success(self) -> bool:
        """Whether the search from here converged."""
        return self.optimum is not None and self.optimum.success

    def __str__(self) -> str:
        if self.optimum is None:
            return f"start {self.number}: {self.failure}"
        return f"start {self.number}: {self.optimum.status}, objective {self.optimum.value:.8g}"


StartProgress: TypeAlias = Callable[[Started], object]
"""Called as each start ends; returning False ends the run."""


@final
@dataclass(frozen=True, eq=False)
class Basin:
    """Starts that led to the same optimum; `optimum` is the best of them, `starts` their numbers."""

    optimum: Optimum
    starts: tuple[int, ...]

    @property
    def value(self) -> float:
        """The objective."""
        return self.optimum.value

    @property
    def values(self) -> dict[str, float]:
        """The variables by name."""
        return self.optimum.values


@final
@dataclass(frozen=True, eq=False)
class Multistart:
    """What many starts led to.

    Attributes
    ----------
    problem : what was asked
    starts : all of them, by number; those that failed say why
    basins : different optima, the best first, of searches that converged
    same : how near optima are that are one, see `mechgrad.optimization.design.multistart`
    count : how many starts were asked for; there are fewer in `starts` after Ctrl-C
    seconds : what it took

    >>> swing = mg.simulate(model, mg.assemble(model, {"pin": 0.0}, {"pin": 1.0}), 1.0, step=0.01)
    >>> hump = mg.AtEnd(lambda q: (q**2 - 0.04) ** 2, mg.measures.JointCoordinate("pin"))
    >>> found = mg.DesignProblem(swing, {"start.velocity.pin": (-4.0, 4.0)}, hump).multistart(5)
    >>> found
    Multistart: 5 of 5 starts converged, to 2 different optima; the best ... Next: print(found), .best, .basins, ...
    """

    problem: ProblemParts
    starts: tuple[Started, ...]
    basins: tuple[Basin, ...]
    same: float
    count: int
    seconds: float = field(repr=False)

    @property
    def best(self) -> Optimum:
        """The best optimum; where no search converged, the least infeasible and then lowest end of one."""
        if self.basins:
            return self.basins[0].optimum
        ends = [s.optimum for s in self.starts if s.optimum is not None]
        if not ends:
            reasons = "; ".join(map(str, self.starts[:3])) or "it was interrupted before any start ended"
            raise InputError(f"no start led anywhere: {reasons}.")
        return min(ends, key=lambda best: (max(best.result.infeasibility, 1e-6), best.value))

    @property
    def unfinished(self) -> tuple[Started, ...]:
        """Starts whose search did not converge, with reasons."""
        return tuple(s for s in self.starts if not s.success)

    @property
    def interrupted(self) -> bool:
        """Whether it ended before all starts had."""
        return len(self.starts) < self.count or any(
            s.optimum is not None and s.optimum.status == "interrupted" for s in self.starts
        )

    def plot(self) -> Any:
        """The optima of all starts in order of their values, a colour per basin; the matplotlib figure."""
        return plots("front_plots").plot_basins(self)

    def __repr__(self) -> str:
        done = sum(s.success for s in self.starts)
        found = f"to {len(self.basins)} different optim{'um' if len(self.basins) == 1 else 'a'}"
        best = f"; the best {self.basins[0].value:.6g}" if self.basins else ""
        return (
            f"Multistart: {done} of {self.count} starts converged, {found}{best}. Next: print(found), .best, .basins, "
            ".starts, .unfinished, .plot()"
        )

    def __str__(self) -> str:
        names = list(self.problem.space.names)[:SHOWN]
        more = f"  ({len(self.problem.space.names) - SHOWN} more)" if len(self.problem.space.names) > SHOWN else ""
        lines = [f"{'basin':>5}  {'objective':>15}  {'starts':>6}  " + "  ".join(f"{x:>13}" for x in names) + more]
        for k, basin in enumerate(self.basins):
            x = "  ".join(f"{basin.values[name]:{max(len(name), 13)}.7g}" for name in names)
            lines.append(f"{k + 1:5d}  {basin.value:15.8g}  {len(basin.starts):6d}  {x}")
        lines += [f"{x}{'' if x.optimum is None else f' ({x.optimum.reason})'}" for x in self.unfinished]
        if missing := self.count - len(self.starts):
            lines.append(f"interrupted: {missing} of {self.count} starts were not begun or not ended")
        return "\n".join(lines)


def sobol_points(problem: ProblemParts, count: int, seed: int) -> FloatArray:
    """(count, n) points between the bounds, scrambled by a seed; fewer points are the first ones of more.

    A point that breaks linear limits is moved to the nearest one that holds them, distances counted in scales.
    """
    space = problem.space
    if count and not np.isfinite(space.high - space.low).all():
        names = [n for n, a, b in zip(space.names, space.low, space.high, strict=True) if not np.isfinite(b - a)]
        raise InputError(f"{', '.join(map(repr, names))}: starts are spread between bounds; give it two finite ones.")
    power = int(np.ceil(np.log2(max(count, 1))))
    share = qmc.Sobol(len(space.names), scramble=True, seed=seed).random_base2(power)[:count]
    points = [_held(problem, x) for x in space.low + (space.high - space.low) * share]
    return np.array(points).reshape(count, len(space.names))


def _held(problem: ProblemParts, x: FloatArray) -> FloatArray:
    """The point next to x that holds the linear limits."""
    linear = [item for item in problem.constraints if isinstance(item, Linear)]
    if not linear:
        return x
    space = problem.space
    A = np.array([item.row(space.names) for item in linear])
    low, high = (np.array([getattr(item, side) for item in linear], float) for side in ("lower", "upper"))
    moved = shortest(
        *sides(
            np.vstack([np.eye(len(x)), A * space.scale]),
            np.concatenate([(space.low - x) / space.scale, low - A @ x]),
            np.concatenate([(space.high - x) / space.scale, high - A @ x]),
        )
    )
    if moved is None:
        names = ", ".join(repr(item) for item in linear)
        raise InputError(f"no design holds all linear limits between the bounds: {names}.")
    return np.clip(x + space.scale * moved, space.low, space.high)


def multistart(
    problem: ProblemParts, search: Search, count: int, *, seed: int, same: float,
    progress: StartProgress | bool | None, log: EvaluationLog | None, known: Sequence[Evaluation],
    executor: ExecutorGiven, at_once: int | None,
) -> Multistart:  # fmt: skip
    """All starts searched from, as `DesignProblem.multistart` says."""
    _check(count, seed, same, at_once)
    begin = time.perf_counter()
    points = [problem.space.start, *sobol_points(problem, count - 1, seed)]
    counts = _counts(problem, known)
    here = executor is None or (isinstance(executor, str) and executor != "processes")
    threads = at_once or (min(os.cpu_count() or 1, count) if here else min(count, MOST_AT_ONCE))
    with Workers("serial" if here else executor, len(problem.scenarios), count) as workers:

        def led(number: int, x: FloatArray) -> Started | None:
            evaluator = problem.evaluator(log, known, workers.answers, threads=1, ahead=workers.ahead)
            evaluator.expect(counts)
            try:
                best = search.run(problem, evaluator, x, warn=number == 1)
            except KeyboardInterrupt:
                return None
            except WorkError:
                raise
            except MechgradError as error:
                return Started(number, problem.space.named(x), None, failure_of(error))
            evaluator.forget()
            return Started(number, problem.space.named(x), best)

        report = _print if progress is True else progress or None
        threads = 1 if executor == "serial" else threads
        starts = tuple(_ends(led, points, threads, workers, report))
    return Multistart(problem, starts, basins_of(starts, same), same, count, time.perf_counter() - begin)


def _ends(
    led: Callable[[int, FloatArray], Started | None], points: Sequence[FloatArray], threads: int, workers: Workers,
    report: StartProgress | None,
) -> list[Started]:  # fmt: skip
    """What starts lead to, by number; Ctrl-C, or a report that says so, ends those that run with what they have."""
    pool = ThreadPoolExecutor(threads, "mechgrad start")
    futures = [pool.submit(led, k + 1, x) for k, x in enumerate(points)]
    told: set[Future[Started | None]] = set()

    def stop() -> None:
        workers.end()
        for future in futures:
            future.cancel()

    try:
        while len(told) < len(futures):
            try:
                wait([future for future in futures if future not in told], LISTEN, FIRST_COMPLETED)
                for future in [x for x in futures if x.done() and x not in told]:
                    told.add(future)
                    found = None if future.cancelled() else future.result()
                    if found is None or report is None or workers.ended.is_set():
                        continue
                    if report(found) is False:
                        stop()
            except KeyboardInterrupt:
                if workers.ended.is_set():
                    raise
                stop()
    finally:
        stop()
        pool.shutdown()
    return [x for x in (future.result() for future in futures if not future.cancelled()) if x is not None]


def _counts(problem: ProblemParts, known: Sequence[Evaluation]) -> tuple[int, ...]:
    """How many values the objectives have; raises where a log has others than this problem, computed once more."""
    there = next((e for e in known if not e.failure), None)
    if there is None:
        return ()
    afresh = problem.evaluator()
    here = afresh.at(there.x, first=True).values
    size = float(np.abs(here).max(initial=0.0))
    if here.shape != there.values.shape or not np.allclose(here, there.values, rtol=1e-6, atol=1e-9 * size):
        raise InputError(
            "resume: the log has other values than this problem at its first point: a model, a motion or an objective "
            "is another one. Begin without it."
        )
    return afresh.counts


def basins_of(starts: Sequence[Started], same: float) -> tuple[Basin, ...]:
    """Optima that differ, the best first, each with the starts that led there."""
    found: list[tuple[Optimum, list[int]]] = []
    ends = [(s.optimum, s.number) for s in starts if s.optimum is not None and s.success]
    for optimum, number in sorted(ends, key=lambda x: (x[0].value, x[1])):
        for best, numbers in found:
            if _one(best, optimum, same):
                numbers.append(number)
                break
        else:
            found.append((optimum, [number]))
    return tuple(Basin(best, tuple(sorted(numbers))) for best, numbers in found)


def _one(a: Optimum, b: Optimum, same: float) -> bool:
    size = max(abs(a.value), abs(b.value), a.program.scales[2])
    near = np.abs(a.x - b.x) <= same * a.problem.space.scale
    return bool(abs(a.value - b.value) <= same * size and near.all())


def _check(count: int, seed: int, same: float, at_once: int | None) -> None:
    for name, x, least in (("count", count, 1), ("seed", seed, 0), ("at_once", 1 if at_once is None else at_once, 1)):
        if isinstance(x, bool) or not isinstance(x, int | np.integer) or x < least:
            raise InputError(f"multistart: {name} is {x!r}; give a whole number, {least} or more.")
    if not 0.0 < same < 1.0:
        raise InputError(f"multistart: same is {same!r}; give a share between 0 and 1, such as 1e-3.")


def _print(started: Started) -> None:
    print(started, flush=True)
