"""The universal joint."""

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
    REVOLUTE,
    UNTURNED,
    Atom,
    Drawn,
    Joint,
    child_pose,
    no_offset,
)
from mechgrad.model.joints.seat import Seat, angles_between, between_axes
from mechgrad.model.primitives.fields import brief, check_nonzero
from mechgrad.model.primitives.frames import axis_frame, cross, norm, unit
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array, ArrayField

# Sine of the smallest angle between two directions that still counts as an angle and not as rounding.
PARALLEL_TOLERANCE = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cardan(Joint):
    """A universal joint: two hinges through one point, the second carried by the first.

        T(q) = Tr(origin) Rot(axis1, q0) Rot(axis2, q1) R(orientation) Tr(-child_origin)

    q0, q1: angles, right-handed about axis1 and axis2 [rad].

    Attributes
    ----------
    origin, child_origin : (3,) array
        The common point, in parent axes and in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's at q = 0.
    axis1, axis2 : (3,) array
        In parent axes at q = 0; any non-zero length, not parallel. axis1 stays with the parent, axis2 with the child.

    >>> Cardan("shaft", "gearbox", "axle").q_labels
    ('angle1', 'angle2')
    """

    type_name: ClassVar[str] = "cardan"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(True, 0, "Perpendicular"),)
    q_labels: ClassVar[tuple[str, ...]] = ("angle1", "angle2")
    v_labels: ClassVar[tuple[str, ...]] = ("angle1", "angle2")

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)
    axis1: ArrayField = field(default=(1.0, 0.0, 0.0), kw_only=True, metadata=AXIS)
    axis2: ArrayField = field(default=(0.0, 1.0, 0.0), kw_only=True, metadata=AXIS)

    def check(self) -> None:
        check_nonzero(self)
        sine = norm(cross(unit(self.axis1.real), unit(self.axis2.real)))
        if sine < PARALLEL_TOLERANCE:
            raise ValueRangeError(
                f"joint {self.name!r}: axis1 = {brief(self.axis1)} and axis2 = {brief(self.axis2)} are parallel "
                f"(sine of their angle {sine:.2g}). Give two different directions, or use a Revolute."
            )

    @property
    def kinds(self) -> tuple[int, ...]:
        return (REVOLUTE, REVOLUTE)

    def atoms(self) -> tuple[Atom, ...]:
        E1, E2 = axis_frame(self.axis1), axis_frame(self.axis2)
        return (Atom(REVOLUTE, E1, self.origin), Atom(REVOLUTE, E1.T @ E2, no_offset()))

    def tail(self) -> tuple[Array, Array]:
        return child_pose(axis_frame(self.axis2), self.orientation, self.child_origin)

    def closure(self) -> tuple[Row, ...]:
        first, second = Seat.of(self, 0), Seat.of(self, 1)
        return (*second.same_point(), between_axes(first, second))

    def coordinate_rows(self) -> tuple[Row, ...]:
        return angles_between(Seat.of(self, 0), Seat.of(self, 1))


Universal = Cardan
