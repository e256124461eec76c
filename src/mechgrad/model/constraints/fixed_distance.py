"""Two points at a given distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from mechgrad.errors import ValueRangeError
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.functions import Constant, constant_part
from mechgrad.model.primitives.attached import POINT, Where
from mechgrad.model.primitives.fields import brief, function
from mechgrad.model.primitives.measured_rows import distance_row
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FixedDistance(Constraint):
    """A massless rod with ball joints at its ends; its length is constant or a function of time.

        |x_a - x_b| = distance(t)

    One holonomic row; smooth (C-infinity) away from distance zero, as far as distance(t) is.

    Attributes
    ----------
    point_a, point_b : str
        Points of the model, "body.origin" or "body.com".
    distance : float or Function
        [m], of time [s]; positive. Paths `name.distance.value`, `name.distance.values.0`, ...

    >>> FixedDistance("rod", "crank pin", "slider pin", 0.4)
    FixedDistance('rod', 'crank pin', 'slider pin', Constant(value=0.4))
    """

    type_name: ClassVar[str] = "fixed_distance"

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    distance: Any = field(metadata=function("constraint", "m"))

    def check(self) -> None:
        """Raise unless a constant distance is positive."""
        if isinstance(self.distance, Constant) and not self.distance.value.real > 0.0:
            raise ValueRangeError(
                f"constraint {self.name!r}: distance = {brief(self.distance.value)} m must be positive; at zero the "
                "distance has no derivative. Use SamePoint for points that coincide."
            )

    def rows(self, where: Where) -> tuple[Row, ...]:
        constant, distance = constant_part(self.distance)
        return (distance_row(where, self.point_a, self.point_b, constant=constant, function=distance),)
