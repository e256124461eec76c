"""The answer: the best design, what limits it, what that costs, and how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError, UnknownNameError
from mechgrad.measures.base import Measure
from mechgrad.model.model import Model
from mechgrad.optimization.design.certified import certified
from mechgrad.optimization.design.design_program import DesignProgram
from mechgrad.optimization.design.evaluation import Evaluation
from mechgrad.optimization.design.identification import Identification, identified
from mechgrad.optimization.design.problem_parts import ProblemParts
from mechgrad.optimization.design.side import Side
from mechgrad.optimization.solvers import SolverResult
from mechgrad.pages import Page, checked_path
from mechgrad.pictures import plots, reports
from mechgrad.sensitivities.certificate import Certificate
from mechgrad.sensitivities.gradient import gradient
from mechgrad.typing import ArrayLike, FloatArray

FAMILY = 6  # values of one limit that a table shows all; of more the active ones and the nearest
ACTIVE = 1e-6  # of its scale: a limit that is nearer holds the optimum back


@final
@dataclass(frozen=True, eq=False)
class Optimum:
    """What a `DesignProblem` found, whether good or not.

    Attributes
    ----------
    problem : what it answers
    values : the variables by name
    value : the objective there;   start_value : at the start
    gradient : of the objective by each variable, by name; for a worst case that of the worst
    status : converged, infeasible, iteration limit, time limit, interrupted, failed;   reason : in a sentence
    variables, constraints : the sides of all, with multipliers
    history : every evaluation, failed ones with their reasons
    iterations, seconds : what it took
    result : as the solver left it
    stages : answers for shorter horizons that this one began from, if `solve` was given any

    >>> swing = mg.simulate(model, {"pin": 0.0}, 1.0, step=0.01)
    >>> miss = mg.AtEnd(lambda q: (q - 0.2) ** 2, mg.measures.JointCoordinate("pin"))
    >>> best = mg.DesignProblem(swing, {"start.velocity.pin": (-5.0, 0.5)}, miss).solve()
    >>> best.status, best.model.name, best.motion.q.shape
    ('converged', 'pendulum', (101, 1))
    >>> best
    Optimum: converged; objective 0.04 -> 0.0390... after 2 evaluations. Next: print(best), .values, .model, ...
    """

    problem: ProblemParts
    values: dict[str, float]
    value: float
    start_value: float
    gradient: dict[str, float]
    status: str
    reason: str
    variables: tuple[Side, ...]
    constraints: tuple[Side, ...]
    history: tuple[Evaluation, ...] = field(repr=False)
    iterations: int
    seconds: float
    result: SolverResult = field(repr=False)
    program: DesignProgram = field(repr=False)
    stages: tuple[Optimum, ...] = field(repr=False, default=())

    @staticmethod
    def of(problem: ProblemParts, program: DesignProgram, result: SolverResult) -> Optimum:
        """The answer behind what a solver came back with."""
        space, evaluator = problem.space, program.evaluator
        n = len(space.names)
        x = result.x[:n]
        there = evaluator.at(x, with_gradient=True)
        if there.failure:  # a solver that ended at a bad point; `solve` says so
            there, x = program.first, program.first.x
        assert there.gradient is not None
        F, J, size = there.values, there.gradient, program.goal_size
        slope = program.goal.slope(F[:size], program.weights) @ J[:size]
        scaled = program.program()
        z = np.append(x, program.value(F)) if program.goal.epigraph else x
        bounds = _sides(space.names, x, space.low, space.high, result.multipliers.bounds[:n], scaled.variable_scale[:n])
        limits = _sides(
            program.constraint_names, program.constraints(z), scaled.cl, scaled.cu, result.multipliers.constraints,
            scaled.constraint_scale,
        )  # fmt: skip
        return Optimum(
            problem=problem, values=space.named(x), value=program.value(F), start_value=program.value(
                program.first.values), gradient=space.named(slope), status=result.status,
            reason=_reason(result, evaluator.history), variables=bounds, constraints=limits,
            history=evaluator.history, iterations=result.iterations, seconds=result.time, result=result,
            program=program,
        )  # fmt: skip

    # ---- what was found

    @property
    def success(self) -> bool:
        """Whether the search converged to a design that meets all limits."""
        return self.status == "converged"

    @property
    def x(self) -> FloatArray:
        """The variables (n,)."""
        return np.array(list(self.values.values()))

    @cached_property
    def motions(self) -> dict[str, Any]:
        """The motions (or states) of all scenarios with the best numbers, by their names."""
        names = [s.name for s in self.problem.scenarios]
        return dict(zip(names, self.program.evaluator.motions(self.x), strict=True))

    @property
    def motion(self) -> Any:
        """That of the first scenario."""
        return next(iter(self.motions.values()))

    @property
    def models(self) -> dict[str, Model]:
        """The models with the best numbers, by scenario."""
        return {name: motion.model for name, motion in self.motions.items()}

    @property
    def model(self) -> Model:
        """That of the first scenario."""
        model: Model = self.motion.model
        return model

    @property
    def failures(self) -> tuple[Evaluation, ...]:
        """Designs that could not be put together or simulated, with reasons."""
        return tuple(e for e in self.history if e.failure)

    @property
    def start(self) -> dict[str, Any]:
        """The motions of all scenarios at the start, by their names."""
        names = [s.name for s in self.problem.scenarios]
        return dict(zip(names, self.program.evaluator.motions(self.program.first.x), strict=True))

    # ---- how sure, how sensitive

    def certify(self, *, tolerance: float = 1e-7) -> dict[str, Certificate]:
        """A verdict on all gradients at the start and at the optimum, for each scenario: both are compared with
        everything made anew by complex and by real steps. Errors are relative to the larger slopes of the two: at an
        optimum slopes may be nothing at all."""
        found = {}
        for i, name in enumerate(self.motions):
            question = self.program.evaluator.questions[i]
            if question.objectives and question.wrt:
                found[name] = certified(question, name, (self.start[name], self.motions[name]), tolerance)
        return found

    def sensitivity(self, wrt: str | Sequence[str]) -> dict[str, float]:
        """d minimum / d parameter for numbers that were held fixed: what the best value would become with another mass.

            df*/dp = sum_k dL/dF_k dF_k/dp         L = f + lam . c, the envelope theorem

        Of variables themselves it is their multiplier with a minus.

        wrt : paths or patterns of the models, start values
        """
        there = self.program.evaluator.at(self.x)
        weights = self.program.lagrangian_weights(there.values, self.result.multipliers)
        if not np.isfinite(weights).all():
            raise InputError(f"the search ended without multipliers ({self.reason}); sensitivities need an optimum.")
        evaluator, total, unknown = self.program.evaluator, dict[str, float](), None
        rows = np.split(weights, np.cumsum(evaluator.counts)[:-1])
        for i, motion in enumerate(self.motions.values()):
            objectives = evaluator.questions[i].objectives
            if objectives:
                try:
                    found = gradient(motion, objectives, wrt)
                except UnknownNameError as error:  # a number of other scenarios, if of any
                    unknown = error
                    continue
                own = np.concatenate([w for w, a in zip(rows, evaluator.asked, strict=True) if a.scenario == i])
                for name, x in zip(found.parameters, own @ found.array, strict=True):
                    total[name] = total.get(name, 0.0) + float(x)
        if unknown is not None and not total:
            raise unknown
        return total

    def identification(self, *, confidence: float = 0.95) -> Identification:
        """How well data determine the variables: of `LeastSquares` problems."""
        if not self.program.goal.squares:
            raise InputError("only least squares identify: minimize=mg.design.LeastSquares(mg.design.Measured(...)).")
        return identified(self.program, self.x, self.variables, confidence)

    # ---- to be seen

    def plot(self, measures: Mapping[str, Measure] | Sequence[Measure] | Measure = ()) -> Any:
        """Convergence, variables between their bounds, limits, and measures before and after; the matplotlib figure."""
        return plots("optimum_plots").plot_optimum(self, measures)

    @property
    def before_and_after(self) -> dict[str, tuple[Any, Any]]:
        """What each scenario was at the start, and what it is now."""
        return {name: (self.start[name], motion) for name, motion in self.motions.items()}

    def report(
        self,
        path: str | Path,
        measures: Mapping[str, Measure] | Sequence[Measure] | Measure = (),
        *,
        sensitivity: str | Sequence[str] = (),
        certify: bool = True,
        title: str = "",
        animated: bool = True,
    ) -> Path:
        """Write a page that opens in any browser, without a network: what was asked, variables between their bounds,
        limits with multipliers, convergence, measures before and after, certificates, versions and times. Returns
        where it is.

        Parameters
        ----------
        path : its name, ending with .html; a file of that name is replaced
        measures : drawn before and after, one or several, or a mapping from titles to them
        sensitivity : numbers that were held, to be told what they cost (`Optimum.sensitivity`)
        certify : whether gradients are judged (`Optimum.certify`), which takes some hundred motions
        title : in place of the name of the model
        animated : whether it can be played, before and after; without it the page has no script
        """
        where = checked_path(path)
        page: Page = reports("optimum_report").report_page(
            self, measures, sensitivity, certify, title, animated=animated
        )
        return page.write(where)

    def __repr__(self) -> str:
        return (
            f"Optimum: {self.status}; objective {self.start_value:.6g} -> {self.value:.6g} after {len(self.history)} "
            "evaluations. Next: print(best), .values, .model, .motion, .constraints, .history, .certify(), "
            ".sensitivity([...]), .plot(), .report('best.html')"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.reason} ({self.result.solver}, {self.iterations} iterations, {len(self.history)} evaluations, "
            f"{self.seconds:.3g} s)",
            f"objective {self.start_value:.8g} -> {self.value:.8g}",
            *_table("variable", self.variables),
            *(_table("constraint", self.constraints) if self.constraints else ()),
        ]
        lines += [f"violated: {violation}" for violation in self.result.worst]
        if self.failures:
            last = self.failures[-1]
            lines.append(f"{len(self.failures)} designs failed on the way; number {last.number}: {last.failure}")
        return "\n".join(lines)

    def point(self, given: ArrayLike | Mapping[str, float] | None = None) -> FloatArray:
        """The variables as an array, with some of them changed."""
        return self.x if given is None else self.problem.space.point(given)


def _sides(
    names: Sequence[str], values: FloatArray, low: FloatArray, high: FloatArray, multipliers: FloatArray, scale: Any
) -> tuple[Side, ...]:
    near = ACTIVE * np.maximum(np.abs(scale), np.abs(values))
    active = (values - low <= near) | (high - values <= near)
    return tuple(
        Side(str(name), float(value), float(lower), float(upper), float(multiplier), bool(reached))
        for name, value, lower, upper, multiplier, reached in zip(
            names, values, low, high, multipliers, active, strict=True
        )
    )


def _table(noun: str, items: Sequence[Side]) -> list[str]:
    width = max(len(noun), *(len(x.name) for x in items))
    lines = [f"{noun:{width}}  {'value':>13}  {'lower':>11}  {'upper':>11}  {'multiplier':>11}"]
    for group in _families(items):
        told = (
            group
            if len(group) <= FAMILY
            else [x for x in group if x.active or x.margin == min(y.margin for y in group)]
        )
        for x in told:
            mark = "  active" if x.active else ""
            lines.append(
                f"{x.name:{width}}  {x.value:13.7g}  {x.lower:11.5g}  {x.upper:11.5g}  {x.multiplier:11.4g}{mark}"
            )
        if len(told) < len(group):
            lines.append(f"{_family(group[0].name)}: {len(group) - len(told)} more values, none of them nearer")
    return lines


def _family(name: str) -> str:
    """What values of one limit at many instants have in common: "pin A[3]" and "pin A[4]" are of "pin A"."""
    return name.rpartition("[")[0] if name.endswith("]") else name


def _families(items: Sequence[Side]) -> list[list[Side]]:
    return [list(group) for _, group in groupby(items, key=lambda x: _family(x.name))]


def _reason(result: SolverResult, history: Sequence[Evaluation]) -> str:
    """Why the search ended; where it failed at a bad point, why that was one."""
    failed = [e for e in history if e.failure]
    if result.status == "failed" and failed:
        return f"{result.reason}; the last design without values is number {failed[-1].number}: {failed[-1].failure}"
    return result.reason
