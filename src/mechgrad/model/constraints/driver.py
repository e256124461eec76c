"""A coordinate, a distance or an angle that follows a function of time."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, final

from mechgrad.errors import ValueRangeError
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.functions import Polynomial, constant_part
from mechgrad.model.primitives.attached import QUANTITY, Where
from mechgrad.model.primitives.fields import function as function_field
from mechgrad.model.primitives.measured_rows import measured_row
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Driver(Constraint):
    """A coordinate, or any other row, is driven, whatever force that takes: rheonomic, it may do work.

        g = function(t)        or        g = start + speed t        g = q, a distance, an angle, ...

    One holonomic row; smooth (C-infinity) as far as function(t) is. Accelerations contain function'': give at least a
    `Spline`, since a `Table` has jumps in its rate.

    Attributes
    ----------
    coordinate : str or measure
        Coordinate of a hinge or slider (`model.q_names`), also of a joint that closes a loop; a world component of a
        point or a vector, "P.x"; or mg.measures.Distance, Angle, Height, Offset: a hydraulic cylinder is a driven
        distance. An angle, and that of a cut hinge, follows its function modulo full turns.
    function : float or Function
        In the unit of the coordinate, of time [s]; a number holds the coordinate there. Paths `name.function.value`,
        `name.function.values.0`, ...
    speed, start : float, instead of a function
        Constant rate [rad/s or m/s], and the coordinate at t = 0 [rad or m]: the function Polynomial((start, speed)),
        with paths `name.function.coefficients.0` (start) and `.1` (speed).

    >>> Driver("motor", "crank", speed=10.0)
    Driver('motor', 'crank', function=Polynomial(coefficients=(0, 10)))
    >>> Driver("crank motion", "crank", mg.functions.Harmonic(0.5, frequency=2))
    Driver('crank motion', 'crank', function=Harmonic(amplitude=0.5, frequency=2))
    >>> Driver("cylinder", mg.measures.Distance("foot", "eye"), speed=0.1, start=0.8)
    Driver('cylinder', Distance(point_a='foot', point_b='eye'), function=Polynomial(coefficients=(0.8, 0.1)))
    """

    type_name: ClassVar[str] = "driver"

    coordinate: Any = field(metadata=QUANTITY)
    function: Any = field(default=None, metadata=function_field("constraint", ""))
    speed: InitVar[Number | None] = None
    start: InitVar[Number | None] = None

    def __post_init__(self, speed: Number | None, start: Number | None) -> None:
        if self.function is None and speed is None:
            raise ValueRangeError(
                f"constraint {self.name!r}: nothing says how {self.coordinate!r} moves. Give a function of time, a "
                "number to hold it there, or speed=..."
            )
        if self.function is not None and (speed is not None or start is not None):
            raise ValueRangeError(
                f"constraint {self.name!r}: a function and {'speed' if speed is not None else 'start'} are given; the "
                "function says everything. Leave one of them out."
            )
        if speed is not None:
            object.__setattr__(self, "function", Polynomial((0.0 if start is None else start, speed)))
        Constraint.__post_init__(self)

    def rows(self, where: Where) -> tuple[Row, ...]:
        constant, function = constant_part(self.function)
        return (measured_row(where, self.coordinate, constant=constant, function=function, label="drive"),)
