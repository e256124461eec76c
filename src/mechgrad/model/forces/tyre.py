"""A tyre on a plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.contact import wheel_rows
from mechgrad.model.forces.ground_touch import Touch, ground_law, pushing, viscous
from mechgrad.model.forces.touching_force import TouchingForce, grip
from mechgrad.model.primitives.attached import POINT, VECTOR, Where
from mechgrad.model.primitives.fields import scalar, surface
from mechgrad.model.primitives.rows import ADVANCE, GROUND_TANH, TYRE, Law, Row
from mechgrad.model.surfaces import Surface
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tyre(TouchingForce):
    """A tyre on a plane: elastic upwards, driving and braking by its slip, steering by its slip angle.

        d = radius sqrt(1 - (n.w)^2) - n . (x - x_plane),    N = stiffness d^exponent (1 + damping d') + V  if both > 0
        F_along  = friction_x N tanh(s / (critical_slip U))         against s, slip of the lowest point along the track
        F_across = friction_y N tanh(r / (critical_angle U))        against r, its slip across the track
        U = sqrt(u^2 + slip_speed^2)                                 u: speed of the centre along the track

    s/U and r/U are the slip and, for small ones, the slip angle; their critical values are where the linear law of
    stiffness friction N / critical would reach the friction limit. The two directions do not share a friction circle
    (`EllipseTyre` does). On a `ground` the road is the plane that touches the surface below the hub.
    Smooth (C-infinity) in the slips, down to standstill; in the depth as `SphereContact` is. The wheel must not lie
    flat.

    Attributes
    ----------
    point : str
        Point at the hub.
    axis : str
        w: the wheel's axis, a vector on the body of `point`; normalised.
    radius : float
        Unloaded [m], positive. Path `name.radius`.
    plane_point, normal : str
        A point of the road, and a vector of the same body away from it; normalised.
    stiffness : float
        [N/m^exponent], positive.
    damping : float
        [s/m], not negative.
    exponent : float
        [1], at least 1.
    friction_x, friction_y : float
        Along and across the track [1], not negative.
    critical_slip : float
        [1], positive.
    critical_angle : float
        [rad], positive.
    slip_speed : float
        [m/s], positive: below it the tyre is a damper.
    compression_damping, restitution_damping : float
        [N s/m], not negative: D_c while it is pressed in, D_r while it comes back (Kelvin-Voigt).
    damping_depth, damping_speed : float
        [m], [m/s], positive: over which these set in with depth, and change from one to the other.
    ground : Surface, optional
        What is touched, over the plane of `plane_point` and `normal`; a plane without it.

    All numbers are parameters: `name.radius`, `name.critical_angle`, ...

    >>> Tyre("front left", "hub", "axle", 0.3, "ground.origin", "up", stiffness=2e5)
    Tyre('front left', 'hub', 'axle', radius=0.3, plane_point='ground.origin', normal='up', stiffness=200000)
    """

    type_name: ClassVar[str] = "tyre"
    positive: ClassVar[tuple[str, ...]] = ("critical_slip", "critical_angle", "slip_speed")
    not_negative: ClassVar[tuple[str, ...]] = ("friction_x", "friction_y")

    point: str = field(metadata=POINT)
    axis: str = field(metadata=VECTOR)
    radius: Number = field(metadata=scalar("force", "m"))
    plane_point: str = field(metadata=POINT)
    normal: str = field(metadata=VECTOR)
    stiffness: Number = field(metadata=scalar("force", "N/m^exponent"))
    damping: Number = field(default=0.0, metadata=scalar("force", "s/m"))
    exponent: Number = field(default=1.0, metadata=scalar("force", "1"))
    friction_x: Number = field(default=1.0, metadata=scalar("force", "1"))
    friction_y: Number = field(default=1.0, metadata=scalar("force", "1"))
    critical_slip: Number = field(default=0.1, metadata=scalar("force", "1"))
    critical_angle: Number = field(default=0.1, metadata=scalar("force", "rad"))
    slip_speed: Number = field(default=0.1, metadata=scalar("force", "m/s"))
    compression_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    restitution_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    damping_depth: Number = field(default=1e-3, metadata=scalar("force", "m"))
    damping_speed: Number = field(default=0.01, metadata=scalar("force", "m/s"))
    ground: Surface | None = field(default=None, metadata=surface("force"))

    def laws(self, where: Where) -> tuple[Law, ...]:
        normal = (self.stiffness, self.damping, self.exponent)
        if self.ground is not None:
            touch = Touch(self.point, self.plane_point, self.normal, self.axis)
            return (ground_law(GROUND_TANH, where, touch, self.ground, (*pushing(self), *grip(self))),)
        rows = wheel_rows(where, self.point, self.axis, self.plane_point, self.normal, self.radius)
        ahead = Row(ADVANCE, (where(self.point), where(self.normal), where(self.axis)), label="advance")
        return (Law(TYRE, (*rows, ahead), (*normal, *grip(self), *viscous(self))),)
