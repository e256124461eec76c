"""What every joint is: a named connection that turns into a short chain of elementary motions (atoms)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from mechgrad.errors import ClosedLoopError
from mechgrad.model.primitives.fields import (
    check_name,
    check_nonzero,
    direction,
    freeze_numbers,
    quaternion,
    same,
    short_repr,
    vector,
)
from mechgrad.model.primitives.frames import quaternion_to_matrix
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.primitives.rows import Row

REVOLUTE = 0
"""Rz(q) about the atom's own z."""
PRISMATIC = 1
"""Tz(q) along the atom's own z."""
BALL = 2
"""R(e), e four Euler parameters, w first; three quasi-velocities."""
FIXED = 3
"""No motion."""

_Q_UNITS = {REVOLUTE: ("rad",), PRISMATIC: ("m",), BALL: ("1",) * 4, FIXED: ()}
_V_UNITS = {REVOLUTE: ("rad/s",), PRISMATIC: ("m/s",), BALL: ("rad/s",) * 3, FIXED: ()}


class Atom(NamedTuple):
    """An elementary motion: a frame (rotation E, origin r [m]) in the moved frame of the atom before it, then a motion.

    The first atom's frame is given in the parent body's frame.
    """

    kind: int
    E: Array
    r: Array


Pose = tuple[Array, Array]
"""Rotation E and origin r [m] of a frame in another one."""


class Drawn(NamedTuple):
    """What two bodies have in common in a drawing where a kind of joint is between them (`model.detection`).

    point : whether they share one;   directions : how many they share: none, one, or two and more
    relation : the name of what is said of them besides, or ""
    """

    point: bool
    directions: int
    relation: str = ""


NOWHERE = (0.0, 0.0, 0.0)
UNTURNED = (1.0, 0.0, 0.0, 0.0)
ORIGIN = vector("origin", "m")
ORIENTATION = quaternion("orientation")
CHILD_ORIGIN = vector("child_origin", "m")
AXIS = direction("axis")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joint(ABC):
    """How a child body moves relative to its parent.

        T_parent_child(q) = Tr(origin) Motion(q) R(orientation) Tr(-child_origin)

    A joint holds numbers and states its motion as atoms; algorithms see only the atoms. `orientation` and axes may
    have any non-zero length: they are normalised where they are used, so that what was written is what is stored.
    """

    noun: ClassVar[str] = "joint"
    type_name: ClassVar[str]
    drawn_from: ClassVar[tuple[Drawn, ...]] = ()
    q_labels: ClassVar[tuple[str, ...]] = ("",)
    v_labels: ClassVar[tuple[str, ...]] = ("",)

    name: str
    parent: str
    child: str

    def __post_init__(self) -> None:
        check_name(self, self.name)
        freeze_numbers(self)
        self.check()

    def check(self) -> None:
        """Raise unless the numbers make sense; complex numbers are judged by their real part."""
        check_nonzero(self)

    @property
    @abstractmethod
    def kinds(self) -> tuple[int, ...]:
        """The kinds of the atoms, in order."""

    @abstractmethod
    def atoms(self) -> tuple[Atom, ...]:
        """The elementary motions from parent to child; complex when a field is complex."""

    @abstractmethod
    def tail(self) -> tuple[Array, Array]:
        """Rotation E and origin r [m] of the child's frame in the moved frame of the last atom."""

    def closure(self) -> tuple[Row, ...]:
        """What the joint asks of its two bodies when it is cut: 6 - n_v rows that vanish wherever the joint holds.

        The numbers are those of `atoms()` and `tail()` at q = 0, complex when a field is complex.
        """
        raise ClosedLoopError(
            f"joint {self.name!r} is a {type(self).__name__}, which asks nothing of its bodies and cannot close a "
            "loop. Keep it in the tree: name other joints in cut=[...], or remove it."
        )

    def coordinate_rows(self) -> tuple[Row, ...]:
        """The coordinates as measures of the two bodies, in the order of `q_labels`: what stands for them in a joint
        that is cut. Empty for welds, and for balls, whose Euler parameters are no measures.

        Each is the coordinate wherever the closure holds; angles come in (-pi, pi].
        """
        return ()

    @property
    def q_units(self) -> tuple[str, ...]:
        """Units of the coordinates."""
        return tuple(unit for kind in self.kinds for unit in _Q_UNITS[kind])

    @property
    def v_units(self) -> tuple[str, ...]:
        """Units of the velocities."""
        return tuple(unit for kind in self.kinds for unit in _V_UNITS[kind])

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return len(self.q_labels)

    @property
    def n_v(self) -> int:
        """Number of velocities: the joint's degrees of freedom."""
        return len(self.v_labels)

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash((self.type_name, self.name))

    def __repr__(self) -> str:
        return short_repr(self)


def child_pose(E_parent_atom: Array, orientation: Array, child_origin: Array) -> tuple[Array, Array]:
    """The tail that undoes the rotation of the last atom's frame: E^T R(orientation), then -child_origin."""
    E = E_parent_atom.T @ quaternion_to_matrix(orientation)
    return E, -(E @ child_origin)


def no_offset() -> Array:
    """The origin of an atom that sits where the one before it is."""
    return np.zeros(3)


def chained(a: Pose, b: Pose) -> Pose:
    """Pose of C in A from poses of B in A and of C in B."""
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def inverted(a: Pose) -> Pose:
    """Pose of A in B from the pose of B in A."""
    return a[0].T, -(a[0].T @ a[1])


def q_width(kind: int) -> int:
    """Number of coordinates of an atom."""
    return len(_Q_UNITS[kind])


def v_width(kind: int) -> int:
    """Number of velocities of an atom."""
    return len(_V_UNITS[kind])
