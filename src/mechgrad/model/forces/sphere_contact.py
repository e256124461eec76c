"""A sphere that may touch a plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.ground_touch import Touch, ground_law, pushing, viscous
from mechgrad.model.forces.touching_force import TouchingForce
from mechgrad.model.primitives.attached import (
    POINT,
    VECTOR,
    Where,
    across,
)
from mechgrad.model.primitives.fields import scalar, surface
from mechgrad.model.primitives.rows import CONTACT, GROUND_SPHERE, PLANE, SLIP, Law, Row
from mechgrad.model.surfaces import Surface
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SphereContact(TouchingForce):
    """A sphere pushed away by a plane, or a surface, that it touches, with friction.

        d = radius - n . (x - x_plane)                              depth
        N = stiffness d^exponent (1 + damping d') + V(d, d')        while d > 0 and N > 0, else 0
        F_slip = friction N s / sqrt(s.s + slip_speed^2)            against s, the slip at x - radius n along the plane

    At the first touch C0 for exponent 1, C1 up to 2, C2 up to 3; where a fast rebound ends the push
    (N = 0) only C0. In the slip C-infinity: the sphere creeps instead of sticking. V is Kelvin-Voigt damping
    (`mechgrad.model.forces.contact` has all of N). On a `ground` d is the radius less the distance from the closest
    point of the surface; where two points are equally close, in a hollow narrower than the sphere, the force jumps from
    one to the other.

    Attributes
    ----------
    point : str
        Centre of the sphere.
    radius, stiffness : float
        [m], [N/m^exponent], positive. Paths `name.radius`, `name.stiffness`.
    plane_point, normal : str
        A point of the plane, and a vector of the same body away from the plane; normalised.
    damping : float
        [s/m], not negative: with 1.5 (1 - e) / v a ball that arrives at speed v leaves with about e v, for e near 1.
        Path `name.damping`.
    exponent : float
        [1], at least 1; 1.5 for spheres (Hertz).
    friction, slip_speed : float
        [1], not negative; [m/s], positive: a smaller one is stiffer. Paths `name.friction`, ...
    compression_damping, restitution_damping : float
        [N s/m], not negative: D_c while it is pressed in, D_r while it comes back (Kelvin-Voigt).
    damping_depth, damping_speed : float
        [m], [m/s], positive: over which these set in with depth, and change from one to the other.
    ground : Surface, optional
        What is touched, over the plane of `plane_point` and `normal`, or about that point
        (`mg.surfaces.Superellipsoid`); a plane without it.

    >>> SphereContact("bounce", "ball.origin", 0.1, "ground.origin", "up", stiffness=1e5)
    SphereContact('bounce', 'ball.origin', radius=0.1, plane_point='ground.origin', normal='up', stiffness=100000)
    """

    type_name: ClassVar[str] = "sphere_contact"
    not_negative: ClassVar[tuple[str, ...]] = ("friction",)

    point: str = field(metadata=POINT)
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
            touch = Touch(self.point, self.plane_point, self.normal)
            numbers = (*pushing(self), *friction)
            return (ground_law(GROUND_SPHERE, where, touch, self.ground, numbers, self.radius),)
        x, n = where(self.point), where(self.normal)
        height = Row(PLANE, (n, x, where(self.plane_point)), self.radius, label="height")
        slip = (Row(SLIP, (x, n, e), radius=self.radius, label=f"slip {i}") for i, e in enumerate(across(n), start=1))
        return (Law(CONTACT, (height, *slip), (*normal, *friction, *viscous(self))),)
