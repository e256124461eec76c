"""Gradients of contacts in all their phases: compression, rebound with damping, rebound so fast that the push ends.

Direct gradients differentiate the laws, adjoint ones add up tables of their numbers: two codes, both against central
differences of whole motions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mechgrad as mg

RADIUS, DAMPING, STEP = 0.3, 0.5, 1e-3  # above 1 / DAMPING = 2 m/s of rebound the push ends
NORMAL = {"stiffness": 4e3, "damping": DAMPING, "exponent": 2.2}  # smooth at the touch
PLANE = ("ground.origin", "up")
CONTACTS = {
    "sphere": mg.forces.SphereContact("c", "ball.origin", RADIUS, *PLANE, friction=0.4, slip_speed=0.3, **NORMAL),
    "wheel": mg.forces.WheelContact("c", "ball.origin", "axle", RADIUS, *PLANE, friction=0.4, slip_speed=0.3, **NORMAL),
    "tyre": mg.forces.Tyre(
        "c", "ball.origin", "axle", RADIUS, *PLANE, friction_x=0.5, friction_y=0.4, critical_slip=0.6,
        critical_angle=0.7, slip_speed=0.5, **NORMAL,
    ),
}  # fmt: skip
NUMBERS = {
    "sphere": ("radius", "stiffness", "damping", "exponent", "friction", "slip_speed"),
    "wheel": ("radius", "stiffness", "damping", "exponent", "friction", "slip_speed"),
    "tyre": ("radius", "stiffness", "damping", "exponent", "friction_x", "friction_y", "critical_slip",
             "critical_angle", "slip_speed"),
}  # fmt: skip
# height and speed of the centre at the start, duration
PHASES = {
    "compression": (0.28, -2.5, 0.015),
    "damped rebound": (0.22, 1.2, 0.02),
    "push ended": (0.22, 4.0, 0.01),
    "push ended, then damped": (0.2, 2.6, 0.03),
    "all of them": (0.2, 2.6, 0.5),
}


def model(kind):
    """A body that slides along x, y and z and does not turn; a stiff damper brakes it on its way up."""
    bodies = [mg.Body("rail", 0.1), mg.Body("post", 0.1), mg.Body("ball", 1.0)]
    joints = [
        mg.Prismatic("x", "ground", "rail", axis=(1, 0, 0)),
        mg.Prismatic("y", "rail", "post", axis=(0, 1, 0)),
        mg.Prismatic("z", "post", "ball", axis=(0, 0, 1)),
    ]
    vectors = [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "ball", (0.3, 1.0, 0.2))]
    brake = mg.forces.JointFriction("brake", "z", viscous=15.0)
    return mg.Model("bouncing", bodies, joints, vectors=vectors, forces=[CONTACTS[kind], brake])


def moved(kind, phase, values=None):
    m = model(kind)
    height, speed, duration = PHASES[phase]
    m = m if values is None else m.with_values(values)
    return mg.simulate(
        m, mg.state(m, [0.0, 0.0, height], [1.5, -0.8, speed]), duration=duration, scheme="rk4", step=STEP
    )


@cache
def motion(kind, phase):
    return moved(kind, phase)


def goals():
    """Where it is and how fast, in the end; and what the contact exerted on the way."""
    return [
        *(mg.AtEnd(mg.measures.JointCoordinate(name)) for name in "xyz"),
        *(mg.AtEnd(mg.measures.JointVelocity(name)) for name in "xyz"),
        mg.Integral(lambda f: 1e-2 * (f * f).sum(-1), mg.measures.Effort("c")),
    ]


def phases(kind, m):
    """Depth and rate of the depth over time, and whether the push has ended while it is still in touch."""
    axle = np.array([0.3, 1.0, 0.2])
    circle = 1.0 if kind == "sphere" else np.sqrt(1 - (axle[2] / np.linalg.norm(axle)) ** 2)
    depth, approach = RADIUS * circle - m.q[:, 2], -m.v[:, 2]
    return depth > 0, (depth > 0) & (1 + DAMPING * approach <= 0), (depth > 0) & (approach > 0)


@pytest.mark.parametrize("kind", CONTACTS)
def test_the_phases_are_what_they_are_called(kind):
    for phase in PHASES:
        touch, ended, compressed = phases(kind, motion(kind, phase))
        assert {
            "compression": compressed.all(),
            "damped rebound": touch.all() and not ended.any() and not compressed.any(),
            "push ended": ended.all(),
            "push ended, then damped": touch.all() and ended[0] and not ended[-1] and not compressed.any(),
            "all of them": ended.any() and compressed.any() and not touch.all()
            and (touch & ~ended & ~compressed).any(),
        }[phase], phase  # fmt: skip


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "push ended"])
@pytest.mark.parametrize("kind", CONTACTS)
def test_gradients_by_all_numbers(kind, phase, method):
    paths = [f"c.{name}" for name in NUMBERS[kind]]
    found = mg.gradient(motion(kind, phase), goals(), paths, method=method).array
    wanted = differences(kind, phase)
    size = np.abs(wanted).max(axis=1, keepdims=True)
    # steps of 1e-5 of each number leave about 1e-9 of curvature and 1e-10 of rounding
    assert (np.abs(found - wanted) / size).max() < 1e-6
    assert size.min() > 1e-4
    # each number matters, in per cent of its own
    scale = np.array([motion(kind, phase).model.value(path) for path in paths])
    assert (np.abs(wanted) * scale / size).max(axis=0).min() > 1e-4


@cache
def differences(kind, phase):
    """Central ones, of objectives of motions with other numbers."""
    columns = []
    for name in NUMBERS[kind]:
        x = model(kind).value(f"c.{name}")
        ends = []
        for sign in (1, -1):
            m = moved(kind, phase, {f"c.{name}": x * (1 + sign * 1e-5)})
            ends.append(mg.gradient(m, goals(), ["gravity.z"], method="direct").values)
        columns.append((ends[0] - ends[1]) / (2e-5 * x))
    return np.array(columns).T


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize("kind", CONTACTS)
def test_a_push_that_has_ended_has_no_numbers(kind, method):
    """While the contact rebounds too fast it exerts nothing: the motion is that of weight and brake alone."""
    m = motion(kind, "push ended")
    found = mg.gradient(m, goals(), [f"c.{name}" for name in NUMBERS[kind]], method=method)
    assert not found.array.any()
    assert found.values[-1] == 0.0
    t, speed = m.t, 4.0
    rest = -9.81 / 15.0
    np.testing.assert_allclose(m.v[:, 2], rest + (speed - rest) * np.exp(-15.0 * t), rtol=1e-8)
    np.testing.assert_allclose(m.v[:, :2], [[1.5, -0.8]] * len(t), rtol=1e-14)
