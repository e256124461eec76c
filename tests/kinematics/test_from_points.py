"""Coordinates and velocities from what is known of points and vectors."""

import numpy as np
import pytest
from kinematic_loops import five_bar, spatial_slider_crank
from model.joint_poses import every_joint

import mechgrad as mg
from mechgrad.errors import AssemblyError, InputError, UnknownNameError
from mechgrad.kinematics import from_points
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.from_points import coordinates_from_points, matrix_to_quaternion, velocities_from_points
from mechgrad.model.primitives.fields import replaced
from mechgrad.model.primitives.frames import quaternion_to_matrix, rotation_vector_to_quaternion

JOINTS = every_joint(np.random.default_rng(5))
BODIES = [mg.Body("a", 1.0, (0.1, 0.2, 0.3)), mg.Body("b", 1.0, (-0.2, 0.1, 0.4))]
POINTS = [
    mg.Point("a1", "a", (0.3, 0.1, -0.2)), mg.Point("a2", "a", (-0.1, 0.5, 0.2)), mg.Point("a3", "a", (0.2, -0.3, 0.4)),
    mg.Point("b1", "b", (0.4, 0.2, 0.1)), mg.Point("b2", "b", (0.1, -0.2, 0.3)),
]  # fmt: skip
VECTORS = [mg.Vector("u", "b", (0.5, 1.0, -0.7))]


def between(joint, parent, child):
    new = replaced(joint, {})
    object.__setattr__(new, "parent", parent)
    object.__setattr__(new, "child", child)
    return new


def two_bodies(joint):
    """A free body that carries another on the joint under test."""
    return mg.Model("pair", BODIES, [mg.Floating("root", "ground", "a"), joint], POINTS, VECTORS)


def motion_of(model, names, seed=3):
    rng = np.random.default_rng(seed)
    q, v = model.integrate(model.neutral(), rng.uniform(-1, 1, model.n_v)), rng.uniform(-1, 1, model.n_v)
    motion = mg.kinematics.marker_motion(model, names, q, v)
    return q, v, dict(zip(names, motion.position, strict=True)), dict(zip(names, motion.velocity, strict=True))


ALL = ["a1", "a2", "a3", "b1", "b2", "u"]
IDS = [
    f"{type(j).__name__}-{getattr(j, 'kind', '')}{getattr(j, 'sign', '')}{getattr(j, 'convention', '')}" for j in JOINTS
]


def check_round_trip(model, monkeypatch):
    q, v, positions, velocities = motion_of(model, ALL)
    # in closed form: nothing may be left to the search
    monkeypatch.setattr(from_points, "_fitted", None)
    np.testing.assert_allclose(coordinates_from_points(model, positions), q, atol=1e-12)
    np.testing.assert_allclose(velocities_from_points(model, q, velocities), v, atol=1e-12)


@pytest.mark.parametrize("joint", JOINTS, ids=IDS)
def test_round_trip_of_every_joint(joint, monkeypatch):
    check_round_trip(two_bodies(between(joint, "a", "b")), monkeypatch)


# a free joint is not reversed
REVERSIBLE = [(joint, name) for joint, name in zip(JOINTS, IDS, strict=True) if joint.n_v < 6]


@pytest.mark.parametrize("joint", [joint for joint, _ in REVERSIBLE], ids=[name for _, name in REVERSIBLE])
def test_round_trip_of_every_joint_from_its_child(joint, monkeypatch):
    check_round_trip(two_bodies(between(joint, "b", "a")), monkeypatch)


def test_hinge_angle_from_two_directions():
    """q = atan2(w . (u x v), u . v), over the whole turn."""
    model = mg.Model("hinge", BODIES[:1], [mg.Revolute("h", "ground", "a", axis=(1, 2, -1))], POINTS[:3])
    w = np.array([1, 2, -1]) / np.sqrt(6)
    for angle in (-3.1, -1.7, 0.4, 2.9):
        x = mg.kinematics.marker_motion(model, ["a1", "a2", "a3"], [angle]).position
        q = coordinates_from_points(model, dict(zip(["a1", "a2", "a3"], x, strict=True)))
        u, v = POINTS[0].position - (w @ POINTS[0].position) * w, x[0] - (w @ x[0]) * w
        assert q[0] == pytest.approx(np.arctan2(w @ np.cross(u, v), u @ v), abs=1e-13)
        assert q[0] == pytest.approx(angle, abs=1e-13)


def test_bodies_with_too_few_points_of_their_own_are_found_with_their_loop():
    """One point per bar does not tell its pose; hinges do, and the bar without any follows from the closure."""
    model = five_bar()
    state = assemble(model, {"A": 0.2, "1": -0.3})
    x = mg.kinematics.marker_motion(model, ["P1", "P2"], state.q).position
    q = coordinates_from_points(model, {"P1": x[0], "P2": x[1]})
    np.testing.assert_allclose(q, state.q, atol=1e-12)


def test_slider_crank_round_trip():
    model = spatial_slider_crank()
    state = assemble(model, {"crank": 0.5}, {"crank": 2.0})
    names = ["B", "C", "arm.origin", "rod.origin", "slider.origin"]
    motion = mg.kinematics.marker_motion(model, names, state.q, state.v)
    q = coordinates_from_points(model, dict(zip(names, motion.position, strict=True)), guess=state.q)
    np.testing.assert_allclose(mg.kinematics.marker_motion(model, names, q).position, motion.position, atol=1e-12)
    v = velocities_from_points(model, state.q, dict(zip(names, motion.velocity, strict=True)))
    np.testing.assert_allclose(v, state.v, atol=1e-11)


def test_measured_points_are_fitted():
    model = two_bodies(mg.Revolute("h", "a", "b", axis=(1, 2, -1)))
    q, _, positions, _ = motion_of(model, ALL)
    noise = np.random.default_rng(7)
    measured = {name: x + 1e-4 * noise.normal(size=3) for name, x in positions.items()}
    with pytest.raises(AssemblyError, match=r"cannot have its points where they are said to be.* by "):
        coordinates_from_points(model, measured, tolerance=1e-9)
    np.testing.assert_allclose(coordinates_from_points(model, measured, tolerance=1e-2), q, atol=2e-3)


@pytest.mark.parametrize(
    "turn", [(0.1, 0.2, 0.3), (3.0, 0.2, -0.1), (0.1, 3.1, 0.2), (0.0, 0.1, -3.1), (1.8849555, 2.513274, 0)]
)
def test_euler_parameters_from_the_largest(turn):
    e = rotation_vector_to_quaternion(np.array(turn))
    e = -e if e[0] < 0 else e
    found = matrix_to_quaternion(quaternion_to_matrix(e))
    np.testing.assert_allclose(found * np.sign(found @ e), e, atol=1e-15)


def test_what_is_not_enough():
    model = two_bodies(mg.Spherical("s", "a", "b"))
    q, _, positions, velocities = motion_of(model, ALL)
    del positions["u"], velocities["u"], positions["b2"], velocities["b2"]
    with pytest.raises(AssemblyError, match=r"leave 1 degree\(s\) of freedom open, in s.w"):
        coordinates_from_points(model, positions)
    with pytest.raises(AssemblyError, match=r"leave 1 degree\(s\) of freedom open, in s.w"):
        velocities_from_points(model, q, velocities)


def test_input_is_checked():
    model = five_bar()
    with pytest.raises(UnknownNameError, match="P1"):
        coordinates_from_points(model, {"P9": (0, 0, 0)})
    with pytest.raises(InputError, match="three finite real numbers"):
        coordinates_from_points(model, {"P1": (0, 0)})
