"""Constraints of bodies that stand and walk on the ground z = 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import sparse
from scipy.spatial import ConvexHull, QhullError

from mechgrad.errors import InputError
from mechgrad.optimization.motion.constraints import ALWAYS, _axes
from mechgrad.optimization.motion.measures.ground import GroundTorques, Stance
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad
from mechgrad.optimization.motion.measures.point_motion import Points, PointVelocities
from mechgrad.optimization.motion.setting import Requirement, Setting, bounded
from mechgrad.typing import Array, ArrayLike

_ENDS = {"both": [0, -1], "start": [0], "end": [-1], "none": []}


@final
@dataclass(frozen=True, eq=False)
class Contact:
    """A point that stays at a place from xi = start to end: it neither slips nor sinks.

    Its position is fixed at the ends of the spline segments in that phase, its velocity at the first and the last of
    them, as a cubic spline is fixed by its knots and two slopes; between knots it moves by the fourth power of their
    distance. `axes` names the world axes, for bodies whose points would be fixed twice; `velocity` where the velocity
    is fixed: "both" ends, "start", "end" or "none". More instants per segment than one are more equations than a spline
    has unknowns for; they serve `MotionProblem.residuals`.
    """

    marker: str
    place: ArrayLike
    axes: str = "xyz"
    start: float = 0.0
    end: float = 1.0
    velocity: str = "both"
    per_segment: int = 1

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        label = f"contact of {self.marker}"
        rows = _axes(self.axes, label)
        place = np.asarray(self.place, float)
        if place.shape != (3,) or not np.all(np.isfinite(place)):
            raise InputError(f"{label}: place is {self.place!r}; give three numbers [m].")
        xi = setting.instants(self.per_segment, (self.start, self.end), label)
        points = Points(setting.model, [self.marker])
        found = [bounded(label, points, xi, rows, place[rows], place[rows])]
        if self.velocity not in _ENDS:
            raise InputError(f"{label}: velocity is {self.velocity!r}; choose one of {', '.join(map(repr, _ENDS))}.")
        if self.velocity != "none":
            ends = np.unique(xi[_ENDS[self.velocity]])
            speed = PointVelocities(setting.model, [self.marker])
            found.append(bounded(f"{label}, no slip", speed, ends, rows, 0.0, 0.0))
        return found


def hull_edges(polygon: ArrayLike) -> tuple[Array, Array]:
    """Inward unit normals (e, 2) and offsets (e,) of the convex hull of points (k, 2): inside n . x >= c."""
    points = np.asarray(polygon, float)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3 or not np.all(np.isfinite(points)):
        raise InputError(f"a support polygon needs at least three points (x, y); its shape is {points.shape}.")
    try:
        hull = ConvexHull(points)
    except QhullError as error:
        raise InputError("the points of the support polygon lie on a line; it has no inside.") from error
    unique = np.unique(np.round(hull.equations, 12), axis=0)
    return -unique[:, :2], unique[:, 2]


@final
@dataclass(frozen=True, eq=False)
class ZeroMomentPoint:
    """The zero-moment point stays in the convex hull of `polygon` (k, 2), `margin` [m] from its edges.

    Enforced as F_z (n . Z - c - margin) / weight >= 0 for each edge, which is linear in the wrench of the ground:

        ( -n_x M_y + n_y M_x - (c + margin) F_z ) / (m g) >= 0
    """

    polygon: ArrayLike
    ground: Sequence[Stance]
    margin: float = 0.0
    loads: Sequence[AnyLoad] | None = None
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        if not 0 <= self.margin < np.inf:
            raise InputError(f"zero-moment point: margin is {self.margin}; give a distance [m] that is not negative.")
        normals, offsets = hull_edges(self.polygon)
        weight = _weight(setting)
        edges = np.zeros((len(offsets), 6))
        edges[:, 1], edges[:, 0], edges[:, 5] = -normals[:, 0], normals[:, 1], -(offsets + self.margin)
        xi = setting.instants(self.per_segment, self.during, "zero-moment point", self.ground)
        names = [f"edge {e + 1}" for e in range(len(edges))]
        return [_of_wrench(setting, self.ground, self.loads, "zero-moment point", xi, edges / weight, names)]


@final
@dataclass(frozen=True, eq=False)
class GroundFriction:
    """The ground only pushes, and the feet do not slide: |F_x|, |F_y| <= coefficient F_z and F_z >= least m g."""

    ground: Sequence[Stance]
    coefficient: float = 0.7
    least: float = 0.05
    loads: Sequence[AnyLoad] | None = None
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        if not 0 < self.coefficient < np.inf or not 0 <= self.least < np.inf:
            raise InputError(
                f"GroundFriction: coefficient is {self.coefficient}, least {self.least}; give a positive "
                "number and one that is not negative."
            )
        rows = np.zeros((5, 6))
        rows[0, 5] = 1.0
        for k, (axis, sign) in enumerate(((3, 1), (3, -1), (4, 1), (4, -1)), start=1):
            rows[k, axis], rows[k, 5] = sign, self.coefficient
        xi = setting.instants(self.per_segment, self.during, "friction", self.ground)
        lower = np.array([self.least, 0, 0, 0, 0])
        names = ["F_z", "+F_x", "-F_x", "+F_y", "-F_y"]
        return [_of_wrench(setting, self.ground, self.loads, "friction", xi, rows / _weight(setting), names, lower)]


def _weight(setting: Setting) -> float:
    model = setting.model
    weight = model.total_mass * float(np.linalg.norm(model.gravity))
    if not weight > 0:
        raise InputError(f"model {model.name!r} has no weight to stand with; give it mass and gravity.")
    return weight


def _of_wrench(
    setting: Setting,
    ground: Sequence[Stance],
    loads: Sequence[AnyLoad] | None,
    label: str,
    xi: Array,
    rows: Array,
    names: Sequence[str],
    lower: Array | float = 0.0,
) -> Requirement:
    """rows (e, 6) times the wrench (couple, force) of the ground at each instant >= lower."""
    measure = setting.torques(loads, tuple(ground))
    assert isinstance(measure, GroundTorques)
    before = measure.m - 6
    block = np.hstack([np.zeros((len(rows), before)), rows])
    combine = sparse.csr_array(sparse.kron(sparse.identity(xi.size), sparse.csr_array(block), format="csr"))
    low = np.tile(np.broadcast_to(lower, (len(rows),)), xi.size)
    labels = tuple(f"{name} at xi = {x:.7g}" for x in xi for name in names)
    return Requirement(label, measure, xi, low, np.full(low.size, np.inf), combine, labels)
