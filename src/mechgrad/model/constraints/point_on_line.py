"""A point that stays on a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import POINT, VECTOR, Attached, Where, across, check_same_body
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import PLANE, Row


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PointOnLine(Constraint):
    """A point stays on a line that is fixed to a body: a bead on a straight wire.

        e1 . (x - x_line) = 0,    e2 . (x - x_line) = 0        e1, e2 fixed to the line's body, across the line

    Two holonomic rows, smooth (C-infinity).

    Attributes
    ----------
    point, line_point : str
        Points of the model, "body.origin" or "body.com".
    direction : str
        Of the line: a vector on the body of line_point; normalised.

    >>> PointOnLine("bead", "ring", "wire end", "wire")
    PointOnLine('bead', 'ring', 'wire end', 'wire')
    """

    type_name: ClassVar[str] = "point_on_line"
    drawn_from: ClassVar[str] = "OnLine"

    point: str = field(metadata=POINT)
    line_point: str = field(metadata=POINT)
    direction: str = field(metadata=VECTOR)

    def check_model(self, model: NamedParts) -> None:
        """Raise unless all markers are known, and the line belongs to one body."""
        Attached.check_model(self, model)
        check_same_body(model, self, ("line_point", "direction"))

    def rows(self, where: Where) -> tuple[Row, ...]:
        x, base = where(self.point), where(self.line_point)
        return tuple(
            Row(PLANE, (e, x, base), label=f"offset {i}") for i, e in enumerate(across(where(self.direction)), start=1)
        )
