"""Horizons that grow: what counts in each, where they lead, and that nothing is lost on the way."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.design_cases import driven, rest_to_rest

import mechgrad as mg
from mechgrad.optimization.design.horizons import shortened

POSITION, VELOCITY = mg.measures.JointCoordinate("x"), mg.measures.JointVelocity("x")
TRUE = {"bob.com.z": -1.3, "start.position.pin": 2.0}


def pendulum(length: float) -> mg.Model:
    bob = mg.Body("bob", mass=2, com=(0, 0, -length))
    return mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])


@pytest.fixture(scope="module")
def swings() -> mg.DesignProblem:
    """Twelve seconds of wide swings, and a guess that is out of step long before the end."""
    t = np.linspace(0.1, 12.0, 120)
    true = mg.simulate(pendulum(1.3), {"pin": 2.0}, 12.0)
    data = mg.design.Measured(mg.measures.JointCoordinate("pin"), t, true.at(t).q[:, 0], sigma=1e-3)
    guess = mg.simulate(pendulum(0.8), {"pin": 1.5}, 12.0, step=0.02)
    bounds = {"bob.com.z": (-3.0, -0.5), "start.position.pin": (0.1, 3.0)}
    return mg.DesignProblem(guess, bounds, mg.design.LeastSquares(data))


def test_a_long_record_is_met_from_its_beginning_on(swings):
    """At once the search ends in a valley of its own; the first tenth of the record leads to the true numbers."""
    at_once = swings.solve()
    assert at_once.success
    assert at_once.value > 1e6
    grown = swings.solve(horizons=(0.1, 0.3))
    assert grown.success
    assert grown.values == pytest.approx(TRUE, abs=1e-6)
    assert grown.value < 1e-4
    assert [s.motion.t[-1] for s in grown.stages] == pytest.approx([1.2, 3.6])
    assert [sum(s.program.evaluator.counts) for s in grown.stages] == [12, 36]
    assert grown.identification().contains(TRUE)


def test_knots_of_a_drive_come_to_the_same_optimum():
    best, grown = rest_to_rest().solve(), rest_to_rest().solve(horizons=[0.5])
    assert grown.success
    assert grown.x == pytest.approx(best.x, abs=1e-3)
    assert grown.stages[0].motion.q[-1, 0] == pytest.approx(1.0)  # the end of the shorter one is an end, too
    assert grown.stages[0].motion.t[-1] == pytest.approx(0.5)


def test_what_is_asked_of_later_instants_is_left_out():
    at = mg.AtTime(0.75, POSITION) + 2.0 * mg.AtTime(0.2, POSITION)
    data = mg.objectives.AtTimes([0.1, 0.5, 0.9], POSITION)
    effort = mg.Integral(lambda f: f**2, mg.measures.Effort("motor"))
    limits = [
        mg.design.Limit(mg.AtTime(0.9, VELOCITY), upper=9.0, name="late"),
        mg.design.Limit(data, upper=9.0, name="some"),
        mg.design.Linear({"motor.torque.values.0": 1.0}, upper=9.0),
    ]
    whole = mg.DesignProblem(
        driven(), {"motor.torque.values.*": (-40.0, 40.0)}, [at, effort, mg.AtEnd(POSITION)], limits
    )
    half = shortened(whole, 0.5)
    t, x = (lambda motion: (motion.t, motion.q[:, 0]))(half.scenarios[0].repeat.made())
    assert t[-1] == pytest.approx(0.5)
    found = half.evaluate()
    assert found.values[0] == pytest.approx(2.0 * np.interp(0.2, t, x))
    assert found.values[2] == x[-1]
    assert found.values[3:] == pytest.approx(np.interp([0.1, 0.5], t, x))
    assert len(whole.evaluate().values) == 7  # three objectives, one late instant, three others
    assert half.constraints[-1] is limits[-1]
    with pytest.raises(mg.InputError, match=r"nothing of the objective happens before t = 0.1 s"):
        shortened(mg.DesignProblem(driven(), ["block.mass"], at - 2.0 * mg.AtTime(0.2, POSITION)), 0.1)


def test_states_stay_and_guided_motions_end_earlier():
    bob = pendulum(1.0)
    turn = mg.kinematic_motion(bob, np.linspace(0.0, 2.0, 9), {"pin": mg.functions.Polynomial((0, 1))})
    pin = mg.measures.JointCoordinate("pin")
    scenarios = {"turn": turn, "rest": mg.equilibrium(bob, at={"pin": 0.3})}
    wanted = {"turn": mg.Integral(lambda x: x[:, 0], mg.measures.PointPosition("bob.com")), "rest": mg.AtEnd(pin)}
    from mechgrad.optimization.design.goals import Total

    half = shortened(mg.DesignProblem(scenarios, ["bob.com.z"], Total(wanted)), 0.5)
    first, second = (s.repeat.made() for s in half.scenarios)
    assert first.t.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert second.q == pytest.approx([0.3])


def test_a_run_that_was_killed_goes_on_within_its_horizon(swings, tmp_path):
    """Each horizon has a log; cut within any of them, the run ends as it would have."""
    whole = swings.solve(horizons=(0.1, 0.3), log=tmp_path / "run.jsonl")
    logs = [tmp_path / f"run{x}.jsonl" for x in (".horizon-1", ".horizon-2", "")]
    texts = [log.read_text() for log in logs]
    assert all(len(text.splitlines()) > 2 for text in texts)
    for killed in range(3):
        for k, (log, text) in enumerate(zip(logs, texts, strict=True)):
            log.unlink(missing_ok=True)
            lines = text.splitlines(keepends=True)
            if k == killed:
                log.write_text("".join(lines[:3]))
            elif k < killed:
                log.write_text(text)
        if killed < 2:
            logs[2].write_text(texts[2].splitlines(keepends=True)[0])  # made before anything is computed
        again = swings.solve(horizons=(0.1, 0.3), resume=tmp_path / "run.jsonl")
        assert again.values == whole.values
        assert any(e.replayed for s in (*again.stages, again) for e in s.history)
        assert [len(log.read_text().splitlines()) for log in logs] >= [len(x.splitlines()) for x in texts[:1]]
    assert json.loads(logs[0].read_text().splitlines()[1])["values"] != []


def test_an_interruption_ends_all_horizons(swings):
    told = swings.solve(horizons=(0.1, 0.3), progress=lambda record: record.iteration < 2)
    assert told.status == "interrupted"
    assert told.values == told.stages[-1].values
    assert len(told.history) <= 2


@pytest.mark.parametrize("shares", [(0.5, 0.25), (0.0, 0.5), (0.5, 1.0), (np.nan,), ("half",), "half", (True,)])
def test_horizons_that_are_none(swings, shares):
    with pytest.raises(mg.InputError, match="give increasing shares of the durations between 0 and 1"):
        swings.solve(horizons=shares)
