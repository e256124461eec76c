"""Where a joint sits on its two bodies, and what bodies owe each other there: the pieces that closures are made of.

The frame of an atom at q = 0 is fixed once in the parent (axes x, y, z, point o) and once in the child (axes x', y',
z', point o'). In the joint's neutral pose the two coincide; a closure keeps some of that in every pose.

    same point    o' = o                            3 POINT rows, along the world's axes
    same axis     z' . x = 0,  z' . y = 0           2 DOT rows
    same angle    x' . y = 0                        1 DOT row, beside the same axis: no turn about it
    on axis       x . (o' - o) = 0,  y . (...) = 0  2 PLANE rows
    in plane      z . (o' - o) = 0                  1 PLANE row

What it leaves free has a measure each, the coordinates that the joint would have in a tree:

    distance      z . (o' - o)                      along the axis of a slide
    angle         from x to x' about z              of a hinge

A DOT row vanishes for opposite axes too: of the two ways to put a closed mechanism together, the start decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.model.joints.base import Joint, Pose, chained, inverted
from mechgrad.model.primitives.frames import unit
from mechgrad.model.primitives.rows import ANGLE, DOT, PLANE, POINT, Place, Row, point, vector


class Seat(NamedTuple):
    """The frame of one atom of a joint at q = 0, on the parent and on the child.

    >>> from mechgrad.model import Revolute
    >>> pin = Revolute("pin", "crank", "rod", origin=(0.3, 0, 0), child_origin=(0.4, 0.2, 0.1))
    >>> seat = Seat.of(pin)
    >>> seat.parent_point.local.tolist(), seat.child_point.local.tolist()
    ([0.3, 0.0, 0.0], [0.4, 0.2, 0.1])
    >>> [row.label for row in (*seat.same_point(), *seat.same_axis())]
    ['point x', 'point y', 'point z', 'axis 1', 'axis 2']
    """

    parent: str
    child: str
    on_parent: Pose
    on_child: Pose

    @classmethod
    def of(cls, joint: Joint, number: int = -1) -> Seat:
        """Of the atom of this number, the last one unless another is asked for."""
        placements: list[Pose] = [(atom.E, atom.r) for atom in joint.atoms()]
        last = number % len(placements)
        on_parent = (np.eye(3), np.zeros(3))
        for placement in placements[: last + 1]:
            on_parent = chained(on_parent, placement)
        behind = (np.eye(3), np.zeros(3))
        for placement in (*placements[last + 1 :], joint.tail()):
            behind = chained(behind, placement)
        return cls(joint.parent, joint.child, on_parent, inverted(behind))

    @property
    def parent_point(self) -> Place:
        """o"""
        return point(self.parent, self.on_parent[1])

    @property
    def child_point(self) -> Place:
        """o'"""
        return point(self.child, self.on_child[1])

    def parent_axis(self, k: int) -> Place:
        """x, y or z."""
        return vector(self.parent, self.on_parent[0][:, k])

    def child_axis(self, k: int) -> Place:
        """x', y' or z'."""
        return vector(self.child, self.on_child[0][:, k])

    def same_point(self) -> tuple[Row, ...]:
        """o' = o"""
        places = (self.child_point, self.parent_point)
        axes = zip("xyz", np.eye(3), strict=True)
        return tuple(Row(POINT, places, direction=axis, label=f"point {name}") for name, axis in axes)

    def same_axis(self) -> tuple[Row, ...]:
        """z' . x = 0 and z' . y = 0"""
        return tuple(Row(DOT, (self.child_axis(2), self.parent_axis(k)), label=f"axis {k + 1}") for k in range(2))

    def same_angle(self) -> Row:
        """x' . y = 0"""
        return Row(DOT, (self.child_axis(0), self.parent_axis(1)), label="angle")

    def on_axis(self) -> tuple[Row, ...]:
        """x . (o' - o) = 0 and y . (o' - o) = 0"""
        return tuple(
            Row(PLANE, (self.parent_axis(k), self.child_point, self.parent_point), label=f"line {k + 1}")
            for k in range(2)
        )

    def distance(self) -> Row:
        """z . (o' - o): how far a slide has moved"""
        return self.in_plane()._replace(label="distance")

    def angle(self) -> Row:
        """From x to x' about z: how far a hinge has turned"""
        return Row(ANGLE, (self.parent_axis(0), self.child_axis(0), self.parent_axis(2)), label="angle")

    def in_plane(self) -> Row:
        """z . (o' - o) = 0"""
        return Row(PLANE, (self.parent_axis(2), self.child_point, self.parent_point), label="plane")


def between_axes(first: Seat, second: Seat) -> Row:
    """The axis of the parent and the one that goes with the child keep their angle: z1 . z2' = constant."""
    cosine = first.on_parent[0][:, 2] @ second.on_parent[0][:, 2]
    return Row(DOT, (first.parent_axis(2), second.child_axis(2)), constant=cosine, label="axes")


def angles_between(first: Seat, second: Seat) -> tuple[Row, Row]:
    """The angles of two hinges in a row, from the axis z1 of the parent and the axis z2' of the child alone:

        q1 from p to z2' about z1        p: z2 at q = 0, fixed in the parent, its part across z1
        q2 from z1 to p' about z2'       p': z1 at q = 0, fixed in the child, its part across z2'

    The second hinge leaves z2' where the first one turned it, and the first one leaves z1, which is what the second one
    turns back in the child's axes. Since p is perpendicular to z1, any angle between the axes will do.
    """
    z1, z2 = first.on_parent[0][:, 2], second.on_parent[0][:, 2]
    p = vector(first.parent, unit(z2 - (z1 @ z2) * z1))
    z1, z2 = first.on_child[0][:, 2], second.on_child[0][:, 2]
    back = vector(first.child, unit(z1 - (z1 @ z2) * z2))
    one = Row(ANGLE, (p, second.child_axis(2), first.parent_axis(2)), label="angle1")
    return one, Row(ANGLE, (first.parent_axis(2), back, second.child_axis(2)), label="angle2")
