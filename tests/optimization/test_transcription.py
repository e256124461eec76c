"""Jacobian and Hessian of every constraint and cost against differences, and their patterns: nothing missing, nothing
too much."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import double_pendulum
from mechgrad.optimization.motion import (
    At,
    Coincident,
    Contact,
    Coordinates,
    CutForce,
    DistanceLimits,
    Duration,
    Energy,
    ForceSquares,
    Free,
    FreeNumber,
    GroundFriction,
    JerkSquares,
    JointLimits,
    KeepOut,
    Limits,
    LoadSchedule,
    MotionProblem,
    Periodic,
    PointLimits,
    PointPath,
    Points,
    PowerSquares,
    ReactionLimits,
    Splines,
    Squares,
    Stance,
    SwingTogether,
    TorqueLimits,
    Torques,
    TorqueSquares,
    UserConstraint,
    UserTerm,
    ZeroMomentPoint,
)


def differences(f, x, directions=None, h=4e-3):
    """Central differences of eighth order along directions (n, k), all unknowns one by one if left out: about 1e-12 for
    functions as smooth as these."""
    weights = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    columns = []
    for step in h * (np.eye(x.size) if directions is None else directions).T:
        columns.append(sum(w * (f(x + k * step) - f(x - k * step)) for k, w in weights) / h)
    return np.stack(columns, axis=-1)


def along(n, count):
    """Random directions of length about one; a wrong or missing entry of a derivative shows in every one of them."""
    return np.random.default_rng(6).normal(0, 1, (n, count)) / np.sqrt(n) if count else np.eye(n)


def spatial_tree():
    """Seven joints, hinges and slides askew, two branches of different length: no accidental zeros."""
    rng = np.random.default_rng(7)

    def body(name):
        return mg.Body(name, rng.uniform(1, 2), rng.normal(0, 0.2, 3), np.diag(rng.uniform(0.1, 0.2, 3)) + 0.01)

    parents = ["ground", "b1", "b2", "b3", "b2", "b5", "b6"]
    joints = []
    for k, parent in enumerate(parents, start=1):
        kind = mg.Prismatic if k in (2, 6) else mg.Revolute
        joints.append(kind(f"j{k}", parent, f"b{k}", axis=rng.normal(size=3), origin=rng.normal(0, 0.3, 3)))
    points = [mg.Point("hand", "b4", rng.normal(0, 0.3, 3)), mg.Point("foot", "b7", rng.normal(0, 0.3, 3))]
    bodies = [body(f"b{k}") for k in range(1, 8)]
    return mg.Model("askew", bodies, joints, points, gravity=(0.3, -0.5, -9.81))


TREE, PLANE = spatial_tree(), double_pendulum()
LOADS = [mg.Load("b4", force=(3.0, 1.0, -5.0), point=(0.1, 0, -0.4))]
WIND = LoadSchedule("b7", force=lambda xi: np.outer(np.cos(3 * xi), (1.0, 2.0, -3.0)), torque=(0.1, 0.2, 0.3))
FEET = [Stance("b4", (0.3, 0.1, 0.0), 0.0, 0.7), Stance("b7", (-0.4, 0.3, 0.0), 0.3, 1.0)]
SQUARE = [(-1.0, -1.0), (1.0, -1.0), (1.2, 1.0), (-1.0, 1.3)]
NUMBERS = [FreeNumber("b5.mass", 0.5, 3), FreeNumber("j5.origin.y", -2, 2), FreeNumber("b2.com.z", -2, 2)]


def energy_of(q, v, tau):
    return np.sin(q[:, 0]) * v[:, 1] * tau[:, 2] + tau[:, 0] ** 2 * q[:, 1]


CONSTRAINTS = {
    "q": JointLimits(-1, 1, per_segment=2),
    "v": JointLimits(-1, 1, joints=["j2", "j7"], level="v"),
    "a": JointLimits(-1, 1, level="a", during=(0.2, 0.8), per_segment=3),
    "at": At(0.4, 0.2, "v"),
    "torques": TorqueLimits(-1, 1, loads=LOADS, per_segment=2),
    "some torques": TorqueLimits(-1, 1, joints=["j4", "j6"]),
    "torques, schedule": TorqueLimits(-1, 1, loads=[*LOADS, WIND]),
    "torques, ground": TorqueLimits(-1, 1, per_segment=2, ground=FEET, loads=[WIND]),
    "zero-moment point": ZeroMomentPoint(SQUARE, FEET, 0.02),
    "friction": GroundFriction(FEET),
    "reactions": ReactionLimits("j5", force=30, couple=20, loads=LOADS),
    "point": PointLimits("hand", -1, 1, per_segment=2),
    "point at": PointLimits("foot", -1, 1, xi=0.5),
    "path": PointPath("hand", lambda xi: np.outer(xi, (1, 2, 3)), 0.1, axes="xz"),
    "keep out": KeepOut("hand", (0.3, 0.2, 0.1), 0.4),
    "keep out of a cylinder": KeepOut("foot", (0.3, 0.2, 0.1), 0.4, axis=(1, 2, 0.5)),
    "distance": DistanceLimits("hand", "foot", 0.1, 2),
    "any measure: distance": Limits(mg.measures.Distance("hand", "foot"), 0.1, 2, per_segment=2),
    "any measure: position": Limits(mg.measures.PointPosition("hand"), -1, 1, xi=0.5),
    "any measure: velocity": Limits(mg.measures.PointVelocity("foot"), -1, 1),
    "any measure: acceleration": Limits(mg.measures.PointAcceleration("hand"), [-1, -2, -3], 3),
    "any measure: rate": Limits(mg.measures.JointVelocity("j3"), -1, 1),
    "any measure: energy": Limits(mg.measures.KineticEnergy(), upper=5.0),
    "coincident": Coincident("hand", "foot", axes="xz"),
    "swing": SwingTogether(("hand", "b4.origin"), ("foot", "b7.origin"), (1.0, 0.5, 0.2)),
    "contact": Contact("foot", (0.1, 0.2, 0.3), start=0.0, end=0.7),
    "periodic": Periodic(np.array([0, 1, 4, 3, 2, 5, 6]), [1, -1, 1, 1, 1, 1, 1], [0.1] + [0] * 6),
    "user": UserConstraint(energy_of, [Coordinates(TREE), Coordinates(TREE, "v"), Torques(TREE, LOADS)], 0, 1),
    "user and time": UserConstraint(
        lambda x, xi: x[:, 0] * x[:, 2] * np.exp(xi), [Points(TREE, ["hand"])], 0, 1, time=True
    ),
}
TERMS = {
    "torque squares": TorqueSquares(0.7, 1.5, loads=LOADS, per_segment=2),
    "some torque squares": TorqueSquares(0.7, [1, 2], joints=["j3", "j7"]),
    "effort on the ground": TorqueSquares(1e-2, 3.0, ground=FEET),
    "jerk": JerkSquares(1e-3, joints=["j1", "j4"]),
    "power": PowerSquares(1e-2, loads=[WIND]),
    "energy": Energy(0.5, smoothing=5.0, joints=["j2", "j3"]),
    "user": UserTerm(energy_of, [Coordinates(TREE), Coordinates(TREE, "v"), Torques(TREE, LOADS)], 0.1),
    "any measure": Squares(mg.measures.Offset("hand", "foot", (1, 2, 3)), 0.3, target=0.7, scale=2.0),
    "any measure, three numbers": Squares(mg.measures.PointAcceleration("hand"), 1e-3, [1, 2, 3], per_segment=2),
    "any measure, linear": UserTerm(lambda T: T, [mg.measures.KineticEnergy()], 0.2),
    "user, squared": UserTerm(lambda q: np.sin(q), [Coordinates(TREE, "q", ["j2", "j5"])], squared=True),
}
# Their curvature is by differences of gradients, which leave rounding where it vanishes.
DIFFERENCED = ("any measure: velocity", "any measure: acceleration", "any measure: energy")
CLOCKS = {"given": 0.8, "free": Free(0.5, 2.0, 1.3), "knots": Free(0.5, 2.0, 1.3, knots=True)}


def unknowns(problem, t, seed=0):
    """A random motion, on the ground where the ground must push."""
    rng = np.random.default_rng(seed)
    x = problem.guess()
    x[: t.grid.at_theta] = rng.normal(0, 0.3, t.grid.at_theta)
    x[t.grid.at_theta : t.grid.at_p] *= rng.uniform(0.8, 1.3, t.grid.clock.n)
    return x


def dense(structure, values, shape):
    out = np.zeros(shape)
    np.add.at(out, structure, values)
    return out


def check_constraints(problem, seed=0, directions=0):
    """Against differences by every unknown, or along some directions where evaluations are slow."""
    t = problem.transcription()
    x, D = unknowns(problem, t, seed), along(t.n, directions)
    rows, cols = t.jacobian_structure
    assert len({*zip(rows.tolist(), cols.tolist(), strict=True)}) == rows.size, "no entry stands twice"
    J = dense((rows, cols), t.jacobian(x), (t.m, t.n))
    numeric = differences(t.values, x, D)
    scale = np.max(np.abs(J @ D))
    assert scale > 1e-2
    assert np.max(np.abs(J @ D - numeric)) < 1e-9 * scale
    assert len(t.names) == len(t.labels) == t.m
    y = np.random.default_rng(1).uniform(0.5, 1.5, t.m)
    hrows, hcols = t.hessian_structure
    assert np.all(hrows >= hcols)
    assert len({*zip(hrows.tolist(), hcols.tolist(), strict=True)}) == hrows.size
    H = dense((hrows, hcols), t.hessian(x, 1.0, y), (t.n, t.n))
    H = H + np.tril(H, -1).T
    numeric = differences(lambda z: dense((rows, cols), t.jacobian(z), (t.m, t.n)).T @ y, x, D)
    scale = max(np.max(np.abs(numeric)), 1e-3)
    assert np.max(np.abs(H @ D - numeric)) < 1e-9 * scale + 1e-11
    return t, x, y


def filled(t, problem, cost=False):
    """Entries that are zero at three random motions: none should be stored."""
    zero_J = np.ones(t.jacobian_structure[0].size, bool)
    zero_H = np.ones(t.hessian_structure[0].size, bool)
    for seed in (3, 4, 5):
        x = unknowns(problem, t, seed)
        y = np.random.default_rng(seed).uniform(0.5, 1.5, t.m)
        zero_J &= t.jacobian(x) == 0
        H = t.hessian(x, 1.0, y)
        zero_H &= np.abs(H) < 1e-14 * np.max(np.abs(H), initial=0.0)
    return int(np.sum(zero_J)), int(np.sum(zero_H))


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name, clock):
    problem = MotionProblem(TREE, Splines(4 if name == "periodic" else 2), CLOCKS[clock]).subject_to(CONSTRAINTS[name])
    t, _, _ = check_constraints(problem)
    first, second = filled(t, problem)
    assert first == 0
    assert second == 0 or name in DIFFERENCED


# Twists of standing feet and users' functions are evaluated in real numbers; differences check them above.
REAL = ("torques, ground", "zero-moment point", "friction", "user", "user and time")


@pytest.mark.parametrize("name", [name for name in CONSTRAINTS if name not in REAL])
def test_jacobians_by_complex_step(name):
    """Of the values, with a given duration: exact to rounding."""
    problem = MotionProblem(TREE, Splines(2), CLOCKS["given"]).subject_to(CONSTRAINTS[name])
    t = problem.transcription()
    x, h = unknowns(problem, t), 1e-30
    J = dense(t.jacobian_structure, t.jacobian(x), (t.m, t.n))
    stepped = np.stack([t.values(x + 1j * h * e).imag / h for e in np.eye(t.n)], axis=1)
    assert np.max(np.abs(J)) > 1e-2
    np.testing.assert_allclose(J, stepped, atol=1e-12 * np.max(np.abs(J)))


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("name", TERMS)
def test_costs(name, clock):
    problem = MotionProblem(TREE, Splines(2), CLOCKS[clock]).minimize(TERMS[name])
    if clock != "given":
        problem.minimize(Duration(0.3))
    check_cost(problem, sparse=name != "any measure, linear")  # which is differenced, too


def check_cost(problem, tolerance=1e-9, sparse=True, directions=0):
    t = problem.transcription()
    x, D = unknowns(problem, t), along(t.n, directions)
    g = t.gradient(x)
    numeric = differences(t.objective, x, D)
    assert np.max(np.abs(g)) > 1e-3
    assert np.max(np.abs(g @ D - numeric)) < tolerance * np.max(np.abs(g @ D))
    H = dense(t.hessian_structure, t.hessian(x, 2.0, np.zeros(0)), (t.n, t.n)) / 2
    H = H + np.tril(H, -1).T
    numeric = differences(t.gradient, x, D)
    assert np.max(np.abs(H)) > 1e-3
    assert np.max(np.abs(H @ D - numeric)) < tolerance * np.max(np.abs(H @ D))
    if sparse and not problem.numbers:  # zeros of present numbers need not be zeros of others
        assert filled(t, problem)[1] == 0


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    "name",
    [
        "torques",
        "torques, ground",
        "reactions",
        "distance",
        "contact",
        "user",
        "zero-moment point",
        "any measure: distance",
        "any measure: acceleration",
        "any measure: energy",
    ],
)
def test_free_numbers_in_constraints(name, clock):
    problem = MotionProblem(TREE, Splines(2), CLOCKS[clock], NUMBERS).subject_to(CONSTRAINTS[name])
    check_constraints(problem, directions=8)


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("name", ["torque squares", "effort on the ground", "power", "user", "any measure"])
def test_free_numbers_in_costs(name, clock):
    problem = MotionProblem(TREE, Splines(2), CLOCKS[clock], NUMBERS).minimize(TERMS[name])
    check_cost(problem, directions=8)


@pytest.mark.parametrize("numbers", [(), NUMBERS])
@pytest.mark.parametrize("clock", CLOCKS)
def test_cut_joints(clock, numbers):
    """Torques under forces in cut joints, which are profiles behind the coordinates."""
    cuts = [CutForce("hand", "foot", axes="xz"), CutForce("foot", "hand", axes="y")]
    problem = MotionProblem(TREE, Splines(2), CLOCKS[clock], numbers, cuts)
    few = 8 if numbers else 0
    check_constraints(problem.subject_to(TorqueLimits(-1, 1, loads=LOADS), Coincident("hand", "foot")), directions=few)
    problem = MotionProblem(TREE, Splines(2), CLOCKS[clock], numbers, cuts)
    check_cost(problem.minimize(TorqueSquares(0.3), ForceSquares(0.1)), directions=few)


@pytest.mark.parametrize(("degree", "knots"), [(5, "uniform"), (3, "clamped"), (5, "clamped")])
def test_other_splines(degree, knots):
    for clock in CLOCKS.values():
        problem = MotionProblem(PLANE, Splines(3, degree, knots), clock).subject_to(TorqueLimits(-1, 1, per_segment=2))
        t, _, _ = check_constraints(problem)
        assert filled(t, problem) == (0, 0)
        check_cost(MotionProblem(PLANE, Splines(3, degree, knots), clock).minimize(JerkSquares(1e-3), TorqueSquares()))


def test_what_is_asked_of_one_measure_is_evaluated_once():
    problem = MotionProblem(TREE, Splines(4), 1.0)
    problem.minimize(TorqueSquares(loads=LOADS)).subject_to(
        TorqueLimits(-1, 1, joints=["j1"], loads=LOADS), TorqueLimits(-2, 2, joints=["j3"], loads=LOADS)
    )
    assert len(problem.transcription().bundles) == 1


def test_gauss_newton_is_the_part_without_curvature():
    """Positive semidefinite, and equal to the Hessian of squares of a linear measure."""
    problem = MotionProblem(TREE, Splines(3), 1.0).minimize(TorqueSquares())
    t = problem.transcription()
    x = unknowns(problem, t)
    G = dense(t.hessian_structure, t.gauss_newton(x, 1.0, np.zeros(0)), (t.n, t.n))
    G = G + np.tril(G, -1).T
    values = np.linalg.eigvalsh(G)
    assert values[0] > -1e-12 * values[-1]
    y = lambda z: Torques(TREE).values(t.bundles[0].grid.moment(z).samples).ravel()  # noqa: E731
    J = differences(y, x)
    w = np.repeat(t.bundles[0].grid.moment(x).time.omega, 7)
    np.testing.assert_allclose(G, 2 * J.T @ (w[:, None] * J), atol=1e-9 * values[-1])
    problem = MotionProblem(TREE, Splines(3), 1.0).minimize(JerkSquares())
    t = problem.transcription()
    np.testing.assert_allclose(t.gauss_newton(x, 1.0, np.zeros(0)), t.hessian(x, 1.0, np.zeros(0)))


def test_the_integral_converges_to_the_integral():
    """Torque squares of a smooth motion: the trapezoidal rule on finer and finer samples, against a very fine one."""
    values = []
    for per_segment in (4, 8, 16, 64):
        problem = MotionProblem(PLANE, Splines(3), Free(0.5, 2.0, 1.3)).minimize(TorqueSquares(per_segment=per_segment))
        t = problem.transcription()
        values.append(t.objective(unknowns(problem, t)))
    errors = np.abs(np.array(values[:3]) - values[3])
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.3)


def test_jerk_of_a_cubic_is_integrated_exactly():
    problem = MotionProblem(PLANE, Splines(5), Free(0.5, 2.0, 1.3)).minimize(JerkSquares())
    finer = MotionProblem(PLANE, Splines(5), Free(0.5, 2.0, 1.3)).minimize(JerkSquares(per_segment=7))
    x = unknowns(problem, problem.transcription())
    assert problem.transcription().objective(x) == pytest.approx(finer.transcription().objective(x), rel=1e-12)


def test_integrals_do_not_change_when_segments_are_only_named_differently():
    """With equal lengths, free knots give the motion and the integrals of a free duration."""
    for term in TERMS.values():
        one = MotionProblem(TREE, Splines(3), Free(0.5, 2.0, 1.3)).minimize(term).transcription()
        other = MotionProblem(TREE, Splines(3), Free(0.5, 2.0, 1.3, knots=True)).minimize(term).transcription()
        x = np.random.default_rng(0).normal(0, 0.3, one.n)
        x[-1] = 1.2
        assert other.objective(np.concatenate([x[:-1], np.full(3, 0.4)])) == pytest.approx(one.objective(x), rel=1e-12)
