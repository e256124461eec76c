import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from row_values import (
    BODIES,
    FORCES,
    SPLINE,
    USER_FORCE,
    cubic_law,
    law_forces,
    model_with,
    random_poses,
    random_twists,
    value,
    velocity,
)
from scipy.spatial.transform import Rotation
from support.printed import named

import mechgrad as mg
from mechgrad.errors import ModelError, ShapeError, UnknownNameError, ValueRangeError, ZeroAxisError
from mechgrad.model import FORCE_TYPES
from mechgrad.model.primitives import rows
from mechgrad.model.primitives.attached import places

MODEL = model_with()
WHERE = places(MODEL)


@pytest.fixture
def poses():
    return random_poses(np.random.default_rng(3), BODIES)


@pytest.fixture
def twists():
    return random_twists(np.random.default_rng(4), BODIES)


def at(name, poses):
    """A marker in the world."""
    place = WHERE(name)
    rotation, origin = poses[place.body]
    return rotation @ place.local + (origin if place.is_point else 0.0)


def moving(name, poses, twists):
    """Velocity of a point."""
    return velocity(at(name, poses), WHERE(name).body, poses, twists)


def forces(force, *state, **more):
    return [f for law in force.laws(WHERE) for f in law_forces(law, *state, **more)]


def test_the_list_of_examples_is_complete():
    assert {f.type_name: type(f) for f in FORCES} == FORCE_TYPES


def test_springs_pull_along_their_line(poses, twists):
    d = at("on cart", poses) - at("on ball", poses)
    length = np.linalg.norm(d)
    rate = d / length @ (moving("on cart", poses, twists) - moving("on ball", poses, twists))
    assert abs(rate) > 0.1
    spring = mg.forces.SpringDamper("s", "on cart", "on ball", stiffness=100.0, damping=3.0, free_length=0.4)
    assert_allclose(forces(spring, poses, twists), [100 * (length - 0.4) + 3 * rate])
    curve = mg.forces.SpringCurve(
        "s", "on cart", "on ball", SPLINE, damper=mg.functions.Polynomial((0, 5.0, 0.1)), free_length=0.4
    )
    assert_allclose(forces(curve, poses, twists), [SPLINE(length - 0.4) + 5 * rate + 0.1 * rate**2])
    assert_allclose(forces(mg.forces.SpringCurve("s", "on cart", "on ball", SPLINE), poses, twists), [SPLINE(length)])


def test_forces_on_coordinates():
    q, qd = {"hinge": 0.7, "slide": 0.2}, {"hinge": 0.04, "slide": -1.0}
    state = ({}, {}, q, qd)
    assert_allclose(forces(mg.forces.TorsionSpring("s", "hinge", 5.0, 0.3, 0.1), *state), [5 * 0.6 + 0.3 * 0.04])
    assert_allclose(forces(mg.forces.JointSpring("s", "slide", 5.0, 0.3, 0.1), *state), [5 * 0.1 - 0.3])
    assert_allclose(forces(mg.forces.Motor("m", "slide", 3.0), *state), [-3.0])
    assert_allclose(forces(mg.forces.Motor("m", "slide", SPLINE), *state, t=0.8), [-SPLINE(0.8)])
    friction = mg.forces.JointFriction("f", "hinge", coulomb=0.3, viscous=0.02, speed=0.05)
    assert_allclose(forces(friction, *state), [0.3 * np.tanh(0.8) + 0.02 * 0.04])


def test_bushing_measures_displacement_and_the_sine_of_rotation():
    frame_a, frame_b = Rotation.from_rotvec([0.2, -0.4, 0.3]), Rotation.from_rotvec([0.5, 0.1, -0.7])
    body_a = Rotation.from_rotvec([-0.3, 0.6, 0.2])
    w, phi = np.array([2.0, -1.0, 2.0]) / 3.0, 0.8
    # b's frame is a's frame, turned by phi about w (in the axes of a's frame)
    body_b = body_a * frame_a * Rotation.from_rotvec(phi * w) * frame_b.inv()
    poses = random_poses(np.random.default_rng(1), BODIES)
    poses["cart"] = (body_a.as_matrix(), poses["cart"][1])
    poses["arm"] = (body_b.as_matrix(), poses["arm"][1])
    k, K = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    quaternions = [np.roll(frame.as_quat(), 1) for frame in (frame_a, frame_b)]
    bushing = mg.forces.Bushing("b", "on cart", "on arm", k, (0, 0, 0), K, (0, 0, 0), *quaternions)
    d = (body_a * frame_a).inv().apply(at("on arm", poses) - at("on cart", poses))
    still = {body: (np.zeros(3), np.zeros(3)) for body in poses}
    assert_allclose(forces(bushing, poses, still), np.concatenate((k * d, K * w * np.sin(phi))), atol=1e-14)


def test_bushing_dampers_feel_rates():
    """Bodies in one pose: the rate of the rotation measure is the relative angular velocity."""
    rng = np.random.default_rng(2)
    turn = Rotation.from_rotvec([0.4, 0.5, -0.2]).as_matrix()
    poses = random_poses(rng, BODIES) | {"cart": (turn, np.zeros(3)), "arm": (turn, np.zeros(3))}
    twists = random_twists(rng, BODIES)
    C = np.array([0.4, 0.5, 0.6])
    bushing = mg.forces.Bushing("b", "cart.origin", "arm.origin", damping=(1, 2, 3), rotational_damping=C)
    spin, v = (turn.T @ (twists["arm"][i] - twists["cart"][i]) for i in (0, 1))
    assert_allclose(forces(bushing, poses, twists), np.concatenate(((1, 2, 3) * v, C * spin)), atol=1e-14)


@pytest.mark.parametrize("depth", [0.02, -0.02])
def test_sphere_contact_pushes_only_while_it_touches(poses, twists, depth):
    n = at("up", poses)
    rotation, _ = poses["ball"]
    centre = at("spot", poses) + (0.1 - depth) * n + np.cross(n, [0.3, 0.2, 0.1])
    poses["ball"] = (rotation, centre - rotation @ WHERE("on ball").local)
    contact = mg.forces.SphereContact("c", "on ball", 0.1, "spot", "up", 1e4, 0.05, 1.5, friction=0.3, slip_speed=0.02)
    got = forces(contact, poses, twists)
    rate = -(n @ moving("on ball", poses, twists))
    push = 1e4 * 0.02**1.5 * (1 + 0.05 * rate) if depth > 0 else 0.0
    v = velocity(centre - 0.1 * n, "ball", poses, twists)
    slip = np.linalg.norm(v - (v @ n) * n)
    assert_allclose(got[0], -push)
    assert_allclose(np.linalg.norm(got[1:]), 0.3 * push * slip / np.hypot(slip, 0.02), atol=1e-12)
    # friction takes energy out: the forces act against the slip
    assert depth < 0 or np.linalg.norm(got[1:]) > 1.0


def test_wheel_contact_and_tyre(poses, twists):
    """A wheel upright on the ground, heading along x with its axle along y: slips can be written down."""
    radius, sunk = 0.3, 0.01
    up = WHERE("up").local
    ahead = np.cross(WHERE("axle").local, [0.0, 0.0, 1.0])
    # the body's axle across, its track along e1, the plane's normal up
    e1 = np.cross([0.3, 1.0, 0.2], up)
    e1 /= np.linalg.norm(e1)
    side = np.cross(up, e1)
    body_frame = np.column_stack(_triad(WHERE("axle").local, ahead))
    world_frame = np.column_stack((side, e1, np.cross(side, e1)))
    rotation = world_frame @ body_frame.T
    centre = at("spot", poses) + (radius - sunk) * up
    poses["wheel"] = (rotation, centre - rotation @ WHERE("hub").local)
    spin, v_ahead, v_side = 20.0, 5.0, 0.4
    w, v = spin * side, v_ahead * e1 + v_side * side
    twists["wheel"] = (w, v - np.cross(w, rotation @ WHERE("hub").local))
    along = v_ahead - spin * radius  # the lowest point runs back as the wheel turns about the side
    push = 1e4 * sunk
    wheel = mg.forces.WheelContact(
        "c", "hub", "axle", radius, "spot", "up", 1e4, 0.0, 1.0, friction=0.5, slip_speed=0.1
    )
    slip = np.array([along, v_side])
    expected = 0.5 * push * slip / np.sqrt(slip @ slip + 0.01)
    assert_allclose(forces(wheel, poses, twists), [-push, *expected], rtol=1e-10)
    tyre = mg.forces.Tyre(
        "t", "hub", "axle", radius, "spot", "up", 1e4,
        friction_x=1.1, friction_y=0.8, critical_slip=0.12, critical_angle=0.09, slip_speed=0.2,
    )  # fmt: skip
    fast = np.hypot(v_ahead, 0.2)
    tangential = [1.1 * push * np.tanh(along / 0.12 / fast), 0.8 * push * np.tanh(v_side / 0.09 / fast)]
    assert_allclose(forces(tyre, poses, twists), [-push, *tangential, 0.0], rtol=1e-10)


def _triad(axis, ahead):
    """(axis, ahead, the third), orthonormal."""
    ahead = ahead / np.linalg.norm(ahead)
    return axis, ahead, np.cross(axis, ahead)


def test_user_force_measures_what_it_says(poses):
    (law,) = USER_FORCE.laws(WHERE)
    q = {"hinge": 0.7}
    x = {name: at(name, poses) for name in ("on cart", "on ball", "on arm", "spot", "up")}
    expected = [
        np.linalg.norm(x["on cart"] - x["on ball"]),
        0.7,
        x["up"] @ (x["on ball"] - x["spot"]),
        np.array([1, 2, 2]) / 3 @ (x["on arm"] - x["spot"]),
    ]
    assert law.kind == rows.USER
    assert_allclose([value(row, poses, q) for row in law.rows], expected)
    assert mg.forces.UserForce("f", mg.measures.JointCoordinate("hinge"), cubic_law) == mg.forces.UserForce(
        "f", [mg.measures.JointCoordinate("hinge")], cubic_law
    )


@pytest.mark.parametrize("force", FORCES, ids=lambda f: f.name)
def test_forces_equal_and_print(force):
    same = eval(named(repr(force)), {"mg": mg})
    assert same == force
    assert hash(same) == hash(force)
    assert force not in [f for f in FORCES if f is not force]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: mg.forces.SpringDamper("f", "a", "b", 1, -2),
            ValueRangeError,
            "force 'f': damping = -2 must not be neg",
        ),
        (
            lambda: mg.forces.SpringDamper("f", "a", "b", 1, 0, -2),
            ValueRangeError,
            "free_length = -2 must not be negative",
        ),
        (lambda: mg.forces.SpringCurve("f", "a", "b", None), ModelError, "force 'f': curve = None must be a number"),
        (lambda: mg.forces.TorsionSpring("f", "a", 1, -1), ValueRangeError, "damping = -1"),
        (lambda: mg.forces.JointSpring("f", "a", 1, -1), ValueRangeError, "damping = -1"),
        (
            lambda: mg.forces.Bushing("f", "a", "b", damping=(0, -1, 0)),
            ValueRangeError,
            "damping = (0, -1, 0) must not be",
        ),
        (
            lambda: mg.forces.Bushing("f", "a", "b", orientation_a=(0, 0, 0, 0)),
            ZeroAxisError,
            "orientation_a = (0, 0, 0, 0)",
        ),
        (lambda: mg.forces.JointFriction("f", "a", -0.1), ValueRangeError, "coulomb = -0.1 must not be negative"),
        (lambda: mg.forces.JointFriction("f", "a", speed=0), ValueRangeError, "speed = 0 must be positive"),
        (
            lambda: mg.forces.SphereContact("f", "a", 0.1, "b", "n", 0),
            ValueRangeError,
            "stiffness = 0 must be positive",
        ),
        (
            lambda: mg.forces.SphereContact("f", "a", 0.1, "b", "n", 1, exponent=0.9),
            ValueRangeError,
            "exponent = 0.9 must be",
        ),
        (
            lambda: mg.forces.SphereContact("f", "a", 0.1, "b", "n", 1, friction=-1),
            ValueRangeError,
            "friction = -1 must not",
        ),
        (
            lambda: mg.forces.WheelContact("f", "a", "w", -1, "b", "n", 1),
            ValueRangeError,
            "radius = -1 must be positive",
        ),
        (
            lambda: mg.forces.Tyre("f", "a", "w", 1, "b", "n", 1, critical_slip=0),
            ValueRangeError,
            "critical_slip = 0 must be",
        ),
        (
            lambda: mg.forces.UserForce("f", [], cubic_law),
            ShapeError,
            "force 'f': measures = () must be a list of measures",
        ),
        (lambda: mg.forces.UserForce("f", ["hinge"], cubic_law), ShapeError, "measures = ('hinge',)"),
        (
            lambda: mg.forces.UserForce("f", [mg.measures.JointCoordinate("hinge")], 3),
            ShapeError,
            "function = 3 must be a function of",
        ),
        (lambda: mg.measures.Offset("a", "b", (0, 0, 0)), ZeroAxisError, "direction = (0, 0, 0) has length zero"),
    ],
)
def test_errors_of_numbers(make, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make()


def test_a_negative_stiffness_is_a_spring():
    assert mg.forces.SpringDamper("over centre", "a", "b", stiffness=-10.0).stiffness == -10.0


@pytest.mark.parametrize(
    ("force", "error", "message"),
    [
        (
            mg.forces.SpringDamper("f", "hub", "on bal"),
            UnknownNameError,
            "force 'f': point_b: unknown point 'on bal'. Did",
        ),
        (mg.forces.Motor("f", "ball free.e1", 1), ValueRangeError, "is an Euler parameter"),
        (mg.forces.Motor("f", "B", 1), ValueRangeError, "joint 'B' is cut to open a loop"),
        (mg.forces.SphereContact("f", "hub", 1, "spot", "axle", 1), ValueRangeError, "these must be on one body"),
        (
            mg.forces.WheelContact("f", "hub", "up", 1, "spot", "up", 1),
            ValueRangeError,
            "point = 'hub' on 'wheel', axis = ",
        ),
        (mg.forces.Tyre("f", "hub", "axle", 1, "on cart", "up", 1), ValueRangeError, "these must be on one body"),
        (
            mg.forces.UserForce(
                "f", [mg.measures.JointCoordinate("hinge"), mg.measures.Height("hub", "spot", "upp")], cubic_law
            ),
            UnknownNameError,
            "force 'f': measures[1]: normal: unknown vector 'upp'. Did you mean 'up'?",
        ),
    ],
)
def test_errors_of_names(force, error, message):
    with pytest.raises(error, match=re.escape(message)):
        model_with(forces=[force])
