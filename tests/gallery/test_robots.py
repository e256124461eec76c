"""Serial mechanisms of the gallery."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import arm7, chain, double_pendulum


@pytest.mark.parametrize("n", [1, 2, 7])
def test_chain(n: int) -> None:
    model = chain(n, mass=2.0)
    assert model.n_v == n
    assert model.total_mass == pytest.approx(2.0 * n)
    axes = np.array([joint.axis for joint in model.joints])
    assert not (axes[1:] * axes[:-1]).any()  # successive axes are perpendicular


def test_chain_needs_a_rod() -> None:
    with pytest.raises(InputError, match=r"n=0.*n >= 1"):
        chain(0)


def test_arm7_matches_its_docstring() -> None:
    model = arm7()
    assert model.n_v == 7
    assert model.total_mass == pytest.approx(15.9)
    reach = sum(joint.origin[2] for joint in model.joints) + model.points[0].position[2]
    assert reach == pytest.approx(1.02)


def test_double_pendulum_in_closed_form() -> None:
    """Torques of two equal rods, angles relative, from Lagrange's equations (gravity 9.81 along -z)."""
    m, length, g = 1.3, 0.7, 9.81
    q, v, a = np.array([0.4, -0.9]), np.array([1.1, -0.6]), np.array([-0.3, 0.8])
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    ml2 = m * length**2
    m11, m12, m22 = ml2 * (5 / 3 + c2), ml2 * (1 / 3 + c2 / 2), ml2 / 3
    gravity2 = m * g * length / 2 * np.sin(q[0] + q[1])
    gravity1 = 1.5 * m * g * length * np.sin(q[0]) + gravity2
    expected = [
        m11 * a[0] + m12 * a[1] - ml2 * s2 * (v[0] * v[1] + v[1] ** 2 / 2) + gravity1,
        m12 * a[0] + m22 * a[1] + ml2 * s2 / 2 * v[0] ** 2 + gravity2,
    ]
    tau = mg.inverse_dynamics(double_pendulum(m, length), q, v, a)
    np.testing.assert_allclose(np.ravel(tau), expected, rtol=1e-13)
