"""In which situations a design is judged: motions, guided motions and single states, as data that make them anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.model.variables import DesignVariable
from mechgrad.simulation.repeats import Repeat, repeat_of


@final
@dataclass(frozen=True, eq=False)
class Scenario:
    """A situation: how something is computed, its name, and what it weighs beside others.

    Attributes
    ----------
    source : what `simulate`, `kinematic_motion`, `equilibrium` or `assemble` returned, or a Recipe
        It is made anew with other numbers, its start found in the same way.
    name : how results call it
    weight : of its share in sums, positive
    repeat : the data that make it once more

    >>> mg.design.Scenario(mg.simulate(model, {"pin": 0.5}, 0.2), "small swing")
    Scenario 'small swing': motion of 'pendulum'
    """

    source: Any = field(repr=False)
    name: str = ""
    weight: float = 1.0
    repeat: Repeat = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"the name of a scenario is {self.name!r}; give a text.")
        if not isinstance(self.weight, Real) or not 0.0 < float(self.weight) < np.inf:
            raise InputError(f"scenario {self.name!r}: weight is {self.weight!r}; it must be positive and finite.")
        object.__setattr__(self, "repeat", repeat_of(self.source))

    @property
    def model(self) -> Model:
        """What moves."""
        return self.repeat.model

    def __repr__(self) -> str:
        weight = "" if self.weight == 1.0 else f", weight {self.weight:g}"
        return f"Scenario {self.name!r}: {self.repeat.noun} of {self.model.name!r}{weight}"


def as_scenarios(given: Any) -> tuple[Scenario, ...]:
    """Scenarios with names from what a user wrote: one, a list, or a mapping from names."""
    if isinstance(given, Mapping):
        found = [
            replace(x, name=str(name)) if isinstance(x, Scenario) else Scenario(x, str(name))
            for name, x in given.items()
        ]
    else:
        many = list(given) if isinstance(given, Sequence) else [given]
        found = [x if isinstance(x, Scenario) else Scenario(x) for x in many]
    if not found:
        raise InputError("there is no scenario; give a motion, a list of them, or a mapping from names to them.")
    if len(found) == 1 and not found[0].name:
        found = [replace(found[0], name=found[0].model.name)]
    found = [x if x.name else replace(x, name=f"scenario {k + 1}") for k, x in enumerate(found)]
    names = [x.name for x in found]
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise InputError(f"two scenarios are called {twice[0]!r}; give each a name of its own.")
    return tuple(found)


def with_linked(scenario: Scenario, linked: Sequence[DesignVariable]) -> Scenario:
    """The scenario with some design variables in its model, where this has their targets."""
    model = scenario.model
    known = {variable.name for variable in model.variables}
    new = [x for x in linked if x.name not in known]
    if not new:
        return scenario
    return replace(scenario, source=scenario.repeat.on(replace(model, variables=(*model.variables, *new))))
