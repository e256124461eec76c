"""What may end a motion: a function of t, q and v that changes its sign, or something that passes a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.dynamics.samples import StateSamples
from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, unknown_name
from mechgrad.steps.task import Stop
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True)
class Passing:
    """A stop condition: a coordinate or a measure passes a value.

    what : a name of `model.q_names`, or a measure that is one number of q, v and t
    value : [as the coordinate or the measure]
    """

    what: Any
    value: float

    def __call__(self, t: Array, q: Array, v: Array) -> Array:
        raise TypeError("a condition belongs to a mechanism")  # pragma: no cover - `bound` makes a function of it

    def bound(self, system: System) -> Stop:
        """The function of t, q and v that it is for a mechanism."""
        model, value = system.model, self.value
        if isinstance(self.what, str):
            at = model.q_names.index(self.what)
            return lambda t, q, v: q[:, at] - value

        def distance(t: Array, q: Array, v: Array) -> Array:
            states = States(q, v, np.zeros_like(v), np.zeros((len(t), system.n_constraints)), t)
            at = StateSamples(model, states, system.tau, system.loads, system.names, "trapezoid")
            return np.asarray(self.what.values(at)) - value

        return distance


def as_stop(model: Model, given: Any) -> Stop | None:
    """A stop condition from what `simulate` is given: a function, or {coordinate or measure: value}."""
    if given is None or isinstance(given, Passing):
        return given
    if not isinstance(given, Mapping):
        if not callable(given):
            raise InputError(
                f"stop is {given!r}; give a function of t, q and v, or what passes which value: {{'crank': 0.3}}."
            )
        return given  # type: ignore[no-any-return]
    if len(given) != 1:
        raise InputError(f"stop names {len(given)} quantities; one passes a value and ends the motion.")
    ((what, value),) = given.items()
    if not isinstance(value, int | float | np.floating | np.integer) or not np.isfinite(value):
        raise InputError(f"stop: {what!r} cannot pass {value!r}; give one finite number.")
    if isinstance(what, str):
        if what not in model.q_names:
            raise unknown_name("coordinate", what, model.q_names, f"model {model.name!r}")
        return Passing(what, float(value))
    if not callable(getattr(what, "values", None)) or not hasattr(what, "uses"):
        raise InputError(f"stop: {what!r} is no name of a coordinate and no measure such as those of mg.measures.")
    if others := set(what.uses.split()) - {"q", "v"}:
        raise InputError(
            f"stop: {what.label} depends on {' and '.join(sorted(others))}, and a motion ends by what q, v and t say. "
            "Write what it follows from as a function of t, q and v."
        )
    what.check_model(model, what.label)
    return Passing(what, float(value))


def bound(stop: Stop | None, system: System) -> Stop | None:
    """A stop condition as a function of t, q and v."""
    return stop.bound(system) if isinstance(stop, Passing) else stop
