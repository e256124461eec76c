"""A bead on a bent wire and a cam, against equations in one coordinate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mechgrad as mg

VALLEY = mg.functions.Spline((-1.0, -0.4, 0.1, 0.6, 1.2), (0.8, 0.1, -0.2, 0.05, 0.9), ends="not-a-knot")
WAVES = mg.functions.Harmonic(0.2, 0.7, phase=0.4, offset=0.1)
G = 9.81


def wire(curve: mg.functions.Function) -> mg.Model:
    """1.5 kg on a wire in the x-z plane."""
    return mg.Model(
        "wire", [mg.Body("slide"), mg.Body("bead", mass=1.5)],
        [mg.Prismatic("x", "ground", "slide", axis=(1, 0, 0)), mg.Prismatic("z", "slide", "bead", axis=(0, 0, 1))],
        vectors=[mg.Vector("forward", "ground", (2, 0, 0)), mg.Vector("up", "ground", (0, 0, 3))],
        constraints=[mg.constraints.PointOnCurve("wire", "bead.com", "ground.origin", "forward", "up", curve)],
    )  # fmt: skip


def slid(curve, x0: float, t: np.ndarray) -> np.ndarray:
    """(1 + f'^2) x'' + f' f'' x'^2 + g f' = 0, from rest."""

    def rate(_, y):
        f1, f2 = float(curve.rate(y[0])), float(curve.second(y[0]))
        return [y[1], -(f1 * f2 * y[1] ** 2 + G * f1) / (1 + f1**2)]

    return solve_ivp(rate, (0.0, t[-1]), [x0, 0.0], t_eval=t, rtol=1e-11, atol=1e-12, max_step=0.01).y


@pytest.mark.parametrize("curve", [VALLEY, WAVES], ids=["spline", "harmonic"])
@pytest.mark.parametrize("formulation", ["index1", "ali3p"])
def test_a_bead_slides_as_its_equation_says(curve, formulation):
    chosen = {"index1": mg.formulations.Index1(), "ali3p": mg.formulations.ALI3P()}[formulation]
    scheme, digits = ("rk4", 1e-7) if formulation == "index1" else ("trapezoidal", 2e-4)
    model = wire(curve)
    motion = mg.simulate(model, mg.assemble(model, {"x": 0.7}), 1.0, step=0.002, formulation=chosen, scheme=scheme)
    x, v = slid(curve, 0.7, motion.t)
    assert np.ptp(x) > 0.3
    assert motion.q[:, 0] == pytest.approx(x, abs=digits)
    assert motion.q[:, 1] == pytest.approx(curve(x), abs=digits)
    assert np.ptp(motion.energy()) < (1e-6 if formulation == "index1" else 1e-3)
    # the wire pushes across itself: m (a - g) in its direction
    f1, f2 = curve.rate(x), curve.second(x)
    a = -(f1 * f2 * v**2 + G * f1) / (1 + f1**2)
    push = 1.5 * (f2 * v**2 + f1 * a + G)  # along z; along x it is -f1 times this
    assert np.abs(push).max() > 20.0
    assert -motion.multipliers[:, 0] == pytest.approx(push, abs=1e-4 if formulation == "index1" else 0.2)


def test_gradients_by_knots_are_those_of_the_equation():
    model = wire(VALLEY)
    motion = mg.simulate(model, mg.assemble(model, {"x": 0.7}), 0.6, step=0.002, scheme="rk4")
    found = mg.gradient(motion, mg.AtEnd(mg.measures.JointCoordinate("x")), ["wire.curve.values.*"])
    h = 1e-5
    for k in range(5):
        ends = []
        for sign in (1.0, -1.0):
            values = np.array(VALLEY.values)
            values[k] += sign * h
            curve = mg.functions.Spline(VALLEY.times, tuple(values), ends="not-a-knot")
            ends.append(slid(curve, 0.7, np.array([0.0, 0.6]))[0, -1])
        assert found.array[0, k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-4)
        assert abs(found.array[0, k]) > 5e-3


def test_a_cam_lifts_its_follower():
    """A wedge of any profile pushed along at a given speed: lift and its rates by the chain rule, and the force that
    drives the cam."""
    speed = 0.8
    model = mg.Model(
        "cam", [mg.Body("cam", mass=2.0), mg.Body("follower", mass=0.5)],
        [
            mg.Prismatic("u", "ground", "cam", axis=(1, 0, 0)),
            mg.Prismatic("lift", "ground", "follower", axis=(0, 0, 1)),
        ],
        vectors=[mg.Vector("front", "cam", (1, 0, 0)), mg.Vector("up", "cam", (0, 0, 1))],
        constraints=[mg.constraints.PointOnCurve("cam face", "follower.com", "cam.origin", "front", "up", WAVES)],
    )  # fmt: skip
    t = np.linspace(0.0, 2.0, 41)
    motion = mg.kinematic_motion(model, t, {"u": mg.functions.Polynomial((0.0, -speed))})
    way = speed * t
    assert motion.q[:, 1] == pytest.approx(WAVES(way), abs=1e-10)
    assert motion.v[:, 1] == pytest.approx(speed * WAVES.rate(way), abs=1e-10)
    assert motion.a[:, 1] == pytest.approx(speed**2 * WAVES.second(way), abs=1e-9)
    push = 0.5 * (motion.a[:, 1] + G)
    assert motion.driving()["u"] == pytest.approx(-push * WAVES.rate(way), abs=1e-8)
    assert np.abs(motion.driving()["u"]).max() > 1.0
    assert list(motion.driving()) == ["u"]  # the profile is no drive


def test_it_is_stored_with_all_knots(tmp_path):
    model = wire(VALLEY)
    mg.save_model(model, tmp_path / "wire.toml")
    again = mg.load_model(tmp_path / "wire.toml")
    assert again == model
    assert again.value("wire.curve.values.2") == -0.2
