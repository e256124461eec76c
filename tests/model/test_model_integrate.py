import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from mechgrad.errors import InputError
from mechgrad.model import Body, Cardan, Fixed, Floating, Model, Revolute, Spherical
from mechgrad.model.primitives import frames

H = 1e-30


@pytest.fixture(scope="module")
def model():
    return Model(
        "mixed",
        [Body(name) for name in "abcde"],
        [
            Revolute("r", "ground", "a"),
            Floating("f", "a", "b"),
            Fixed("w", "b", "c"),
            Spherical("s", "c", "d"),
            Cardan("k", "d", "e"),
        ],
    )


def random_state(model, rng, rows=()):
    q, dq = rng.normal(size=(*rows, model.n_q)), rng.normal(size=(*rows, model.n_v))
    for name in ("f", "s"):
        e = q[..., model.q_slice(name)][..., -4:]
        e /= np.linalg.norm(e, axis=-1, keepdims=True)
    return q, dq


def rotation(model, q, joint):
    return Rotation.from_quat(np.roll(q[..., model.q_slice(joint)][..., -4:], -1, axis=-1))


def test_neutral_is_zero_with_unit_euler_parameters(model):
    assert model.neutral().tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("scale", [1e-9, 1e-2, 1.0, 4.0])
def test_rotations_compose_from_the_left_with_the_exponential_of_the_step(model, scale):
    q, dq = random_state(model, np.random.default_rng(1), (7,))
    moved = model.integrate(q, scale * dq)
    for joint in ("f", "s"):
        step = Rotation.from_rotvec(scale * dq[:, model.v_slice(joint)][:, -3:])
        expected = (step * rotation(model, q, joint)).as_matrix()
        assert_allclose(rotation(model, moved, joint).as_matrix(), expected, atol=1e-14)


def test_plain_coordinates_and_positions_add(model):
    q, dq = random_state(model, np.random.default_rng(2))
    moved = model.integrate(q, dq)
    assert moved[0] == q[0] + dq[0]
    assert_allclose(moved[1:4], q[1:4] + dq[1:4], rtol=0)
    assert_allclose(moved[-2:], q[-2:] + dq[-2:], rtol=0)


def test_euler_parameters_keep_their_length(model):
    q, dq = random_state(model, np.random.default_rng(3))
    q = 3.0 * q
    moved = model.integrate(q, dq)
    assert np.linalg.norm(moved[model.q_slice("s")]) == pytest.approx(3.0, rel=1e-15)


def test_a_batch_is_the_same_as_its_rows_and_a_single_row_is_repeated(model):
    q, dq = random_state(model, np.random.default_rng(4), (3,))
    rows = np.array([model.integrate(a, b) for a, b in zip(q, dq, strict=True)])
    assert_allclose(model.integrate(q, dq), rows, rtol=0, atol=1e-16)
    assert_allclose(model.integrate(q[0], dq)[2], model.integrate(q[0], dq[2]), rtol=0, atol=1e-16)


def test_derivative_at_a_zero_step_is_the_cross_product_in_parent_axes(model):
    q, dq = random_state(model, np.random.default_rng(5))
    for joint in ("f", "s"):
        e = model.integrate(q, 1j * H * dq)[model.q_slice(joint)][-4:]
        R_dot = frames.quaternion_to_matrix(e).imag / H
        w = dq[model.v_slice(joint)][-3:]
        assert_allclose(R_dot, frames.skew(w) @ rotation(model, q, joint).as_matrix(), atol=1e-14)


def test_complex_step_is_the_derivative_at_a_finite_step(model):
    rng = np.random.default_rng(6)
    q, dq = random_state(model, rng)
    direction = rng.normal(size=model.n_v)
    exact = model.integrate(q, dq + 1j * H * direction).imag / H
    h = 1e-6
    plus, minus = (model.integrate(q, dq + s * h * direction) for s in (1, -1))
    assert_allclose(exact, (plus - minus) / (2 * h), atol=1e-9)
    assert np.abs(exact).min() > 1e-3


def test_integrate_leaves_its_arguments_alone_and_accepts_integers(model):
    q = model.neutral()
    before = q.copy()
    moved = model.integrate(q, [1] * model.n_v)
    assert np.array_equal(q, before)
    assert moved.dtype == np.float64


@pytest.mark.parametrize(
    ("q_shape", "dq_shape", "text"),
    [((13,), (12,), r"q has shape \(13,\)"), ((14,), (14,), r"dq has shape \(14,\)"), ((2, 14), (3, 12), "2 samples")],
)
def test_wrong_shapes_are_named(model, q_shape, dq_shape, text):
    with pytest.raises(InputError, match=text):
        model.integrate(np.ones(q_shape), np.ones(dq_shape))
