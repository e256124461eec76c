"""The sliding hinge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

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
from mechgrad.model.joints.seat import Seat
from mechgrad.model.primitives.frames import axis_frame
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array, ArrayField


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cylindrical(Joint):
    """A sliding hinge: the child moves along and turns about one axis of the parent.

        T(q) = Tr(origin) Tr(axis q0) Rot(axis, q1) R(orientation) Tr(-child_origin)

    q0: distance [m]; q1: angle, right-handed about axis [rad].

    Attributes
    ----------
    origin, child_origin : (3,) array
        A point of the axis in parent axes, and the point that slides on it in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's at q = 0.
    axis : (3,) array
        In parent axes; any non-zero length. Paths `name.axis.x`, `.y`, `.z`.

    >>> Cylindrical("strut", "tube", "piston").q_labels
    ('distance', 'angle')
    """

    type_name: ClassVar[str] = "cylindrical"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(False, 1, "OnLine"),)
    q_labels: ClassVar[tuple[str, ...]] = ("distance", "angle")
    v_labels: ClassVar[tuple[str, ...]] = ("distance", "angle")

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)
    axis: ArrayField = field(default=(0.0, 0.0, 1.0), kw_only=True, metadata=AXIS)

    @property
    def kinds(self) -> tuple[int, ...]:
        return (PRISMATIC, REVOLUTE)

    def atoms(self) -> tuple[Atom, ...]:
        return (
            Atom(PRISMATIC, axis_frame(self.axis), self.origin),
            Atom(REVOLUTE, np.eye(3), no_offset()),
        )

    def tail(self) -> tuple[Array, Array]:
        return child_pose(axis_frame(self.axis), self.orientation, self.child_origin)

    def closure(self) -> tuple[Row, ...]:
        seat = Seat.of(self)
        return (*seat.same_axis(), *seat.on_axis())

    def coordinate_rows(self) -> tuple[Row, ...]:
        return (Seat.of(self, 0).distance(), Seat.of(self).angle())
