"""How what is held moves: a function of time, a number, values at instants, or a plain callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.functions import Function, Spline, as_function
from mechgrad.tolerances import COMPLEX_STEP
from mechgrad.typing import FloatArray

STENCIL = 1e-3  # [s]: second derivatives of plain callables, error of the order STENCIL^4 f

Drive = Callable[[float], tuple[Any, Any, Any]]
"""Value, rate and second rate at a time."""


def as_drive(given: Any, t: FloatArray, name: str) -> Drive:
    """What was given as a drive; `name` for messages."""
    if isinstance(given, Function):
        return _of_function(given)
    if callable(given):
        return lambda instant: _differentiated(given, instant, name)
    values = np.asarray(given)
    if values.ndim == 0:
        return _of_function(as_function(values[()], f"at[{name!r}]"))
    if values.shape != t.shape:
        raise InputError(
            f"at[{name!r}] has shape {values.shape}, but there are {len(t)} times. Give one value per time, a number, "
            "a Function, or a callable."
        )
    return _of_function(Spline(t, values, ends="not-a-knot" if len(t) >= 4 else "natural"))


def _of_function(f: Function) -> Drive:
    return lambda t: (f(t), f.rate(t), f.second(t))


def _differentiated(f: Callable[[Any], Any], t: float, name: str) -> tuple[Any, Any, Any]:
    value = f(t)
    if np.shape(value) == (3,):
        return value[0], value[1], value[2]

    def rate(at: float) -> float:
        return float(np.imag(f(complex(at, COMPLEX_STEP))) / COMPLEX_STEP)

    try:
        beside = [rate(t + k * STENCIL) for k in (-2, -1, 1, 2)]
        return value, rate(t), (beside[0] - 8.0 * beside[1] + 8.0 * beside[2] - beside[3]) / (12.0 * STENCIL)
    except TypeError as error:
        raise InputError(
            f"at[{name!r}] does not accept complex times ({error}), which is how its rate is found. Use functions of "
            "NumPy in it, or return (value, rate, second rate)."
        ) from error
