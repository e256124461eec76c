"""What a user's force can measure: small descriptions that turn into rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.errors import ZeroAxisError
from mechgrad.model.attached import COORDINATE, POINT, VECTOR, Where, check_reference, places
from mechgrad.model.fields import as_vector
from mechgrad.model.frames import unit
from mechgrad.model.rows import DISTANCE, LINEAR, PLANE, Row
from mechgrad.model.rows import POINT as POINT_ROW

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@dataclass(frozen=True, slots=True)
class Measure(ABC):
    """One number that a `UserForce` reads (with its rate) and pushes against."""

    @abstractmethod
    def row(self, where: Where) -> Row:
        """The row that measures it."""

    def check_model(self, model: Model, what: str) -> None:
        """Raise unless the model has every marker and coordinate that is named here."""
        for f in fields(self):
            if "refers" in f.metadata:
                name = getattr(self, f.name)
                check_reference(model, places(model), f.metadata["refers"], name, f"{what}: {f.name}")


@final
@dataclass(frozen=True, slots=True)
class Separation(Measure):
    """Distance of two points: g = |x_a - x_b| [m]. A positive force pulls them together.

    >>> Separation("ground.origin", "bob.com")
    Separation(point_a='ground.origin', point_b='bob.com')
    """

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)

    def row(self, where: Where) -> Row:
        return Row(DISTANCE, (where(self.point_a), where(self.point_b)), label="separation")


@final
@dataclass(frozen=True, slots=True)
class Coordinate(Measure):
    """A coordinate of a hinge or slider: g = q [rad or m]. A positive force lowers it.

    >>> Coordinate("pin")
    Coordinate(name='pin')
    """

    name: str = field(metadata=COORDINATE)

    def row(self, where: Where) -> Row:
        return Row(LINEAR, coordinates=((self.name, 1.0),), label="coordinate")


@final
@dataclass(frozen=True, slots=True)
class Height(Measure):
    """Height of a point over a plane: g = n . (x - x_plane) [m]. A positive force lowers the point.

    n is a vector of the model, normalised.

    >>> Height("tip", "ground.origin", "up")
    Height(point='tip', plane_point='ground.origin', normal='up')
    """

    point: str = field(metadata=POINT)
    plane_point: str = field(metadata=POINT)
    normal: str = field(metadata=VECTOR)

    def row(self, where: Where) -> Row:
        return Row(PLANE, (where(self.normal), where(self.point), where(self.plane_point)), label="height")


@final
@dataclass(frozen=True, slots=True)
class Offset(Measure):
    """Distance of two points along a world direction: g = e . (x_a - x_b) [m]. A positive force lowers it.

    e is given in world axes, with any non-zero length; it is normalised.

    >>> Offset("tip", "ground.origin", (0, 0, 2)).direction
    (0.0, 0.0, 1.0)
    """

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    direction: Any

    def __post_init__(self) -> None:
        e = as_vector(self.direction, "Offset: direction")
        if not np.any(e.real != 0.0):
            raise ZeroAxisError(f"Offset: direction = {self.direction!r} has length zero. Give it a direction.")
        object.__setattr__(self, "direction", tuple(unit(e).tolist()))

    def row(self, where: Where) -> Row:
        places = (where(self.point_a), where(self.point_b))
        return Row(POINT_ROW, places, direction=self.direction, label="offset")
