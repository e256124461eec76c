"""How a march behaves: starts that fail, error control, stop conditions, progress, and what is kept of a failure."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.errors import AssemblyError, InputError
from mechgrad.gallery.mechanisms import five_bar, five_bar_start
from mechgrad.kinematics.assembly import assemble
from mechgrad.simulation.simulate import simulate
from mechgrad.simulation.trajectory import StepFailed
from mechgrad.steps import cuts
from mechgrad.steps.schemes import HHT, GeneralizedAlpha, Newmark

MODEL, START = five_bar(), five_bar_start()
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def test_a_start_off_the_constraints_names_the_row():
    with pytest.raises(AssemblyError, match=r"does not meet constraint 'B: point [xy]'.*its value is 0\.\d+"):
        simulate(MODEL, START + np.array([0.1, 0, 0, 0]), 1.0, step=1e-3)
    with pytest.raises(AssemblyError, match=r"constraint 'B: point [xy]'.*its rate is"):
        simulate(MODEL, mg.state(MODEL, START, [1.0, 0, 0, 0]), 1.0, step=1e-3)


def test_what_cannot_be_reached_is_said_before_it_is_simulated():
    with pytest.raises(AssemblyError, match="cannot be put together"):
        assemble(MODEL, {"P2.x": 0.5, "P2.y": -9.0})


def test_a_state_brings_its_own_velocities():
    state = assemble(MODEL, guess=START, rates={"A": 1.0, "1": -0.5})
    assert simulate(MODEL, state, duration=0.1, step=1e-2).v[0, 0] == pytest.approx(1.0)
    with pytest.raises(TypeError, match="v0"):
        simulate(MODEL, state, 0.1, v0=np.zeros(4), step=1e-2)


# ---- error control of implicit steps


@pytest.mark.parametrize("formulation", ["ali3p", "index1", "penalty"])
@pytest.mark.parametrize("scheme", ["trapezoidal", "hht", "generalized-alpha"])
def test_controlled_steps_follow_the_tolerance(formulation, scheme):
    wanted = simulate(MODEL, START, duration=1.0, samples=11, **TIGHT)
    errors, steps = [], []
    for tolerance in (1e-4, 1e-6, 1e-8):
        motion = simulate(
            MODEL,
            START,
            duration=1.0,
            samples=11,
            formulation=formulation,
            scheme=scheme,
            rtol=tolerance,
            atol=tolerance,
        )
        errors.append(np.abs(motion.q - wanted.q).max())
        steps.append(motion.steps)
    assert errors[0] > 20 * errors[1] > 400 * errors[2], errors
    # errors add up: each step is granted its share of the tolerance, and the whole keeps it within what motions enlarge
    for error, tolerance in zip(errors, (1e-4, 1e-6, 1e-8), strict=True):
        assert error < 30 * tolerance
    # errors of third order in proportion to the step: a hundredth of the tolerance takes ten times the steps
    assert steps[2] / steps[1] == pytest.approx(10, rel=0.25)
    assert motion.norms[-1, 0] < 1e-5


def test_what_is_asked_for_does_not_change_controlled_steps():
    few, many = (
        simulate(MODEL, START, duration=1.0, scheme="trapezoidal", rtol=1e-6, atol=1e-6, samples=n) for n in (6, 101)
    )
    assert few.steps == many.steps
    np.testing.assert_allclose(few.q, many.q[::20], rtol=0, atol=1e-12)


def test_controlled_steps_take_real_numbers():
    with pytest.raises(InputError, match="takes real numbers"):
        simulate(MODEL, START + 0j, 1.0, scheme="trapezoidal")


# ---- stop, progress, samples


STOPPED = [
    ("ali3p", "trapezoidal"),
    ("ali3p", "hht"),
    ("matrix-r", "newmark"),
    ("index1", "rk4"),
    ("penalty", "generalized-alpha"),
    ("ali3p", "trapezoidal", 1e-6),
    ("matrix-r", "hht", 1e-6),
]


@pytest.mark.parametrize("way", STOPPED)
def test_stop_where_a_coordinate_passes_a_value(way):
    """The first coordinate passes -2.2 rad; the instant agrees with that of the method of order eight."""

    def stop(t, q, v):
        return q[:, 0] + 2.2

    exact = simulate(MODEL, START, duration=1.0, stop=stop, **TIGHT)
    formulation, scheme, *tolerance = way
    how = {"rtol": tolerance[0], "atol": tolerance[0]} if tolerance else {"step": 1e-3}
    motion = simulate(MODEL, START, duration=1.0, stop=stop, formulation=formulation, scheme=scheme, **how)
    assert exact.ended == motion.ended == "stop"
    assert abs(motion.q[-1, 0] + 2.2) < 1e-9
    assert np.all(motion.q[:-1, 0] < -2.2)
    assert motion.t[-1] == pytest.approx(exact.t[-1], abs=1e-5)
    assert np.all(np.diff(motion.t) > 0)
    assert motion.norms.shape == (len(motion.t), 3)


def test_progress_is_printed_and_changes_nothing(capsys):
    quiet = simulate(MODEL, START, duration=0.5, step=1e-3, samples=51)
    loud = simulate(MODEL, START, duration=0.5, step=1e-3, samples=51, progress=True)
    assert "100 %  t = 0.5 s" in capsys.readouterr().out
    np.testing.assert_allclose(loud.q, quiet.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("formulation", ["ali3p", "matrix-r"])
def test_samples_are_states_of_the_steps(formulation):
    rough, fine = (
        simulate(MODEL, START, duration=0.5, formulation=formulation, scheme="hht", step=1e-3, samples=n)
        for n in (6, None)
    )
    np.testing.assert_array_equal(rough.q, fine.q[::100])
    assert rough.iterations[1:].sum() == fine.iterations[1:].sum()


# ---- failures


def test_a_step_that_does_not_converge_keeps_the_motion(monkeypatch):
    how = {"duration": 5.0, "formulation": ALI3P(max_iterations=1), "scheme": "trapezoidal", "step": 0.05}
    assert simulate(MODEL, START, **how).cuts  # shorter steps converge
    monkeypatch.setattr(cuts, "FINEST", 2)
    with pytest.raises(StepFailed, match=r"ends at t = .*did not converge. Steps down to 1/1024 of it") as caught:
        simulate(MODEL, START, **how)
    kept = caught.value.trajectory
    assert len(kept.t) >= 1
    assert kept.ended == "the iteration of a step did not converge"
    assert np.all(np.isfinite(kept.q))


def test_a_motion_that_blows_up_keeps_what_it_was():
    """A negative spring drives the slider away exponentially, until numbers end."""
    away = mg.forces.TorsionSpring("away", "x", stiffness=-1e6)
    model = mg.Model("away", [mg.Body("b", 1.0)], [mg.Prismatic("x", "ground", "b")], forces=[away])
    for how in ({"step": 1e-2, "scheme": "rk4"}, {"step": 1e-2, "scheme": "trapezoidal"}):
        with pytest.raises(StepFailed) as caught:
            simulate(model, [1.0], duration=10.0, **how)
        kept = caught.value.trajectory
        assert 0 < len(kept.t) < 1001
        assert len(kept.q) == len(kept.t)
        assert np.isfinite(kept.q[0, 0])


def test_a_loop_that_blows_up_keeps_what_it_was():
    """Beyond 1e100 m/s squares overflow, and constraints could not be measured any more: the motion ends before."""
    away = mg.forces.TorsionSpring("away", "x", stiffness=-1e6)
    sliders = [mg.Prismatic("x", "ground", "a"), mg.Prismatic("y", "ground", "b")]
    gear = mg.constraints.Gear("gear", "x", "y", ratio=-0.4)
    model = mg.Model("away", [mg.Body("a", 1.0), mg.Body("b", 1.0)], sliders, constraints=[gear], forces=[away])
    for formulation in (mg.formulations.Index1(projection=False), mg.formulations.Penalty()):
        with pytest.raises(StepFailed, match=r"ends at t = \d.*not finite.*shorter step") as caught:
            simulate(model, [-0.4, 1.0], duration=10.0, step=1e-2, scheme="rk4", formulation=formulation)
        kept = caught.value.trajectory
        assert 10 < len(kept.t) < 1001
        assert 1e20 < np.abs(kept.v).max() < 1e100
        assert np.all(np.isfinite(np.hstack([kept.q, kept.v, kept.a, kept.norms])))


# ---- the numbers of a scheme


def test_schemes_by_their_numbers():
    """Order two needs gamma = 1/2 + alpha_f - alpha_m; the other relations are those of unconditional stability."""
    for scheme in (HHT(0.0), HHT(0.2), GeneralizedAlpha(0.0), GeneralizedAlpha(0.7), GeneralizedAlpha(1.0), Newmark()):
        beta, gamma, alpha_m, alpha_f = scheme.numbers
        assert gamma == pytest.approx(0.5 + alpha_f - alpha_m)
        assert beta == pytest.approx((0.5 + gamma) ** 2 / 4)
        assert alpha_m <= alpha_f <= 0.5
    for wrong in (lambda: HHT(0.4), lambda: GeneralizedAlpha(1.1), lambda: Newmark(0.0), lambda: Newmark(0.25, 0.4)):
        with pytest.raises(InputError, match="take"):
            wrong()


def test_names_that_are_no_schemes():
    with pytest.raises(mg.ModelError, match=r"'trapezoid'\. Did you mean 'trapezoidal'"):
        simulate(MODEL, START, 1.0, scheme="trapezoid")
    with pytest.raises(InputError, match="needs a step"):
        simulate(MODEL, START, 1.0, formulation="index1", scheme="rk4")
