"""Splines by their values, the first and the last above all, with every kind of ends.

A wheel of moment of inertia J is turned by a motor: its speed gains the integral of torque(t) / J. RK4 integrates a
function of time as Simpson's rule does, exactly for a cubic within each step, so that with knots on the grid of steps
both motion and gradient have closed forms: integrals of the splines through unit vectors.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import mechgrad as mg

INERTIA, STEP = 0.7, 0.05
FEW = (np.array([0.2, 0.35, 0.6, 0.8]), np.array([3.0, -1.0, 2.0, 4.0]))
MANY = (np.linspace(0.2, 0.8, 13), np.sin(np.arange(13.0)) + 0.3)  # more knots are solved for in another way
KNOTS = {"few": FEW, "many": MANY}
ENDS = ("natural", "clamped", "not-a-knot")
SPANS = {"inside": (0.2, 0.8), "beyond both ends": (0.0, 1.1)}
every_spline = [(ends, name) for ends in ENDS for name in KNOTS]


def integral(spline, low, high):
    """Of a cubic spline, beyond its ends a straight line."""
    first, last = spline.x[0], spline.x[-1]
    total = spline.integrate(max(low, first), min(high, last))
    for end, length in ((first, low - first), (last, high - last)):
        if (end == first and length < 0) or (end == last and length > 0):
            total += abs(length) * spline(end) + np.sign(length) * length * length / 2 * spline(end, 1)
    return float(total)


def bases(times, ends):
    return [CubicSpline(times, e, bc_type=ends) for e in np.eye(len(times))]


def turned(times, values, ends, span):
    model = mg.Model(
        "wheel", [mg.Body("disc", 1.0, inertia=(INERTIA, 1.0, 1.0))],
        [mg.Revolute("axle", "ground", "disc", axis=(1, 0, 0))], gravity=(0, 0, 0),
        forces=[mg.forces.Motor("motor", "axle", mg.functions.Spline(times, values, ends=ends))],
    )  # fmt: skip
    return mg.simulate(
        model, mg.state(model, [0.1], [0.4]), duration=span[1] - span[0], t0=span[0], scheme="rk4", step=STEP
    )


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize(("ends", "knots"), every_spline)
def test_torque_by_its_values(ends, knots, span, method):
    (times, values), (low, high) = KNOTS[knots], SPANS[span]
    motion = turned(times, values, ends, (low, high))
    g = mg.gradient(motion, mg.AtEnd(mg.measures.JointVelocity("axle")), ["motor.torque.values.*"], method=method)
    whole = CubicSpline(times, values, bc_type=ends)
    assert g.values[0] == pytest.approx(0.4 + integral(whole, low, high) / INERTIA, abs=1e-12)
    wanted = np.array([integral(basis, low, high) for basis in bases(times, ends)]) / INERTIA
    np.testing.assert_allclose(g.array[0], wanted, rtol=0, atol=1e-12)
    assert np.abs(wanted[[0, 1, -2, -1]]).min() > 5e-3


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize(("ends", "knots"), every_spline)
def test_some_of_the_values(ends, knots, method):
    """A gradient by the last value alone, and by the first and another, is a part of that by all."""
    times, values = KNOTS[knots]
    motion = turned(times, values, ends, SPANS["inside"])
    goal, last = mg.AtEnd(mg.measures.JointVelocity("axle")), len(times) - 1
    wanted = np.array([basis.integrate(0.2, 0.8) for basis in bases(times, ends)]) / INERTIA
    for some in ([last], [2, 0]):
        wrt = [f"motor.torque.values.{k}" for k in some]
        np.testing.assert_allclose(mg.gradient(motion, goal, wrt, method=method).array[0], wanted[some], atol=1e-12)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize(("ends", "knots"), every_spline)
def test_driven_coordinate_by_the_values_of_its_spline(ends, knots, method):
    """Value, rate and second rate of a driver are those of the spline through a unit vector."""
    times, values = KNOTS[knots]
    model = mg.Model(
        "driven", [mg.Body("disc", 1.0, inertia=(1, 1, 1))], [mg.Revolute("axle", "ground", "disc", axis=(1, 0, 0))],
        constraints=[mg.constraints.Driver("drive", "axle", mg.functions.Spline(times, values, ends=ends))],
    )  # fmt: skip
    instants = np.array([0.1, 0.27, 0.5, 0.77, 0.9])  # before, within and beyond
    motion = mg.kinematic_motion(model, instants)
    levels = (mg.measures.JointCoordinate, mg.measures.JointVelocity, mg.measures.JointAcceleration)
    goals = [mg.AtTime(t, level("axle")) for level in levels for t in instants]
    g = mg.gradient(motion, goals, ["drive.function.values.*"], method=method)
    wanted = np.array([[extended(basis, t, k) for basis in bases(times, ends)] for k in range(3) for t in instants])
    np.testing.assert_allclose(g.array, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    assert np.abs(wanted[:, [0, -1]]).max(axis=0).min() > 0.5


def extended(spline, t, order):
    """A derivative of a spline that goes on as a straight line."""
    within = min(max(t, spline.x[0]), spline.x[-1])
    if within == t:
        return float(spline(t, order))
    return float((spline(within) + (t - within) * spline(within, 1), spline(within, 1), 0.0)[order])


@pytest.mark.parametrize(("ends", "knots"), every_spline)
def test_pulled_back_is_the_transpose_of_pieces(ends, knots):
    """Pieces are linear in the values: they change along one of them as those of the spline through a unit vector."""
    times, _ = KNOTS[knots]
    spline = mg.functions.Spline(times, np.ones(len(times)), ends=ends)
    weights = np.random.default_rng(3).normal(size=(4, len(times) + 1, 6))
    changes = [mg.functions.Spline(times, e, ends=ends).pieces() for e in np.eye(len(times))]
    wanted = np.array([[np.sum(w[:, 1:5] * change[:, 1:5]) for change in changes] for w in weights])
    found = spline.pulled_back(weights)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
    assert np.abs(wanted).min() > 1e-3
