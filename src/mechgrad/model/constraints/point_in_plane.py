"""A point that keeps its height over a plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import POINT, VECTOR, Attached, Where, check_same_body
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.measured_rows import height_row
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PointInPlane(Constraint):
    """A point stays in a plane that is fixed to a body, or at a given height over it.

        n . (x - x_plane) = distance

    One holonomic row, smooth (C-infinity). It pushes and pulls; for a plane that only pushes use `SphereContact`.

    Attributes
    ----------
    point, plane_point : str
        Points of the model, "body.origin" or "body.com".
    normal : str
        n: a vector on the body of plane_point; normalised.
    distance : float
        [m]. Path `name.distance`.

    >>> PointInPlane("on the table", "tip", "table centre", "table normal", distance=0.01)
    PointInPlane('on the table', 'tip', 'table centre', 'table normal', distance=0.01)
    """

    type_name: ClassVar[str] = "point_in_plane"
    drawn_from: ClassVar[str] = "InPlane"

    point: str = field(metadata=POINT)
    plane_point: str = field(metadata=POINT)
    normal: str = field(metadata=VECTOR)
    distance: Number = field(default=0.0, metadata=scalar("constraint", "m"))

    def check_model(self, model: NamedParts) -> None:
        """Raise unless all markers are known, and the plane belongs to one body."""
        Attached.check_model(self, model)
        check_same_body(model, self, ("plane_point", "normal"))

    def rows(self, where: Where) -> tuple[Row, ...]:
        return (height_row(where, self.point, self.plane_point, self.normal, constant=self.distance),)
