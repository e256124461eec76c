"""Motion problems of mechanisms with force elements, loops and constraints: Jacobian, Hessian and patterns against
differences, answers against other ways to them."""

from __future__ import annotations

import numpy as np
import pytest
from test_transcription import CLOCKS, check_constraints, check_cost, dense, filled, spatial_tree, unknowns

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start, human
from mechgrad.optimization.motion import (
    At,
    CutForce,
    Duration,
    ForceSquares,
    Free,
    FreeNumber,
    JerkSquares,
    JointLimits,
    MotionProblem,
    MotionSolution,
    Periodic,
    PowerSquares,
    Splines,
    Stance,
    TorqueLimits,
    TorqueSquares,
)


def rod(name, length):
    return mg.Body(name, 1.0, (length / 2, 0, 0), (0.01, 0.02, 0.02))


def four_bar(**more):
    joints = [
        mg.Revolute("A", "ground", "crank"),
        mg.Revolute("B", "crank", "coupler", origin=(0.3, 0, 0)),
        mg.Revolute("D", "ground", "rocker", origin=(1.0, 0, 0)),
        mg.Revolute("C", "coupler", "rocker", origin=(0.9, 0, 0), child_origin=(0.8, 0, 0)),
    ]
    bodies = [rod("crank", 0.3), rod("coupler", 0.9), rod("rocker", 0.8)]
    return mg.Model("four-bar", bodies, joints, gravity=(0, -9.81, 0), cut=["C"], **more)


def spatial(*forces, constraints=()):
    """The tree of seven joints askew with elements."""
    tree = spatial_tree()
    vectors = [mg.Vector("up", "ground", (0, 0, 1.0))]
    return mg.Model(
        "askew", tree.bodies, tree.joints, tree.points, vectors, gravity=(0.3, -0.5, -9.81), forces=list(forces),
        constraints=list(constraints),
    )  # fmt: skip


def loose_user_force():
    return mg.forces.UserForce(
        "own", [mg.measures.Distance("ground.origin", "hand")], lambda t, g, gd: 5 * g**3 + 0.3 * g * gd
    )


ELEMENTS = {
    "spring": mg.forces.SpringDamper("x", "foot", "hand", stiffness=30.0, damping=2.0, free_length=0.4),
    "joint spring": mg.forces.JointSpring("x", "j4", stiffness=30.0, damping=2.0),
    "bushing": mg.forces.Bushing("x", "hand", "foot", (20, 30, 40.0), (1, 2, 3.0), (3, 4, 5.0), (0.1, 0.2, 0.3)),
    "curve": mg.forces.SpringCurve(
        "x", "foot", "hand", mg.functions.Polynomial((0, 10, 3, 8)), mg.functions.Polynomial((0, 2, 0, 1)), 0.3
    ),
    "friction": mg.forces.JointFriction("x", "j3", coulomb=3.0, viscous=0.2, speed=0.8),
    "contact": mg.forces.SphereContact(
        "x", "hand", 4.0, "ground.origin", "up", stiffness=20.0, damping=0.05, friction=0.4, slip_speed=1.0
    ),
    "motor": mg.forces.Motor("x", "j2", mg.functions.Harmonic(3.0, frequency=0.7)),
    "user": loose_user_force(),
}


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("name", ELEMENTS)
def test_torques_against_force_elements(name, clock):
    """Every law, under every clock; its influence on the torques is not zero."""
    model = spatial(ELEMENTS[name])
    problem = MotionProblem(model, Splines(2), CLOCKS[clock]).subject_to(TorqueLimits(-1, 1))
    t, x, y = check_constraints(problem)
    bare = MotionProblem(spatial(), Splines(2), CLOCKS[clock]).subject_to(TorqueLimits(-1, 1)).transcription()
    width = problem.width
    common = np.concatenate([x[: t.grid.at_theta].reshape(-1, width)[:, :7].ravel(), x[t.grid.at_theta :]])
    named = [k for k, label in enumerate(t.labels) if label == "torque limits"]
    assert np.max(np.abs(t.values(x)[named] - bare.values(common))) > 0.1
    if name not in ("curve", "contact", "user"):
        assert filled(t, problem) == (0, 0)
    if name not in ("motor", "joint spring"):  # linear in q and v
        H = dense(t.hessian_structure, t.hessian(x, 1.0, y), (t.n, t.n))
        bent = dense(bare.hessian_structure, bare.hessian(common, 1.0, y[named]), (bare.n, bare.n))
        assert np.max(np.abs(H - bent)) > 0.01


def test_costs_with_force_elements():
    model = spatial(ELEMENTS["spring"], mg.forces.JointSpring("knee", "j4", 30.0))
    for clock in CLOCKS.values():
        check_cost(MotionProblem(model, Splines(2), clock).minimize(TorqueSquares(), PowerSquares(0.1)))


def test_force_elements_on_a_body_that_stands():
    feet = [Stance("b4", (0.3, 0.1, 0.0), 0.0, 0.7), Stance("b7", (-0.4, 0.3, 0.0), 0.3, 1.0)]
    model = spatial(ELEMENTS["spring"])
    limits = TorqueLimits(-1, 1, ground=feet)
    check_constraints(MotionProblem(spatial(loose_user_force()), Splines(2), 0.8).subject_to(limits))
    held = spatial(mg.forces.JointSpring("x", "j1", stiffness=30.0))
    with pytest.raises(mg.InputError, match="acts along 'j1', a coordinate that joins the ground"):
        MotionProblem(held, Splines(2), 1.0).subject_to(limits)
    t, x, _ = check_constraints(MotionProblem(model, Splines(2), 0.8).subject_to(limits))
    bare = MotionProblem(spatial(), Splines(2), 0.8).subject_to(limits).transcription()
    assert np.max(np.abs(t.values(x) - bare.values(x))) > 0.1


@pytest.mark.slow
def test_free_numbers_of_elements():
    model = spatial(ELEMENTS["spring"])
    numbers = [FreeNumber("x.stiffness", 1, 90), FreeNumber("b5.mass", 0.5, 3), FreeNumber("j5.origin.y", -2, 2)]
    for clock in ("given", "free"):
        check_constraints(MotionProblem(model, Splines(2), CLOCKS[clock], numbers).subject_to(TorqueLimits(-1, 1)))
        check_cost(MotionProblem(model, Splines(2), CLOCKS[clock], numbers).minimize(TorqueSquares()))


# ---------------------------------------------------------------------------------------------- loops and constraints
LOOPS = {
    "four-bar": (four_bar, ["A"], 2),
    "five-bar": (five_bar, ["A", "1"], 2),
    "all driven": (four_bar, ["A", "B", "D"], 2),
    "one of two": (five_bar, ["A"], 2),
    "rod": (
        lambda: spatial(ELEMENTS["spring"], constraints=[mg.constraints.FixedDistance("rod", "foot", "hand", 0.5)]),
        [f"j{k}" for k in range(1, 7)],
        1,
    ),
    "gear": (lambda: spatial(constraints=[mg.constraints.Gear("gear", "j3", "j5", 0.5)]), ["j1", "j2", "j3"], 1),
    "driver": (
        lambda: four_bar(constraints=[mg.constraints.Driver("d", "A", mg.functions.Harmonic(0.5, frequency=0.8))]),
        [],
        3,
    ),
}


@pytest.mark.parametrize(("clock", "degree"), [("given", 3), ("free", 3), ("knots", 3), ("given", 5), ("free", 5)])
@pytest.mark.parametrize("name", LOOPS)
def test_closures_passive_joints_and_multipliers(name, clock, degree):
    make, driven, m = LOOPS[name]
    problem = MotionProblem(make(), Splines(2, degree), CLOCKS[clock], driven=driven)
    problem.subject_to(TorqueLimits(-9, 9) if driven else JointLimits(-9, 9))
    assert len(problem.setting.multiplier_names) == m
    problem._check = lambda requirements: None  # two segments are too few for all equations of some
    t, _, _ = check_constraints(problem)
    assert filled(t, problem) == (0, 0)


@pytest.mark.parametrize("name", ["four-bar", "rod"])
def test_jacobians_by_complex_step(name):
    make, driven, _ = LOOPS[name]
    problem = MotionProblem(make(), Splines(2), 0.8, driven=driven).subject_to(TorqueLimits(-1, 1))
    t = problem.transcription()
    x, h = unknowns(problem, t), 1e-30
    J = dense(t.jacobian_structure, t.jacobian(x), (t.m, t.n))
    stepped = np.stack([t.values(x + 1j * h * e).imag / h for e in np.eye(t.n)], axis=1)
    assert np.max(np.abs(J)) > 1e-2
    np.testing.assert_allclose(J, stepped, atol=1e-12 * np.max(np.abs(J)))


@pytest.mark.slow
def test_free_numbers_of_a_loop():
    numbers = [FreeNumber("crank.mass", 0.5, 2), FreeNumber("D.origin.x", 0.8, 1.2)]
    problem = MotionProblem(four_bar(), Splines(2), CLOCKS["free"], numbers, driven=["A"])
    check_constraints(problem.subject_to(TorqueLimits(-1, 1)))
    problem = MotionProblem(four_bar(), Splines(2), CLOCKS["free"], numbers, driven=["A", "B"])
    check_cost(problem.minimize(TorqueSquares(), ForceSquares(0.1)))


def swing(model, driven, segments=12, **more):
    """The crank of a four-bar from 0.5 to 1.5 rad, at rest at both ends."""
    problem = MotionProblem(model, Splines(segments), 0.7, driven=driven, **more).minimize(TorqueSquares())
    return problem.subject_to(
        At(0, 0.5, joints=["A"]), At(1, 1.5, joints=["A"]), At(0, 0.0, "v", ["A"]), At(1, 0.0, "v", ["A"])
    )


def test_a_four_bar_is_moved_with_the_torques_of_inverse_dynamics():
    """Between the knots closures and torques miss by powers of the knots' distance; all converge to the motion that the
    crank alone decides."""
    misses = []
    for segments in (12, 24):
        solution = swing(four_bar(), ["A"], segments).solve()
        assert solution.result.success
        assert solution.result.iterations < 12
        _, q, v, a = solution.motion(401)
        crank = ({"A": x[:, 0]} for x in (q, v, a))
        tau, lam = mg.inverse_dynamics(four_bar(), *crank, driven=["A"], guess=q[0], return_multipliers=True)
        found = np.stack([*solution.multipliers(401).values()], axis=1)
        left = solution.residuals()
        misses.append([
            np.abs(solution.torques(401) - tau).max(), np.abs(found - lam).max(), left["closures"],
            left["torques of passive joints"],
        ])  # fmt: skip
        assert np.abs(tau).max() > 5
        assert np.all(solution.torques(5)[:, 1:] == 0)
    assert np.all(np.array(misses[0]) < (0.1, 0.1, 3e-5, 0.1))
    assert misses[0][2] / misses[1][2] > 8  # the fourth power
    assert np.all(np.array(misses[1])[[0, 1, 3]] < np.array(misses[0])[[0, 1, 3]] / 1.5)


def test_a_four_bar_driven_by_the_torques_found_makes_the_motion_found():
    """The torque as a motor's spline over time, simulated from the start."""
    misses = []
    for segments in (24, 48):
        solution = swing(four_bar(), ["A"], segments).solve()
        t, q, _, _ = solution.motion(8 * segments + 1)
        push = mg.functions.Spline(t, solution.torques(8 * segments + 1)[:, 0])
        model = four_bar(forces=[mg.forces.Motor("m", "A", push)])
        start = mg.assemble(model, {"A": q[0, 0]}, {"A": 0.0}, guess=q[0])
        motion = mg.simulate(model, start, 0.7, step=1e-3)
        misses.append(np.abs(motion.q[-1] - q[-1]).max())
        assert np.abs(q[-1] - q[0]).max() > 0.9
    assert misses[1] < 5e-3
    assert misses[0] / misses[1] > 3.5  # the second power of the knots' distance


def test_actuators_beyond_the_freedoms_share_the_load_like_the_smallest_torques():
    """All joints of the four-bar driven: the cost is the sum of squares that `inverse_dynamics` makes smallest."""
    solution = swing(four_bar(), ["A", "B", "D"]).solve()
    assert solution.result.success
    _, q, v, a = solution.motion(13)
    tau = mg.inverse_dynamics(four_bar(), *({"A": x[:, 0]} for x in (q, v, a)), guess=q[0])
    np.testing.assert_allclose(solution.torques(13), tau, atol=0.01)
    assert solution.result.objective < 0.5 * swing(four_bar(), ["A"]).solve().result.objective


def test_passive_joints_feel_the_loads_of_the_problem():
    """A weight on the rocker, which has no motor: the crank carries it, as inverse dynamics says."""
    weight = [mg.Load("rocker", force=(0, -30.0, 0), point=(0.4, 0, 0))]
    problem = MotionProblem(four_bar(), Splines(24), 0.7, driven=["A"]).minimize(TorqueSquares(loads=weight))
    problem.subject_to(
        At(0, 0.5, joints=["A"]), At(1, 1.5, joints=["A"]), At(0, 0.0, "v", ["A"]), At(1, 0.0, "v", ["A"])
    )
    solution = problem.solve()
    assert solution.result.success
    _, q, v, a = solution.motion(25)
    crank = [{"A": x[:, 0]} for x in (q, v, a)]
    tau = mg.inverse_dynamics(four_bar(), *crank, driven=["A"], guess=q[0], loads=weight)
    np.testing.assert_allclose(solution.torques(25, weight), tau, atol=0.01 * np.abs(tau).max())
    without = mg.inverse_dynamics(four_bar(), *crank, driven=["A"], guess=q[0])
    assert np.abs(tau - without).max() > 1
    with pytest.raises(mg.InputError, match="name 2 different sets of loads"):
        problem.subject_to(TorqueLimits(-90, 90)).solve()


@pytest.mark.slow
def test_a_five_bar_with_springs_moves_and_returns():
    q0, misses = np.array(five_bar_start()), []
    for segments in (16, 32):
        problem = MotionProblem(five_bar(), Splines(segments), 1.0, driven=["A", "1"]).minimize(TorqueSquares())
        problem.subject_to(At(0, q0), At(0, 0.0, "v"))
        solution = problem.subject_to(At(1, q0[:2] + 0.3, joints=["A", "1"]), At(1, 0.0, "v", ["A", "1"])).solve()
        assert solution.result.success
        _, q, v, a = solution.motion(201)
        given = ({"A": x[:, 0], "1": x[:, 1]} for x in (q, v, a))
        tau = mg.inverse_dynamics(five_bar(), *given, driven=["A", "1"], guess=q[0])
        misses.append(np.abs(solution.torques(201) - tau).max() / np.abs(tau).max())
    assert misses[1] < 0.04
    assert misses[0] / misses[1] > 3.5  # the second power of the knots' distance
    assert solution.residuals()["closures"] < 1e-3
    reactions = solution.reactions(5)
    assert np.abs(reactions.of("B")[0]).max() > 1  # the cut joint transmits, too
    there = MotionProblem(five_bar(), Splines(16), 1.0, driven=["A", "1"]).minimize(TorqueSquares(per_segment=2))
    there.subject_to(Periodic(), At(0, q0[:2], joints=["A", "1"]), At(0.5, q0[:2] + 0.2, joints=["A", "1"]))
    around = there.solve()
    assert around.result.success
    assert around.residuals()["periodic q"] < 1e-9
    assert around.residuals(1)["closures"] < 1e-9  # at the end, too, where no equation says so


def test_laws_that_know_of_time_follow_a_free_duration():
    """A motor pushes a slide with 3 sin(2 pi f t); the best drive takes the rest, whatever the duration."""
    mass = mg.Model(
        "slide", [mg.Body("b", 2.0)], [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))],
        forces=[mg.forces.Motor("m", "x", mg.functions.Harmonic(3.0, frequency=0.7))],
    )  # fmt: skip
    problem = MotionProblem(mass, Splines(12), Free(0.5, 3.0, 1.0)).minimize(TorqueSquares(), Duration(2.0))
    problem.subject_to(At(0, 0.0), At(1, 1.0), At(0, 0.0, "v"), At(1, 0.0, "v"))
    solution = problem.solve()
    assert solution.result.success
    t, _, _, a = solution.motion(41)
    push = 3.0 * np.sin(2 * np.pi * 0.7 * t)
    np.testing.assert_allclose(solution.torques(41)[:, 0], 2.0 * a[:, 0] - push, atol=1e-6)
    costs = []
    for T in np.array([-0.01, 0.0, 0.01]) + solution.duration:  # against problems of given durations
        given = MotionProblem(mass, Splines(12), float(T)).minimize(TorqueSquares())
        given.subject_to(At(0, 0.0), At(1, 1.0), At(0, 0.0, "v"), At(1, 0.0, "v"))
        costs.append(given.solve().result.objective + 2.0 * T)
    assert costs[1] == pytest.approx(solution.result.objective, rel=1e-6)
    assert costs[1] < costs[0]
    assert costs[1] < costs[2]


def test_a_driver_moves_a_linkage_and_its_multiplier_is_the_torque():
    """Nothing is left to find: the four-bar turns as its driver says, and no joint has a motor."""
    turn = mg.functions.Polynomial((0.5, 1.0))
    model = four_bar(constraints=[mg.constraints.Driver("d", "A", turn)])
    solution = MotionProblem(model, Splines(12), 0.7, driven=[]).minimize(ForceSquares()).solve()
    assert solution.result.success
    _, q, v, a = solution.motion(13)
    np.testing.assert_allclose(q[:, 0], 0.5 + solution.times(13), atol=1e-7)
    crank = ({"A": x[:, 0]} for x in (q, v, a))
    tau = mg.inverse_dynamics(four_bar(), *crank, driven=["A"], guess=q[0])
    np.testing.assert_allclose(-solution.multipliers(13)["d: drive"], tau[:, 0], atol=0.02)


KNEES = ("dh.10", "dh.18")


def sprung_human():
    plain = human()
    springs = [mg.forces.JointSpring(f"knee {k}", name, stiffness=80.0, damping=2.0) for k, name in enumerate(KNEES)]
    return mg.Model("sprung human", plain.bodies, plain.joints, plain.points, gravity=plain.gravity, forces=springs)


@pytest.mark.parametrize("clock", ["given", "free"])
def test_derivatives_of_a_human_with_springs(clock):
    """Jacobian, gradient and Hessian along directions in which all 43 joints take part."""
    model = sprung_human()
    check_constraints(MotionProblem(model, Splines(2), CLOCKS[clock]).subject_to(TorqueLimits(-1, 1)), directions=3)
    check_cost(MotionProblem(model, Splines(2), CLOCKS[clock]).minimize(TorqueSquares(1e-4)), directions=3)


def test_a_human_with_springs_in_the_knees():
    """Bends hips and knees; the drives exert what inverse dynamics says, springs do a part of the work."""
    plain, sprung, knees = human(), sprung_human(), KNEES
    end = np.zeros(43)
    for hip, knee in (("dh.9", "dh.10"), ("dh.17", "dh.18")):
        end[[plain.v_names.index(hip), plain.v_names.index(knee)]] = 0.6, -1.0
    found = {}
    for model in (plain, sprung):
        problem = MotionProblem(model, Splines(6), 0.6).minimize(TorqueSquares(1e-4), JerkSquares(1e-3))
        problem.subject_to(At(0, 0.0), At(1, end), At(0, 0.0, "v"), At(1, 0.0, "v"))
        found[model.name] = problem.solve(hessian="exact")
        assert found[model.name].result.success
        assert found[model.name].result.iterations < 15
    solution = found["sprung human"]
    _, q, v, a = solution.motion(31)
    np.testing.assert_allclose(solution.torques(31), mg.inverse_dynamics(sprung, q, v, a), atol=1e-9)
    at = [plain.v_names.index(name) for name in knees]
    change = solution.torques(31)[:, at] - mg.inverse_dynamics(plain, q, v, a)[:, at]
    np.testing.assert_allclose(change, 80.0 * q[:, at] + 2.0 * v[:, at], atol=1e-9)
    assert np.abs(change).max() > 50
    assert abs(solution.result.objective - found["human"].result.objective) > 1e-3 * solution.result.objective


# ---------------------------------------------------------------------------------------------------------- bad input
def test_what_mechanisms_refuse():
    with pytest.raises(mg.InputError, match=r"closed by 2 constraint rows and has 1 freedom.*driven=\['A'\]"):
        MotionProblem(four_bar(), Splines(4), 1.0)
    with pytest.raises(mg.InputError, match="driven is 'A'; give a list"):
        MotionProblem(four_bar(), Splines(4), 1.0, driven="A")
    problem = MotionProblem(four_bar(), Splines(4), 1.0, driven=["A"])
    with pytest.raises(mg.InputError, match="D of model 'four-bar' is not driven: its torque is zero"):
        problem.subject_to(TorqueLimits(-1, 1, joints=["A", "D"]))
    with pytest.raises(mg.InputError, match="B of model 'four-bar' is not driven"):
        problem.minimize(TorqueSquares(joints=["B"]))
    with pytest.raises(mg.InputError, match=r"q at xi = 0: the configuration .* misses 'C: point .' .* by 0"):
        MotionProblem(four_bar(), Splines(4), 1.0, driven=["A"]).subject_to(At(0, (0.5, 0.4, 2.1))).solve()
    far = MotionProblem(four_bar(), Splines(4), 1.0, driven=["A"])
    far.subject_to(At(0, 0.5, joints=["A"]), At(1, (0.5, 3.0), joints=["A", "B"]))
    with pytest.raises(mg.InputError, match="q at xi = 1: the mechanism cannot be closed with what is demanded"):
        far.solve()


def test_users_forces_know_of_a_given_time():
    force = mg.forces.UserForce("gust", [mg.measures.JointCoordinate("j2")], lambda t, g, gd: np.sin(3 * t) + 0 * g)
    given = MotionProblem(spatial(force), Splines(2), 0.8).subject_to(TorqueLimits(-1, 1))
    check_constraints(given)


def test_solutions_of_mechanisms_are_starts_and_files(tmp_path):
    """On finer splines, and through a file."""
    solution = swing(four_bar(), ["A"]).solve()
    finer = swing(four_bar(), ["A"], 24).solve(solution)
    assert finer.result.success
    assert finer.result.objective == pytest.approx(solution.result.objective, rel=0.02)
    mg.io.save_motion(solution, tmp_path / "swing")
    loaded = mg.io.load_motion(tmp_path / "swing")
    np.testing.assert_array_equal(loaded.torques(7), solution.torques(7))
    assert list(loaded.multipliers(7)) == ["C: point x", "C: point y"]
    top = mg.Model("top", [mg.Body("b", 1.0)], [mg.Spherical("s", "ground", "b")])
    given = MotionSolution(top, Splines(4), np.full((7, 3), 0.2), 1.0, None, reference=np.array([0, 0, 0, 1.0]))
    mg.io.save_motion(given, tmp_path / "top")
    np.testing.assert_array_equal(mg.io.load_motion(tmp_path / "top").motion(5)[1], given.motion(5)[1])


def test_cuts_by_hand_are_the_same_as_loops_closed_by_themselves():
    """`CutForce` and `Coincident` on the opened four-bar: the same torques, by another discretization."""
    from mechgrad.optimization.motion import Coincident

    model = four_bar()
    points = [mg.Point("P", "coupler", (0.9, 0, 0)), mg.Point("Q", "rocker", (0.8, 0, 0))]
    opened = mg.Model("opened", model.bodies, model.joints[:3], points, gravity=(0, -9.81, 0))
    closed = swing(model, ["A"]).solve()
    by_hand = swing(opened, ["A"], cuts=[CutForce("P", "Q", "xy")]).subject_to(
        Coincident("P", "Q", "xy"), At(0, 0.0, "v", ["B", "D"]), At(1, 0.0, "v", ["B", "D"])
    )
    solution = by_hand.solve(closed.control_points.ravel())
    assert solution.result.success
    # the row is x(Q) - x(P): its multiplier resists the growth, and pushes P
    np.testing.assert_allclose(solution.cut_forces(13)[:, 0], closed.multipliers(13)["C: point x"], atol=0.2)
    assert solution.result.objective == pytest.approx(closed.result.objective, rel=0.02)
