"""What must hold: limits of objectives, one value or many, and linear limits of the variables themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.optimization.design.goals import Asked
from mechgrad.optimization.design.scenario import Scenario
from mechgrad.sensitivities.objectives import Objective, as_objective


@final
@dataclass(frozen=True, eq=False)
class Limit:
    """lower <= psi <= upper for every value of an objective, in some scenarios or in all.

    Attributes
    ----------
    objective : `AtEnd`, `AtTime`, `Integral`: of the motion; `AtTimes`: at instants, or at all that are reported;
        `SmoothMaximum`: the largest along the motion as one smooth value, which errs to the safe side
    lower, upper : numbers, equal for an equality; -inf or inf for none
    name : how results call it
    scenarios : names of those in which it must hold; empty: all

    >>> mg.design.Limit(mg.AtEnd(mg.measures.JointCoordinate("pin")), upper=0.1, name="angle at the end")
    Limit 'angle at the end' <= 0.1
    """

    objective: Objective
    lower: float = -np.inf
    upper: float = np.inf
    name: str = ""
    scenarios: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        as_objective(self.objective)
        object.__setattr__(self, "scenarios", _names(self.scenarios))
        _check_sides(self, self.lower, self.upper)

    def asked(self, scenarios: Sequence[Scenario], number: int) -> tuple[Asked, ...]:
        """The objective, scenario by scenario."""
        every = [s.name for s in scenarios]
        for name in self.scenarios:
            if name not in every:
                raise unknown_name("scenario", name, every, f"limit {self.name!r}")
        chosen = [i for i, name in enumerate(every) if not self.scenarios or name in self.scenarios]
        label = self.name or f"limit {number}"
        return tuple(Asked(i, f"{label} of {every[i]}" if len(chosen) > 1 else label, self.objective) for i in chosen)

    def until(self, ends: Mapping[str, float]) -> tuple[Limit, ...]:
        """What must hold in scenarios that end earlier, by their names [s]; one limit for each of them."""
        chosen = {name: end for name, end in ends.items() if not self.scenarios or name in self.scenarios}
        cut = {name: self.objective.until(end) for name, end in chosen.items()}
        return tuple(
            replace(self, objective=objective, scenarios=(name,)) for name, objective in cut.items()
            if objective is not None
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Limit {sides(repr(self.name), self.lower, self.upper)}"


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """lower <= sum of factors times variables <= upper.

    Attributes
    ----------
    factors : mapping from names of variables to their factors
    lower, upper : numbers, equal for an equality; -inf or inf for none

    >>> mg.design.Linear({"crank.length": 1.0, "rod.length": -1.0}, upper=0.0, name="crank below rod")
    Linear 'crank below rod' <= 0
    """

    factors: Mapping[str, float]
    lower: float = -np.inf
    upper: float = np.inf
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.factors, Mapping) or not self.factors:
            raise InputError(f"Linear: factors are {self.factors!r}; give {{'a': 1.0, 'b': -1.0}}.")
        for name, x in self.factors.items():
            if isinstance(x, bool) or not isinstance(x, Real) or not np.isfinite(float(x)):
                raise InputError(f"Linear: the factor of {name!r} is {x!r}; give a finite number.")
        _check_sides(self, self.lower, self.upper)

    def row(self, names: Sequence[str]) -> Any:
        """Its factors for all variables (n,)."""
        row = np.zeros(len(names))
        for name, x in self.factors.items():
            if name not in names:
                raise unknown_name("variable", name, names, f"Linear {self.name!r}")
            row[list(names).index(name)] = float(x)
        return row

    def __repr__(self) -> str:
        return f"Linear {sides(repr(self.name), self.lower, self.upper)}"


def sides(what: str, lower: float, upper: float) -> str:
    """A number between its limits, in words."""
    if lower == upper:
        return f"{what} = {lower:g}"
    low = f"{lower:g} <= " if np.isfinite(lower) else ""
    high = f" <= {upper:g}" if np.isfinite(upper) else ""
    return f"{low}{what}{high}"


def _names(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _check_sides(item: Limit | Linear, lower: Any, upper: Any) -> None:
    who = f"{type(item).__name__} {item.name!r}"
    for side, x in (("lower", lower), ("upper", upper)):
        if isinstance(x, bool) or not isinstance(x, Real) or np.isnan(float(x)):
            raise InputError(f"{who}: {side} is {x!r}; give a number.")
    if not lower <= upper or lower == np.inf or upper == -np.inf:
        raise InputError(f"{who}: lower = {lower:g} and upper = {upper:g} leave nothing between them.")
    if lower == -np.inf and upper == np.inf:
        raise InputError(f"{who} limits nothing; give lower, upper or both.")
