"""Implicit steps that control their error: their promise is kept, their lengths are held, and their derivative is that
of all that was computed, what lies between their ends included."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "sensitivities"))
import gradient_mechanisms as mechanisms

import mechgrad as mg
from mechgrad.model.columns import STEP
from mechgrad.simulation.simulate import simulate_again

T0 = 0.7  # forces change in time

EXACT_R = mg.formulations.MatrixR(tolerance=1e-13)  # Newton's iteration leaves no more of its own
WAYS = {
    "ali3p": ("five-bar", mg.formulations.ALI3P(tolerance=1e-13), "hht"),
    "index1": ("five-bar", mg.formulations.Index1(), "generalized-alpha"),
    "penalty": ("five-bar", mg.formulations.Penalty(), "newmark"),
    "matrix-r": ("five-bar", EXACT_R, "hht"),
    "ball in a loop": ("slider-crank", mg.formulations.ALI3P(tolerance=1e-13), "trapezoidal"),
    "tree": ("tree", mg.formulations.SemiRecursive(), "trapezoidal"),
    "fixed point": ("tree", mg.formulations.FullyRecursive(), "hht"),
}
GOALS: dict[str, tuple[list[Any], list[str]]] = {
    "five-bar": (
        [
            mg.AtEnd(mg.measures.PointVelocity("P2")),
            mg.Integral(mg.measures.KineticEnergy()),
            mg.objectives.AtTime(T0 + 0.0617, mg.measures.PointAcceleration("P2")),
            mg.objectives.AtTime(T0 + 0.0411, mg.measures.JointReaction("A")),
        ],
        ["A1.mass", "S1.stiffness", "L_A1", "motor.torque.values.2", "gravity.y", "start.velocity.A"],
    ),
    "slider-crank": (
        [
            mg.AtEnd(mg.measures.PointPosition("D")),
            mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointVelocity("D")),
            mg.objectives.AtTime(T0 + 0.0617, mg.measures.PointAcceleration("D")),
        ],
        ["slider.mass", "S1.stiffness", "gravity.z", "start.velocity.crank axis"],
    ),
    "tree": (
        [
            mg.AtEnd(mg.measures.PointPosition("c.com")),
            mg.Integral(mg.measures.KineticEnergy()),
            mg.objectives.AtTime(T0 + 0.0617, mg.measures.PointAcceleration("c.com")),
        ],
        ["b.mass", "c.com.x", "spring.stiffness", "motor.torque.amplitude", "ball.origin.x", "start.velocity.hinge"],
    ),
}


def thrown() -> tuple[mg.Model, mg.State]:
    """A body that tumbles, another one on a ball joint, a spring and a motor that changes in time."""
    bodies = [
        mg.Body("a", 1.2, com=(0.1, 0.0, 0.05), inertia=(0.02, 0.03, 0.04)),
        mg.Body("b", 0.5, com=(0.0, 0.1, -0.2), inertia=(0.01, 0.02, 0.015)),
        mg.Body("c", 0.3, com=(0.1, 0.0, 0.0), inertia=(0.004, 0.003, 0.005)),
    ]
    joints = [
        mg.Floating("free", "ground", "a"), mg.Spherical("ball", "a", "b", (0.2, 0.0, 0.1)),
        mg.Revolute("hinge", "b", "c", (0.0, 0.1, 0.0), axis=(0, 1, 0)),
    ]  # fmt: skip
    spring = mg.forces.SpringDamper("spring", "c.com", "ground.origin", 40.0, 0.4, 0.3)
    motor = mg.forces.Motor("motor", "hinge", mg.functions.Harmonic(0.05, 1.5))
    model = mg.Model("thrown", bodies, joints, forces=[spring, motor])
    rng = np.random.default_rng(8)
    q = np.asarray(model.integrate(model.neutral(), rng.uniform(-0.7, 0.7, model.n_v)))
    return model, mg.state(model, q, 2.0 * rng.normal(size=model.n_v), t=T0)


def moved(mechanism: str, formulation: Any, scheme: str, **options: Any) -> mg.Trajectory:
    if mechanism == "five-bar":
        model, start = mechanisms.driven_five_bar()
    elif mechanism == "slider-crank":
        model, start = mechanisms.spatial_slider_crank(cut="slide")
    else:
        model, start = thrown()
    more = {"duration": 0.1, "t0": T0, "rtol": 1e-5, "atol": 1e-5, "samples": 6} | options
    return mg.simulate(model, start, formulation=formulation, scheme=scheme, **more)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_those_of_the_steps_taken(way: str) -> None:
    motion = moved(*WAYS[way])
    lengths = np.diff(motion.record.held[:, 0])
    assert motion.steps > 10
    assert np.ptp(lengths) > 0.2 * lengths.max()
    goals, wrt = GOALS[WAYS[way][0]]
    exact = mg.gradient(motion, goals, wrt, method="complex").array
    size = np.abs(exact).max(axis=0)
    assert np.all(size > 0.0)
    for method in ("direct", "adjoint"):
        found = mg.gradient(motion, goals, wrt, method=method).array
        assert np.all(np.abs(found - exact) < 1e-9 * size), method


# ---- the same steps once more


@pytest.mark.parametrize("way", ["ball in a loop", "matrix-r", "fixed point"])
def test_steps_are_held(way: str) -> None:
    """To the last bit; with imaginary parts as well as Newton's iteration tells."""
    motion = moved(*WAYS[way])
    start = motion.recipe.start
    again = simulate_again(motion, motion.model, start)
    finer = simulate_again(motion, motion.model, start, samples=51)
    assert again.steps == finer.steps == motion.steps
    for x, y, z in zip(*((m.q, m.v, m.a, m.multipliers) for m in (motion, again, finer)), strict=True):
        np.testing.assert_array_equal(y, x)
        np.testing.assert_array_equal(z[::10], x)
    own = simulate_again(motion, motion.model, start, own_steps=True)
    np.testing.assert_array_equal(own.q, motion.q)
    tight = replace(motion.recipe, rtol=1e-7, atol=1e-7).simulate()
    assert tight.steps > 5 * motion.steps
    held = replace(tight, record=replace(tight.record, held=motion.record.held, choices=motion.record.choices))
    np.testing.assert_array_equal(simulate_again(held, motion.model, start).q, motion.q)  # the steps, not the tolerance


@pytest.mark.parametrize("way", ["ball in a loop", "matrix-r"])
def test_histories_at_reported_instants(way: str) -> None:
    """They lie between steps, where Euler parameters are interpolated on the group."""
    motion = moved(*WAYS[way])
    _, wrt = GOALS[WAYS[way][0]]
    found = mg.motion_sensitivities(motion, wrt)
    mass = motion.model.value(wrt[0])
    changed = motion.model.with_values({wrt[0]: mass + 1j * STEP})
    again = simulate_again(motion, changed, mg.state(changed, motion.q[0], motion.v[0], t=T0))
    np.testing.assert_allclose(again.q.real, motion.q, rtol=0, atol=1e-11)
    # multipliers are what Newton's iteration leaves, divided by the square of the step
    pairs = ((again.v, found.v, 1e-9), (again.a, found.a, 1e-9), (again.multipliers, found.multipliers, 1e-8))
    for x, mine, limit in pairs:
        exact = x.imag / STEP
        assert np.abs(exact).max() > 1e-6
        np.testing.assert_allclose(mine[:, :, 0], exact, rtol=0, atol=limit * np.abs(exact).max())
    at = motion.model.layout.plain_q, motion.model.layout.plain_v
    exact = again.q.imag[:, at[0]] / STEP
    np.testing.assert_allclose(found.q[:, at[1], 0], exact, rtol=0, atol=1e-9 * np.abs(exact).max())
    speed = found.of(mg.measures.PointVelocity("D" if way == "ball in a loop" else "P2"))
    wanted = again.measured(mg.measures.PointVelocity("D" if way == "ball in a loop" else "P2")).imag / STEP
    np.testing.assert_allclose(speed[..., 0], wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


# ---- the promise


@pytest.mark.parametrize("tolerance", [1e-5, 1e-7])
@pytest.mark.parametrize(("mechanism", "formulation"), [("five-bar", EXACT_R), ("slider-crank", EXACT_R)], ids=str)
def test_the_tolerance_is_kept(mechanism: str, formulation: Any, tolerance: float) -> None:
    """Beside DOP853: each step is granted its share, and what the motion itself enlarges comes on top."""
    tight = {"rtol": 1e-12, "atol": 1e-12}
    exact = moved(mechanism, mg.formulations.Index1(), "dop853", **tight)
    found = moved(mechanism, formulation, "trapezoidal", rtol=tolerance, atol=tolerance)
    errors = [np.abs(x - y).max() for x, y in ((found.q, exact.q), (found.v, exact.v))]
    speed = np.abs(exact.v).max()
    assert errors[0] < 5 * tolerance
    assert errors[1] < 5 * tolerance * (1.0 + speed)
    assert errors[0] > 1e-3 * tolerance  # steps are as long as they may be


@pytest.mark.parametrize("way", ["matrix-r", "fixed point"])
def test_what_cannot_be_kept_is_said(way: str) -> None:
    with pytest.raises(mg.StepFailed, match=r"too small for the tolerance.*Loosen rtol and atol") as caught:
        moved(*WAYS[way], rtol=1e-30, atol=1e-30)
    motion = caught.value.trajectory
    assert motion.t.tolist() == [T0]
    np.testing.assert_array_equal(motion.at(T0).q, motion.q[0])


def test_held_steps_end_where_they_do() -> None:
    """Those of a motion that met its stop condition reach to the end of the last one."""
    motion = moved(*WAYS["matrix-r"], stop=lambda t, q, v: t - T0 - 0.0432, duration=0.3)
    assert motion.ended == "stop"
    assert motion.t[-1] == pytest.approx(T0 + 0.0432, abs=1e-12)
    np.testing.assert_allclose(motion.at(motion.t[-1]).q, motion.q[-1], rtol=0, atol=1e-12)
    with pytest.raises(mg.InputError, match=r"steps that are held end at t = 0\.\d+ s.*own_steps=True"):
        simulate_again(motion, motion.model, motion.recipe.start)
    again = simulate_again(motion, motion.model, motion.recipe.start, own_steps=True)
    assert again.ended == "duration"
