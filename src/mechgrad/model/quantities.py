"""Measures of a drawing, recognised among the coordinates of joints.

A distance or an angle between two bodies *is* a coordinate of the joint between them if it follows it everywhere:

    g(q) = offset + sign q_k,      sign = 1 or -1

which is tried at a few positions of the joint. What is no coordinate stays a measure of the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mechgrad.errors import ValueRangeError, unknown_name
from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE, Joint, Pose, chained
from mechgrad.model.primitives.frames import rotation_z
from mechgrad.model.primitives.rows import ANGLE, DISTANCE, LINEAR, DrawnMeasure, Place, Row
from mechgrad.typing import Array, Number

if TYPE_CHECKING:
    from mechgrad.model.model import Model

# Positions at which a quantity is compared with a coordinate (fractions of the largest step), and how well they agree.
_TRIALS = np.array([[0.31, 0.87, 0.53], [0.74, 0.29, 0.91], [0.59, 0.62, 0.17]])
_AGREEMENT = 1e-9


class UserCoordinate(NamedTuple):
    """A user's quantity that is a coordinate of the model: g = offset + sign q.

    >>> stroke = UserCoordinate("slide", -1.0, 0.4)
    >>> stroke.coordinate, round(stroke.offset + stroke.sign * 0.1, 12)
    ('slide', 0.3)
    """

    coordinate: str
    sign: float
    offset: Number


def check_quantity(quantity: DrawnMeasure, points: Mapping[str, Any], vectors: Mapping[str, Any]) -> None:
    """Raise unless the drawing has what is measured."""
    for f in fields(quantity):  # type: ignore[arg-type]
        noun = f.metadata.get("refers")
        if noun in ("point", "vector"):
            known = points if noun == "point" else vectors
            if getattr(quantity, f.name) not in known:
                raise unknown_name(noun, getattr(quantity, f.name), known, repr(quantity))


def measured(
    model: Model, quantity: DrawnMeasure, places: Callable[[str], Sequence[Place]]
) -> tuple[Row, UserCoordinate | None]:
    """The row that measures a quantity, and the coordinate that it is, if there is one.

    `places` lists where a name of the drawing sits, once for each body that owns it.
    """
    names = quantity.markers
    every = (dict(zip(names, choice, strict=True)) for choice in product(*(places(name) for name in names)))
    choices = [
        choice
        for choice in every
        if choice[names[0]].body != choice[names[1]].body and len({place.body for place in choice.values()}) == 2
    ]
    if not choices:
        raise ValueRangeError(
            f"{quantity!r} measures nothing that could move: its ends are on one body, or its axis is on neither of "
            "their bodies. Add the names to the bodies they are fixed to, or remove it."
        )
    for joint in (model.joint(joint.name) for joint in model.tree_joints):
        for choice in choices:
            if {place.body for place in choice.values()} == {joint.parent, joint.child}:
                found = _identified(joint, quantity, choice)
                if found is not None:
                    terms = ((found.coordinate, found.sign),)
                    label = quantity.row(choice.__getitem__).label
                    return Row(LINEAR, (), -found.offset, coordinates=terms, label=label), found
    return quantity.row(choices[0].__getitem__), None


def _identified(joint: Joint, quantity: DrawnMeasure, choice: Mapping[str, Place]) -> UserCoordinate | None:
    if BALL in joint.kinds:
        return None
    kind = quantity.row(choice.__getitem__).kind

    def value(q: Array) -> Any:
        on = {joint.parent: (np.eye(3), np.zeros(3)), joint.child: _pose(joint, q)}
        x = [on[p.body][0] @ p.local + (on[p.body][1] if p.is_point else 0.0) for p in choice.values()]
        return quantity.function(*(part[None] for part in x))[0]

    start = value(np.zeros(joint.n_q))
    # a distance is followed on its own side of zero only
    largest = 0.5 * start.real if kind == DISTANCE and start.real > _AGREEMENT else 0.5
    trials = [largest * trial[: joint.n_q] for trial in _TRIALS]
    changes = [_wrapped(value(q).real - start.real) if kind == ANGLE else value(q).real - start.real for q in trials]
    for k, label in enumerate(joint.q_labels):
        for sign in (1.0, -1.0):
            misses = [change - sign * q[k] for change, q in zip(changes, trials, strict=True)]
            if max(map(abs, misses)) < _AGREEMENT * max(1.0, abs(start.real)):
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


def _wrapped(angle: float) -> float:
    """Into -pi to pi."""
    return float(np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi)
