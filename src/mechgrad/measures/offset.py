"""The distance of two points along a world direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import ZeroAxisError
from mechgrad.measures.geometric import GeometricMeasure
from mechgrad.model.primitives.attached import POINT, Where
from mechgrad.model.primitives.fields import as_vector
from mechgrad.model.primitives.frames import unit
from mechgrad.model.primitives.rows import POINT as POINT_ROW
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True)
class Offset(GeometricMeasure):
    """Distance of two points along a world direction, (nt,) [m]:  g = e . (x_a - x_b).

    e is given in world axes, with any non-zero length; it is normalised. A positive force of a law on it lowers it.

    >>> Offset("tip", "ground.origin", (0, 0, 2)).direction
    (0.0, 0.0, 1.0)
    """

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    direction: Any
    unit: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        e = as_vector(self.direction, "Offset: direction")
        if not np.any(e.real != 0.0):
            raise ZeroAxisError(f"Offset: direction = {self.direction!r} has length zero. Give it a direction.")
        object.__setattr__(self, "direction", tuple(unit(e).tolist()))

    def row(self, where: Where) -> Row:
        """The row that it is."""
        ends = (where(self.point_a), where(self.point_b))
        return Row(POINT_ROW, ends, direction=self.direction, label="offset")
