"""A kind of step of one's own is one folder (`support.symplectic_euler`), and all verbs know it."""

from __future__ import annotations

import numpy as np
import pytest
from support.symplectic_euler import methods
from support.symplectic_euler.step import SymplecticEuler

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import double_pendulum
from mechgrad.steps import methods as registry
from mechgrad.steps.methods import method_of

WRT = ["*.mass", "*.com.*", "gravity.*", "start.position.*", "start.velocity.*"]


def swing(**how: object) -> mg.Trajectory:
    model = double_pendulum()
    return mg.simulate(model, mg.state(model, [0.4, -0.3], [0.2, 0.5]), 0.5, scheme="symplectic-euler", **how)  # type: ignore[arg-type]


def test_it_is_found_by_its_name_and_is_of_first_order() -> None:
    model = double_pendulum()
    exact = mg.simulate(model, mg.state(model, [0.4, -0.3], [0.2, 0.5]), 0.5, rtol=1e-11, atol=1e-11).q[-1]
    errors = [np.abs(swing(step=h).q[-1] - exact).max() for h in (2e-3, 1e-3)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.05)
    motion = swing(step=0.01)
    assert method_of(motion.formulation, motion.scheme, False) is methods.METHOD
    assert isinstance(motion.scheme, SymplecticEuler)
    np.testing.assert_array_equal(motion.recipe.simulate().q, motion.q)


def test_gradients_know_it() -> None:
    motion = swing(step=0.01)
    goals = {
        "end": mg.AtEnd(mg.measures.JointVelocity(motion.model.v_names[1])),
        "way": mg.Integral(lambda a: a**2, mg.measures.JointAcceleration(motion.model.v_names[0])),
    }
    by = {method: mg.gradient(motion, goals, WRT, method=method).array for method in ("direct", "adjoint", "complex")}
    size = np.abs(by["complex"]).max(axis=1, keepdims=True)
    assert (np.abs(by["complex"]).max(axis=0) > 1e-6).sum() > 8
    assert np.abs((by["direct"] - by["complex"]) / size).max() < 1e-12
    assert np.abs((by["adjoint"] - by["complex"]) / size).max() < 1e-12
    assert mg.gradient(motion, goals["end"], ["start.position.*"]).certify().passed


def test_what_nobody_serves_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_here", lambda: ())
    with pytest.raises(InputError, match=r"no kind of step serves .* without a step"):
        method_of(mg.formulations.FullyRecursive(), SymplecticEuler(), True)
