"""A spring and a damper with given characteristics between two points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import POINT, Where, check_not_negative
from mechgrad.model.primitives.fields import function, scalar
from mechgrad.model.primitives.measured_rows import distance_row
from mechgrad.model.primitives.rows import CURVE, Law
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SpringCurve(Force):
    """Pulls two points together with forces read from curves.

        F = curve(d - free_length) + damper(d'),        d = |x_a - x_b|

    As smooth as the curves are (a `Spline` is C2, a `Table` C0) while the points do not meet.

    Attributes
    ----------
    point_a, point_b : str
        Points of the model, "body.origin" or "body.com".
    curve : float or Function
        Force [N] over elongation [m]. Paths `name.curve.values.0`, ...
    damper : float, Function or None
        Force [N] over rate [m/s]; None is no damper. Paths `name.damper.values.0`, ...
    free_length : float
        Length of no elongation [m], not negative. Path `name.free_length`.

    >>> SpringCurve("bumper", "ground.origin", "cart.com", mg.functions.Polynomial((0, 100, 0, 5000)), free_length=0.2)
    SpringCurve('bumper', 'ground.origin', 'cart.com', Polynomial(coefficients=(0, 100, 0, 5000)), free_length=0.2)
    """

    type_name: ClassVar[str] = "spring_curve"

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    curve: Any = field(metadata=function("force", "N", "m"))
    damper: Any = field(default=None, metadata=function("force", "N", "m/s"))
    free_length: Number = field(default=0.0, metadata=scalar("force", "m"))

    def check(self) -> None:
        """Raise for a negative length."""
        check_not_negative(self, "free_length")

    def laws(self, where: Where) -> tuple[Law, ...]:
        row = distance_row(where, self.point_a, self.point_b, label="length")
        return (Law(CURVE, (row,), (self.free_length,), (self.curve, self.damper)),)
