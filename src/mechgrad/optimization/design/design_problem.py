"""The question: what may change, in which situations, what is wanted, what must hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.measures.base import Measure
from mechgrad.optimization.design.design_program import DesignProgram
from mechgrad.optimization.design.design_space import DesignSpace
from mechgrad.optimization.design.evaluation import Ahead, Answers, Evaluation, Evaluator, in_turn
from mechgrad.optimization.design.evaluation_log import EvaluationLog, log_of, read_log
from mechgrad.optimization.design.executors import ExecutorGiven, Workers
from mechgrad.optimization.design.goals import Asked, Goal, as_goal
from mechgrad.optimization.design.horizons import checked_shares, shortened
from mechgrad.optimization.design.multistart import Multistart, StartProgress, multistart
from mechgrad.optimization.design.optimum import Optimum
from mechgrad.optimization.design.requirements import Limit, Linear, sides
from mechgrad.optimization.design.scenario import as_scenarios, with_linked
from mechgrad.optimization.design.search import Search
from mechgrad.optimization.design.variable import as_variables
from mechgrad.optimization.solvers.progress import Progress
from mechgrad.typing import ArrayLike, FloatArray


@final
@dataclass(frozen=True, eq=False)
class DesignProblem:
    """What is best: numbers of a mechanism, of its drives or of its start that make an objective small.

        min over x of  f(F_1(x), ..)    subject to   bounds,  lower <= F_j(x) <= upper,  lower <= A x <= upper

    F are values of objectives of scenarios; every gradient is exact, direct or adjoint by what is cheaper.

    Parameters
    ----------
    scenarios : what `simulate`, `kinematic_motion`, `equilibrium` or `assemble` returned, a Recipe or a Scenario;
        a list of these, or a mapping from names to them. Each is made anew at every design
    variables : mapping from paths or patterns to bounds; or paths, `Variable`, `DesignVariable`, a list of them
    minimize : an objective (weighted sum over the scenarios), `WorstCase`, `LeastSquares`
    constraints : `Limit` and `Linear`

    >>> swing = mg.simulate(model, {"pin": 0.0}, 1.0, step=0.01)
    >>> miss = mg.AtEnd(lambda q: (q - 0.2) ** 2, mg.measures.JointCoordinate("pin"))
    >>> problem = mg.DesignProblem(swing, {"start.velocity.pin": (-5.0, 5.0)}, miss)
    >>> problem
    DesignProblem of 1 variable, 1 scenario and 0 constraints. Next: print(problem), .evaluate(), .solve()
    >>> best = problem.solve()
    >>> best.success, bool(abs(best.motion.q[-1, 0] - 0.2) < 1e-4)
    (True, True)
    """

    scenarios: Any
    variables: Any
    minimize: Any
    constraints: Sequence[Limit | Linear] = ()
    goal: Goal = field(init=False, repr=False)
    space: DesignSpace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        variables, linked = as_variables(self.variables)
        scenarios = tuple(with_linked(s, linked) for s in as_scenarios(self.scenarios))
        if isinstance(self.minimize, Measure) and all(s.repeat.noun == "state" for s in scenarios):
            raise InputError(f"{self.minimize!r} is a measure; wrap it: mg.AtEnd({self.minimize!r}).")
        put = object.__setattr__
        put(self, "scenarios", scenarios)
        put(self, "goal", as_goal(self.minimize))
        put(self, "space", DesignSpace.of(variables, scenarios))
        given = (self.constraints,) if isinstance(self.constraints, Limit | Linear) else tuple(self.constraints)
        for item in given:
            if not isinstance(item, Limit | Linear):
                raise InputError(f"{item!r} is no constraint; give mg.design.Limit or mg.design.Linear.")
        put(self, "constraints", given)
        for item in self._linear:
            item.row(self.space.names)
        self._asked()

    @property
    def _limits(self) -> tuple[Limit, ...]:
        return tuple(x for x in self.constraints if isinstance(x, Limit))

    @property
    def _linear(self) -> tuple[Linear, ...]:
        return tuple(x for x in self.constraints if isinstance(x, Linear))

    def _asked(self) -> tuple[tuple[Asked, ...], tuple[tuple[Asked, ...], ...]]:
        """Objectives of the goal, and of each limit."""
        return self.goal.asked(self.scenarios), tuple(
            limit.asked(self.scenarios, k + 1) for k, limit in enumerate(self._limits)
        )

    def evaluator(
        self,
        log: EvaluationLog | None = None,
        known: Sequence[Evaluation] = (),
        answers: Answers = in_turn,
        *,
        threads: int | None = None,
        ahead: Ahead | None = None,
    ) -> Evaluator:
        """Values and gradients of all functions at any point; its arguments are explained there."""
        of_goal, of_limits = self._asked()
        asked = [*of_goal, *(a for x in of_limits for a in x)]
        return Evaluator(self.space, self.scenarios, asked, log, known, answers, threads, ahead)

    def evaluate(self, at: ArrayLike | Mapping[str, float] | None = None) -> Evaluation:
        """Values and gradients of all functions, at the start or at other values of the variables.

        >>> swing = mg.simulate(model, {"pin": 0.5}, 1.0, step=0.01)
        >>> end = mg.AtEnd(mg.measures.JointCoordinate("pin"))
        >>> mg.DesignProblem(swing, ["bob.com.z"], end).evaluate({"bob.com.z": -1.2}).gradient.shape
        (1, 1)
        """
        return self.evaluator().at(self.space.point(at), with_gradient=True, first=True)

    def program(
        self,
        evaluator: Evaluator,
        start: ArrayLike | Mapping[str, float] | None = None,
        *,
        scaled_at: FloatArray | None = None,
    ) -> DesignProgram:
        """The nonlinear program around an evaluator; evaluates the start, where every error is raised.

        scaled_at : where scales of functions are taken, for a start where slopes vanish
        """
        first = evaluator.at(self.space.point(start), with_gradient=True, first=True)
        of_goal, of_limits = self._asked()
        self.goal.check_counts(evaluator.counts[: len(of_goal)])
        parts = tuple(len(x) for x in of_limits)
        scales = None if scaled_at is None else evaluator.at(scaled_at, with_gradient=True)
        usual = None if scales is None or scales.failure else scales
        return DesignProgram(evaluator, self.goal, self._limits, self._linear, len(of_goal), parts, first, usual)

    def solve(
        self,
        solver: str = "auto",
        *,
        start: ArrayLike | Mapping[str, float] | None = None,
        max_iterations: int = 300,
        tolerance: float = 1e-8,
        time_limit: float | None = None,
        progress: Progress | bool | None = None,
        log: str | Path | None = None,
        resume: str | Path | None = None,
        executor: ExecutorGiven = None,
        horizons: Sequence[float] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Optimum:
        """The best design found, with the reason why the search ended. Ctrl-C ends it with the best one so far.

        Parameters
        ----------
        solver : "auto", "slsqp", "ipopt", "trust-constr", "l-bfgs-b", "least-squares" or "mma"
            "auto": within bounds and `Linear` limits "least-squares" for `LeastSquares`; with bounds alone "l-bfgs-b"
            for all else; with constraints or a worst case "slsqp" up to 100 variables, beyond that "ipopt" if it is
            there, else "trust-constr".
        start : where to start, (n,) or by names of variables; those that are left out start as they are
        tolerance : what slopes may remain, in units in which those at the start are one
        progress : True shows a table that grows (lines where there is no terminal); a function is called with each
            iteration, and ends the search by False
        log : a file to which every evaluation goes as it is made, in JSON lines
        resume : the log of a run of the same problem that ended; what it has is not computed again, and the search
            takes the same way. New evaluations are appended to it, or go to `log`
        executor : where scenarios are computed: None for threads where there are several, "serial", "threads",
            "processes", or any executor of `concurrent.futures`, such as `client.get_executor()` of Dask
        horizons : shares of the durations, (0.25, 0.5): the first quarter of every motion is optimised, then its first
            half from there, then all of it. Single instants count once the horizon has come to them, `AtEnd` counts at
            the end of each. Answers on the way are in `.stages`; a log gets one more file for each
        """
        known, written = self._log(log, resume)
        search = Search(solver, max_iterations, tolerance, time_limit, progress, options)
        stages: list[Optimum] = []
        for k, share in enumerate(checked_shares(horizons), start=1):
            part = shortened(self, share)
            stages.append(
                part._searched(search, start, *part._part_log(log, resume, "horizon", k), executor, warn=False)
            )
            start, search = stages[-1].values, search.after(stages[-1])
        return replace(self._searched(search, start, known, written, executor), stages=tuple(stages))

    def _searched(
        self, search: Search, start: Any, known: list[Evaluation], log: EvaluationLog | None, executor: ExecutorGiven,
        *, warn: bool = True,
    ) -> Optimum:  # fmt: skip
        with Workers(executor, len(self.scenarios)) as workers:
            evaluator = self.evaluator(log, known, workers.answers, ahead=workers.ahead)
            if known:
                self._continue(evaluator, self.space.point(start))
            return search.run(self, evaluator, start, warn=warn)

    def multistart(
        self,
        count: int,
        *,
        seed: int = 0,
        solver: str = "auto",
        max_iterations: int = 300,
        tolerance: float = 1e-8,
        same: float = 1e-3,
        progress: StartProgress | bool | None = None,
        log: str | Path | None = None,
        resume: str | Path | None = None,
        executor: ExecutorGiven = None,
        at_once: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Multistart:
        """Optima from many starts: the problem's own and Sobol points between the bounds, in basins, the best first.

        Ctrl-C ends it with what is there. With `seed`, `log` and `resume` a run is taken up where it ended.

        Parameters
        ----------
        count : starts in all; 1 + a power of two spreads Sobol points most evenly, 33 or 65
        same : optima are one if their values and their variables agree to this share of their scales
        progress : True prints a line as each start ends; a function is called with each `Started`, False ends the run
        executor : as in `solve`; every simulation goes there. By default starts run in threads of this process
        at_once : starts that run at the same time; by default one per core, with an executor up to 64

        Each gradient takes one thread, so that results are the same wherever they are computed.

        The others are those of `solve`.

        >>> swing = mg.simulate(model, mg.assemble(model, {"pin": 0.0}, {"pin": 1.0}), 1.0, step=0.01)
        >>> hump = mg.AtEnd(lambda q: (q**2 - 0.04) ** 2, mg.measures.JointCoordinate("pin"))
        >>> found = mg.DesignProblem(swing, {"start.velocity.pin": (-4.0, 4.0)}, hump).multistart(5)
        >>> len(found.basins), found.best.success
        (2, True)
        """
        search = Search(solver, max_iterations, tolerance, options=options)
        known, written = self._log(log, resume)
        return multistart(
            self, search, count, seed=seed, same=same, progress=progress, log=written, known=known, executor=executor,
            at_once=at_once,
        )  # fmt: skip

    # ---- the log

    def header(self) -> dict[str, Any]:
        """What a log of this problem says of it."""
        of_goal, of_limits = self._asked()
        return {
            "mechgrad": "evaluations of a design problem, version 1",
            "variables": list(self.space.names),
            "functions": [a.name for x in (of_goal, *of_limits) for a in x],
            "scenarios": [s.name for s in self.scenarios],
        }

    def _log(self, log: str | Path | None, resume: str | Path | None) -> tuple[list[Evaluation], EvaluationLog | None]:
        header, known = self.header(), []
        if resume is not None:
            known = [Evaluation(k + 1, **line, replayed=True) for k, line in enumerate(read_log(resume, header))]
        if log is not None and (resume is None or Path(log).resolve() != Path(resume).resolve()):
            return known, EvaluationLog(log, header)
        return known, None if resume is None else EvaluationLog(resume, header, fresh=False)

    def _part_log(
        self, log: str | Path | None, resume: str | Path | None, part: str, number: int
    ) -> tuple[list[Evaluation], EvaluationLog | None]:
        """The log of one search of several; one that an earlier run did not come to is begun."""
        ours, earlier = (None if path is None else log_of(path, part, number) for path in (log, resume))
        if earlier is not None and not earlier.is_file():
            return self._log(ours or earlier, None)
        return self._log(ours, earlier)

    def _continue(self, evaluator: Evaluator, start: FloatArray) -> None:
        """Raise where a log has other values at the start than this problem, which are computed once more."""
        afresh = self.evaluator()
        here = afresh.at(start, first=True).values
        evaluator.expect(afresh.counts)
        there = evaluator.at(start, first=True)
        if not there.replayed:
            raise InputError("resume: the log has no evaluation at this start; its problem started elsewhere.")
        size = float(np.abs(here).max(initial=0.0))
        if here.shape != there.values.shape or not np.allclose(here, there.values, rtol=1e-6, atol=1e-9 * size):
            raise InputError(
                "resume: the log has other values at the start than this problem: a model, a motion or an objective is "
                "another one. Solve without it."
            )

    def __repr__(self) -> str:
        n, k, m = len(self.space.names), len(self.scenarios), len(self.constraints)
        counts = (f"{x} {noun}{'' if x == 1 else 's'}" for x, noun in ((n, "variable"), (k, "scenario")))
        return (
            f"DesignProblem of {' , '.join(counts).replace(' ,', ',')} and {m} constraint{'' if m == 1 else 's'}. "
            "Next: print(problem), .evaluate(), .solve()"
        )

    def __str__(self) -> str:
        space = self.space
        width = max(map(len, space.names))
        lines = [f"{'variable':{width}}  {'start':>12}  {'lower':>12}  {'upper':>12}  {'scale':>12}"]
        for k, name in enumerate(space.names):
            numbers = (space.start[k], space.low[k], space.high[k], space.scale[k])
            part = [s.name for s, paths in zip(self.scenarios, space.paths, strict=True) if paths[k]]
            where = "" if len(part) == len(self.scenarios) else f"  in {', '.join(part)} alone"
            lines.append(f"{name:{width}}  " + "  ".join(f"{x:12.6g}" for x in numbers) + where)
        lines += [repr(s) for s in self.scenarios]
        lines.append(f"minimize: {type(self.goal).__name__} of {len(self.goal.asked(self.scenarios))} objective(s)")
        for item in self.constraints:
            lines.append(f"hold: {item!r}" if isinstance(item, Limit) else f"hold: {_in_words(item)}")
        return "\n".join(lines)


def _in_words(item: Linear) -> str:
    terms = " + ".join(f"{x:g} {name}" for name, x in item.factors.items())
    return sides(terms, item.lower, item.upper)
