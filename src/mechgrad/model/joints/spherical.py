"""The ball joint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.model.joints.base import (
    BALL,
    CHILD_ORIGIN,
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
class Spherical(Joint):
    """A ball joint: one point shared by two bodies.

        T(e) = Tr(origin) R(e) R(orientation) Tr(-child_origin),   dR/dt = skew(w) R

    q: Euler parameters e = (e0, e1, e2, e3), w first, normalised where they are used.
    v: angular velocity w of the child relative to the parent, in parent axes [rad/s]; n_q = 4, n_v = 3.

    Attributes
    ----------
    origin, child_origin : (3,) array
        The common point, in parent axes and in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's at e = (1, 0, 0, 0).

    >>> Spherical("hip", "pelvis", "thigh").v_labels
    ('wx', 'wy', 'wz')
    """

    type_name: ClassVar[str] = "spherical"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(True, 0),)
    q_labels: ClassVar[tuple[str, ...]] = ("e0", "e1", "e2", "e3")
    v_labels: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)

    @property
    def kinds(self) -> tuple[int, ...]:
        return (BALL,)

    def atoms(self) -> tuple[Atom, ...]:
        return (Atom(BALL, np.eye(3), self.origin),)

    def tail(self) -> tuple[Array, Array]:
        return child_pose(np.eye(3), self.orientation, self.child_origin)

    def closure(self) -> tuple[Row, ...]:
        return Seat.of(self).same_point()
