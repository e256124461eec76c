"""Angles between directions beyond half a turn: a driven hinge turns on, and does not jump back by a full turn."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg

SPEED, START = 12.0, 0.3
TIMES = np.linspace(0.0, 1.5, 61)  # nearly three turns


def crank(angle=None, **more):
    """A disc on a hinge along z; the angle from x to its spoke is given. The hinge reads 0.4 where that is zero."""
    vectors = [
        mg.Vector("x", "ground", (2.0, 0.0, 0.0)),
        mg.Vector("z", "ground", (0.0, 0.0, 3.0)),
        mg.Vector("spoke", "disc", (np.cos(0.4), -np.sin(0.4), 0.0)),
    ]
    angle = mg.functions.Polynomial((START, SPEED)) if angle is None else angle
    return mg.Model(
        "crank", [mg.Body("disc", 1.3, com=(0.2, 0.1, 0.0), inertia=(0.1, 0.2, 0.3))],
        [mg.Revolute("axle", "ground", "disc", axis=(0, 0, 1))], [mg.Point("rim", "disc", (0.5, 0.2, 0.1))], vectors,
        gravity=(0, 0, 0), constraints=[mg.constraints.AngleBetween("turn", "x", "spoke", "z", angle=angle)], **more,
    )  # fmt: skip


WANTED = START + SPEED * TIMES + 0.4


def test_a_driven_angle_goes_on():
    motion = mg.kinematic_motion(crank(), TIMES)
    turns = np.round((motion.q[0, 0] - WANTED[0]) / (2 * np.pi)) * 2 * np.pi  # the first instant may be any turn
    np.testing.assert_allclose(motion.q[:, 0] - turns, WANTED, rtol=0, atol=1e-11)
    np.testing.assert_allclose(motion.v[:, 0], SPEED, rtol=0, atol=1e-11)
    assert motion.norms[:, 0].max() < 1e-11
    assert WANTED[-1] > 5 * np.pi


@pytest.mark.parametrize("formulation", ["ali3p", "index1"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_simulated_angle_goes_on(formulation, sign):
    """Rounding and Newton's tolerance are all that is left: the speed is constant."""
    model = crank(mg.functions.Polynomial((START, sign * SPEED)))
    start = mg.assemble(model, guess=[START + 0.4])
    scheme = {"ali3p": "trapezoidal", "index1": "rk4"}[formulation]
    motion = mg.simulate(model, start, duration=1.5, step=5e-3, formulation=formulation, scheme=scheme)
    np.testing.assert_allclose(motion.q[:, 0], START + 0.4 + sign * SPEED * motion.t, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion.v[:, 0], sign * SPEED, rtol=0, atol=1e-7)
    assert np.ptp(motion.q[:, 0]) > 5 * np.pi


@pytest.mark.parametrize("turns", [-3, -1, 0, 1, 2, 7])
@pytest.mark.parametrize("off", [-0.3, 0.0, 0.2, 3.0])
def test_values_count_from_the_nearest_turn(turns, off):
    """What the hinge misses the angle by, whatever turn it is in; alone and among other states."""
    model = crank(5.0)
    q = np.array([5.0 + 0.4 + off + 2 * np.pi * turns])
    assert mg.terms.constraint_terms(model, q).value[0] == pytest.approx(off, abs=1e-13)
    many = np.array([q + 0.01 * k for k in range(9)])
    np.testing.assert_allclose(
        mg.terms.constraint_terms(model, many).value[:, 0], off + 0.01 * np.arange(9), atol=1e-13
    )


@pytest.mark.parametrize("angle", [-9.0, -4.0, 4.0, 20.0])
def test_a_constant_angle_beyond_half_a_turn(angle):
    """It is met in the turn that is nearest to the guess."""
    for near in (-2, 0, 3):
        wanted = angle + 0.4 + 2 * np.pi * near
        state = mg.assemble(crank(angle), guess=[wanted + 0.5])
        assert state.q[0] == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_gradients_of_later_turns(method):
    """q = angle(t) + 0.4: by the coefficients of the angle 1 and t, as far as it turns."""
    motion = mg.kinematic_motion(crank(), TIMES)
    goals = [mg.AtTime(t, mg.measures.JointCoordinate("axle")) for t in TIMES[[0, 20, 60]]]
    g = mg.gradient(motion, goals, ["turn.angle.coefficients.0", "turn.angle.coefficients.1"], method=method)
    np.testing.assert_allclose(g.array, [[1.0, t] for t in TIMES[[0, 20, 60]]], atol=1e-12)
