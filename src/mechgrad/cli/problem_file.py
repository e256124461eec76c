"""Problem files: which motion of which model, and which objectives by which parameters. Data, from which no code runs.

model = "crane.toml"                  # beside this file, a name of the gallery, or a table [model]
duration = 5.0
step = 0.001                          # all keys of a recipe (`mechgrad.io.recipes`): formulation, scheme, samples, ...
wrt = ["rope.stiffness", "boom.mass", "start.position.slew"]
method = "auto"

[start.at]                            # what is held at the start, as in mg.assemble; [start.rates] likewise,
slew = 0.3                            # or start.q = [...] and start.v = [...], or start.way = "at rest"

[objectives.travel]                   # as many as there are rows to be differentiated, see `objective_entries`
measure = "PointPosition"
of = ["hook"]
function = "(x[0] - 2.0) ** 2"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mechgrad as mg
from mechgrad.cli.models import find_model
from mechgrad.cli.objective_entries import Functions, objective_from
from mechgrad.errors import InputError, MechgradError
from mechgrad.io import recipe_from_dict, values
from mechgrad.io.recipes import RECIPE_KEYS
from mechgrad.io.untrusted_toml import read_tables

__all__ = ["Problem", "read_problem"]

_NEEDED: Final = ("model", "duration", "wrt", "objectives")
_OWN: Final = ("wrt", "objectives", "method")
_KEYS: Final = (*_NEEDED, *(key for key in (*RECIPE_KEYS, *_OWN) if key not in _NEEDED))


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


def read_problem(path: Path, functions: Functions | None = None) -> Problem:
    """The problem in a file: its model is built, its start found and its formulas are read; nothing moves.

    functions : of users, from a module named on the command line, for formulas
    """
    content = read_tables(path, "problem", InputError, InputError)
    try:
        return _problem(path, content, functions or {})
    except MechgradError as error:
        raise InputError(f"{path}: {error}") from error


def _problem(path: Path, content: Mapping[str, Any], functions: Functions) -> Problem:
    values.only_known(content, _KEYS, "the problem")
    for key in _NEEDED:
        if key not in content:
            raise InputError(f"{key!r} is missing. A problem has {', '.join(_NEEDED)}.")
    objectives = values.table(content["objectives"], "objectives")
    if not objectives:
        raise InputError("no objectives. Add a table [objectives.NAME] with a measure.")
    terms = {name: objective_from(f"[objectives.{name}]", term, functions) for name, term in objectives.items()}
    wrt, method = values.words(content["wrt"], "wrt"), values.word(content.get("method", "auto"), "method")
    model = None if isinstance(content["model"], Mapping) else find_model(content["model"], path.parent)
    recipe = recipe_from_dict({key: x for key, x in content.items() if key not in _OWN}, model)
    return Problem(path, recipe, terms, wrt, method)
