"""What a motion must respect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from scipy import sparse

from mechgrad.errors import InputError
from mechgrad.measures.base import Measure
from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.composite import Composite
from mechgrad.optimization.motion.measures.coordinates import Coordinates
from mechgrad.optimization.motion.measures.ground import Stance
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad
from mechgrad.optimization.motion.measures.point_motion import Points
from mechgrad.optimization.motion.measures.sample_functions import (
    Difference,
    quadratic,
    squared_distance,
)
from mechgrad.optimization.motion.setting import Requirement, Setting, bounded, numbers
from mechgrad.typing import Array, ArrayLike

ALWAYS = (0.0, 1.0)


class Requires(Protocol):
    """Anything that can be demanded of a motion."""

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        ...


def _level(level: str, label: str) -> str:
    if level not in ("q", "v", "a"):
        raise InputError(f"{label}: level is {level!r}; choose 'q', 'v' or 'a'.")
    return level


def _typical(lower: ArrayLike, upper: ArrayLike) -> Array:
    """The magnitude of limits; 1 where there is none."""
    lo, up = np.broadcast_arrays(np.abs(numbers(lower, "limits")), np.abs(numbers(upper, "limits")))
    size = np.maximum(np.where(np.isfinite(lo), lo, 0.0), np.where(np.isfinite(up), up, 0.0))
    return np.where(size > 0, size, 1.0)


# ---------------------------------------------------------------------------------------------------------- joints
@final
@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """lower <= tau <= upper at the ends of the spline segments, and at `per_segment` - 1 instants between them.

    `ground`, a list of `Stance`, makes them the torques of a body that stands on it.
    """

    lower: ArrayLike
    upper: ArrayLike
    joints: Sequence[str] | None = None
    loads: Sequence[AnyLoad] | None = None
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS
    ground: Sequence[Stance] | None = None

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        measure = setting.torques(self.loads, self.ground)
        xi = setting.instants(self.per_segment, self.during, "torque limits", self.ground)
        rows = setting.driven_rows(self.joints)
        named = [setting.model.v_names[r] for r in rows]
        some = "" if self.joints is None or len(named) > 3 else f" of {', '.join(named)}"
        scale = _typical(self.lower, self.upper)
        return [bounded(f"torque limits{some}", measure, xi, rows, self.lower, self.upper, scale)]


@final
@dataclass(frozen=True, eq=False)
class JointLimits:
    """lower <= q (or v, or a, by `level`) <= upper along the motion."""

    lower: ArrayLike
    upper: ArrayLike
    joints: Sequence[str] | None = None
    level: str = "q"
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        measure = Coordinates(setting.model, _level(self.level, "JointLimits"), self.joints)
        if self.level == "q":
            setting.refuse_balls(measure.columns, "JointLimits")
        xi = setting.instants(self.per_segment, self.during, "JointLimits")
        return [bounded(f"limits of {self.level}", measure, xi, np.arange(measure.m), self.lower, self.upper)]


@final
@dataclass(frozen=True, eq=False)
class At:
    """q, v or a of some joints at one instant, xi in [0, 1]: 0 is the start, 1 the end.

    Where joints have Euler parameters, give positions in the order of `model.q_names` (those of the joints named, if
    any are): four numbers per ball, of any length. They demand the attitude; their sign says which way round a motion
    gets there. Velocities and accelerations are those of `model.v_names`, angular ones in parent axes. `joints` may
    name such a joint as a whole.
    """

    xi: float
    value: ArrayLike
    level: str = "q"
    joints: Sequence[str] | None = None

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        if self.level not in ("q", "v", "a") or not 0 <= self.xi <= 1:
            raise InputError(f"At: level {self.level!r} at xi = {self.xi}; choose 'q', 'v' or 'a' and 0 <= xi <= 1.")
        joints = setting.coordinates(self.joints)
        measure = Coordinates(setting.model, self.level, joints)
        label = f"{self.level} at xi = {self.xi:g}"
        if not np.all(np.isfinite(np.asarray(self.value, float))):
            raise InputError(f"{label}: {self.value!r} is not finite.")
        value = setting.positions(joints, self.value, label) if self.level == "q" else self.value
        xi = np.array([float(self.xi)])
        return [bounded(label, measure, xi, np.arange(measure.m), value, value)]


@final
@dataclass(frozen=True, eq=False)
class Periodic:
    """The motion ends as it begins, mirrored if `partner` and `sign` say so:

        sign_i q_partner(i)(T) - q_i(0) = offset_i        sign_i v_partner(i)(T) - v_i(0) = 0

    Without them every joint returns to itself. `offset` [rad, m] is how far the motion travels.
    """

    partner: ArrayLike | None = None
    sign: ArrayLike = 1.0
    offset: ArrayLike = 0.0
    levels: str = "qv"

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        n = setting.model.n_v
        given = np.arange(n) if self.partner is None else np.asarray(self.partner)
        if given.shape != (n,) or not np.array_equal(np.sort(given), np.arange(n)):
            raise InputError(f"Periodic: partner must name each of the {n} coordinates once.")
        partner = given.astype(int)
        for name, x in (("sign", np.asarray(self.sign, float)), ("offset", np.asarray(self.offset, float))):
            if x.shape not in ((), (n,)) or not np.all(np.isfinite(x)):
                raise InputError(f"Periodic: {name} has shape {x.shape}; give a finite number or {n} of them.")
        sign, offset = (np.broadcast_to(np.asarray(x, float), (n,)) for x in (self.sign, self.offset))
        if not np.all(np.abs(sign) == 1):
            raise InputError("Periodic: sign must be 1 or -1 for every coordinate.")
        if setting.attitudes is not None:
            balls = setting.attitudes.columns.ravel()
            if np.any(partner[balls] != balls) or np.any(sign[balls] != 1) or np.any(offset[balls] != 0):
                raise InputError("Periodic: attitudes of balls return to themselves, without partner, sign and offset.")
        if not self.levels or len(set(self.levels)) != len(self.levels):
            raise InputError(f"Periodic: levels is {self.levels!r}; give some of 'qva', each once.")
        found = []
        for level in self.levels:
            measure = Coordinates(setting.model, _level(level, "Periodic"))
            i = np.arange(n)
            entries = (np.concatenate([sign, -np.ones(n)]), (np.concatenate([i, i]), np.concatenate([n + partner, i])))
            combine = sparse.csr_array(entries, shape=(n, 2 * n))
            bound = offset if level == "q" else np.zeros(n)
            found.append(
                Requirement(f"periodic {level}", measure, np.array([0.0, 1.0]), bound, bound, combine, measure.names)
            )
        return found


@final
@dataclass(frozen=True, eq=False)
class ReactionLimits:
    """|force| <= force [N] and |couple| <= couple [N m] in a joint along the motion: enforced on the squares.

    Any joint, cut or not, with all that acts: drives, `loads`, force elements, loops. For single components, and other
    axes, `Limits(mg.measures.JointReaction(...))`.
    """

    joint: str
    force: float | None = None
    couple: float | None = None
    loads: Sequence[AnyLoad] | None = None
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        if self.force is None and self.couple is None:
            raise InputError(f"ReactionLimits of {self.joint!r}: give force, couple or both.")
        wrench = setting.reactions((self.joint,), self.loads)
        xi = setting.instants(self.per_segment, self.during, "ReactionLimits")
        found = []
        for what, largest, part in (
            ("force", self.force, (0, 0, 0, 1, 1, 1)),
            ("couple", self.couple, (1, 1, 1, 0, 0, 0)),
        ):
            if largest is None:
                continue
            if not 0 < largest < np.inf:
                raise InputError(f"ReactionLimits of {self.joint!r}: {what} is {largest}; give a positive number.")
            function = quadratic(f"|{what}|^2 in {self.joint}", np.diag(part).astype(float))
            found.append(bounded(f"{what} in {self.joint}", Composite((wrench,), function), xi, np.arange(1), -np.inf,
                                 largest**2, largest**2))  # fmt: skip
        return found


# ---------------------------------------------------------------------------------------------------------- points
@final
@dataclass(frozen=True, eq=False)
class PointLimits:
    """lower <= world position of a point <= upper along the motion or, with `xi`, at one instant. Equal bounds fix
    it."""

    marker: str
    lower: ArrayLike
    upper: ArrayLike
    xi: float | None = None
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        measure = Points(setting.model, [self.marker])
        label = f"position of {self.marker}"
        during = self.during if self.xi is None else ALWAYS
        grid = setting.instants(self.per_segment, during, label) if self.xi is None else np.array([float(self.xi)])
        return [bounded(label, measure, grid, np.arange(3), self.lower, self.upper)]


@final
@dataclass(frozen=True, eq=False)
class PointPath:
    """A point follows a path, within a tolerance [m] in each world axis named.

    `path` is a function of xi = t / T, an array (nt,), that returns positions (nt, 3).
    """

    marker: str
    path: Callable[[Array], ArrayLike]
    tolerance: float = 0.0
    axes: str = "xyz"
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        label = f"path of {self.marker}"
        rows = _axes(self.axes, label)
        xi = setting.instants(self.per_segment, self.during, label)
        if not callable(self.path):
            raise InputError(f"{label}: path must be a function of xi that returns positions (nt, 3).")
        if not 0 <= self.tolerance < np.inf:
            raise InputError(f"{label}: tolerance is {self.tolerance}; it must be finite and not negative [m].")
        places = np.asarray(self.path(xi), float)
        if places.shape != (xi.size, 3) or not np.all(np.isfinite(places)):
            raise InputError(
                f"{label}: the path returned shape {places.shape}; ({xi.size}, 3) finite numbers are needed."
            )
        measure = Points(setting.model, [self.marker])
        return [bounded(label, measure, xi, rows, places[:, rows] - self.tolerance, places[:, rows] + self.tolerance)]


def _axes(axes: str, label: str) -> Array:
    if not axes or any(axis not in "xyz" for axis in axes) or len(set(axes)) != len(axes):
        raise InputError(f"{label}: axes is {axes!r}; give some of 'xyz', each once.")
    return np.array(["xyz".index(axis) for axis in axes])


@final
@dataclass(frozen=True, eq=False)
class KeepOut:
    """A point stays out of a ball or, with `axis`, out of an endless cylinder around it: |x - centre| >= radius,
    enforced on the squares."""

    marker: str
    centre: ArrayLike
    radius: float
    axis: ArrayLike | None = None
    per_segment: int = 2
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        label = f"{self.marker} keeps out"
        centre = np.asarray(self.centre, float)
        axis = None if self.axis is None else np.asarray(self.axis, float)
        bad_axis = axis is not None and (axis.shape != (3,) or not 0 < np.linalg.norm(axis) < np.inf)
        if centre.shape != (3,) or not np.all(np.isfinite(centre)) or not 0 < self.radius < np.inf or bad_axis:
            raise InputError(
                f"{label}: give a centre (3,), a positive radius and, for a cylinder, an axis that is not zero."
            )
        measure = Composite(
            (Points(setting.model, [self.marker]),), squared_distance(f"|{self.marker} - c|^2", centre, axis)
        )
        xi = setting.instants(self.per_segment, self.during, label)
        return [bounded(label, measure, xi, np.arange(1), self.radius**2, np.inf, self.radius**2)]


@final
@dataclass(frozen=True, eq=False)
class DistanceLimits:
    """lower <= |a - b| <= upper for two points of the mechanism [m], enforced on the squares: smooth where they meet.

    `Limits(mg.measures.Distance(a, b), lower, upper)` limits the distance itself.
    """

    point_a: str
    point_b: str
    lower: float = 0.0
    upper: float = np.inf
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        label = f"distance of {self.point_a} and {self.point_b}"
        if self.point_a == self.point_b:
            raise InputError(f"{label}: name two different points.")
        if not 0 <= self.lower <= self.upper or self.lower == np.inf or (self.lower == 0 and self.upper == np.inf):
            raise InputError(
                f"{label}: between {self.lower} and {self.upper}; need 0 <= lower <= upper, one of them a limit."
            )
        measure = Composite(
            (Points(setting.model, [self.point_a, self.point_b]),), squared_distance(f"{label}, squared")
        )
        xi = setting.instants(self.per_segment, self.during, label)
        lower = self.lower**2 if self.lower > 0 else -np.inf
        return [bounded(label, measure, xi, np.arange(1), lower, self.upper**2, _typical(lower, self.upper**2))]


@final
@dataclass(frozen=True, eq=False)
class Coincident:
    """Two points stay together: the closure of a loop whose joint was cut. `axes` names the world axes it acts in."""

    marker_a: str
    marker_b: str
    axes: str = "xyz"
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        label = f"{self.marker_a} at {self.marker_b}"
        if self.marker_a == self.marker_b:
            raise InputError(f"Coincident: {self.marker_a!r} is always at itself; name two points.")
        rows = _axes(self.axes, label)
        points = Points(setting.model, [self.marker_a]), Points(setting.model, [self.marker_b])
        measure = Composite(points, Difference(label, tuple(int(r) for r in rows)))
        xi = setting.instants(self.per_segment, self.during, label)
        return [bounded(label, measure, xi, np.arange(rows.size), 0.0, 0.0)]


@final
@dataclass(frozen=True, eq=False)
class SwingTogether:
    """Two limbs swing to the same side: (a . n) (b . n) >= 0 with a and b the vectors between pairs of points.

    For a gait: the left arm with the right leg, n the direction of walking.
    """

    limb_a: tuple[str, str]
    limb_b: tuple[str, str]
    direction: ArrayLike
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        label = f"swing of {self.limb_a[1]} with {self.limb_b[1]}"
        n = np.asarray(self.direction, float)
        if n.shape != (3,) or not 0 < np.linalg.norm(n) < np.inf or len(self.limb_a) != 2 or len(self.limb_b) != 2:
            raise InputError(
                f"{label}: limbs are pairs of points; direction is {self.direction!r}; give a vector that is not zero."
            )
        along = np.concatenate([-n, n]) / np.linalg.norm(n)
        a, b = np.concatenate([along, np.zeros(6)]), np.concatenate([np.zeros(6), along])
        product = quadratic(label, (np.outer(a, b) + np.outer(b, a)) / 2)
        measure = Composite((Points(setting.model, [*self.limb_a, *self.limb_b]),), product)
        xi = setting.instants(self.per_segment, self.during, label)
        return [bounded(label, measure, xi, np.arange(1), 0.0, np.inf)]


# ------------------------------------------------------------------------------------------------------------ user
@final
@dataclass(frozen=True, eq=False)
class UserConstraint:
    """lower <= function(inputs) <= upper along the motion; `function`, `inputs` and `time` as in `UserTerm`."""

    function: Callable[..., Any]
    inputs: Sequence[SampleFunction | Measure]
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS
    label: str = "user constraint"
    time: bool = False

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        measure = setting.user_measure(self.function, self.inputs, self.label, self.time)
        if not np.any(np.isfinite(np.asarray(self.lower, float))) and not np.any(
            np.isfinite(np.asarray(self.upper, float))
        ):
            raise InputError(f"{self.label}: give a lower or an upper bound.")
        xi = setting.instants(self.per_segment, self.during, self.label)
        return [bounded(self.label, measure, xi, np.arange(measure.m), self.lower, self.upper)]
