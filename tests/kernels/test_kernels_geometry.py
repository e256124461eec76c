"""3-vectors and rotations against numpy and scipy, on every scalar."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_scalars import NAMES, SCALARS, on_every_scalar
from scipy.spatial.transform import Rotation

from mechgrad.kernels.elementary import sincos
from mechgrad.kernels.lanes import LANES, load, store
from mechgrad.kernels.rotation import get4, turn_quaternion, turn_z
from mechgrad.kernels.vec3 import (
    add,
    add3,
    clear,
    combine,
    cross,
    dot,
    get3,
    get6,
    get9,
    mat_mul,
    mat_tmul,
    put3,
    scale,
    sub,
    sym_mul,
    zero3,
)

TOLERANCE = 16 * np.finfo(float).eps  # sums of three products of numbers of order one


def _vectors(scalar, x, out):
    a, b, c = get3(x, 0, scalar), get3(x, 3, scalar), get3(x, 6, scalar)
    S, D = get6(x, 9, scalar), get9(x, 15, scalar)
    s = load(x, 24, scalar)
    put3(out, 0, add(a, b))
    put3(out, 3, sub(a, b))
    put3(out, 6, scale(s, a))
    put3(out, 9, cross(a, b))
    put3(out, 12, combine(s, 2.0, s, a, b, c))
    put3(out, 15, sym_mul(S, a))
    put3(out, 18, mat_mul(D, a))
    put3(out, 21, mat_tmul(D, a))
    put3(out, 24, zero3(scalar))
    store(out, 27, dot(a, b))
    put3(out, 28, a)
    add3(out, 28, b, scalar)


VECTORS = on_every_scalar(_vectors)


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_vectors_and_matrices(scalar) -> None:
    x = scalar.normal(np.random.default_rng(1), 25)
    out = np.full(31 * scalar.width, np.nan, scalar.dtype)
    VECTORS[scalar.name](scalar.slots(x), out)
    got = scalar.samples(out, 31)
    for sample, number in zip(got, x, strict=True):
        a, b, c, s = number[0:3], number[3:6], number[6:9], number[24]
        xx, xy, xz, yy, yz, zz = number[9:15]
        S, D = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), number[15:24].reshape(3, 3)
        wanted = [
            a + b, a - b, s * a, np.cross(a, b), s * a + 2.0 * b + s * c, S @ a, D @ a, D.T @ a, np.zeros(3),
            [np.sum(a * b)], a + b,
        ]  # fmt: skip
        np.testing.assert_allclose(sample, np.concatenate(wanted), rtol=0, atol=TOLERANCE * 8)


def _clear(scalar, out, slot, count):
    clear(out, slot, count, scalar)


CLEAR = on_every_scalar(_clear)


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_clear_zeroes_its_slots_only(scalar) -> None:
    out = np.ones((9, scalar.width), scalar.dtype)
    CLEAR[scalar.name](out.reshape(-1), 2, 4)
    np.testing.assert_array_equal(out[2:6], 0.0)
    np.testing.assert_array_equal(np.delete(out, slice(2, 6), axis=0), 1.0)


# -------------------------------------------------------------------------------------------------- rotations
def _turn_z(scalar, axes, angle, out):
    s, c = sincos(load(angle, 0, scalar))
    x, y = turn_z(s, c, get3(axes, 0, scalar), get3(axes, 3, scalar))
    put3(out, 0, x)
    put3(out, 3, y)


def _turn_quaternion(scalar, axes, e, out):
    x, y, z = turn_quaternion(
        get4(e, 0, scalar), get3(axes, 0, scalar), get3(axes, 3, scalar), get3(axes, 6, scalar),
    )  # fmt: skip
    put3(out, 0, x)
    put3(out, 3, y)
    put3(out, 6, z)


TURN_Z, TURN_QUATERNION = on_every_scalar(_turn_z), on_every_scalar(_turn_quaternion)


def frames(scalar, rng: np.random.Generator) -> np.ndarray:
    """Random frames R (width, 3, 3); their axes are the columns."""
    return Rotation.random(scalar.width, rng=rng).as_matrix().astype(scalar.dtype)


def axes_of(R: np.ndarray) -> np.ndarray:
    return R.swapaxes(-1, -2).reshape(len(R), -1)


def turned(scalar, R: np.ndarray, e: np.ndarray) -> np.ndarray:
    out = np.empty(9 * scalar.width, scalar.dtype)
    TURN_QUATERNION[scalar.name](scalar.slots(axes_of(R)), scalar.slots(e), out)
    return scalar.samples(out, 3, 3).swapaxes(1, 2)


@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_turn_z_is_a_product_with_rz(scalar) -> None:
    rng = np.random.default_rng(2)
    R, angle = frames(scalar, rng), rng.uniform(-4.0, 4.0, (scalar.width, 1))
    out = np.empty(6 * scalar.width, scalar.dtype)
    TURN_Z[scalar.name](scalar.slots(axes_of(R)), scalar.slots(angle), out)
    wanted = R @ Rotation.from_rotvec(angle * [0.0, 0.0, 1.0]).as_matrix()
    got = scalar.samples(out, 2, 3).swapaxes(1, 2)
    np.testing.assert_allclose(got, wanted[:, :, :2], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("length", [1.0, 1e-3, 7.0, 1e100])
@pytest.mark.parametrize("scalar", SCALARS, ids=NAMES)
def test_turn_quaternion_takes_any_length(scalar, length: float) -> None:
    rng = np.random.default_rng(3)
    R = frames(scalar, rng)
    rotation = Rotation.random(scalar.width, rng=rng)
    e = length * rotation.as_quat(scalar_first=True).reshape(scalar.width, 4)
    got = turned(scalar, R, e)
    np.testing.assert_allclose(got, R @ rotation.as_matrix(), rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(turned(scalar, R, -e), got)


def test_turn_quaternion_by_complex_step_is_the_difference_quotient() -> None:
    """Off the unit sphere too, where the derivative along e itself must vanish."""
    real, complex_ = SCALARS[0], SCALARS[2]
    rng = np.random.default_rng(4)
    R = frames(real, rng)
    e = np.array([[0.7, -0.4, 0.9, 0.3]])
    h, step = 1e-30, 1e-6
    for direction in np.eye(4):
        exact = turned(complex_, R.astype(complex), e + 1j * h * direction).imag / h
        quotient = (turned(real, R, e + step * direction) - turned(real, R, e - step * direction)) / (2 * step)
        assert np.max(np.abs(exact)) > 0.3
        # truncation step^2 f'''/6 and rounding eps/step are both about 1e-10 at worst
        np.testing.assert_allclose(exact, quotient, rtol=0, atol=2e-9)
    along = turned(complex_, R.astype(complex), e * (1 + 1j * h)).imag / h
    np.testing.assert_allclose(along, 0.0, atol=TOLERANCE)


def test_samples_do_not_mix() -> None:
    """Lane by lane the numbers of the one-sample kernel, to the rounding of fused operations."""
    one, lanes = SCALARS[0], SCALARS[1]
    rng = np.random.default_rng(5)
    R, e = frames(lanes, rng), lanes.normal(rng, 4)
    together = turned(lanes, R, e)
    for k in range(LANES):
        np.testing.assert_allclose(together[k], turned(one, R[k : k + 1], e[k : k + 1])[0], rtol=0, atol=TOLERANCE)
