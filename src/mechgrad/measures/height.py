"""The height of a point over a plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.measures.geometric import GeometricMeasure
from mechgrad.model.primitives.attached import POINT, VECTOR, Where
from mechgrad.model.primitives.measured_rows import height_row
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True)
class Height(GeometricMeasure):
    """Height of a point over a plane, (nt,) [m]:  g = n . (x - x_plane) / |n|.

    n is a vector of the model, of any length. A positive force of a law on it lowers the point.

    >>> Height("tip", "ground.origin", "up")
    Height(point='tip', plane_point='ground.origin', normal='up')
    """

    point: str = field(metadata=POINT)
    plane_point: str = field(metadata=POINT)
    normal: str = field(metadata=VECTOR)
    unit: ClassVar[str] = "m"

    def row(self, where: Where) -> Row:
        """The row that it is."""
        return height_row(where, self.point, self.plane_point, self.normal)
