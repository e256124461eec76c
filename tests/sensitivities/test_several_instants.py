"""Objectives of several instants: values at each, and the largest made smooth."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg

ANGLE, RATE = mg.measures.JointCoordinate("pin"), mg.measures.JointVelocity("pin")
WRT = ["bob.com.z", "gravity.z", "start.position.pin", "start.velocity.pin"]


@pytest.fixture(scope="module")
def swing() -> mg.Trajectory:
    """From t0 = 0.7 s on, with an error of the method that does not matter: derivatives are those of the steps."""
    model = mg.Model(
        "pendulum", [mg.Body("bob", mass=2, com=(0, 0, -1))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
    )
    return mg.simulate(model, mg.state(model, [0.5], [0.2]), 1.0, t0=0.7, step=0.01)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_values_at_instants_are_those_of_single_instants(swing, method):
    """As many `AtTime`, on and between the steps, functions of time included."""
    t = [0.7, 0.915, 1.3, 1.7]
    function = lambda q, v, t: np.stack([t * q, v**2], axis=1)  # noqa: E731
    together = mg.gradient(swing, mg.objectives.AtTimes(t, function, ANGLE, RATE), WRT, method=method)
    alone = [mg.gradient(swing, mg.AtTime(x, function, ANGLE, RATE), WRT, method=method) for x in t]
    assert together.values == pytest.approx(np.concatenate([g.values for g in alone]), rel=1e-13)
    assert together.array == pytest.approx(np.concatenate([g.array for g in alone]), rel=1e-11, abs=1e-13)
    assert np.abs(together.array[2:]).min() > 1e-4  # those of the first instant are derivatives of the start
    every = mg.gradient(swing, mg.objectives.AtTimes(None, ANGLE), WRT, method=method)
    assert every.values == pytest.approx(swing.q[:, 0])
    assert every.array == pytest.approx(mg.motion_sensitivities(swing, WRT).q[:, 0], abs=1e-12)


def test_measures_that_feel_parameters_themselves(swing):
    """d(m g z)/dm along the motion is g z: the explicit part of every instant for itself."""
    mass = mg.gradient(swing, mg.objectives.AtTimes(None, mg.measures.PotentialEnergy()), ["bob.mass"])
    z = swing.markers(["bob.com"]).position[:, 0, 2]
    assert mass["bob.mass"] == pytest.approx(9.81 * z, rel=1e-10)
    top = mg.objectives.SmoothMaximum(mg.measures.PotentialEnergy(), error=1e-3)
    found = mg.gradient(swing, top, ["bob.mass"])
    assert found.array[0, 0] == pytest.approx(9.81 * z.max(), rel=1e-3)


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex"])
def test_the_smooth_maximum_keeps_its_word(swing, method):
    """Never below the largest value, above by no more than it says; its slope is that of sum w_k y_k."""
    for error in (1.0, 0.1, 1e-3):
        found = mg.gradient(swing, mg.objectives.SmoothMaximum(lambda v: v**2, RATE, error=error), WRT, method=method)
        top = float((swing.v**2).max())
        assert top < found.values[0] <= top + error
        s = mg.motion_sensitivities(swing, WRT).v[:, 0]
        y, rho = swing.v[:, 0] ** 2, np.log(len(swing.t)) / error
        w = np.exp(rho * (y - y.max()))
        expected = (w / w.sum() * 2 * swing.v[:, 0]) @ s
        assert found.array[0] == pytest.approx(expected, rel=1e-9)


def test_both_are_certified_and_refuse_what_is_not_there(swing):
    for objective in (
        mg.objectives.AtTimes([0.8, 1.6], ANGLE),
        mg.objectives.SmoothMaximum(RATE, error=0.1, t=[0.8, 1.1, 1.4]),
    ):
        assert mg.gradient(swing, objective, WRT).certify().passed
    with pytest.raises(mg.InputError, match="not within the motion"):
        mg.gradient(swing, mg.objectives.AtTimes([0.5, 1.0], ANGLE), WRT)
    with pytest.raises(mg.InputError, match="are one instant; ask for it once"):
        mg.gradient(swing, mg.objectives.AtTimes([0.8, 0.8 + 1e-12], ANGLE), WRT)
    guided = mg.kinematic_motion(swing.model, [0.0, 0.5, 1.0], {"pin": [0.0, 0.2, 0.5]})
    with pytest.raises(mg.InputError, match=r"reports no instant t = 0\.3 s"):
        mg.gradient(guided, mg.objectives.AtTimes([0.3], mg.measures.PointPosition("bob.com")), ["bob.com.z"])
