"""Functions of one instant at t != 0: every public function that takes a time, against closed form.

The arm and the ram of `support.timed` are looked at in states away from any motion, at several instants; what drives
them is different at each. The last test lists the public functions with a time, and wants a test for each.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import fsolve
from support import timed
from support.timed import ARM, RAM

import mechgrad as mg

TIMES = (1.3, -0.7, 2.9)
ANGLE, RATE, SECOND = 0.7, 1.1, -2.3
TURN = mg.functions.Spline(
    (0.5, 1.2, 1.8, 2.6, 3.4), (0.3, 0.6, 1.0, 0.5, 0.8), ends="not-a-knot"
)  # of the crank, by a driver
ARM_STATE = np.array([0.6, -0.9]), np.array([0.5, -1.2])


def ram_states(second: Any = None) -> list[timed.RamState]:
    """Of one angle and rate of the crank, at all times."""
    return [timed.ram_state(RAM, t, ANGLE, RATE, second) for t in TIMES]


def stacked(states: list[timed.RamState], level: str) -> np.ndarray:
    return np.array([getattr(x, level) for x in states])


def test_the_instants_differ() -> None:
    """What follows compares numbers that a wrong time would change by more than a hundredth."""
    states = ram_states()
    for level, entries in (("q", [1, 2, 3]), ("v", [1, 2, 3]), ("a", [0, 1, 2, 3]), ("bearing", [0, 1])):
        values = np.array([getattr(timed.ram_state(RAM, 0.0, ANGLE, RATE), level), *stacked(states, level)])
        assert np.abs(np.diff(values[:, entries], axis=0)).min() > 1e-3, level
        assert np.abs(values[1:, entries] - values[0, entries]).max(axis=1).min() > 1e-2, level
    arm = [timed.arm_accelerations(ARM, t, *ARM_STATE) for t in (0.0, *TIMES)]
    assert np.abs(np.diff(arm, axis=0)).min() > 0.1


# ---- kinematics


@pytest.mark.parametrize("t", TIMES)
def test_assembly(t: float) -> None:
    model, wanted = timed.ram(), timed.ram_state(RAM, t, ANGLE, RATE, SECOND)
    start = mg.assemble(model, {"A": ANGLE}, {"A": RATE}, guess=[ANGLE, -1.0, 0.9, 1.2], t=t)
    assert start.t == t
    np.testing.assert_allclose(start.q, wanted.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(start.v, wanted.v, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        mg.kinematics.solve_velocities(model, wanted.q, {"A": RATE}, t), wanted.v, rtol=0, atol=1e-12
    )
    a = mg.kinematics.solve_accelerations(model, wanted.q, wanted.v, {"A": SECOND}, t)
    np.testing.assert_allclose(a, wanted.a, rtol=0, atol=1e-11)
    moving = {"slider.origin": (wanted.v[3], 0.0, 0.0)}
    np.testing.assert_allclose(
        mg.drawing.velocities_from_points(model, wanted.q, moving, t), wanted.v, rtol=0, atol=1e-11
    )


@pytest.mark.parametrize("t", TIMES)
def test_mobility(t: float) -> None:
    """The configuration is checked against the driver at its time, and put together at that time."""
    model, there = timed.ram(), timed.ram_state(RAM, t, ANGLE, RATE).q
    found = mg.mobility(model, there, t=t)
    assert (found.freedoms, found.rank, found.singular) == (1, 3, False)
    assert mg.kinematics.independent_coordinates(model, there, t=t) == list(found.independent)
    for wrong in (mg.mobility, mg.kinematics.independent_coordinates):
        with pytest.raises(mg.AssemblyError, match="drive"):
            wrong(model, there)
    length = timed.harmonic(RAM, "drive.function", t)[0]
    assert mg.mobility(model, t=t).q[2] == pytest.approx(length, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, -2.0, 1.0])
def test_kinematic_motion(shift: float) -> None:
    """Both freedoms driven, by the model, by `at` as a function, and by `at` as values."""
    t = 1.3 + shift + np.linspace(0.0, 0.6, 7)
    wanted = [timed.ram_state(RAM, s, TURN(s), TURN.rate(s), TURN.second(s)) for s in t]
    driven, free = timed.ram(crank=TURN), timed.ram()
    guess = wanted[0].q
    for motion in (
        mg.kinematic_motion(driven, t, guess=guess),
        mg.kinematic_motion(free, t, {"A": TURN}, guess=guess),
        mg.kinematic_motion(free, t, {"A": lambda s: (TURN(s), TURN.rate(s), TURN.second(s))}, guess=guess),
    ):
        np.testing.assert_array_equal(motion.t, t)
        for level in "qva":
            np.testing.assert_allclose(getattr(motion, level), stacked(wanted, level), rtol=0, atol=1e-9)
        assert motion.norms.max() < 1e-8
    # of values at the instants, joined by a spline through them, only the positions there are known
    joined = mg.kinematic_motion(free, t, {"A": TURN(t)}, guess=guess)
    np.testing.assert_allclose(joined.q, stacked(wanted, "q"), rtol=0, atol=1e-9)
    assert np.ptp(joined.q[:, 0]) > 0.05


# ---- forces


def test_accelerations() -> None:
    """One time for all states, or one each."""
    states = ram_states()
    q, v = stacked(states, "q"), stacked(states, "v")
    a, lam = mg.forward_dynamics(timed.ram(), q, v, t=TIMES, return_multipliers=True)
    np.testing.assert_allclose(a, stacked(states, "a"), rtol=0, atol=1e-11)
    np.testing.assert_allclose(lam[:, 2], [-x.axial for x in states], rtol=0, atol=1e-11)
    for k, t in enumerate(TIMES):
        one, multipliers = mg.forward_dynamics(timed.ram(), q[k], v[k], t=t, return_multipliers=True)
        np.testing.assert_allclose(one, a[k], rtol=0, atol=1e-12)
        np.testing.assert_allclose(multipliers, lam[k], rtol=0, atol=1e-12)
        found = mg.forward_dynamics(timed.arm(), *ARM_STATE, t=t)
        np.testing.assert_allclose(found, timed.arm_accelerations(ARM, t, *ARM_STATE), rtol=1e-12, atol=1e-11)


def test_terms_of_motion() -> None:
    """Residuals of any acceleration; by the numbers of functions of time in closed form."""
    model, (q, v) = timed.arm(), ARM_STATE
    a = np.array([3.0, -2.0])
    names = ["first.torque.amplitude", "first.torque.frequency", "first.torque.phase", "second.torque.values.2"]
    many = mg.terms.motion_terms(model, [q] * 3, [v] * 3, [a] * 3, t=TIMES, wrt=names)
    for k, t in enumerate(TIMES):
        forces = timed.arm_forces(ARM, t, q, v)
        np.testing.assert_allclose(many.r[k], forces.M @ a + forces.rest, rtol=1e-12, atol=1e-12)
        one = mg.terms.motion_terms(model, q, v, a, t=t, wrt=names)
        for field in ("r", "r_q", "r_v", "M", "r_p"):
            np.testing.assert_allclose(getattr(one, field), getattr(many, field)[k], rtol=1e-13, atol=1e-12)
        for j, name in enumerate(names):
            wanted = timed.arm_forces(timed.stepped(ARM, name), t, q, v).rest.imag / timed.STEP
            assert np.abs(wanted).max() > 1e-2
            np.testing.assert_allclose(one.r_p[:, j], wanted, rtol=1e-12, atol=1e-12)
        for j in range(2):
            wanted = timed.arm_forces(ARM, t, q + 1j * timed.STEP * np.eye(2)[j], v)
            np.testing.assert_allclose(one.r_q[:, j], (wanted.M @ a + wanted.rest).imag / timed.STEP, atol=1e-11)


def test_terms_of_constraints() -> None:
    """A driver's row at any state: q - f, v - f', a - f''."""
    model, rng = timed.ram(), np.random.default_rng(4)
    q, v, a = rng.normal(size=(3, 3, 4))
    names = [f"drive.function.{x}" for x in ("amplitude", "frequency", "phase", "offset")]
    many = mg.terms.constraint_terms(model, q, v, a, t=TIMES, wrt=names)
    for k, t in enumerate(TIMES):
        one = mg.terms.constraint_terms(model, q[k], v[k], a[k], t=t, wrt=names)
        f, rate, second = timed.harmonic(RAM, "drive.function", t)
        wanted = (q[k, 2] - f, v[k, 2] - rate, a[k, 2] - second, -rate, -second)
        assert np.abs([rate, second]).min() > 1e-2
        for field, x in zip(("value", "rate", "second", "rate_t", "second_t"), wanted, strict=True):
            np.testing.assert_allclose(getattr(one, field)[2], x, rtol=0, atol=1e-13)
            np.testing.assert_allclose(getattr(many, field)[k], getattr(one, field), rtol=0, atol=1e-13)
        for j, name in enumerate(names):
            slopes = timed.harmonic(timed.stepped(RAM, name), "drive.function", t)
            for field, x in zip(("value_p", "rate_p", "second_p"), slopes, strict=True):
                np.testing.assert_allclose(getattr(one, field)[2, j], -np.imag(x) / timed.STEP, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("t", TIMES)
def test_reactions(t: float) -> None:
    """Forces and moments of every joint of the ram, and what the arm's shoulder carries."""
    state, model = timed.ram_state(RAM, t, ANGLE, RATE), timed.ram()
    found = mg.joint_reactions(model, state.q, state.v, t=t, tau=0)
    for joint, force in (
        ("A", state.bearing),
        ("B", state.bearing),
        ("T", state.push),
        ("C", state.pin),
        ("S", state.guide),
    ):
        np.testing.assert_allclose(found.of(joint).force, [*force, 0.0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.of("A").couple, [0, 0, state.motor], rtol=0, atol=1e-11)
    many = mg.joint_reactions(model, [state.q] * 2, [state.v] * 2, t=[t, t], tau=0)
    np.testing.assert_allclose(many.force[1], found.force, rtol=0, atol=1e-12)
    q, v = ARM_STATE
    forces, a = timed.arm_forces(ARM, t, q, v), timed.arm_accelerations(ARM, t, q, v)
    arm = mg.joint_reactions(timed.arm(), q, v, t=t, tau=0)
    np.testing.assert_allclose(arm.of("shoulder").couple, [0, forces.motors[0], 0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(arm.of("elbow").couple, [0, forces.motors[1] - forces.tide, 0], rtol=0, atol=1e-11)
    motion = mg.kinematics.marker_motion(timed.arm(), ["upper.com", "lower.com"], q, v, a)
    inertia = np.array([ARM["upper.mass"], ARM["lower.mass"]]) @ (motion.acceleration + np.array([0, 0, timed.GRAVITY]))
    rope = np.array([forces.rope[0], 0.0, forces.rope[1]])
    np.testing.assert_allclose(arm.of("shoulder").force, inertia - rope, rtol=0, atol=1e-10)


@pytest.mark.parametrize("t", [1.3, 1.9, 2.3])
def test_equilibrium(t: float) -> None:
    """Motors and drivers frozen at t: the arm's two balances of moments, and the ram's one, solved by scipy."""

    def balance(q: np.ndarray) -> np.ndarray:
        return timed.arm_forces(ARM, t, q, np.zeros(2)).rest

    rest = mg.equilibrium(timed.arm(), [0.3, 0.2], t=t)
    np.testing.assert_allclose(balance(rest.q), 0.0, atol=1e-8)
    np.testing.assert_allclose(rest.q, fsolve(balance, rest.q + 1e-3, xtol=1e-13), rtol=0, atol=1e-8)
    assert np.abs(timed.arm_forces(ARM, 0.0, rest.q, np.zeros(2)).rest).max() > 0.05
    a = mg.forward_dynamics(timed.arm(), rest.q, t=t)
    np.testing.assert_allclose(a, 0.0, atol=1e-7)

    # a driver that stands still in its place at t: that of a model with this length for ever
    length = timed.harmonic(RAM, "drive.function", t)[0]
    still = {**RAM, "drive.function.amplitude": 0.0, "drive.function.offset": length}

    def moment(angle: np.ndarray) -> np.ndarray:
        free = timed.ram_state(still, t, angle[0], 0.0)
        return np.array([free.a[0]])

    guess = timed.ram_state(still, t, 0.4, 0.0).q
    found = mg.equilibrium(timed.ram(), guess, t=t)
    assert found.q[2] == pytest.approx(length, abs=1e-11)
    np.testing.assert_allclose(moment(found.q[:1]), 0.0, atol=1e-8)
    held = mg.equilibrium(timed.ram(), guess, at={"A": 0.4}, t=t)
    there = timed.ram_state(still, t, 0.4, 0.0, 0.0)
    # at rest the crank is held against the motor and against what the rod brings
    by_angle = timed.ram_state(still, t, 0.4 + 1j * timed.STEP, 0.0, 0.0).q[3].imag / timed.STEP
    wanted = -there.motor - (there.bumper + there.spring) * by_angle
    assert held.holding["A"] == pytest.approx(wanted, abs=1e-8)
    assert abs(timed.harmonic(RAM, "motor.torque", 0.0)[0] - there.motor) > 0.1


# ---- along a motion


@pytest.mark.parametrize("how", [{"scheme": "rk4", "step": 0.01}, {"scheme": "hht", "step": 0.01}, {}], ids=str)
def test_power_reactions_and_energies_of_a_motion(how: dict[str, Any]) -> None:
    """At the motion's own states, for steps of any quality."""
    model, first = timed.ram(), timed.ram_state(RAM, 1.3, ANGLE, RATE)
    motion = mg.simulate(model, mg.state(model, first.q, first.v), 0.4, t0=1.3, samples=5, **how)
    states = [timed.ram_state(RAM, t, q[0], v[0]) for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)]
    power = motion.power()
    laws, driver = np.array([x.power for x in states]).T
    assert np.ptp(laws) > 0.5
    assert np.ptp(driver) > 0.5
    np.testing.assert_allclose(power.laws, laws, rtol=0, atol=1e-9)
    # what implicit steps report as multipliers belongs to the step, not to the state alone
    np.testing.assert_allclose(power.constraints, driver, rtol=0, atol=0.2 if how.get("scheme") == "hht" else 1e-9)
    np.testing.assert_allclose(motion.spring_energy(), [x.stored(RAM) for x in states], rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion.kinetic_energy(), [x.kinetic(RAM) for x in states], rtol=0, atol=1e-9)
    found = motion.reactions()
    for joint, level in (("A", "bearing"), ("T", "push"), ("C", "pin"), ("S", "guide")):
        np.testing.assert_allclose(found.of(joint).force[:, :2], stacked(states, level), rtol=0, atol=1e-8)
    motor = [x.motor for x in states]
    assert np.ptp(motor) > 0.1
    np.testing.assert_allclose(found.of("A").couple[:, 2], motor, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion.efforts("motor").push("coordinate"), motor, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        motion.measured(mg.measures.Effort("motor")).ravel(), -np.array(motor), rtol=0, atol=1e-9
    )


def test_power_balance() -> None:
    """What forces and the driver deliver between two instants is what the mechanism gains."""
    first = timed.ram_state(RAM, 1.3, ANGLE, RATE)
    motion = mg.simulate(
        timed.ram(), mg.state(timed.ram(), first.q, first.v), 0.4, t0=1.3, samples=401, rtol=1e-11, atol=1e-11
    )
    gained = motion.kinetic_energy()[-1] - motion.kinetic_energy()[0]
    delivered = np.trapezoid(motion.power().total, motion.t)
    assert abs(gained) > 0.1
    assert delivered == pytest.approx(gained, abs=1e-5)  # h^2 / 12 times the change of the slope of the power


def test_batches_have_power_and_energies() -> None:
    model, p = timed.arm({**ARM, "tide": 0.0}), {**ARM, "tide": 0.0}
    y = timed.arm_start(ARM) + np.array([[0.0], [0.1], [0.3]])
    motion = mg.simulate(model, mg.state(model, y[:, :2], y[:, 2:]), 0.1, step=0.01, samples=3, t0=1.3)
    for k in range(3):
        for i, t in enumerate(motion.t):
            q, v = motion.q[k, i], motion.v[k, i]
            forces = timed.arm_forces(p, t, q, v)
            tip = mg.kinematics.marker_motion(model, ["tip"], q, v).velocity[0]
            wanted = forces.motors @ v + forces.rope @ tip[[0, 2]]
            assert motion.power().laws[k, i] == pytest.approx(wanted, abs=1e-9)


# ---- nothing left out


def test_a_state_that_is_given_has_its_time() -> None:
    y = timed.arm_start(ARM)
    start = mg.state(timed.arm(), y[:2], y[2:], t=1.3)
    motion = mg.simulate(timed.arm(), start, 0.1, samples=3)
    assert motion.t[0] == 1.3
    late = mg.simulate(timed.arm(), mg.state(timed.arm(), y[:2], y[2:]), 0.1, samples=3, t0=1.3)
    early = mg.simulate(timed.arm(), mg.state(timed.arm(), y[:2], y[2:]), 0.1, samples=3)
    np.testing.assert_array_equal(motion.q, late.q)
    assert np.abs(motion.q - early.q).max() > 1e-6


CLOCKS = ("t", "t0", "time", "times")
SPACES = "constraints drawing forces formulations functions kinematics measures objectives results schemes terms"
ROOMS = ["mechgrad", *(f"mechgrad.{room}" for room in f"io gallery visualization optimization.motion {SPACES}".split())]
HERE, MARCHES, GRADIENTS = (
    "simulation/test_time_states.py",
    "simulation/test_time.py",
    "sensitivities/test_time_gradients.py",
)
FUNCTIONS = "model/test_model_functions.py"
INSTANTS = "sensitivities/test_several_instants.py"
TRACKING = "sensitivities/test_tracking.py"
COVERED = {
    "Trajectory.at": ("simulation/test_dense_output.py", "test_a_late_start_and_reported_instants"),
    "four_bars_angle": ("gallery/test_hard.py", "test_parallelograms_swing_as_one_pendulum"),
    "free_top_motion": ("gallery/test_hard.py", "test_the_closed_form_of_the_free_top_is_a_motion_by_eulers_equations"),
    "heavy_top_height": ("gallery/test_hard.py", "test_the_heavy_top_nods_as_lagrange_found"),
    "assemble": (HERE, "test_assembly"),
    "state": (HERE, "test_a_state_that_is_given_has_its_time"),
    "inverse_dynamics": (
        "mechanics/test_torques.py",
        "test_torques_are_those_that_forward_dynamics_turns_into_the_motion",
    ),
    "inverse_dynamics_derivatives": ("mechanics/test_torque_derivatives.py", "test_by_parameters"),
    "solve_velocities": (HERE, "test_assembly"),
    "solve_accelerations": (HERE, "test_assembly"),
    "velocities_from_points": (HERE, "test_assembly"),
    "mobility": (HERE, "test_mobility"),
    "independent_coordinates": (HERE, "test_mobility"),
    "kinematic_motion": (HERE, "test_kinematic_motion"),
    "forward_dynamics": (HERE, "test_accelerations"),
    "forward_dynamics_derivatives": ("mechanics/test_accelerations.py", "test_derivatives_by_complex_step"),
    "motion_terms": (HERE, "test_terms_of_motion"),
    "constraint_terms": (HERE, "test_terms_of_constraints"),
    "joint_reactions": (HERE, "test_reactions"),
    "inverse_dynamics_gradient": ("mechanics/test_torque_hessian.py", "test_gradient_of_every_mechanism"),
    "inverse_dynamics_hessian": ("mechanics/test_torque_hessian.py", "test_hessian_of_every_mechanism"),
    "joint_reactions_derivatives": ("mechanics/test_reaction_derivatives.py", "test_by_parameters"),
    "equilibrium": (HERE, "test_equilibrium"),
    "linearise": ("linearisation/test_small_motions.py", "test_loops_against_complex_steps_through_accelerations"),
    "Mode.motion": ("linearisation/test_closed_forms.py", "test_"),
    "simulate": (MARCHES, "test_order_of_every_scheme_on_a_loop"),
    "AtTime": (GRADIENTS, "test_values_at_an_instant"),
    "AtTimes": (INSTANTS, "test_values_at_instants_are_those_of_single_instants"),
    "SmoothMaximum": (INSTANTS, "test_the_smooth_maximum_keeps_its_word"),
    "Samples": (TRACKING, "test_"),
    "Tracking": (TRACKING, "test_"),
    # knots of functions, evaluated within and beyond them
    "Table": (FUNCTIONS, "test_"),
    "Spline": (FUNCTIONS, "test_"),
    # results, made by what is listed above
    "State": (HERE, "test_assembly"),
    "Equilibrium": (HERE, "test_equilibrium"),
    "GuidedMotion": (HERE, "test_kinematic_motion"),
    "Trajectory": (MARCHES, "test_order_of_every_scheme_on_a_loop"),
    "SavedMotion": ("io/test_recipes.py", "test_a_saved_motion_has_its_states_and_can_be_repeated"),
    "MotionSensitivities": (GRADIENTS, "test_"),
}
ELSEWHERE = {
    "Recipe": "what `simulate` was given: tests of recipes begin at other times",
    "plot_demo": "draws over the instants it is given",
    "plot_torques": "draws over the instants it is given",
    "plot_sensitivities": "draws over the instants it is given",
    "Viewer.follow": "shows what a march tells it, whenever that is",
    "Scene": "what is seen: instants of the motion that it is given",
    "GroundReactions": "a result; planned motions begin at 0 by definition",
    "UserConstraint": "a flag: whether the function is given its share of the motion",
    "UserTerm": "a flag: whether the function is given its share of the motion",
}
ALONG = {
    "measured": "test_power_reactions_and_energies_of_a_motion",
    "efforts": "test_power_reactions_and_energies_of_a_motion",
    "power": "test_power_reactions_and_energies_of_a_motion",
    "reactions": "test_power_reactions_and_energies_of_a_motion",
    "spring_energy": "test_power_reactions_and_energies_of_a_motion",
    "kinetic_energy": "test_power_reactions_and_energies_of_a_motion",
}
# of positions, sums of the others, drawings, or views; `at` is among those that are covered
TIMELESS = {"at", "potential_energy", "energy", "markers", "plot", "report", "rows", "save"}


def timed_functions() -> set[str]:
    """Public functions, classes and methods that take a time."""
    found = set()
    for room in ROOMS:
        module = importlib.import_module(room)
        for key in module.__all__:
            thing = getattr(module, key)
            members = {key: thing}
            if inspect.isclass(thing):
                members |= {
                    f"{key}.{m}": f for m, f in inspect.getmembers(thing, callable) if not m.startswith("_")
                }  # fmt: skip
            for where, f in members.items():
                try:
                    names = inspect.signature(f).parameters
                except (TypeError, ValueError):  # exceptions and built-in types say nothing
                    continue
                if any(name in CLOCKS for name in names):
                    found.add(where)
    # weights and instants of objectives, which gradients ask for: AtTime and integrals are in the table
    return {where for where in found if not where.endswith((".weights", ".instants", ".quadrature", ".density"))}


def test_every_public_function_of_time_is_tested_at_another_time_than_zero() -> None:
    """A new function with a time needs a test at t != 0: write it, and name it above."""
    assert timed_functions() == set(COVERED) | set(ELSEWHERE)
    for file, test in set(COVERED.values()):
        assert f"def {test}" in (Path(__file__).parents[1] / file).read_text()
    methods = {m for m, f in inspect.getmembers(mg.Trajectory, inspect.isfunction) if not m.startswith("_")}
    assert methods == set(ALONG) | TIMELESS
    for test in ALONG.values():
        assert callable(globals()[test])
