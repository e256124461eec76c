"""Wheels that roll where drivers take them: distance = radius times angle, and gradients by the radius.

Rows of rolling ask nothing of positions: drivers decide these, and velocities must agree with both. So a radius changes
together with the drivers that know of it, by a design variable.
"""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import AssemblyError

RADIUS, ARM = 0.3, 0.8
TIMES = np.linspace(0.0, 1.2, 7)
ANGLE = (0.2, 1.0, 2.0)  # of the wheel, a polynomial of time
LEVELS = (mg.measures.JointCoordinate, mg.measures.JointVelocity, mg.measures.JointAcceleration)


def polynomial(c, t):
    """Value, rate, second rate."""
    return c[0] + c[1] * t + c[2] * t**2, c[1] + 2 * c[2] * t, np.full_like(t, 2 * c[2])


def wheel(joints, drivers, targets, contact=True):
    bodies = [mg.Body(name, 1.0, inertia=(1, 1, 1)) for name in ("fork", "wheel")]
    vectors = [mg.Vector("up", "ground", (0, 0, 2.0)), mg.Vector("axle", "wheel", (0, 3.0, 0))]
    where = {"contact": True, "plane_point": "ground.origin"} if contact else {}
    rolling = mg.constraints.Rolling("rolls", "wheel.origin", RADIUS, "up", kind="wheel", axis="axle", **where)
    return mg.Model(
        "rolling", bodies, joints, [mg.Point("rim", "wheel", (0.1, 0.05, 0.2))], vectors,
        constraints=[rolling, *drivers], variables=[mg.DesignVariable("R", {"rolls.radius": 1.0, **targets}, RADIUS)],
    )  # fmt: skip


def straight(contact=True, faster=1.0):
    """Along x, at the height of its radius."""
    joints = [
        mg.Prismatic("track", "ground", "fork", (0.0, 0.0, RADIUS), axis=(1, 0, 0)),
        mg.Revolute("spin", "fork", "wheel", axis=(0, 1, 0)),
    ]
    way = (0.5, RADIUS * ANGLE[1] * faster, RADIUS * ANGLE[2] * faster)
    drivers = [
        mg.constraints.Driver("pull", "track", mg.functions.Polynomial(way)),
        mg.constraints.Driver("turn", "spin", mg.functions.Polynomial(ANGLE)),
    ]
    targets = {f"pull.function.coefficients.{k}": ANGLE[k] * faster for k in (1, 2)}
    return wheel(joints, drivers, {"track.origin.z": 1.0, **targets}, contact)


def round_about():
    """At the end of an arm that turns about the vertical: its track is a circle, and the axle turns with it."""
    joints = [
        mg.Revolute("yaw", "ground", "fork", (0.0, 0.0, RADIUS), axis=(0, 0, 1)),
        mg.Revolute("spin", "fork", "wheel", (0.0, ARM, 0.0), axis=(0, 1, 0)),
    ]
    yaw = (0.1, -0.4, -0.3)
    spin = (0.2, *(-ARM * c / RADIUS for c in yaw[1:]))
    drivers = [
        mg.constraints.Driver("pull", "yaw", mg.functions.Polynomial(yaw)),
        mg.constraints.Driver("turn", "spin", mg.functions.Polynomial(spin)),
    ]
    targets = {"turn.function.coefficients.1": lambda r: -ARM * yaw[1] / r}
    targets["turn.function.coefficients.2"] = lambda r: -ARM * yaw[2] / r
    return wheel(joints, drivers, {"yaw.origin.z": 1.0, **targets})


@pytest.mark.parametrize("contact", [True, False])
def test_distance_is_radius_times_angle(contact):
    motion = mg.kinematic_motion(straight(contact), TIMES)
    angle, speed, second = polynomial(ANGLE, TIMES)
    np.testing.assert_allclose(motion.q[:, 0] - 0.5, RADIUS * (angle - ANGLE[0]), atol=1e-12)
    np.testing.assert_allclose(motion.v, np.outer(speed, (RADIUS, 1.0)), atol=1e-12)
    np.testing.assert_allclose(motion.a, np.outer(second, (RADIUS, 1.0)), atol=1e-12)
    assert motion.norms.max() < 1e-12


@pytest.mark.parametrize("contact", [True, False])
@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_distance_by_the_radius(method, contact):
    """x = 0.5 + R (angle - 0.2), and the rim is R higher up."""
    motion = mg.kinematic_motion(straight(contact), TIMES)
    t = TIMES[[1, 4, 6]]
    goals = [mg.AtTime(x, level(name)) for level in LEVELS for name in ("track", "spin") for x in t]
    goals += [mg.AtTime(x, mg.measures.PointPosition("rim")) for x in t]
    found = mg.gradient(motion, goals, ["R"], method=method).array[:, 0]
    angle, speed, second = polynomial(ANGLE, t)
    nothing = np.zeros(3)
    wanted = [angle - ANGLE[0], nothing, speed, nothing, second, nothing]
    np.testing.assert_allclose(found[:18], np.concatenate(wanted), atol=1e-12)
    rim = np.column_stack((angle - ANGLE[0], nothing, np.ones(3)))
    np.testing.assert_allclose(found[18:].reshape(3, 3), rim, atol=1e-12)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_along_a_circle(method):
    """The wheel turns by ARM / R times the yaw, so that its angle changes with R by -(angle - 0.2) / R."""
    motion = mg.kinematic_motion(round_about(), TIMES)
    yaw = polynomial((0.1, -0.4, -0.3), TIMES)
    for level, wanted in zip((motion.q, motion.v, motion.a), yaw, strict=True):
        np.testing.assert_allclose(level[:, 0], wanted, atol=1e-12)
    angles = (-ARM / RADIUS * (yaw[0] - 0.1), -ARM / RADIUS * yaw[1], -ARM / RADIUS * yaw[2])
    np.testing.assert_allclose(motion.q[:, 1], 0.2 + angles[0], atol=1e-12)
    goals = [mg.AtTime(x, level(name)) for level in LEVELS for name in ("yaw", "spin") for x in TIMES]
    found = mg.gradient(motion, goals, ["R"], method=method).array[:, 0].reshape(3, 2, -1)
    np.testing.assert_allclose(found[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(found[:, 1], -np.array(angles) / RADIUS, atol=1e-11)
    assert np.abs(found[:, 1, 1:]).min() > 0.3


def test_a_driver_that_would_slip_is_refused():
    with pytest.raises(mg.AssemblyError, match="no velocities of model 'rolling' meet all constraints"):
        mg.kinematic_motion(straight(faster=1.01), TIMES)


def test_a_radius_that_two_drivers_contradict_is_refused():
    """Driven along and about its axle, a wheel of another radius would slip: no velocities follow."""
    bodies = [mg.Body("w", 1.0, inertia=(0.1, 0.1, 0.1))]
    points = [mg.Point("centre", "w"), mg.Point("floor", "ground")]
    vectors = [mg.Vector("up", "ground", (0, 1, 0)), mg.Vector("axle", "w", (0, 0, 1))]
    rolls = mg.constraints.Rolling(
        "rolls", "centre", 0.3, "up", kind="wheel", axis="axle", contact=True, plane_point="floor"
    )
    model = mg.Model("wheel", bodies, [mg.Planar("p", "ground", "w")], points, vectors, constraints=[rolls])
    turn = mg.kinematic_motion(
        model,
        np.linspace(0.0, 1.0, 5),
        {"p.angle": mg.functions.Polynomial((0.0, -2.0)), "p.x": mg.functions.Polynomial((0.0, 0.6))},
        guess=[0.0, 0.3, 0.0],
    )
    for method in ("direct", "adjoint", "complex"):
        with pytest.raises(AssemblyError, match=r"'rolls\.radius' tears"):
            mg.gradient(turn, mg.AtEnd(mg.measures.JointVelocity("p.x")), ["rolls.radius"], method=method)
