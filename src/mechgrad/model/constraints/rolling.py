"""Rolling on a plane without slipping."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.errors import ValueRangeError, unknown_name
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.primitives.attached import POINT, VECTOR, Attached, Where, across, check_positive, check_same_body
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import CIRCLE, PLANE, ROLL_ACROSS, ROLL_ALONG, SLIP, Row
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rolling(Constraint):
    """A sphere or a wheel rolls on a plane without slipping: the point of contact has no velocity along the plane.

        e1 . (V_A(c) - V_B(c)) = 0,    e2 . (V_A(c) - V_B(c)) = 0        e1, e2 in the plane
        sphere:  c = x - radius n;      wheel:  c = x - radius (n - (n.w) w) / |n - (n.w) w|

    A is the rolling body, B the plane's. Two rows at velocity level, not holonomic; for a wheel e1 is along its track
    and e2 across. With `contact=True` one holonomic row more keeps it on the plane: n . (x - x_plane) = radius for the
    sphere, n . (x - x_plane) = radius sqrt(1 - (n.w)^2) for the wheel. Smooth (C-infinity); a wheel must not lie flat.

    Attributes
    ----------
    point : str
        Centre of the sphere or wheel.
    radius : float
        [m], positive. Path `name.radius`.
    normal : str
        n: a vector on the plane's body, away from the plane; normalised.
    kind : str
        "sphere" or "wheel" (a circle with a sharp edge).
    axis : str
        w: the wheel's axis, a vector on the body of `point`; normalised. Needed for a wheel, not for a sphere.
    contact : bool
        Whether to add the holonomic row. It needs `plane_point`.
    plane_point : str
        A point of the plane, on the body of `normal`.

    >>> Rolling("ball on floor", "ball.origin", 0.1, "up", contact=True, plane_point="ground.origin")
    Rolling('ball on floor', 'ball.origin', radius=0.1, normal='up', contact=True, plane_point='ground.origin')
    """

    type_name: ClassVar[str] = "rolling"

    point: str = field(metadata=POINT)
    radius: Number = field(metadata=scalar("constraint", "m"))
    normal: str = field(metadata=VECTOR)
    kind: str = "sphere"
    axis: str | None = field(default=None, metadata=VECTOR)
    contact: bool = False
    plane_point: str | None = field(default=None, metadata=POINT)

    def check(self) -> None:
        """Raise unless radius, kind, axis and plane fit together."""
        check_positive(self, "radius")
        if self.kind not in ("sphere", "wheel"):
            raise unknown_name("kind", self.kind, ("sphere", "wheel"), f"constraint {self.name!r}")
        if (self.axis is None) != (self.kind == "sphere"):
            advice = "Name the wheel's axis." if self.axis is None else "Leave the axis out, or say kind='wheel'."
            raise ValueRangeError(f"constraint {self.name!r}: a {self.kind} with axis = {self.axis!r}. {advice}")
        if self.contact and self.plane_point is None:
            raise ValueRangeError(
                f"constraint {self.name!r}: contact=True needs to know where the plane is. Name a plane_point."
            )

    def check_model(self, model: NamedParts) -> None:
        """Raise unless all markers are known, and plane and wheel belong to one body each."""
        Attached.check_model(self, model)
        if self.plane_point is not None:
            check_same_body(model, self, ("plane_point", "normal"))
        if self.axis is not None:
            check_same_body(model, self, ("point", "axis"))

    def rows(self, where: Where) -> tuple[Row, ...]:
        x, n = where(self.point), where(self.normal)
        touching: tuple[Row, ...] = ()
        if self.axis is None:
            if self.contact and self.plane_point is not None:
                touching = (Row(PLANE, (n, x, where(self.plane_point)), self.radius, label="contact"),)
            slip = (
                Row(SLIP, (x, n, e), radius=self.radius, label=f"slip {i}") for i, e in enumerate(across(n), start=1)
            )
            return (*touching, *slip)
        w = where(self.axis)
        if self.contact and self.plane_point is not None:
            touching = (Row(CIRCLE, (x, where(self.plane_point), n, w), radius=self.radius, label="contact"),)
        along = Row(ROLL_ALONG, (x, n, w), radius=self.radius, label="slip along")
        return (*touching, along, Row(ROLL_ACROSS, (x, n, w), radius=self.radius, label="slip across"))
