"""A linear spring with a damper on one coordinate."""

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
class TorsionSpring(Force):
    """Turns a hinge, or pushes a slider, back to where it is free.

        tau = -stiffness (q - free_angle) - damping q'

    Smooth (C-infinity); on an angle between bodies q - free_angle is in (-pi, pi], with a jump half a turn away. A
    negative stiffness is allowed. `JointSpring` is the same with names that suit sliders too.

    Attributes
    ----------
    coordinate : str or measure
        Coordinate of a hinge or slider (`model.q_names`), also of a joint that closes a loop; a world component of a
        point or a vector, "P.x"; or a measure that is one row: mg.measures.Distance, Angle, Height, Offset.
    stiffness : float
        [N m/rad]; of a slider [N/m]. Path `name.stiffness`.
    damping : float
        [N m s/rad], not negative; of a slider [N s/m]. Path `name.damping`.
    free_angle : float
        Coordinate without force [rad]; of a slider [m]. Path `name.free_angle`.

    >>> TorsionSpring("return spring", "door", stiffness=2, free_angle=0.1)
    TorsionSpring('return spring', 'door', stiffness=2, free_angle=0.1)
    """

    type_name: ClassVar[str] = "torsion_spring"

    coordinate: str | RowMeasure = field(metadata=QUANTITY)
    stiffness: Number = field(default=0.0, metadata=scalar("force", "N m/rad"))
    damping: Number = field(default=0.0, metadata=scalar("force", "N m s/rad"))
    free_angle: Number = field(default=0.0, metadata=scalar("force", "rad"))

    def check(self) -> None:
        """Raise for negative damping."""
        check_not_negative(self, "damping")

    def laws(self, where: Where) -> tuple[Law, ...]:
        row = measured_row(where, self.coordinate, constant=self.free_angle)
        return (Law(SPRING, (row,), (self.stiffness, self.damping, 0.0)),)
