"""Limits and costs of multipliers, efforts and reactions, laws of time with a free duration, and a Stewart platform:
Jacobian, Hessian and patterns against differences, answers against the verbs of states."""

from __future__ import annotations

import numpy as np
import pytest
from mechanics.torque_cases import stewart
from test_motion_mechanisms import ELEMENTS, four_bar, spatial
from test_transcription import CLOCKS, along, check_constraints, check_cost, dense, differences, filled

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    CutForce,
    Duration,
    Free,
    FreeNumber,
    Limits,
    LoadSchedule,
    MotionProblem,
    ReactionLimits,
    Reactions,
    Splines,
    Squares,
    TorqueLimits,
    Torques,
    TorqueSquares,
    UserConstraint,
)
from mechgrad.optimization.motion.measures.motion_samples import Samples

SPRING = mg.forces.SpringDamper("x", "crank.com", "rocker.com", stiffness=30.0, damping=20.0, free_length=0.4)


def problem_of(model, clock, numbers=(), driven=None, **more):
    problem = MotionProblem(model, Splines(2), CLOCKS[clock], numbers, driven=driven, **more)
    problem._check = lambda requirements: None  # two segments are too few for all equations of some
    return problem


# --------------------------------------------------------------------------------------------- multipliers, reactions
SPRUNG = four_bar(forces=[SPRING])
PULL = [mg.Load("rocker", force=(3.0, -30.0, 0), point=(0.4, 0, 0))]
OF_FORCES = {
    "multiplier": Limits(mg.measures.Multiplier("C: point x"), -1, 1, per_segment=2),
    "effort": Limits(mg.measures.Effort("x"), -1, 1),
    "reaction, world": Limits(mg.measures.JointReaction("A"), -1, 1),
    "reaction, parent": Limits(mg.measures.JointReaction("B", "parent"), -1, 1, xi=0.5),
    "reaction, child": Limits(mg.measures.JointReaction("D", "child"), -1, 1),
    "reaction, cut": Limits(mg.measures.JointReaction("C"), -1, 1),
    "reaction, cut, child": Limits(mg.measures.JointReaction("C", "child"), -1, 1),
    "reaction, load": Limits(mg.measures.JointReaction("D"), -1, 1, loads=PULL),
    "reaction limits": ReactionLimits("B", force=30, couple=20),
    "reaction limits, cut": ReactionLimits("C", force=30),
    "user": UserConstraint(
        lambda lam, F, w, tau: lam[:, 0] * F[:, 0] * w[:, 4] + np.sin(tau[:, 0] + w[:, 2]),
        [mg.measures.Multiplier("C: point y"), mg.measures.Effort("x"), Reactions(SPRUNG, ("D",)), Torques(SPRUNG)],
        0, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("name", OF_FORCES)
def test_limits_of_what_acts_in_a_linkage(name, clock):
    problem = problem_of(SPRUNG, clock, driven=["A"]).subject_to(OF_FORCES[name])
    t, _, _ = check_constraints(problem)
    if name != "user":  # zeros of a user's function are not looked for
        assert filled(t, problem) == (0, 0)
    mine = [k for k, label in enumerate(t.labels) if "closures" not in label and "passive" not in label]
    assert len(mine) >= 1
    rows, cols = t.jacobian_structure
    at_multipliers = (cols < t.grid.at_theta) & (cols % problem.width >= 3)
    if name != "effort":  # all others feel the multipliers
        assert np.any(at_multipliers & np.isin(rows, mine))


@pytest.mark.parametrize("clock", ["given", "free"])
@pytest.mark.parametrize("name", ["effort", "reaction, world", "reaction, cut", "reaction limits, cut"])
def test_free_numbers_of_what_acts(name, clock):
    """Stiffness, mass, and the numbers that place the cut joint on its child."""
    numbers = [FreeNumber("x.stiffness", 1, 90), FreeNumber("crank.mass", 0.5, 2), FreeNumber("C.child_origin.x", 0, 2)]
    check_constraints(problem_of(SPRUNG, clock, numbers, driven=["A"]).subject_to(OF_FORCES[name]), directions=8)


def test_costs_of_what_acts():
    terms = [
        Squares(mg.measures.Multiplier("C: point x"), 0.3, target=2.0),
        Squares(mg.measures.Effort("x"), 0.1, scale=2.0),
        Squares(mg.measures.JointReaction("C"), 0.01, per_segment=2),
        Squares(mg.measures.JointReaction("A", "child"), 0.01, loads=PULL),
    ]
    for clock in CLOCKS:
        for term in terms:
            problem = MotionProblem(SPRUNG, Splines(2), CLOCKS[clock], driven=["A", "B", "D"])
            problem._automatic = list  # the cost alone
            check_cost(problem.minimize(term))


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("clock", ["given", "free"])
def test_efforts_of_every_law(name, clock):
    model = spatial(mg.forces.JointSpring("first", "j4", 3.0), ELEMENTS[name])
    problem = problem_of(model, clock).subject_to(Limits(mg.measures.Effort(ELEMENTS[name].name), -1, 1))
    if name == "motor" and clock == "given":  # a function of time alone
        assert problem.transcription().jacobian_structure[0].size == 0
        return
    t, x, _ = check_constraints(problem)
    assert np.max(np.abs(t.values(x))) > 0.1
    if name not in ("motor", "joint spring"):  # linear in q and v
        y = np.ones(t.m)
        assert np.max(np.abs(dense(t.hessian_structure, t.hessian(x, 1.0, y), (t.n, t.n)))) > 0.01


def test_values_are_those_of_the_verbs_of_states():
    """At states that meet the constraints, with the multipliers of inverse dynamics."""
    q = mg.assemble(SPRUNG, {"A": 0.7}).q
    v = mg.kinematics.solve_velocities(SPRUNG, q, {"A": 1.3})
    a = mg.kinematics.solve_accelerations(SPRUNG, q, v, {"A": 0.4})
    _, lam = mg.inverse_dynamics(SPRUNG, q, v, a, driven=["A"], loads=PULL, return_multipliers=True)
    problem = MotionProblem(SPRUNG, Splines(4), 1.0, driven=["A"])
    z = np.zeros((4, 1, 5))
    z[0, 0], z[1, 0, :3], z[2, 0, :3] = np.concatenate([q, lam]), v, a
    for axes in ("world", "parent", "child"):
        theirs = mg.joint_reactions(SPRUNG, q, v, a, driven=["A"], axes=axes, loads=PULL)
        for joint in "ABCD":
            measure = problem.setting.function_of(mg.measures.JointReaction(joint, axes), PULL)
            wrench = np.concatenate(theirs.of(joint))
            np.testing.assert_allclose(measure.values(Samples(z, 3, np.zeros(1)))[0], wrench, atol=1e-12)
            assert np.abs(wrench).max() > 1


def test_reactions_with_balls_time_and_cuts_by_hand():
    """A floating body with another one on a ball that a rod closes to the ground, a motor over time, a cut."""
    bodies = [
        mg.Body("a", 1.2, (0.1, 0.2, -0.3), (0.3, 0.4, 0.5)),
        mg.Body("b", 0.7, (0.05, -0.1, 0.2), (0.1, 0.12, 0.15)),
        mg.Body("c", 0.5, (0.1, 0, 0), (0.02, 0.03, 0.04)),
    ]
    joints = [
        mg.Floating("f", "ground", "a"), mg.Spherical("s", "a", "b", origin=(0, 0.3, -0.2)),
        mg.Revolute("r", "b", "c", axis=(1, 0.5, 0.2)),
        mg.Spherical("close", "ground", "c", origin=(0.3, 0.2, 0.1), child_origin=(0.2, 0, 0.1)),
    ]  # fmt: skip
    points = [mg.Point("tip", "b", (0.1, 0.2, 0.3)), mg.Point("hook", "a", (0.3, 0, 0.1))]
    gust = LoadSchedule("b", force=lambda xi: np.outer(np.cos(3 * xi), (1.0, 2.0, -3.0)))
    model = mg.Model(
        "craft", bodies, joints, points, cut=["close"],
        forces=[mg.forces.Motor("m", "r", mg.functions.Harmonic(3.0, frequency=0.7))],
    )  # fmt: skip
    limits = [Limits(mg.measures.JointReaction("s", "parent"), -1, 1, loads=[gust]), ReactionLimits("close", 3.0)]
    for limit in limits:
        problem = problem_of(model, "free", driven=["f", "s"], cuts=[CutForce("tip", "hook")]).subject_to(limit)
        problem._automatic = list
        assert problem.setting.timed
        check_constraints(problem, directions=8)


def swing(segments=32, **more):
    problem = MotionProblem(SPRUNG, Splines(segments), 0.5, driven=["A"], **more).minimize(TorqueSquares())
    return problem.subject_to(
        At(0, 0.5, joints=["A"]), At(1, 2.0, joints=["A"]), At(0, 0.0, "v", ["A"]), At(1, 0.0, "v", ["A"])
    )


def seen(solution, samples=321):
    """Reactions, multipliers and the effort of the found motion, by other ways than the problem's."""
    _, q, v, a = solution.motion(samples)
    crank = [{"A": x[:, 0]} for x in (q, v, a)]
    reactions = mg.joint_reactions(SPRUNG, *crank, driven=["A"], guess=q[0])
    _, lam = mg.inverse_dynamics(SPRUNG, *crank, driven=["A"], guess=q[0], return_multipliers=True)
    ends = mg.kinematics.marker_motion(SPRUNG, ["crank.com", "rocker.com"], q, v)
    apart, speed = (np.diff(x, axis=1)[:, 0] for x in (ends.position, ends.velocity))
    length = np.linalg.norm(apart, axis=1)
    effort = 30.0 * (length - 0.4) + 20.0 * np.sum(apart * speed, axis=1) / length
    return reactions, lam, effort


def test_a_linkage_is_moved_within_limits_of_what_acts_in_it():
    """Reactions recomputed by `joint_reactions`, multipliers by `inverse_dynamics`, the spring's force by its length:
    the limit was exceeded without it, and holds with it on a grid ten times as fine, but for what splines leave."""
    free = swing().solve()
    assert free.result.success
    reactions, lam, effort = seen(free)
    largest = np.linalg.norm(reactions.of("C").force, axis=1).max()
    sideways, none = reactions.of("A").force[:, 0].max(), [np.inf] * 3
    for limit, look in (
        (ReactionLimits("C", force=0.9 * largest, per_segment=2),
         lambda r, lam, e: np.linalg.norm(r.of("C").force, axis=1).max() / (0.9 * largest)),
        (Limits(mg.measures.JointReaction("A"), upper=[*none, 0.9 * sideways, *none[1:]], per_segment=2),
         lambda r, lam, e: r.of("A").force[:, 0].max() / (0.9 * sideways)),
        (Limits(mg.measures.Multiplier("C: point y"), upper=0.9 * lam[:, 1].max(), per_segment=2),
         lambda r, multipliers, e: multipliers[:, 1].max() / (0.9 * lam[:, 1].max())),
        (Limits(mg.measures.Effort("x"), upper=0.9 * effort.max(), per_segment=2),
         lambda r, lam, e: e.max() / (0.9 * effort.max())),
    ):  # fmt: skip
        solution = swing().subject_to(limit).solve()
        assert solution.result.success, limit
        assert look(reactions, lam, effort) > 1.03, limit
        assert look(*seen(solution)) < 1.01, limit
        assert solution.result.objective > free.result.objective * (1 + 1e-6)
        assert solution.residuals()["closures"] < 1e-4


# --------------------------------------------------------------------------------------------- laws of time, users' own
def own(function, partials=None, numbers=None):
    return mg.forces.UserForce(
        "gust", [mg.measures.Distance("ground.origin", "hand"), mg.measures.JointCoordinate("j2")], function, partials,
        numbers,
    )  # fmt: skip


def blows(t, g, gd, k=2.0):
    return np.array([k * np.sin(3 * t) * g[0] ** 2 + 0.3 * gd[0] * np.cos(2 * t), g[1] * np.exp(-t) + gd[0] * t])


def stated(t, g, gd, k=2.0):
    by_g = np.array([[2 * k * np.sin(3 * t) * g[0], 0.0], [0.0, np.exp(-t)]])
    by_gd = np.array([[0.3 * np.cos(2 * t), 0.0], [t, 0.0]])
    by_t = [3 * k * np.cos(3 * t) * g[0] ** 2 - 0.6 * gd[0] * np.sin(2 * t), -g[1] * np.exp(-t) + gd[0]]
    return by_g, by_gd, {"t": by_t, "k": [np.sin(3 * t) * g[0] ** 2, 0.0]}


@pytest.mark.parametrize("clock", ["free", "knots"])
@pytest.mark.parametrize("partials", [None, stated])
def test_users_forces_that_know_of_time(clock, partials):
    model = spatial(own(blows, partials, {"k": 2.0}), ELEMENTS["motor"])
    for limit in (TorqueLimits(-1, 1), Limits(mg.measures.Effort("gust"), -1, 1)):
        problem = problem_of(model, clock).subject_to(limit)
        assert problem.setting.timed
        t, x, y = check_constraints(problem, directions=8)
        clock_column = problem.width - 1
        rows, cols = t.jacobian_structure
        mine = np.array([label != "rate of time" and label != "start of time" for label in t.labels])
        by_time = (cols < t.grid.at_theta) & (cols % problem.width == clock_column) & mine[rows]
        assert np.abs(t.jacobian(x)[by_time]).max() > 0.1
        H = dense(t.hessian_structure, t.hessian(x, 1.0, y), (t.n, t.n))
        at = np.arange(t.grid.at_theta) % problem.width == clock_column
        assert np.abs(H[: t.grid.at_theta, : t.grid.at_theta][np.ix_(at, ~at)]).max() > 1e-3
    numbers = [FreeNumber("gust.numbers.k", 1, 3)]
    check_constraints(problem_of(model, clock, numbers).subject_to(TorqueLimits(-1, 1)), directions=8)


def test_a_gust_decides_how_long_a_motion_takes():
    """A slide against a user's force that grows with time: the free duration is that of the best given one."""

    def storm(t, g, gd):
        return 4.0 * np.sin(2.0 * t) + 0.5 * gd

    body, rail = mg.Body("b", 2.0), mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))
    slide = mg.Model("slide", [body], [rail], forces=[
        mg.forces.UserForce("storm", [mg.measures.JointCoordinate("x")], storm)
    ])  # fmt: skip
    ends = At(0, 0.0), At(1, 1.0), At(0, 0.0, "v"), At(1, 0.0, "v")
    problem = MotionProblem(slide, Splines(12), Free(0.5, 2.4, 1.3)).minimize(TorqueSquares(), Duration(2.0))
    solution = problem.subject_to(*ends).solve()
    assert solution.result.success
    assert solution.result.iterations < 30
    t, _, v, a = solution.motion(41)
    exerted = 2.0 * a[:, 0] + 4.0 * np.sin(2.0 * t) + 0.5 * v[:, 0]
    np.testing.assert_allclose(solution.torques(41)[:, 0], exerted, atol=1e-6)
    costs = []
    for T in np.array([-0.01, 0.0, 0.01]) + solution.duration:
        given = MotionProblem(slide, Splines(12), float(T)).minimize(TorqueSquares()).subject_to(*ends)
        costs.append(given.solve().result.objective + 2.0 * T)
    assert costs[1] == pytest.approx(solution.result.objective, rel=1e-6)
    assert costs[1] < min(costs[0], costs[2])


def test_what_users_forces_must_say_about_time():
    def deaf(t, g, gd):  # drops the imaginary part
        return np.array([np.sin(3 * np.real(t)) * g[0], 0.0 * g[1]])

    def rigid(t, g, gd):
        return np.array([np.interp(t, [0.0, 5.0], [0.0, 1.0]) * g[0], 0.0 * g[1]])

    def silent(t, g, gd):
        return stated(t, g, gd)[:2]

    def wrong(t, g, gd):
        return *stated(t, g, gd)[:2], {"t": [1.0, 1.0]}

    for force, match in (
        (
            own(deaf),
            "force 'gust' of model 'askew' depends on time: at t = 0.1 s its derivative by time is .* and 0, 0",
        ),
        (own(rigid), "does not take complex t"),
        (own(blows, silent), "partials say nothing about the derivative by time"),
        (own(blows, wrong), "depends on time: at t = 0.1 s .* and 1, 1 as stated"),
    ):
        with pytest.raises(mg.InputError, match=match):
            MotionProblem(spatial(force), Splines(4), Free(0.5, 2.0))
        MotionProblem(spatial(force), Splines(4), 0.8)  # a given duration needs none of it


def test_what_limits_of_forces_refuse():
    problem = MotionProblem(SPRUNG, Splines(4), 1.0, driven=["A"])
    for limit, match in (
        (Limits(mg.measures.Multiplier("C: point w"), 0, 1), "unknown constraint row 'C: point w'"),
        (Limits(mg.measures.Multiplier("C: point z"), 0, 1), "row 'C: point z' .* depends on other rows"),
        (Limits(mg.measures.Effort("y"), 0, 1), "unknown force 'y'"),
        (Limits(mg.measures.JointReaction("E"), 0, 1), "unknown joint 'E'"),
        (Limits(mg.measures.JointReaction("A", "axle"), 0, 1), "axes is 'axle'"),
        (Limits(mg.measures.Effort("x"), 0, 1, loads=PULL), "loads act on reactions alone"),
        (Limits(mg.measures.JointReaction("A"), 0, 1, loads=PULL[0]), "loads and ground are lists"),
    ):
        with pytest.raises(mg.MechgradError, match=match):
            problem.subject_to(limit)
    problem.minimize(TorqueSquares()).subject_to(Limits(mg.measures.JointReaction("A"), upper=9.0, loads=PULL))
    with pytest.raises(mg.InputError, match="name 2 different sets of loads"):
        problem.solve()


# ------------------------------------------------------------------------------------------------------------- Stewart
LEGS = [f"leg {k}" for k in range(6)]


def lifted(segments, clock, *more):
    """A platform of 21 coordinates and 15 closures on six driven legs, from rest to rest."""
    model = stewart()
    start = mg.assemble(model, dict.fromkeys(LEGS, 0.0)).q
    problem = MotionProblem(model, Splines(segments), clock, driven=LEGS, reference=start)
    problem.minimize(TorqueSquares(1e-4)).subject_to(
        At(0, [0.0] * 6, joints=LEGS), At(0, 0.0, "v", LEGS),
        At(1, [0.04, -0.03, 0.05, -0.02, 0.06, 0.01], joints=LEGS), At(1, 0.0, "v", LEGS), *more,
    )  # fmt: skip
    return problem


@pytest.mark.parametrize("clock", ["given", "free"])
def test_derivatives_of_a_stewart_platform(clock):
    """Jacobian and Hessian along random directions, which all unknowns take part in."""
    limits = ReactionLimits("ball 3", force=30.0), Limits(mg.measures.JointReaction("foot 2", "parent"), -90, 90)
    problem = lifted(2, CLOCKS[clock], *limits)
    problem._check = lambda requirements: None  # two segments are too few for all equations
    t = problem.transcription()
    rng = np.random.default_rng(1)
    x = problem.guess() + rng.normal(0, 0.1, t.n)
    y = rng.uniform(0.5, 1.5, t.m)

    def gradient(z):
        J = dense(t.jacobian_structure, t.jacobian(z), (t.m, t.n))
        return 2.0 * t.gradient(z) + J.T @ y

    J = dense(t.jacobian_structure, t.jacobian(x), (t.m, t.n))
    H = dense(t.hessian_structure, t.hessian(x, 2.0, y), (t.n, t.n))
    H = H + np.tril(H, -1).T
    D = along(t.n, 3)
    for exact, function in ((J @ D, t.values), (t.gradient(x) @ D, t.objective), (H @ D, gradient)):
        found = differences(function, x, D)
        size = np.max(np.abs(found))
        assert size > 1e-3
        assert np.max(np.abs(exact - found)) < 1e-9 * size


@pytest.mark.slow
def test_a_stewart_platform_is_lifted_with_a_weak_ball():
    """What the legs push is what inverse dynamics of the legs' motion says, and the limit in a ball that is cut holds
    between the instants where it is enforced, recomputed by `joint_reactions`."""
    model = stewart()

    def seen(solution, samples=49):
        _, q, v, a = solution.motion(samples)
        places = [model.v_names.index(leg) for leg in LEGS]
        at = [model.q_names.index(leg) for leg in LEGS]
        given = [dict(zip(LEGS, x[:, c].T, strict=True)) for x, c in ((q, at), (v, places), (a, places))]
        tau = mg.inverse_dynamics(model, *given, driven=LEGS, guess=q[0])
        forces = mg.joint_reactions(model, *given, driven=LEGS, guess=q[0], joints=["ball 3"]).force
        return tau, np.linalg.norm(forces, axis=-1).max()

    free = lifted(6, 0.4).solve()
    assert free.result.success
    tau, largest = seen(free)
    assert np.abs(tau).max() > 10
    np.testing.assert_allclose(free.torques(49), tau, atol=0.02 * np.abs(tau).max())
    limit = 0.93 * largest
    held = lifted(6, 0.4, ReactionLimits("ball 3", force=limit, per_segment=2)).solve(free)
    assert held.result.success
    assert held.result.objective > free.result.objective
    assert seen(held)[1] < 1.01 * limit
    assert held.residuals()["closures"] < 1e-3
