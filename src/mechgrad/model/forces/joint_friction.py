"""Dry and viscous friction on one coordinate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import QUANTITY, Where, check_not_negative, check_positive
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.measured_rows import measured_row
from mechgrad.model.primitives.rows import FRICTION, Law, RowMeasure
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointFriction(Force):
    """Resists the motion of a hinge or slider.

        tau = -coulomb tanh(q' / speed) - viscous q'

    Smooth (C-infinity): the jump of dry friction is spread over |q'| of some `speed`, below which the joint creeps
    instead of sticking. A smaller speed is stiffer.

    Attributes
    ----------
    coordinate : str or measure
        Coordinate of a hinge or slider (`model.q_names`), also of a joint that closes a loop; a world component of a
        point or a vector, "P.x"; or a measure that is one row: mg.measures.Distance, Angle, Height, Offset.
    coulomb : float
        [N m], of a slider [N]; not negative. Path `name.coulomb`.
    viscous : float
        [N m s/rad], of a slider [N s/m]; not negative. Path `name.viscous`.
    speed : float
        [rad/s], of a slider [m/s]; positive. Path `name.speed`.

    >>> JointFriction("bearing", "crank", coulomb=0.3, viscous=0.01)
    JointFriction('bearing', 'crank', coulomb=0.3, viscous=0.01)
    """

    type_name: ClassVar[str] = "joint_friction"

    coordinate: str | RowMeasure = field(metadata=QUANTITY)
    coulomb: Number = field(default=0.0, metadata=scalar("force", "N m"))
    viscous: Number = field(default=0.0, metadata=scalar("force", "N m s/rad"))
    speed: Number = field(default=0.01, metadata=scalar("force", "rad/s"))

    def check(self) -> None:
        """Raise for friction that would drive, and for a speed that is not positive."""
        check_not_negative(self, "coulomb", "viscous")
        check_positive(self, "speed")

    def laws(self, where: Where) -> tuple[Law, ...]:
        row = measured_row(where, self.coordinate)
        return (Law(FRICTION, (row,), (self.coulomb, self.viscous, self.speed)),)
