"""Gradients of motions: formulation x scheme x method x parameter kind x mechanism, against complex steps through the
same simulation."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "dynamics"))
import gradient_mechanisms as mechanisms
import row_values as plain
from support.random_trees import random_tree

import mechgrad as mg
from mechgrad.gallery import arm7

TIGHT = {"tolerance": 1e-13}
STEP, DURATION = 2e-3, 0.03


def squares(x):
    return (x * x).sum(-1)


def objectives(marker, row=None):
    found = {
        "path": mg.Integral(squares, mg.measures.PointPosition(marker)),
        "speed": mg.AtEnd(mg.measures.PointVelocity(marker)),
        "shake": mg.Integral(squares, mg.measures.PointAcceleration(marker))
        + 0.1 * mg.AtEnd(mg.measures.KineticEnergy()),
    }
    if row is not None:
        found["push"] = mg.AtTime(DURATION / 2 - STEP / 2, lambda x: x**2, mg.measures.Multiplier(row))
    return found


FIVE_BAR = (
    "S1.stiffness", "S1.damping", "S2.free_length", "A1.mass", "A1.com.x", "12.com.y", "23.inertia.zz", "L_A1",
    "2.origin.x", "B.origin.x", "B.child_origin.x", "P2.position.x", "gravity.x", "motor.torque.values.1",
    "rub.coulomb", "start.position.A", "start.velocity.1",
)  # fmt: skip
SLIDER_CRANK = (
    "crank.mass", "rod.com.*", "rod.inertia.xy", "slider.mass", "crank axis.origin.y", "crank axis.axis.y",
    "B.origin.z", "C.child_origin.x", "C.axis2.x", "slide.origin.z", "slide.axis.z", "D.position.x", "S1.*",
    "gravity.z", "start.position.*", "start.velocity.*",
)  # fmt: skip


def known(model, wrt):
    """The patterns that name something of the model."""
    paths = [p.path for p in model.parameters()]
    return [w for w in wrt if w.startswith("start.") or "*" in w or w in paths]


LOOPS = {
    "five-bar": (mechanisms.driven_five_bar, FIVE_BAR, "P2", "B: point x"),
    "redundant": (mechanisms.redundant_five_bar, [p for p in FIVE_BAR if not p.startswith("B.")], "P2", None),
    "slider-crank": (mechanisms.spatial_slider_crank, SLIDER_CRANK, "D", None),
    "ball in the tree": (lambda: mechanisms.spatial_slider_crank("slide"), SLIDER_CRANK, "D", None),
}
FORMULATIONS = {
    "ali3p": mg.formulations.ALI3P(**TIGHT),
    "ali3p, one projection": mg.formulations.ALI3P(projection="penalty", scaling=1e-4, **TIGHT),
    "ali3p, velocities only": mg.formulations.ALI3P(accelerations=False, **TIGHT),
    "ali3p, conditional": mg.formulations.ALI3P(project_above=1e-3, **TIGHT),
    "index1": mg.formulations.Index1(**TIGHT),
    "index1, drifting": mg.formulations.Index1(projection=False, **TIGHT),
    "penalty": mg.formulations.Penalty(**TIGHT),
}
SCHEMES = ("trapezoidal", "newmark", "hht", "generalized-alpha")


def agree(found, exact, tolerance):
    """Every entry beside the largest of its row, or a thousandth of the largest of all (speeds across a plane)."""
    size = np.abs(exact.array).max(axis=1, keepdims=True)
    size = np.maximum(size, 1e-3 * size.max())
    assert size.min() > 0.0
    error = np.abs(found.array - exact.array) / size
    at = np.unravel_index(np.argmax(error), error.shape)
    where = f"{found.objectives[at[0]]} by {found.parameters[at[1]]}"
    assert error.max() <= tolerance, f"{where}: {found.array[at]} instead of {exact.array[at]}"


def influential(exact):
    """Every parameter moves some objective."""
    still = [p for p, column in zip(exact.parameters, exact.array.T, strict=True) if not np.abs(column).max() > 1e-12]
    assert not still


def check(model, start, wrt, goals, tolerance=1e-9, all_act=True, **options):
    begin = mg.state(model, *start) if isinstance(start, tuple) else start
    motion = mg.simulate(model, begin, duration=DURATION, step=STEP, **options)
    exact = mg.gradient(motion, goals, wrt, method="complex")
    if all_act:
        influential(exact)
    for method in ("direct", "adjoint"):
        agree(mg.gradient(motion, goals, wrt, method=method), exact, tolerance)
    return motion, exact


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("mechanism", LOOPS)
def test_loops(mechanism, formulation):
    make, wrt, marker, row = LOOPS[mechanism]
    model, start = make()
    goals = objectives(marker, row if "index1" in formulation or formulation == "penalty" else None)
    # redundant rows that drift apart disagree, and what divides their difference is felt
    tolerance = 1e-6 if (mechanism, formulation) == ("redundant", "index1, drifting") else 1e-9
    # the matrix leaves out what positions do to second rates: slopes of complex steps are an iteration behind
    tolerance = (
        1e-8 if mechanism == "ball in the tree" and formulation in ("index1, drifting", "penalty") else tolerance
    )
    how = FORMULATIONS[formulation]
    check(model, start, known(model, wrt), goals, tolerance, formulation=how, scheme="trapezoidal")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("reference", ["origin", "com"])
def test_schemes_and_reference_points(scheme, reference):
    model, start = mechanisms.driven_five_bar()
    check(
        model,
        start,
        known(model, FIVE_BAR),
        objectives("P2"),
        formulation=mg.formulations.ALI3P(**TIGHT),
        scheme=scheme,
        reference=reference,
    )


def test_multipliers_of_index_3():
    """They are determined to the accuracy of positions divided by h^2."""
    model, start = mechanisms.driven_five_bar()
    goals = {"push": mg.AtEnd(lambda x: x**2, mg.measures.Multiplier("B: point x"))}
    check(
        model,
        start,
        known(model, FIVE_BAR),
        goals,
        1e-6,
        formulation=mg.formulations.ALI3P(**TIGHT),
        scheme="trapezoidal",
    )


def test_checkpoints():
    """A motion that reports few instants has the gradient of the one that reports all of them."""
    model, start = mechanisms.driven_five_bar()
    goals, wrt = {"end": mg.AtEnd(mg.measures.PointVelocity("P2"))}, known(model, FIVE_BAR)
    options = {
        "duration": 0.12,
        "step": STEP,
        "formulation": mg.formulations.ALI3P(**TIGHT),
        "scheme": "generalized-alpha",
    }
    whole, few = (mg.simulate(model, start, samples=samples, **options) for samples in (None, 6))
    assert len(few.t) == 6
    for method in ("direct", "adjoint"):
        agree(mg.gradient(few, goals, wrt, method=method), mg.gradient(whole, goals, wrt, method=method), 1e-9)


CONSTRAINED_KINDS = (
    "dot rule.value", "angle rule.*", "plane rule.*", "rope rule.*", "gear rule.*", "driver rule.*", "sum rule.*",
    "guided rule.*", "curve rule.*", "dot.mass", "U dot.direction.x", "up.direction.x", "rail.position.y",
    "e slide.origin.z", "along rail.direction.x", "aside.direction.x", "cam.position.x", "c.com.x", "start.position.*",
    "start.velocity.dot cross.angle1",
)  # fmt: skip


@pytest.mark.parametrize("formulation", ["ali3p", "index1", "penalty"])
def test_constraints(formulation):
    model, start = mechanisms.constrained()
    wrt = [p.path for p in model.parameters() if matches(p.path, CONSTRAINED_KINDS)]
    wrt += [w for w in CONSTRAINED_KINDS if w.startswith("start.")]
    goals = {
        "everywhere": mg.AtEnd(squares, mg.measures.PointVelocity("P dot")) + mg.AtEnd(mg.measures.KineticEnergy()),
        "late": mg.AtEnd(mg.measures.PotentialEnergy()),
        "push": mg.Integral(squares, mg.measures.PointAcceleration("P c")),
    }
    _, exact = check(
        model, start, wrt, goals, formulation=FORMULATIONS[formulation], scheme="trapezoidal", all_act=False
    )
    acts = np.abs(exact.array).max(axis=0) > 1e-12  # not so the knots of splines far from the motion
    for rule in {name.split(".")[0] for name in exact.parameters}:
        assert any(act for name, act in zip(exact.parameters, acts, strict=True) if name.startswith(rule)), rule


def matches(path, patterns):
    from fnmatch import fnmatchcase

    return any(fnmatchcase(path, pattern) for pattern in patterns)


def test_rolling():
    """Constraints of velocities."""
    from hard_mechanisms import rolling_disc

    model, _ = rolling_disc(0.3)
    rolling = mg.assemble(model, guess=model.integrate(model.neutral(), [0, 0, 0, 0, 0, 0.3]))
    v = mg.kinematics.solve_velocities(model, rolling.q, {"free.wy": 2.0})
    wrt = ["disc.mass", "disc.inertia.yy", "disc.com.x", "gravity.x"]
    goals = {
        "where": mg.AtEnd(mg.measures.PointPosition("disc.origin")),
        "energy": mg.AtEnd(mg.measures.KineticEnergy()),
    }
    for formulation in ("ali3p", "index1"):
        check(model, (rolling.q, v), wrt, goals, formulation=FORMULATIONS[formulation], scheme="trapezoidal")


TREES = {
    "forces": mechanisms.forced_tree,
    "random": lambda: tree_start(random_tree(5, 9, massless=0.0)),
    "DH arm": lambda: tree_start(arm7()),
}


def tree_start(model):
    rng = np.random.default_rng(2)
    q = np.asarray(model.integrate(model.neutral(), rng.uniform(-0.5, 0.5, model.n_v)))
    return model, (q, 0.5 * rng.normal(size=model.n_v))


def spread_over_kinds(model, limit=3):
    """Some parameters of every kind that the model has, and start values."""
    chosen = {}
    for p in model.parameters():
        chosen.setdefault(p.kind, []).append(p.path)
    return [path for paths in chosen.values() for path in paths[:: max(1, len(paths) // limit)][: limit + 1]]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    "formulation",
    [mg.formulations.SemiRecursive(**TIGHT), mg.formulations.FullyRecursive(tolerance=1e-14)],
    ids=["semi", "fully"],
)
def test_trees(tree, formulation):
    model, start = TREES[tree]()
    if tree == "forces" and isinstance(formulation, mg.formulations.FullyRecursive):
        # iteration without a matrix converges where no contact is stiff: gradients of a step are refused otherwise
        soft = [force for force in model.forces if not hasattr(force, "radius")]
        model = mg.Model(model.name, model.bodies, model.joints, model.points, model.vectors, forces=soft)
    wrt = spread_over_kinds(model)
    marker = f"{model.bodies[-1].name}.com"
    goals = objectives(marker) | {
        "energy": mg.Integral(mg.measures.KineticEnergy()) + mg.AtEnd(mg.measures.PotentialEnergy())
    }
    wrt += ["start.position.*", "start.velocity.*"]
    motion = mg.simulate(
        model, mg.state(model, *start), duration=0.01, step=1e-3, formulation=formulation, scheme="trapezoidal"
    )
    exact = mg.gradient(motion, goals, wrt, method="complex")
    moved = np.abs(exact.array).max(axis=0) > 1e-12
    assert moved.mean() > 0.6  # some numbers cannot matter: a fixed joint's, a spline far away
    for method in ("direct", "adjoint"):
        agree(mg.gradient(motion, goals, wrt, method=method), exact, 1e-9)


def test_every_kind_of_parameter_is_in_the_tables():
    kinds = {p.kind for model in (plain.everything(), random_tree(5, 9), arm7()) for p in model.parameters()}
    seen = {p.kind for make in TREES.values() for p in make()[0].parameters()}
    seen |= {p.kind for p in mechanisms.constrained()[0].parameters() if matches(p.path, CONSTRAINED_KINDS)}
    for make, wrt, _, _ in LOOPS.values():
        model = make()[0]
        seen |= {p.kind for p in model.parameters() if matches(p.path, known(model, wrt))}
    assert kinds <= seen, kinds - seen


def test_fast_slip_has_a_derivative():
    """Far from rolling the friction of a tyre is saturated: its derivative vanishes, it does not overflow."""
    up, axle = mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "wheel", (0, 1, 0))
    numbers = (2e5, 0.1, 1.1, 1.0, 0.9, 0.12, 0.14, 0.001)
    tyre = mg.forces.Tyre("tyre", "wheel.origin", "axle", 0.3, "ground.origin", "up", *numbers)
    wheel = mg.Body("wheel", 5.0, inertia=(0.1, 0.2, 0.1))
    model = mg.Model("spin", [wheel], [mg.Floating("free", "ground", "wheel")], vectors=[up, axle], forces=[tyre])
    low = np.array([0.29 * (name in ("free.z", "free.vz")) for name in model.v_names])
    v = np.array([300.0 * (name == "free.wy") for name in model.v_names])
    assert low.any()
    assert v.any()
    wrt = ["wheel.mass", "tyre.friction_x", "tyre.radius"]
    start = np.asarray(model.integrate(model.neutral(), low)), v
    check(model, start, wrt, {"where": mg.AtEnd(mg.measures.PointVelocity("wheel.origin"))}, scheme="rk4")
