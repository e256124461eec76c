"""Points and vectors in the world: where they are and how they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from mechgrad.kinematics.marker_motions import contracted_hessian, marker_derivatives, marker_motion
from mechgrad.measures.base import Curvature, Measure, Partials, StateSamples
from mechgrad.measures.geometric import moving
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@dataclass(frozen=True)
class _OfMarker(Measure):
    point: str
    level: ClassVar[int]
    parts: ClassVar[tuple[str, ...]] = ("x", "y", "z")

    def columns(self, model: Model) -> tuple[tuple[str, str], ...]:
        per = ("", "/s", "/s²")[self.level]
        if self.point.endswith(".spin"):
            unit = ("1", "rad/s", "rad/s²")[self.level]  # a spin is a velocity by itself
        elif self.point in {vector.name for vector in model.vectors}:
            unit = f"1{per}"
        else:
            unit = f"m{per}"
        return tuple((part, unit) for part in self.parts)

    def values(self, at: StateSamples) -> Array:
        states = at.states
        motion = marker_motion(at.model, [self.point], states.q, states.v, states.a)
        return np.asarray((motion.position, motion.velocity, motion.acceleration)[self.level][:, 0])

    def depends_on(self, at: StateSamples, parameters: MotionParameters) -> Sequence[int]:
        return moving(at, parameters, [self.point])

    def partials(self, at: StateSamples, parameters: MotionParameters) -> Partials:
        depends_on, states = self.depends_on(at, parameters), at.states
        names, at_name = parameters.once(depends_on)
        D = marker_derivatives(at.model, [self.point], states.q, states.v, states.a, wrt=names)
        by_p = None
        if names:
            by_p = np.zeros((len(states.t), 3, len(parameters)))
            by_p[:, :, depends_on] = (D.x_p, D.xd_p, D.xdd_p)[self.level][:, 0][:, :, at_name]
        if self.level == 0:
            return Partials(q=D.x_q[:, 0], p=by_p)
        if self.level == 1:
            return Partials(q=D.xd_q[:, 0], v=D.x_q[:, 0], p=by_p)
        return Partials(q=D.xdd_q[:, 0], v=D.xdd_v[:, 0], a=D.x_q[:, 0], p=by_p)


@final
@dataclass(frozen=True)
class PointPosition(_OfMarker):
    """Position of a point, or a vector, in the world, (nt, 3) [m]; names as in `marker_motion`.

    >>> PointPosition("bob.com").point
    'bob.com'
    """

    level: ClassVar[int] = 0
    uses: ClassVar[str] = "q"

    def curvature(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Curvature:
        return Curvature(qq=contracted_hessian(at.model, [self.point], at.states.q, weights[:, None, :])[0])


@final
@dataclass(frozen=True)
class PointVelocity(_OfMarker):
    """Velocity of a point or rate of a vector, (nt, 3) [m/s]; "body.spin" is an angular velocity [rad/s].

    >>> PointVelocity("bob.com").point
    'bob.com'
    """

    level: ClassVar[int] = 1
    uses: ClassVar[str] = "q v"


@final
@dataclass(frozen=True)
class PointAcceleration(_OfMarker):
    """Acceleration of a point, (nt, 3) [m/s^2].

    >>> PointAcceleration("bob.com").point
    'bob.com'
    """

    level: ClassVar[int] = 2
    uses: ClassVar[str] = "q v a"
