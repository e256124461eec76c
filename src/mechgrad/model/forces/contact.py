"""What contacts share: plausible numbers, and the row that measures the height of a wheel."""

from __future__ import annotations

from mechgrad.errors import ValueRangeError
from mechgrad.model.primitives.attached import Where, check_not_negative, check_positive
from mechgrad.model.primitives.fields import brief, where
from mechgrad.model.primitives.rows import CIRCLE, ROLL_ACROSS, ROLL_ALONG, Row
from mechgrad.typing import Number


def check_contact(obj: object, exponent: Number) -> None:
    """Raise unless the normal force is one that pushes, and grows at least linearly."""
    check_positive(obj, "radius", "stiffness")
    check_not_negative(obj, "damping")
    if not exponent.real >= 1.0:
        raise ValueRangeError(
            f"{where(obj)}: exponent = {brief(exponent)} must be at least 1; below, the stiffness is infinite at the "
            "first touch. 1 is linear, 1.5 a sphere (Hertz)."
        )


def wheel_rows(
    where: Where, centre: str, axis: str, plane_point: str, normal: str, radius: Number
) -> tuple[Row, Row, Row]:
    """Height of a wheel over a plane, and the velocities of its lowest point along and across its track."""
    x, w, n = where(centre), where(axis), where(normal)
    return (
        Row(CIRCLE, (x, where(plane_point), n, w), radius=radius, label="height"),
        Row(ROLL_ALONG, (x, n, w), radius=radius, label="slip along"),
        Row(ROLL_ACROSS, (x, n, w), radius=radius, label="slip across"),
    )
