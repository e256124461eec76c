"""A point that stays on a curve: a bead on a bent wire, a follower on a cam."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import POINT, VECTOR, Attached, Where, check_same_body, places
from mechgrad.model.primitives.fields import function
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import PROFILE, Row

NEARLY = 1e-6  # sine of the angle between two directions: below, they are parallel


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PointOnCurve(Constraint):
    """A point stays on a curve that is fixed to a body: its height above a plane is a function of the way along it.

        height . (x - x_base) = curve(along . (x - x_base))

    One holonomic row: in a plane the point stays on the curve, in space on the surface that the curve sweeps out across
    both directions (add `PointInPlane` there). As smooth as the curve: a `Spline` is C2, and its knots are parameters;
    a `Table` has kinks, where accelerations jump.

    Attributes
    ----------
    point, base : str
        Points of the model, "body.origin" or "body.com": what stays on the curve, and where the curve counts from.
    along, height : str
        Vectors on the body of base, not parallel; normalised.
    curve : float or Function
        [m], of the way along [m]. Paths `name.curve.values.0`, ...; a number is a plane at that height.

    >>> wire = mg.functions.Spline((0, 0.5, 1), (0, -0.4, -0.5))
    >>> PointOnCurve("wire", "bead.com", "ground.origin", "forward", "up", wire).curve.values
    array([ 0. , -0.4, -0.5])
    """

    type_name: ClassVar[str] = "point_on_curve"

    point: str = field(metadata=POINT)
    base: str = field(metadata=POINT)
    along: str = field(metadata=VECTOR)
    height: str = field(metadata=VECTOR)
    curve: Any = field(metadata=function("constraint", "m", "m"))

    def check_model(self, model: NamedParts) -> None:
        """Raise unless all markers are known, and the curve belongs to one body."""
        Attached.check_model(self, model)
        check_same_body(model, self, ("base", "along", "height"))
        where = places(model)
        if np.linalg.norm(np.cross(where(self.along).local.real, where(self.height).local.real)) < NEARLY:
            raise ValueRangeError(
                f"constraint {self.name!r}: along = {self.along!r} and height = {self.height!r} are parallel; a curve "
                "has a way along and a height above it."
            )

    def rows(self, where: Where) -> tuple[Row, ...]:
        places = (where(self.height), where(self.along), where(self.point), where(self.base))
        return (Row(PROFILE, places, profile=self.curve, label="curve"),)
