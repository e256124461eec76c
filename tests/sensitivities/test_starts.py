"""How a start was found is part of the derivative: given, assembled or at rest, trees and loops, at any time."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gradient_mechanisms as mechanisms

import mechgrad as mg
from mechgrad.errors import AssemblyError, InputError, UnknownNameError

TIP = mg.AtEnd(mg.measures.PointPosition("tip"))


def arm(upper=0.6, mass=1.0, forces=()):
    """Two links and a spring at each joint, in a plane that gravity lies in."""
    bodies = [
        mg.Body("u", mass, com=(0.3, 0, 0.05), inertia=(0.1, 0.1, 0.1)),
        mg.Body("l", 0.5, com=(0.2, 0, 0), inertia=(0.05, 0.05, 0.05)),
    ]
    joints = [
        mg.Revolute("s", "ground", "u", axis=(0, 1, 0)),
        mg.Revolute("e", "u", "l", (upper, 0, 0), axis=(0, 1, 0)),
    ]
    springs = [mg.forces.TorsionSpring("k1", "s", 8.0, 0.1), mg.forces.TorsionSpring("k2", "e", 5.0, 0.2)]
    return mg.Model("arm", bodies, joints, [mg.Point("tip", "l", (0.4, 0, 0))], forces=[*springs, *forces])


def differences(value, x, h=1e-5):
    """Richardson's central difference of a whole way, which shares nothing but the public functions with a gradient."""
    d = [(value(x + k) - value(x - k)) / (2 * k) for k in (h, 2 * h)]
    return (4 * d[0] - d[1]) / 3


def compared(motion, objective, wrt, value=None, at=None, tolerance=1e-9):
    """Direct, adjoint and complex step, and a difference of `value(number)` for the first parameter."""
    exact = mg.gradient(motion, objective, wrt, method="complex").array
    assert np.all(np.abs(exact).max(axis=0) > 1e-6 * np.abs(exact).max()), (
        "a parameter without influence proves nothing"
    )
    for method in ("direct", "adjoint"):
        found = mg.gradient(motion, objective, wrt, method=method).array
        np.testing.assert_allclose(found, exact, rtol=tolerance, atol=tolerance * np.abs(exact).max())
    if value is not None:
        np.testing.assert_allclose(exact[:, 0], differences(value, at), rtol=1e-7, atol=1e-9 * np.abs(exact).max())


# ---- assembled trees

HOW = {"duration": 0.3, "step": 5e-3}
REACH = {"tip.x": 0.5, "tip.z": -0.4}


def reached(model, **rates):
    return mg.assemble(model, REACH, {"tip.x": 0.3} | rates, guess=[0.3, 0.4])


@pytest.mark.parametrize("how", [{}, {"scheme": "trapezoidal"}, {"scheme": "dop853", "step": None}, {"scheme": "hht"}])
def test_assembled_trees_follow_what_was_held(how):
    how = HOW | how

    def value(length):
        model = arm(length)
        return mg.simulate(model, reached(model), **how).markers(["tip"]).position[-1, 0]

    model = arm()
    wrt = [
        "e.origin.x", "tip.position.x", "tip.position.z", "u.mass", "k1.stiffness", "s.origin.z",
        "start.position.tip.x", "start.position.tip.z", "start.velocity.tip.x", "start.velocity.tip.z",
    ]  # fmt: skip
    exact_steps = how["step"] is not None
    compared(mg.simulate(model, reached(model), **how), TIP, wrt, value if exact_steps else None, 0.6)


def test_coordinates_that_a_tree_did_not_hold_stay():
    model = arm()
    held = mg.simulate(model, mg.assemble(model, {"s": 0.4}, {"e": -0.3}), **HOW)
    given = mg.simulate(model, mg.state(model, [0.4, 0.0], [0.0, -0.3]), **HOW)
    wrt = ["e.origin.x", "start.position.s", "start.position.e", "start.velocity.s", "start.velocity.e"]
    compared(held, TIP, wrt)
    np.testing.assert_array_equal(mg.gradient(held, TIP, wrt).array, mg.gradient(given, TIP, wrt).array)


def test_rates_of_points_beside_positions_of_joints():
    model = arm()
    start = mg.assemble(model, {"s": 0.4, "e": 0.7}, {"tip.x": 0.5, "tip.z": 0.2})
    wrt = ["e.origin.x", "tip.position.x", "start.position.e", "start.velocity.tip.z"]

    def value(length):
        changed = arm(length)
        first = mg.assemble(changed, {"s": 0.4, "e": 0.7}, {"tip.x": 0.5, "tip.z": 0.2})
        return mg.simulate(changed, first, **HOW).markers(["tip"]).position[-1, 0]

    compared(mg.simulate(model, start, **HOW), TIP, wrt, value, 0.6)


def test_a_start_that_is_not_determined_is_refused_for_what_moves_it():
    model = arm()
    motion = mg.simulate(model, mg.assemble(model, {"tip.x": 0.7}, guess=[0.3, 0.4]), **HOW)
    for method in ("direct", "adjoint", "complex", "fd"):
        with pytest.raises(InputError, match=r"'e\.origin\.x'.*does not say how"):
            mg.gradient(motion, TIP, ["u.mass", "e.origin.x"], method=method)
    compared(motion, TIP, ["u.mass", "k1.stiffness"])  # which it does not depend on


def test_start_values_have_the_names_of_coordinates():
    model = mg.Model(
        "free", [mg.Body("b", 1.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4))], [mg.Floating("free", "ground", "b")],
        [mg.Point("tip", "b", (0.3, 0, 0.1))],
    )  # fmt: skip
    q = model.integrate(model.neutral(), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    motion = mg.simulate(model, mg.state(model, q, [1, 2, 3, 0.3, 0.2, 0.1]), duration=0.2, step=0.01)
    g = mg.gradient(motion, TIP, ["start.position.free.z", "start.velocity.free.vz", "start.position.free.wx"])
    np.testing.assert_allclose(g.array[:, :2], [[0, 0], [0, 0], [1, 0.2]], atol=1e-12)
    assert g.parameter_values.tolist() == pytest.approx([q[2], 3.0, 0.0])
    compared(motion, TIP, ["start.position.free.z", "start.position.free.wx", "start.velocity.free.wy"])
    with pytest.raises(UnknownNameError, match=r"start\.position\.free\.z"):
        mg.gradient(motion, TIP, ["start.position.free.vz"])


# ---- equilibria


def at_rest(model, **more):
    return mg.equilibrium(model, [0.5, 0.1], **({"tau": [1.0, 0.2]} | more))


@pytest.mark.parametrize("scheme", ["rk4", "trapezoidal"])
def test_equilibria_move_with_every_number(scheme):
    how = HOW | {"scheme": scheme}

    def value(mass):
        model = arm(mass=mass)
        return mg.simulate(model, at_rest(model), **how).markers(["tip"]).position[-1, 0]

    model = arm()
    wrt = ["u.mass", "k1.stiffness", "k2.free_angle", "e.origin.x", "gravity.z", "u.com.z", "tau.s", "start.tau.s"]
    compared(mg.simulate(model, at_rest(model), **how), TIP, wrt, value, 1.0)


def test_forces_of_equilibrium_and_motion_are_one_where_they_are_the_same():
    model, push = arm(), [mg.Load("l", force=(3.0, 0, 1.0), point="tip", name="push")]
    both = mg.simulate(model, at_rest(model, loads=push), tau=[1.0, 0.2], loads=push, **HOW)
    let_go = mg.simulate(model, at_rest(model, loads=push), **HOW)
    compared(
        both, mg.AtEnd(mg.measures.JointCoordinate("s")), ["push.force.x", "tau.e", "push.point.z", "tip.position.x"]
    )
    compared(let_go, TIP, ["start.push.force.x", "start.tau.e", "tau.e", "tip.position.x"])
    with pytest.raises(UnknownNameError, match=r"push\.force\.x"):
        mg.gradient(let_go, TIP, ["push.force.x"])
    # held by its forces, it stays where it is: both together move it by what the equilibrium moves
    rest = mg.gradient(at_rest(model, loads=push), mg.measures.JointCoordinate("s"), ["push.force.x", "tau.e"])
    moved = mg.gradient(both, mg.AtEnd(mg.measures.JointCoordinate("s")), ["push.force.x", "tau.e"])
    np.testing.assert_allclose(moved.array, rest.array, rtol=1e-9)


def test_held_coordinates_and_rates_of_an_equilibrium():
    model = arm()
    rest = at_rest(model, at={"s": 0.6}, rates={"s": 0.8, "e": -0.5})
    np.testing.assert_allclose(rest.v, [0.8, -0.5])
    wrt = ["u.mass", "k2.stiffness", "start.position.s", "start.velocity.s", "start.velocity.e", "start.tau.e"]
    compared(mg.simulate(model, rest, **HOW), TIP, wrt)


def test_equilibria_of_loops_with_multipliers():
    model = mechanisms.linked_five_bar()
    rest = mg.equilibrium(model, mechanisms.held_five_bar(model).q)
    wrt = ["A1.mass", "S1.stiffness", "L_A1", "B.origin.x", "gravity.y", "S2.free_length"]
    objectives = [mg.measures.PointPosition("P2"), *(mg.measures.Multiplier(name) for name in rest.constraint_names)]
    exact = mg.gradient(rest, objectives, wrt, method="complex").array
    assert np.all(np.abs(exact).max(axis=0) > 1e-6)
    for method in ("direct", "adjoint"):
        np.testing.assert_allclose(
            mg.gradient(rest, objectives, wrt, method=method).array, exact, rtol=1e-8, atol=1e-8 * np.abs(exact).max()
        )

    def value(stiffness):
        return mg.equilibrium(model.with_values({"S1.stiffness": stiffness}), rest.q, tolerance=1e-13).multipliers

    k = wrt.index("S1.stiffness")
    by_steps = differences(value, model.value("S1.stiffness"), 0.01)
    np.testing.assert_allclose(exact[3:, k], by_steps, rtol=1e-6, atol=1e-9)
    motion = mg.simulate(model, rest, duration=0.05, step=1e-3)
    compared(motion, mg.AtEnd(mg.measures.PointPosition("P2")), ["A1.mass", "S1.stiffness", "L_A1"], tolerance=1e-7)


def test_an_equilibrium_that_nothing_resists_is_refused_for_what_would_move_it():
    slider = mg.Model(
        "slider", [mg.Body("b", 1.0)], [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))], [mg.Point("tip", "b")]
    )
    rest = mg.equilibrium(slider, [0.3])
    for method in ("direct", "adjoint"):
        with pytest.raises(InputError, match=r"'gravity\.x'.*left unbalanced"):
            mg.gradient(rest, mg.measures.PointPosition("tip"), ["gravity.x"], method=method)
    assert mg.gradient(rest, mg.measures.PointPosition("tip"), ["tip.position.x"]).array[0, 0] == 1.0


def test_states_stand_for_themselves():
    model = arm()
    start = reached(model)
    objectives = {"where": mg.measures.PointPosition("l.com"), "how fast": mg.AtEnd(mg.measures.PointVelocity("l.com"))}
    wrt = ["e.origin.x", "start.position.tip.x", "start.velocity.tip.z"]
    g = mg.gradient(start, objectives, wrt)
    assert g.certify().passed
    assert "tip.x, tip.z" in str(g)

    def value(length):
        changed = arm(length)
        found = mg.kinematics.marker_motion(changed, ["l.com"], reached(changed).q, reached(changed).v)
        return np.concatenate([found.position[0], found.velocity[0]])

    np.testing.assert_allclose(g.of("e.origin.x"), differences(value, 0.6), atol=1e-8)
    for objective, text in (
        (mg.measures.PointAcceleration("tip"), "forces"),
        (mg.Integral(mg.measures.KineticEnergy()), "motion"),
    ):
        with pytest.raises(InputError, match=text):
            mg.gradient(start, objective, wrt)


# ---- time


def test_starts_of_driven_mechanisms_know_the_time():
    """A driver turns the first joint from t0 on; everything at the start follows its function at t0."""

    def driven(amplitude=0.6):
        m = arm()
        driver = mg.constraints.Driver("motor", "s", mg.functions.Harmonic(amplitude, frequency=0.7, phase=0.4))
        return mg.Model(m.name, m.bodies, m.joints, m.points, forces=m.forces, constraints=[driver])

    t0 = 0.35

    def start(model):
        return mg.assemble(model, {"e": 0.5}, {"e": 0.4}, t=t0)

    def value(amplitude):
        model = driven(amplitude)
        return mg.simulate(model, start(model), duration=0.2, step=5e-3).markers(["tip"]).position[-1, 0]

    model = driven()
    motion = mg.simulate(model, start(model), duration=0.2, step=5e-3)
    assert motion.t[0] == t0  # of the start
    numbers = [f"motor.function.{name}" for name in ("amplitude", "frequency", "phase", "offset")]
    wrt = [*numbers, "start.position.e", "start.velocity.e", "l.mass"]
    compared(motion, TIP, wrt, value, 0.6, tolerance=1e-7)
    with pytest.raises(InputError, match=r"t = 0\.35 s.*t0 = 0 s"):
        mg.simulate(model, start(model), duration=0.2, step=5e-3, t0=0.0)


def test_a_start_of_another_model_is_refused():
    with pytest.raises(InputError, match="another model"):
        mg.simulate(arm(0.7), reached(arm()), **HOW)
    mg.simulate(arm(), reached(arm()), **HOW)  # equal numbers are the same model


# ---- wheels and torn loops


def wheel(radius=0.3):
    """A wheel in a vertical plane that rolls on the ground."""
    hub = mg.Body("w", 2.0, com=(0.02, 0.05, 0), inertia=(0.1, 0.1, 0.15))
    joint = mg.Planar("p", "ground", "w")
    points = [mg.Point("centre", "w"), mg.Point("floor", "ground"), mg.Point("tip", "w", (0.2, 0.1, 0))]
    vectors = [mg.Vector("up", "ground", (0, 1, 0)), mg.Vector("axle", "w", (0, 0, 1))]
    rolls = mg.constraints.Rolling(
        "rolls", "centre", radius, "up", kind="wheel", axis="axle", contact=True, plane_point="floor"
    )
    return mg.Model("wheel", [hub], [joint], points, vectors, gravity=(0.5, -9.81, 0), constraints=[rolls])


@pytest.mark.parametrize("formulation", [mg.formulations.ALI3P(), mg.formulations.Index1()])
def test_a_rolling_wheel_has_a_gradient_by_its_radius(formulation):
    def start(model):
        return mg.assemble(model, {"p.x": 0.1, "p.angle": 0.2}, {"p.angle": -3.0}, guess=[0.1, 0.3, 0.2])

    def value(radius):
        model = wheel(radius)
        return (
            mg.simulate(model, start(model), duration=0.2, step=2e-3, formulation=formulation)
            .markers(["tip"])
            .position[-1, 0]
        )

    model = wheel()
    state = start(model)
    np.testing.assert_allclose(state.v, [0.9, 0.0, -3.0], atol=1e-12)
    assert "p.x" not in state.held_rates
    motion = mg.simulate(model, state, duration=0.2, step=2e-3, formulation=formulation)
    compared(motion, TIP, ["rolls.radius", "w.mass", "start.velocity.p.angle", "start.position.p.x"], value, 0.3, 1e-7)


def test_a_radius_that_held_rates_contradict_is_refused_by_every_method():
    model = wheel()
    held = {"p.x": 0.1, "p.angle": 0.2}, {"p.angle": -3.0, "p.x": 0.9}
    start = mg.assemble(model, *held, guess=[0.1, 0.3, 0.2])
    assert "p.x" in start.held_rates
    motion = mg.simulate(model, start, duration=0.05, step=1e-3)
    for method in ("direct", "adjoint", "complex", "fd"):
        with pytest.raises(AssemblyError, match=r"'rolls\.radius' tears"):
            mg.gradient(motion, TIP, ["rolls.radius"], method=method)
    changed = model.with_values({"rolls.radius": 0.3 + 1e-30j})
    with pytest.raises(AssemblyError, match="tears its loops apart"):
        mg.assemble(changed, *held, guess=[0.1, 0.3, 0.2])


@pytest.mark.parametrize("path", ["B.origin.z", "A.axis.x", "2.axis.y", "1.origin.z"])
def test_parameters_that_tear_planar_loops_are_refused_by_name(path):
    model = mechanisms.linked_five_bar()
    start = mechanisms.held_five_bar(model)
    motion = mg.simulate(model, start, duration=0.02, step=1e-3)
    for method in ("direct", "adjoint", "complex", "fd", "continuous-adjoint"):
        with pytest.raises(AssemblyError, match=rf"'{path}' tears a loop"):
            mg.gradient(motion, mg.AtEnd(mg.measures.PointPosition("P2")), ["A1.mass", path], method=method)
    with pytest.raises(AssemblyError, match=r"tears .* apart"):
        mg.assemble(model.with_values({path: model.value(path) + 1e-30j}), start.held, guess=start.q)
