"""The joint that leaves a body free."""

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
    PRISMATIC,
    UNTURNED,
    Atom,
    Drawn,
    Joint,
    child_pose,
    no_offset,
)
from mechgrad.model.primitives.frames import axis_frame
from mechgrad.typing import Array, ArrayField


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Floating(Joint):
    """No connection: six degrees of freedom.

        T(x, e) = Tr(origin) Tr(x) R(e) R(orientation) Tr(-child_origin)

    q: position x (3) [m], then Euler parameters e (4), w first, normalised where they are used.
    v: dx/dt [m/s], then the angular velocity of the child relative to the parent [rad/s], both in parent axes;
    n_q = 7, n_v = 6.

    Attributes
    ----------
    origin, child_origin : (3,) array
        Where x starts, in parent axes, and the point it leads to, in child axes [m].
    orientation : (4,) array
        Quaternion (w, x, y, z) of the child's axes in the parent's at e = (1, 0, 0, 0).

    >>> Floating("root", "ground", "pelvis").n_q
    7
    """

    type_name: ClassVar[str] = "floating"
    drawn_from: ClassVar[tuple[Drawn, ...]] = (Drawn(False, 0),)
    q_labels: ClassVar[tuple[str, ...]] = ("x", "y", "z", "e0", "e1", "e2", "e3")
    v_labels: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz", "wx", "wy", "wz")

    origin: ArrayField = field(default=NOWHERE, metadata=ORIGIN)
    orientation: ArrayField = field(default=UNTURNED, metadata=ORIENTATION)
    child_origin: ArrayField = field(default=NOWHERE, metadata=CHILD_ORIGIN)

    @property
    def kinds(self) -> tuple[int, ...]:
        return (PRISMATIC, PRISMATIC, PRISMATIC, BALL)

    def atoms(self) -> tuple[Atom, ...]:
        E_x, E_y, E_z = (axis_frame(axis) for axis in np.eye(3))
        return (
            Atom(PRISMATIC, E_x, self.origin),
            Atom(PRISMATIC, E_x.T @ E_y, no_offset()),
            Atom(PRISMATIC, E_y.T @ E_z, no_offset()),
            Atom(BALL, E_z.T, no_offset()),
        )

    def tail(self) -> tuple[Array, Array]:
        return child_pose(np.eye(3), self.orientation, self.child_origin)
