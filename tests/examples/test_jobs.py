"""First jobs of a new user, against formulas of their own: what the examples compute is compared, not how."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import mechgrad as mg

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LINES = 90  # what a user writes for one job, its picture included


def job(stem: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"job_{stem}", EXAMPLES / f"{stem}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("1[1-7]_*.py")), ids=lambda path: path.stem)
def test_jobs_are_short(path):
    code = [line for line in path.read_text().splitlines() if line.strip() and not line.strip().startswith("#")]
    assert 30 < len(code) <= LINES


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def four_bar(t):
    """Centres of mass (3, 2) and angles (3,) of crank, coupler and rocker, joints (4, 2): the law of cosines."""
    A, D = np.array([0.0, 0.0]), np.array([1.0, 0.0])
    crank = 2 * np.pi * t
    B = 0.3 * np.array([np.cos(crank), np.sin(crank)])
    d = D - B
    length = np.sqrt(d @ d)
    along = (0.9**2 - 0.8**2 + length**2) / (2 * length)
    up = np.sqrt(0.9**2 - along**2)
    C = B + (along * d + up * np.array([-d[1], d[0]])) / length
    angles = np.array([crank, *(_angle(x) for x in (C - B, C - D))])
    return np.stack([(A + B) / 2, (B + C) / 2, (C + D) / 2]), angles, np.stack([A, B, C, D])


def _angle(x):
    """atan2 that complex steps pass through; the rods point upwards."""
    return np.pi / 2 - np.arctan(x[0] / x[1])


def second(f, t, h=1e-4):
    """Second derivative: differences, of order four, of complex steps."""
    rate = lambda s: f(s + 1e-30j).imag / 1e-30  # noqa: E731
    return (8 * (rate(t + h) - rate(t - h)) - (rate(t + 2 * h) - rate(t - 2 * h))) / (12 * h)


def test_four_bar_against_newton_and_euler():
    """Nine equations of three bodies at every instant, positions by the law of cosines."""
    motion = job("11_four_bar").turn(25)
    P, carried = motion.markers(["P"]).position[:, 0], motion.reactions()
    masses, lengths = np.array([0.6, 1.8, 1.6]), np.array([0.3, 0.9, 0.8])
    inertia = masses * lengths**2 / 12
    forces = []
    for k, t in enumerate(motion.t):
        centres, angles, joints = four_bar(t)
        c, s = np.cos(angles[1]), np.sin(angles[1])
        np.testing.assert_allclose(P[k, :2], joints[1] + [0.45 * c - 0.3 * s, 0.45 * s + 0.3 * c], atol=1e-11)
        a, alpha = second(lambda x: four_bar(x)[0], t), second(lambda x: four_bar(x)[1], t)
        W, b = np.zeros((9, 9)), np.zeros(9)
        # A on the crank, B on the coupler, C and D on the rocker; minus on the other body
        for j, (plus, minus) in enumerate(((0, None), (1, 0), (2, 1), (2, None))):
            for body, sign in ((plus, 1.0), (minus, -1.0)):
                if body is None:
                    continue
                arm = joints[j] - centres[body]
                W[3 * body : 3 * body + 2, 2 * j : 2 * j + 2] += sign * np.eye(2)
                W[3 * body + 2, 2 * j : 2 * j + 2] += sign * np.array([-arm[1], arm[0]])
        W[2, 8] = 1.0
        for body in range(3):
            b[3 * body : 3 * body + 2] = masses[body] * (a[body] + [0.0, 9.81])
            b[3 * body + 2] = inertia[body] * alpha[body]
        forces.append(np.linalg.solve(W, b))
    wanted = np.array(forces)
    assert np.ptp(wanted[:, 8]) > 10.0
    np.testing.assert_allclose(motion.driving()["motor"], wanted[:, 8], atol=1e-7)
    for j, name in enumerate("ABCD"):
        np.testing.assert_allclose(carried.of(name).force[:, :2], wanted[:, 2 * j : 2 * j + 2], atol=1e-7)


def test_stewart_platform_against_the_balance_of_its_plate():
    """Six equations: m (x'' - g) and I roll'' from the pushes of the legs along their lines."""
    example = job("13_stewart_platform")
    motion = example.motion(21)
    pushes = np.stack(list(motion.driving().values()), axis=1)
    t = motion.t
    x, R = example.wanted(t)
    top = x[:, None] + example.TOP @ R.swapaxes(1, 2)
    u = (top - example.BASE) / example.lengths(t)[:, :, None]
    force = np.einsum("tk,tki->ti", pushes, u)
    moment = np.einsum("tk,tki->ti", pushes, np.cross(top - x[:, None], u))
    w = np.pi
    a = np.stack([-0.1 * w**2 * np.sin(w * t), 0 * t, 0.2 * w**2 * np.cos(w * t)], axis=1)
    roll = -0.2 * (2 * w) ** 2 * np.sin(2 * w * t)
    assert np.ptp(pushes, axis=0).min() > 20.0
    # lengths are splines with knots at 5 ms: their second rates are off by h^2 / 12 of the fourth, more at the ends
    inner = slice(1, -1)
    np.testing.assert_allclose(force[inner], 50.0 * (a + np.array([0, 0, 9.81]))[inner], atol=0.05)
    np.testing.assert_allclose(moment[inner, 0], (4.0 * roll)[inner], atol=0.05)
    np.testing.assert_allclose(moment[inner, 1:], 0.0, atol=0.05)


def test_corner_carries_its_weight_and_the_spring_follows_by_virtual_work():
    """Chassis held, lower arm turned: N dz of the tyre, less the weights that are lifted, is what the spring takes."""
    rest = job("14_wishbone_corner").settled()
    model = rest.model
    still = mg.simulate(model, rest, duration=0.01, step=0.01)
    normal, pull = still.efforts("tyre").push("height")[0], still.efforts("spring")["length"][0]
    assert normal == pytest.approx(286.5 * 9.81, rel=1e-9)
    v = mg.kinematics.solve_velocities(model, rest.q, {"heave": 0.0, "lower pivot": 1.0, "hub": 0.0})
    bodies = ("lower arm", "upper arm", "upright", "wheel")
    moving = mg.kinematics.marker_motion(
        model, [*(f"{b}.com" for b in bodies), "axle", "spring top", "spring foot"], rest.q, v
    )
    *_, axle, top, foot = moving.position
    *coms, turn, _, foot_rate = moving.velocity
    stretch = (foot - top) @ foot_rate / np.linalg.norm(foot - top)
    lowest = coms[3][2] + 0.31 * axle[2] * turn[2] / np.sqrt(1 - axle[2] ** 2)
    lifted = sum(9.81 * model.body(b).mass * com[2] for b, com in zip(bodies, coms, strict=True))
    assert abs(stretch) > 0.1
    assert pull < -2000.0  # pressed together
    assert pull * stretch == pytest.approx(normal * lowest - lifted, rel=1e-9)


def test_arm_goes_around_what_stands_in_its_way():
    """Path of the tip by sines and cosines, torques by Lagrange's equations."""
    example = job("15_arm_and_obstacle")

    def clearance(solution):
        angles = np.cumsum(solution.motion(1201)[1], axis=1)
        tip = 0.4 * np.stack([np.cos(angles).sum(axis=1), np.sin(angles).sum(axis=1)], axis=1)
        return np.linalg.norm(tip - example.CENTRE[:2], axis=1).min() - example.RADIUS

    free, around = example.reach(obstacle=False), example.reach()
    assert free.result.success
    assert around.result.success
    assert clearance(free) < -0.1
    assert -1e-3 < clearance(around) < 1e-3
    _, q, v, a = around.motion(1201)
    tau = mg.inverse_dynamics(around.model, q, v, a, method="lagrange")
    used = np.abs(tau / example.TORQUES).max(axis=0)
    assert used.max() == pytest.approx(1.0, abs=0.01)


def test_top_precesses_as_its_angular_momentum_asks():
    """dL/dt = x cross m g about the tip, at the start; then the formula for the rest of the motion."""
    example = job("16_spinning_top")
    motion = example.precession(0.5)
    R = mg.kinematics.body_motion(motion.model, motion.q).of("top").R
    L = np.einsum("tij,tj->ti", R * [2e-3, 2e-3, 8e-4], np.einsum("tji,tj->ti", R, motion.v))
    x = motion.markers(["top.com"]).position[:, 0]
    torque = np.cross(x, [0, 0, -0.5 * 9.81])
    np.testing.assert_allclose(np.cross([0, 0, example.RATE], L), torque, atol=1e-9)
    assert np.abs(torque).max() > 0.1
    turned = example.RATE * motion.t - np.pi / 2
    circle = 0.05 * np.sin(0.5) * np.stack([np.cos(turned), np.sin(turned)], axis=1)
    np.testing.assert_allclose(x[:, :2], circle, atol=1e-9)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("20_brachistochrone", "slower"),
        ("21_flexible_drive", "above the least"),
        ("22_drive_and_shaft", "above the least"),
    ],
)
def test_optima_are_not_better_than_they_can_be(stem, name, tmp_path):
    """Errors of steps would make them so: the cycloid, and the least effort of all forces, are floors."""
    assert job(stem).main(tmp_path)[name] > -1e-8
