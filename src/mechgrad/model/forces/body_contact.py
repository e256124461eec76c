"""Spheres and capsules of two bodies that may touch each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.errors import ValueRangeError
from mechgrad.model.forces.base import Force
from mechgrad.model.forces.contact import check_contact
from mechgrad.model.forces.ground_touch import pushing, turning_rows
from mechgrad.model.primitives.attached import (
    POINT,
    VECTOR,
    Attached,
    Where,
    check_not_negative,
    check_positive,
    check_same_body,
    places,
)
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.fields import where as named
from mechgrad.model.primitives.frames import axis_frame
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import CAPSULES, PLANE, Law, Row, vector
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BodyContact(Force):
    """Two bodies that push each other apart where they touch, with friction: spheres, or capsules where they have axes.

        d = radius + radius_b - |x_a - x_b|                          x: the closest points of the two segments
        N = stiffness d^exponent (1 + damping d') + V(d, d')        while d > 0 and N > 0, else 0
        F_slip = friction N s / sqrt(s.s + slip_speed^2)            against s, the slip in the middle of the overlap

    The segment of a capsule is centred at its point, along its axis, `length` long; its ends are round. So links of
    chains, hulls and pipes are capsules, and a sphere is one without length.

    Kinks: those of `SphereContact` in the depth, and where a closest point comes to the end of its segment: there the
    force is C0 and its derivative jumps. Capsules that are parallel within about half a degree touch in the
    middle of what faces the first one, smoothly; segments must not cross each other.

    Bodies out of reach cost one distance: no row of theirs is evaluated (the broad phase). It leaves out only what is
    exactly zero, so neither motions nor derivatives know of it.

    Attributes
    ----------
    point, point_b : str
        Centres, on two bodies.
    radius, radius_b : float
        [m], positive. Paths `name.radius`, `name.radius_b`.
    stiffness, damping, exponent, friction, slip_speed, compression_damping, restitution_damping : float
        As of `SphereContact`; so are damping_depth and damping_speed.
    axis, axis_b : str, optional
        Vectors on these bodies: what has one is a capsule.
    length, length_b : float
        Of the segments [m], not negative; without an axis there is none. Paths `name.length`, `name.length_b`.

    >>> BodyContact("links", "a.com", "b.com", 0.02, 0.02, stiffness=1e6, axis="along a", length=0.1).length
    0.1
    """

    type_name: ClassVar[str] = "body_contact"

    point: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    radius: Number = field(metadata=scalar("force", "m"))
    radius_b: Number = field(metadata=scalar("force", "m"))
    stiffness: Number = field(metadata=scalar("force", "N/m^exponent"))
    damping: Number = field(default=0.0, metadata=scalar("force", "s/m"))
    exponent: Number = field(default=1.5, metadata=scalar("force", "1"))
    friction: Number = field(default=0.0, metadata=scalar("force", "1"))
    slip_speed: Number = field(default=0.01, metadata=scalar("force", "m/s"))
    axis: str | None = field(default=None, metadata=VECTOR)
    axis_b: str | None = field(default=None, metadata=VECTOR)
    length: Number = field(default=0.0, metadata=scalar("force", "m"))
    length_b: Number = field(default=0.0, metadata=scalar("force", "m"))
    compression_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    restitution_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    damping_depth: Number = field(default=1e-3, metadata=scalar("force", "m"))
    damping_speed: Number = field(default=0.01, metadata=scalar("force", "m/s"))

    def check(self) -> None:
        """Raise unless the numbers are those of a contact that pushes and resists."""
        check_contact(self, self.exponent)
        check_positive(self, "radius_b", "slip_speed")
        check_not_negative(self, "friction", "length", "length_b")
        for axis, length in (("axis", "length"), ("axis_b", "length_b")):
            if getattr(self, axis) is None and getattr(self, length).real > 0.0:
                raise ValueRangeError(
                    f"{named(self)}: {length} = {getattr(self, length)} needs a direction. Give {axis}, a vector on "
                    "that body, or leave the length out for a sphere."
                )

    def check_model(self, model: NamedParts) -> None:
        """Raise unless all markers are known, and each axis is on the body of its point."""
        Attached.check_model(self, model)
        for point, axis in (("point", "axis"), ("point_b", "axis_b")):
            if getattr(self, axis) is not None:
                check_same_body(model, self, (point, axis))
        where = places(model)
        if where(self.point).body == where(self.point_b).body:
            raise ValueRangeError(
                f"{named(self)}: both points are on {where(self.point).body!r}, which does not move beside itself. "
                "Name points of two bodies."
            )

    def laws(self, where: Where) -> tuple[Law, ...]:
        a, b = where(self.point), where(self.point_b)
        halves = (0.0 if self.axis is None else 0.5 * self.length, 0.0 if self.axis_b is None else 0.5 * self.length_b)
        up = vector(b.body, (0.0, 0.0, 1.0)) if self.axis_b is None else where(self.axis_b)
        frame = axis_frame(up.local)
        e = (vector(b.body, frame[:, 0]), vector(b.body, frame[:, 1]), up)
        turning = turning_rows(a, e, None if self.axis is None else where(self.axis))
        reach = self.radius + self.radius_b + halves[0] + halves[1]
        first = Row(PLANE, (e[0], a, b), radius=reach, label="position x", guards=3 + len(turning))
        rest = (Row(PLANE, (e[i], a, b), label=f"position {'xyz'[i]}") for i in (1, 2))
        numbers = (*pushing(self), self.friction, self.slip_speed, self.radius_b, *halves)
        return (Law(CAPSULES, (first, *rest, *turning), numbers),)
