"""Two points that are one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import POINT, Where
from mechgrad.model.primitives.rows import POINT as POINT_ROW
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SamePoint(Constraint):
    """Two points coincide: a ball joint without friction.

        x_a - x_b = 0

    Three holonomic rows, in world axes; smooth (C-infinity).

    Attributes
    ----------
    point_a, point_b : str
        Points of the model, "body.origin" or "body.com".

    >>> SamePoint("hook", "eye of rope", "end of crane")
    SamePoint('hook', 'eye of rope', 'end of crane')
    """

    type_name: ClassVar[str] = "same_point"

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)

    def rows(self, where: Where) -> tuple[Row, ...]:
        places = (where(self.point_a), where(self.point_b))
        return tuple(
            Row(POINT_ROW, places, direction=tuple(np.eye(3)[i]), label=f"point {axis}") for i, axis in enumerate("xyz")
        )
