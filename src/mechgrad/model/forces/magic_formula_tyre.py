"""A tyre with Pacejka's magic formula, in steady state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.errors import ValueRangeError
from mechgrad.model.forces.ground_touch import Touch, ground_law, pushing
from mechgrad.model.forces.touching_force import TouchingForce
from mechgrad.model.primitives.attached import POINT, VECTOR, Where
from mechgrad.model.primitives.fields import brief, scalar, surface
from mechgrad.model.primitives.fields import where as named
from mechgrad.model.primitives.rows import GROUND_MAGIC, Law
from mechgrad.model.surfaces import Plane, Surface
from mechgrad.typing import Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MagicFormulaTyre(TouchingForce):
    """A tyre with Pacejka's magic formula: steady state, without relaxation; combined slip by similarity.

        P(rho; C, E) = sin(C atan(B rho - E (B rho - atan(B rho)))),   B = 1 / C:   slope 1 at zero, peak 1 (for C >= 1)
        m_x = friction_x g, m_y = friction_y g,     g = exp(load_sensitivity (1 - N / nominal_load))
        K_y = cornering_stiffness / (1 + stiffness_load_sensitivity (N / nominal_load)^2)
        a = slip_stiffness s / (m_x U),   b = (K_y r / U + camber_stiffness (n.w) (u / U)^2) / m_y
        rho = sqrt(a^2 + b^2)
        F_along = -m_x N (a / rho) P(rho; C_x, E_x),     F_across = -m_y N (b / rho) P(rho; C_y, E_y)
        M_n = -trail (u / U) F_across / (1 + rho^2)

    s, r, u, U, N and the ground are those of `EllipseTyre`. Pure slips give Pacejka's formula, with the peaks m N and
    the slopes slip_stiffness N and K_y N; both together the same curves of the resulting slip, in its direction
    (similarity), within the friction ellipse. A wheel that leans (n.w) is pushed to the side that its top leans to; the
    aligning moment M_n turns it into the direction of motion. Below `slip_speed` all of these fade out.

    Smooth (C-infinity) in slips and load; in the depth as `SphereContact` is. In the air there is no force.

    Attributes
    ----------
    point, axis, radius, plane_point, normal, stiffness : str, float
        As of `EllipseTyre`; so are compression_damping, restitution_damping, exponent, damping, damping_depth,
        damping_speed and ground.
    friction_x, friction_y : float
        Peaks over load at the nominal load [1], positive.
    slip_stiffness, cornering_stiffness : float
        Slopes over load: by slip [1], by the tangent of the slip angle [1]; positive.
    shape_x, shape_y : float
        C [1], between 1 and 2.
    curvature_x, curvature_y : float
        E [1], at most 1; a negative one rounds the peak off.
    camber_stiffness : float
        Slope over load by the lean [1/rad], not negative.
    trail : float
        Pneumatic trail without slip [m], not negative.
    nominal_load : float
        [N], positive.
    load_sensitivity, stiffness_load_sensitivity : float
        [1], not negative: how fast grip and cornering stiffness per load fall.
    slip_speed : float
        [m/s], positive.

    >>> MagicFormulaTyre("front", "hub", "axle", 0.3, "ground.origin", "up", 2e5, nominal_load=4000.0).shape_x
    1.65
    """

    type_name: ClassVar[str] = "magic_formula_tyre"
    positive: ClassVar[tuple[str, ...]] = (
        "friction_x", "friction_y", "slip_stiffness", "cornering_stiffness", "nominal_load", "slip_speed",
    )  # fmt: skip
    not_negative: ClassVar[tuple[str, ...]] = (
        "camber_stiffness", "trail", "load_sensitivity", "stiffness_load_sensitivity",
    )  # fmt: skip

    point: str = field(metadata=POINT)
    axis: str = field(metadata=VECTOR)
    radius: Number = field(metadata=scalar("force", "m"))
    plane_point: str = field(metadata=POINT)
    normal: str = field(metadata=VECTOR)
    stiffness: Number = field(metadata=scalar("force", "N/m^exponent"))
    nominal_load: Number = field(metadata=scalar("force", "N"))
    compression_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    restitution_damping: Number = field(default=0.0, metadata=scalar("force", "N s/m"))
    friction_x: Number = field(default=1.0, metadata=scalar("force", "1"))
    friction_y: Number = field(default=1.0, metadata=scalar("force", "1"))
    slip_stiffness: Number = field(default=20.0, metadata=scalar("force", "1"))
    cornering_stiffness: Number = field(default=15.0, metadata=scalar("force", "1"))
    shape_x: Number = field(default=1.65, metadata=scalar("force", "1"))
    shape_y: Number = field(default=1.3, metadata=scalar("force", "1"))
    curvature_x: Number = field(default=-0.5, metadata=scalar("force", "1"))
    curvature_y: Number = field(default=-1.0, metadata=scalar("force", "1"))
    camber_stiffness: Number = field(default=0.0, metadata=scalar("force", "1/rad"))
    trail: Number = field(default=0.0, metadata=scalar("force", "m"))
    load_sensitivity: Number = field(default=0.0, metadata=scalar("force", "1"))
    stiffness_load_sensitivity: Number = field(default=0.0, metadata=scalar("force", "1"))
    slip_speed: Number = field(default=0.1, metadata=scalar("force", "m/s"))
    exponent: Number = field(default=1.0, metadata=scalar("force", "1"))
    damping: Number = field(default=0.0, metadata=scalar("force", "s/m"))
    damping_depth: Number = field(default=1e-3, metadata=scalar("force", "m"))
    damping_speed: Number = field(default=0.01, metadata=scalar("force", "m/s"))
    ground: Surface = field(default=Plane(), metadata=surface("force"))

    def check(self) -> None:
        """Raise unless the numbers are those of a tyre that pushes and resists."""
        TouchingForce.check(self)
        for name in ("shape_x", "shape_y"):
            shape: Number = getattr(self, name)
            if not 1.0 <= shape.real <= 2.0:
                raise ValueRangeError(
                    f"{named(self)}: {name} = {brief(shape)} must be between 1 and 2: below, the curve has no peak; "
                    "above, a sliding wheel would be pushed on."
                )
        for name in ("curvature_x", "curvature_y"):
            curvature: Number = getattr(self, name)
            if not curvature.real <= 1.0:
                raise ValueRangeError(
                    f"{named(self)}: {name} = {brief(curvature)} must be at most 1; beyond, grip turns around at large "
                    "slips."
                )

    def laws(self, where: Where) -> tuple[Law, ...]:
        curves = (
            self.friction_x, self.friction_y, self.slip_stiffness, self.cornering_stiffness, self.shape_x, self.shape_y,
            self.curvature_x, self.curvature_y,
        )  # fmt: skip
        rest = (
            self.camber_stiffness, self.trail, self.nominal_load, self.load_sensitivity,
            self.stiffness_load_sensitivity, self.slip_speed,
        )  # fmt: skip
        touch = Touch(self.point, self.plane_point, self.normal, self.axis)
        numbers = (*pushing(self), *curves, *rest)
        return (ground_law(GROUND_MAGIC, where, touch, self.ground, numbers),)
