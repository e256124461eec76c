"""Motion problems of mechanisms with balls and floating bodies: Jacobian, Hessian and patterns against differences,
answers against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from test_transcription import CLOCKS, check_constraints, check_cost, filled, unknowns

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Contact,
    Coordinates,
    DistanceLimits,
    FreeNumber,
    JerkSquares,
    JointLimits,
    MotionProblem,
    MotionSolution,
    Periodic,
    PointLimits,
    ReactionLimits,
    Splines,
    TorqueLimits,
    Torques,
    TorqueSquares,
    UserConstraint,
)


def jointed():
    """A ball, and a hinge beyond it."""
    inertia = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, 0.03], [0.01, 0.03, 0.5]])
    bodies = [mg.Body("a", 1.2, (0.1, 0.2, -0.3), inertia), mg.Body("b", 0.7, (0.05, -0.1, 0.2), 0.3 * inertia)]
    joints = [
        mg.Spherical("s", "ground", "a", origin=(0.1, 0, 0)),
        mg.Revolute("r", "a", "b", axis=(1.0, 0.5, 0.2), origin=(0, 0.3, -0.2)),
    ]
    return mg.Model("jointed", bodies, joints, [mg.Point("tip", "b", (0.1, 0.2, 0.3))])


def craft(**more):
    """A floating body that carries another one on a ball."""
    bodies = [
        mg.Body("a", 1.2, (0.1, 0.2, -0.3), (0.3, 0.4, 0.5)),
        mg.Body("b", 0.7, (0.05, -0.1, 0.2), (0.1, 0.12, 0.15)),
    ]
    joints = [mg.Floating("f", "ground", "a"), mg.Spherical("s", "a", "b", origin=(0, 0.3, -0.2))]
    points = [mg.Point("tip", "b", (0.1, 0.2, 0.3)), mg.Point("hook", "a", (0.3, 0, 0.1))]
    return mg.Model("craft", bodies, joints, points, gravity=(0, 0, -1.0), **more)


BALLS = {"jointed": jointed, "craft": craft}


@pytest.mark.parametrize("name", BALLS)
@pytest.mark.parametrize(
    "constraint",
    [
        TorqueLimits(-1, 1, per_segment=2),
        JointLimits(-1, 1, level="v"),
        JointLimits(-1, 1, level="a"),
        PointLimits("tip", -1, 1),
        DistanceLimits("tip", "ground.origin", 0.1, 2),
        ReactionLimits("s", force=30, couple=20),
        Contact("tip", (0, 0, 0)),
        Periodic(),
    ],
    ids=lambda x: type(x).__name__ + getattr(x, "level", ""),
)
def test_constraints_on_balls(name, constraint):
    segments = 4 if isinstance(constraint, Periodic) else 2
    problem = MotionProblem(BALLS[name](), Splines(segments), CLOCKS["free"]).subject_to(constraint)
    t, _, _ = check_constraints(problem)
    assert filled(t, problem) == (0, 0)


@pytest.mark.parametrize("clock", CLOCKS)
def test_torques_and_costs_of_balls(clock):
    model = jointed()
    function = UserConstraint(lambda tau, v: tau * v, [Torques(model), Coordinates(model, "v")], 0, 1)
    check_constraints(MotionProblem(model, Splines(2), CLOCKS[clock]).subject_to(TorqueLimits(-1, 1), function))
    check_cost(MotionProblem(model, Splines(2), CLOCKS[clock]).minimize(TorqueSquares(), JerkSquares(0.01)))


@pytest.mark.slow
def test_elements_numbers_and_loops_with_balls():
    spring = mg.forces.SpringDamper("x", "tip", "ground.origin", stiffness=30.0, damping=2.0, free_length=0.4)
    model = craft(forces=[spring], constraints=[mg.constraints.FixedDistance("rod", "hook", "ground.origin", 0.5)])
    numbers = [FreeNumber("x.stiffness", 1, 90), FreeNumber("b.mass", 0.5, 3)]
    problem = MotionProblem(model, Splines(2), CLOCKS["free"], numbers, driven=["f", "s"])
    t, _, _ = check_constraints(problem.subject_to(TorqueLimits(-1, 1)))
    assert "closures" in t.labels


def rolling_ball():
    """2 kg, radius 0.1 m, on the floor z = 0."""
    body = mg.Body("ball", 2.0, (0, 0, 0), (0.008, 0.008, 0.008))
    roll = mg.constraints.Rolling("roll", "ball.origin", 0.1, "up", contact=True, plane_point="ground.origin")
    up = mg.Vector("up", "ground", (0, 0, 1.0))
    return mg.Model("ball", [body], [mg.Floating("f", "ground", "ball")], vectors=[up], constraints=[roll])


SPIN = ["f.wx", "f.wy", "f.wz"]


def test_rows_at_velocity_level():
    problem = MotionProblem(rolling_ball(), Splines(2), CLOCKS["free"], driven=SPIN).subject_to(TorqueLimits(-1, 1))
    problem._check = lambda requirements: None  # two segments are too few for all equations
    t, _, _ = check_constraints(problem)
    assert problem.setting.multiplier_names == ("roll: contact", "roll: slip 1", "roll: slip 2")
    assert {"closures", "rates of closures"} <= set(t.labels)


def test_a_ball_rolls_with_the_least_torque():
    """Over d in T, from rest to rest: torque (J + m r^2) a / r, integral of squares 12 (J / r + m r)^2 d^2 / T^3."""
    problem = MotionProblem(rolling_ball(), Splines(16), 1.0, driven=SPIN).minimize(TorqueSquares(per_segment=4))
    problem.subject_to(
        At(0, (0, 0, 0.1, 1, 0, 0, 0)), At(1, (0.08, 0.06), joints=["f.x", "f.y"]), At(0, 0.0, "v"),
        At(1, 0.0, "v", SPIN),
    )  # fmt: skip
    solution = problem.solve()
    assert solution.result.success
    assert solution.result.objective == pytest.approx(12 * (0.08 + 0.2) ** 2 * 0.1**2, rel=0.02)
    assert solution.residuals()["closures"] < 1e-9
    assert solution.residuals()["rates of closures"] < 1e-3
    _, q, _, _ = solution.motion(3)
    np.testing.assert_allclose(q[1, :3], (0.04, 0.03, 0.1), atol=1e-4)


def test_hessians_of_balls_are_symmetric_before_they_are_made_so():
    """Second derivatives along small rotations are not; with the change of the parameters they are."""
    model = craft()
    problem = MotionProblem(model, Splines(2), 0.8).subject_to(TorqueLimits(-1, 1))
    t = problem.transcription()
    s = t.bundles[0].grid.moment(unknowns(problem, t)).samples
    y = np.random.default_rng(0).normal(size=(s.nt, model.n_v))
    H, _ = t.bundles[0].measure.dense_curvature(s, y)
    assert np.abs(H).max() > 1
    np.testing.assert_allclose(H, H.swapaxes(1, 2), atol=1e-12 * np.abs(H).max())


def test_motions_of_balls_are_motions():
    """v and a are the derivatives of the attitude: R' = [w] R in parent axes, by differences of fine samples."""
    model = craft()
    rng = np.random.default_rng(2)
    solution = MotionSolution(model, Splines(4), rng.normal(0, 0.4, (7, 9)), 1.3, None, reference=model.neutral())
    t, q, v, a = solution.motion(4001)
    assert q.shape == (4001, 11)
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0, atol=1e-14)
    h = t[1] - t[0]
    moved = np.asarray(model.integrate(q[:-1], h * (v[:-1] + v[1:]) / 2))
    assert np.abs(moved - q[1:]).max() < 1e-7
    np.testing.assert_allclose(np.diff(v, axis=0) / h, (a[:-1] + a[1:]) / 2, atol=1e-4 * np.abs(a).max())


def turn(axis, angle):
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.array(axis)])


def test_a_body_on_a_ball_is_turned_with_the_least_effort():
    """About a principal axis with inertia J, from rest to rest: theta = D (3 x^2 - 2 x^3), the integral of tau^2 is
    12 J^2 D^2 / T^3."""
    top = mg.Model("top", [mg.Body("b", 1.0, (0, 0, 0), (0.3, 0.4, 0.5))], [mg.Spherical("s", "ground", "b")],
                   gravity=(0, 0, 0))  # fmt: skip
    for angle, axis, inertia in ((2.0, (0, 0, 1.0), 0.5), (-1.0, (1.0, 0, 0), 0.3)):
        problem = MotionProblem(top, Splines(30), 1.2).minimize(TorqueSquares(per_segment=4))
        problem.subject_to(At(0, turn(axis, 0.3)), At(1, turn(axis, 0.3 + angle)), At(0, 0.0, "v"), At(1, 0.0, "v"))
        solution = problem.solve()
        assert solution.result.success
        assert solution.result.iterations < 15
        assert solution.result.objective == pytest.approx(12 * inertia**2 * angle**2 / 1.2**3, rel=2e-3)
        t, q, v, _ = solution.motion(25)
        x = t / 1.2
        spin = np.outer(angle / 1.2 * (6 * x - 6 * x**2), axis)
        np.testing.assert_allclose(v, spin, atol=0.02 * abs(angle))
        np.testing.assert_allclose(q[-1], turn(axis, 0.3 + angle), atol=1e-12)


def test_a_floating_body_turns_and_travels():
    """Position by the closed form of the mass, attitude by that of the axis, both at once."""
    craft_ = mg.Model("craft", [mg.Body("b", 2.0, (0, 0, 0), (0.3, 0.4, 0.5))], [mg.Floating("f", "ground", "b")],
                      gravity=(0, 0, 0))  # fmt: skip
    problem = MotionProblem(craft_, Splines(30), 1.0).minimize(TorqueSquares(per_segment=4))
    problem.subject_to(
        At(0, (0, 0, 0, 1, 0, 0, 0)),
        At(1, (1, 2, 3, *(5.0 * turn((0, 1.0, 0), 1.5)))),
        At(0, 0.0, "v"),
        At(1, 0.0, "v"),
    )  # the length of Euler parameters does not matter
    solution = problem.solve()
    assert solution.result.success
    assert solution.result.objective == pytest.approx(12 * (4.0 * 14 + 0.16 * 2.25), rel=1e-3)
    around = MotionProblem(craft_, Splines(30), 1.0).minimize(TorqueSquares(per_segment=4))
    around.subject_to(At(0, turn((0, 1.0, 0), 0), joints=["f.wx", "f.wy", "f.wz"]), At(1, -turn((0, 1.0, 0), 1.5),
                      joints=["f.wx", "f.wy", "f.wz"]), At(0, 0.0, "v"), At(1, 0.0, "v"))  # fmt: skip
    other = around.solve()  # the other sign: the other way round
    assert other.result.success
    assert other.motion(3)[2][1, 4] < -3
    assert solution.motion(3)[2][1, 4] > 2


def test_what_balls_refuse():
    top = mg.Model("top", [mg.Body("b", 1.0)], [mg.Spherical("s", "ground", "b")])
    problem = MotionProblem(top, Splines(4), 1.0)
    with pytest.raises(mg.InputError, match="turn by 360 degrees from its reference attitude"):
        problem.subject_to(At(1, (-1.0, 0, 0, 0)))
    with pytest.raises(mg.InputError, match="four Euler parameters are all zero"):
        problem.subject_to(At(1, (0.0, 0, 0, 0)))
    with pytest.raises(mg.InputError, match=r"3 number\(s\) for 4: s\.e0"):
        problem.subject_to(At(1, (0.0, 0, 0)))
    with pytest.raises(mg.InputError, match=r"'s\.wx' is a part of an attitude; name the joint"):
        problem.subject_to(At(1, 0.0, joints=["s.wx"]))
    with pytest.raises(mg.InputError, match=r"JointLimits: positions of 's\.wx' are an attitude"):
        problem.subject_to(JointLimits(-1, 1))
    with pytest.raises(mg.InputError, match="user constraint: positions of"):
        problem.subject_to(UserConstraint(np.sin, [Coordinates(top)], 0, 1))
    with pytest.raises(mg.InputError, match="attitudes of balls return to themselves"):
        problem.subject_to(Periodic(sign=-1.0))
    with pytest.raises(mg.InputError, match="reference has shape"):
        MotionProblem(top, Splines(4), 1.0, reference=(1, 0, 0))
    with pytest.raises(mg.InputError, match="reference: four Euler parameters are all zero"):
        MotionProblem(top, Splines(4), 1.0, reference=(0, 0, 0, 0))
    half = MotionProblem(top, Splines(4), 1.0, reference=(0, 0, 0, 1.0))
    half.subject_to(At(1, (-1.0, 0, 0, 0)))  # half a turn from here
