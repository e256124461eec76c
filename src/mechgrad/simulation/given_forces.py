"""Constant forces that `simulate` and `equilibrium` were given, as numbers with names.

"tau.hinge", "push.force.x", "push.point.z"       of a motion or an equilibrium: tau by `v_names`, loads by their names
"start.tau.hinge", "start.push.force.x"           of the equilibrium that a motion with other forces starts from

Where tau and loads of an equilibrium and of the motion from it are the same, a name means both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load, load_paths, load_vector
from mechgrad.simulation.starts.base import MOTION, START, Forces
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


class Given(NamedTuple):
    """A number of tau (load = -1) or of a load; roles: whether it acts on the motion, on the start's equilibrium."""

    roles: tuple[str, ...]
    load: int
    field: str
    axis: int


@final
@dataclass(frozen=True, eq=False)
class GivenForces:
    """Forces of a motion, and those of the equilibrium that it starts from, if it does.

    >>> pulled = GivenForces(model, Forces(np.array([2.0]), ()), None)
    >>> pulled.values()
    {'tau.pin': 2.0}
    >>> pulled.with_values(model, {"tau.pin": 3.0})[0].tau
    array([3.])
    """

    model: Model
    motion: Forces
    start: Forces | None

    def places(self) -> dict[str, Given]:
        """What each name means."""
        shared = self.start is not None and same(self.motion, self.start)
        found = self._named(self.motion, "", (MOTION, START) if shared else (MOTION,))
        if self.start is not None and not shared:
            found |= self._named(self.start, "start.", (START,))
        return found

    def _named(self, forces: Forces, prefix: str, roles: tuple[str, ...]) -> dict[str, Given]:
        tau = {f"{prefix}tau.{name}": Given(roles, -1, "", j) for j, name in enumerate(self.model.v_names)}
        return tau | {prefix + path: Given(roles, *place) for path, place in load_paths(forces.loads).items()}

    def of(self, role: str) -> Forces:
        """Forces of the motion or of its start."""
        return self.motion if role == MOTION else self.start or self.motion

    def value(self, given: Given) -> float:
        """The present value of a number."""
        return float(np.real(vector(self.model, self.of(given.roles[0]), given)[given.axis]))

    def values(self) -> dict[str, float]:
        """All numbers by their names, but points that are those of markers."""
        places = self.places().items()
        return {name: self.value(given) for name, given in places if not self._of_marker(given)}

    def _of_marker(self, given: Given) -> bool:
        return given.field == "point" and isinstance(self.of(given.roles[0]).loads[given.load].point, str)

    def with_values(self, model: Model, values: Mapping[str, float]) -> tuple[Forces, Forces]:
        """Forces of the motion and of its start with some other numbers; model: whose markers loads may name."""
        places = self.places()
        forces = {MOTION: self.motion, START: self.of(START)}
        for name, value in values.items():
            given = places[name]
            if self._of_marker(given):
                marker = self.of(given.roles[0]).loads[given.load].point
                raise InputError(
                    f"{name!r}: this load acts at the point {marker!r} of the model, which numbers of the model move: "
                    f"change '{marker}.position.{'xyz'[given.axis]}', or give the load a point in numbers."
                )
            for role in given.roles:
                numbers = vector(model, forces[role], given).astype(float)
                numbers[given.axis] = value
                forces[role] = _put(forces[role], given, numbers)
        return forces[MOTION], forces[START]

    def chosen(self, values: Mapping[str, float]) -> dict[str, float]:
        """Those of some values that are numbers of these forces."""
        loads = (*self.motion.loads, *(self.start.loads if self.start is not None else ()))
        begin = (
            "tau.",
            "start.tau.",
            "load.",
            "start.load.",
            *(f"{p}{x.name}." for x in loads for p in ("", "start.")),
        )
        near = [name for name in values if name.startswith(begin)]
        places = self.places() if near else {}
        return {name: values[name] for name in near if name in places}


def vector(model: Model, forces: Forces, given: Given) -> Array:
    """The three or n_v numbers that one belongs to."""
    return forces.tau if given.load < 0 else load_vector(model, forces.loads[given.load], given.field)


def stepped(model: Model, forces: Forces, given: Given, step: Any) -> Forces:
    """Forces with a step in one of their numbers; a named point is taken from the model."""
    numbers = np.asarray(vector(model, forces, given))
    numbers = numbers.astype(np.result_type(numbers, np.asarray(step)))
    numbers[given.axis] += step
    return _put(forces, given, numbers)


def _put(forces: Forces, given: Given, numbers: Array) -> Forces:
    if given.load < 0:
        return forces._replace(tau=numbers)
    field: dict[str, Any] = {given.field: numbers}
    loads: list[Load] = list(forces.loads)
    loads[given.load] = replace(loads[given.load], **field)
    return forces._replace(loads=tuple(loads))


def same(a: Forces, b: Forces) -> bool:
    """Whether two sets of forces are equal."""
    if len(a.loads) != len(b.loads) or not np.array_equal(a.tau, b.tau):
        return False
    fields = ("body", "force", "torque", "point", "axes", "name")
    return all(
        x is y or all(np.array_equal(getattr(x, name), getattr(y, name)) for name in fields)
        for x, y in zip(a.loads, b.loads, strict=True)
    )
