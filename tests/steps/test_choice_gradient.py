"""Gradients of motions along which Matrix R chooses other coordinates and rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.dead_points import begin_with, rockers, six_bar, whirling_five_bar

import mechgrad as mg
from mechgrad.simulation.simulate import simulate_again
from mechgrad.steps.matrix_r import pieces as independent
from mechgrad.steps.runge_kutta import pieces as explicit
from mechgrad.typing import FloatArray

SCHEMES: dict[str, dict[str, Any]] = {
    "rk4": {"scheme": "rk4", "step": 2e-3},
    "dop853": {"scheme": "dop853", "samples": 131},
    "trapezoidal": {"scheme": "trapezoidal", "step": 2e-3},
    "generalized-alpha": {"scheme": "generalized-alpha", "step": 2e-3},
}
IDS = list(SCHEMES)
TIGHT = mg.formulations.MatrixR(tolerance=1e-13)  # complex steps feel the tolerance of Newton's iteration
WRT = ["crank.mass", "B.origin.x", "D.origin.x", "coupler.com.x", "rocker.inertia.zz", "gravity.y", "start.position.A",
       "start.velocity.A"]  # fmt: skip


def goals() -> dict[str, mg.objectives.Objective]:
    """Velocities at the end; accelerations and multipliers all along, on both sides of every change."""
    along = mg.Integral(
        lambda a, force: (a * a).sum(-1) + 0.1 * force**2,
        mg.measures.PointAcceleration("P"),
        mg.measures.Multiplier("D: point x"),
    )
    return {
        "end": mg.AtEnd(mg.measures.PointVelocity("P")),
        "along": along,
        "halfway": mg.AtTime(0.9, mg.measures.JointVelocity("C")),
    }


def scaled(found: FloatArray, exact: FloatArray) -> float:
    """Largest error beside the largest derivative of each objective that moves at all."""
    size = np.abs(exact).max(axis=1, keepdims=True)
    moving = size[:, 0] > 1e-9
    return float((np.abs(found - exact)[moving] / size[moving]).max())


@pytest.mark.parametrize("name", IDS)
def test_all_methods_agree_through_changes(name: str) -> None:
    model, start = rockers()
    motion = mg.simulate(model, start, duration=1.3, formulation=TIGHT, **SCHEMES[name])
    assert len(motion.choices) >= 3  # two changes or more
    by = {method: mg.gradient(motion, goals(), WRT, method=method).array for method in ("direct", "adjoint", "complex")}
    exact = by["complex"]
    # every parameter matters for some objective, by more than a thousandth of the largest
    assert (np.abs(exact) / np.maximum(np.abs(exact).max(axis=1, keepdims=True), 1e-9)).max(axis=0).min() > 1e-3
    assert scaled(by["adjoint"], by["direct"]) < 1e-11
    # rounding times the growth of errors over 1.3 s (1e3), and of Newton's iteration at 1e-13
    assert scaled(by["direct"], exact) < 1e-9


@pytest.mark.parametrize("name", IDS)
def test_differences_see_the_same(name: str) -> None:
    model, start = rockers()
    motion = mg.simulate(model, start, duration=1.3, formulation=TIGHT, **SCHEMES[name])
    wrt = ["D.origin.x", "coupler.com.x", "start.velocity.A"]
    assert len(motion.choices) >= 3
    found = mg.gradient(motion, goals(), wrt, method="adjoint").array
    # a sweep of steps: about eps^(2/3) times third derivatives, which are large for such a motion
    assert scaled(mg.gradient(motion, goals(), wrt, method="fd").array, found) < 1e-5
    assert mg.gradient(motion, goals(), wrt, method="adjoint").certify().passed


@pytest.mark.parametrize("name", ["rk4", "trapezoidal", "generalized-alpha"])
def test_changes_between_reports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps between reports are taken again, with the choices that were made; a few at a time, if memory is short."""
    model, start = rockers()
    end = mg.AtEnd(mg.measures.PointVelocity("P"))
    how = {"duration": 1.3, "formulation": TIGHT, **SCHEMES[name]}
    every, few = mg.simulate(model, start, **how), mg.simulate(model, start, samples=6, **how)
    inside = [chosen.t for chosen in few.choices[1:] if np.abs(few.t - chosen.t).min() > 1e-3]
    assert inside
    whole = mg.gradient(every, end, WRT, method="direct").array
    for memory in (explicit.CHUNK_BYTES, 1):
        monkeypatch.setattr(explicit, "CHUNK_BYTES", memory)
        monkeypatch.setattr(independent, "CHUNK_BYTES", memory)
        for motion in (every, few):
            for method in ("direct", "adjoint"):
                assert scaled(mg.gradient(motion, end, WRT, method=method).array, whole) < 1e-11


@pytest.mark.parametrize("name", ["trapezoidal", "generalized-alpha"])
def test_a_change_at_a_report(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What coordinates chosen anew pull at the state before goes into the steps before, that come in another chunk."""
    model, start = rockers()
    how = {"formulation": TIGHT, **SCHEMES[name]}
    step = int(mg.simulate(model, start, duration=1.3, **how).record.choices.first[1])
    motion = mg.simulate(model, start, duration=2 * step * how["step"], samples=3, **how)
    assert motion.choices[1].t == pytest.approx(motion.t[1], abs=1e-12)
    end = mg.AtEnd(mg.measures.PointVelocity("P"))
    exact = mg.gradient(motion, end, WRT, method="complex").array
    monkeypatch.setattr(independent, "CHUNK_BYTES", 1)
    for method in ("direct", "adjoint"):
        assert scaled(mg.gradient(motion, end, WRT, method=method).array, exact) < 1e-9


@pytest.mark.parametrize("name", IDS)
def test_two_freedoms(name: str) -> None:
    model, start = whirling_five_bar()
    motion = mg.simulate(model, start, duration=0.7, formulation=TIGHT, **SCHEMES[name])
    assert len(motion.choices) >= 3
    assert {len(chosen.independent) for chosen in motion.choices} == {2}
    wrt = ["A1.mass", "23.com.x", "1.origin.x", "B.origin.y", "gravity.y", "start.position.A", "start.velocity.1"]
    end = mg.AtEnd(mg.measures.PointVelocity("P2"))
    by = {method: mg.gradient(motion, end, wrt, method=method).array for method in ("direct", "adjoint", "complex")}
    assert (np.abs(by["complex"]).max(axis=0) / np.abs(by["complex"]).max()).min() > 1e-4
    assert scaled(by["adjoint"], by["direct"]) < 1e-11
    assert scaled(by["direct"], by["complex"]) < 1e-9


@pytest.mark.parametrize("name", IDS)
def test_redundant_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of five closure rows are solved; one of them and the coordinate are exchanged at about 0.6 s. Lengths would
    tear the linkage apart, so they are no parameters."""
    begin_with(monkeypatch, 3)
    model = six_bar()
    motion = mg.simulate(model, np.zeros(5), duration=1.4, formulation=TIGHT, **(SCHEMES[name] | {"samples": 71}))
    assert len({chosen.rows for chosen in motion.choices}) > 1
    wrt = ["bar2.mass", "bar3.com.x", "bar3.com.z", "bar4.inertia.yy", "gravity.y"]
    end = mg.AtEnd(mg.measures.PointVelocity("P"))
    by = {method: mg.gradient(motion, end, wrt, method=method).array for method in ("direct", "adjoint", "complex")}
    assert (np.abs(by["complex"]).max(axis=0) / np.abs(by["complex"]).max()).min() > 1e-4
    assert scaled(by["adjoint"], by["direct"]) < 1e-11
    assert scaled(by["direct"], by["complex"]) < 1e-8


def test_multipliers_of_rows_that_are_solved() -> None:
    """Implicit steps give multipliers to the rows they solve, from the start on; their gradients follow."""
    model = six_bar()
    motion = mg.simulate(
        model, np.zeros(5), duration=1.4, formulation=TIGHT, scheme="trapezoidal", step=2e-3, samples=71
    )
    for k, chosen in ((0, motion.choices[0]), (-1, motion.choices[-1])):
        idle = [i for i, name in enumerate(motion.constraint_names) if name not in chosen.rows]
        assert len(idle) == 1
        assert motion.multipliers[k, idle[0]] == 0.0
        assert np.abs(motion.multipliers[k]).max() > 1.0
    along = mg.Integral(lambda force: force**2, mg.measures.Multiplier(motion.choices[0].rows[0]))
    wrt = ["bar2.mass", "bar3.com.x", "gravity.y"]
    by = {method: mg.gradient(motion, along, wrt, method=method).array for method in ("direct", "adjoint", "complex")}
    assert np.abs(by["complex"]).min() > 1e-3
    assert scaled(by["direct"], by["complex"]) < 1e-9
    assert scaled(by["adjoint"], by["complex"]) < 1e-9


@pytest.mark.parametrize("name", IDS)
def test_choices_are_held_when_a_motion_is_taken_again(name: str) -> None:
    """A mass that differs by a tenth would have other choices at other steps; those of the first motion are made."""
    model, start = rockers()
    how = {"duration": 1.3, "formulation": TIGHT, **SCHEMES[name]}
    motion = mg.simulate(model, start, **how)
    heavier = model.with_values({"coupler.mass": 1.65})
    own = mg.simulate(heavier, mg.state(heavier, start.q, start.v), **how)
    held = simulate_again(motion, heavier, mg.state(heavier, start.q, start.v))
    assert np.abs(own.q[-1] - motion.q[-1]).max() > 1e-3
    assert not np.array_equal(own.record.choices.first, motion.record.choices.first)
    assert held.choices == motion.choices
    np.testing.assert_array_equal(held.record.choices.picks, motion.record.choices.picks)
    # the motion is the same: coordinates are only a way to write it
    tolerance = {"rk4": 1e-4, "dop853": 1e-6}.get(name, 5e-2)
    assert np.abs(held.q[-1] - own.q[-1]).max() < tolerance


@pytest.mark.parametrize("scheme", ["rk4", "trapezoidal"])
def test_continuous_adjoint(scheme: str) -> None:
    """Of order two in the distance of instants, through changes too."""
    model, start = rockers()
    along = mg.Integral(lambda a: (a * a).sum(-1), mg.measures.PointAcceleration("P")) + mg.AtEnd(
        mg.measures.JointVelocity("B")
    )
    errors = []
    for step in (1e-3, 5e-4):
        motion = mg.simulate(model, start, duration=1.3, formulation=TIGHT, scheme=scheme, step=step)
        assert len(motion.choices) >= 3
        exact, found = (
            mg.gradient(motion, along, WRT, method=method).array for method in ("adjoint", "continuous-adjoint")
        )
        errors.append(scaled(found, exact))
    assert errors[1] < 5e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.3)
