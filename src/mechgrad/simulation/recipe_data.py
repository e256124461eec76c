"""What makes a motion, as data: a model, a start, a manoeuvre and steps, and the same with other numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.formulations import Formulation, as_formulation
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.state import State, state
from mechgrad.model.tree import Reference
from mechgrad.simulation.given_forces import GivenForces
from mechgrad.simulation.starts import start_of
from mechgrad.simulation.starts.base import Forces
from mechgrad.steps.conditions import as_stop
from mechgrad.steps.schemes import Scheme, as_scheme
from mechgrad.steps.task import Stop
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model

TOLERANCE = 1e-9  # of the error control, relative and absolute, unless told
M = TypeVar("M")


@dataclass(frozen=True, eq=False)
class RecipeData(ABC, Generic[M]):
    """The numbers and choices of a `Recipe`, which explains them; M: the kind of motion that it makes."""

    model: Model
    start: State | Equilibrium
    duration: float
    formulation: Formulation
    scheme: Scheme
    step: float | None
    samples: int | None
    tau: Array
    loads: tuple[Load, ...]
    t0: float
    reference: Reference = "root"
    rtol: float = TOLERANCE
    atol: float = TOLERANCE
    stop: Stop | None = None

    @abstractmethod
    def simulate(self, *, progress: bool = False) -> M:
        """The motion, made once more."""

    def changed(self, **fields: Any) -> Self:
        """A recipe with some of its fields changed; a start belongs to its model (`with_values` changes both)."""
        for name in fields:
            if name not in self.__dataclass_fields__:
                raise unknown_name("field", name, self.__dataclass_fields__, "a recipe")
        for name, meaning in (("formulation", as_formulation), ("scheme", as_scheme)):
            if name in fields:
                fields[name] = meaning(fields[name])
        if "stop" in fields:
            fields["stop"] = as_stop(fields.get("model", self.model), fields["stop"])
        return replace(self, **fields)

    def with_values(self, values: Mapping[str, float]) -> Self:
        """The recipe with other numbers: paths of the model, "start.position.hinge", "start.velocity.hinge", and
        constant forces, "tau.hinge" and "push.force.x".

        The start is found anew, in the way it was found: what `assemble` or `equilibrium` held is held. A batch of
        starts stays as it was given.
        """
        if np.ndim(self.start.q) == 2:
            return self._batch_with_values(values)
        start = start_of(self.beginning())
        numbers, given = start.values(), GivenForces(self.model, Forces(self.tau, self.loads), start.forces)
        forced = given.chosen(values)
        for name in values:
            if name.startswith("start.") and name not in numbers and name not in forced:
                raise unknown_name("start value", name, numbers, f"the start of model {self.model.name!r}")
        own = {name: x for name, x in values.items() if not name.startswith("start.") and name not in forced}
        model = self.model.with_values(own) if own else self.model
        acting, at_start = given.with_values(model, forced)
        again = start.again(model, numbers | {k: x for k, x in values.items() if k in numbers}, at_start)
        return replace(self, model=model, start=again, tau=acting.tau, loads=acting.loads)

    def forces(self) -> dict[str, float]:
        """Constant forces that it was given, by their names: "tau.hinge", "push.force.x"."""
        beginning = self.beginning()
        return GivenForces(self.model, Forces(self.tau, self.loads), start_of(beginning).forces).values()

    def _batch_with_values(self, values: Mapping[str, float]) -> Self:
        if named := [name for name in values if name.startswith("start.")]:
            raise InputError(
                f"{named[0]!r}: a batch of {len(self.start.q)} starts has no start values of one name; give "
                "changed(start=mg.state(model, q, v)) all of them."
            )
        model = self.model.with_values(dict(values))
        return replace(self, model=model, start=state(model, self.start.q, self.start.v, t=self.start.t))

    def beginning(self) -> Beginning:
        """The first state, for those who ask how it depends on numbers."""
        system = System(self.model, self.tau, self.loads)
        q, v = np.atleast_2d(self.start.q), np.atleast_2d(self.start.v)
        return Beginning(system, q, v, np.array([self.t0]), self.start)

    def __repr__(self) -> str:
        steps = f"steps of {self.step:g} s" if self.step else f"rtol = {self.rtol:g}, atol = {self.atol:g}"
        first = repr(self.start).partition(". Next")[0]
        how = f"{self.formulation}, {self.scheme!r}, {steps}"
        return f"Recipe of {self.model.name!r}: {self.duration:g} s from {first}; {how}."


@dataclass(frozen=True, eq=False)
class Beginning:
    """The first state of a motion, as its start is asked for."""

    system: System
    q: Array
    v: Array
    t: Array
    start: State | Equilibrium
