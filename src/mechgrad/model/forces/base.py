"""What every force element is: laws that give forces on rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from mechgrad.model.primitives.attached import Attached, Where
from mechgrad.model.primitives.rows import Law


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Force(Attached):
    """Something that pushes and pulls: it measures the mechanism by rows g, and answers with forces F on them.

        Q = -sum Gamma^T F(t, g, g'),      Gamma = dg/dq

    so that a positive F shortens g. A force holds names and numbers and states its laws; algorithms see only the laws
    (`mechgrad.model.primitives.rows`).

    >>> issubclass(mg.forces.SpringDamper, Force)
    True
    """

    noun: ClassVar[str] = "force"

    @abstractmethod
    def laws(self, where: Where) -> tuple[Law, ...]:
        """The laws; `where` resolves names of markers. Their number never depends on numbers."""
