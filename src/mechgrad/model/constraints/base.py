"""What every constraint is: rows that have to vanish."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from mechgrad.model.primitives.attached import Attached, Where
from mechgrad.model.primitives.rows import Row


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constraint(Attached):
    """An equation that motions of the mechanism obey.

        value(q, t) = 0  for each holonomic row,      Gamma(q) v = f'(t)  for each row at velocity level

    A constraint holds names and numbers and states its rows; algorithms see only the rows
    (`mechgrad.model.primitives.rows`). Its forces do no work on allowed motions. Rows that follow from others are
    redundant: leave them out.

    >>> issubclass(mg.constraints.SamePoint, Constraint)
    True
    """

    noun: ClassVar[str] = "constraint"
    drawn_from: ClassVar[str] = (
        ""  # the relation of a drawing that it is, where that makes no joint (`model.detection`)
    )

    @abstractmethod
    def rows(self, where: Where) -> tuple[Row, ...]:
        """The equations; `where` resolves names of markers. Their number never depends on numbers."""
