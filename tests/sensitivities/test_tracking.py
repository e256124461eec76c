"""Motions that follow data."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError, UnknownNameError
from mechgrad.gallery import double_pendulum
from mechgrad.simulation.quadrature import weights

WRT = ["upper.mass", "lower.com.z", "start.velocity.elbow", "elbow.origin.z"]
MOTION = mg.simulate(
    double_pendulum(),
    mg.state(double_pendulum(), [0.4, -0.3], [0.5, 1.0]),
    duration=0.3,
    step=0.01,
    scheme="trapezoidal",
)
TIMES = np.linspace(-0.1, 0.5, 25)


def test_residual_against_samples():
    """Between the samples, weighted by component, in closed form for cubic data."""

    def curve(t):
        return np.stack([0.1 + t**3, -2.0 * t, 0.3 * t**2 - 1.0], axis=-1)

    goal = mg.Tracking(mg.measures.PointPosition("tip"), TIMES, curve(TIMES), weights=[1.0, 2.0, 0.5])
    g = mg.gradient(MOTION, goal, WRT)
    x = mg.kinematics.marker_motion(MOTION.model, ["tip"], MOTION.q).position[:, 0]
    missed = ((x - curve(MOTION.t)) ** 2) @ [1.0, 2.0, 0.5]
    np.testing.assert_allclose(g.values, weights(MOTION.t, "trapezoid") @ missed, rtol=1e-12)
    assert np.abs(g.array).min() > 1e-5
    assert g.certify().passed
    plain = mg.Integral(lambda x, t: ((x - curve(t)) ** 2) @ [1.0, 2.0, 0.5], mg.measures.PointPosition("tip"))
    np.testing.assert_allclose(mg.gradient(MOTION, plain, WRT).array, g.array, rtol=1e-10)
    continuous = mg.gradient(MOTION, goal, WRT, method="continuous-adjoint")  # an integral for every method
    np.testing.assert_allclose(continuous.array, g.array, rtol=0.1, atol=1e-3)


def test_samples_inside_functions():
    data = mg.objectives.Samples(TIMES, np.sin(3.0 * TIMES), kind="linear")
    np.testing.assert_allclose(data(TIMES), np.sin(3.0 * TIMES), rtol=1e-15)
    np.testing.assert_allclose(data([0.0125]), np.interp(0.0125, TIMES, np.sin(3.0 * TIMES)), rtol=1e-12)
    far = mg.Integral(lambda q, t: np.abs(q - data(t)), mg.measures.JointCoordinate("elbow"))
    assert mg.gradient(MOTION, far, WRT).certify().passed
    same = mg.Tracking(mg.measures.JointCoordinate("elbow"), data, weights=3.0)
    other = 3.0 * mg.Tracking(mg.measures.JointCoordinate("elbow"), TIMES, np.sin(3.0 * TIMES), kind="linear")
    a, b = (mg.gradient(MOTION, goal, WRT).array for goal in (same, other))
    assert np.abs(a).max() > 1e-3
    np.testing.assert_allclose(a, b, rtol=1e-13)


def test_the_motion_that_made_the_data_is_where_tracking_ends():
    goal = mg.Tracking(mg.measures.JointCoordinate("elbow"), MOTION.t, MOTION.q[:, 1])
    g = mg.gradient(MOTION, goal, WRT)
    assert abs(g.values[0]) < 1e-28
    assert np.abs(g.array).max() < 1e-13
    moved = mg.simulate(
        MOTION.model, mg.state(MOTION.model, [0.45, -0.3], [0.5, 1.0]), duration=0.3, step=0.01, scheme="trapezoidal"
    )
    assert np.abs(mg.gradient(moved, goal, WRT).array).max() > 1e-4


def test_bad_data_are_told():
    elbow, t, x = mg.measures.JointCoordinate("elbow"), [0.0, 0.1, 0.2, 0.3], [1.0, 2.0, 3.0, 4.0]
    for wrong, words in (
        (lambda: mg.Tracking(elbow, t, [1.0, np.nan, 3.0, 4.0]), r"values\[1\] is nan"),
        (lambda: mg.Tracking(elbow, [0.0, 0.2, 0.1, 0.3], x), r"times\[1\] = 0\.2 and times\[2\] = 0\.1"),
        (lambda: mg.Tracking(elbow, t, x[:3]), r"\(3,\) for 4 times"),
        (lambda: mg.Tracking(elbow, t[:3], x[:3]), "at least 4"),
        (lambda: mg.Tracking(elbow, [t], [x]), r"shape \(1, 4\)"),
        (lambda: mg.Tracking(elbow, t), "times and values"),
        (lambda: mg.Tracking(elbow, t, ["a", "b", "c", "d"]), "real numbers"),
        (lambda: mg.Tracking(elbow, t, x, weights=[1.0, 2.0]), "weights has shape"),
        (lambda: mg.Tracking(elbow, t, x, weights=-1.0), "negative"),
        (lambda: mg.Tracking("elbow", t, x), "measure first"),
        (
            lambda: mg.gradient(MOTION, mg.Tracking(mg.measures.PointPosition("tip"), t, x), WRT),
            r"PointPosition.*\(3,\).*\(\)",
        ),
        (lambda: mg.gradient(MOTION, mg.Tracking(elbow, t[:3], x[:3], kind="linear"), WRT), r"none at t = 0\.21 s"),
    ):
        with pytest.raises(InputError, match=words):
            wrong()
    with pytest.raises(UnknownNameError, match="cubic"):
        mg.objectives.Samples(t, x, kind="quintic")
