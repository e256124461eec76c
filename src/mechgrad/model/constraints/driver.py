"""A coordinate that follows a function of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from mechgrad.model.attached import COORDINATE, Where
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.fields import function as function_field
from mechgrad.model.functions import constant_part
from mechgrad.model.rows import LINEAR, Row


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Driver(Constraint):
    """A coordinate is driven, whatever force that takes: rheonomic, it may do work.

        q = function(t)

    One holonomic row; smooth (C-infinity) as far as function(t) is. Accelerations contain function'': give at least a
    `Spline`, since a `Table` has jumps in its rate.

    Attributes
    ----------
    coordinate : str
        Coordinate of a hinge or slider (`model.q_names`).
    function : float or Function
        In the unit of the coordinate, of time [s]. Paths `name.function.value`, `name.function.values.0`, ...

    >>> Driver("crank motion", "crank", Harmonic(0.5, frequency=2))
    Driver('crank motion', 'crank', Harmonic(amplitude=0.5, frequency=2))
    """

    type_name: ClassVar[str] = "driver"

    coordinate: str = field(metadata=COORDINATE)
    function: Any = field(metadata=function_field("constraint", ""))

    def rows(self, where: Where) -> tuple[Row, ...]:
        constant, function = constant_part(self.function)
        return (Row(LINEAR, (), constant, coordinates=((self.coordinate, 1.0),), function=function, label="drive"),)
