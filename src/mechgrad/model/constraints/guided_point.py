"""A point on a given path in space and time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.functions import constant_part
from mechgrad.model.primitives.attached import POINT, Where
from mechgrad.model.primitives.fields import function
from mechgrad.model.primitives.rows import POINT as POINT_ROW
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GuidedPoint(Constraint):
    """World coordinates of a point are given, constant or as functions of time: rheonomic, it may do work.

        x = x(t),   y = y(t),   z = z(t)        those that are given

    One holonomic row for each coordinate that is given; smooth (C-infinity) as far as the functions are.

    Attributes
    ----------
    point : str
        Point of the model, "body.origin" or "body.com".
    x, y, z : float, Function or None
        [m], of time [s]; None leaves the coordinate free. Paths `name.x.value`, `name.z.values.0`, ...

    >>> GuidedPoint("lift", "hook", z=mg.functions.Spline((0, 1, 2), (0, 0.5, 2)))
    GuidedPoint('lift', 'hook', z=Spline((0, 1, 2), values=(0, 0.5, 2)))
    """

    type_name: ClassVar[str] = "guided_point"

    point: str = field(metadata=POINT)
    x: Any = field(default=None, metadata=function("constraint", "m"))
    y: Any = field(default=None, metadata=function("constraint", "m"))
    z: Any = field(default=None, metadata=function("constraint", "m"))

    def check(self) -> None:
        """Raise unless some coordinate is given."""
        if self.x is None and self.y is None and self.z is None:
            raise ValueRangeError(f"constraint {self.name!r} guides nothing. Give x, y or z.")

    def rows(self, where: Where) -> tuple[Row, ...]:
        x, origin = where(self.point), where("ground.origin")
        rows = []
        for i, axis in enumerate("xyz"):
            given = getattr(self, axis)
            if given is not None:
                constant, function = constant_part(given)
                direction = tuple(np.eye(3)[i])
                rows.append(Row(POINT_ROW, (x, origin), constant, direction, function=function, label=f"point {axis}"))
        return tuple(rows)
