"""A number between its limits at an optimum, and what these cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Side:
    """A variable or a limited value at the optimum.

    name : of it;   value : there;   lower, upper : its limits
    multiplier : what the minimum would fall by if the limit gave way by one unit, positive at the upper and negative at
        the lower one; zero between them
    active : whether a limit is reached
    """

    name: str
    value: float
    lower: float
    upper: float
    multiplier: float
    active: bool

    @property
    def margin(self) -> float:
        """The distance to the nearer limit; negative beyond it."""
        return min(self.value - self.lower, self.upper - self.value)
