"""A joint walked through from its child to its parent: what a tree needs where it reaches the child first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.joints.base import PRISMATIC, REVOLUTE, Atom, Joint, Pose, chained, inverted, q_width, v_width
from mechgrad.model.joints.floating import Floating
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.primitives.rows import Row

# F: half a turn about x. It turns z over, so that a motion along z runs backwards between two of them.
_HALF_TURN = np.diag([1.0, -1.0, -1.0])


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Reversed(Joint):
    """The same joint with parent and child swapped: T_reversed(q) = T(q)^-1.

        T^-1 = tail^-1 M_n^-1 A_n^-1 ... M_1^-1 A_1^-1
        Rz(q)^-1 = F Rz(q) F,   Tz(q)^-1 = F Tz(q) F,   F: half a turn about x

    A_k: placements of the atoms, M_k: their motions. Angles and distances therefore keep their value, sense and
    name; only their order turns round with the chain. The inverse of a ball is a ball: its Euler parameters describe
    the joint's parent relative to its child, e = conjugate(e of the joint), and its velocities are the angular
    velocity of the parent relative to the child, in axes that go with the child and are the parent's at e = 1.

    A Floating joint is not reversed: swap its bodies instead.

    >>> from mechgrad.model import Cylindrical
    >>> strut = Reversed(Cylindrical("strut", "tube", "piston"))
    >>> strut.parent, strut.child, strut.q_labels
    ('piston', 'tube', ('angle', 'distance'))
    """

    type_name: ClassVar[str] = "reversed"

    joint: Joint

    def __init__(self, joint: Joint) -> None:
        if isinstance(joint, Floating):
            raise ValueRangeError(
                f"joint {joint.name!r} ({type(joint).__name__}) leads from {joint.parent!r} to {joint.child!r}, but "
                f"the tree reaches {joint.child!r} first, and a free joint is not reversed. Swap its two bodies."
            )
        for name, value in (("name", joint.name), ("parent", joint.child), ("child", joint.parent), ("joint", joint)):
            object.__setattr__(self, name, value)

    @property
    def q_labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Labels of the coordinates, atom by atom from the child."""
        return _backwards(self.joint.q_labels, [q_width(kind) for kind in self.joint.kinds])

    @property
    def v_labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """Labels of the velocities, atom by atom from the child."""
        return _backwards(self.joint.v_labels, [v_width(kind) for kind in self.joint.kinds])

    @property
    def kinds(self) -> tuple[int, ...]:
        return self.joint.kinds[::-1]

    def atoms(self) -> tuple[Atom, ...]:
        before: Pose = inverted(self.joint.tail())
        atoms = []
        for kind, E, r in reversed(self.joint.atoms()):
            axes, origin = _turned(before, kind)
            atoms.append(Atom(kind, axes, origin))
            before = chained((_turn(kind), np.zeros(3)), inverted((E, r)))
        return tuple(atoms)

    def tail(self) -> tuple[Array, Array]:
        kind, E, r = self.joint.atoms()[0]
        return chained((_turn(kind), np.zeros(3)), inverted((E, r)))

    def closure(self) -> tuple[Row, ...]:
        return self.joint.closure()


def _turn(kind: int) -> Array:
    return _HALF_TURN if kind in (REVOLUTE, PRISMATIC) else np.eye(3)


def _turned(pose: Pose, kind: int) -> Pose:
    return pose[0] @ _turn(kind), pose[1]


def _backwards(labels: tuple[str, ...], widths: list[int]) -> tuple[str, ...]:
    """The labels of the last atom first; those of one atom stay together."""
    ends = np.cumsum(widths).tolist()
    parts = [labels[end - width : end] for end, width in zip(ends, widths, strict=True)]
    return tuple(label for part in reversed(parts) for label in part)
