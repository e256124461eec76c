"""Recipes of motions in TOML: all that makes a motion once more, in one file, for people to read and to write.

    version = 1
    duration = 5.0                        # also t0, step, samples, tau, reference, rtol, atol, as in mg.simulate
    formulation = { kind = "matrix-r" }   # with its options; a name alone, or left out, is as in mg.simulate
    scheme = { kind = "runge-kutta", A = [[0, 0], [1, 0]], B = [0.5, 0.5] }

    [start]                               # one of three ways
    way = "given"                         # q, v, t
    way = "assembled"                     # what `assemble` held, at and rates, and the q and v that it found; written
                                          # by hand without q and v: at, rates and guess, and they are found
    way = "at rest"                       # what `equilibrium` held, what acted: at, rates, tau, loads, and q likewise

    [[loads]]                             # body, force, torque, point, axes, name
    [model]                               # a model as in its own file, with [[model.bodies]], [[model.joints]], ...

A held quantity is a number, or for a measure a table: { measure = "Distance", of = ["P1", "P2"], value = 0.3 }. Floats
have all their digits. What a file cannot hold is an error that names it: a stop condition, a force in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import tomli_w

from mechgrad.dynamics.equilibrium import Equilibrium, at_rest_before, equilibrium
from mechgrad.dynamics.formulations import as_formulation, known_formulations
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, MechgradError, unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.io import values
from mechgrad.io.toml import block, model_blocks, model_within, model_words, numbers_on_one_line
from mechgrad.io.untrusted_toml import parse_tables, read_tables
from mechgrad.kinematics.assembly import assemble, assembled_before, check_held
from mechgrad.kinematics.held import MeasureName, checked_state
from mechgrad.kinematics.state import State, state
from mechgrad.model.model import Model
from mechgrad.model.primitives.measure_entries import measure_from, measure_to_dict
from mechgrad.model.primitives.rows import RowMeasure
from mechgrad.simulation.recipe import Recipe
from mechgrad.simulation.recipe_checks import check_recipe
from mechgrad.simulation.recipe_data import RecipeData
from mechgrad.simulation.simulate import chosen_method
from mechgrad.steps.schemes import as_scheme, known_schemes

__all__ = ["RECIPE_KEYS", "load_recipe", "recipe_from_dict", "recipe_to_dict", "save_recipe"]

_VERSION: Final = 1
_NUMBERS: Final = ("duration", "t0", "step", "rtol", "atol")
_TABLES: Final = ("start", "formulation", "scheme")
RECIPE_KEYS: Final = ("version", "model", *_NUMBERS, "samples", "tau", "loads", "reference", *_TABLES)
"""What a recipe has; problem files have the same keys, and some of their own."""
_START: Final = ("way", "at", "rates", "guess", "q", "v", "t", "tau", "loads")
_LOAD: Final = tuple(f.name for f in fields(Load))
_NONE: Final = "none"  # an option that is switched off, where leaving it out would switch it on


def save_recipe(recipe: Recipe, path: str | Path) -> None:
    """Write a recipe to a TOML file, the model with it; nothing is written where something of it cannot be.

    Example
    -------
    >>> swing = mg.simulate(model, {"pin": 0.5}, 0.2)
    >>> save_recipe(swing.recipe, "swing.toml")
    >>> bool(np.array_equal(load_recipe("swing.toml").simulate().q, swing.q))
    True
    """
    Path(path).write_text(recipe_text(recipe), encoding="utf-8", newline="\n")


def load_recipe(path: str | Path) -> Recipe:
    """The recipe in a TOML file, written by hand or by `save_recipe`; errors name the file.

    Example
    -------
    >>> motion = load_recipe("swing.toml").with_values({"bob.mass": 2.0}).simulate()  # doctest: +SKIP
    """
    content = read_tables(Path(path), "recipe", InputError, InputError)
    return _named(lambda: recipe_from_dict(content), path)


def recipe_text(recipe: RecipeData[Any]) -> str:
    """The text of a recipe file."""
    content = recipe_to_dict(recipe)
    model, loads = content.pop("model"), content.pop("loads", [])
    blocks = [tomli_w.dumps(content), *(block("loads", load) for load in loads), *model_blocks(model, "model.")]
    return numbers_on_one_line("\n".join(blocks))


def recipe_from_text(text: str, where: str) -> Recipe:
    """The recipe of `recipe_text`."""
    content = parse_tables(text, where, InputError)
    return _named(lambda: recipe_from_dict(content), where)


def _named(read: Callable[[], Recipe], path: str | Path) -> Recipe:
    """What is read, errors with the name of the file."""
    try:
        return read()
    except MechgradError as error:
        raise InputError(f"{path}: {error}") from error


# ---- to a dictionary


def recipe_to_dict(recipe: RecipeData[Any]) -> dict[str, Any]:
    """A recipe as plain dictionaries, lists, strings and numbers, in the words of its file; for JSON, too.

    >>> recipe_to_dict(mg.simulate(model, [0.5], 0.2, step=0.1).recipe)["start"]
    {'way': 'given', 't': 0.0, 'q': [0.5], 'v': [0.0]}
    """
    if recipe.stop is not None:
        raise InputError(
            f"the recipe of {recipe.model.name!r} has a stop condition, a function, which a file cannot hold. Store "
            "recipe.changed(stop=None, duration=...) with the duration that the motion had."
        )
    found: dict[str, Any] = {"version": _VERSION}
    found |= {key: float(getattr(recipe, key)) for key in _NUMBERS if getattr(recipe, key) is not None}
    if recipe.samples is not None:
        found["samples"] = int(recipe.samples)
    found |= {"reference": recipe.reference, "tau": _numbers(recipe.tau, "tau"), "start": _start_to_dict(recipe.start)}
    for key in ("formulation", "scheme"):
        found[key] = _options_to_dict(getattr(recipe, key), key)
    if recipe.loads:
        found["loads"] = [_load_to_dict(load, f"loads[{k}]") for k, load in enumerate(recipe.loads)]
    return found | {"model": model_words(recipe.model)}


def _start_to_dict(start: State | Equilibrium) -> dict[str, Any]:
    found: dict[str, Any] = {"way": start.way, "t": float(start.t), "q": _numbers(start.q, "start.q")}
    if start.way != "at rest":  # there, v follows
        found["v"] = _numbers(start.v, "start.v")
    if start.way == "given":
        return found
    found |= {"at": _held_to_dict(start.held, "start.at"), "rates": _held_to_dict(start.held_rates, "start.rates")}
    forces = {key: getattr(start, key, None) for key in ("tau", "loads")}
    if forces["tau"] is not None:
        found["tau"] = _numbers(forces["tau"], "start.tau")
    if forces["loads"]:
        found["loads"] = [_load_to_dict(load, f"start.loads[{k}]") for k, load in enumerate(forces["loads"])]
    return found


def _held_to_dict(held: Mapping[str, Any], what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in held.items():
        size = _numbers(value, f"{what}.{name}")
        found[str(name)] = size
        if isinstance(name, MeasureName):
            found[str(name)] = measure_to_dict(name.measure, f"{what}.{name}") | {"value": size}
    return found


def _load_to_dict(load: Load, what: str) -> dict[str, Any]:
    found = {key: getattr(load, key) for key in _LOAD}
    numbers = {key: x if isinstance(x, str) else _numbers(x, f"{what}.{key}") for key, x in found.items()}
    return {key: x for key, x in numbers.items() if x != ""}


def _options_to_dict(method: Any, noun: str) -> dict[str, Any]:
    """A formulation or a scheme: its name, and all its numbers."""
    known = known_formulations() if noun == "formulation" else known_schemes()
    if known.get(method.key) is not type(method):
        raise InputError(
            f"the {noun} {method!r} is one of your own without a name; a file names what it holds. Give its class "
            "a `key`, and import it before a recipe with it is read."
        )
    found: dict[str, Any] = {"kind": method.key}
    for f in fields(method):
        value = getattr(method, f.name)
        _reader(f, noun)  # raises where no file could be read again
        if value is not None or f.default is not None:
            found[f.name] = _NONE if value is None else _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(x) for x in value]
    if isinstance(value, str) or not isinstance(value, RowMeasure):  # a protocol is slow to ask for
        return value
    return measure_to_dict(value, "an independent coordinate")


def _numbers(value: Any, what: str) -> Any:
    """Numbers as lists of floats, or one as a float."""
    if np.iscomplexobj(value):
        raise InputError(
            f"{what} is in the middle of a complex step; a file holds real numbers. Store the real motion."
        )
    return np.asarray(value, float).tolist()


# ---- from a dictionary


def recipe_from_dict(content: Mapping[str, Any], model: Model | None = None) -> Recipe:
    """The recipe that `recipe_to_dict` (or a file, or a hand) describes, checked as `simulate` does.

    model : in place of that in the content
    """
    values.only_known(content, RECIPE_KEYS, "the recipe")
    if content.get("version", _VERSION) != _VERSION:
        raise InputError(
            f"a recipe in version {values.short(content['version'])} of the format; this mechgrad reads version "
            f"{_VERSION}. Read it with the mechgrad that wrote it, or update this one."
        )
    for key in ("duration", *(("model",) if model is None else ())):
        if key not in content:
            raise InputError(f"{key!r} is missing. A recipe has a duration, a start and a model.")
    if model is None:
        model = model_within(values.table(content["model"], "model"))
    given: dict[str, Any] = {key: values.number(content[key], key) for key in _NUMBERS if key in content}
    samples = values.count(content["samples"], "samples") if "samples" in content else None
    if "reference" in content:
        given["reference"] = values.word(content["reference"], "reference")
    method: dict[str, Any] = {key: _options_from(content[key], key) if key in content else None for key in _TABLES[1:]}
    scheme, formulation = chosen_method(model, method["formulation"], method["scheme"], given.get("step"))
    start = _start_from(model, content.get("start", {}), given.get("t0", 0.0))
    recipe = Recipe(
        model=model, start=start, samples=samples, formulation=formulation, scheme=scheme,
        tau=_tau_from(model, content, "tau"), loads=_loads_from(content, "loads"),
        **({"t0": start.t, "step": None} | given),
    )  # fmt: skip
    check_recipe(recipe)
    System(model, recipe.tau, recipe.loads)  # loads on bodies that are not there, two of one name
    return recipe


def _tau_from(model: Model, content: Mapping[str, Any], what: str) -> Any:
    tau = values.numbers(content["tau"], what) if "tau" in content else np.zeros(model.n_v)
    if tau.shape != (model.n_v,):
        raise InputError(f"{what} has shape {tau.shape}; model {model.name!r} needs ({model.n_v},).")
    return tau


def _loads_from(content: Mapping[str, Any], what: str) -> tuple[Load, ...]:
    given = content.get("loads", [])
    if not isinstance(given, list):
        raise InputError(f"{what} is {values.short(given)}; it must be a list of tables.")
    return tuple(_load_from(entry, f"{what}[{k}]") for k, entry in enumerate(given))


def _load_from(entry: Any, what: str) -> Load:
    entry = values.table(entry, what)
    values.only_known(entry, _LOAD, what)
    if "body" not in entry:
        raise InputError(f"{what}: 'body' is missing, the name of the body that it acts on.")
    found: dict[str, Any] = {}
    for key, x in entry.items():
        named = key in ("body", "axes", "name") or (key == "point" and isinstance(x, str))
        found[key] = values.word(x, f"{what}.{key}") if named else values.numbers(x, f"{what}.{key}")
    return Load(**found)


def _options_from(given: Any, noun: str) -> Any:
    """A formulation or a scheme from its name, or from a table with its name and some of its numbers."""
    by_name: Callable[[str], Any] = as_formulation if noun == "formulation" else as_scheme
    if not isinstance(given, Mapping):
        return by_name(values.word(given, noun))
    known: Mapping[str, type] = known_formulations() if noun == "formulation" else known_schemes()
    kind = values.word(given.get("kind"), f"{noun}.kind")
    if kind not in known:
        raise unknown_name(noun, kind, known)
    options = {f.name: f for f in fields(known[kind])}  # type: ignore[arg-type]
    values.only_known(given, ("kind", *options), f"{noun} {kind!r}")
    for name, f in options.items():
        if f.default is MISSING and name not in given:
            raise InputError(f"{noun} {kind!r}: {name!r} is missing.")
    numbers = {name: _option_from(given[name], f, noun) for name, f in options.items() if name in given}
    return known[kind](**numbers)


def _option_from(value: Any, f: Field[Any], noun: str) -> Any:
    if value == _NONE and _may_be_none(f):
        return None
    return _reader(f, noun)(value, f"{noun}.{f.name}")


def _may_be_none(f: Field[Any]) -> bool:
    return str(f.type).endswith("| None")


def _quantities(given: Any, what: str) -> tuple[Any, ...]:
    """Names of quantities, or measures."""
    if not isinstance(given, list):
        raise InputError(f"{what} is {values.short(given)}; it must be a list of names, or of measures.")
    return tuple(
        measure_from(x, f"{what}[{k}]") if isinstance(x, Mapping) else values.word(x, f"{what}[{k}]")
        for k, x in enumerate(given)
    )


_READERS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "float": values.number,
    "int": lambda value, what: values.count(value, what, 1),
    "bool": values.truth,
    "str": values.word,
    "Sequence[str]": values.words,
    "Sequence[str | RowMeasure]": _quantities,
    "Any": values.numbers,
}
"""Options by what their class says they are."""


def _reader(f: Field[Any], noun: str) -> Callable[[Any, str], Any]:
    kind = str(f.type).removesuffix("| None").strip()
    if kind not in _READERS:
        raise InputError(f"{noun}: a file cannot hold {f.name}, which is a {f.type}; it holds {', '.join(_READERS)}.")
    return _READERS[kind]


# ---- how it starts


def _start_from(model: Model, given: Any, t0: float) -> State | Equilibrium:
    given = values.table(given, "start")
    values.only_known(given, _START, "[start]")
    way = values.word(given.get("way", "given" if "q" in given else "assembled"), "start.way")
    if way not in _WAYS:
        raise unknown_name("way", way, _WAYS, "[start]")
    if "v" in given and "q" not in given:
        raise InputError("[start] has v without q. Give both, or at and rates.")
    if "q" in given and "guess" in given:
        raise InputError("[start] has q beside guess. Give the coordinates, or where they are looked for.")
    t = values.number(given["t"], "start.t") if "t" in given else t0
    found: State | Equilibrium = _WAYS[way](model, given, t)
    return found


def _given_from(model: Model, given: Mapping[str, Any], t: float) -> State:
    if "q" not in given:
        raise InputError("[start]: q is missing, the coordinates in the order of model.q_names.")
    if others := [key for key in ("at", "rates", "tau", "loads") if key in given]:
        raise InputError(f"[start] has q beside {others[0]}. Give the coordinates, or what holds at the start.")
    v = values.numbers(given["v"], "start.v") if "v" in given else None
    return state(model, values.numbers(given["q"], "start.q"), v, t=t)


def _assembled_from(model: Model, given: Mapping[str, Any], t: float) -> State:
    if others := [key for key in ("tau", "loads") if key in given]:
        raise InputError(f'[start] has {others[0]}, and geometry decides an assembled start. Use way = "at rest".')
    at, rates = (_held_from(given, key) for key in ("at", "rates"))
    if "q" not in given:
        return assemble(model, at, rates, guess=_guess_from(given), t=t)
    if "v" not in given:
        raise InputError("[start] has q without v. Give both as they were found, or neither.")
    q, v = (values.numbers(given[key], f"start.{key}") for key in ("q", "v"))
    return assembled_before(model, q, v, at, rates, t)


def _rest_from(model: Model, given: Mapping[str, Any], t: float) -> Equilibrium:
    at, rates = (_held_from(given, key) for key in ("at", "rates"))
    forces: dict[str, Any] = {"tau": _tau_from(model, given, "start.tau"), "loads": _loads_from(given, "start.loads")}
    if "q" not in given:
        return equilibrium(model, _guess_from(given), at=at, rates=rates, t=t, **forces)
    if "v" in given:
        raise InputError("[start] has v; velocities of an equilibrium follow from rates. Leave it out.")
    q = checked_state(model, "q", values.numbers(given["q"], "start.q"), model.n_q)
    check_held(model, q, at, t)
    rates = {**dict.fromkeys(name for name in at if name not in rates), **rates}  # those left out were left free
    return at_rest_before(model, q, rates, at=at, t=t, **forces)


_WAYS: Final[Mapping[str, Callable[[Model, Mapping[str, Any], float], Any]]] = {
    "given": _given_from,
    "assembled": _assembled_from,
    "at rest": _rest_from,
}


def _guess_from(given: Mapping[str, Any]) -> Any:
    return values.numbers(given["guess"], "start.guess") if "guess" in given else None


def _held_from(given: Mapping[str, Any], key: str) -> dict[Any, Any]:
    """Held quantities and their values; the key of a measure is the measure itself."""
    found: dict[Any, Any] = {}
    for name, entry in values.table(given.get(key, {}), f"start.{key}").items():
        what = f"start.{key}.{name}"
        if not isinstance(entry, Mapping):
            found[name] = values.number(entry, what)
            continue
        measure = measure_from({k: x for k, x in entry.items() if k != "value"}, what)
        found[measure] = values.number(entry.get("value"), f"{what}.value")
    return found
