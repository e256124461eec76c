"""Derivatives of motions that are hard to integrate: exact where the motion is regular, refused where it branches."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery.hard import bricard, four_bars, seven_body, seven_body_start
from mechgrad.gallery.tops import free_top

GOALS = {
    "bricard": (mg.AtEnd(mg.measures.JointCoordinate("A")), ["bar 2.mass", "bar 4.inertia.yy"]),
    "seven": (mg.AtEnd(mg.measures.JointCoordinate("beta")), ["K2.mass", "spring.stiffness"]),
    "top": (mg.AtEnd(mg.measures.JointVelocity("free.wx")), ["top.inertia.yy", "start.velocity.free.wx"]),
}


def hard_motion(case, how):
    if case == "bricard":
        model = bricard()
        return mg.simulate(model, model.neutral(), duration=0.4, **how)
    if case == "seven":
        model = seven_body()
        return mg.simulate(model, seven_body_start(model), duration=0.002, **how)
    model, q, v = free_top()
    return mg.simulate(model, mg.state(model, q, v), 0.8, **how)


TIGHT = {"rtol": 1e-9, "atol": 1e-9}
CASES = [
    ("bricard", {"step": 2e-3}),
    ("bricard", TIGHT),
    ("bricard", {"formulation": "matrix-r", "scheme": "rk4", "step": 2e-3}),
    ("seven", {"step": 1e-5}),
    ("seven", TIGHT),
    ("top", {"formulation": "semi-recursive", "scheme": "trapezoidal", "step": 5e-3}),
    ("top", TIGHT),
]


@pytest.mark.parametrize(("case", "how"), CASES)
def test_direct_and_adjoint_are_the_complex_step(case, how):
    motion = hard_motion(case, how)
    goal, names = GOALS[case]
    wanted = mg.gradient(motion, goal, names, method="complex").array
    assert np.abs(wanted).min() > 0.0
    for method in ("direct", "adjoint"):
        found = mg.gradient(motion, goal, names, method=method).array
        np.testing.assert_allclose(found, wanted, rtol=2e-7)


@pytest.mark.parametrize(
    "how", [{"step": 1e-3}, {"step": 1e-3, "scheme": "generalized-alpha"}, {"formulation": "index1", **TIGHT}]
)
def test_beyond_a_change_point_there_is_none(how):
    """Whatever passes it: the derivative is refused with the instant."""
    model, state = four_bars(2)
    q, v = state(np.pi / 2, 1.0)
    motion = mg.simulate(model, mg.state(model, q, v), 1.0, **how)
    with pytest.raises(InputError, match=r"lose their rank near t = 0\.7[01]"):
        mg.gradient(motion, mg.AtEnd(mg.measures.JointCoordinate("A0")), ["upright 0.mass"])
