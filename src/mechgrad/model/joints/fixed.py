"""The weld."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.model.joints.base import (
    CHILD_ORIGIN,
    FIXED,
    NOWHERE,
    ORIENTATION,
    ORIGIN,
    UNTURNED,
    Atom,
    Drawn,
    Joint,
    child_pose,
)
from mechgrad.model.joints.seat import Seat
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array, ArrayField


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fixed(Joint):
    """A weld: the child does not move in the parent.

        T = Tr(origin) R(orientation) Tr(-child_origin)        no coordinate

    Attributes
    ----------
    origin, child_origin : (3,) array
        The common point, in parent axes and in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's.

    >>> Fixed("plate", "ground", "table", origin=(0, 0, 0.7))
    Fixed('plate', 'ground', 'table', origin=(0, 0, 0.7))
    """

    type_name: ClassVar[str] = "fixed"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(True, 2),)
    q_labels: ClassVar[tuple[str, ...]] = ()
    v_labels: ClassVar[tuple[str, ...]] = ()

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)

    @property
    def kinds(self) -> tuple[int, ...]:
        return (FIXED,)

    def atoms(self) -> tuple[Atom, ...]:
        return (Atom(FIXED, np.eye(3), self.origin),)

    def tail(self) -> tuple[Array, Array]:
        return child_pose(np.eye(3), self.orientation, self.child_origin)

    def closure(self) -> tuple[Row, ...]:
        seat = Seat.of(self)
        return (*seat.same_point(), *seat.same_axis(), seat.same_angle())
