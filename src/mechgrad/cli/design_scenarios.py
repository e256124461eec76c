"""Scenarios of design problems in files: motions, driven motions, single states, and numbers that scatter.

kind = "motion"                       # a recipe, as in files of `mechgrad gradient`; may be left out
stop = { x = 2.0 }                    # ends it where a coordinate passes a value

kind = "driven"                       # `kinematic_motion`: drivers decide
t = { first = 0.0, last = 6.28, count = 25 }        # or a list of instants
driven = { crank = { type = "polynomial", coefficients = [0, 1] } }
guess = [0.1, 0.8, -2.0]              # how the mechanism is put together

kind = "start"                        # a state alone: that of [start], assembled or at rest

[robust]                              # one motion whose numbers scatter: mean and k standard deviations of the goal
k = 3.0
sigma = { "bob.mass" = 0.1, "bob.com.z" = 0.01 }
varied = ["bob.com.z"]                # also samples = 64 and seed = 0, as of `mg.design.scattered`
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import mechgrad as mg
from mechgrad.cli.models import find_model
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.io import recipe_from_dict, values
from mechgrad.io.recipes import RECIPE_KEYS
from mechgrad.io.toml import model_within
from mechgrad.model.functions.conversion import as_function

__all__ = ["SCENARIO_KEYS", "robust_from", "scenarios_from"]

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "motion": (*RECIPE_KEYS, "stop"),
    "driven": ("version", "model", "t", "driven", "guess"),
    "start": ("version", "model", "start", "t0"),
}
SCENARIO_KEYS: Final = tuple(dict.fromkeys(("kind", *(key for keys in _KINDS.values() for key in keys))))
"""All that a scenario may have, of whatever kind."""
_INSTANTS: Final = ("first", "last", "count")
_ROBUST: Final = ("k", "sigma", "varied", "samples", "seed")


def scenarios_from(path: Path, content: Mapping[str, Any]) -> Any:
    """The one scenario of a problem, or those of [scenarios]; what stands above these they have in common."""
    common = {key: x for key, x in content.items() if key in SCENARIO_KEYS}
    if "scenarios" not in content:
        return _source(path, common, {}, "the problem")
    given = values.table(content["scenarios"], "scenarios")
    if not given:
        raise InputError("no scenarios. Add a table [scenarios.NAME], or leave scenarios out.")
    found = {}
    for name, entry in given.items():
        where = f"[scenarios.{name}]"
        entry = values.table(entry, where)
        weight = values.number(entry.get("weight", 1.0), f"{where}: weight")
        own = {key: x for key, x in entry.items() if key != "weight"}
        found[name] = mg.design.Scenario(_source(path, own, common, where), name, weight)
    return found


def _source(path: Path, own: Mapping[str, Any], common: Mapping[str, Any], where: str) -> Any:
    """What a scenario is made of; of what it has in common with others, what its kind can use."""
    kind = values.word(own.get("kind", common.get("kind", "motion")), f"{where}: kind")
    if kind not in _KINDS:
        raise unknown_name("kind of scenario", kind, _KINDS, where)
    values.only_known(own, (*SCENARIO_KEYS, "weight") if own else SCENARIO_KEYS, where)
    values.only_known({key: x for key, x in own.items() if key != "kind"}, _KINDS[kind], f"{where}, kind {kind!r}")
    content = {key: x for key, x in common.items() if key in _KINDS[kind]} | dict(own)
    content.pop("kind", None)
    for key in ("model", *({"motion": ("duration",), "driven": ("t",), "start": ("start",)}[kind])):
        if key not in content:
            raise InputError(f"{where}: {key!r} is missing. {_NEEDS[kind]}")
    try:
        model = None if isinstance(content["model"], Mapping) else find_model(content["model"], path.parent)
        return {"motion": _motion, "driven": _driven, "start": _start}[kind](content, model)
    except MechgradError as error:
        raise InputError(f"{where}: {error}") from error


_NEEDS: Final = {
    "motion": "A motion has a model, a duration and a start.",
    "driven": "A driven motion has a model, instants t, and what is driven besides drivers of the model.",
    "start": "A state has a model and a start.",
}


def _motion(content: dict[str, Any], model: mg.Model | None) -> mg.results.Recipe:
    stop = content.pop("stop", None)
    recipe = recipe_from_dict(content, model)
    if stop is None:
        return recipe
    found = {name: values.number(x, f"stop.{name}") for name, x in values.table(stop, "stop").items()}
    return recipe.changed(stop=found)


def _start(content: dict[str, Any], model: mg.Model | None) -> Any:
    return recipe_from_dict({**content, "duration": 1.0}, model).start


def _driven(content: dict[str, Any], model: mg.Model | None) -> Any:
    known = model_within(values.table(content["model"], "model")) if model is None else model
    given = values.table(content.get("driven", {}), "driven")
    at = {name: as_function(x, f"driven.{name}") for name, x in given.items()}
    guess = values.numbers(content["guess"], "guess") if "guess" in content else None
    return mg.kinematic_motion(known, _times(content["t"]), at, guess=guess)


def _times(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return values.numbers(given, "t")
    values.only_known(given, _INSTANTS, "t")
    for key in _INSTANTS:
        if key not in given:
            raise InputError(f"t: {key!r} is missing. Give first, last and count, or a list of instants.")
    first, last = (values.number(given[key], f"t.{key}") for key in _INSTANTS[:2])
    return np.linspace(first, last, values.count(given["count"], "t.count"))


def robust_from(content: Mapping[str, Any], source: Any) -> tuple[Any, float | None]:
    """Scattered scenarios and k where there is [robust]; else what was there before and None."""
    if "robust" not in content:
        return source, None
    given = values.table(content["robust"], "robust")
    values.only_known(given, _ROBUST, "[robust]")
    if "scenarios" in content:
        raise InputError("[robust] makes scenarios of one motion; leave [scenarios] out.")
    table = values.table(given.get("sigma", {}), "[robust] sigma")
    sigma = {name: values.number(x, f"[robust] sigma.{name}") for name, x in table.items()}
    samples = values.count(given["samples"], "[robust] samples") if "samples" in given else None
    seed = values.count(given.get("seed", 0), "[robust] seed", 0)
    varied = values.words(given.get("varied", []), "[robust] varied")
    k = values.number(given.get("k", 3.0), "[robust] k")
    return mg.design.scattered(source, sigma, varied=varied, samples=samples, seed=seed), k
