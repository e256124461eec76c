"""A tyre whose grip along and across the track share one ellipse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.ground_touch import Touch, ground_law, pushing
from mechgrad.model.forces.touching_force import TouchingForce, grip
from mechgrad.model.primitives.attached import POINT, VECTOR, Where
from mechgrad.model.primitives.fields import scalar, surface
from mechgrad.model.primitives.rows import GROUND_TYRE, Law
from mechgrad.model.surfaces import Plane, Surface
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EllipseTyre(TouchingForce):
    """A tyre with stiffness and two dampings upwards, and grip within the friction ellipse along the ground.

        N = stiffness d^exponent + V(d, d'),   d = radius sqrt(1 - (n.w)^2) - n . (x - x_ground)     while both > 0
        a = s / (critical_slip U),   b = r / (critical_angle U),   rho = sqrt(a^2 + b^2),   U = sqrt(u^2 + slip_speed^2)
        F_along = -friction_x N (a / rho) tanh(rho),     F_across = -friction_y N (b / rho) tanh(rho)

    s and r are the slips of the lowest point along and across the track, u the speed of the centre along it: s/U is the
    slip, r/U the tangent of the slip angle. For small slips the forces are linear, N friction_x s / (critical_slip U);
    large ones end on the ellipse (F_along / friction_x N)^2 + (F_across / friction_y N)^2 = 1, never beyond it. The
    ground is the plane that touches the surface below the hub, n its normal.

    Smooth (C-infinity) in the slips, down to standstill: below `slip_speed` the tyre is a damper of
    friction N / (critical slip_speed) [N s/m], and a parked car creeps. In the depth as `SphereContact` is; a tyre in
    the air has no force at all, and no derivative. The wheel must not lie flat.

    Attributes
    ----------
    point : str
        Point at the hub.
    axis : str
        w: the wheel's axis, a vector on the body of `point`; normalised.
    radius : float
        Unloaded [m], positive: also what turns spin into speed.
    plane_point, normal : str
        A point of the road, and a vector of the same body away from it; normalised.
    stiffness : float
        K [N/m^exponent], positive.
    compression_damping, restitution_damping : float
        D_c, D_r [N s/m], not negative: while it is pressed in, and while it comes back.
    critical_slip, critical_angle, friction_x, friction_y : float
        kappa_c [1], alpha_c [rad], positive; mu_x, mu_y [1], not negative.
    slip_speed : float
        [m/s], positive.
    exponent, damping : float
        [1], at least 1; [s/m], not negative: a loss in proportion to the elastic force, as of `SphereContact`.
    damping_depth, damping_speed : float
        [m], [m/s], positive: over which the dampings set in with depth, and change from one to the other.
    ground : Surface
        The road over the plane of `plane_point` and `normal`.

    All numbers are parameters: `name.radius`, `name.critical_angle`, `name.ground.height`, ...

    >>> tyre = EllipseTyre("left", "hub", "axle", 0.3, "ground.origin", "up", 6e4, 100.0, 100.0, 0.8, 0.2, 0.7, 0.7)
    >>> tyre.critical_slip, tyre.friction_x
    (0.8, 0.7)
    """

    type_name: ClassVar[str] = "ellipse_tyre"
    positive: ClassVar[tuple[str, ...]] = ("critical_slip", "critical_angle", "slip_speed")
    not_negative: ClassVar[tuple[str, ...]] = ("friction_x", "friction_y")

    point: str = field(metadata=POINT)
    axis: str = field(metadata=VECTOR)
    radius: Number = field(metadata=scalar("force", "m"))
    plane_point: str = field(metadata=POINT)
    normal: str = field(metadata=VECTOR)
    stiffness: Number = field(metadata=scalar("force", "N/m^exponent"))
    compression_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    restitution_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    critical_slip: Number = field(default=0.1, metadata=scalar("force", "1"))
    critical_angle: Number = field(default=0.1, metadata=scalar("force", "rad"))
    friction_x: Number = field(default=1.0, metadata=scalar("force", "1"))
    friction_y: Number = field(default=1.0, metadata=scalar("force", "1"))
    slip_speed: Number = field(default=0.1, metadata=scalar("force", "m/s"))
    exponent: Number = field(default=1.0, metadata=scalar("force", "1"))
    damping: Number = field(default=0.0, metadata=scalar("force", "s/m"))
    damping_depth: Number = field(default=1e-3, metadata=scalar("force", "m"))
    damping_speed: Number = field(default=0.01, metadata=scalar("force", "m/s"))
    ground: Surface = field(default=Plane(), metadata=surface("force"))

    def laws(self, where: Where) -> tuple[Law, ...]:
        touch = Touch(self.point, self.plane_point, self.normal, self.axis)
        return (ground_law(GROUND_TYRE, where, touch, self.ground, (*pushing(self), *grip(self))),)
