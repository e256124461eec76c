"""A linear spring with a damper in a joint: on the coordinate of a hinge or a slider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import QUANTITY, Where, check_not_negative
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.measured_rows import measured_row
from mechgrad.model.primitives.rows import SPRING, Law, RowMeasure
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointSpring(Force):
    """Pushes a slider, or turns a hinge, back to where it is free.

        Q = -stiffness (q - free_position) - damping q'

    Q is a force [N] on a slider, a torque [N m] on a hinge. Smooth (C-infinity); on an angle between bodies
    q - free_position is in (-pi, pi], with a jump half a turn away. A negative stiffness is allowed. Between two points
    anywhere: `SpringDamper`; in all directions: `Bushing`.

    Attributes
    ----------
    coordinate : str or measure
        Coordinate of a hinge or slider (`model.q_names`), also of a joint that closes a loop; a world component of a
        point or a vector, "P.x"; or a measure that is one row: mg.measures.Distance, Angle, Height, Offset.
    stiffness : float
        Of a slider [N/m], of a hinge [N m/rad]. Path `name.stiffness`.
    damping : float
        Of a slider [N s/m], of a hinge [N m s/rad]; not negative. Path `name.damping`.
    free_position : float
        Coordinate without force: of a slider [m], of a hinge [rad]. Path `name.free_position`.

    >>> JointSpring("suspension", "travel", stiffness=2e4, damping=1500, free_position=0.1)
    JointSpring('suspension', 'travel', stiffness=20000, damping=1500, free_position=0.1)
    """

    type_name: ClassVar[str] = "joint_spring"

    coordinate: str | RowMeasure = field(metadata=QUANTITY)
    stiffness: Number = field(default=0.0, metadata=scalar("force", "N/m or N m/rad"))
    damping: Number = field(default=0.0, metadata=scalar("force", "N s/m or N m s/rad"))
    free_position: Number = field(default=0.0, metadata=scalar("force", "m or rad"))

    def check(self) -> None:
        """Raise for negative damping."""
        check_not_negative(self, "damping")

    def laws(self, where: Where) -> tuple[Law, ...]:
        row = measured_row(where, self.coordinate, constant=self.free_position)
        return (Law(SPRING, (row,), (self.stiffness, self.damping, 0.0)),)
