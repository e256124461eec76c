"""The distance of two points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.measures.geometric import GeometricMeasure
from mechgrad.model.primitives.attached import POINT, Where
from mechgrad.model.primitives.measured_rows import distance_row
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True)
class Distance(GeometricMeasure):
    """Distance of two points, (nt,) [m]:  g = |x_a - x_b|.

    Not differentiable where the points meet. A positive force of a law on it pulls them together. In a drawing, where
    it is the coordinate of a slide, it is counted with its sign, on from the drawing's side of zero.

    >>> Distance("ground.origin", "bob.com")
    Distance(point_a='ground.origin', point_b='bob.com')
    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(Distance("ground.origin", "bob.com")), ["bob.com.z"]).array.round(9)
    array([[-1.]])
    """

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    unit: ClassVar[str] = "m"

    def row(self, where: Where) -> Row:
        """The row that it is."""
        return distance_row(where, self.point_a, self.point_b)
