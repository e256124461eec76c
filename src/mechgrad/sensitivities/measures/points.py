"""Points and vectors in the world: where they are, how they move, distances and angles between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.markers import marker_derivatives, marker_motion
from mechgrad.model.columns import BEFORE, BEHIND, MARKER, model_terms
from mechgrad.sensitivities.measures.base import Measure, Partials, StateSamples
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.typing import Array


def moving(at: StateSamples, parameters: Parameters, markers: Sequence[str]) -> list[int]:
    """Positions of the parameters that move one of the markers directly."""
    tree = tree_of(at.model)

    def moves(path: str) -> bool:
        return any(term.kind in (BEFORE, BEHIND, MARKER) for term in model_terms(at.model, tree, path, markers))

    return [k for k in parameters.in_model if not parameters.is_force(k) and moves(parameters.names[k])]


@dataclass(frozen=True)
class _OfMarker(Measure):
    marker: str
    level: ClassVar[int]

    def values(self, at: StateSamples) -> Array:
        states = at.states
        motion = marker_motion(at.model, [self.marker], states.q, states.v, states.a)
        return np.asarray((motion.position, motion.velocity, motion.acceleration)[self.level][:, 0])

    def depends_on(self, at: StateSamples, parameters: Parameters) -> Sequence[int]:
        return moving(at, parameters, [self.marker])

    def partials(self, at: StateSamples, parameters: Parameters) -> Partials:
        depends_on, states = self.depends_on(at, parameters), at.states
        names, at_name = parameters.once(depends_on)
        D = marker_derivatives(at.model, [self.marker], states.q, states.v, states.a, wrt=names)
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

    >>> PointPosition("bob.com").marker
    'bob.com'
    """

    level: ClassVar[int] = 0
    uses: ClassVar[str] = "q"


@final
@dataclass(frozen=True)
class PointVelocity(_OfMarker):
    """Velocity of a point or rate of a vector, (nt, 3) [m/s]; "body.spin" is an angular velocity [rad/s].

    >>> PointVelocity("bob.com").marker
    'bob.com'
    """

    level: ClassVar[int] = 1
    uses: ClassVar[str] = "q v"


@final
@dataclass(frozen=True)
class PointAcceleration(_OfMarker):
    """Acceleration of a point, (nt, 3) [m/s^2].

    >>> PointAcceleration("bob.com").marker
    'bob.com'
    """

    level: ClassVar[int] = 2
    uses: ClassVar[str] = "q v a"


@final
@dataclass(frozen=True)
class Distance(Measure):
    """Distance between two points over time, (nt,) [m]:  sqrt(d . d), d = x1 - x2.

    Not differentiable where the points meet.

    >>> Distance("bob.com", "ground.origin").first
    'bob.com'
    """

    first: str
    second: str
    uses: ClassVar[str] = "q"

    def values(self, at: StateSamples) -> Array:
        x = marker_motion(at.model, [self.first, self.second], at.states.q).position
        d = x[:, 0] - x[:, 1]
        return np.asarray(np.sqrt(np.sum(d * d, axis=1)))

    def depends_on(self, at: StateSamples, parameters: Parameters) -> Sequence[int]:
        return moving(at, parameters, [self.first, self.second])

    def partials(self, at: StateSamples, parameters: Parameters) -> Partials:
        depends_on, both = self.depends_on(at, parameters), [self.first, self.second]
        x = marker_motion(at.model, both, at.states.q).position
        D = marker_derivatives(at.model, both, at.states.q, wrt=[parameters.names[k] for k in depends_on])
        along = (x[:, 0] - x[:, 1]) / self.values(at)[:, None]
        by_p = np.zeros((len(x), 1, len(parameters)))
        if depends_on:
            by_p[:, 0, depends_on] = np.einsum("ti,tip->tp", along, D.x_p[:, 0] - D.x_p[:, 1])
        return Partials(q=along[:, None, :] @ (D.x_q[:, 0] - D.x_q[:, 1]), p=by_p)


@final
@dataclass(frozen=True)
class Angle(Measure):
    """Angle from one vector to another about a third, (nt,) [rad], in (-pi, pi]:

        angle = atan2(n . (u x w), |n| u . w)

    All three are vectors of the model: a roll angle is that from the vertical to the body's own up vector about its
    forward vector, with u and w perpendicular to n in the upright position.

    >>> Angle("up", "mast", about="forward").about
    'forward'
    """

    first: str
    second: str
    about: str
    uses: ClassVar[str] = "q"

    def values(self, at: StateSamples) -> Array:
        u, w, n = np.moveaxis(
            marker_motion(at.model, [self.first, self.second, self.about], at.states.q).position, 1, 0
        )
        s = np.sum(n * np.cross(u, w), axis=1)
        c = np.sqrt(np.sum(n * n, axis=1)) * np.sum(u * w, axis=1)
        angle = np.arctan2(s.real, c.real)
        if not np.iscomplexobj(s):
            return np.asarray(angle)
        return np.asarray(angle + 1j * (c.real * s.imag - s.real * c.imag) / (s.real**2 + c.real**2))

    def depends_on(self, at: StateSamples, parameters: Parameters) -> Sequence[int]:
        return moving(at, parameters, [self.first, self.second, self.about])
