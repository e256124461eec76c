"""Problem files: which motion of which model, and which objectives by which parameters. Data, from which no code runs.

model = "crane.toml"                  # beside this file, or a name of the gallery
duration = 5.0
step = 0.001                          # also formulation, scheme, samples, t0
wrt = ["rope.stiffness", "boom.mass", "start.position.slew"]
method = "auto"

[start.at]                            # what is held at the start, as in mg.assemble; [start.rates] likewise,
slew = 0.3                            # or start.q = [...] and start.v = [...]

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
from mechgrad.io.expressions import Expression, check_measure_name
from mechgrad.io.tables import read_tables
from mechgrad.model.quantities import measure_from

__all__ = ["Problem", "read_problem"]

_NEEDED: Final = ("model", "duration", "wrt", "objectives")
_NUMBERS: Final = ("step", "t0")
_WORDS: Final = ("formulation", "scheme", "method")
_KEYS: Final = (*_NEEDED, *_NUMBERS, "samples", *_WORDS, "start")
_START: Final = ("at", "rates", "guess", "q", "v")
_TERM: Final = ("kind", "measure", "of", "measures", "function", "t")
_KINDS: Final[Mapping[str, type[mg.objectives.Objective]]] = {
    "integral": mg.Integral,
    "end": mg.AtEnd,
    "time": mg.AtTime,
}
_Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Problem:
    """What a problem file states.

    start : at, rates, guess, or q and v
    options : of `mg.simulate`: step, samples, t0, formulation, scheme
    """

    path: Path
    model: mg.Model
    duration: float
    start: Mapping[str, Any]
    options: Mapping[str, Any]
    objectives: Mapping[str, mg.objectives.Objective]
    wrt: list[str]
    method: str

    def solve(self, method: str | None = None) -> mg.Gradient:
        """Simulate and differentiate; errors name the file."""
        try:
            motion = mg.simulate(self.model, self._begin(), self.duration, **self.options)
            return mg.gradient(motion, dict(self.objectives), self.wrt, method=method or self.method)
        except MechgradError as error:
            raise InputError(f"{self.path}: {error}") from error

    def _begin(self) -> mg.State:
        given = self.start
        if "q" in given:
            return mg.state(self.model, given["q"], given.get("v"))
        return mg.assemble(self.model, given.get("at"), given.get("rates"), guess=given.get("guess"))


def read_problem(path: Path, functions: _Functions | None = None) -> Problem:
    """The problem in a file: its model is built and its formulas are read, nothing is computed.

    functions : of users, from a module named on the command line, for formulas
    """
    content = read_tables(path, "problem", InputError, InputError)
    try:
        return _problem(path, content, functions or {})
    except MechgradError as error:
        raise InputError(f"{path}: {error}") from error


def _problem(path: Path, content: Mapping[str, Any], functions: _Functions) -> Problem:
    _known(content, _KEYS, "the problem")
    for key in _NEEDED:
        if key not in content:
            raise InputError(f"{key!r} is missing. A problem has {', '.join(_NEEDED)}.")
    options: dict[str, Any] = {key: _number(content[key], key) for key in _NUMBERS if key in content}
    options |= {key: _word(content[key], key) for key in _WORDS[:2] if key in content}
    if "samples" in content:
        options["samples"] = _count(content["samples"], "samples")
    duration = _number(content["duration"], "duration")
    for key, value in (("duration", duration), ("step", options.get("step", 1.0))):
        if not value > 0.0:
            raise InputError(f"{key} is {value:g} s; it must be positive.")
    objectives = _table(content["objectives"], "objectives")
    if not objectives:
        raise InputError("no objectives. Add a table [objectives.NAME] with a measure.")
    return Problem(
        path,
        find_model(content["model"], path.parent),
        duration,
        _start(content.get("start", {})),
        options,
        {name: _objective(f"[objectives.{name}]", term, functions) for name, term in objectives.items()},
        _words(content["wrt"], "wrt"),
        _word(content.get("method", "auto"), "method"),
    )


def _start(given: Any) -> dict[str, Any]:
    given = _table(given, "start")
    _known(given, _START, "[start]")
    if "q" in given and ("at" in given or "rates" in given or "guess" in given):
        raise InputError("[start] has q beside at, rates or guess. Give the coordinates, or what holds at the start.")
    if "v" in given and "q" not in given:
        raise InputError("[start] has v without q. Give both, or at and rates.")
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key in ("at", "rates"):
            found[key] = {name: _number(x, f"start.{key}.{name}") for name, x in _table(value, f"start.{key}").items()}
        elif not isinstance(value, list):
            raise InputError(f"start.{key} is {_short(value)}; it must be a list of numbers.")
        else:
            found[key] = [_number(x, f"start.{key}[{k}]") for k, x in enumerate(value)]
    return found


def _objective(where: str, term: Any, functions: _Functions) -> mg.objectives.Objective:
    term = _table(term, where)
    _known(term, _TERM, where)
    kind = term.get("kind", "integral")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise unknown_name("kind", _short(kind), _KINDS, where)
    if ("t" in term) != (kind == "time"):
        raise InputError(f"{where}: kind 'time' needs t, the instant [s]; the others have none.")
    if ("measure" in term) == ("measures" in term):
        raise InputError(f"{where}: give a measure (with of = [...]), or a table of several, measures.")
    several = _table(term["measures"], f"{where}: measures") if "measures" in term else {"x": _only(term)}
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
        arguments.insert(0, _number(term["t"], f"{where}: t"))
    return _KINDS[kind](*arguments)


def _only(term: Mapping[str, Any]) -> dict[str, Any]:
    return {key: term[key] for key in ("measure", "of") if key in term}


def _measure(where: str, entry: Any) -> mg.measures.Measure:
    measure: mg.measures.Measure = measure_from(_table(entry, where), where)
    return measure


# what values are


def _known(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in given:
        if key not in known:
            raise unknown_name("key", key, known, where)


def _short(value: Any) -> str:
    return f"{value!r:.60}" if not isinstance(value, str) else value[:60]


def _table(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is {_short(value)}; it must be a table.")
    return value


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise InputError(f"{what} is {_short(value)}; it must be one finite number.")
    return float(value)


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 2:
        raise InputError(f"{what} is {_short(value)}; it must be a whole number, 2 or more.")
    return value


def _word(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{what} is {_short(value)}; it must be a word in quotes.")
    return value


def _words(value: Any, what: str) -> list[str]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(x, str) and x for x in given):
        raise InputError(f"{what} is {_short(value)}; it must be a list of names in quotes.")
    return given
