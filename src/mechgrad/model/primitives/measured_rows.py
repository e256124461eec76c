"""Rows that measures, constraints and forces have in common: one statement of each, whoever holds or pushes it.

    |x_a - x_b|          n . (x - x_plane)          atan2(w . (u_a x u_b), u_a . u_b)          q

`more` are the other fields of a `Row`: what is taken off, a function of time, a label of its own.
"""

from __future__ import annotations

from typing import Any

from mechgrad.model.primitives.attached import Where
from mechgrad.model.primitives.rows import ANGLE, DISTANCE, LINEAR, PLANE, Row, RowMeasure


def distance_row(where: Where, point_a: str, point_b: str, **more: Any) -> Row:
    """The distance of two points [m]."""
    return Row(DISTANCE, (where(point_a), where(point_b)), **{"label": "distance", **more})


def height_row(where: Where, point: str, plane_point: str, normal: str, **more: Any) -> Row:
    """The height of a point over a plane [m]."""
    return Row(PLANE, (where(normal), where(point), where(plane_point)), **{"label": "height", **more})


def angle_row(where: Where, vector_a: str, vector_b: str, axis: str, **more: Any) -> Row:
    """The angle from one vector to another about an axis [rad]."""
    return Row(ANGLE, (where(vector_a), where(vector_b), where(axis)), **{"label": "angle", **more})


def coordinate_row(coordinate: str, **more: Any) -> Row:
    """A coordinate of a hinge or a slide [rad or m], or any quantity that has a name (`quantity_names`)."""
    return Row(LINEAR, coordinates=((coordinate, 1.0),), **{"label": "coordinate", **more})


def measured_row(where: Where, quantity: str | RowMeasure, **more: Any) -> Row:
    """A quantity by name, or a measure that is one row, less `constant` and `function`."""
    if isinstance(quantity, str):
        return coordinate_row(quantity, **more)
    row: Row = quantity.row(where)
    constant = row.constant + more.pop("constant", 0.0)
    return row._replace(constant=constant, **{"label": "coordinate", **more})
