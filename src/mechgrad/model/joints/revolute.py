"""The hinge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.joints.base import (
    AXIS,
    CHILD_ORIGIN,
    NOWHERE,
    ORIENTATION,
    ORIGIN,
    REVOLUTE,
    UNTURNED,
    Atom,
    Drawn,
    Joint,
    child_pose,
)
from mechgrad.model.joints.seat import Seat
from mechgrad.model.primitives.frames import axis_frame
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array, ArrayField


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Revolute(Joint):
    """A hinge: one point and one axis shared by two bodies.

        T(q) = Tr(origin) Rot(axis, q) R(orientation) Tr(-child_origin)        q: angle, right-handed about axis [rad]

    Attributes
    ----------
    origin, child_origin : (3,) array
        The hinge point, in parent axes and in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's at q = 0.
    axis : (3,) array
        Hinge axis in parent axes; any non-zero length. Paths `name.axis.x`, `.y`, `.z`.

    >>> Revolute("elbow", "upper arm", "forearm", origin=(0.3, 0, 0), axis=(0, 1, 0))
    Revolute('elbow', 'upper arm', 'forearm', origin=(0.3, 0, 0), axis=(0, 1, 0))
    """

    type_name: ClassVar[str] = "revolute"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(True, 1),)

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)
    axis: ArrayField = field(default=(0.0, 0.0, 1.0), kw_only=True, metadata=AXIS)

    @property
    def kinds(self) -> tuple[int, ...]:
        return (REVOLUTE,)

    def atoms(self) -> tuple[Atom, ...]:
        return (Atom(REVOLUTE, axis_frame(self.axis), self.origin),)

    def tail(self) -> tuple[Array, Array]:
        return child_pose(axis_frame(self.axis), self.orientation, self.child_origin)

    def closure(self) -> tuple[Row, ...]:
        seat = Seat.of(self)
        return (*seat.same_point(), *seat.same_axis())

    def coordinate_rows(self) -> tuple[Row, ...]:
        return (Seat.of(self).angle(),)
