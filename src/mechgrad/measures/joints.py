"""Joint coordinates, their velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.measures.base import Curvature, Measure, Partials, StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.mechanics.coordinate_units import velocity_units
from mechgrad.model.primitives.attached import COORDINATE, Where
from mechgrad.model.primitives.measured_rows import coordinate_row
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@dataclass(frozen=True)
class _Component(Measure):
    """One number of q, v or a: linear."""

    level: ClassVar[str]

    def columns(self, model: Model) -> tuple[tuple[str, str], ...]:
        units = velocity_units(model)
        unit = units.get(getattr(self, "coordinate", ""), "")
        return (("", {"q": unit.removesuffix("/s"), "v": unit, "a": f"{unit}²"}[self.level] if unit else ""),)

    def column(self, at: StateSamples) -> int:
        """Where its partial stands among the velocities."""
        raise TypeError("says which number it is")  # pragma: no cover - all do

    def depends_on(self, at: StateSamples, parameters: MotionParameters) -> Sequence[int]:
        return ()

    def partials(self, at: StateSamples, parameters: MotionParameters) -> Partials:
        unit = np.zeros((len(at.states.t), 1, at.model.n_v))
        unit[:, :, self.column(at)] = 1.0
        return Partials(**{self.level: unit})

    def curvature(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Curvature:
        return Curvature()


@final
@dataclass(frozen=True)
class JointCoordinate(_Component):
    """A plain coordinate of the tree, (nt,) [rad or m]:  g = q; names are those of `model.q_names`.

    A positive force of a law on it lowers it.

    >>> JointCoordinate("pin")
    JointCoordinate(coordinate='pin')
    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["bob.com.z"]).shape
    (1, 1)
    """

    coordinate: str = field(metadata=COORDINATE)
    uses: ClassVar[str] = "q"
    level: ClassVar[str] = "q"

    def row(self, where: Where) -> Row:
        """The row that it is."""
        return coordinate_row(self.coordinate)

    def _index(self, at: StateSamples) -> tuple[int, int]:
        layout, model = at.model.layout, at.model
        plain = {model.q_names[i]: (i, j) for i, j in zip(layout.plain_q, layout.plain_v, strict=True)}
        if self.coordinate not in plain:
            raise unknown_name("coordinate", self.coordinate, plain, f"model {model.name!r}")
        i, j = plain[self.coordinate]
        return int(i), int(j)

    def column(self, at: StateSamples) -> int:
        return self._index(at)[1]

    def values(self, at: StateSamples) -> Array:
        return np.asarray(at.states.q[:, self._index(at)[0]])


@dataclass(frozen=True)
class _OfVelocity(_Component):
    """One number of v or a."""

    coordinate: str

    def column(self, at: StateSamples) -> int:
        names = at.model.v_names
        if self.coordinate not in names:
            raise unknown_name("velocity", self.coordinate, names, f"model {at.model.name!r}")
        return names.index(self.coordinate)

    def values(self, at: StateSamples) -> Array:
        return np.asarray(getattr(at.states, self.level)[:, self.column(at)])


@final
@dataclass(frozen=True)
class JointVelocity(_OfVelocity):
    """A velocity of `model.v_names`, (nt,) [rad/s or m/s].

    >>> JointVelocity("pin").coordinate
    'pin'
    """

    uses: ClassVar[str] = "v"
    level: ClassVar[str] = "v"


@final
@dataclass(frozen=True)
class JointAcceleration(_OfVelocity):
    """The rate of a velocity of `model.v_names`, (nt,) [rad/s^2 or m/s^2].

    >>> JointAcceleration("pin").coordinate
    'pin'
    """

    uses: ClassVar[str] = "a"
    level: ClassVar[str] = "a"
