"""The angle between two vectors about a third."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.measures.geometric import GeometricMeasure
from mechgrad.model.primitives.attached import VECTOR, Where
from mechgrad.model.primitives.measured_rows import angle_row
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True)
class Angle(GeometricMeasure):
    """Angle from one vector to another about a third, (nt,) [rad], in (-pi, pi]:

        g = atan2(n . (u_a x u_b), |n| u_a . u_b)        n the axis

    All three are vectors of the model of any length: a roll angle is that from the vertical to the body's own up vector
    about its forward vector, with u_a and u_b perpendicular to n in the upright position. A positive torque of a law on
    it lowers it. Drivers and `assemble` take it modulo a full turn.

    >>> Angle("up", "mast", axis="forward").axis
    'forward'
    """

    vector_a: str = field(metadata=VECTOR)
    vector_b: str = field(metadata=VECTOR)
    axis: str = field(metadata=VECTOR)
    unit: ClassVar[str] = "rad"

    def row(self, where: Where) -> Row:
        """The row that it is."""
        return angle_row(where, self.vector_a, self.vector_b, self.axis)
