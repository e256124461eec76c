"""Two directions along one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import VECTOR, Where, across
from mechgrad.model.primitives.rows import DOT, Row


def parallel_rows(where: Where, vector_a: str, vector_b: str) -> tuple[Row, ...]:
    """u_a perpendicular to two directions across u_b: the cross product vanishes, without its dependent third row."""
    u = where(vector_a)
    return tuple(Row(DOT, (u, e), label=f"axis {i}") for i, e in enumerate(across(where(vector_b)), start=1))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parallel(Constraint):
    """Two directions along one line, pointing the same way or opposite ways.

        u_a . e1 = 0,    u_a . e2 = 0        e1, e2 fixed to the body of u_b, perpendicular to it

    Two holonomic rows, smooth (C-infinity). Opposite directions satisfy them as well: motion keeps whichever of the
    two it starts with.

    Attributes
    ----------
    vector_a, vector_b : str
        Vectors of the model; of any length, normalised.

    >>> Parallel("upright", "mast", "vertical")
    Parallel('upright', 'mast', 'vertical')
    """

    type_name: ClassVar[str] = "parallel"

    vector_a: str = field(metadata=VECTOR)
    vector_b: str = field(metadata=VECTOR)

    def rows(self, where: Where) -> tuple[Row, ...]:
        return parallel_rows(where, self.vector_a, self.vector_b)
