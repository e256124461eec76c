"""Two coordinates in a fixed ratio."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.errors import ValueRangeError
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import COORDINATE, Where
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.rows import LINEAR, Row
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gear(Constraint):
    """One coordinate follows another: gears, belts, a rack and its pinion, a screw.

        q_a = ratio q_b + offset

    One holonomic row, smooth (C-infinity).

    Attributes
    ----------
    coordinate_a, coordinate_b : str
        Coordinates of hinges and sliders (`model.q_names`).
    ratio : float
        Unit of q_a over unit of q_b; negative for wheels that turn against each other. Path `name.ratio`.
    offset : float
        q_a when q_b is zero, in its unit. Path `name.offset`.

    >>> Gear("reduction", "output", "motor", ratio=0.01)
    Gear('reduction', 'output', 'motor', ratio=0.01)
    """

    type_name: ClassVar[str] = "gear"

    coordinate_a: str = field(metadata=COORDINATE)
    coordinate_b: str = field(metadata=COORDINATE)
    ratio: Number = field(metadata=scalar("constraint", ""))
    offset: Number = field(default=0.0, metadata=scalar("constraint", ""))

    def check(self) -> None:
        """Raise unless two different coordinates are named."""
        if self.coordinate_a == self.coordinate_b:
            raise ValueRangeError(
                f"constraint {self.name!r} connects {self.coordinate_a!r} to itself. Name two coordinates."
            )

    def rows(self, where: Where) -> tuple[Row, ...]:
        terms = ((self.coordinate_a, 1.0), (self.coordinate_b, -self.ratio))
        return (Row(LINEAR, (), self.offset, coordinates=terms, label="ratio"),)
