"""Joint coordinates, their velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.kinematics.mechanism_record import evaluate_rows, mechanism_of
from mechgrad.measures.base import Curvature, Measure, Partials, StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.mechanics.coordinate_units import velocity_units
from mechgrad.model.mechanism import N_ALL
from mechgrad.model.primitives.attached import QUANTITY, Where, places
from mechgrad.model.primitives.measured_rows import coordinate_row
from mechgrad.model.primitives.quantity_names import known_quantities, quantity_row
from mechgrad.model.primitives.rows import ANGLE, DOT, Row
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
    """A coordinate of a joint, (nt,) [rad or m]:  g = q; names are those of `model.q_names`.

    Of a joint that closes a loop ("pin", "strut.distance") it is measured between the two bodies; angles are then in
    (-pi, pi]. World coordinates of points and components of vectors go by their names as well ("P.x", "axis.z"). A
    positive force of a law on it lowers it.

    >>> JointCoordinate("pin")
    JointCoordinate(coordinate='pin')
    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["bob.com.z"]).shape
    (1, 1)
    """

    coordinate: str = field(metadata=QUANTITY)
    uses: ClassVar[str] = "q"
    level: ClassVar[str] = "q"

    def row(self, where: Where) -> Row:
        """The row that it is."""
        return coordinate_row(self.coordinate)

    def columns(self, model: Model) -> tuple[tuple[str, str], ...]:
        row = quantity_row(model, places(model), self.coordinate)
        if row is None:
            return super().columns(model)
        return (("", {ANGLE: "rad", DOT: ""}.get(row.kind, "m")),)

    def column(self, at: StateSamples) -> int:
        """Its velocity among `model.v_names`; -1 for what is measured between bodies."""
        layout = at.model.layout
        names = [at.model.q_names[i] for i in layout.plain_q]
        return int(layout.plain_v[names.index(self.coordinate)]) if self.coordinate in names else -1

    def values(self, at: StateSamples) -> Array:
        layout, j = at.model.layout, self.column(at)
        if j < 0:
            return self._measured(at)
        return np.asarray(at.states.q[:, layout.plain_q[layout.plain_v.tolist().index(j)]])

    def _measured(self, at: StateSamples) -> Array:
        """Between bodies: the value of the row that goes by this name."""
        model, q = at.model, at.states.q
        row = quantity_row(model, places(model), self.coordinate)
        if row is None:
            raise unknown_name("coordinate", self.coordinate, known_quantities(model), f"model {model.name!r}")
        T = mechanism_of(model, independent=[row], dtype=complex if np.iscomplexobj(q) else None)
        last = int(T.ints[N_ALL])
        q = np.ascontiguousarray(q, T.atoms_f.dtype)
        return np.asarray(evaluate_rows(T, q, None, None, np.array(at.states.t), last - 1, last).values[:, 0])

    def depends_on(self, at: StateSamples, parameters: MotionParameters) -> Sequence[int]:
        return () if self.column(at) >= 0 else Measure.depends_on(self, at, parameters)

    def partials(self, at: StateSamples, parameters: MotionParameters) -> Partials:
        return super().partials(at, parameters) if self.column(at) >= 0 else Measure.partials(self, at, parameters)

    def curvature(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Curvature:
        if self.column(at) >= 0:
            return Curvature()
        return Measure.curvature(self, at, parameters, weights)


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
