"""Formulas of kernels on arrays: gradients of rows against complex steps through their values, and measures by rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.kernels.elementary import angle_of, reciprocal, square_root
from mechgrad.kernels.in_numpy import in_numpy
from mechgrad.kinematics.kernels.measures import gradient, variation
from mechgrad.model.primitives.rows import ANGLE, CIRCLE, DISTANCE, DOT, PLANE, POINT, PROFILE, SKEW

STEP = 1e-30
KINDS = {
    "point": POINT,
    "dot": DOT,
    "plane": PLANE,
    "distance": DISTANCE,
    "angle": ANGLE,
    "skew": SKEW,
    "circle": CIRCLE,
    "profile": PROFILE,
}
DIRECTION, RADIUS, SAMPLES = (0.36, 0.48, 0.8), 0.3, 5


def markers(kind: int) -> np.ndarray:
    """Four markers (4, 3, samples); those of circles have length one, as their row takes them."""
    x = np.random.default_rng(kind).normal(size=(4, 3, SAMPLES))
    return x / np.linalg.norm(x, axis=1, keepdims=True) if kind == CIRCLE else x


def curve(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """p, p', p'' of the curve of a PROFILE row, p = 0.3 + 0.4 s - 0.5 s^2 + 0.2 s^3, where its point is."""
    s = np.sum(x[1] * (x[2] - x[3]), axis=0)
    return 0.3 + s * (0.4 + s * (-0.5 + 0.2 * s)), 0.4 + s * (-1.0 + 0.6 * s), -1.0 + 1.2 * s


def row(kind: int, x: np.ndarray) -> tuple:
    return in_numpy(gradient)(kind, RADIUS, DIRECTION, *map(tuple, x), curve(x), np.zeros(SAMPLES))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_gradients_and_variations_of_rows(kind: int) -> None:
    x = markers(kind)
    _, *found = row(kind, x)
    change = np.random.default_rng(9).normal(size=x.shape)
    curved = in_numpy(variation)(kind, RADIUS, *map(tuple, x), *map(tuple, change), curve(x), np.zeros(SAMPLES))
    _, *along = row(kind, x + 1j * STEP * change)
    for m in range(4):
        for j in range(3):
            moved = x + 0j
            moved[m, j] += 1j * STEP
            exact = np.imag(row(kind, moved)[0]) / STEP
            np.testing.assert_allclose(np.broadcast_to(found[m][j], SAMPLES), exact, rtol=1e-12, atol=1e-13)
            exact = np.imag(along[m][j]) / STEP
            np.testing.assert_allclose(np.broadcast_to(curved[m][j], SAMPLES), exact, rtol=1e-11, atol=1e-12)
    assert max(np.abs(part).max() for part in found[0]) > 0.1


def test_elementary_functions() -> None:
    x, y = np.array([0.3, -1.2]) + 1e-30j, np.array([2.0, 0.7]) + 2e-30j
    np.testing.assert_allclose(in_numpy(reciprocal)(x), 1.0 / x)
    np.testing.assert_allclose(in_numpy(square_root)(y), np.sqrt(y))
    angle = in_numpy(angle_of)(y, x)
    np.testing.assert_allclose(angle.real, np.arctan2(y.real, x.real))
    np.testing.assert_allclose(angle.imag, (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2))


def test_a_measure_that_says_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Silent does not say what it measures\. Give it `function` and `gradient`"):

        @dataclass(frozen=True)
        class Silent(mg.measures.GeometricMeasure):
            point: str = field(metadata={"refers": "point"})


def test_a_distance_of_points_that_meet_is_zero() -> None:
    x = np.ones((2, 3))
    np.testing.assert_array_equal(mg.measures.Distance("a", "b").function(x, x), 0.0)


def test_names_that_stand_twice() -> None:
    """The height of a point over a plane through itself: each of its fields has a gradient of its own."""
    x, n = np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, 0.0, 2.0]])
    by_point, by_plane, by_normal = mg.measures.Height("tip", "tip", "up").gradient(x, x, n)
    np.testing.assert_allclose(by_point, [[0.0, 0.0, 1.0]])
    np.testing.assert_allclose(by_plane, [[0.0, 0.0, -1.0]])
    np.testing.assert_allclose(by_normal, 0.0, atol=1e-16)
