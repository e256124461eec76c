"""The Stewart platform and the delta robot stand where closed forms put them."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery


def rotation(e: np.ndarray) -> np.ndarray:
    w, x, y, z = e / np.linalg.norm(e)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def on_circle(radius: float, degrees: list[float]) -> np.ndarray:
    return radius * np.array([(np.cos(x), np.sin(x), 0.0) for x in np.radians(degrees)])


BASE, TOP = on_circle(1.0, [-10, 10, 110, 130, 230, 250]), on_circle(0.6, [-50, 50, 70, 170, 190, 290])


def lengths(place: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Of six legs, with the plate's centre there [m]."""
    return np.linalg.norm(place + TOP @ rotation(e).T - BASE, axis=1)


def test_the_lengths_of_its_legs_put_the_plate_where_it_should_be() -> None:
    model = gallery.stewart_platform()
    found = mg.mobility(model, model.neutral())
    assert (found.freedoms, found.singular, len(model.bodies)) == (6, False, 13)
    home = lengths(np.array([0, 0, 1.0]), np.array([1.0, 0, 0, 0]))
    place, e = np.array([0.1, -0.07, 1.15]), np.array([1.0, 0.06, -0.03, 0.09])
    slides = lengths(place, e) - home
    assert slides.max() > 0.1
    q = gallery.stewart_platform_start(model, slides).q
    np.testing.assert_allclose(q[:3], place - [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(rotation(q[3:7]), rotation(e), atol=1e-9)
    ends = mg.kinematics.marker_motion(model, [f"{end} {k}" for k in range(6) for end in ("base", "top")], q).position
    legs = np.linalg.norm(ends[1::2] - ends[::2], axis=1)
    np.testing.assert_allclose(legs, lengths(place, e), atol=1e-9)


def test_its_motors_carry_the_weight_and_do_the_work() -> None:
    model = gallery.stewart_platform()
    assert np.abs(mg.forward_dynamics(model, model.neutral())).max() < 1e-12
    stronger = model.with_values({"drive 0.torque.value": model.value("drive 0.torque.value") + 1.0})
    assert np.abs(mg.forward_dynamics(stronger, model.neutral())).max() > 0.01
    start = gallery.stewart_platform_start(model, rates=0.3 - 0.1 * np.arange(6))
    motion = mg.simulate(model, start, 0.2, rtol=1e-10, atol=1e-10)
    slides = [model.q_names.index(f"slide {k}") for k in range(6)]
    work = model.value("drive 0.torque.value") * (motion.q[:, slides] - motion.q[0, slides]).sum(axis=1)
    assert np.ptp(motion.energy()) > 1.0
    np.testing.assert_allclose(motion.energy() - motion.energy()[0], work, atol=1e-7)


def test_gradients_by_places_of_joints_follow_the_legs() -> None:
    model = gallery.stewart_platform()
    motion = mg.simulate(model, gallery.stewart_platform_start(model, rates=0.3 - 0.1 * np.arange(6)), 0.05, step=2e-3)
    place = mg.AtEnd(mg.measures.PointPosition("centre"))
    found = mg.gradient(motion, place, ["ball 1.origin.x", "plate.mass", "drive 0.torque.value"])
    assert np.abs(found.array).max(axis=0).min() > 1e-7
    assert found.certify().passed


@pytest.mark.parametrize(
    ("given", "message"),
    [({"slides": [0.1] * 5}, "slides is .* six finite numbers"), ({"rates": [np.nan] * 6}, "rates is .* six finite")],
)
def test_legs_that_the_platform_cannot_have(given: dict[str, list[float]], message: str) -> None:
    with pytest.raises(mg.InputError, match=message):
        gallery.stewart_platform_start(gallery.stewart_platform(), **given)


def spheres(arms: np.ndarray) -> np.ndarray:
    """Where the platform of the delta robot stands: differences of the three equations leave a quadratic in z."""
    wide, narrow, upper, rod = 0.4573 / (2 * np.sqrt(3)), 0.115 / (2 * np.sqrt(3)), 0.112, 0.232
    c = np.array([
        ((wide - narrow + upper * np.cos(x)) * np.cos(t), (wide - narrow + upper * np.cos(x)) * np.sin(t),
         -upper * np.sin(x))
        for x, t in zip(arms, np.radians([0, 120, 240]), strict=True)
    ])  # fmt: skip
    left, right = 2 * (c[1:] - c[0]), (c[1:] ** 2).sum(axis=1) - (c[0] ** 2).sum()
    at_zero = np.linalg.solve(left[:, :2], right)
    slope = np.linalg.solve(left[:, :2], -left[:, 2])
    off = at_zero - c[0, :2]
    z = np.roots([slope @ slope + 1, 2 * (slope @ off - c[0, 2]), off @ off + c[0, 2] ** 2 - rod**2]).min()
    return np.append(at_zero + slope * z, z)


@pytest.mark.parametrize("arms", [(0.6, 0.6, 0.6), (0.0, 0.0, 0.0), (1.2, 0.1, 0.5), (-0.3, 0.2, 1.0), (1.4, 1.3, 0.9)])
def test_the_delta_robot_stands_where_three_spheres_meet(arms: tuple[float, float, float]) -> None:
    model = gallery.delta_robot()
    start = gallery.delta_robot_start(model, arms)
    tool = mg.kinematics.marker_motion(model, ["tool"], start.q).position[0]
    np.testing.assert_allclose(tool, spheres(np.array(arms)), atol=1e-10)
    np.testing.assert_allclose(start.q[3:7], [1, 0, 0, 0], atol=1e-10)  # it does not turn
    found = mg.mobility(model, start.q)
    assert (found.freedoms, found.singular, len(model.bodies)) == (3, False, 10)


def test_the_delta_robot_drops_without_turning() -> None:
    model = gallery.delta_robot()
    start = mg.assemble(
        model, {"arm 0": 0.5, "arm 1": 0.7, "arm 2": 0.6}, guess=gallery.delta_robot_start(model, (0.5, 0.7, 0.6)).q
    )
    motion = mg.simulate(model, start, 0.15, rtol=1e-10, atol=1e-10)
    arms = [model.q_names.index(f"arm {k}") for k in range(3)]
    assert np.ptp(motion.q[:, 2]) > 0.02
    np.testing.assert_allclose(np.abs(motion.q[:, 3]), 1.0, atol=1e-9)
    tool = motion.markers(["tool"]).position[-1, 0]
    np.testing.assert_allclose(tool, spheres(motion.q[-1, arms]), atol=1e-8)
    assert np.ptp(motion.energy()) < 1e-8


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ((0.1, 0.2), "give three finite angles"),
        ((0.1, 0.2, np.inf), "give three finite angles"),
        ((-1.5, 1.5, 3.1), "elbows are on a circle of"),
    ],
)
def test_arms_that_the_delta_robot_cannot_have(arms: tuple[float, ...], message: str) -> None:
    with pytest.raises(mg.InputError, match=message):
        gallery.delta_robot_start(gallery.delta_robot(), arms)
