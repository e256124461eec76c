"""Standing mechanisms with loops, balls, springs and ropes: Jacobian and Hessian against differences, answers against
fixed twins and the balance of all forces."""

from __future__ import annotations

import numpy as np
import pytest
from test_motion_forces import problem_of
from test_transcription import CLOCKS, check_constraints, check_cost

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    CutForce,
    FreeNumber,
    GroundFriction,
    JointLimits,
    MotionProblem,
    MotionSolution,
    Splines,
    Stance,
    TorqueLimits,
    TorqueSquares,
    ZeroMomentPoint,
)


def standing(*forces, constraints=(), cut=True):
    """A floating trunk with two arms on balls and hinges that hold a bar together: a loop, and two feet."""

    def part(name, mass):
        return mg.Body(name, mass, (0.05, -0.1, 0.15), (0.1, 0.12, 0.15))

    bodies = [part("trunk", 5.0), part("right", 1.0), part("left", 1.2), part("bar", 0.7)]
    joints = [
        mg.Floating("root", "ground", "trunk"),
        mg.Spherical("r", "trunk", "right", origin=(0.2, 0.1, 0.3)),
        mg.Revolute("l", "trunk", "left", axis=(0.3, 1, 0.2), origin=(-0.2, 0.1, 0.3)),
        mg.Revolute("b", "right", "bar", axis=(1, 0.2, 0.5), origin=(0.3, 0, 0.2)),
    ]
    if cut:
        joints.append(mg.Spherical("hold", "left", "bar", origin=(0.3, 0.2, 0), child_origin=(0.1, -0.3, 0)))
    points = [mg.Point("hand", "bar", (0.2, 0.1, 0.3)), mg.Point("heel", "left", (0.1, 0.0, -0.3))]
    return mg.Model(
        "standing", bodies, joints, points, forces=list(forces), constraints=list(constraints),
        cut=["hold"] if cut else None,
    )  # fmt: skip


FEET = [Stance("right", (0.3, 0.1, 0.0), 0.0, 0.7), Stance("left", (-0.4, 0.3, 0.0), 0.3, 1.0)]
SQUARE = [(-1.0, -1.0), (1.0, -1.0), (1.2, 1.0), (-1.0, 1.3)]
TIE = mg.forces.SpringDamper("tie", "hand", "ground.origin", stiffness=30.0, damping=2.0, free_length=0.4)
ROPE = mg.constraints.FixedDistance("rope", "heel", "ground.origin", 0.5)
STANDING = {
    "balls": (standing(cut=False), None),
    "loop": (standing(), ["root", "r", "b"]),
    "spring to the ground": (standing(TIE, cut=False), None),
    "loop, spring and rope to the ground": (standing(TIE, constraints=[ROPE]), ["root", "r", "b"]),
}


@pytest.mark.parametrize("clock", ["given", "free"])
@pytest.mark.parametrize("name", STANDING)
def test_torques_of_standing_mechanisms(name, clock):
    model, driven = STANDING[name]
    parts = [TorqueLimits(-1, 1, ground=FEET, per_segment=2), GroundFriction(FEET), ZeroMomentPoint(SQUARE, FEET)]
    problem = problem_of(model, clock, driven=driven).subject_to(*parts)
    check_constraints(problem, directions=8)


@pytest.mark.slow
def test_costs_and_numbers_of_standing_mechanisms():
    numbers = [FreeNumber("tie.stiffness", 1, 90), FreeNumber("trunk.mass", 3, 9), FreeNumber("b.origin.x", -1, 1)]
    problem = problem_of(standing(TIE), "given", numbers, driven=["root", "r", "b"])
    check_constraints(problem.subject_to(TorqueLimits(-1, 1, ground=FEET)))
    problem = MotionProblem(standing(cut=False), Splines(2), CLOCKS["free"])
    check_cost(problem.minimize(TorqueSquares(1e-2, ground=FEET)), sparse=False)


def test_feet_carry_what_springs_and_ropes_leave():
    """In any motion: what the feet, the spring and the rope push is what the centre of mass needs, and no torque is
    left in the joint to the ground."""
    model = standing(TIE, constraints=[ROPE])
    problem = MotionProblem(model, Splines(4), 0.8, driven=["root", "r", "b"])
    x = np.random.default_rng(3).normal(0, 0.2, problem.guess().shape)
    solution = MotionSolution(
        model, problem.splines, x.reshape(-1, problem.width), 0.8, None, driven=problem.driven,
        reference=model.neutral(),
    )  # fmt: skip
    _, q, v, a = solution.motion(9)
    reactions = solution.ground_reactions(FEET, 9)
    tau = (
        solution.setting.torques(None, FEET).on(np.linspace(0, 1, 9)).values(solution.samples_at(np.linspace(0, 1, 9)))
    )
    assert np.abs(tau[:, :6]).max() < 1e-10 * np.abs(tau).max()
    masses = np.array([body.mass for body in model.bodies])
    com = mg.kinematics.marker_motion(model, [f"{body.name}.com" for body in model.bodies], q, v, a).acceleration
    needed = np.einsum("b,tbi->ti", masses, com) + masses.sum() * np.array([0, 0, 9.81])
    ends = mg.kinematics.marker_motion(model, ["hand", "heel"], q, v)
    length = np.linalg.norm(ends.position, axis=2)
    along = ends.position / length[:, :, None]
    pull = 30.0 * (length[:, 0] - 0.4) + 2.0 * np.sum(ends.velocity[:, 0] * along[:, 0], axis=1)
    rope = solution.multipliers(9)["rope: distance"]
    pushed = -pull[:, None] * along[:, 0] - rope[:, None] * along[:, 1]
    np.testing.assert_allclose(reactions.force + pushed, needed, atol=1e-9)
    assert np.abs(pushed).max() > 1


def four_bar_on(base):
    """A four-bar in the plane of x and z, hinged to a body."""

    def rod(name, length):
        return mg.Body(name, 1.0, (length / 2, 0, 0), (0.01, 0.02, 0.02))

    joints = [
        mg.Revolute("A", base, "crank", axis=(0, -1, 0)),
        mg.Revolute("B", "crank", "coupler", origin=(0.3, 0, 0), axis=(0, -1, 0)),
        mg.Revolute("D", base, "rocker", origin=(1.0, 0, 0), axis=(0, -1, 0)),
        mg.Revolute("C", "coupler", "rocker", origin=(0.9, 0, 0), child_origin=(0.8, 0, 0), axis=(0, -1, 0)),
    ]
    bodies = [rod("crank", 0.3), rod("coupler", 0.9), rod("rocker", 0.8)]
    if base == "ground":
        return mg.Model("fixed", bodies, joints, cut=["C"])
    foot = mg.Body("foot", 4.0, (0.5, 0.0, 0.0), (0.1, 0.1, 0.1))
    return mg.Model("on foot", [foot, *bodies], [mg.Floating("root", "ground", "foot"), *joints], cut=["C"])


def test_a_linkage_moves_on_a_foot_that_stands():
    """The foot floats, and stays where it is: then the motor exerts what it does on the fixed linkage, and the ground
    what that linkage exerts on its base, with the weight of the foot; the zero-moment point keeps its polygon."""
    model, still, feet = four_bar_on("foot"), (0, 0, 0, 1, 0, 0, 0), [Stance("foot", (0.5, 0, 0))]

    def moved(*more):
        # zero rates at the knots and both places hold a spline of an odd number of segments
        problem = MotionProblem(model, Splines(21), 0.45, driven=["root", "A"]).minimize(TorqueSquares(ground=feet))
        return problem.subject_to(
            At(0, still, joints=["root"]), At(1, still, joints=["root"]),
            JointLimits(0, 0, model.v_names[:6], "v"), At(0, 0.5, joints=["A"]), At(1, 1.7, joints=["A"]),
            At(0, 0.0, "v", ["A"]), At(1, 0.0, "v", ["A"]), *more,
        ).solve()  # fmt: skip

    def fixed(solution, samples=85):
        _, q, v, a = solution.motion(samples)
        at = model.q_names.index("A")
        given = [{"A": x[:, c]} for x, c in ((q, at), (v, at - 1), (a, at - 1))]
        base, guess = four_bar_on("ground"), q[0, 7:]
        tau = mg.inverse_dynamics(base, *given, driven=["A"], guess=guess)
        reactions = mg.joint_reactions(base, *given, driven=["A"], guess=guess)
        one, other = reactions.of("A"), reactions.of("D")
        force = one.force + other.force + np.array([0, 0, 4.0 * 9.81])
        couple = (
            one.couple + other.couple + np.cross((1.0, 0, 0), other.force) + np.cross((0.5, 0, 0), (0, 0, 4 * 9.81))
        )
        return tau[:, 0], force, couple

    free = moved()
    assert free.result.success
    tau, force, couple = fixed(free)
    assert np.abs(free.motion(85)[1][:, :3]).max() < 1e-9
    np.testing.assert_allclose(free.torques(85, ground=feet)[:, 6], tau, atol=0.02 * np.abs(tau).max())
    found = free.ground_reactions(feet, 85)
    np.testing.assert_allclose(found.force, force, atol=0.02 * np.abs(force).max())
    np.testing.assert_allclose(found.couple, couple, atol=0.02 * np.abs(couple).max())
    zmp = -couple[:, 1] / force[:, 2]
    wall = np.quantile(zmp, 1.0) - 0.1 * np.ptp(zmp)
    polygon = [(-2.0, -1.0), (wall, -1.0), (wall, 1.0), (-2.0, 1.0)]
    kept = moved(ZeroMomentPoint(polygon, feet, per_segment=2))
    assert kept.result.success
    _, force, couple = fixed(kept)
    assert np.max(-couple[:, 1] / force[:, 2]) < wall + 0.02 * np.ptp(zmp)
    assert kept.result.objective > free.result.objective
    through = free.reactions(85, ground=feet).of("C").force
    np.testing.assert_allclose(through, hinge_of_the_fixed(free, model), atol=0.02 * np.abs(through).max())


def hinge_of_the_fixed(solution, model):
    """What the cut hinge of the fixed linkage transmits in the same motion."""
    _, q, v, a = solution.motion(85)
    at = model.q_names.index("A")
    given = [{"A": x[:, c]} for x, c in ((q, at), (v, at - 1), (a, at - 1))]
    return mg.joint_reactions(four_bar_on("ground"), *given, driven=["A"], guess=q[0, 7:]).of("C").force


@pytest.mark.parametrize("clock", ["given", "free"])
def test_standing_with_forces_between_points_to_be_found(clock):
    """Cuts by hand, between bodies and to the ground."""
    cuts = [CutForce("hand", "heel", "xz"), CutForce("heel", "post")]
    model = standing(cut=False)
    points = [*model.points, mg.Point("post", "ground", (0.3, 0.2, 0.1))]
    model = mg.Model("held", model.bodies, model.joints, points)
    problem = problem_of(model, clock, cuts=cuts).subject_to(TorqueLimits(-1, 1, ground=FEET), GroundFriction(FEET))
    t, _, _ = check_constraints(problem, directions=8)
    rows, cols = t.jacobian_structure
    felt = {label for label, c in zip(np.array(t.labels)[rows], cols, strict=True) if c % problem.width >= 11}
    assert felt >= {"torque limits", "friction"}  # the second is felt by what the feet leave to the post


def test_what_standing_mechanisms_refuse():
    feet = [Stance("foot", (0.5, 0, 0))]
    model = four_bar_on("foot")
    with pytest.raises(mg.InputError, match=r"'root\.vx' of model 'on foot' joins the ground and is not driven"):
        MotionProblem(model, Splines(9), 1.0, driven=["A"]).subject_to(TorqueLimits(-9, 9, ground=feet)).transcription()
    other = [Stance("foot", (0.4, 0, 0))]
    problem = MotionProblem(model, Splines(9), 1.0, driven=["root", "A"])
    problem.subject_to(TorqueLimits(-9, 9, ground=feet), GroundFriction(other))
    with pytest.raises(mg.InputError, match="name 2 different sets of feet"):
        problem.transcription()
    held = standing(mg.forces.JointSpring("hook", "root.x", 3.0), cut=False)
    with pytest.raises(mg.InputError, match=r"acts along 'root\.vx', a coordinate that joins the ground"):
        MotionProblem(held, Splines(2), 1.0).subject_to(TorqueLimits(-1, 1, ground=FEET))
