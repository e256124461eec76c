"""Two directions at a fixed angle, by their scalar product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.errors import ValueRangeError
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import VECTOR, Where
from mechgrad.model.primitives.fields import brief, scalar
from mechgrad.model.primitives.rows import DOT, Row
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DotProduct(Constraint):
    """The cosine of the angle between two directions is given.

        u_a . u_b = value

    One holonomic row, smooth (C-infinity). Near value = 1 and -1 it hardly notices a rotation: use `Parallel` there.

    Attributes
    ----------
    vector_a, vector_b : str
        Vectors of the model; of any length, normalised.
    value : float
        Cosine of the angle [1], between -1 and 1 (not included). Path `name.value`.

    >>> DotProduct("square", "edge", "normal")
    DotProduct('square', 'edge', 'normal')
    """

    type_name: ClassVar[str] = "dot_product"
    drawn_from: ClassVar[str] = "Perpendicular"

    vector_a: str = field(metadata=VECTOR)
    vector_b: str = field(metadata=VECTOR)
    value: Number = field(default=0.0, metadata=scalar("constraint", "1"))

    def check(self) -> None:
        """Raise unless the cosine is that of an angle strictly between 0 and 180 degrees."""
        if not -1.0 < self.value.real < 1.0:
            raise ValueRangeError(
                f"constraint {self.name!r}: value = {brief(self.value)} is the cosine of an angle and must lie between "
                "-1 and 1. Use Parallel for directions along one line."
            )

    def rows(self, where: Where) -> tuple[Row, ...]:
        return (Row(DOT, (where(self.vector_a), where(self.vector_b)), self.value, label="angle"),)
