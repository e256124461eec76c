"""Small motions with known answers: every constraint holds where it is asked for and not without, every cost has its
optimum, every way to solve leads to it."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Coincident,
    Coordinates,
    CutForce,
    DistanceLimits,
    Duration,
    Energy,
    ForceSquares,
    Free,
    JerkSquares,
    JointLimits,
    KeepOut,
    LoadSchedule,
    MotionProblem,
    MotionSolution,
    OvershootWarning,
    Periodic,
    PointPath,
    PowerSquares,
    ReactionLimits,
    Splines,
    SwingTogether,
    TorqueLimits,
    Torques,
    TorqueSquares,
    UserConstraint,
    UserTerm,
)

# limits at the ends of few segments, on purpose: quick, and not about the torques between
COARSE = pytest.mark.filterwarnings("ignore:tau:mechgrad.optimization.motion.OvershootWarning")

G = 9.81
M = 2.0  # mass of the slider and of the point mass


def point_mass() -> mg.Model:
    """Free to move in space; torques are forces, tau = M a."""
    bodies = [mg.Body("bx"), mg.Body("by"), mg.Body("bz", M)]
    parents = ["ground", "bx", "by"]
    joints = [mg.Prismatic(n, parents[k], f"b{n}", axis=np.eye(3)[k]) for k, n in enumerate("xyz")]
    points = [mg.Point("p", "bz"), mg.Point("anchor", "ground")]
    return mg.Model("point mass", bodies, joints, points, gravity=(0, 0, 0))


def two_link() -> mg.Model:
    row = mg.drawing.DHRow("revolute", a=0.4)
    bodies = [mg.Body(f"link{i}", 0.5, (-0.2, 0, 0), (0.01, 0.02, 0.02)) for i in (1, 2)]
    base = mg.dh_model("arm", [row, row], bodies=bodies, gravity=(0, -G, 0))
    points = [mg.Point("elbow", "link1"), mg.Point("tip", "link2")]
    return mg.Model(base.name, base.bodies, base.joints, points, gravity=base.gravity)


RAIL = mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))
SLIDER, POINT, ARM = mg.Model("slider", [mg.Body("b", M)], [RAIL], gravity=(0, 0, 0)), point_mass(), two_link()


def rest_to_rest(problem, start, end, *more):
    return problem.subject_to(At(0, start), At(1, end), At(0, 0.0, "v"), At(1, 0.0, "v"), *more)


def reach(cost, *more, segments=8):
    """The arm from rest to rest in 0.8 s."""
    return rest_to_rest(MotionProblem(ARM, Splines(segments), 0.8).minimize(cost), (0.2, 0.4), (1.5, -0.6), *more)


def solved(problem, *args, **options):
    solution = problem.solve(*args, **options)
    assert solution.result.success, solution.result.reason
    return solution


def place(solution, samples, marker="p"):
    return mg.kinematics.marker_motion(solution.model, [marker], solution.motion(samples)[1]).position[:, 0]


# ------------------------------------------------------------------------------------------------------------- costs
@pytest.mark.parametrize("duration", [1.6, Free(1.6, 9.0, 2.5), Free(1.6, 9.0, 2.5, knots=True)])
@pytest.mark.parametrize("splines", [Splines(4), Splines(4, 5), Splines(4, 3, "clamped"), Splines(4, 5, "clamped")])
def test_least_force_is_a_cubic(splines, duration):
    """q = d (3 s^2 - 2 s^3) and 12 (M d)^2 / T^3; a dear duration goes to its lower bound, segments to equal ones."""
    problem = MotionProblem(SLIDER, splines, duration).minimize(TorqueSquares(per_segment=40))
    if isinstance(duration, Free):
        problem.minimize(Duration(100.0))
    solution = solved(rest_to_rest(problem, 0.5, 2.5))
    t, q, _, _ = solution.motion(33)
    s = t / 1.6
    assert solution.duration == pytest.approx(1.6, abs=1e-6)
    np.testing.assert_allclose(q[:, 0], 0.5 + 2 * (3 * s**2 - 2 * s**3), atol=1e-4)
    cost = solution.result.objective - (100 * 1.6 if isinstance(duration, Free) else 0)
    assert cost == pytest.approx(12 * (M * 2) ** 2 / 1.6**3, rel=1e-3)
    np.testing.assert_allclose(solution.torques(33), M * (6 - 12 * s[:, None]) * 2 / 1.6**2, atol=5e-2)


def test_least_jerk_is_a_quintic():
    """q = d (10 s^3 - 15 s^4 + 6 s^5) and 720 d^2 / T^5, up to the square of the steps of the midpoint rule."""
    errors = []
    for per_segment in (10, 20, 40):
        problem = MotionProblem(SLIDER, Splines(3, 5), 1.5).minimize(JerkSquares(per_segment=per_segment))
        solution = solved(rest_to_rest(problem, 0.0, 2.0, At(0, 0.0, "a"), At(1, 0.0, "a")))
        s, q = np.linspace(0, 1, 31), solution.motion(31)[1]
        errors.append(np.max(np.abs(q[:, 0] - 2 * (10 * s**3 - 15 * s**4 + 6 * s**5))))
    assert solution.result.objective == pytest.approx(720 * 2**2 / 1.5**5, rel=1e-3)
    assert errors[2] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


def test_energy_is_above_that_of_the_mean_speed():
    """A mass is brought to its greatest speed and stopped: M v^2, at least M (d / T)^2, 9/4 of it for least force."""
    spent = {}
    for name, cost in (("force", TorqueSquares(per_segment=8)), ("energy", Energy(smoothing=1e-2, per_segment=8))):
        solution = solved(rest_to_rest(MotionProblem(SLIDER, Splines(8), 0.8).minimize(cost), 0.0, 1.0))
        t, _, v, _ = solution.motion(2001)
        spent[name] = np.trapezoid(np.abs(solution.torques(2001) * v)[:, 0], t)
        assert spent[name] == pytest.approx(M * np.max(v) ** 2, rel=1e-3)
    least = M * (1.0 / 0.8) ** 2
    assert spent["force"] == pytest.approx(9 / 4 * least, rel=1e-2)
    assert least < spent["energy"] < 1.5 * least


def test_each_cost_is_least_for_its_own_motion():
    """Torques, power, energy: nobody beats the specialist."""
    costs = [TorqueSquares(per_segment=4), PowerSquares(per_segment=4), Energy(smoothing=0.5, per_segment=4)]
    problems = [reach(cost) for cost in costs]
    motions = [solved(problem) for problem in problems]
    for problem, motion in zip(problems, motions, strict=True):
        value = problem.transcription().objective
        others = [value(other.result.x) for other in motions if other is not motion]
        assert motion.result.objective < 0.999 * min(others)
    for motion, size in zip(motions[1:], (np.square, lambda p: np.sqrt(p**2 + 0.25) - 0.5), strict=True):
        t, q, v, a = motion.motion(33)
        power = mg.inverse_dynamics(ARM, q, v, a) * v
        assert motion.result.objective == pytest.approx(np.trapezoid(np.sum(size(power), axis=1), t))


@pytest.mark.parametrize("squared", [True, False])
def test_a_term_written_by_hand_is_the_built_in_one(squared):
    function = (lambda tau: tau / 3) if squared else (lambda tau: np.sum(tau**2, axis=1) / 9)
    own = UserTerm(function, [Torques(ARM)], 0.7, squared=squared, per_segment=2)
    one, other = (solved(reach(cost)) for cost in (own, TorqueSquares(0.7, 3.0, per_segment=2)))
    assert one.result.objective == pytest.approx(other.result.objective, rel=1e-8)
    np.testing.assert_allclose(one.control_points, other.control_points, atol=1e-5)


# ------------------------------------------------------------------------------------------------------------ joints
def test_a_speed_limit_makes_a_cruise():
    """Force falls to zero at t1 = 3/2 (T - d / V), a knot, then the mass cruises at V: 8/3 (M V)^2 / t1 in all."""
    V, t1 = 1.2, 0.25
    line, cost = np.array([3.0, 4.0, 0.0]) / 5, TorqueSquares(per_segment=20)
    rail = rest_to_rest(MotionProblem(SLIDER, Splines(8), 1.0).minimize(cost), 0.0, 1.0, JointLimits(-9, V, level="v"))
    speed = UserConstraint(lambda v: np.sum(v**2, axis=1), [Coordinates(POINT, "v")], upper=V**2, label="speed")
    space = rest_to_rest(MotionProblem(POINT, Splines(8), 1.0).minimize(cost), 0 * line, line, speed)
    for problem, direction in ((rail, np.ones(1)), (space, line)):
        solution = solved(problem)
        assert solution.result.objective == pytest.approx(8 / 3 * (M * V) ** 2 / t1, rel=2e-3)
        v = solution.motion(9)[2]
        np.testing.assert_allclose(v, V * np.outer([0, 0.75, 1, 1, 1, 1, 1, 0.75, 0], direction), atol=2e-3)
        assert np.max(v @ direction) < V + 1e-6


def test_a_motion_that_repeats_itself_on_the_other_side():
    """sign_i q_partner(T) - q_i(0) = offset_i and the same for v; without it the motion does not."""
    partner, sign, offset = [1, 0, 2], [1, 1, -1], [0.0, 0.0, 0.4]

    def ends(*more):
        problem = MotionProblem(POINT, Splines(6), 1.0).minimize(TorqueSquares(), JerkSquares(1e-3))
        problem.subject_to(At(0, (0.3, -0.2), joints=["x", "y"]), At(0.5, (1.0, 0.7, 0.5)), *more)
        _, q, v, _ = solved(problem).motion(2)
        return sign * q[1][partner] - q[0], sign * v[1][partner] - v[0]

    np.testing.assert_allclose(ends(Periodic(partner, sign, offset)), [offset, [0, 0, 0]], atol=1e-6)
    assert np.max(np.abs(ends(Periodic(partner, sign, offset, levels="v"))[0] - offset)) > 0.1
    assert np.max(np.abs(ends()[1])) > 0.1


@pytest.mark.parametrize("what", ["force", "couple"])
def test_reactions_stay_below_their_limit(what):
    load = mg.Load("link2", force=(0, -3.0, 1.0))

    def largest(*more):
        solution = solved(reach(TorqueSquares(loads=[load]), *more))
        reactions = mg.joint_reactions(ARM, *solution.motion(17)[1:], loads=[load], joints=["dh.2"])
        return np.max(np.linalg.norm(getattr(reactions, what)[:, 0], axis=1))

    limit = 0.9 * largest()
    kept = largest(ReactionLimits("dh.2", **{what: limit}, loads=[load], per_segment=2))
    assert kept == pytest.approx(limit, rel=1e-6)


def test_loads_follow_their_schedule():
    """Torques of the motion are those of inverse dynamics under the loads of each instant."""
    gust = LoadSchedule("link2", force=lambda xi: np.outer(np.sin(2 * np.pi * xi), (8.0, 4.0, 0.0)), point="tip")

    def torques(solution):
        force = np.outer(np.sin(np.linspace(0, 2 * np.pi, 17)), (8.0, 4.0, 0.0))
        return mg.inverse_dynamics(ARM, *solution.motion(17)[1:], loads=[mg.Load("link2", force=force, point="tip")])

    windy = solved(reach(TorqueSquares(loads=[gust])))
    np.testing.assert_allclose(windy.torques(17, [gust]), torques(windy), atol=1e-12)
    assert np.sum(torques(windy)[::2] ** 2) < 0.9 * np.sum(torques(solved(reach(TorqueSquares())))[::2] ** 2)
    limit = 0.9 * np.max(np.abs(torques(windy)[::2]))
    with pytest.warns(OvershootWarning, match=r"tau\(dh\.1\) is [\d.]+ % "):
        limited = solved(reach(TorqueSquares(loads=[gust]), TorqueLimits(-limit, limit, loads=[gust])))
    assert np.max(np.abs(torques(limited)[::2])) == pytest.approx(limit, rel=1e-6)


# ------------------------------------------------------------------------------------------------------------ points
def crossing(*more, lift=0.3):
    """From one side to the other past the origin, with least force."""
    problem = MotionProblem(POINT, Splines(8), 1.0).minimize(TorqueSquares(per_segment=2))
    return solved(rest_to_rest(problem, (-1, 0, lift), (1, 0, lift), *more))


def test_a_point_goes_around_a_ball_and_a_cylinder():
    centre, radius = np.array([0.0, -0.05, 0.0]), 0.5
    free, ball = crossing(), crossing(KeepOut("p", centre, radius))
    pole = crossing(KeepOut("p", centre, radius, axis=(0, 0, 7)))
    nearest = lambda s, n: np.min(np.linalg.norm((place(s, 17) - centre)[:, :n], axis=1))  # noqa: E731
    assert nearest(free, 3) == pytest.approx(np.hypot(0.05, 0.3))
    assert nearest(ball, 3) == pytest.approx(radius, abs=1e-6)
    assert nearest(ball, 2) < 0.4
    assert nearest(pole, 2) == pytest.approx(radius, abs=1e-6)
    assert free.result.objective < 0.99 * ball.result.objective < 0.98 * pole.result.objective


def test_distance_holds_on_both_sides():
    distance = lambda s: np.linalg.norm(place(s, 17), axis=1)  # noqa: E731
    assert np.min(distance(crossing(lift=0.1))) == pytest.approx(0.1)
    away = crossing(DistanceLimits("p", "anchor", 0.8, per_segment=2), lift=0.1)
    assert np.min(distance(away)) == pytest.approx(0.8, abs=1e-6)

    def thrown(*more):
        problem = MotionProblem(POINT, Splines(8), 1.0).minimize(TorqueSquares())
        problem.subject_to(At(0, (-0.9, 0, 0)), At(0, (0, 5.0, 0), "v"), At(1, (0.9, 0, 0)), *more)
        return distance(solved(problem))

    assert np.max(thrown()) > 1.02
    assert np.max(thrown(DistanceLimits("anchor", "p", upper=1.0, per_segment=2))) == pytest.approx(1.0, abs=1e-6)


def test_a_point_follows_a_path_while_it_is_told_to():
    def line(xi):
        return np.stack([0.7 - 0.4 * xi, 0.1 + 0.3 * xi, 0 * xi], axis=1)

    def off(*more):
        problem = MotionProblem(ARM, Splines(8), 1.0).minimize(TorqueSquares())
        tip = place(solved(rest_to_rest(problem, (-0.5, 0.6), (0.8, 1.2), *more)), 17, "tip")
        return np.abs(tip - line(np.linspace(0, 1, 17)))[:, :2]

    during, told = slice(4, 13), {"tolerance": 0.02, "per_segment": 2, "during": (0.25, 0.75)}
    both, x_only = off(PointPath("tip", line, **told)), off(PointPath("tip", line, axes="x", **told))
    assert np.max(off()[during], axis=0).min() > 0.03
    np.testing.assert_allclose(np.max(both[during], axis=0), 0.02, atol=1e-6)
    assert np.max(both[:4]) > 0.03
    assert np.max(x_only[during, 0]) == pytest.approx(0.02, abs=1e-6)
    assert np.max(x_only[during, 1]) > 0.03


def test_limbs_swing_to_the_same_side():
    """Two pendulums that would pass each other: the product of their swings stays positive."""
    joints = [mg.Revolute(f"to_{n}", "ground", n, axis=(0, 1, 0)) for n in ("arm", "leg")]
    points = [mg.Point(f"{kind}_{n}", n, (0, 0, -k)) for n in ("arm", "leg") for k, kind in enumerate(("top", "end"))]
    model = mg.Model("limbs", [mg.Body(n, 1.0, (0, 0, -0.5)) for n in ("arm", "leg")], joints, points)

    def products(*more):
        problem = MotionProblem(model, Splines(8), 1.0).minimize(TorqueSquares(), JerkSquares(1e-3))
        rest_to_rest(problem, (0.5, 0.3), (-0.3, -0.6), *more)
        return np.prod(-np.sin(solved(problem).motion(9)[1]), axis=1)

    assert np.min(products()) < -1e-3
    assert np.min(products(SwingTogether(("top_arm", "end_arm"), ("top_leg", "end_leg"), (2, 0, 0)))) > -1e-6


def test_a_function_of_place_and_time():
    """The mass keeps ahead of a wall that moves with constant speed."""
    wall = UserConstraint(lambda q, xi: q[:, 0] - 0.9 * xi, [Coordinates(SLIDER)], lower=0.0, time=True)
    free = rest_to_rest(MotionProblem(SLIDER, Splines(8), 1.0).minimize(TorqueSquares()), 0.0, 1.0)
    gap = lambda problem: np.min(solved(problem).motion(9)[1][:, 0] - 0.9 * np.linspace(0, 1, 9))  # noqa: E731
    assert gap(free) < -0.05
    assert gap(free.subject_to(wall)) > -1e-7


# --------------------------------------------------------------------------------------------------------- closed loops
def arms(lengths, bases) -> mg.Model:
    """Two chains of uniform rods in the plane, from two places on the ground; their ends are the points A and B."""
    bodies, joints, points = [], [], []
    for side, base in zip("AB", bases, strict=True):
        parent, at = "ground", (base, 0.0, 0.0)
        for k, (mass, length) in enumerate(lengths):
            name = f"{side}{k}"
            bodies.append(mg.Body(name, mass, (length / 2, 0, 0), np.full(3, mass * length**2 / 12)))
            joints.append(mg.Revolute(f"j{name}", parent, name, axis=(0, 0, 1), origin=at))
            parent, at = name, (length, 0.0, 0.0)
        points.append(mg.Point(side, parent, at))
    return mg.Model("arms", bodies, joints, points, gravity=(0, -G, 0))


def test_two_rods_lean_against_each_other():
    """The arch of three hinges: closed and without torques, the force between the rods is m g cot(alpha) / 2."""
    alpha, mass = 1.1, 3.0
    model = arms([(mass, 0.7)], (0.0, 1.4 * np.cos(alpha)))
    problem = MotionProblem(model, Splines(3), 1.0, cuts=[CutForce("A", "B", "xy")]).minimize(
        JerkSquares(), ForceSquares(1e-6)
    )
    problem.subject_to(Coincident("A", "B", "xy"), TorqueLimits(0, 0, per_segment=2))
    start = problem.guess().reshape(-1, 4)
    start[:, :2] = alpha + 0.1, np.pi - alpha + 0.05
    solution = solved(problem, start.ravel())
    np.testing.assert_allclose(solution.motion(7)[1], np.tile([alpha, np.pi - alpha], (7, 1)), atol=1e-6)
    thrust = mass * G / np.tan(alpha) / 2
    np.testing.assert_allclose(solution.cut_forces(7), np.tile([-thrust, 0], (7, 1)), atol=1e-4 * thrust)
    np.testing.assert_allclose(solution.torques(7), 0, atol=1e-4 * thrust)
    assert np.min(np.abs(mg.inverse_dynamics(model, [alpha, np.pi - alpha]))) > 0.3 * thrust


def test_a_rod_rests_on_a_pin_of_the_ground():
    """Level, hinged at one end and without a torque: the pin carries half of the weight."""
    points = [mg.Point("end", "rod", (0.7, 0, 0)), mg.Point("pin", "ground", (0.7, 0, 0))]
    hinge = mg.Revolute("hinge", "ground", "rod", axis=(0, 0, 1))
    model = mg.Model("rod", [mg.Body("rod", 3.0, (0.35, 0, 0))], [hinge], points, gravity=(0, -G, 0))
    problem = MotionProblem(model, Splines(3), 1.0, cuts=[CutForce("end", "pin", "y")]).minimize(JerkSquares())
    problem.subject_to(Coincident("end", "pin", "y"), TorqueLimits(0, 0, per_segment=2))
    np.testing.assert_allclose(solved(problem).cut_forces(7), 1.5 * G, rtol=1e-6)


def test_two_arms_help_each_other():
    """A symmetric five-bar held still. By symmetry only a force H acts between the hands; each arm has torques
    tau_k = g_k + H h_k, and the sum of squares is least for H = -(g . h) / (h . h)."""
    rods, (first, second) = [(2.0, 0.5), (1.0, 0.4)], (0.9, 0.4)
    model = arms(rods, (0.0, 2 * (0.5 * np.cos(first) + 0.4 * np.cos(first + second))))
    problem = MotionProblem(model, Splines(3), 1.0, cuts=[CutForce("A", "B", "xy")]).minimize(
        TorqueSquares(per_segment=4)
    )
    still = JointLimits((first, second), (first, second), joints=["jA0", "jA1"])
    problem.subject_to(still, At(0, 0.0, "v"), At(1, 0.0, "v"), Coincident("A", "B", "xy"))
    start = problem.guess().reshape(-1, 6)
    start[:, :4] = first, second, np.pi - first + 0.1, -second - 0.1
    solution = solved(problem, start.ravel())
    np.testing.assert_allclose(solution.motion(2)[1], [(first, second, np.pi - first, -second)] * 2, atol=1e-6)
    # a force (H, 0) on the hand A: torques against gravity less those of H, about shoulder and elbow
    fore = 1.0 * G * 0.2 * np.cos(first + second)
    g = np.array([2.0 * G * 0.25 * np.cos(first) + 1.0 * G * 0.5 * np.cos(first) + fore, fore])
    h = np.array([0.5 * np.sin(first) + 0.4 * np.sin(first + second), 0.4 * np.sin(first + second)])
    H = -(g @ h) / (h @ h)
    np.testing.assert_allclose(solution.cut_forces(13), np.tile([H, 0], (13, 1)), atol=1e-5 * abs(H))
    tau = g + H * h
    np.testing.assert_allclose(solution.torques(5), np.tile([*tau, *-tau], (5, 1)), atol=1e-5 * abs(H))
    assert solution.result.objective == pytest.approx(2 * tau @ tau, rel=1e-8)
    shoulder = solution.reactions(2).of("jA0").force
    np.testing.assert_allclose(shoulder, np.tile([-H, 3.0 * G, 0], (2, 1)), atol=1e-4 * abs(H))


# ---------------------------------------------------------------------------------------------------- ways to solve
@pytest.mark.parametrize("segments", [2, 4, 8])
def test_least_time_with_a_force_limit(segments):
    """Bang-bang would take 2 sqrt(M d / F). Acceleration is linear between knots, so it turns over two segments of
    length w in all: T^2 = 4 (M d / F + w^2 / 12). Free segments turn within the shortest two they may have."""
    d, F, shortest, times = 1.5, 3.0, 0.5, {}
    for knots in (False, True):
        problem = MotionProblem(SLIDER, Splines(segments), Free(shortest, 5.0, 3.0, knots=knots)).minimize(Duration())
        solution = solved(rest_to_rest(problem, 0.0, d, TorqueLimits(-F, F)))
        times[knots] = solution.duration
        assert solution.times(3)[-1] == pytest.approx(solution.duration, rel=1e-12)
    equal = np.sqrt(M * d / F / (1 / 4 - 1 / (3 * segments**2)))
    free = equal if segments == 2 else 2 * np.sqrt(M * d / F + (2 * shortest / segments) ** 2 / 12)
    assert times[False] == pytest.approx(equal, abs=1e-6)
    assert times[True] == pytest.approx(free, abs=1e-5)
    assert 2 * np.sqrt(M * d / F) < times[True] <= times[False] + 1e-6


def reaching(segments=10, knots=False, per_segment=1):
    problem = MotionProblem(ARM, Splines(segments), Free(0.1, 2.0, 0.8, knots=knots))
    problem.minimize(Duration(), TorqueSquares(1e-3))
    return rest_to_rest(problem, (0, -2), (1, -1), TorqueLimits(-8, 8, per_segment=per_segment))


def test_a_feasible_motion_comes_first():
    problem = reaching(per_segment=2)
    first = problem.feasible()
    assert (first.result.status, first.result.reason) == ("converged", "all constraints are met to 0.0001")
    assert np.max(np.abs(mg.inverse_dynamics(ARM, *first.motion(21)[1:]))) < 8 * (1 + 1e-4)
    np.testing.assert_allclose(first.motion(2)[1], [(0, -2), (1, -1)], atol=1e-4)
    best = solved(problem, first)
    assert best.result.objective == pytest.approx(solved(problem).result.objective, rel=1e-5)
    impossible = rest_to_rest(MotionProblem(SLIDER, Splines(4), 0.1), 0.0, 1.0, TorqueLimits(-1, 1)).feasible()
    assert impossible.result.status == "infeasible"


def test_all_hessians_lead_to_the_same_motion():
    problem = reach(TorqueSquares(), segments=4)
    exact, gauss_newton, lbfgs = (solved(problem, hessian=h) for h in ("exact", "gauss-newton", "lbfgs"))
    for other in (gauss_newton, lbfgs):
        assert other.result.objective == pytest.approx(exact.result.objective, rel=1e-7)
        np.testing.assert_allclose(other.control_points, exact.control_points, atol=1e-3)
    assert [s.result.evaluations["hessian"] > 0 for s in (exact, gauss_newton, lbfgs)] == [True, True, False]


@COARSE
def test_an_interrupted_search_returns_what_it_has():
    problem, seen = reaching(20), []

    def few(record):
        seen.append(record)
        return record.iteration < 6

    stopped = problem.solve(progress=few)
    assert (stopped.result.status, stopped.result.success, len(seen)) == ("interrupted", False, 7)
    assert stopped.result.infeasibility == pytest.approx(min(record.infeasibility for record in seen), rel=1e-6)
    assert problem.solve(time_limit=1e-3).result.status == "time limit"
    assert problem.solve(max_iterations=2).result.status == "iteration limit"
    assert solved(problem, stopped).duration == pytest.approx(solved(problem).duration, abs=1e-5)


@COARSE
@pytest.mark.parametrize(("knots", "onto"), [(False, 10), (False, 16), (True, 10), (True, 16)])
def test_a_motion_on_other_splines_is_the_same_motion(knots, onto):
    """Also from free segments, whose instants are those of time, not of xi; equal ones follow them to 5.1e-3 rad."""
    given, finer = solved(reaching(knots=knots)), reaching(onto)
    x = given.unknowns_on(finer.splines, finer.clock)
    assert x[-1] == given.duration
    moved = MotionSolution(ARM, finer.splines, x[:-1].reshape(-1, 2), given.duration, None)
    t, q, _, _ = given.motion(2001)
    same = [np.interp(moved.times(50), t, q[:, k]) for k in range(2)]
    np.testing.assert_allclose(moved.motion(50)[1], np.transpose(same), atol=8e-3 if knots else 5e-3)
    best = solved(finer, given)
    assert best.result.objective == pytest.approx(solved(finer).result.objective, rel=1e-4)


@COARSE
def test_pictures(tmp_path):
    solution = solved(reaching(6))
    solution.animate([("link1.com", "elbow"), ("elbow", "tip")], tmp_path / "arm.gif", frames=5, repeat=2)
    with Image.open(tmp_path / "arm.gif") as image:
        assert (image.format, image.n_frames) == ("GIF", 10)
    titles = [ax.get_title("left") for ax in solution.plot(21).axes]
    assert titles == ["coordinates", "velocities", "generalized forces"]
