"""A wheel with a sharp edge that may touch a plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.contact import wheel_rows
from mechgrad.model.forces.ground_touch import Touch, ground_law, pushing, viscous
from mechgrad.model.forces.touching_force import TouchingForce
from mechgrad.model.primitives.attached import POINT, VECTOR, Where
from mechgrad.model.primitives.fields import scalar, surface
from mechgrad.model.primitives.rows import CONTACT, GROUND_WHEEL, Law
from mechgrad.model.surfaces import Surface
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WheelContact(TouchingForce):
    """A circle (wheel, disc, rim) pushed away by a plane that its lowest point touches, with friction.

        d = radius sqrt(1 - (n.w)^2) - n . (x - x_plane)            depth
        N = stiffness d^exponent (1 + damping d') + V(d, d')        while d > 0 and N > 0, else 0
        F_slip = friction N s / sqrt(s.s + slip_speed^2)            against s, the slip of the lowest point

    Smooth as `SphereContact` is. The wheel must not lie flat (w along n): there the lowest point is not one.

    On a `ground` the lowest point is that of the rim with the least height over the surface, within 69 degrees of the
    bottom, d its depth along the normal there. Where two points of the rim are equally low (a wheel at the foot of a
    step) the force jumps from one to the other.

    Attributes
    ----------
    point : str
        Centre of the wheel.
    axis : str
        w: its axis, a vector on the body of `point`; normalised.
    radius : float
        [m], positive. Path `name.radius`.
    plane_point, normal : str
        A point of the plane, and a vector of the same body away from the plane; normalised.
    stiffness, damping, exponent, friction, slip_speed : float
        As of `SphereContact`: [N/m^exponent], [s/m], [1], [1], [m/s].
    compression_damping, restitution_damping : float
        [N s/m], not negative: D_c while it is pressed in, D_r while it comes back (Kelvin-Voigt).
    damping_depth, damping_speed : float
        [m], [m/s], positive: over which these set in with depth, and change from one to the other.
    ground : Surface, optional
        What is touched, over the plane of `plane_point` and `normal`; a plane without it.

    >>> WheelContact("rim", "hub", "axle", 0.3, "ground.origin", "up", stiffness=1e5)
    WheelContact('rim', 'hub', 'axle', radius=0.3, plane_point='ground.origin', normal='up', stiffness=100000)
    """

    type_name: ClassVar[str] = "wheel_contact"
    not_negative: ClassVar[tuple[str, ...]] = ("friction",)

    point: str = field(metadata=POINT)
    axis: str = field(metadata=VECTOR)
    radius: Number = field(metadata=scalar("force", "m"))
    plane_point: str = field(metadata=POINT)
    normal: str = field(metadata=VECTOR)
    stiffness: Number = field(metadata=scalar("force", "N/m^exponent"))
    damping: Number = field(default=0.0, metadata=scalar("force", "s/m"))
    exponent: Number = field(default=1.5, metadata=scalar("force", "1"))
    friction: Number = field(default=0.0, metadata=scalar("force", "1"))
    slip_speed: Number = field(default=0.01, metadata=scalar("force", "m/s"))
    compression_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    restitution_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    damping_depth: Number = field(default=1e-3, metadata=scalar("force", "m"))
    damping_speed: Number = field(default=0.01, metadata=scalar("force", "m/s"))
    ground: Surface | None = field(default=None, metadata=surface("force"))

    def laws(self, where: Where) -> tuple[Law, ...]:
        normal, friction = (self.stiffness, self.damping, self.exponent), (self.friction, self.slip_speed)
        if self.ground is not None:
            touch = Touch(self.point, self.plane_point, self.normal, self.axis)
            return (ground_law(GROUND_WHEEL, where, touch, self.ground, (*pushing(self), *friction)),)
        rows = wheel_rows(where, self.point, self.axis, self.plane_point, self.normal, self.radius)
        return (Law(CONTACT, rows, (*normal, *friction, *viscous(self))),)
