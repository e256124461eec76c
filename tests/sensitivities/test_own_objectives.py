"""A new objective is one class: what it weighs, and at which instants. Every method differentiates it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mechgrad as mg

WRT = ["A1.mass", "S1.stiffness", "start.position.A"]


class Mean(mg.Integral):
    """Over time."""

    def density(self, t):
        return np.full(len(t), 1.0 / (t[-1] - t[0]))


class Late(mg.Integral):
    """Weighted by time: nothing counts at the start."""

    def density(self, t):
        return t


class Ends(mg.objectives.Term):
    """The sum of the first and twice the last value."""

    def weights(self, t, rule):
        w = np.zeros(len(t))
        w[0], w[-1] = 1.0, 2.0
        return w


class Last(mg.objectives.Term):
    """Three times the last value."""

    def instants(self, t):
        return slice(len(t) - 1, None)

    def weights(self, t, rule):
        return np.concatenate([np.zeros(len(t) - 1), [3.0]])


@cache
def motion():
    model = mg.gallery.five_bar()
    return mg.simulate(model, mg.assemble(model, {"A": 0.1, "1": -0.2}), duration=0.1, step=2e-3)


PLACE = mg.measures.PointPosition("P2")
SAME = {
    "mean": (Mean(PLACE), mg.Integral(PLACE) / 0.1),
    "late": (Late(PLACE), mg.Integral(lambda x, t: x * t[:, None], PLACE)),
    "ends": (Ends(PLACE), mg.AtTime(0.0, PLACE) + 2.0 * mg.AtEnd(PLACE)),
    "last": (Last(PLACE), 3.0 * mg.AtEnd(PLACE)),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_it_is_what_others_are_together(name, method):
    own, known = (mg.gradient(motion(), goal, WRT, method=method) for goal in SAME[name])
    np.testing.assert_allclose(own.values, known.values, rtol=1e-13)
    np.testing.assert_allclose(own.array, known.array, rtol=1e-12, atol=1e-13)
    assert np.abs(own.array).max() > 1e-2
    assert own.certify(tolerance=1e-7).passed


@pytest.mark.parametrize("name", ["mean", "late", "last"])
def test_continuous_adjoints_ask_for_no_types(name):
    own, known = (mg.gradient(motion(), goal, WRT, method="continuous-adjoint") for goal in SAME[name])
    np.testing.assert_allclose(own.array, known.array, rtol=1e-12, atol=1e-13)
    exact = mg.gradient(motion(), SAME[name][1], WRT).array
    np.testing.assert_allclose(own.array, exact, rtol=0, atol=2e-2 * np.abs(exact).max())  # another discretisation


def test_instants_within_a_motion_are_told():
    for goal in (SAME["ends"][0], mg.AtTime(0.05, PLACE)):
        with pytest.raises(mg.InputError, match="makes the continuous adjoint jump there"):
            mg.gradient(motion(), goal, WRT, method="continuous-adjoint")


def test_one_state_has_no_integrals():
    state = mg.assemble(motion().model, {"A": 0.1, "1": -0.2})
    with pytest.raises(mg.InputError, match="Mean needs a motion"):
        mg.gradient(state, Mean(PLACE), ["start.position.A"])
    assert mg.gradient(state, Last(PLACE), ["start.position.A"]).shape == (3, 1)
