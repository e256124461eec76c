"""What contacts share: the force along the normal, plausible numbers, and the rows of a wheel on a plane.

    N = K d^n (1 + D d') + V, never below zero
    V = c(d') d' s(d),   c = D_r + (D_c - D_r) (1 + tanh(d' / v_0)) / 2
    s = u^2 (3 - 2 u), u = d / d_0, and 1 beyond d_0

d is the depth, d' the speed of approach of the material points in touch. D (`damping`) is the loss of Hunt and
Crossley, which fades with the depth; V is that of Kelvin and Voigt with coefficients of its own for compression, D_c,
and restitution, D_r. Without the onset s it would jump at the first touch, without the blend it would kink at d' = 0:
both are smooth here, over d_0 = `damping_depth` and v_0 = `damping_speed`. Two kinks remain: the first touch d = 0
(where N is C0 for n = 1, C1 up to 2, C2 beyond, and V is C1), and the end of a push, where N would turn negative in
a fast rebound (C0). Explicit steps under error control end at both.
"""

from __future__ import annotations

from mechgrad.errors import ValueRangeError
from mechgrad.model.primitives.attached import Where, check_not_negative, check_positive
from mechgrad.model.primitives.fields import brief, where
from mechgrad.model.primitives.rows import CIRCLE, ROLL_ACROSS, ROLL_ALONG, Row
from mechgrad.typing import Number


def check_contact(obj: object, exponent: Number) -> None:
    """Raise unless the normal force is one that pushes, and grows at least linearly."""
    check_positive(obj, "radius", "stiffness", "damping_depth", "damping_speed")
    check_not_negative(obj, "damping", "compression_damping", "restitution_damping")
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
