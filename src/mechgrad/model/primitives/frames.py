"""Rotations of three-dimensional space, complex-safe: no conjugation, no absolute value.

Quaternions are (w, x, y, z). After a complex step x + ih through any function here, the imaginary part is h times
the derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.typing import Array, ArrayLike, Number

# Below this squared angle the half-angle functions are summed as series (7 terms; the next is below 1e-21).
_SERIES_LIMIT = 0.1
# Largest entries between these are squared as they are; others first divided by the largest.
_TINY, _HUGE = 1e-100, 1e100


def scaled(v: Array) -> tuple[Array, Array]:
    """v and the positive numbers it was divided by, so that its squares neither overflow nor vanish; by its last axis.

    A number that looks at real parts only: after a complex step it is a constant.
    """
    if v.ndim == 1:  # by far the most: a model has thousands of them, and Python is quicker for three numbers
        most = max(map(abs, v.real.tolist()), default=0.0)
        return (v, np.ones(1)) if most == 0.0 or _TINY < most < _HUGE else (v / most, np.full(1, most))
    largest = np.abs(v.real).max(axis=-1, keepdims=True, initial=0.0)
    size = np.where((largest == 0.0) | ((largest > _TINY) & (largest < _HUGE)), 1.0, largest)
    return (v / size if np.any(size != 1.0) else v), size


def norm(v: ArrayLike) -> Any:
    """Length sqrt(v . v), without conjugation so that it is analytic."""
    v, size = scaled(np.asarray(v))
    return np.sqrt(v @ v) * size[0]


def unit(v: ArrayLike) -> Array:
    """The vector of length one along v.

    >>> unit((3e200, 0, 4e200)).tolist()
    [0.6, 0.0, 0.8]
    """
    v, _ = scaled(np.asarray(v))
    result: Array = v / np.sqrt(v @ v)
    return result


def cross(a: Array, b: Array) -> Array:
    """Vector product a x b of two 3-vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(u: ArrayLike) -> Array:
    """Matrices (..., 3, 3) of the vector product: skew(u) @ v = u x v, for u (..., 3).

    >>> skew((1.0, 2.0, 3.0)) @ (0, 0, 1)
    array([ 2., -1.,  0.])
    """
    x, y, z = np.moveaxis(np.asarray(u), -1, 0)
    o = 0.0 * x
    rows = (np.stack(row, axis=-1) for row in ((o, -z, y), (z, o, -x), (-y, x, o)))
    return np.stack([*rows], axis=-2)


def axis_frame(axis: ArrayLike) -> Array:
    """A right-handed frame whose z is along the axis: columns x, y, z.

        z = w / |w|,  x = the coordinate axis least aligned with w, projected on the normal plane,  y = z x x

    The choice of x looks at real parts only, so a complex step does not change it.

    >>> axis_frame((3, 0, 4))[:, 2].tolist()
    [0.6, 0.0, 0.8]
    """
    z = unit(axis)
    least = int(np.argmin(np.abs(z.real)))
    x = -z[least] * z
    x[least] += 1.0
    x = unit(x)
    return np.stack([x, cross(z, x), z], axis=1)


def rotation_x(angle: Number) -> Array:
    """Rotation by an angle [rad] about x."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: Number) -> Array:
    """Rotation by an angle [rad] about y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: Number) -> Array:
    """Rotation by an angle [rad] about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def axis_angle_to_matrix(axis: ArrayLike, angle: Number) -> Array:
    """Rot(w, phi) = cos phi 1 + (1 - cos phi) w w^T + sin phi skew(w), with w normalised here."""
    w = unit(axis)
    c, s = np.cos(angle), np.sin(angle)
    result: Array = c * np.eye(3) + (1.0 - c) * np.outer(w, w) + s * skew(w)
    return result


def quaternion_to_matrix(e: ArrayLike) -> Array:
    """Rotation matrix of the quaternion e / |e|, e = (w, x, y, z) of any non-zero length; batched over leading axes.

    >>> quaternion_to_matrix((2, 0, 0, 0)).diagonal()
    array([1., 1., 1.])
    """
    e, _ = scaled(np.asarray(e))
    w, x, y, z = np.moveaxis(e, -1, 0)
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return np.stack(
        [
            np.stack([1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)], axis=-1),
            np.stack([s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)], axis=-1),
            np.stack([s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)], axis=-1),
        ],
        axis=-2,
    )


def quaternion_product(a: ArrayLike, b: ArrayLike) -> Array:
    """The quaternion of R(a) R(b): first b, then a; batched over leading axes.

    >>> quaternion_product((1, 0, 0, 0), (0, 0, 0, 1))
    array([0, 0, 0, 1])
    """
    aw, ax, ay, az = np.moveaxis(np.asarray(a), -1, 0)
    bw, bx, by, bz = np.moveaxis(np.asarray(b), -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def rotated(e: ArrayLike, x: ArrayLike, way: float = 1.0) -> Array:
    """R(e) x, or R(e)^T x for way = -1; e (..., 4) of any non-zero length, x (..., 3).

        R(e) x = x + 2 (w c + v x c) / e.e,   c = v x x,   e = (w, v)

    >>> rotated((1, 0, 0, 1), (2.0, 0.0, 0.0))          # a quarter turn about z
    array([0., 2., 0.])
    """
    e, _ = scaled(np.asarray(e))
    x = np.asarray(x)
    across = np.cross(e[..., 1:], x) * (2.0 / np.sum(e * e, axis=-1, keepdims=True))
    result: Array = x + way * e[..., :1] * across + np.cross(e[..., 1:], across)
    return result


def rotation_vector_to_quaternion(theta: ArrayLike) -> Array:
    """Exponential map: the unit quaternion of a rotation by |theta| [rad] about theta; batched over leading axes.

        e = (cos(x/2), theta sin(x/2) / x),   x^2 = theta . theta

    Analytic at theta = 0, where the imaginary part of a complex step of 1e-30 is the exact derivative.
    """
    theta = np.asarray(theta)
    x2 = np.asarray((theta * theta).sum(axis=-1))
    small = np.abs(x2.real) + np.abs(x2.imag) < _SERIES_LIMIT
    x2_small = np.where(small, x2, 0.0)
    x = np.sqrt(np.where(small, 1.0, x2))
    half_cos = np.where(small, _half_cosine_series(x2_small), np.cos(0.5 * x))
    half_sinc = np.where(small, _half_sinc_series(x2_small), np.sin(0.5 * x) / x)
    return np.concatenate([half_cos[..., None], half_sinc[..., None] * theta], axis=-1)


def rotation_vector_to_matrix(theta: ArrayLike) -> Array:
    """Exponential map: the rotation by |theta| [rad] about theta, as a matrix."""
    return quaternion_to_matrix(rotation_vector_to_quaternion(theta))


def rpy_to_quaternion(roll: Number, pitch: Number, yaw: Number) -> Array:
    """The quaternion of Rz(yaw) Ry(pitch) Rx(roll): angles [rad] about the fixed axes x, y, z, in this order."""
    x = np.array([np.cos(0.5 * roll), np.sin(0.5 * roll), 0.0, 0.0])
    y = np.array([np.cos(0.5 * pitch), 0.0, np.sin(0.5 * pitch), 0.0])
    z = np.array([np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)])
    return quaternion_product(z, quaternion_product(y, x))


def _half_cosine_series(x2: Array) -> Array:
    """cos(x/2) as a series in x^2: sum of (-x^2/4)^k / (2k)!."""
    y = -0.25 * x2
    return 1.0 + y / 2 * (1.0 + y / 12 * (1.0 + y / 30 * (1.0 + y / 56 * (1.0 + y / 90 * (1.0 + y / 132)))))


def _half_sinc_series(x2: Array) -> Array:
    """sin(x/2)/x as a series in x^2: 1/2 sum of (-x^2/4)^k / (2k+1)!."""
    y = -0.25 * x2
    return 0.5 * (1.0 + y / 6 * (1.0 + y / 20 * (1.0 + y / 42 * (1.0 + y / 72 * (1.0 + y / 110 * (1.0 + y / 156))))))
