"""Whatever was computed, as data that make it once more with other numbers: motions, guided motions, single states.

repeat_of(subject)     the data: a model, numbers, how the start was found
.with_values({...})    the same with other numbers of the model and of the start; starts are found anew
.made()                the motion or the state itself
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.kinematics.state import State
from mechgrad.simulation.given_forces import GivenForces
from mechgrad.simulation.guided import GuidedMotion, kinematic_motion
from mechgrad.simulation.recipe import Recipe
from mechgrad.simulation.recipe_data import Beginning, RecipeData
from mechgrad.simulation.saved import SavedMotion
from mechgrad.simulation.starts import Start, start_of
from mechgrad.simulation.starts.base import Forces
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.guided.put_together import carried, way
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


class Repeat(ABC):
    """What makes a motion or a state once more; plain data, which can be sent to another process.

    model : Model
    noun : what it makes, for people
    """

    model: Model
    noun: str

    @abstractmethod
    def start_values(self) -> dict[str, float]:
        """Its start values by their names, "start.position.hinge"."""

    def force_values(self) -> dict[str, float]:
        """Constant forces that it was given by their names, "tau.hinge", "push.force.x"; none where nothing acts."""
        return {}

    @abstractmethod
    def on(self, model: Model, start: Mapping[str, float] | None = None) -> Repeat:
        """The same of another model of the same shape, with some other start values."""

    def shortened(self, share: float) -> tuple[Repeat, float]:
        """The first share of it, and when that ends [s]; a state is whole at once."""
        return self, np.inf

    @abstractmethod
    def made(self) -> Any:
        """The motion or the state."""

    def with_values(self, values: Mapping[str, float]) -> Repeat:
        """The same with other numbers: paths of the model, and start values."""
        own, start = self._sorted(values)
        return self.on(self.model.with_values(own) if own else self.model, start)

    def _sorted(self, values: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
        """Numbers of the model, and start values."""
        start = {name: x for name, x in values.items() if name.startswith("start.")}
        if start:
            known = self.start_values()
            for name in start:
                if name not in known:
                    raise unknown_name("start value", name, known, f"the start of model {self.model.name!r}")
        return {name: x for name, x in values.items() if name not in start}, start


@final
@dataclass(frozen=True, eq=False)
class SimulatedRepeat(Repeat):
    """A motion by `simulate`."""

    recipe: RecipeData[Trajectory]
    noun = "motion"

    @property
    def model(self) -> Model:  # type: ignore[override]
        """Of the motion."""
        return self.recipe.model

    def start_values(self) -> dict[str, float]:
        return {} if np.ndim(self.recipe.start.q) == 2 else start_of(self.recipe.beginning()).values()

    def force_values(self) -> dict[str, float]:
        return self.recipe.forces()

    def with_values(self, values: Mapping[str, float]) -> Repeat:
        return SimulatedRepeat(self.recipe.with_values(values))

    def on(self, model: Model, start: Mapping[str, float] | None = None) -> Repeat:
        return SimulatedRepeat(
            self.recipe.changed(model=model, start=_started(self.recipe.beginning(), model, start or {}))
        )

    def shortened(self, share: float) -> tuple[Repeat, float]:
        recipe = self.recipe
        duration, samples = share * recipe.duration, recipe.samples
        if recipe.step is not None:  # whole steps, every one of them reported
            duration, samples = max(round(duration / recipe.step), 1) * recipe.step, None
        elif samples is not None:
            samples = 1 + max(round(share * (samples - 1)), 1)
        shorter = recipe.changed(duration=min(duration, recipe.duration), samples=samples)
        return SimulatedRepeat(shorter), recipe.t0 + shorter.duration

    def made(self) -> Trajectory:
        return self.recipe.simulate()


@final
@dataclass(frozen=True, eq=False)
class GuidedRepeat(Repeat):
    """A motion by `kinematic_motion`, put together in the way that `origin` is at `guess`."""

    model: Model
    t: Array
    at: Mapping[Any, Any]
    guess: Array
    tolerance: float
    origin: Model
    noun = "guided motion"

    def start_values(self) -> dict[str, float]:
        return {}

    def on(self, model: Model, start: Mapping[str, float] | None = None) -> Repeat:
        return replace(self, model=model)

    def shortened(self, share: float) -> tuple[Repeat, float]:
        first, last = float(self.t[0]), float(self.t[-1])
        t = self.t[: max(int(np.searchsorted(self.t, first + share * (last - first), "right")), 1)]
        return replace(self, t=t), float(t[-1])

    def made(self) -> GuidedMotion:
        motion = kinematic_motion(self.model, self.t, self.at, guess=self.guess, tolerance=self.tolerance)
        if self.model is self.origin:
            return motion
        ways = [way(model, q, self.t, self.at) for model, q in ((self.origin, self.guess), (self.model, motion.q[0]))]
        if ways[0] == ways[1] or 0 in ways:
            return motion
        q = carried(self.origin, self.guess, self.model, self.t, self.at, self.tolerance)
        return kinematic_motion(self.model, self.t, self.at, guess=q, tolerance=self.tolerance)


@final
@dataclass(frozen=True, eq=False)
class StateRepeat(Repeat):
    """A single state: by `assemble`, by `equilibrium`, or of given numbers."""

    state: State | Equilibrium
    tau: Any = None
    loads: tuple[Load, ...] = ()
    noun = "state"

    @property
    def model(self) -> Model:  # type: ignore[override]
        """Of the state."""
        return self.state.model

    def _beginning(self) -> Beginning:
        system = System(self.model, self.tau, self.loads)
        q, v = np.atleast_2d(self.state.q), np.atleast_2d(self.state.v)
        return Beginning(system, q, v, np.array([float(self.state.t)]), self.state)

    def start_values(self) -> dict[str, float]:
        return start_of(self._beginning()).values()

    def _forces(self) -> GivenForces:
        given = Forces(np.asarray(self.tau), self.loads)
        return GivenForces(self.model, given, given)

    def force_values(self) -> dict[str, float]:
        return self._forces().values() if self.state.way == "at rest" else {}

    def with_values(self, values: Mapping[str, float]) -> Repeat:
        forced = self._forces().chosen(values) if self.state.way == "at rest" else {}
        own, start = self._sorted({name: x for name, x in values.items() if name not in forced})
        model = self.model.with_values(own) if own else self.model
        if not forced:
            return self.on(model, start)
        acting, _ = self._forces().with_values(model, forced)
        found = start_of(self._beginning())
        state = found.again(model, found.values() | start, acting)
        return replace(self, state=state, tau=acting.tau, loads=acting.loads)

    def on(self, model: Model, start: Mapping[str, float] | None = None) -> Repeat:
        return replace(self, state=_started(self._beginning(), model, start or {}))

    def made(self) -> State | Equilibrium:
        return self.state


def _started(beginning: Beginning, model: Model, values: Mapping[str, float]) -> State | Equilibrium:
    """The start of a motion found anew for another model, in the way it was found."""
    start: Start = start_of(beginning)
    forces = start.forces or Forces(beginning.system.tau, beginning.system.loads)
    return start.again(model, start.values() | dict(values), forces)


@singledispatch
def repeat_of(subject: Any) -> Repeat:
    """The data that make a motion or a state once more.

    >>> swing = mg.simulate(model, {"pin": 0.5}, 0.2)
    >>> longer = repeat_of(swing).with_values({"bob.com.z": -1.5, "start.position.pin": 0.6}).made()
    >>> float(longer.q[0, 0]), longer.model.value("bob.com.z")
    (0.6, -1.5)
    """
    raise InputError(
        f"{type(subject).__name__} cannot be made once more with other numbers; give what simulate, kinematic_motion, "
        "equilibrium or assemble returned, or a Recipe."
    )


@repeat_of.register(Repeat)
def _itself(subject: Repeat) -> Repeat:
    return subject


@repeat_of.register(Recipe)
def _recipe(subject: RecipeData[Trajectory]) -> Repeat:
    if np.ndim(subject.start.q) == 2:
        raise InputError(
            f"a batch of {len(subject.start.q)} starts is no single motion; give each of them as a scenario of its own."
        )
    return SimulatedRepeat(subject)


@repeat_of.register(Trajectory)
@repeat_of.register(SavedMotion)
def _motion(subject: Trajectory | SavedMotion) -> Repeat:
    return _recipe(subject.recipe)


@repeat_of.register(GuidedMotion)
def _guided(subject: GuidedMotion) -> Repeat:
    return GuidedRepeat(subject.model, subject.t, subject.at, subject.q[0], subject.tolerance, subject.model)


@repeat_of.register(State)
def _state(subject: State) -> Repeat:
    if np.ndim(subject.q) == 2:
        raise InputError("a batch of states is no single state; give each of them as a scenario of its own.")
    return StateRepeat(subject)


@repeat_of.register(Equilibrium)
def _rest(subject: Equilibrium) -> Repeat:
    return StateRepeat(subject, subject.tau, tuple(subject.loads))
