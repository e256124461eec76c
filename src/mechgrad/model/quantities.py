"""Distances and angles that a user names, recognised among the coordinates of joints.

A distance or an angle between two bodies *is* a coordinate of the joint between them if it follows it everywhere:

    g(q) = offset + sign q_k,      sign = 1 or -1

which is tried at a few positions of the joint. What is no coordinate stays a measure of the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from mechgrad.errors import ValueRangeError, unknown_name
from mechgrad.model.frames import cross, norm, rotation_z
from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE, Joint, Pose, chained
from mechgrad.model.model import Model
from mechgrad.model.rows import ANGLE, DISTANCE, LINEAR, Place, Row
from mechgrad.typing import Array, Number

# Positions at which a quantity is compared with a coordinate (fractions of the largest step), and how well they agree.
_TRIALS = np.array([[0.31, 0.87, 0.53], [0.74, 0.29, 0.91], [0.59, 0.62, 0.17]])
_AGREEMENT = 1e-9


@final
@dataclass(frozen=True, slots=True)
class UserDistance:
    """The distance of two points, under a name: g = |x_a - x_b| [m].

    Where it is the coordinate of a slide it is counted with its sign, on from the drawing's side of zero.

    >>> UserDistance("cylinder end", "piston", "stroke").name
    'stroke'
    """

    point_a: str
    point_b: str
    name: str


@final
@dataclass(frozen=True, slots=True)
class UserAngle:
    """The angle from one vector to another about an axis, under a name [rad].

        g = atan2(w . (u_a x u_b), u_a . u_b)

    >>> UserAngle("x of frame", "arm of crank", "axis", "crank angle").name
    'crank angle'
    """

    vector_a: str
    vector_b: str
    axis: str
    name: str


Quantity = UserDistance | UserAngle
"""What a user may name and measure."""


class UserCoordinate(NamedTuple):
    """A user's quantity that is a coordinate of the model: g = offset + sign q.

    >>> stroke = UserCoordinate("slide", -1.0, 0.4)
    >>> stroke.coordinate, round(stroke.offset + stroke.sign * 0.1, 12)
    ('slide', 0.3)
    """

    coordinate: str
    sign: float
    offset: Number


def check_quantity(quantity: Quantity, points: Mapping[str, Any], vectors: Mapping[str, Any]) -> None:
    """Raise unless the drawing has what is measured."""
    known, fields, noun = (
        (points, ("point_a", "point_b"), "point")
        if isinstance(quantity, UserDistance)
        else (vectors, ("vector_a", "vector_b", "axis"), "vector")
    )
    for field in fields:
        if getattr(quantity, field) not in known:
            raise unknown_name(noun, getattr(quantity, field), known, repr(quantity))


def measured(
    model: Model, quantity: Quantity, places: Callable[[str], Sequence[Place]]
) -> tuple[Row, UserCoordinate | None]:
    """The row that measures a quantity, and the coordinate that it is, if there is one.

    `places` lists where a name of the drawing sits, once for each body that owns it.
    """
    choices: list[tuple[Place, ...]]
    if isinstance(quantity, UserDistance):
        choices = [(a, b) for a in places(quantity.point_a) for b in places(quantity.point_b) if a.body != b.body]
        kind, label = DISTANCE, "distance"
    else:
        choices = [
            (a, b, w)
            for a in places(quantity.vector_a)
            for b in places(quantity.vector_b)
            for w in places(quantity.axis)
            if a.body != b.body and w.body in (a.body, b.body)
        ]
        kind, label = ANGLE, "angle"
    if not choices:
        raise ValueRangeError(
            f"{quantity!r} measures nothing that could move: its ends are on one body, or its axis is on neither of "
            "their bodies. Add the names to the bodies they are fixed to, or remove it."
        )
    for joint in (model.joint(joint.name) for joint in model.tree_joints):
        for choice in choices:
            if {choice[0].body, choice[1].body} == {joint.parent, joint.child}:
                found = _identified(joint, choice)
                if found is not None:
                    terms = ((found.coordinate, found.sign),)
                    return Row(LINEAR, (), -found.offset, coordinates=terms, label=label), found
    return Row(kind, choices[0], label=label), None


def _identified(joint: Joint, places: Sequence[Place]) -> UserCoordinate | None:
    if BALL in joint.kinds:
        return None

    def value(q: Array) -> Any:
        on = {joint.parent: (np.eye(3), np.zeros(3)), joint.child: _pose(joint, q)}
        x = [on[p.body][0] @ p.local + (on[p.body][1] if p.is_point else 0.0) for p in places]
        return norm(x[0] - x[1]) if len(x) == 2 else _angle(x[2] @ cross(x[0], x[1]), x[0] @ x[1])

    start = value(np.zeros(joint.n_q))
    # a distance is followed on its own side of zero only
    largest = 0.5 * start.real if len(places) == 2 and start.real > _AGREEMENT else 0.5
    trials = [largest * trial[: joint.n_q] for trial in _TRIALS]
    changes = [_wrapped(value(q).real - start.real) if len(places) == 3 else value(q).real - start.real for q in trials]
    for k, label in enumerate(joint.q_labels):
        for sign in (1.0, -1.0):
            misses = [change - sign * q[k] for change, q in zip(changes, trials, strict=True)]
            if max(map(abs, misses)) < _AGREEMENT * max(1.0, start.real):
                return UserCoordinate(f"{joint.name}.{label}" if label else joint.name, sign, start)
    return None


def _pose(joint: Joint, q: Array) -> Pose:
    """Of the child in the parent, for a joint of hinges and slides."""
    pose: Pose = (np.eye(3), np.zeros(3))
    numbers = iter(q)
    for kind, E, r in joint.atoms():
        pose = chained(pose, (E, r))
        if kind == REVOLUTE:
            pose = chained(pose, (rotation_z(next(numbers)), np.zeros(3)))
        elif kind == PRISMATIC:
            pose = chained(pose, (np.eye(3), np.array([0.0, 0.0, next(numbers)])))
    return chained(pose, joint.tail())


def _angle(sine: Any, cosine: Any) -> Any:
    """atan2, complex-safe: the real angle is taken off first, the rest is small and analytic."""
    base = np.arctan2(sine.real, cosine.real)
    c, s = np.cos(base), np.sin(base)
    return base + np.arctan((sine * c - cosine * s) / (cosine * c + sine * s))


def _wrapped(angle: float) -> float:
    """Into -pi to pi."""
    return float(np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi)
