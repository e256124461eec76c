"""What cannot be asked of a motion is refused with a reason, before anything is solved."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import UnknownNameError
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
    MotionSolution,
    Periodic,
    PointLimits,
    PointPath,
    Points,
    PointVelocities,
    PowerSquares,
    ReactionLimits,
    Reactions,
    Splines,
    Stance,
    SwingTogether,
    TorqueLimits,
    TorqueSquares,
    UserConstraint,
    UserTerm,
    ZeroMomentPoint,
)

NAN, INF = np.nan, np.inf
HERE = (0.0, 0.0, 0.0)


def pendulum() -> mg.Model:
    base = double_pendulum()
    return mg.Model(base.name, base.bodies, base.joints, [*base.points, mg.Point("knee", "upper", (0, 0, -1.0))])


MODEL = pendulum()
FIRST, SECOND = MODEL.v_names
Q = Coordinates(MODEL)
CUTS = [CutForce("tip", "knee", "xz")]
GROUND = [Stance("lower", HERE)]
TRIANGLE = [(0, 0), (1, 0), (0, 1)]


def problem(segments=4, duration=1.0, **more) -> MotionProblem:
    return MotionProblem(MODEL, Splines(segments), duration, **more)


def line(xi):
    return np.outer(xi, (1.0, 2.0, 3.0))


# ------------------------------------------------------------------------------------------------------- constraints
CROSS = "the limits cross"
CONSTRAINTS = [
    # limits of joints and torques
    (TorqueLimits(1, -1), rf"torque limits: tau\({FIRST}\) between 1\.0 and -1\.0; {CROSS}"),
    (TorqueLimits(-1, (1, -2)), rf"tau\({SECOND}\) between -1\.0 and -2\.0; {CROSS}"),
    (TorqueLimits(NAN, 1), "between nan and 1"),
    (TorqueLimits((-1, -1, -1), 1), rf"bounds have shape \(3,\); give a number, 2 numbers \(tau\({FIRST}\), tau"),
    (TorqueLimits(np.zeros((4, 2)), 1), r"bounds have shape \(4, 2\); .* or \(5, 2\)"),
    (TorqueLimits(-1, 1, per_segment=0), r"torque limits: per_segment is 0; give 1, 2, \.\.\."),
    (TorqueLimits(-1, 1, per_segment=1.5), r"per_segment is 1\.5"),
    (TorqueLimits(-1, 1, during=(0.8, 0.2)), r"during is \(0\.8, 0\.2\); need 0 <= start <= end <= 1"),
    (TorqueLimits(-1, 1, during=(0, 1.2)), "need 0 <= start <= end <= 1"),
    (TorqueLimits(-1, 1, during=(-0.1, 1)), "need 0 <= start <= end <= 1"),
    (TorqueLimits(-1, 1, during=(NAN, 1)), "need 0 <= start <= end <= 1"),
    (TorqueLimits(-1, 1, during=(0.3, 0.4)), r"no instant of the grid lies between xi = 0\.3 and 0\.4\. Raise per_seg"),
    (TorqueLimits(INF, INF), CROSS),
    (TorqueLimits(-1, 1, joints=[]), "name at least one coordinate, each once"),
    (TorqueLimits(-1, 1, joints=[FIRST, FIRST]), "each once"),
    (TorqueLimits("low", 1), "bounds must be numbers; one is 'low'"),
    (TorqueLimits(-1, 1, during=0.5), r"during is 0\.5; give \(start, end\)"),
    (TorqueLimits(-1, 1, loads=mg.Load("lower")), "loads and ground are lists"),
    (Periodic(offset=NAN), "offset has shape"),
    (Periodic(sign=0), "sign must be 1 or -1"),
    (Periodic(levels="qq"), "each once"),
    (Periodic(partner=[0.5, 1.2]), "partner must name each"),
    (KeepOut("tip", (0, NAN, 0), 0.1), "keeps out"),
    (KeepOut("tip", (0, 0, 0), 0.1, axis=(0, 1)), "keeps out"),
    (Limits(mg.measures.Distance("tip", "knee")), "give a lower or an upper bound"),
    (Limits("tip", 0, 1), "Limits needs a measure first"),
    (Limits(mg.measures.Offset("tip", "knee", (0, 0, 1)), 0, 1, xi=1.2), "need 0 <= xi <= 1"),
    (DistanceLimits("tip", "knee"), "one of them a limit"),
    (DistanceLimits("tip", "tip", 0.1), "two different points"),
    (Coincident("tip", "tip"), "always at itself"),
    (PointLimits("lower.spin", -1, 1), "is an angular velocity"),
    (UserConstraint(lambda q: q, [Coordinates(MODEL)]), "give a lower or an upper bound"),
    (UserConstraint(lambda q: q, [], 0, 1), "inputs must be a list of measures"),
    (JointLimits(1, -1), rf"limits of q: q\({FIRST}\) between 1\.0 and -1\.0; {CROSS}"),
    (JointLimits(1, -1, level="v", joints=[SECOND]), rf"limits of v: v\({SECOND}\) between"),
    (JointLimits(NAN, 1), CROSS),
    (JointLimits(-1, 1, level="w"), "JointLimits: level is 'w'; choose 'q', 'v' or 'a'"),
    (JointLimits(-1, 1, level="j"), "level is 'j'"),
    (JointLimits((0, 0, 0), 1), r"bounds have shape \(3,\)"),
    (JointLimits(-1, 1, during=(0.3, 0.4)), r"JointLimits: no instant of the grid"),
    # one instant
    (At(1.5, 0.0), r"At: level 'q' at xi = 1\.5; choose 'q', 'v' or 'a' and 0 <= xi <= 1"),
    (At(-0.1, 0.0), "0 <= xi <= 1"),
    (At(NAN, 0.0), "0 <= xi <= 1"),
    (At(0, 0.0, "x"), "At: level 'x'"),
    (At(0, NAN), "q at xi = 0: nan is not finite"),
    (At(0.5, (0, INF), "v"), r"v at xi = 0\.5: \(0, inf\) is not finite"),
    (At(0, (1, 2, 3)), r"q at xi = 0: bounds have shape \(3,\)"),
    # both ends
    (Periodic([0, 0]), "Periodic: partner must name each of the 2 coordinates once"),
    (Periodic([0, 1, 2]), "partner must name"),
    (Periodic([1, 2]), "partner must name"),
    (Periodic(levels="qx"), "Periodic: level is 'x'"),
    # reactions
    (ReactionLimits(FIRST), f"ReactionLimits of '{FIRST}': give force, couple or both"),
    (ReactionLimits(FIRST, force=-1), f"ReactionLimits of '{FIRST}': force is -1; give a positive number"),
    (ReactionLimits(FIRST, couple=0), "couple is 0; give a positive number"),
    (ReactionLimits(FIRST, force=NAN), "force is nan"),
    (ReactionLimits(FIRST, force=INF), "force is inf"),
    (ReactionLimits(FIRST, 1.0, during=(0.3, 0.4)), "ReactionLimits: no instant"),
    # points
    (PointLimits("tip", 1, -1), rf"position of tip: tip\.x between 1\.0 and -1\.0; {CROSS}"),
    (PointLimits("tip", (0, 0), 1), r"bounds have shape \(2,\); give a number, 3 numbers \(tip\.x, tip\.y, tip\.z\)"),
    (PointLimits("tip", -1, 1, xi=2), r"xi must be numbers in \[0, 1\]"),
    (PointPath("tip", lambda xi: line(xi)[:, :2]), r"path of tip: the path returned shape \(5, 2\); \(5, 3\) finite"),
    (PointPath("tip", lambda xi: line(xi) * NAN), "finite numbers are needed"),
    (PointPath("tip", line, axes="w"), "path of tip: axes is 'w'; give some of 'xyz'"),
    (PointPath("tip", line, axes=""), "axes is ''"),
    (PointPath("tip", line, axes="xx"), "axes is 'xx'; give some of 'xyz', each once"),
    (PointPath("tip", line, -0.1), r"path of tip: tolerance is -0\.1; it must be finite and not negative \[m\]"),
    (PointPath("tip", line, NAN), "tolerance is nan"),
    (PointPath("tip", line, during=(0.3, 0.4)), "path of tip: no instant"),
    (KeepOut("tip", HERE, 0), "tip keeps out: give a centre .* a positive radius"),
    (KeepOut("tip", HERE, -1), "positive radius"),
    (KeepOut("tip", HERE, NAN), "positive radius"),
    (KeepOut("tip", (0, 0), 1), r"give a centre \(3,\)"),
    (KeepOut("tip", HERE, 1, axis=HERE), "an axis that is not zero"),
    (DistanceLimits("tip", "knee", 2, 1), "distance of tip and knee: between 2 and 1; need 0 <= lower <= upper"),
    (DistanceLimits("tip", "knee", -1), "need 0 <= lower <= upper"),
    (DistanceLimits("tip", "knee", NAN, 1), "need 0 <= lower <= upper"),
    (Coincident("tip", "knee", "u"), "tip at knee: axes is 'u'"),
    (SwingTogether(("tip", "knee"), ("knee", "tip"), HERE), r"direction is \(0\.0, 0\.0, 0\.0\); give a vector"),
    (SwingTogether(("tip", "knee"), ("knee", "tip"), (0, 1)), "give a vector that is not zero"),
    (Contact("tip", (0, 0)), r"contact of tip: place is \(0, 0\); give three numbers \[m\]"),
    (Contact("tip", (0, 0, NAN)), "give three numbers"),
    (Contact("tip", HERE, axes="q"), "contact of tip: axes is 'q'"),
    (Contact("tip", HERE, velocity="always"), "velocity is 'always'; choose one of 'both', 'start', 'end', 'none'"),
    (Contact("tip", HERE, start=0.5, end=0.2), r"contact of tip: during is \(0\.5, 0\.2\)"),
    (Contact("tip", HERE, start=0.3, end=0.4), "no instant of the grid"),
    # functions
    (UserConstraint(lambda q: np.sum(q), [Q]), r"'user constraint' returned shape \(\) for 2 samples; it must return"),
    (UserConstraint(lambda q: q[:1], [Q], label="mine"), r"'mine' returned shape \(1, 2\) for 2 samples"),
    (UserConstraint(lambda q: q[:, :, None], [Q]), r"one row per sample"),
    (UserConstraint(lambda q: q, [Q], 2, 1), rf"user constraint\[0\] between 2\.0 and 1\.0; {CROSS}"),
    (UserConstraint(lambda q: q, [Q], (0, 0, 0), 1), r"bounds have shape \(3,\)"),
    (UserConstraint(lambda q: q, [Q], 0, 1, during=(0.3, 0.4), label="mine"), "mine: no instant"),
]


@pytest.mark.parametrize(("constraint", "match"), CONSTRAINTS, ids=[f"{type(c).__name__}-{i}" for i, (c, _) in
                                                                      enumerate(CONSTRAINTS)])  # fmt: skip
def test_constraints_that_cannot_be(constraint, match):
    with pytest.raises(mg.InputError, match=match):
        problem().subject_to(constraint).transcription()


UNKNOWN = [
    (TorqueLimits(-1, 1, joints=["hip"]), "joint coordinate 'hip'"),
    (JointLimits(-1, 1, joints=["hip"]), "joint coordinate 'hip'"),
    (At(0, 0.0, joints=["hip"]), "joint coordinate 'hip'"),
    (ReactionLimits("hip", 1.0), "joint 'hip'"),
    (PointLimits("toe", -1, 1), "marker 'toe'"),
    (PointPath("toe", line), "marker 'toe'"),
    (KeepOut("toe", HERE, 1.0), "marker 'toe'"),
    (DistanceLimits("tip", "toe", 0.1), "marker 'toe'"),
    (Coincident("toe", "tip"), "marker 'toe'"),
    (Contact("toe", HERE), "marker 'toe'"),
    (SwingTogether(("tip", "toe"), ("tip", "knee"), (1, 0, 0)), "marker 'toe'"),
    (TorqueLimits(-1, 1, ground=[Stance("foot", HERE)]), "body 'foot'"),
    (GroundFriction([Stance("foot", HERE)]), "body 'foot'"),
    (ZeroMomentPoint(TRIANGLE, [Stance("foot", HERE)]), "body 'foot'"),
    (TorqueSquares(joints=["hip"]), "joint coordinate 'hip'"),
    (JerkSquares(joints=["hip"]), "joint coordinate 'hip'"),
    (PowerSquares(joints=["hip"]), "joint coordinate 'hip'"),
    (Energy(joints=["hip"]), "joint coordinate 'hip'"),
    (TorqueSquares(ground=[Stance("foot", HERE)]), "body 'foot'"),
]


@pytest.mark.parametrize(("part", "match"), UNKNOWN, ids=[f"{type(c).__name__}-{i}" for i, (c, _) in
                                                          enumerate(UNKNOWN)])  # fmt: skip
def test_unknown_names(part, match):
    """Told at once, with the names there are."""
    add = problem().minimize if hasattr(part, "integral") else problem().subject_to
    with pytest.raises(UnknownNameError, match=rf"model 'double pendulum': unknown {match}\..* Known: "):
        add(part)


# ------------------------------------------------------------------------------------------------------------- terms
TERMS = [
    (TorqueSquares(NAN), "TorqueSquares: weight is nan; give a finite number"),
    (JerkSquares(INF), "JerkSquares: weight is inf"),
    (PowerSquares(NAN), "PowerSquares: weight is nan"),
    (Energy(-INF), "Energy: weight is -inf"),
    (UserTerm(lambda q: q, [Q], NAN, label="mine"), "mine: weight is nan"),
    (TorqueSquares(scale=0), r"TorqueSquares: scale has shape \(\); give a positive finite number or 2 of them"),
    (TorqueSquares(scale=(1, -1)), "give a positive finite number"),
    (TorqueSquares(scale=(1, 2, 3)), r"scale has shape \(3,\); give a positive finite number or 2 of them"),
    (TorqueSquares(scale=(1, 2), joints=[FIRST]), "or 1 of them"),
    (JerkSquares(scale=NAN), "JerkSquares: scale"),
    (TorqueSquares(per_segment=0), "TorqueSquares: per_segment is 0"),
    (JerkSquares(per_segment=-1), "JerkSquares: per_segment is -1"),
    (PowerSquares(per_segment=0.5), r"PowerSquares: per_segment is 0\.5"),
    (Energy(ground=GROUND), "Energy are of drives in the air; use a UserTerm"),
    (PowerSquares(ground=GROUND), "drives in the air"),
    (ForceSquares(), r"ForceSquares: the problem has no cut joints; give MotionProblem\(\.\.\., cuts="),
    (UserTerm(lambda q: np.sum(q), [Q]), r"'user term' returned shape \(\) for 2 samples"),
    (Duration(), r"the duration is given; make it Free\(lower, upper\) to minimise it"),
    (3, r"3 cannot be minimised; give Duration, TorqueSquares, \.\.\. or a UserTerm"),
    (At(0, 0.0), "cannot be minimised"),
]


@pytest.mark.parametrize(("term", "match"), TERMS, ids=[f"{type(c).__name__}-{i}" for i, (c, _) in
                                                        enumerate(TERMS)])  # fmt: skip
def test_terms_that_cannot_be(term, match):
    with pytest.raises(mg.InputError, match=match):
        problem().minimize(term)


@pytest.mark.parametrize("smoothing", [0.0, -1.0, NAN])
def test_energy_needs_a_smoothing(smoothing):
    with pytest.raises(mg.InputError, match=rf"Energy: smoothing is {smoothing}; give a positive power \[W\]"):
        Energy(smoothing=smoothing)


@pytest.mark.parametrize("function", [np.abs, lambda q: q.real**2, lambda q: np.linalg.norm(q, axis=1)])
def test_functions_must_carry_the_complex_step(function):
    for ask in (UserConstraint(function, [Q], 0, 1), UserTerm(function, [Q])):
        asked = problem()
        (asked.minimize if isinstance(ask, UserTerm) else asked.subject_to)(ask)
        with pytest.raises(mg.InputError, match=r"drops the imaginary part of its inputs \(np\.abs"):
            asked.solve()


# ----------------------------------------------------------------------------------------------------------- problem
@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: problem(duration=0.0), r"duration is 0\.0; it must be positive \[s\], or Free\(lower, upper\)"),
        (lambda: problem(duration=NAN), "duration is nan"),
        (lambda: problem(duration=INF), "duration is inf"),
        (lambda: Free(0.0, 1.0), r"duration between 0\.0 and 1\.0 s: need 0 < lower < upper"),
        (lambda: Free(0.5, INF), "need 0 < lower < upper"),
        (lambda: Free(NAN, 1.0), "need 0 < lower < upper"),
        (lambda: Free(0.5, 1.0, 2.0), r"the guess 2\.0 s of the duration is not between 0\.5 and 1\.0 s"),
        (lambda: Free(0.5, 1.0, NAN), "the guess nan s"),
        (lambda: FreeNumber("upper.mass", 0.5, INF), "'upper.mass' between 0.5 and inf: need finite bounds"),
        (lambda: FreeNumber("upper.mass", 1.0, 1.0), "need finite bounds, lower < upper"),
        (lambda: Splines(0), "segments is 0; a spline needs at least one"),
        (lambda: Splines(2.5), r"segments is 2\.5"),
        (lambda: Splines(4, 4), r"degree is 4; choose 3 \(cubic\) or 5 \(quintic\)"),
        (lambda: Splines(4, 3, "open"), "knots is 'open'; choose 'uniform' or 'clamped'"),
        (lambda: CutForce("tip", "knee", "w"), "axes of the cut at 'tip' are 'w'; give some of 'xyz', each once"),
        (lambda: CutForce("tip", "knee", "xx"), "each once"),
        (lambda: CutForce("tip", "knee", ""), "each once"),
        (lambda: Coordinates(MODEL, "x"), r"level is 'x'; choose 'q', 'v', 'a' or 'j' \(jerk\)"),
        (lambda: Points(MODEL, "tip"), r"markers is the string 'tip'; give a list of names: \['tip'\]"),
        (lambda: PointVelocities(MODEL, "tip"), "give a list of names"),
        (lambda: Reactions(MODEL, FIRST), "give a list of names"),
        (lambda: problem().subject_to(3), "3 is not a constraint on a motion"),
        (lambda: problem().subject_to([At(0, 0.0)]), "is not a constraint on a motion"),
        (lambda: problem().subject_to(TorqueSquares()), "is not a constraint on a motion"),
        (lambda: MotionProblem(mg.Model("rock", [mg.Body("b", 1.0)], [mg.Fixed("j", "ground", "b")]), Splines(4), 1.0),
         "model 'rock' cannot move"),
        (lambda: Stance("foot", (0, 0)), r"the place of 'foot' on the ground must be three numbers \[m\]; it is"),
        (lambda: Stance("foot", (0, 0, NAN)), "must be three numbers"),
        (lambda: Stance("foot", HERE, 0.5, 0.2), r"'foot' stands from xi = 0\.5 to 0\.2; need 0 <= start < end <= 1"),
        (lambda: Stance("foot", HERE, 0.5, 0.5), "need 0 <= start < end"),
        (lambda: Stance("foot", HERE, -0.1, 0.5), "need 0 <= start < end"),
        (lambda: Stance("foot", HERE, 0.0, 1.1), "need 0 <= start < end"),
    ],
)  # fmt: skip
def test_problems_that_cannot_be(make, match):
    with pytest.raises(mg.InputError, match=match):
        make()


def test_unknown_parts_of_a_problem():
    with pytest.raises(UnknownNameError, match="unknown point of a cut 'toe'"):
        problem(cuts=[CutForce("tip", "toe")])
    with pytest.raises(UnknownNameError, match=r"path 'foot\.mass': unknown name 'foot'"):
        problem(numbers=[FreeNumber("foot.mass", 0.5, 1.0)])
    for make in (
        lambda: Coordinates(MODEL, "q", ["hip"]),
        lambda: Points(MODEL, ["toe"]),
        lambda: Reactions(MODEL, ["hip"]),
    ):
        with pytest.raises(UnknownNameError, match=r"unknown (joint coordinate|marker|joint) '(hip|toe)'"):
            make()


def test_demands_that_contradict_each_other():
    for both in (
        (At(0, 0.5), JointLimits(-0.1, 0.1)),
        (JointLimits(-0.1, 0.1), At(0, 0.5)),
        (At(0.5, 0.5), At(0.5, 0.6)),
        (At(1, 0.0, "v"), JointLimits(0.1, 0.2, [SECOND], level="v", during=(0.8, 1.0))),
        (JointLimits(-1.0, 0.0, per_segment=2), JointLimits(0.1, 1.0)),
    ):
        with pytest.raises(mg.InputError, match=r"is demanded between .* and between .*: both cannot be"):
            problem().subject_to(*both).program()
    problem().subject_to(At(0, 0.5, joints=[FIRST]), JointLimits(-0.1, 0.1, [SECOND]), At(0, 0.0, "v")).program()
    problem().subject_to(
        At(0, 0.1), JointLimits(-0.1, 0.1), At(1, 0.5, "v"), JointLimits(0.5, 1.0, level="v")
    ).program()


def test_too_many_equations():
    """Seven control points of two joints are not enough for eight instants."""
    asked = problem().subject_to(*(At(xi, 0.1) for xi in np.linspace(0, 1, 8)))
    with pytest.raises(mg.InputError, match=r"16 equations for 14 unknowns: the spline is too coarse .* more segments"):
        asked.transcription()
    with pytest.raises(mg.InputError, match="too coarse"):
        asked.solve()
    problem(5).subject_to(*(At(xi, 0.1) for xi in np.linspace(0, 1, 8))).transcription()


def test_what_cuts_rule_out():
    with pytest.raises(mg.InputError, match="ForceSquares: weight is inf"):
        problem(cuts=CUTS).minimize(ForceSquares(INF))


# ------------------------------------------------------------------------------------------------------ loads, starts
@pytest.mark.parametrize(
    ("load", "match"),
    [
        (LoadSchedule("upper", force=lambda xi: line(xi)[:, :2]), r"the force on 'upper' has shape \(5, 2\); a sched"),
        (LoadSchedule("upper", torque=lambda xi: line(xi)[1:]), r"the torque on 'upper' has shape \(4, 3\)"),
        (LoadSchedule("upper", force=(1.0, 2.0)), r"has shape \(2,\)"),
        (LoadSchedule("upper", force=lambda xi: line(xi) * NAN), r"must give \(5, 3\) finite numbers for 5 instants"),
        (LoadSchedule("upper", force=line, point="tip"), "point 'tip' belongs to body 'lower'"),
        (LoadSchedule("upper", force=line, axes="sky"), "axes is 'sky'"),
        (LoadSchedule("foot", force=line), r"unknown body 'foot'"),
        (mg.Load("upper", force=np.zeros((7, 3))), r"force has shape \(7, 3\); it must be \(3,\) or \(5, 3\)"),
        (mg.Load("foot"), "unknown body 'foot'"),
    ],
)  # fmt: skip
def test_loads_that_cannot_be(load, match):
    for ask in (
        TorqueLimits(-1, 1, loads=[load]),
        ReactionLimits(FIRST, 1.0, loads=[load]),
        TorqueSquares(loads=[load]),
    ):
        asked = problem()
        (asked.minimize if isinstance(ask, TorqueSquares) else asked.subject_to)(ask)
        with pytest.raises((mg.InputError, UnknownNameError), match=match):
            asked.solve()


def test_starts_that_do_not_fit():
    asked = problem().minimize(TorqueSquares()).subject_to(At(0, 0.1))
    still = MotionSolution(MODEL, Splines(4), np.zeros((7, 2)), 1.0, None)
    with pytest.raises(mg.InputError, match=r"x0: shape \(3,\); the program has 14 variables"):
        asked.solve(np.zeros(3))
    with pytest.raises(mg.InputError, match=r"x0: P0\(.*\) .* is nan"):
        asked.solve(np.full(14, NAN))
    with pytest.raises(mg.InputError, match=r"with other coordinates or cut joints"):
        problem(cuts=CUTS).minimize(TorqueSquares()).solve(still)
    with pytest.raises(UnknownNameError, match="unknown solver 'best'"):
        asked.solve(solver="best")
    with pytest.raises(mg.InputError, match="hessian = 'none'; choose auto, exact, gauss-newton or lbfgs"):
        asked.solve(hessian="none")
    with pytest.raises(mg.InputError, match="tolerance 0; give positive numbers"):
        asked.feasible(tolerance=0)


def test_pictures_and_samples_that_cannot_be():
    still = MotionSolution(MODEL, Splines(4), np.zeros((7, 2)), 1.0, None)
    for ask in (still.motion, still.torques, still.times, still.cut_forces, still.reactions):
        with pytest.raises(mg.InputError, match="samples is 1; give a whole number, at least 2"):
            ask(1)
    with pytest.raises(mg.InputError, match="segments is empty; give pairs of marker names to join"):
        still.animate([])
    with pytest.raises(UnknownNameError, match="unknown marker 'toe'"):
        still.animate([("tip", "toe")])
    with pytest.raises(mg.InputError, match=r"nobody stands at xi = 0\.5"):
        still.ground_reactions([Stance("lower", HERE, 0.0, 0.5)], 5)
    with pytest.raises(UnknownNameError, match="unknown body 'foot'"):
        still.torques(ground=[Stance("foot", HERE)])
