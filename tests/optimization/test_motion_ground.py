"""Bodies that stand: forces of the ground against statics, carts and the literal two-step algorithm, and what is asked
of them."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import UnknownNameError
from mechgrad.optimization.motion import (
    At,
    Contact,
    Duration,
    Free,
    GroundFriction,
    JerkSquares,
    LoadSchedule,
    MotionProblem,
    MotionSolution,
    PointLimits,
    Splines,
    Stance,
    TorqueLimits,
    TorqueSquares,
    ZeroMomentPoint,
)
from mechgrad.optimization.motion.ground_constraints import hull_edges
from mechgrad.optimization.motion.setting import Setting

G = 9.81
UP = np.array([0.0, 0.0, G])
GLOBAL = ("x", "y", "z", "yaw", "roll", "pitch")


def biped() -> mg.Model:
    """A trunk free in space on two legs of two joints; nothing is symmetric."""
    slides = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    hinges = {"yaw": (0, 0, 1), "roll": (1, 0, 0), "pitch": (0, 1, 0)}
    bodies, joints, parent = [], [], "ground"
    for name, axis in (slides | hinges).items():
        body = "trunk" if name == "pitch" else f"at_{name}"
        kind = mg.Prismatic if name in slides else mg.Revolute
        joints.append(kind(name, parent, body, axis=axis, origin=(0, 0, 0.9) if name == "x" else (0, 0, 0)))
        bodies.append(mg.Body(body, 20.0, (0.03, -0.02, 0.25), (0.9, 0.8, 0.3)) if body == "trunk" else mg.Body(body))
        parent = body
    for side, y, heavier in (("right", -0.1, 1.0), ("left", 0.12, 1.1)):
        bodies.append(mg.Body(f"thigh_{side}", 6.0 * heavier, (0.01, 0.0, -0.2), (0.1, 0.11, 0.02)))
        bodies.append(mg.Body(f"foot_{side}", 3.0, (0.04, 0.01, -0.25), (0.05, 0.06, 0.01)))
        joints.append(mg.Revolute(f"hip_{side}", "trunk", f"thigh_{side}", axis=(0.2, 1, 0), origin=(0, y, 0)))
        below = {"axis": (0, 1, 0.1), "origin": (0, 0, -0.45)}
        joints.append(mg.Revolute(f"knee_{side}", f"thigh_{side}", f"foot_{side}", **below))
    return mg.Model("biped", bodies, joints, gravity=(0, 0, -G))


BIPED = biped()
WEIGHT = BIPED.total_mass * G
RIGHT, LEFT = (0.05, -0.12, 0.0), (-0.25, 0.2, 0.0)
STEP = (  # right, both, left
    Stance("foot_right", RIGHT, 0.0, 0.6),
    Stance("foot_left", LEFT, 0.3, 1.0),
)
WIND = LoadSchedule("trunk", force=lambda xi: np.outer(np.sin(3 * xi), (30.0, -20.0, 10.0)), point=(0, 0.1, 0.4))


def moving(seed: int = 0) -> MotionSolution:
    """A smooth motion without symmetry that the ground can carry."""
    P = np.random.default_rng(seed).normal(0, 0.12, (7, BIPED.n_v))
    return MotionSolution(BIPED, Splines(4), P, 1.4, None)


def translation(model: mg.Model, a: tuple[float, float, float], q0: np.ndarray, T: float = 1.0) -> MotionSolution:
    """The whole body moves with one acceleration, its posture stays."""
    splines = Splines(3)
    xi = np.linspace(0, 1, 40)
    q = np.tile(q0, (40, 1))
    q[:, :3] += 0.5 * np.outer((T * xi) ** 2, a)
    return MotionSolution(model, splines, splines.fit(xi, q), T, None)


def centre_of_mass(model: mg.Model, q: np.ndarray, v=None, a=None):
    mass = np.array([body.mass for body in model.bodies])
    m = mg.kinematics.marker_motion(model, [f"{body.name}.com" for body in model.bodies], q, v, a)
    return mass @ m.position / mass.sum(), mass @ m.acceleration / mass.sum()


POSE = np.array([0.1, -0.05, 0.02, 0.3, 0.1, -0.2, 0.4, 0.3, -0.2, 0.5])


# ------------------------------------------------------------------------------------------- what the ground does
def test_the_force_is_what_the_centre_of_mass_needs():
    motion = moving()
    _, q, v, a = motion.motion(21)
    force = motion.ground_reactions(STEP, 21, [WIND]).force
    _, acceleration = centre_of_mass(BIPED, q, v, a)
    wind = WIND.at(np.linspace(0, 1, 21)).force
    expected = BIPED.total_mass * (acceleration + UP) - wind
    np.testing.assert_allclose(force, expected, atol=1e-10 * WEIGHT)
    assert np.min(np.ptp(force, axis=0)) > 0.05 * WEIGHT
    assert np.min(force[:, 2]) > 0.2 * WEIGHT


def test_nothing_is_left_for_the_global_coordinates():
    motion = moving()
    tau = motion.torques(31, [WIND], STEP)
    np.testing.assert_allclose(tau[:, :6], 0, atol=1e-9 * WEIGHT)
    assert np.all(np.max(np.abs(tau[:, 6:]), axis=0) > 1)
    assert np.max(np.abs(motion.torques(31, [WIND])[:, :6])) > 0.5 * WEIGHT


def test_the_feet_carry_the_wrench_of_the_ground():
    ground = moving().ground_reactions(STEP, 41, [WIND])
    xi = np.linspace(0, 1, 41)
    for part in ("couple", "force"):
        feet = {body: getattr(wrench, part) for body, wrench in ground.feet.items()}
        np.testing.assert_allclose(sum(feet.values()), getattr(ground, part), atol=1e-12 * WEIGHT)
        assert np.all(feet["foot_left"][xi < 0.3 - 1e-9] == 0)
        assert np.all(feet["foot_right"][xi >= 0.6 - 1e-9] == 0)
    assert np.all(ground.feet["foot_left"].force[xi >= 0.3 - 1e-9][:, 2] > 0)


def bare_wrench(q, v, a, loads):
    """Force and moment about the world's origin from the torques of the six global coordinates, without probes: slides
    along the world's axes feel F, hinges with axes e through the base point p feel e . (M - p x F)."""
    tau = mg.inverse_dynamics(BIPED, q, v, a, loads=loads)
    F = tau[:, :3]
    axes = mg.kinematics.marker_derivatives(BIPED, ["trunk.spin"], q).x_q[:, 0, :, 3:6]
    base = mg.kinematics.marker_motion(BIPED, ["trunk.origin"], q).position[:, 0]
    moment = np.linalg.solve(axes.swapaxes(1, 2), tau[:, 3:6, None])[:, :, 0]
    return F, moment + np.cross(base, F)


def load_at(body: str, q, F, place, couple) -> mg.Load:
    """A force at a place of the world, as a load on a body."""
    pose = mg.kinematics.body_motion(BIPED, q)
    k = pose.names.index(body)
    point = np.einsum("tji,tj->ti", pose.R[:, k], place - pose.p[:, k])
    return mg.Load(body, force=F, torque=couple, point=point)


def test_one_foot_is_the_literal_two_step_algorithm():
    """Inverse dynamics, the zero-moment point, a load on the foot, inverse dynamics again."""
    motion = moving(3)
    t, q, v, a = motion.motion(25)
    loads = [WIND.at(np.linspace(0, 1, 25))]
    F, M = bare_wrench(q, v, a, loads)
    Z = np.stack([-M[:, 1] / F[:, 2], M[:, 0] / F[:, 2], np.zeros(25)], axis=1)
    couple = M - np.cross(Z, F)
    np.testing.assert_allclose(couple[:, :2], 0, atol=1e-9 * WEIGHT)
    foot = load_at("foot_left", q, F, Z, couple)
    expected = mg.inverse_dynamics(BIPED, q, v, a, loads=[*loads, foot])
    stance = [Stance("foot_left", LEFT)]
    np.testing.assert_allclose(motion.torques(25, [WIND], stance), expected, atol=1e-9 * WEIGHT)
    ground = motion.ground_reactions(stance, 25, [WIND])
    np.testing.assert_allclose(ground.zmp, Z, atol=1e-12)
    np.testing.assert_allclose(ground.couple, M, atol=1e-9 * WEIGHT)
    np.testing.assert_array_equal(ground.t, t)
    moments = mg.joint_reactions(BIPED, q, v, a, loads=[*loads, foot]).couple
    np.testing.assert_allclose(motion.reactions(25, [WIND], stance).couple, moments, atol=1e-9 * WEIGHT)
    assert np.ptp(Z[:, 0]) > 0.05
    assert np.ptp(couple[:, 2]) > 0.5


def test_two_feet_share_by_distance():
    """s = d1 / (d1 + d2); each share acts at its own place, and both take the same part of the couple that is left."""
    motion = moving(4)
    _, q, v, a = motion.motion(25)
    both = [Stance("foot_right", RIGHT), Stance("foot_left", LEFT)]
    F, M = bare_wrench(q, v, a, None)
    Z = np.stack([-M[:, 1] / F[:, 2], M[:, 0] / F[:, 2], np.zeros(25)], axis=1)
    d1, d2 = np.linalg.norm(Z - RIGHT, axis=1), np.linalg.norm(Z - LEFT, axis=1)
    s = d1 / (d1 + d2)
    assert np.min(d1) > 0.02  # the smoothing of 1 mm at the feet changes s by (0.001 / d)^2 / 2 at most
    ground = motion.ground_reactions(both, 25)
    seen = ground.feet["foot_left"].force[:, 2] / F[:, 2]
    np.testing.assert_allclose(seen, s, atol=2e-3 * np.max(s))
    assert np.ptp(s) > 0.1
    forces = F * (1 - seen)[:, None], F * seen[:, None]
    left_over = M - np.cross(RIGHT, forces[0]) - np.cross(LEFT, forces[1])
    loads = []
    for body, place, share, force in zip(ground.feet, (RIGHT, LEFT), (1 - seen, seen), forces, strict=True):
        couple = left_over * share[:, None]
        w = ground.feet[body]
        np.testing.assert_allclose(w.force, force, atol=1e-9 * WEIGHT)
        np.testing.assert_allclose(w.couple, np.cross(place, force) + couple, atol=1e-9 * WEIGHT)
        loads.append(load_at(body, q, force, np.broadcast_to(place, (25, 3)), couple))
    expected = mg.inverse_dynamics(BIPED, q, v, a, loads=loads)
    np.testing.assert_allclose(motion.torques(25, ground=both), expected, atol=1e-9 * WEIGHT)


def test_joints_transmit_what_the_ground_pushes():
    """The reaction in the knee of the standing leg, seen from below: the foot's own needs less the ground's force."""
    motion = moving(5)
    _, q, v, a = motion.motion(11)
    stance = [Stance("foot_right", RIGHT)]
    force = motion.reactions(11, ground=stance).of("knee_right").force
    acceleration = mg.kinematics.marker_motion(BIPED, ["foot_right.com"], q, v, a).acceleration[:, 0]
    expected = 3.0 * (acceleration + UP) - motion.ground_reactions(stance, 11).force
    np.testing.assert_allclose(force, expected, atol=1e-9 * WEIGHT)


def test_a_static_zero_moment_point_is_below_the_centre_of_mass():
    x, _ = centre_of_mass(BIPED, POSE)
    ground = translation(BIPED, (0, 0, 0), POSE).ground_reactions([Stance("foot_right", RIGHT)], 3)
    np.testing.assert_allclose(ground.zmp, np.tile([x[0], x[1], 0], (3, 1)), atol=1e-10)
    np.testing.assert_allclose(ground.force, np.tile([0, 0, WEIGHT], (3, 1)), atol=1e-8)


def test_an_accelerated_zero_moment_point_is_that_of_a_cart_and_table():
    """x_Z = x - z a_x / (g + a_z), and a push P at height h moves it by P h / F_z."""
    acceleration = (0.7, -0.4, 0.5)
    motion = translation(BIPED, acceleration, POSE)
    x, _ = centre_of_mass(BIPED, motion.motion(5)[1])
    expected = x[:, :2] - x[:, 2:] * acceleration[:2] / (G + acceleration[2])
    stance = [Stance("foot_left", LEFT)]
    np.testing.assert_allclose(motion.ground_reactions(stance, 5).zmp[:, :2], expected, atol=1e-9)
    push = [mg.Load("trunk", force=(50.0, 0, 0), point=(0, 0, 0.4))]
    pose = mg.kinematics.body_motion(BIPED, motion.motion(5)[1]).of("trunk")
    height = (pose.p + pose.R @ [0, 0, 0.4])[:, 2]
    expected[:, 0] += 50.0 * height / (BIPED.total_mass * (G + acceleration[2]))
    np.testing.assert_allclose(motion.ground_reactions(stance, 5, push).zmp[:, :2], expected, atol=1e-9)


# ------------------------------------------------------------------------------------------------ phases of standing
def test_the_instant_before_a_change_is_looked_at():
    setting = Setting(BIPED, Splines(5))
    plain, standing = setting.instants(2, (0, 1), "x"), setting.instants(2, (0, 1), "x", STEP)
    np.testing.assert_allclose(plain, np.arange(11) / 10)
    np.testing.assert_allclose(np.setdiff1d(standing, plain), [0.6 - 1e-6])
    assert np.all(np.diff(standing) > 0)
    for ask in (
        TorqueLimits(-1, 1, ground=STEP),
        GroundFriction(STEP),
        ZeroMomentPoint([(0, 0), (1, 0), (0, 1)], STEP),
    ):
        (r,) = ask.requirements(setting)
        np.testing.assert_allclose(r.xi, [0, 0.2, 0.4, 0.6 - 1e-6, 0.6, 0.8, 1])
    at = TorqueSquares(ground=STEP).integral(setting)
    np.testing.assert_allclose(at.xi, [0, 0.2, 0.4, 0.6 - 1e-6, 0.6, 0.8, 1])


def test_a_stance_ends_before_the_next_begins():
    """Torques of the leg jump when its foot leaves; those just before belong to the foot that stands."""
    change = [Stance("foot_right", RIGHT, 0.0, 0.6), Stance("foot_left", LEFT, 0.6, 1.0)]
    problem = MotionProblem(BIPED, Splines(5), 1.4).subject_to(TorqueLimits(-1, 1, ["knee_right"], ground=change))
    t = problem.transcription()
    motion = MotionSolution(BIPED, Splines(5), np.random.default_rng(0).normal(0, 0.1, (8, 10)), 1.4, None)
    knee = t.values(motion.control_points.ravel())
    single = [motion.torques(11, ground=[Stance(body, RIGHT)])[6, 7] for body in ("foot_right", "foot_left")]
    np.testing.assert_allclose(knee[3:5], single, rtol=1e-4)
    assert abs(single[0] - single[1]) > 10


# ------------------------------------------------------------------------------------------ balance and friction
SQUARE = np.array([(-0.1, -0.2), (0.3, -0.2), (0.3, 0.2), (-0.1, 0.2)])


def slack(motion, ask):
    """How far the rows of a constraint are above their lower bounds, per instant; they have no upper ones."""
    t = MotionProblem(BIPED, motion.splines, motion.duration).subject_to(ask).transcription()
    assert np.all(np.isposinf(t.bounds[1]))
    (r,) = ask.requirements(Setting(BIPED, motion.splines))
    return (t.values(motion.control_points.ravel()) - t.bounds[0]).reshape(r.xi.size, -1)


def test_edges_of_a_square():
    """Corners in any order; points on edges and inside change nothing."""
    more = np.vstack([SQUARE[[2, 0, 3, 1]], [(0.1, 0.0), (0.1, 0.2), (0.3, 0.2)]])
    for polygon in (SQUARE, more):
        normals, offsets = hull_edges(polygon)
        assert len(offsets) == 4
        found = {tuple(np.round(n, 9) + 0.0): c for n, c in zip(normals, offsets, strict=True)}
        assert found == pytest.approx({(1, 0): -0.1, (-1, 0): -0.3, (0, 1): -0.2, (0, -1): -0.2})


@pytest.mark.parametrize(("to", "inside"), [((0.1, 0.0), True), ((0.28, -0.18), True), ((0.35, 0.0), False),
                                            ((0.1, 0.25), False), ((-0.4, -0.5), False)])  # fmt: skip
@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_rows_of_the_zero_moment_point_are_its_distances(to, inside, margin):
    """At rest F_z is the weight, so a row is the distance to its edge, less the margin."""
    q = POSE.copy()
    q[:2] += np.array(to) - centre_of_mass(BIPED, POSE)[0][:2]
    values = slack(translation(BIPED, (0, 0, 0), q), ZeroMomentPoint(SQUARE, [Stance("foot_right", RIGHT)], margin))
    x, y = to
    distances = np.array([x + 0.1, 0.3 - x, y + 0.2, 0.2 - y]) - margin
    np.testing.assert_allclose(np.sort(values, axis=1), np.tile(np.sort(distances), (4, 1)), atol=1e-9)
    assert np.all(values >= 0) == inside


def test_rows_of_the_zero_moment_point_of_a_motion():
    motion = moving(6)
    reactions = motion.ground_reactions(STEP, 9)
    values = slack(motion, ZeroMomentPoint(SQUARE, STEP, per_segment=2))[np.r_[:5, 6:10]]  # not the one before 0.6
    normals, offsets = hull_edges(SQUARE)
    distances = reactions.zmp[:, :2] @ normals.T - offsets
    np.testing.assert_allclose(values, distances * reactions.force[:, 2:] / WEIGHT, atol=1e-9)
    assert np.ptp(np.min(distances, axis=1)) > 0.02


@pytest.mark.parametrize("direction", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_friction_holds_up_to_its_coefficient(direction):
    """A body that moves with acceleration a over level ground needs |F| / F_z = a / g."""
    a = 0.4 * G
    motion = translation(BIPED, (a * direction[0], a * direction[1], 0), POSE)
    for coefficient, holds in ((0.41, True), (0.39, False)):
        rows = slack(motion, GroundFriction([Stance("foot_left", LEFT)], coefficient))
        assert np.all(rows > 0) == holds
        assert np.sum(rows[0] < 0) == (not holds)
        assert np.min(rows) == pytest.approx(coefficient - 0.4, abs=1e-8)


def test_the_ground_does_not_pull():
    """A body that falls with 0.9 g is pushed with a tenth of its weight."""
    motion = translation(BIPED, (0, 0, -0.9 * G), POSE)
    for least, holds in ((0.09, True), (0.11, False)):
        rows = slack(motion, GroundFriction([Stance("foot_left", LEFT)], 0.7, least))
        assert np.all(rows > 0) == holds
        assert np.min(rows) == pytest.approx(0.1 - least, abs=1e-8)


def cart(duration, cost, *more):
    """Half a metre from rest to rest; its zero-moment point x - z a / g is returned, too."""
    rail = mg.Prismatic("x", "ground", "cart", axis=(1, 0, 0))
    model = mg.Model("cart", [mg.Body("cart", 3.0, (0, 0, 0.8))], [rail], gravity=(0, 0, -G))
    problem = MotionProblem(model, Splines(12), duration).minimize(cost)
    solution = problem.subject_to(At(0, 0.0), At(1, 0.5), At(0, 0.0, "v"), At(1, 0.0, "v"), *more).solve()
    assert solution.result.success, solution.result.reason
    _, q, _, a = solution.motion(25)
    return solution, (q - 0.8 * a / G)[:, 0]


CART = [Stance("cart", (0, 0, 0))]
FLOOR = ZeroMomentPoint([(-0.1, -0.1), (-0.1, 0.1), (0.6, -0.1), (0.6, 0.1)], CART, per_segment=2)


def test_a_cart_keeps_its_zero_moment_point_in_the_polygon():
    free, beyond = cart(1.3, JerkSquares())
    kept, inside = cart(1.3, JerkSquares(), FLOOR)
    assert np.min(beyond) < -0.12
    assert np.max(beyond) > 0.62
    assert np.min(inside) == pytest.approx(-0.1, abs=1e-6)
    assert np.max(inside) == pytest.approx(0.6, abs=1e-6)
    np.testing.assert_allclose(kept.ground_reactions(CART, 25).zmp[:, 0], inside, atol=1e-9)
    assert kept.result.objective > 1.01 * free.result.objective


def test_balance_limits_the_speed_of_a_cart():
    """It falls away from the edge, x = e (cosh(w t) - 1) with w^2 = g / z, up to the middle, and back."""
    fastest = 2 * np.sqrt(0.8 / G) * np.arccosh(1 + 0.25 / 0.1)
    solution, _ = cart(Free(0.5, 3.0), Duration(), FLOOR)
    assert fastest < solution.duration < 1.02 * fastest


# --------------------------------------------------------------------------------------------------------- contact
def arm() -> mg.Model:
    """Three hinges in a plane: with the tip held still, one freedom is left."""
    bodies = [mg.Body(f"b{k}", 1.0, (-0.2, 0, 0), (0.01, 0.02, 0.02)) for k in range(3)]
    place = {"axis": (0, 0, 1), "child_origin": (-0.4, 0, 0)}  # a body's origin is its far end
    joints = [mg.Revolute(f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}", **place) for k in range(3)]
    return mg.Model("arm", bodies, joints, [mg.Point("tip", "b2"), mg.Point("elbow", "b0")], gravity=(0, -G, 0))


def test_a_contact_neither_slips_nor_sinks():
    """The tip stands at knots in the phase, is at rest at its ends, and between knots moves by their fourth power."""
    model, place = arm(), (0.7, 0.3, 0.0)
    slips = []
    for segments in (8, 16):
        problem = MotionProblem(model, Splines(segments), 1.0).minimize(TorqueSquares(), JerkSquares(1e-4))
        problem.subject_to(
            Contact("tip", place, "xy", 0.0, 0.5), At(0, -0.2, joints=["j0"]), At(0.5, 0.3, joints=["j0"])
        )
        problem.subject_to(PointLimits("tip", (-np.inf, 0.6, -np.inf), np.inf, xi=1.0))
        start = problem.guess()
        start[:] = np.tile([0.0, 1.0, -1.5], segments + 3)
        solution = problem.solve(start)
        assert solution.result.success, solution.result.reason
        _, q, v, _ = solution.motion(20 * segments + 1)
        tip = mg.kinematics.marker_motion(model, ["tip"], q, v)
        standing = slice(0, 10 * segments + 1)
        np.testing.assert_allclose(
            tip.position[standing][::20, 0, :2], np.tile(place[:2], (segments // 2 + 1, 1)), atol=1e-7
        )
        np.testing.assert_allclose(tip.velocity[[0, 10 * segments], 0, :2], 0, atol=1e-6)
        slips.append(np.max(np.abs(tip.position[standing, 0] - place)))
        assert np.max(tip.position[:, 0, 1]) > 0.59
        assert np.ptp(q[standing, 0]) > 0.4
    assert 8 < slips[0] / slips[1] < 32


# ---------------------------------------------------------------------------------------------------------- errors
def refused(problem: MotionProblem, part, error, match):
    add = problem.minimize if hasattr(part, "integral") else problem.subject_to
    with pytest.raises(error, match=match):
        add(part).transcription()


@pytest.mark.parametrize(
    ("ground", "error", "match"),
    [
        ([], mg.InputError, "nobody stands at xi = 0; the stances must cover the motion"),
        ([Stance("foot_left", LEFT, 0, 0.6)], mg.InputError, r"nobody stands at xi = 0\.6"),
        (
            [Stance("foot_left", LEFT), Stance("foot_right", RIGHT), Stance("trunk", LEFT, 0.5)],
            mg.InputError,
            r"more than 2 bodies stand at xi = 0\.6; the ground serves 2",
        ),
        ([Stance("hoof", LEFT)], UnknownNameError, "model 'biped': unknown body 'hoof'"),
    ],
)
def test_who_cannot_stand(ground, error, match):
    for part in (
        TorqueLimits(-1, 1, ground=ground),
        TorqueSquares(ground=ground),
        GroundFriction(ground),
        ZeroMomentPoint(SQUARE, ground),
    ):
        refused(MotionProblem(BIPED, Splines(5), 1.0), part, error, match)


@pytest.mark.parametrize(
    ("polygon", "match"),
    [
        ([(0, 0), (1, 0)], r"at least three points \(x, y\); its shape is \(2, 2\)"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], r"its shape is \(3, 3\)"),
        ([(0, 0), (1, np.nan), (0, 1)], "at least three points"),
        ([(0, 0), (1, 1), (2, 2)], "lie on a line; it has no inside"),
        ([(1, 1), (1, 1), (1, 1)], "lie on a line"),
    ],
)
def test_polygons_without_an_inside(polygon, match):
    with pytest.raises(mg.InputError, match=match):
        hull_edges(polygon)
    refused(MotionProblem(BIPED, Splines(5), 1.0), ZeroMomentPoint(polygon, STEP), mg.InputError, match)


def test_what_cannot_be_asked_of_the_ground():
    problem = MotionProblem(BIPED, Splines(5), 1.0)
    for coefficient in (0, -0.5, np.nan):
        match = f"coefficient is {coefficient}, least .*; give a positive"
        refused(problem, GroundFriction(STEP, coefficient), mg.InputError, match)
    model = arm()
    floating = MotionProblem(mg.Model("a", model.bodies, model.joints, gravity=(0, 0, 0)), Splines(5), 1.0)
    stance = [Stance("b2", (0, 0, 0))]
    for part in (GroundFriction(stance), ZeroMomentPoint(SQUARE, stance)):
        refused(floating, part, mg.InputError, "model 'a' has no weight to stand with")
