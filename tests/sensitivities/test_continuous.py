"""Continuous adjoints: they converge to the derivative of the computed motion, with the order that their rule has."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics.states import linearised
from mechgrad.errors import InputError, UnknownNameError
from mechgrad.gallery import five_bar, five_bar_start, slider_crank
from mechgrad.sensitivities.continuous.linearised_motion import constraint_slopes, mass_rate, states_of, turning
from mechgrad.sensitivities.continuous_gradient import adjoint_of, continuous_gradient
from mechgrad.sensitivities.motion_parameters import Parameters

TIGHT = 1e-13  # of Newton's iterations, so that discrete derivatives are those of converged steps
STEPS = (8e-3, 4e-3, 2e-3)
PARAMETERS = [
    "S1.free_length", "S2.stiffness", "A1.mass", "A1.com.x", "1.origin.x", "B.child_origin.x", "12.inertia.zz",
    "start.position.A", "start.velocity.1",
]  # fmt: skip


def squares(x):
    return np.sum(x * x, axis=-1)


def from_target(x):
    return np.sum((x - 0.3) ** 2, axis=-1)


def of_point(name):
    return {
        "position": mg.Integral(from_target, mg.measures.PointPosition(name)),
        "velocity": mg.Integral(squares, mg.measures.PointVelocity(name)),
        "acceleration": mg.Integral(squares, mg.measures.PointAcceleration(name)),
        "last position": mg.AtEnd(from_target, mg.measures.PointPosition(name)),
        "last velocity": mg.AtEnd(squares, mg.measures.PointVelocity(name)),
    }


def moving(model, at=("A", "1"), rates=(0.4, -0.3)):
    angles = dict(zip(("A", "1", "2", "3"), five_bar_start(), strict=True))
    held = {name: angles[name] for name in at}
    return mg.assemble(model, held, dict(zip(at, rates, strict=True)), guess=five_bar_start())


def continuous(motion, objectives, wrt, variant=None):
    return continuous_gradient(motion, list(objectives.values()), Parameters(motion, wrt), variant)


def refined(model, start, wrt, objectives, form, variant=None, *, steps=STEPS, duration=0.4):
    """Errors relative to the discrete gradient, (steps, objectives, parameters), and that gradient."""
    errors = []
    # Matrix R is compared with a complex step through the march, the others with direct differentiation
    method = "complex" if isinstance(form, mg.formulations.MatrixR) else "direct"
    for step in steps:
        motion = mg.simulate(model, start, duration=duration, step=step, scheme="trapezoidal", formulation=form)
        exact = mg.gradient(motion, objectives, wrt, method=method).array
        errors.append(np.abs(continuous(motion, objectives, wrt, variant) - exact) / np.abs(exact))
    return np.array(errors), exact


def orders(errors):
    """Observed orders of objectives at the last two refinements, over all parameters together."""
    sizes = np.linalg.norm(errors, axis=2)
    return np.log2(sizes[:-1] / sizes[1:])


FORMULATIONS = {
    "matrix-r": (mg.formulations.MatrixR(tolerance=TIGHT), None),
    "matrix-r, natural coordinates": (mg.formulations.MatrixR(["P2.x", "P2.y"], tolerance=TIGHT), None),
    "ali3p": (mg.formulations.ALI3P(tolerance=TIGHT), None),
    "ali3p, one projection": (mg.formulations.ALI3P(tolerance=TIGHT, projection="penalty", scaling=1e-4), None),
    "index-1, approach 1": (mg.formulations.Index1(tolerance=TIGHT), "approach-1"),
    "index-1, approach 2": (mg.formulations.Index1(tolerance=TIGHT), "approach-2"),
    "penalty": (mg.formulations.Penalty(tolerance=TIGHT), None),
}


@pytest.mark.parametrize("name", FORMULATIONS)
def test_five_bar_converges_with_order_two(name):
    """Positions, velocities, accelerations and ends, by masses, geometry of the loop, springs and the start."""
    model, objectives = five_bar(), of_point("P2")
    errors, exact = refined(model, moving(model), PARAMETERS, objectives, *FORMULATIONS[name])
    assert np.abs(exact).min() > 1e-4
    assert np.abs(exact).max(axis=0).min() > 0.1
    assert orders(errors).min() > 1.9
    assert errors[-1].max() < 0.02  # of small derivatives; those of typical size are within 3e-4
    assert np.median(errors[-1]) < 3e-4


@pytest.mark.parametrize("given", [{"projection": None}, {"accelerations": False}])
def test_ali3p_with_fewer_projections_converges_with_order_two(given):
    """Where nothing is projected accelerations swing, with an amplitude that does not go down: no objective for it."""
    model, objectives = five_bar(), of_point("P2")
    if "projection" in given:
        del objectives["acceleration"]
    errors, _ = refined(model, moving(model), PARAMETERS, objectives, mg.formulations.ALI3P(tolerance=TIGHT, **given))
    assert orders(errors).min() > 1.9


@pytest.mark.parametrize("name", ["matrix-r", "ali3p", "index-1, approach 2"])
def test_reported_instants_are_enough(name):
    """Adjoint equations live on the reported instants, however many steps lie between."""
    model, objectives, (form, variant) = five_bar(), of_point("P2"), FORMULATIONS[name]
    arrays = []
    for samples in (None, 51):
        motion = mg.simulate(
            model, moving(model), duration=0.4, step=2e-3, samples=samples, scheme="trapezoidal", formulation=form
        )
        arrays.append(continuous(motion, objectives, PARAMETERS, variant))
    scale = np.abs(arrays[0]).max(axis=1, keepdims=True)
    assert 1e-5 < (np.abs(arrays[1] - arrays[0]) / scale).max() < 1e-2


def test_approaches_of_index_1_are_two_discretisations_of_one_gradient():
    model, objectives = five_bar(), {"acceleration": of_point("P2")["acceleration"]}
    motion = mg.simulate(
        model,
        moving(model),
        duration=0.4,
        step=2e-3,
        scheme="trapezoidal",
        formulation=mg.formulations.Index1(tolerance=TIGHT),
    )
    first, second = (continuous(motion, objectives, PARAMETERS, f"approach-{k}") for k in (1, 2))
    difference = np.abs(first - second) / np.abs(second)
    assert 1e-7 < difference.max() < 2e-3


def with_redundant_rows():
    """The five-bar, whose hinge at B is closed three times over."""
    model = five_bar()
    end = mg.Point("end", "3B", model.joint("B").child_origin)
    again = [mg.constraints.SamePoint(f"again {k}", "end", "PB") for k in (1, 2)]
    return mg.Model(
        "redundant", model.bodies, model.joints, [*model.points, end], gravity=(0, -9.81, 0), constraints=again,
        forces=model.forces,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["ali3p", "index-1, approach 1", "index-1, approach 2", "penalty"])
def test_redundant_rows_change_nothing(name):
    wrt = [path for path in PARAMETERS if path != "B.child_origin.x"]  # it alone would tear the loop apart
    objectives = of_point("P2")
    form, variant = FORMULATIONS[name]
    plain, redundant = five_bar(), with_redundant_rows()
    errors, _ = refined(redundant, moving(redundant), wrt, objectives, form, variant)
    assert orders(errors).min() > 1.9
    arrays = []
    for model in (plain, redundant):
        motion = mg.simulate(model, moving(model), duration=0.4, step=4e-3, scheme="trapezoidal", formulation=form)
        assert bool(motion.system.redundant(motion.q[0])) == (model is redundant)
        arrays.append(continuous(motion, objectives, wrt, variant))
    scale = np.abs(arrays[0]).max(axis=1, keepdims=True)
    # implicit steps of index 1 leave rounding / 1e-6 in redundant rows; that of the others is rounding times 1e9 / M
    assert (np.abs(arrays[1] - arrays[0]) / scale).max() < 1e-5


@pytest.mark.parametrize(
    ("name", "order"),
    [("index-1, approach 1", 1.9), ("index-1, approach 2", 1.9), ("penalty", 1.9), ("matrix-r", 1.9), ("ali3p", 0.9)],
)
def test_driven_constraints_and_multipliers(name, order):
    """One bar is driven: parameters of its function, and objectives of multipliers. Those of ALI3-P are of first
    order themselves."""
    model = five_bar()
    drive = mg.constraints.Driver(
        "motor", "A", mg.functions.Harmonic(0.3, frequency=0.7, offset=float(five_bar_start()[0]))
    )
    driven = mg.Model(
        "driven", model.bodies, model.joints, model.points, gravity=(0, -9.81, 0), constraints=[drive],
        forces=model.forces,
    )  # fmt: skip
    wrt = [
        "1.origin.x", "motor.function.amplitude", "motor.function.frequency", "start.position.1", "start.velocity.1",
    ]  # fmt: skip
    start = moving(driven, ("1",), (-0.3,))
    row = {"multiplier": mg.Integral(lambda x: x * x, mg.measures.Multiplier("motor: drive"))}
    motions, _ = refined(driven, start, wrt, of_point("P2"), *FORMULATIONS[name])
    assert orders(motions).min() > 1.9
    forces, exact = refined(driven, start, [*wrt, "A1.mass", "S1.free_length"], row, *FORMULATIONS[name])
    assert np.abs(exact).min() > 1.0
    total = np.abs(forces * exact).sum(axis=2)[:, 0]
    assert np.log2(total[:-1] / total[1:]).min() > order


@pytest.mark.parametrize("name", ["index-1, approach 2", "ali3p", "penalty"])
def test_balls_turn_the_variations_of_their_coordinates(name):
    """The slider-crank with a ball in its tree. ALI3-P and index 1 need short steps there."""
    model = slider_crank(cut="slide", spring=True)
    assert len(model.layout.ball_v) == 1
    wrt = ["rod.mass", "B.origin.z", "C.child_origin.x", "S1.stiffness", "rod.inertia.yy",
           "start.position.crank axis", "start.velocity.crank axis"]  # fmt: skip
    start = mg.assemble(model, {"crank axis": 0.4}, {"crank axis": 3.0})
    objectives = of_point("D") | {"spin": mg.Integral(squares, mg.measures.PointVelocity("rod.spin"))}
    errors, exact = refined(model, start, wrt, objectives, *FORMULATIONS[name], steps=(2e-3, 1e-3, 5e-4), duration=0.1)
    total = np.abs(errors * exact).sum(axis=2)
    assert np.log2(total[:-1] / total[1:]).min() > 1.85


def rolling_wheel():
    """A wheel that rolls and wobbles on a slope: two of its three rows are those of velocities."""
    up, axle = mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "disc", (0, 1, 0))
    rolls = mg.constraints.Rolling(
        "rolls", "disc.origin", 0.3, "up", kind="wheel", axis="axle", contact=True, plane_point="ground.origin"
    )
    body, joint = mg.Body("disc", 2.0, inertia=(0.05, 0.09, 0.05)), mg.Floating("free", "ground", "disc")
    return mg.Model("wheel", [body], [joint], vectors=[up, axle], gravity=(1.5, 0.4, -9.0), constraints=[rolls])


@pytest.mark.parametrize("name", ["index-1, approach 1", "index-1, approach 2", "penalty"])
def test_rolling_converges_with_order_two(name):
    model = rolling_wheel()
    rates = {"free.wx": 0.5, "free.wy": 4.0, "free.wz": 0.7}
    start = mg.assemble(model, None, rates, guess=[0.1, 0, 0.3, 1, 0, 0, 0])
    wrt = ["disc.mass", "disc.inertia.xx", "disc.inertia.yy", "gravity.x"]
    errors, exact = refined(model, start, wrt, of_point("disc.origin"), *FORMULATIONS[name])
    assert np.abs(exact).max(axis=0).min() > 0.1
    total = np.abs(errors * exact).sum(axis=2)
    assert np.log2(total[:-1] / total[1:]).min() > 1.9
    motion = mg.simulate(model, start, duration=0.1, step=5e-3, scheme="trapezoidal")
    with pytest.raises(InputError, match=r"takes holonomic constraints only.*one of velocities"):
        adjoint_of(motion)


def spinning_top():
    """Two bodies on balls, without loops."""
    bodies = [
        mg.Body("top", 1.3, com=(0.05, 0.02, 0.3), inertia=(0.02, 0.03, 0.01)),
        mg.Body("tail", 0.4, com=(0.1, 0.0, 0.1), inertia=(0.004, 0.003, 0.002)),
    ]
    joints = [mg.Spherical("foot", "ground", "top"), mg.Spherical("neck", "top", "tail", (0.0, 0.1, 0.4))]
    return mg.Model("top", bodies, joints, gravity=(0, 0, -9.81))


def test_trees_converge_with_order_two():
    model = spinning_top()
    v = np.array([0.6, -0.4, 2.0, 1.0, 0.7, -0.9])
    wrt = ["top.mass", "top.com.x", "tail.inertia.yy", "neck.origin.y", "start.position.*", "start.velocity.*"]
    errors, scales = [], []
    objectives = of_point("tail.com")
    for step in STEPS:
        motion = mg.simulate(
            model, mg.state(model, model.neutral(), v), duration=0.4, step=step, scheme="trapezoidal",
            formulation=mg.formulations.SemiRecursive(tolerance=TIGHT),
        )  # fmt: skip
        exact = mg.gradient(motion, objectives, wrt, method="direct").array
        errors.append(np.abs(continuous(motion, objectives, wrt) - exact).sum(axis=1))
        scales.append(np.abs(exact).sum(axis=1))
    errors = np.array(errors)
    assert np.log2(errors[:-1] / errors[1:]).min() > 1.9
    assert (errors[-1] / scales[-1]).max() < 2e-3


def test_terms_along_a_motion_are_derivatives_over_time():
    """M', Gamma' and the turning of variations against differences of a motion, good to the square of their step."""
    model = slider_crank(cut="slide")
    start = mg.assemble(model, {"crank axis": 0.4}, {"crank axis": 3.0})
    motion = mg.simulate(model, start, duration=4e-3, step=1e-5, scheme="trapezoidal")
    states = states_of(motion)
    rows = constraint_slopes(motion.system, states)
    inertia = linearised(motion.system.T, states).M
    for exact, series in ((rows.J_rate, rows.J), (mass_rate(motion.system, states), inertia)):
        difference = (series[2:] - series[:-2]) / (motion.t[2:] - motion.t[:-2])[:, None, None]
        assert np.abs(exact).max() > 1e-2
        assert np.abs(exact[1:-1] - difference).max() < 1e-5 * np.abs(exact).max()
    # rates of rows in a variation q', v': d(Gamma q')/dt with d(q')/dt = v' + T q' is rate_q q' + Gamma v'
    T = turning(model, states.v)
    assert np.abs(rows.J @ T).max() > 1e-2
    assert np.abs(rows.rate_q - rows.J_rate - rows.J @ T).max() < 1e-10 * np.abs(rows.rate_q).max()


def test_sums_of_objectives_are_sums_of_gradients():
    model, objectives = five_bar(), of_point("P2")
    motion = mg.simulate(model, moving(model), duration=0.1, step=5e-3, scheme="trapezoidal")
    each = continuous(motion, objectives, PARAMETERS)
    together = 2.0 * objectives["velocity"] + objectives["last position"] + 0.5 * objectives["acceleration"]
    found = continuous(motion, {"sum": together}, PARAMETERS)
    np.testing.assert_allclose(found[0], 2.0 * each[1] + each[3] + 0.5 * each[2], rtol=1e-10)


def test_errors_say_what_to_do_instead():
    model = five_bar()
    start = moving(model)
    motion = mg.simulate(model, start, duration=0.1, step=5e-3, scheme="trapezoidal")
    cases = {
        r"value at t = 0\.05 s.*method='adjoint'": mg.AtTime(0.05, mg.measures.JointVelocity("A")),
        "AtEnd of accelerations.*method='adjoint'": mg.AtEnd(mg.measures.JointAcceleration("A")),
        "AtEnd of multipliers.*method='adjoint'": mg.AtEnd(mg.measures.Multiplier("B: point x")),
        r"\[1, 3\] numbers cannot be added": mg.AtEnd(mg.measures.JointVelocity("A"))
        + mg.AtEnd(mg.measures.PointPosition("P2")),
    }
    for message, objective in cases.items():
        with pytest.raises(InputError, match=message):
            continuous(motion, {"psi": objective}, ["A1.mass"])
    with pytest.raises(UnknownNameError, match=r"unknown variant 'approach-3'.*approach-1, approach-2"):
        adjoint_of(motion, "approach-3")
    with pytest.raises(InputError, match="belongs to index-1 motions, and this one is of ALI3-P"):
        adjoint_of(motion, "approach-1")
