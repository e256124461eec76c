"""The classical method of order four."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from mechgrad.steps.butcher_tableau import Tableau
from mechgrad.steps.runge_kutta.tableau import tableau
from mechgrad.steps.schemes import ExplicitScheme

_RK4 = tableau([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])


@final
@dataclass(frozen=True)
class RK4(ExplicitScheme):
    """The classical explicit Runge-Kutta method of order four, with a fixed step."""

    key: ClassVar[str] = "rk4"

    @property
    def tableau(self) -> Tableau:
        return _RK4
