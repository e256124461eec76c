"""Rotations of axes: a frame is its three unit axes x, y, z as columns (R = [x y z]), in world components."""

from __future__ import annotations

from mechgrad.kernels.elementary import reciprocal
from mechgrad.kernels.jit import inlined
from mechgrad.kernels.vec3 import add, combine, scale, sub


@inlined
def turn_z(sine, cosine, x, y):
    """Axes x, y after a turn about z by the angle with this sine and cosine: R <- R Rz(angle)."""
    return add(scale(cosine, x), scale(sine, y)), sub(scale(cosine, y), scale(sine, x))


@inlined
def turn_quaternion(e0, e1, e2, e3, x, y, z):
    """Axes after R <- R A(e), A the rotation of the Euler parameters e = (e0, e1, e2, e3) of any non-zero length.

    A(e) = A(e/|e|): dividing by e.e instead of normalising makes the partial derivative along e vanish off the unit
    sphere too, which tangents and complex steps rely on.
    """
    s = 2.0 * reciprocal(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    s1, s2, s3 = s * e1, s * e2, s * e3
    xx, yy, zz = s1 * e1, s2 * e2, s3 * e3
    xy, xz, yz = s1 * e2, s1 * e3, s2 * e3
    wx, wy, wz = s1 * e0, s2 * e0, s3 * e0
    return (
        combine(1.0 - (yy + zz), xy + wz, xz - wy, x, y, z),
        combine(xy - wz, 1.0 - (xx + zz), yz + wx, x, y, z),
        combine(xz + wy, yz - wx, 1.0 - (xx + yy), x, y, z),
    )
