"""What measures add to gradients beside the motion: velocities in efforts, places of coordinates behind a ball, a
body's own centre of mass. Oracles are the equations of `measured_motion`, and central differences of whole motions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support import measured_motion as by_hand

import mechgrad as mg

DURATION = 0.1
MODEL = by_hand.model(rope=False)
EFFORTS = ("spring", "bend", "drive", "rub", "mount")
V_NAMES = (
    "free.vx", "free.vy", "free.vz", "free.wx", "free.wy", "free.wz", "ball.wx", "ball.wy", "ball.wz", "elbow", "reach",
)  # fmt: skip


def simulated(model=MODEL, q=None, v=None):
    q0, v0 = by_hand.start()
    q, v = q0 if q is None else q, v0 if v is None else v
    return mg.simulate(model, mg.state(model, q, v), duration=DURATION, scheme="rk4", step=2e-3)


@cache
def motion():
    return simulated()


def efforts(q, v, t):
    """Of all force elements, by their equations."""
    bodies = by_hand.rigid(q, v)
    bend = by_hand.BEND["stiffness"] * (q[11] - by_hand.BEND["free_angle"]) + by_hand.BEND["damping"] * v[9]
    rub = by_hand.RUB["coulomb"] * np.tanh(v[10] / by_hand.RUB["speed"]) + by_hand.RUB["viscous"] * v[10]
    return np.concatenate(([by_hand.spring_force(bodies), bend, -by_hand.torque(t), rub], by_hand.mount_forces(bodies)))


def test_names():
    """The order that the oracles count on."""
    assert MODEL.v_names == V_NAMES
    assert MODEL.q_names[11:] == ("elbow", "reach")


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_efforts_feel_velocities_at_once(method):
    """At the start nothing has moved yet: the gradient by a start velocity is the effort's own partial."""
    q, v = by_hand.start()
    goals = [mg.AtTime(0.0, mg.measures.Effort(name)) for name in EFFORTS]
    found = mg.gradient(motion(), goals, [f"start.velocity.{name}" for name in V_NAMES], method=method).array
    h = 1e-5
    wanted = np.array([efforts(q, v + h * e, 0.0) - efforts(q, v - h * e, 0.0) for e in np.eye(11)]).T / (2 * h)
    # all but the friction are linear in v; its third derivative is about 40, hence an error of 7 h^2 = 7e-10
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-9)
    size = np.abs(wanted).max(axis=1)
    assert size[2] == 0.0  # a motor does not depend on how fast it turns
    assert np.delete(size, 2).min() > 0.02


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_efforts_at_the_end(method):
    """Positions and velocities have changed both."""
    _, v = by_hand.start()
    wrt = ["start.velocity.elbow", "start.velocity.ball.wy", "start.velocity.reach", "start.velocity.free.wx"]
    goals = [mg.AtEnd(mg.measures.Effort(name)) for name in EFFORTS]
    found = mg.gradient(motion(), goals, wrt, method=method).array
    h, wanted = 1e-4, []
    for j in (9, 7, 10, 3):
        ends = [simulated(v=v + s * h * np.eye(11)[j]) for s in (1, -1)]
        up, down = (efforts(end.q[-1], end.v[-1], DURATION) for end in ends)
        wanted.append((up - down) / (2 * h))
    wanted = np.array(wanted).T
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())
    assert np.delete(np.abs(wanted).max(axis=1), 2).min() > 0.02


COORDINATES = {"elbow": 11, "reach": 12, "free.z": 2}


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_coordinates_behind_a_ball(method):
    """Four Euler parameters have three velocities: places of coordinates and of their velocities differ."""
    names = [name for name in V_NAMES if name.startswith(("free.v", "elbow", "reach", "ball"))]
    positions = [f"start.position.{name}" for name in ("elbow", "reach", "free.z")]
    velocities = [f"start.velocity.{name}" for name in names]
    goals = [mg.AtTime(0.0, mg.measures.JointCoordinate(name)) for name in COORDINATES]
    goals += [mg.AtEnd(mg.measures.JointCoordinate(name)) for name in COORDINATES]
    g = mg.gradient(motion(), goals, [*positions, *velocities], method=method)
    q, v = by_hand.start()
    places = list(COORDINATES.values())
    np.testing.assert_allclose(g.values, [*q[places], *motion().q[-1, places]], rtol=0, atol=0)
    np.testing.assert_allclose(g.array[:3, :3], np.eye(3), rtol=0, atol=1e-15)
    np.testing.assert_allclose(g.array[:3, 3:], 0.0, atol=1e-15)
    h = 1e-4
    for k, name in enumerate(names, start=3):
        step = h * np.eye(11)[V_NAMES.index(name)]
        wanted = (simulated(v=v + step).q[-1, places] - simulated(v=v - step).q[-1, places]) / (2 * h)
        np.testing.assert_allclose(g.array[3:, k], wanted, rtol=0, atol=1e-7)
        assert np.abs(wanted).max() > 1e-4
    assert np.abs(g.array[3:, 3:]).max(axis=1).min() > 0.05


AXES = ("x", "y", "z")


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_a_centre_of_mass_moves_with_its_own_numbers(method):
    """Twice: it is another point of the body, and the body moves in another way."""
    goals = [
        mg.AtTime(0.0, mg.measures.PointPosition("fore.com")),
        mg.AtEnd(mg.measures.PointPosition("fore.com")),
        mg.AtEnd(mg.measures.PointVelocity("fore.com")),
        mg.AtEnd(mg.measures.PointAcceleration("fore.com")),
        mg.AtEnd(mg.measures.Distance("fore.com", "kite.com")),
    ]
    found = mg.gradient(motion(), goals, [f"fore.com.{axis}" for axis in AXES], method=method)
    h, wanted = 1e-4, []
    for k in range(3):
        ends = []
        for s in (1, -1):
            com = np.array(by_hand.COM["fore"])
            com[k] += s * h
            m = simulated(MODEL.with_values({f"fore.com.{AXES[k]}": com[k]}))
            starts, bodies = by_hand.rigid(m.q[0], m.v[0]), by_hand.rigid(m.q[-1], m.v[-1], m.a[-1])
            gap = bodies["fore"].fixed(com)[0] - bodies["kite"].fixed(by_hand.COM["kite"])[0]
            measured = (starts["fore"].fixed(com)[0], *bodies["fore"].fixed(com), [np.linalg.norm(gap)])
            ends.append(np.concatenate(measured))
        wanted.append((ends[0] - ends[1]) / (2 * h))
    wanted = np.array(wanted).T
    # differences leave h^2 times third derivatives: 1e-8 of positions, more of accelerations
    scale = np.repeat([1.0, 1.0, 10.0, 1000.0, 1.0], [3, 3, 3, 3, 1])[:, None]
    assert (np.abs(found.array - wanted) / scale).max() < 1e-6
    np.testing.assert_allclose(found.array[:3], by_hand.rigid(*by_hand.start())["fore"].R, atol=1e-14)
    assert np.abs(wanted).max(axis=1).min() > 0.05


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_a_variable_that_drives_a_centre_of_mass(method):
    """Linked numbers: the point follows all that drive it."""
    linked = mg.Model(
        "linked", MODEL.bodies, MODEL.joints, MODEL.points, MODEL.vectors, MODEL.gravity, forces=MODEL.forces,
        variables=[mg.DesignVariable("b", {"fore.com.x": 1.0, "tool.com.z": 2.0}, by_hand.COM["fore"][0])],
    )  # fmt: skip
    goals = [mg.AtEnd(mg.measures.PointPosition(f"{name}.com")) for name in ("fore", "tool", "kite")]
    g = mg.gradient(simulated(linked), goals, ["b", "fore.com.x", "tool.com.z"], method=method)
    np.testing.assert_allclose(g.of("b"), g.of("fore.com.x") + 2.0 * g.of("tool.com.z"), atol=1e-12)
    assert np.abs(g.array[:6]).max(axis=0).min() > 0.3
