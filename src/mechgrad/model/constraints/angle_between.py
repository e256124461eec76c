"""A signed angle between two directions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from mechgrad.model.constraints.base import Constraint
from mechgrad.model.functions import ZERO, constant_part
from mechgrad.model.primitives.attached import VECTOR, Attached, Where, check_same_body
from mechgrad.model.primitives.fields import function
from mechgrad.model.primitives.measured_rows import angle_row
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import Row


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AngleBetween(Constraint):
    """The angle from one direction to another about an axis is given, constant or as a function of time.

        atan2(w . (u_a x u_b), u_a . u_b) = angle(t)        modulo a full turn

    which is the angle, right-handed about w, while u_a and u_b are perpendicular to w. One holonomic row; smooth
    (C-infinity) as far as angle(t) is.

    Attributes
    ----------
    vector_a, vector_b : str
        Vectors of the model; of any length, normalised.
    axis : str
        w: a vector on the body of vector_a; normalised.
    angle : float or Function
        [rad], of time [s]. Paths `name.angle.value`, `name.angle.values.0`, ...

    >>> turn = mg.functions.Polynomial((0, 10))
    >>> AngleBetween("crank angle", "x of frame", "arm of crank", axis="z of frame", angle=turn)
    AngleBetween('crank angle', 'x of frame', 'arm of crank', 'z of frame', angle=Polynomial(coefficients=(0, 10)))
    """

    type_name: ClassVar[str] = "angle_between"

    vector_a: str = field(metadata=VECTOR)
    vector_b: str = field(metadata=VECTOR)
    axis: str = field(metadata=VECTOR)
    angle: Any = field(default=ZERO, metadata=function("constraint", "rad"))

    def check_model(self, model: NamedParts) -> None:
        """Raise unless all vectors are known, and the axis sits on the body of vector_a."""
        Attached.check_model(self, model)
        check_same_body(model, self, ("vector_a", "axis"))

    def rows(self, where: Where) -> tuple[Row, ...]:
        constant, angle = constant_part(self.angle)
        return (angle_row(where, self.vector_a, self.vector_b, self.axis, constant=constant, function=angle),)
