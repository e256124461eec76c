"""What may change: one number, or all that a pattern means, with bounds, a start and a scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.variables import DesignVariable


@final
@dataclass(frozen=True, slots=True)
class Variable:
    """A number of the scenarios that may change, or all numbers that a pattern means, each a variable of its own.

    Attributes
    ----------
    path : "S1.stiffness", "motor.torque.values.*", the name of a design variable, "start.position.A"
    bounds : (float, float) in the unit of the number; -inf or inf for none
    value : where to start; None: as the scenarios have it
    scale : what counts as a large change; None: the distance of the bounds, or the size of the start
    scenarios : names of those in which it changes; empty: all that know it

    >>> Variable("S1.stiffness", (10.0, 200.0))
    Variable(path='S1.stiffness', bounds=(10.0, 200.0), value=None, scale=None, scenarios=())
    >>> Variable("S1.stiffness", (200.0, 10.0))
    Traceback (most recent call last):
    mechgrad.errors.InputError: variable 'S1.stiffness': bounds (200, 10) leave nothing between them; ...
    """

    path: str
    bounds: Any = (-np.inf, np.inf)
    value: float | None = None
    scale: float | None = None
    scenarios: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path:
            raise InputError(f"the path of a variable is {self.path!r}; give one such as 'S1.stiffness'.")
        who = f"variable {self.path!r}"
        if isinstance(self.bounds, range):
            raise InputError(
                f"{who}: bounds are {self.bounds}, integers: what can only be counted has no derivative. Solve for "
                "each count, or let the number be real."
            )
        try:
            low, high = (float(x) for x in self.bounds)
        except (TypeError, ValueError) as error:
            raise InputError(f"{who}: bounds are {self.bounds!r}; give two numbers, (low, high).") from error
        if np.isnan(low) or np.isnan(high):
            raise InputError(f"{who}: bounds ({low:g}, {high:g}) hold a NaN; use -inf or inf for none.")
        if not low < high:
            raise InputError(
                f"{who}: bounds ({low:.6g}, {high:.6g}) leave nothing between them; the lower one comes first, and "
                "what is not to change is no variable."
            )
        object.__setattr__(self, "bounds", (low, high))
        for name in ("value", "scale"):
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, bool) or not isinstance(given, Real) or not np.isfinite(float(given)):
                raise InputError(f"{who}: {name} is {given!r}; give a finite number, or leave it out.")
            object.__setattr__(self, name, float(given))
        if self.scale is not None and self.scale <= 0.0:
            raise InputError(f"{who}: scale is {self.scale:g}; it must be positive.")
        names = (self.scenarios,) if isinstance(self.scenarios, str) else tuple(self.scenarios)
        object.__setattr__(self, "scenarios", names)


def as_variables(given: Any) -> tuple[tuple[Variable, ...], tuple[DesignVariable, ...]]:
    """Variables from what a user wrote, and design variables that the models are to be given first.

    given : a Variable, a path, a DesignVariable, a list of these, or a mapping from paths to bounds

    >>> as_variables({"bob.mass": (1.0, 3.0)})[0][0].bounds
    (1.0, 3.0)
    """
    if isinstance(given, Mapping):
        items: list[Any] = [
            x if isinstance(x, Variable) else Variable(path, (-np.inf, np.inf) if x is None else x)
            for path, x in given.items()
        ]
    elif isinstance(given, str | Variable | DesignVariable):
        items = [given]
    elif isinstance(given, Iterable):
        items = list(given)
    else:
        items = []
    if not items:
        raise InputError(
            "there are no variables; give {'S1.stiffness': (10, 200)}, paths, or mg.design.Variable for more."
        )
    found, linked = [], []
    for item in items:
        if isinstance(item, DesignVariable):
            linked.append(item)
            found.append(Variable(item.name))
        elif isinstance(item, str | Variable):
            found.append(Variable(item) if isinstance(item, str) else item)
        else:
            raise InputError(f"{item!r} is no variable; give a path, a mg.design.Variable or a mg.DesignVariable.")
    return tuple(found), tuple(linked)
