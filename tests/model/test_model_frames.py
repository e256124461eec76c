import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from mechgrad.model.primitives import frames

H = 1e-30


def scipy_matrix(e):
    return Rotation.from_quat(np.roll(e, -1, axis=-1)).as_matrix()


@pytest.mark.parametrize("axis", [(0, 0, 2), (1, 0, 0), (0, -3, 0), (1, 1, 1), (0.3, -0.2, 5.0), (-1e-8, 1, 1e-8)])
def test_axis_frame_is_a_right_handed_frame_with_z_along_the_axis(axis):
    E = frames.axis_frame(axis)
    assert_allclose(E.T @ E, np.eye(3), atol=1e-15)
    assert np.linalg.det(E) == pytest.approx(1.0)
    assert_allclose(E[:, 2], np.array(axis) / np.linalg.norm(axis), atol=1e-15)


def test_axis_frame_takes_x_from_the_coordinate_axis_least_aligned_with_the_axis():
    z = np.array([3.0, 0.5, -2.0]) / np.linalg.norm([3.0, 0.5, -2.0])
    x = np.array([0, 1, 0]) - z[1] * z
    assert_allclose(frames.axis_frame((3, 0.5, -2))[:, 0], x / np.linalg.norm(x), atol=1e-15)


def test_rotations_about_coordinate_axes_agree_with_scipy():
    for letter, rotation in zip("xyz", (frames.rotation_x, frames.rotation_y, frames.rotation_z), strict=True):
        assert_allclose(rotation(0.7), Rotation.from_euler(letter, 0.7).as_matrix(), atol=1e-15)


def test_axis_angle_agrees_with_scipy_for_an_axis_of_any_length():
    axis = np.array([1.0, -2.0, 0.5])
    expected = Rotation.from_rotvec(1.3 * axis / np.linalg.norm(axis)).as_matrix()
    assert_allclose(frames.axis_angle_to_matrix(7 * axis, 1.3), expected, atol=1e-15)


def test_quaternion_to_matrix_agrees_with_scipy_for_any_length_and_batched():
    e = np.random.default_rng(1).normal(size=(5, 2, 4)) * 3
    assert_allclose(frames.quaternion_to_matrix(e), scipy_matrix(e.reshape(-1, 4)).reshape(5, 2, 3, 3), atol=1e-14)


def test_quaternion_product_composes_rotations_right_one_first():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 6, 4))
    product = frames.quaternion_to_matrix(frames.quaternion_product(a, b))
    assert_allclose(product, scipy_matrix(a) @ scipy_matrix(b), atol=1e-14)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-3, 0.3, 0.3163, 2.0, 3.1, 7.0])
def test_exponential_map_agrees_with_scipy_on_both_sides_of_the_series_limit(size):
    theta = size * np.array([2.0, -1.0, 2.0]) / 3
    assert_allclose(frames.rotation_vector_to_matrix(theta), Rotation.from_rotvec(theta).as_matrix(), atol=1e-14)
    e = frames.rotation_vector_to_quaternion(theta)
    assert e @ e == pytest.approx(1.0, abs=1e-15)


def test_series_and_closed_form_of_the_exponential_meet_at_the_limit():
    limit = np.sqrt(frames._SERIES_LIMIT)
    below, above = (frames.rotation_vector_to_quaternion([0, 0, limit * (1 + s * 1e-15)]) for s in (-1, 1))
    assert_allclose(below, above, atol=1e-15)
    assert_allclose(below, [np.cos(limit / 2), 0, 0, np.sin(limit / 2)], atol=1e-15)


def test_exponential_map_has_its_exact_derivative_at_zero_by_a_complex_step_of_1e_minus_30():
    for i in range(3):
        e = frames.rotation_vector_to_quaternion(1j * H * np.eye(3)[i])
        assert_allclose(e.imag / H, [0, *(0.5 * np.eye(3)[i])], rtol=1e-15)
        assert_allclose(e.real, [1, 0, 0, 0])


@pytest.mark.parametrize("size", [0.1, 1.7])
def test_complex_step_of_the_exponential_is_its_derivative(size):
    theta, direction = size * np.array([0.6, 0.0, 0.8]), np.array([0.2, -0.7, 0.4])
    exact = frames.rotation_vector_to_quaternion(theta + 1j * H * direction).imag / H
    h = 1e-6
    plus, minus = (frames.rotation_vector_to_quaternion(theta + s * h * direction) for s in (1, -1))
    assert_allclose(exact, (plus - minus) / (2 * h), atol=1e-9)
    assert np.abs(exact).min() > 1e-3


def test_roll_pitch_yaw_turn_about_fixed_x_then_y_then_z():
    expected = Rotation.from_euler("xyz", [0.3, -1.1, 2.0]).as_matrix()
    assert_allclose(frames.quaternion_to_matrix(frames.rpy_to_quaternion(0.3, -1.1, 2.0)), expected, atol=1e-15)


def test_skew_is_the_matrix_of_the_cross_product():
    u, v = np.random.default_rng(3).normal(size=(2, 3))
    assert_allclose(frames.skew(u) @ v, np.cross(u, v), atol=1e-15)
    assert_allclose(frames.cross(u, v), np.cross(u, v), atol=1e-15)


def test_norm_does_not_conjugate():
    assert frames.norm(np.array([3.0 + 1j * H, 4.0, 0.0])).imag == pytest.approx(0.6 * H)


@pytest.mark.parametrize("length", [1.0, 1e-3, 1e200])
def test_rotated_is_the_product_with_the_matrix_and_its_transpose(length: float) -> None:
    rng = np.random.default_rng(7)
    e, x = length * rng.standard_normal((5, 4)), rng.standard_normal((5, 3))
    R = frames.quaternion_to_matrix(e)
    np.testing.assert_allclose(frames.rotated(e, x), (R @ x[..., None])[..., 0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        frames.rotated(e, x, -1.0), (R.swapaxes(1, 2) @ x[..., None])[..., 0], rtol=0, atol=1e-14
    )
    assert np.abs(frames.rotated(e, x) - x).max() > 0.1
