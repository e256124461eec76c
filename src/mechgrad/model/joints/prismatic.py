"""The slider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.joints.base import (
    AXIS,
    CHILD_ORIGIN,
    NOWHERE,
    ORIENTATION,
    ORIGIN,
    PRISMATIC,
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
class Prismatic(Joint):
    """A slider: the child keeps its orientation and moves along a line of the parent.

        T(q) = Tr(origin) Tr(axis q) R(orientation) Tr(-child_origin)        q: distance along axis [m]

    Attributes
    ----------
    origin, child_origin : (3,) array
        A point of the line in parent axes, and the point that slides on it in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's.
    axis : (3,) array
        Direction of the line in parent axes; any non-zero length. Paths `name.axis.x`, `.y`, `.z`.

    >>> Prismatic("rail", "ground", "cart", axis=(1, 0, 0))
    Prismatic('rail', 'ground', 'cart', axis=(1, 0, 0))
    """

    type_name: ClassVar[str] = "prismatic"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(False, 2, "OnLine"),)

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)
    axis: ArrayField = field(default=(0.0, 0.0, 1.0), kw_only=True, metadata=AXIS)

    @property
    def kinds(self) -> tuple[int, ...]:
        return (PRISMATIC,)

    def atoms(self) -> tuple[Atom, ...]:
        return (Atom(PRISMATIC, axis_frame(self.axis), self.origin),)

    def tail(self) -> tuple[Array, Array]:
        return child_pose(axis_frame(self.axis), self.orientation, self.child_origin)

    def closure(self) -> tuple[Row, ...]:
        seat = Seat.of(self)
        return (*seat.same_axis(), seat.same_angle(), *seat.on_axis())

    def coordinate_rows(self) -> tuple[Row, ...]:
        return (Seat.of(self).distance(),)
