"""Motions that begin with an equilibrium, or with values and rates by name."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import double_pendulum, five_bar, five_bar_start

PENDULUM = mg.Model(
    "pendulum", [mg.Body("bob", 2.0, (0, 0, -1.0))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
)


def test_values_by_name_start_a_tree():
    motion = mg.simulate(PENDULUM, {"pin": 0.3}, duration=0.5, step=0.01)
    same = mg.simulate(PENDULUM, [0.3], duration=0.5, step=0.01)
    np.testing.assert_array_equal(motion.q, same.q)
    assert abs(motion.q[-1, 0] - 0.3) > 0.1
    assert motion.start.held == {"pin": 0.3}


def test_rates_by_name_stand_beside_values_by_name():
    model = double_pendulum()
    motion = mg.simulate(model, mg.assemble(model, {"elbow": 0.4}, {"shoulder": 2.0}), duration=0.2, step=0.01)
    same = mg.simulate(model, mg.state(model, [0.0, 0.4], [2.0, 0.0]), duration=0.2, step=0.01)
    np.testing.assert_array_equal(motion.q, same.q)
    np.testing.assert_array_equal(motion.v, same.v)


def test_values_by_name_close_loops_and_follow_in_gradients():
    model, q = five_bar(), five_bar_start()
    at = {"A": q[0], "1": q[1]}
    motion = mg.simulate(model, at, duration=0.05, step=0.005)
    assert np.abs(motion.norms[0]).max() < 1e-9
    g = mg.gradient(motion, mg.AtEnd(mg.measures.PointPosition("P2")), ["start.position.A", "1.origin.x"])
    assert np.abs(g.array).max(axis=0).min() > 0.1
    assert g.certify().passed


def test_time_of_values_by_name_is_that_of_the_motion():
    turn = mg.constraints.Driver("turn", "pin", mg.functions.Polynomial((0.1, 1.0)))
    arms = [mg.Body("bob", 2.0, (0, 0, -1.0)), mg.Body("tip", 1.0, (0, 0, -1.0))]
    joints = [*PENDULUM.joints, mg.Revolute("knee", "bob", "tip", (0, 0, -1), axis=(0, 1, 0))]
    model = mg.Model("driven", arms, joints, constraints=[turn])
    motion = mg.simulate(model, {"knee": 0.2}, duration=0.02, step=0.01, t0=2.0)
    np.testing.assert_allclose(motion.q[0], [2.1, 0.2], atol=1e-12)
    np.testing.assert_allclose(motion.v[0], [1.0, 0.0], atol=1e-12)


def test_an_equilibrium_starts_a_motion_that_rests():
    rest = mg.equilibrium(PENDULUM, [0.3], tau=[5.0])
    assert rest.q[0] == pytest.approx(np.arcsin(5.0 / 19.62), rel=1e-9)
    motion = mg.simulate(PENDULUM, rest, duration=1.0, step=0.01, tau=[5.0])
    assert np.abs(motion.q - rest.q).max() < 1e-9
    assert motion.start is rest


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mg.state(PENDULUM, {"pin": 0.3}), r"q has shape \(\); a state of model 'pendulum' needs \(1,\)"),
        (lambda: mg.state(PENDULUM, [0.3], {"pin": 2.0}), "v has shape"),
        (lambda: mg.state(PENDULUM, [0.3, 0.4]), "q has shape"),
        (lambda: mg.state(PENDULUM, [[0.3], [0.4]], [[1.0]]), "q has 2 starts and v 1"),
        (lambda: mg.state(PENDULUM, [0.3], t=float("nan")), "t is nan"),
        (lambda: mg.simulate(PENDULUM, [float("nan")], 1.0), "q of 'pin' is nan"),
        (lambda: mg.simulate(PENDULUM, {"pni": 0.3}, 1.0), "pni"),
        (lambda: mg.simulate(PENDULUM, None, 1.0), "q has shape"),
    ],
)
def test_starts_that_are_none(make, message):
    with pytest.raises(mg.MechgradError, match=message):
        make()


def test_no_duration_is_taken_for_granted():
    with pytest.raises(TypeError, match="duration"):
        mg.simulate(PENDULUM, [0.3])


def test_a_state_is_a_copy():
    q, v = np.array([0.3]), np.array([1.0])
    start = mg.state(PENDULUM, q, v)
    q[0] = v[0] = 9.0
    assert (start.q[0], start.v[0]) == (0.3, 1.0)
