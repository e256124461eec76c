"""The rotation group in kernels against scipy, closed forms and complex steps."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_scalars import NAMES, SCALARS, compiled, on_every_scalar
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from mechgrad.kernels.lanes import store
from mechgrad.kernels.rotation import (
    angle_factors,
    cross_polynomial,
    exponential,
    get4,
    no_rotation,
    product,
    pure_product,
    pure_product_back,
    put4,
    rotated,
    unit,
)
from mechgrad.kernels.vec3 import get3, put3
from mechgrad.model.primitives.frames import quaternion_product, rotation_vector_to_quaternion, skew

TOLERANCE = 1e-14
ANGLES = [0.0, 1e-9, 0.05, 0.0999, 0.1001, 0.1999, 0.2001, 1.0, 3.0]  # on both sides of where series end


def _products(scalar, a, b, x, out):
    put4(out, 0, product(get4(a, 0, scalar), get4(b, 0, scalar)))
    put4(out, 4, pure_product(get3(x, 0, scalar), get4(b, 0, scalar)))
    put3(out, 8, pure_product_back(get4(a, 0, scalar), get4(b, 0, scalar)))
    put3(out, 11, rotated(get4(a, 0, scalar), get3(x, 0, scalar), 1.0))
    put3(out, 14, rotated(get4(a, 0, scalar), get3(x, 0, scalar), -1.0))
    put4(out, 17, unit(get4(a, 0, scalar)))
    store(out, 21, no_rotation(get4(a, 0, scalar)))


PRODUCTS = on_every_scalar(_products)


@compiled
def exponential_of(d, out):
    out[0], out[1], out[2], out[3] = exponential((d[0], d[1], d[2]))


@compiled
def maps_of(d, x, out):
    d3, x3 = (d[0], d[1], d[2]), (x[0], x[1], x[2])
    a, b, c = angle_factors(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    out[0], out[1], out[2] = cross_polynomial(d3, a, b, x3)
    out[3], out[4], out[5] = cross_polynomial(d3, b, c, x3)


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_products_are_those_of_rotations(scalar) -> None:
    rng = np.random.default_rng(1)
    a, b = (
        3.0 * Rotation.random(scalar.width, rng=rng).as_quat(scalar_first=True).reshape(-1, 4),
        rng.standard_normal((scalar.width, 4)),
    )
    x = rng.standard_normal((scalar.width, 3))
    out = np.empty(22 * scalar.width, scalar.dtype)
    PRODUCTS[scalar.name](scalar.slots(a), scalar.slots(b), scalar.slots(x), out)
    got = scalar.samples(out, 22)
    pure = np.column_stack([np.zeros(scalar.width), x])
    R = Rotation.from_quat(a, scalar_first=True).as_matrix()
    np.testing.assert_allclose(got[:, :4], quaternion_product(a, b), rtol=0, atol=10 * TOLERANCE)
    np.testing.assert_allclose(got[:, 4:8], quaternion_product(pure, b), rtol=0, atol=10 * TOLERANCE)
    np.testing.assert_allclose(got[:, 11:14], (R @ x[..., None])[..., 0], rtol=0, atol=10 * TOLERANCE)
    np.testing.assert_allclose(got[:, 14:17], (R.swapaxes(1, 2) @ x[..., None])[..., 0], rtol=0, atol=10 * TOLERANCE)
    np.testing.assert_allclose(got[:, 17:21], a / 3.0, rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(got[:, 21], 0.0)
    # the transpose: y . ((0, z) e) = z . back for every z
    for z in np.eye(3):
        turned = quaternion_product(np.broadcast_to(np.append(0.0, z), b.shape), b)
        np.testing.assert_allclose(got[:, 8:11] @ z, np.sum(a * turned, axis=1), rtol=0, atol=10 * TOLERANCE)


@pytest.mark.parametrize("e", [(0.0, 0.0, 0.0, 0.0), (np.inf, 0.0, 0.0, 1.0), (np.nan, 1.0, 0.0, 0.0)])
def test_what_is_no_rotation_is_not_a_number(e) -> None:
    scalar, out = SCALARS[0], np.empty(22)
    PRODUCTS["one"](scalar.slots(np.array([e])), np.ones(4), np.ones(3), out)
    assert np.isnan(out[21])


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential_map_on_both_sides_of_its_series(angle: float) -> None:
    axis = np.array([0.6, -0.48, 0.64])
    out = np.empty(4)
    exponential_of(angle * axis, out)
    wanted = np.append(np.cos(angle / 2), axis * np.sin(angle / 2))
    np.testing.assert_allclose(out, wanted, rtol=0, atol=5e-16)
    np.testing.assert_allclose(out, rotation_vector_to_quaternion(angle * axis), rtol=0, atol=5e-16)


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential_map_by_complex_step_is_its_derivative(angle: float) -> None:
    axis, way, h = np.array([0.6, -0.48, 0.64]), np.array([0.3, 0.5, -0.2]), 1e-30
    out = np.empty(4, complex)
    exponential_of(angle * axis + 1j * h * way, out)
    # d Exp(d) = (0, D dd) Exp(d) / 2
    x = np.empty(6)
    maps_of(angle * axis, way, x)
    wanted = 0.5 * quaternion_product(np.append(0.0, x[3:]), out.real)
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(out.imag / h, wanted, rtol=0, atol=8e-16)


@pytest.mark.parametrize("angle", ANGLES)
def test_rotation_and_its_tangent_are_power_series_of_the_cross_product(angle: float) -> None:
    """exp([d x]) and (exp([d x]) - 1) / [d x] = sum [d x]^k / (k + 1)!, from one exponential of a larger matrix."""
    d, x, out = angle * np.array([0.6, -0.48, 0.64]), np.array([0.3, 0.5, -0.2]), np.empty(6)
    maps_of(d, x, out)
    larger = np.zeros((6, 6))
    larger[:3, :3], larger[:3, 3:] = skew(d), np.eye(3)
    both = expm(larger)
    np.testing.assert_allclose(out[:3], both[:3, :3] @ x, rtol=0, atol=5e-15)
    np.testing.assert_allclose(out[3:], both[:3, 3:] @ x, rtol=0, atol=5e-15)
