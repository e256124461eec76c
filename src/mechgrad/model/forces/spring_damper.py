"""A linear spring with a damper between two points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import POINT, Where, check_not_negative
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.measured_rows import distance_row
from mechgrad.model.primitives.rows import SPRING, Law
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpringDamper(Force):
    """Pulls two points together along the line between them.

        F = stiffness (d - free_length) + damping d',        d = |x_a - x_b|

    Smooth (C-infinity) while the points do not meet. A negative stiffness is allowed: springs over a dead centre have
    one.

    Attributes
    ----------
    point_a, point_b : str
        Points of the model, "body.origin" or "body.com".
    stiffness : float
        [N/m]. Path `name.stiffness`.
    damping : float
        [N s/m], not negative. Path `name.damping`.
    free_length : float
        Length without force [m], not negative. Path `name.free_length`.

    >>> SpringDamper("spring", "ground.origin", "mass.com", stiffness=100, free_length=0.2)
    SpringDamper('spring', 'ground.origin', 'mass.com', stiffness=100, free_length=0.2)
    """

    type_name: ClassVar[str] = "spring_damper"

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    stiffness: Number = field(default=0.0, metadata=scalar("force", "N/m"))
    damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    free_length: Number = field(default=0.0, metadata=scalar("force", "m"))

    def check(self) -> None:
        """Raise for negative damping or length."""
        check_not_negative(self, "damping", "free_length")

    def laws(self, where: Where) -> tuple[Law, ...]:
        row = distance_row(where, self.point_a, self.point_b, label="length")
        return (Law(SPRING, (row,), (self.stiffness, self.damping, self.free_length)),)
