"""Motions through configurations where constraints lose their rank: a right number or a clear error."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import five_bar, five_bar_start
from mechgrad.steps.rank import check_rank

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dynamics"))

from hard_mechanisms import four_bars, four_bars_angle

START, SPEED = 0.6, -1.0  # flat, at angle 0, after a quarter of a second
GOAL = mg.AtEnd(mg.measures.JointCoordinate("A0"))
WRT = ["start.position.A0"]


def motion(duration, formulation="ali3p", scheme="trapezoidal", step=1e-3, samples=None):
    model, state = four_bars(2)
    q, v = state(START, SPEED)
    start = mg.assemble(model, {"A0": q[0]}, {"A0": v[0]}, guess=q)
    return mg.simulate(
        model, start, duration=duration, step=step, samples=samples, formulation=formulation, scheme=scheme
    )


@pytest.mark.parametrize("method", ["direct", "adjoint", "continuous-adjoint", "complex", "fd"])
def test_a_parallelogram_that_passes_its_flat_configuration_has_no_derivative(method):
    with pytest.raises(InputError, match=r"lose their rank near t = 0\.2[56]\d* s.*could branch"):
        mg.gradient(motion(0.5), GOAL, WRT, method=method)
    with pytest.raises(InputError, match="lose their rank"):
        mg.motion_sensitivities(motion(0.5), WRT)


@pytest.mark.parametrize(
    "how", [("rk4", 1e-3, None), ("rk4", 1e-3, 2), ("dop853", None, 2), ("dop853", None, 201)], ids=str
)
def test_explicit_steps_say_so_too(how):
    """Whether their steps were reported or not; with error control they are long, and looked at within."""
    with pytest.raises(InputError, match=r"lose their rank near t = 0\.2[3-7]"):
        mg.gradient(motion(0.5, "index1", *how), GOAL, WRT)
    with pytest.raises(InputError, match="lose their rank"):
        mg.motion_sensitivities(motion(0.5, "index1", *how), WRT)
    before = mg.gradient(motion(0.2, "index1", *how), GOAL, WRT).array[0, 0]
    h = 1e-5
    ahead, behind = (four_bars_angle(2, START + d, SPEED, [0.0, 0.2])[-1] for d in (h, -h))
    assert before == pytest.approx((ahead - behind) / (2 * h), abs=1e-6)


@pytest.mark.parametrize(("scheme", "step"), [("dop853", None), ("rk4", 5e-3)])
def test_long_steps_of_other_motions_are_no_crossings(scheme, step):
    model, q = five_bar(), five_bar_start()
    start = mg.assemble(model, {"A": q[0], "1": q[1]}, {"A": 3.0, "1": -2.0}, guess=q)
    swing = mg.simulate(
        model, start, duration=1.0, scheme=scheme, step=step, samples=3, formulation="index1", rtol=1e-4, atol=1e-4
    )
    assert np.isfinite(mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("A")), ["A1.mass"]).array).all()


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_before_that_the_derivative_is_right(method):
    """Against the motion of one bar with the inertia of all, by differences."""
    h, end = 1e-5, 0.2
    ahead, behind = (four_bars_angle(2, START + d, SPEED, [0.0, end])[-1] for d in (h, -h))
    found = mg.gradient(motion(end), GOAL, WRT, method=method).array[0, 0]
    assert found == pytest.approx((ahead - behind) / (2 * h), abs=2e-5)
    assert abs(found) > 0.5


def test_where_constraints_yield_the_motion_itself_ends():
    model, state = four_bars(2)
    q, v = state(START, SPEED)
    with pytest.raises(mg.StepFailed, match="lose their rank there"):
        mg.simulate(model, mg.state(model, q, v), duration=0.5, step=1e-3, formulation="penalty")
    swing = mg.simulate(model, mg.state(model, q, v), duration=0.2, step=1e-3, formulation="penalty")
    assert np.isfinite(mg.gradient(swing, GOAL, ["upright 0.mass"]).array).all()


@pytest.mark.parametrize("offset", [0.0, 0.2, 0.5, 0.9])
def test_a_crossing_is_seen_wherever_steps_fall(offset):
    swing = mg.simulate(five_bar(), five_bar_start(), duration=0.01, step=1e-3)
    t = np.arange(40.0)
    with pytest.raises(InputError, match=r"near t = (19|20|21) s"):
        check_rank(swing.model, np.log(np.abs(t - 20.0 - offset) + 1e-12), t)
    check_rank(swing.model, np.log(np.hypot(t - 20.0 - offset, 2.0)), t)  # two steps away
    check_rank(swing.model, np.log(1.1 + np.sin(0.2 * t)), t)
