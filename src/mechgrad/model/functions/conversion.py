"""From what a user or a file gives (a number, a table of a type, a function) to a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from numbers import Number as AnyNumber
from typing import Any

import numpy as np

from mechgrad.errors import ModelError, ShapeError, unknown_name
from mechgrad.model.functions.base import Function
from mechgrad.model.functions.closed_forms import Constant, Harmonic, Polynomial
from mechgrad.model.functions.knots import Spline, Table
from mechgrad.model.primitives.fields import table, where

FUNCTION_TYPES: dict[str, type[Function]] = {
    cls.type_name: cls for cls in (Constant, Polynomial, Harmonic, Table, Spline)
}
"""The function class of each `type` in a model file."""


def as_function(given: Any, what: str) -> Function:
    """A function as it is, from a number (a constant), or from a table of a model file.

    >>> as_function(3, "motor 'm': torque")
    Constant(value=3)
    """
    if isinstance(given, Function):
        return given
    if isinstance(given, AnyNumber) and not isinstance(given, bool):
        return Constant(given)  # type: ignore[arg-type]
    if not isinstance(given, Mapping) or given.get("type") is None:
        raise ShapeError(_no_function(given, what))
    if not isinstance(given["type"], str) or given["type"] not in FUNCTION_TYPES:
        raise unknown_name("function type", given["type"], FUNCTION_TYPES, what)
    cls = FUNCTION_TYPES[given["type"]]
    names = [f.name for f in fields(cls)]
    for key in given:
        if key not in (*names, "type"):
            raise unknown_name(f"field of {cls.__name__}", key, names, what)
    for f in fields(cls):
        if f.default is MISSING and f.name not in given:
            raise ModelError(f"{what}: the field {f.name!r} of {cls.__name__} is missing. Fields: {', '.join(names)}.")
    try:
        return cls(**{key: value for key, value in given.items() if key != "type"})
    except ModelError as error:
        raise type(error)(f"{what}: {error}") from None


def _no_function(given: Any, what: str) -> str:
    """Why something is no function, and how to make one of it."""
    known = ", ".join(cls.__name__ for cls in FUNCTION_TYPES.values())
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        called = "a lambda" if name == "<lambda>" else f"the Python function {name!r}"
        return (
            f"{what} is {called}; a model holds data, so that it can be compiled, differentiated and stored. "
            f"Functions there are: {known}. Make one from samples of yours: x = np.linspace(0, 1, 101); "
            "mg.functions.Spline(x, [f(s) for s in x]). Force laws in Python: mg.forces.UserForce."
        )
    if isinstance(given, list | tuple | np.ndarray):
        return (
            f"{what} is a list of {np.size(given)} values without their times (or whatever it is a function of). Give "
            "both: mg.functions.Spline(times, values) for a smooth curve, mg.functions.Table(times, values) for "
            "straight lines."
        )
    return (
        f"{what} = {given!r} must be a number, a function ({known}), or a table with a 'type', one of "
        f"{', '.join(FUNCTION_TYPES)}."
    )


def freeze_functions(obj: object) -> None:
    """Turn what was given for the functions of a new object into functions; None stays where it is the default."""
    optional = {f.name for f in fields(obj) if f.default is None}  # type: ignore[arg-type]
    for name, spec in table(type(obj)).functions.items():
        given = getattr(obj, name)
        if spec.noun == "function" and (given is not None or name not in optional):
            object.__setattr__(obj, name, as_function(given, f"{where(obj)}: {name}"))
