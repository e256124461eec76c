"""Adaptive differences against closed forms, and an estimate of their error that can be believed."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import double_pendulum
from mechgrad.sensitivities.extrapolation import extrapolated_jacobian

CASES = [
    (np.sin, np.cos, 0.5),
    (np.exp, np.exp, 3.0),
    (lambda x: x**5, lambda x: 5 * x**4, -1.3),
    (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2, 0.2),
    (lambda x: np.sin(50 * x), lambda x: 50 * np.cos(50 * x), 1.0),
]


@pytest.mark.parametrize(("f", "slope", "x"), CASES)
def test_closed_forms_to_many_digits_with_an_honest_error(f, slope, x):
    J = extrapolated_jacobian(f, [x])
    error = abs(J.values[0, 0] - slope(x))
    assert error < 1e-10 * max(1.0, abs(slope(x)))
    assert error < 10 * J.errors[0, 0] + 1e-15
    assert J.evaluations == 2 * 26


def test_shapes_and_batches_agree():
    A = np.random.default_rng(0).standard_normal((3, 4))
    one = extrapolated_jacobian(lambda x: np.sin(A @ x), np.arange(4.0))
    many = extrapolated_jacobian(lambda x: np.sin(x @ A.T), np.arange(4.0), batched=True)
    assert one.values.shape == (3, 4)
    np.testing.assert_allclose(one.values, np.cos(A @ np.arange(4.0))[:, None] * A, atol=1e-10)
    np.testing.assert_allclose(one.values, many.values, atol=1e-12)
    assert np.any(one.values != 0)


def test_torques_of_a_pendulum():
    model = double_pendulum()
    q, v, a = np.array([0.3, -0.8]), np.array([1.0, 2.0]), np.array([0.5, -0.5])
    D = mg.inverse_dynamics_derivatives(model, q, v, a)
    J = extrapolated_jacobian(lambda x: mg.inverse_dynamics(model, x, v, a), q, batched=True)
    np.testing.assert_allclose(J.values, D.dq.dense(), atol=1e-9)
    assert np.max(np.abs(J.values - D.dq.dense())) > 0, "differences are not the analytic derivative in disguise"


def test_bad_input_is_named():
    with pytest.raises(mg.InputError, match="finite"):
        extrapolated_jacobian(np.sin, [np.nan])
    with pytest.raises(mg.InputError, match="at least 4"):
        extrapolated_jacobian(np.sin, [1.0], steps=3)
    with pytest.raises(mg.InputError, match=r"\(k, n\) must become \(k, m\)"):
        extrapolated_jacobian(lambda x: x.sum(), [1.0], batched=True)
