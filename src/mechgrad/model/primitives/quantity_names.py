"""Quantities by name: coordinates of joints, in the tree or cut, and world components of points and vectors.

    "hinge", "strut.distance"    a coordinate of a hinge or slide (`model.q_names`), or of a joint that closes a loop
    "P.x", "body.com.z"          a world coordinate of a point [m]
    "axis1.y"                    a world component of a vector of the model, with the length it has there

A joint of the tree has its coordinates in q. One that is cut has none there; its coordinates are measures of its two
bodies (`Joint.coordinate_rows`), which forces push against, drivers move and assemblies hold like any other row. Its
angles come in (-pi, pi], since two bodies do not tell how often one has turned.

Where a `Row` counts on a name in `coordinates` that is not among the coordinates of the tree, `named_row` replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import DOT, LINEAR, POINT, Place, Row, point, vector

AXES = "xyz"


def quantity_row(model: NamedParts, where: Callable[[str], Place], name: str) -> Row | None:
    """The row that a name outside of the tree's coordinates stands for; None if there is nothing of that name."""
    return _of_cut_joint(model, name) or _component(model, where, name)


def named_row(model: NamedParts, where: Callable[[str], Place], row: Row) -> Row:
    """A LINEAR row of one name as the row that measures it: with its function, its label, and what is taken off."""
    ((name, _),) = row.coordinates
    found = quantity_row(model, where, name)
    if found is None:  # elements have been checked against the model
        raise KeyError(name)
    return found._replace(constant=found.constant + row.constant, function=row.function, label=row.label)


def resolved(model: NamedParts, where: Callable[[str], Place], row: Row) -> Row:
    """A row as kernels know it: `named_row` where it counts on a name that is no coordinate of the tree."""
    if row.kind != LINEAR or len(row.coordinates) != 1 or row.coordinates[0][0] in model.q_names:
        return row
    return named_row(model, where, row)


def cut_coordinates(model: NamedParts) -> Iterator[tuple[str, Row]]:
    """Coordinates of joints that close loops: their names, as `model.q_names` would have them, and their rows."""
    for joint in model.cut_joints:
        for label, row in zip(joint.q_labels, joint.coordinate_rows(), strict=False):  # none of balls and welds
            yield f"{joint.name}.{label}" if label else joint.name, row


def known_quantities(model: NamedParts) -> list[str]:
    """Everything that has a name here, for messages; of points and vectors the x component alone."""
    plain = [model.q_names[i] for i in model.layout.plain_q]
    markers = [*(p.name for p in model.points), *(u.name for u in model.vectors)]
    return [*plain, *(name for name, _ in cut_coordinates(model)), *(f"{marker}.x" for marker in markers)]


def _of_cut_joint(model: NamedParts, name: str) -> Row | None:
    return next((row for known, row in cut_coordinates(model) if known == name), None)


def _component(model: NamedParts, where: Callable[[str], Place], name: str) -> Row | None:
    marker, _, axis = name.rpartition(".")
    if axis not in tuple(AXES) or not marker:
        return None
    e: Any = tuple(np.eye(3)[AXES.index(axis)])
    for u in model.vectors:
        if u.name == marker:
            return Row(DOT, (vector(u.body, u.direction), vector("ground", np.array(e))), label=name)
    body, _, part = marker.rpartition(".")
    bodies = [b.name for b in model.bodies]
    if any(p.name == marker for p in model.points) or (part in ("origin", "com") and body in bodies):
        return Row(POINT, (where(marker), point("ground", np.zeros(3))), direction=e, label=name)
    return None
