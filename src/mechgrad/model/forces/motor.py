"""A torque or force over time on one coordinate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import COORDINATE, Where
from mechgrad.model.primitives.fields import function
from mechgrad.model.primitives.measured_rows import coordinate_row
from mechgrad.model.primitives.rows import MOTOR, Law


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Motor(Force):
    """Drives a hinge or a slider with a given torque, whatever motion follows.

        tau = torque(t)

    Positive torque speeds the coordinate up. As smooth as torque(t) is.

    Attributes
    ----------
    coordinate : str
        Coordinate of a hinge or slider (`model.q_names`).
    torque : float or Function
        [N m], of a slider [N], of time [s]. Paths `name.torque.value`, `name.torque.values.0`, ...

    >>> Motor("drive", "crank", 5)
    Motor('drive', 'crank', Constant(value=5))
    """

    type_name: ClassVar[str] = "motor"

    coordinate: str = field(metadata=COORDINATE)
    torque: Any = field(metadata=function("force", "N m"))

    def laws(self, where: Where) -> tuple[Law, ...]:
        row = coordinate_row(self.coordinate)
        return (Law(MOTOR, (row,), functions=(self.torque,)),)
