"""Two directions that are one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.constraints.base import Constraint
from mechgrad.model.constraints.parallel import parallel_rows
from mechgrad.model.primitives.attached import VECTOR, Where
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SameVector(Constraint):
    """Two directions point the same way.

        u_a . e1 = 0,    u_a . e2 = 0        e1, e2 fixed to the body of u_b, perpendicular to it

    Two holonomic rows, smooth (C-infinity). They are those of `Parallel`: no equation that keeps its rank tells
    u_a = u_b from u_a = -u_b. Start closer to the one that is meant; motion keeps it.

    Attributes
    ----------
    vector_a, vector_b : str
        Vectors of the model; of any length, normalised.

    >>> SameVector("upright", "mast", "vertical")
    SameVector('upright', 'mast', 'vertical')
    """

    type_name: ClassVar[str] = "same_vector"
    drawn_from: ClassVar[str] = "SharedVector"

    vector_a: str = field(metadata=VECTOR)
    vector_b: str = field(metadata=VECTOR)

    def rows(self, where: Where) -> tuple[Row, ...]:
        return parallel_rows(where, self.vector_a, self.vector_b)
