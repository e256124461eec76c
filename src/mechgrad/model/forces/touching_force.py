"""What spheres, rims and tyres on a surface check alike."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar

from mechgrad.model.forces.base import Force
from mechgrad.model.forces.contact import check_contact
from mechgrad.model.forces.ground_touch import check_touch
from mechgrad.model.primitives.attached import Attached, check_not_negative, check_positive
from mechgrad.model.primitives.named_parts import NamedParts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TouchingForce(Force, ABC):
    """A force of something with a radius on the surface over a plane.

    positive, not_negative : numbers of its own, beside those of the normal force
    """

    positive: ClassVar[tuple[str, ...]] = ("slip_speed",)
    not_negative: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Raise unless the numbers are those of something that pushes and resists."""
        force: Any = self
        check_contact(self, force.exponent)
        check_not_negative(self, *self.not_negative)
        check_positive(self, *self.positive)

    def check_model(self, model: NamedParts) -> None:
        """Raise unless all markers are known, and ground and wheel belong to one body each."""
        Attached.check_model(self, model)
        check_touch(self, model)


def grip(force: Any) -> tuple[Any, ...]:
    """The numbers of tyres whose grip ends at critical slips."""
    return force.friction_x, force.friction_y, force.critical_slip, force.critical_angle, force.slip_speed
