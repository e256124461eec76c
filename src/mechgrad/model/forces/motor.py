"""A torque or force over time on one coordinate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import QUANTITY, Where
from mechgrad.model.primitives.fields import function
from mechgrad.model.primitives.measured_rows import measured_row
from mechgrad.model.primitives.rows import MOTOR, Law, RowMeasure


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Motor(Force):
    """Drives a hinge or a slider with a given torque, whatever motion follows.

        tau = torque(t)

    Positive torque speeds the coordinate up: on a distance it is a force that pushes the points apart. As smooth as
    torque(t) is.

    Attributes
    ----------
    coordinate : str or measure
        Coordinate of a hinge or slider (`model.q_names`), also of a joint that closes a loop; a world component of a
        point or a vector, "P.x"; or a measure that is one row: mg.measures.Distance, Angle, Height, Offset.
    torque : float or Function
        [N m], of a slider [N], of time [s]. Paths `name.torque.value`, `name.torque.values.0`, ...

    >>> Motor("drive", "crank", 5)
    Motor('drive', 'crank', Constant(value=5))
    """

    type_name: ClassVar[str] = "motor"

    coordinate: str | RowMeasure = field(metadata=QUANTITY)
    torque: Any = field(metadata=function("force", "N m"))

    def laws(self, where: Where) -> tuple[Law, ...]:
        row = measured_row(where, self.coordinate)
        return (Law(MOTOR, (row,), functions=(self.torque,)),)
