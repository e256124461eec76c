"""Objectives as problem files write them: a measure, or several, a formula, and the instants that count.

[objectives.travel]
kind = "integral"                     # "integral", "end", "time" (with t = ...), "times" (with t = [...], or none: all
measure = "PointPosition"             # that are reported), "smooth maximum" (with error = ..., the largest of them),
                                      # "end time" (without a measure: when the motion ends)
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
from typing import Any, Final, TypeAlias

import mechgrad as mg
from mechgrad.errors import InputError, unknown_name
from mechgrad.io import values
from mechgrad.io.expressions import Expression, check_measure_name
from mechgrad.model.primitives.measure_entries import measure_from

__all__ = ["OBJECTIVE_KEYS", "Functions", "measure_entry", "objective_from"]

OBJECTIVE_KEYS: Final = ("kind", "measure", "of", "measures", "function", "t", "error")
Functions: TypeAlias = Mapping[str, Callable[..., Any]]
_MADE: Final[Mapping[str, Callable[[Any, Any, list[Any]], mg.objectives.Objective]]] = {
    "integral": lambda t, error, arguments: mg.Integral(*arguments),
    "end": lambda t, error, arguments: mg.AtEnd(*arguments),
    "time": lambda t, error, arguments: mg.AtTime(t, *arguments),
    "times": lambda t, error, arguments: mg.objectives.AtTimes(t, *arguments),
    "smooth maximum": lambda t, error, arguments: mg.objectives.SmoothMaximum(*arguments, error=error, t=t),
}

_END_TIME: Final = "end time"


def objective_from(where: str, entry: Any, functions: Functions) -> mg.objectives.Objective:
    """The objective of a table; `where` is how messages call it.

    functions : of users, for formulas
    """
    entry = values.table(entry, where)
    values.only_known(entry, OBJECTIVE_KEYS, where)
    kind = entry.get("kind", "integral")
    if not isinstance(kind, str) or kind not in (*_MADE, _END_TIME):
        raise unknown_name("kind", values.short(kind), (*_MADE, _END_TIME), where)
    if kind == _END_TIME:
        if others := [key for key in entry if key != "kind"]:
            raise InputError(f"{where}: kind {_END_TIME!r} is when the motion ends, and has no {others[0]}.")
        return mg.objectives.EndTime()
    t = _instants(where, kind, entry)
    if ("error" in entry) != (kind == "smooth maximum"):
        raise InputError(f"{where}: kind 'smooth maximum' needs error, in the unit of its function; others have none.")
    error = values.number(entry["error"], f"{where}: error") if "error" in entry else 0.0
    return _MADE[kind](t, error, _arguments(where, entry, functions))


def _instants(where: str, kind: str, entry: Mapping[str, Any]) -> Any:
    if kind in ("times", "smooth maximum"):
        return values.numbers(entry["t"], f"{where}: t") if "t" in entry else None
    if ("t" in entry) != (kind == "time"):
        raise InputError(f"{where}: kind 'time' needs t, the instant [s]; kinds 'integral' and 'end' have none.")
    return values.number(entry["t"], f"{where}: t") if "t" in entry else None


def _arguments(where: str, entry: Mapping[str, Any], functions: Functions) -> list[Any]:
    """The formula, if there is one, and the measures."""
    if ("measure" in entry) == ("measures" in entry):
        raise InputError(f"{where}: give a measure (with of = [...]), or a table of several, measures.")
    several = values.table(entry["measures"], f"{where}: measures") if "measures" in entry else {"x": _only(entry)}
    if len(several) == 0 or ("measures" in entry and ("function" not in entry or "of" in entry)):
        raise InputError(
            f'{where}: measures is a table such as {{ v = {{ measure = "KineticEnergy" }} }}, each with an "of" of its '
            "own, and needs a function of them."
        )
    for name in several:
        check_measure_name(name, where, tuple(functions))
    measures = {name: measure_entry(f"{where}: {name}", entry) for name, entry in several.items()}
    arguments: list[Any] = list(measures.values())
    if "function" in entry:
        arguments.insert(0, Expression(entry["function"], tuple(measures), f"{where}: function", functions))
    return arguments


def _only(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("measure", "of") if key in entry}


def measure_entry(where: str, entry: Any) -> mg.measures.Measure:
    """The measure of a table with its name and what it is of."""
    measure: mg.measures.Measure = measure_from(values.table(entry, where), where)
    return measure
