"""A joint that moves in a plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.errors import ValueRangeError
from mechgrad.model.joints.base import (
    AXIS,
    CHILD_ORIGIN,
    NOWHERE,
    ORIENTATION,
    ORIGIN,
    PRISMATIC,
    REVOLUTE,
    UNTURNED,
    Atom,
    Drawn,
    Joint,
    child_pose,
    no_offset,
)
from mechgrad.model.joints.cardan import PARALLEL_TOLERANCE
from mechgrad.model.joints.seat import Seat
from mechgrad.model.primitives.fields import brief, check_nonzero
from mechgrad.model.primitives.frames import axis_frame, cross, norm, scaled, unit
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array, ArrayField


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Planar(Joint):
    """Motion in a plane of the parent: two distances and one angle.

        T(q) = Tr(origin) Tr(u q0 + v q1) Rot(n, q2) R(orientation) Tr(-child_origin)
        n = normal / |normal|,   u = direction projected on the plane and normalised,   v = n x u

    q0, q1: distances along u and v [m]; q2: angle, right-handed about n [rad].

    Attributes
    ----------
    origin, child_origin : (3,) array
        The origin of the plane in parent axes, and the point that moves in it in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's at q = 0.
    normal, direction : (3,) array
        In parent axes; any non-zero length, not parallel.

    Choose it for the root of planar models: fewer coordinates than a Floating joint.

    >>> Planar("root", "ground", "torso", normal=(0, 1, 0)).q_labels
    ('x', 'y', 'angle')
    """

    type_name: ClassVar[str] = "planar"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(False, 1, "InPlane"), Drawn(False, 1))
    q_labels: ClassVar[tuple[str, ...]] = ("x", "y", "angle")
    v_labels: ClassVar[tuple[str, ...]] = ("x", "y", "angle")

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)
    normal: ArrayField = field(default=(0.0, 0.0, 1.0), kw_only=True, metadata=AXIS)
    direction: ArrayField = field(default=(1.0, 0.0, 0.0), kw_only=True, metadata=AXIS)

    def check(self) -> None:
        check_nonzero(self)
        sine = norm(cross(unit(self.normal.real), unit(self.direction.real)))
        if sine < PARALLEL_TOLERANCE:
            raise ValueRangeError(
                f"joint {self.name!r}: direction = {brief(self.direction)} is parallel to "
                f"normal = {brief(self.normal)} (sine of their angle {sine:.2g}). Give a direction in the plane."
            )

    @property
    def kinds(self) -> tuple[int, ...]:
        return (PRISMATIC, PRISMATIC, REVOLUTE)

    def atoms(self) -> tuple[Atom, ...]:
        n = unit(self.normal)
        along, _ = scaled(self.direction)
        u = unit(along - (n @ along) * n)
        E_u, E_v, E_n = axis_frame(u), axis_frame(cross(n, u)), axis_frame(self.normal)
        return (
            Atom(PRISMATIC, E_u, self.origin),
            Atom(PRISMATIC, E_u.T @ E_v, no_offset()),
            Atom(REVOLUTE, E_v.T @ E_n, no_offset()),
        )

    def tail(self) -> tuple[Array, Array]:
        return child_pose(axis_frame(self.normal), self.orientation, self.child_origin)

    def closure(self) -> tuple[Row, ...]:
        seat = Seat.of(self)  # of the hinge: its axis is the plane's normal
        return (*seat.same_axis(), seat.in_plane())

    def coordinate_rows(self) -> tuple[Row, ...]:
        return (Seat.of(self, 0).distance(), Seat.of(self, 1).distance(), Seat.of(self).angle())
