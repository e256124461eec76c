"""Problem files: which motion of which model, and which objectives by which parameters. Data, from which no code runs.

model = "crane.toml"                  # beside this file, a name of the gallery, or a table [model]
duration = 5.0
step = 0.001                          # all keys of a recipe (`mechgrad.io.recipes`): formulation, scheme, samples, ...
wrt = ["rope.stiffness", "boom.mass", "start.position.slew"]
method = "auto"

[start.at]                            # what is held at the start, as in mg.assemble; [start.rates] likewise,
slew = 0.3                            # or start.q = [...] and start.v = [...], or start.way = "at rest"

[objectives.travel]
kind = "integral"                     # "integral", "end", "time" (with t = ...)
measure = "PointPosition"             # a measure and its arguments
of = ["hook"]
function = "(x[0] - 2.0) ** 2"        # a formula of x, the measure; left out: the measure itself

[objectives.power]
function = "F * v"                    # several measures, by names of their own
[objectives.power.measures]
F = { measure = "Effort", of = ["rope"] }
v = { measure = "JointVelocity", of = ["slew"] }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mechgrad as mg
from mechgrad.cli.models import find_model
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.io import recipe_from_dict, values
from mechgrad.io.expressions import Expression, check_measure_name
from mechgrad.io.recipes import RECIPE_KEYS
from mechgrad.io.untrusted_toml import read_tables
from mechgrad.model.primitives.measure_entries import measure_from

__all__ = ["Problem", "read_problem"]

_NEEDED: Final = ("model", "duration", "wrt", "objectives")
_OWN: Final = ("wrt", "objectives", "method")
_KEYS: Final = (*_NEEDED, *(key for key in (*RECIPE_KEYS, *_OWN) if key not in _NEEDED))
_TERM: Final = ("kind", "measure", "of", "measures", "function", "t")
_KINDS: Final[Mapping[str, type[mg.objectives.Objective]]] = {
    "integral": mg.Integral,
    "end": mg.AtEnd,
    "time": mg.AtTime,
}
_Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Problem:
    """What a problem file states: a recipe, and which derivatives are asked of its motion."""

    path: Path
    recipe: mg.results.Recipe
    objectives: Mapping[str, mg.objectives.Objective]
    wrt: list[str]
    method: str

    def solve(self, method: str | None = None) -> mg.Gradient:
        """Simulate and differentiate; errors name the file."""
        try:
            return mg.gradient(self.recipe.simulate(), dict(self.objectives), self.wrt, method=method or self.method)
        except MechgradError as error:
            raise InputError(f"{self.path}: {error}") from error


def read_problem(path: Path, functions: _Functions | None = None) -> Problem:
    """The problem in a file: its model is built, its start found and its formulas are read; nothing moves.

    functions : of users, from a module named on the command line, for formulas
    """
    content = read_tables(path, "problem", InputError, InputError)
    try:
        return _problem(path, content, functions or {})
    except MechgradError as error:
        raise InputError(f"{path}: {error}") from error


def _problem(path: Path, content: Mapping[str, Any], functions: _Functions) -> Problem:
    values.only_known(content, _KEYS, "the problem")
    for key in _NEEDED:
        if key not in content:
            raise InputError(f"{key!r} is missing. A problem has {', '.join(_NEEDED)}.")
    objectives = values.table(content["objectives"], "objectives")
    if not objectives:
        raise InputError("no objectives. Add a table [objectives.NAME] with a measure.")
    terms = {name: _objective(f"[objectives.{name}]", term, functions) for name, term in objectives.items()}
    wrt, method = values.words(content["wrt"], "wrt"), values.word(content.get("method", "auto"), "method")
    model = None if isinstance(content["model"], Mapping) else find_model(content["model"], path.parent)
    recipe = recipe_from_dict({key: x for key, x in content.items() if key not in _OWN}, model)
    return Problem(path, recipe, terms, wrt, method)


def _objective(where: str, term: Any, functions: _Functions) -> mg.objectives.Objective:
    term = values.table(term, where)
    values.only_known(term, _TERM, where)
    kind = term.get("kind", "integral")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise unknown_name("kind", values.short(kind), _KINDS, where)
    if ("t" in term) != (kind == "time"):
        raise InputError(f"{where}: kind 'time' needs t, the instant [s]; the others have none.")
    if ("measure" in term) == ("measures" in term):
        raise InputError(f"{where}: give a measure (with of = [...]), or a table of several, measures.")
    several = values.table(term["measures"], f"{where}: measures") if "measures" in term else {"x": _only(term)}
    if len(several) == 0 or ("measures" in term and ("function" not in term or "of" in term)):
        raise InputError(
            f'{where}: measures is a table such as {{ v = {{ measure = "KineticEnergy" }} }}, each with an "of" of its '
            "own, and needs a function of them."
        )
    for name in several:
        check_measure_name(name, where, tuple(functions))
    measures = {name: _measure(f"{where}: {name}", entry) for name, entry in several.items()}
    arguments: list[Any] = list(measures.values())
    if "function" in term:
        arguments.insert(0, Expression(term["function"], tuple(measures), f"{where}: function", functions))
    if kind == "time":
        arguments.insert(0, values.number(term["t"], f"{where}: t"))
    return _KINDS[kind](*arguments)


def _only(term: Mapping[str, Any]) -> dict[str, Any]:
    return {key: term[key] for key in ("measure", "of") if key in term}


def _measure(where: str, entry: Any) -> mg.measures.Measure:
    measure: mg.measures.Measure = measure_from(values.table(entry, where), where)
    return measure
