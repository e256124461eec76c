"""Files of design problems: what may change, in which motions, what is wanted, what must hold. No code runs from them.

model = "crane.toml"                  # a recipe as in files of `mechgrad gradient`: one scenario,
duration = 5.0
[start.at]
slew = 0.3

[scenarios.loaded]                    # or several, of other kinds too (`design_scenarios`); they share what is above
weight = 2.0
model = "loaded.toml"

[variables]                           # paths or patterns: bounds, or a table of all that `mg.design.Variable` takes
"S1.stiffness" = [10.0, 200.0]
"boom.com.x" = { bounds = [0.5, 2.0], value = 1.0, scale = 0.5, scenarios = ["loaded"] }

[minimize.travel]                     # objectives (`objective_entries`), added up; scenarios as above
measure = "PointPosition"
of = ["hook"]
function = "(x[0] - 2.0) ** 2"
factor = 3.0

[limits.torque]                       # an objective with lower, upper or both
kind = "times"
measure = "JointReaction"
of = ["slew"]
function = "norm(x)"
upper = 4000.0

[linear.order]                        # lower <= sum of factors times variables <= upper
factors = { "S1.stiffness" = 1.0, "S2.stiffness" = -1.0 }
upper = 0.0

[solve]
goal = "sum"                          # "worst case", or "least squares" of [measured.NAME] and of [minimize.NAME]
solver = "auto"                       # also max_iterations, tolerance, time_limit, horizons; multistart, seed, same,
log = "run.jsonl"                     # at_once; executor; options = { ftol = 1e-12 } in the solver's own words
                                      # log: a new file beside this one; resume = "run.jsonl" goes on with it

[pareto]                              # a second objective, and how many designs of the front between both
kind = "end"
measure = "KineticEnergy"
count = 11                            # scenario = "loaded": whose motion it is of

[report]                              # what `--report run.html` shows
title = "A crane"
sensitivity = ["hook.mass"]           # certify = false leaves certificates out
measures = { hook = { measure = "PointPosition", of = ["hook"] } }

[measured.angle]                      # for least squares: values of a measure at instants
measure = "JointCoordinate"
of = ["slew"]
t = [0.1, 0.2]
values = [0.29, 0.27]
sigma = 0.001
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import mechgrad as mg
from mechgrad.cli.design_scenarios import SCENARIO_KEYS, robust_from, scenarios_from
from mechgrad.cli.objective_entries import OBJECTIVE_KEYS, Functions, measure_entry, objective_from
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.io import values
from mechgrad.io.untrusted_toml import read_tables

__all__ = ["DesignFile", "read_design"]

_OWN: Final = (
    "scenarios", "variables", "minimize", "measured", "limits", "linear", "solve", "robust", "pareto", "report",
)  # fmt: skip
_VARIABLE: Final = ("bounds", "value", "scale", "scenarios")
_SIDES: Final = ("lower", "upper")
_MEASURED: Final = ("measure", "of", "t", "values", "sigma", "scenarios")
_GOALS: Final = ("sum", "worst case", "least squares")
LOG: Final = ".jsonl"
Answer = mg.design.Optimum | mg.design.Multistart | mg.design.Front
_Asked = list[tuple[tuple[str, ...], Any]]  # scenarios (none: all) and what is asked of them


def _logged(value: Any, what: str) -> str:
    """A file beside the problem, so that what strangers wrote goes nowhere else."""
    name = values.word(value, what)
    if Path(name).name != name or not name.endswith(LOG) or name == LOG:
        raise InputError(f"{what} is {values.short(name)!r}; a file names one beside itself, such as 'run{LOG}'. Other "
                         "places are given on the command line.")  # fmt: skip
    return name


_SOLVE: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "solver": values.word,
    "max_iterations": lambda value, what: values.count(value, what, 1),
    "tolerance": values.number,
    "time_limit": values.number,
    "executor": values.word,
    "log": _logged,
    "resume": _logged,
    "multistart": lambda value, what: values.count(value, what, 1),
    "seed": lambda value, what: values.count(value, what, 0),
    "at_once": lambda value, what: values.count(value, what, 1),
    "same": values.number,
    "horizons": lambda value, what: tuple(values.numbers(value, what).tolist()),
    "options": lambda value, what: dict(values.table(value, what)),
}
"""Keys of [solve] besides the goal, those of `DesignProblem.solve` and `.multistart`."""
_OF_STARTS: Final = ("seed", "at_once", "same")
_OF_ONE: Final = ("time_limit", "horizons")
_OF_FRONTS: Final = ("solver", "max_iterations", "tolerance", "log", "resume", "executor")
_REPORT: Final = ("title", "sensitivity", "certify", "measures")


@dataclass(frozen=True)
class DesignFile:
    """What a file of a design problem states: the problem, and how it is to be solved."""

    path: Path
    problem: mg.DesignProblem
    options: Mapping[str, Any]
    pareto: Mapping[str, Any] | None = None
    report: Mapping[str, Any] = field(default_factory=dict)

    def solve(self, **changes: Any) -> Answer:
        """The answer, those of many starts, or a front; what is not None replaces what the file says. Errors name the
        file."""
        options = {**self.options, **{key: x for key, x in changes.items() if x is not None}}
        try:
            if self.pareto is not None:
                options.pop("progress", None)
                if others := [key for key in options if key not in _OF_FRONTS]:
                    raise InputError(f"[solve] has {others[0]} beside [pareto], which takes {', '.join(_OF_FRONTS)}.")
                return mg.design.pareto(self.problem, **self.pareto, **options)
            if "multistart" in options:
                if others := [key for key in _OF_ONE if key in options]:
                    raise InputError(f"[solve] has multistart beside {others[0]}, which belongs to one search.")
                return self.problem.multistart(options.pop("multistart"), **options)
            if others := [key for key in _OF_STARTS if key in options]:
                raise InputError(f"[solve] has {others[0]} without multistart, the number of starts.")
            return self.problem.solve(**options)
        except MechgradError as error:
            raise InputError(f"{self.path}: {error}") from error


def read_design(path: Path, functions: Functions | None = None) -> DesignFile:
    """The problem in a file: models are built, starts found and formulas read; nothing moves, nothing is written.

    functions : of users, from a module named on the command line, for formulas
    """
    content = read_tables(path, "problem", InputError, InputError)
    try:
        return _design(path, content, functions or {})
    except MechgradError as error:
        raise InputError(f"{path}: {error}") from error


def _design(path: Path, content: Mapping[str, Any], functions: Functions) -> DesignFile:
    values.only_known(content, (*SCENARIO_KEYS, *_OWN), "the problem")
    for key in ("variables", "minimize") if "measured" not in content else ("variables",):
        if not values.table(content.get(key, {}), key):
            raise InputError(f"{key!r} is missing. A problem has a model, duration, variables and minimize.")
    goal, options = _options(content.get("solve", {}))
    scenarios, k = robust_from(content, scenarios_from(path, content))
    problem = mg.DesignProblem(
        scenarios, _variables(content["variables"]), _goal(goal, content, functions, k),
        [*_limits(content, functions), *_linear(content)],
    )  # fmt: skip
    log = {key: path.parent / options[key] for key in ("log", "resume") if key in options}
    return DesignFile(path, problem, options | log, _pareto(content, functions), _report(content))


def _pareto(content: Mapping[str, Any], functions: Functions) -> dict[str, Any] | None:
    if "pareto" not in content:
        return None
    entry = values.table(content["pareto"], "pareto")
    values.only_known(entry, (*OBJECTIVE_KEYS, "count", "scenario"), "[pareto]")
    found: dict[str, Any] = {"second": objective_from("[pareto]", _without(entry, "count", "scenario"), functions)}
    if "count" in entry:
        found["count"] = values.count(entry["count"], "[pareto] count")
    if "scenario" in entry:
        found["scenario"] = values.word(entry["scenario"], "[pareto] scenario")
    return found


def _report(content: Mapping[str, Any]) -> dict[str, Any]:
    entry = values.table(content.get("report", {}), "report")
    values.only_known(entry, _REPORT, "[report]")
    found: dict[str, Any] = {}
    if "title" in entry:
        found["title"] = values.word(entry["title"], "[report] title")
    if "sensitivity" in entry:
        found["sensitivity"] = values.words(entry["sensitivity"], "[report] sensitivity")
    if "certify" in entry:
        found["certify"] = values.truth(entry["certify"], "[report] certify")
    measures = values.table(entry.get("measures", {}), "[report] measures")
    found["measures"] = {name: measure_entry(f"[report] measures.{name}", x) for name, x in measures.items()}
    return found


def _variables(given: Any) -> list[mg.design.Variable]:
    found = []
    for name, entry in values.table(given, "variables").items():
        where = f"[variables] {name!r}"
        if not isinstance(entry, Mapping):
            entry = {"bounds": entry}
        values.only_known(entry, _VARIABLE, where)
        numbers = {key: values.number(entry[key], f"{where}: {key}") for key in ("value", "scale") if key in entry}
        if "bounds" in entry:
            numbers["bounds"] = _bounds(entry["bounds"], f"{where}: bounds")
        found.append(mg.design.Variable(name, scenarios=_where(entry, where), **numbers))
    return found


def _bounds(given: Any, what: str) -> Any:
    """Two numbers, -inf or inf for none."""
    if not isinstance(given, list) or len(given) != 2:
        raise InputError(f"{what} is {values.short(given)}; it must be two numbers, [low, high].")
    return tuple(x if x in (float("-inf"), float("inf")) else values.number(x, what) for x in given)


def _where(entry: Mapping[str, Any], where: str) -> tuple[str, ...]:
    return tuple(values.words(entry["scenarios"], f"{where}: scenarios")) if "scenarios" in entry else ()


def _options(given: Any) -> tuple[str, dict[str, Any]]:
    given = values.table(given, "solve")
    values.only_known(given, ("goal", *_SOLVE), "[solve]")
    goal = values.word(given.get("goal", "sum"), "[solve] goal")
    if goal not in _GOALS:
        raise unknown_name("goal", goal, _GOALS, "[solve]")
    return goal, {key: read(given[key], f"[solve] {key}") for key, read in _SOLVE.items() if key in given}


def _goal(goal: str, content: Mapping[str, Any], functions: Functions, k: float | None) -> Any:
    """What is minimised: every scenario has what is asked of all, and what is asked of it; k of [robust]."""
    asked: _Asked = []
    for name, entry in values.table(content.get("minimize", {}), "minimize").items():
        where = f"[minimize.{name}]"
        entry = values.table(entry, where)
        factor = values.number(entry.get("factor", 1.0), f"{where}: factor")
        objective = objective_from(where, _without(entry, "factor", "scenarios"), functions)
        asked.append((_where(entry, where), objective if factor == 1.0 else factor * objective))
    for name, entry in values.table(content.get("measured", {}), "measured").items():
        if goal != "least squares":
            raise InputError(f'[measured.{name}] needs goal = "least squares" in [solve]; it is {goal!r}.')
        asked.append(_measured(f"[measured.{name}]", entry))
    if "scenarios" in content:
        every = list(content["scenarios"])
        for names, _ in asked:
            for name in names:
                if name not in every:
                    raise unknown_name("scenario", name, every, "minimize")
        minimize: Any = {s: [x for names, x in asked if not names or s in names] for s in every}
    elif any(names for names, _ in asked):
        raise InputError("minimize: scenarios are named, and the problem has none: add [scenarios.NAME].")
    else:
        minimize = [x for _, x in asked]
    if k is not None:
        if goal != "sum":
            raise InputError(f"[robust] minimises a mean and deviations of a sum; [solve] has goal = {goal!r}.")
        return mg.design.MeanDeviation(sum(minimize), k)
    wrapped = {"sum": lambda x: x, "worst case": mg.design.WorstCase, "least squares": mg.design.LeastSquares}
    return wrapped[goal](minimize)


def _measured(where: str, entry: Any) -> tuple[tuple[str, ...], mg.design.Measured]:
    entry = values.table(entry, where)
    values.only_known(entry, _MEASURED, where)
    for key in ("measure", "t", "values"):
        if key not in entry:
            raise InputError(f"{where}: {key!r} is missing. Give a measure, instants t and its values there.")
    measure = measure_entry(where, {key: entry[key] for key in ("measure", "of") if key in entry})
    t, found = (values.numbers(entry[key], f"{where}: {key}") for key in ("t", "values"))
    sigma = entry.get("sigma")
    if sigma is not None:
        sigma = (values.numbers if isinstance(sigma, list) else values.number)(sigma, f"{where}: sigma")
    return _where(entry, where), mg.design.Measured(measure, t, found, sigma)


def _limits(content: Mapping[str, Any], functions: Functions) -> list[mg.design.Limit]:
    found = []
    for name, entry in values.table(content.get("limits", {}), "limits").items():
        where = f"[limits.{name}]"
        entry = values.table(entry, where)
        values.only_known(entry, (*OBJECTIVE_KEYS, *_SIDES, "scenarios"), where)
        objective = objective_from(where, _without(entry, *_SIDES, "scenarios"), functions)
        found.append(mg.design.Limit(objective, **_sides(entry, where), name=name, scenarios=_where(entry, where)))
    return found


def _linear(content: Mapping[str, Any]) -> list[mg.design.Linear]:
    found = []
    for name, entry in values.table(content.get("linear", {}), "linear").items():
        where = f"[linear.{name}]"
        entry = values.table(entry, where)
        values.only_known(entry, ("factors", *_SIDES), where)
        given = values.table(entry.get("factors", {}), f"{where}: factors")
        factors = {path: values.number(x, f"{where}: factors.{path}") for path, x in given.items()}
        found.append(mg.design.Linear(factors, **_sides(entry, where), name=name))
    return found


def _sides(entry: Mapping[str, Any], where: str) -> dict[str, float]:
    return {key: values.number(entry[key], f"{where}: {key}") for key in _SIDES if key in entry}


def _without(entry: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: x for key, x in entry.items() if key not in keys}
