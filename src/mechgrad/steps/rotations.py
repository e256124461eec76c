"""Rotations between two instants: a polynomial of rotation vectors from the first attitude, whose ends have the angular
velocities and accelerations that are given.

    R(u) = Exp(d(u)) R0,      w(u) = J(d) d'(u) / h,      J = 1 + c1 skew(d) + c2 skew(d)^2
"""

from __future__ import annotations

from math import factorial

import numpy as np

from mechgrad.model.primitives.frames import quaternion_product, rotation_vector_to_quaternion, skew
from mechgrad.typing import Array, FloatArray

TERMS = 20  # of series in the square of an angle up to pi: the next is below 1e-27
C1 = np.array([(-1.0) ** k / factorial(2 * k + 2) for k in range(TERMS)])  # (1 - cos x) / x^2
C2 = np.array([(-1.0) ** k / factorial(2 * k + 3) for k in range(TERMS)])  # (x - sin x) / x^3
ARCSINE = np.array([factorial(2 * k) / (4.0**k * factorial(k) ** 2 * (2 * k + 1)) for k in range(9)])
SMALL = 1e-2  # squares of sines below which the arcsine is summed as a series


def balls_between(ends: list[Array], h: FloatArray, H: FloatArray, slope: FloatArray) -> tuple[Array, Array]:
    """Euler parameters (S, balls, 4) and angular velocities (S, balls, 3) in parent axes."""
    e0, w0, a0, e1, w1, a1 = ends
    h = h[:, None, None]
    end = _log(e0, e1)
    J = _jacobian(end)
    rate = np.linalg.solve(J, (h * w1)[..., None])[..., 0]
    second = np.linalg.solve(J, (h * h * a1 - _jacobian_rate(end, rate))[..., None])[..., 0]
    given = np.stack([h * w0, h * h * a0, end, rate, second])
    d, dd = (np.einsum("ks,ksbi->sbi", x, given) for x in (H, slope))
    turned = quaternion_product(rotation_vector_to_quaternion(d), e0)
    return turned, (_jacobian(d) @ dd[..., None])[..., 0] / h


def _log(e0: Array, e1: Array) -> Array:
    """The rotation vector, in parent axes, of the shortest turn from e0 to e1 (unit Euler parameters)."""
    back = e0 * np.array([1.0, -1.0, -1.0, -1.0])
    r = quaternion_product(e1, back)
    r = np.where(r[..., :1].real < 0.0, -r, r)
    w, sine = r[..., :1], r[..., 1:]
    x = np.sum(sine * sine, axis=-1, keepdims=True)
    small = x.real < SMALL
    size = np.sqrt(np.where(small, 1.0, x))
    by_series = np.polynomial.polynomial.polyval(np.where(small, x, 0.0), ARCSINE)
    by_angle = np.arctan(size / np.where(small, 1.0, w)) / size
    return np.asarray(2.0 * sine * np.where(small, by_series, by_angle))


def _coefficients(d: Array) -> tuple[Array, Array]:
    x = np.sum(d * d, axis=-1, keepdims=True)
    c1, c2 = (np.polynomial.polynomial.polyval(x, c) for c in (C1, C2))
    return np.asarray(c1), np.asarray(c2)


def _jacobian(d: Array) -> Array:
    """J(d) (..., 3, 3): angular velocities in parent axes of d that changes."""
    c1, c2 = _coefficients(d)
    S = skew(d)
    return np.asarray(np.eye(3) + c1[..., None] * S + c2[..., None] * (S @ S))


def _jacobian_rate(d: Array, dd: Array) -> Array:
    """(dJ/dt) d' where d changes with d'."""
    x = np.sum(d * d, axis=-1, keepdims=True)
    by_x = [np.polynomial.polynomial.polyval(x, np.polynomial.polynomial.polyder(c)) for c in (C1, C2)]
    _, c2 = _coefficients(d)
    x_rate = 2.0 * np.sum(d * dd, axis=-1, keepdims=True)
    across = np.cross(d, dd)
    return np.asarray(x_rate * (by_x[0] * across + by_x[1] * np.cross(d, across)) + c2 * np.cross(dd, across))


def small_turn(e: FloatArray, de: FloatArray) -> FloatArray:
    """The small rotation in parent axes that a change of unit Euler parameters is."""
    back = e * np.array([1.0, -1.0, -1.0, -1.0])
    return np.asarray(2.0 * quaternion_product(de, back)[..., 1:])
