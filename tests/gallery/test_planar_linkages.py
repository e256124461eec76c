"""Watt's linkage draws Watt's curve, the foot of Theo Jansen's leg goes where circles meet."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery

ARM, HALF = 0.5, 0.25
BETWEEN = np.hypot(ARM, HALF)  # half the distance of the fixed hinges

JANSEN = {
    "a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7, "h": 65.7, "i": 49.0, "j": 50.0,
    "k": 61.9, "l": 7.8, "m": 15.0,
}  # fmt: skip
ENDS = {
    "b": "ZX", "c": "ZV", "d": "ZW", "e": "XW", "f": "WU", "g": "VU", "h": ("U", "foot"), "i": ("V", "foot"),
    "j": "YX", "k": "YV",
}  # fmt: skip


def places(model: mg.Model, names: list[str], q: np.ndarray) -> np.ndarray:
    """(names,) as complex numbers [m]."""
    x = mg.kinematics.marker_motion(model, names, q).position
    return np.asarray(x[..., 0] + 1j * x[..., 1])


def test_the_middle_of_watts_coupler_stays_on_watts_curve() -> None:
    model = gallery.watts_linkage()
    assert mg.mobility(model, model.neutral()).freedoms == 1
    motion = mg.simulate(model, model.neutral(), duration=1.0, rtol=1e-10, atol=1e-10)
    p = places(model, ["P"], motion.q)[:, 0]
    p = p[abs(p) > 0.02]  # where polar angles are good
    r, t = abs(p), np.angle(p * (ARM + 1j * HALF))  # from the line between the fixed hinges
    assert r.max() > 0.35
    inside = np.sqrt(HALF**2 - (BETWEEN * np.cos(t)) ** 2)
    branches = np.array([ARM**2 - (BETWEEN * np.sin(t) + s * inside) ** 2 for s in (1, -1)])
    assert np.abs(branches - r**2).min(axis=0).max() < 1e-9
    assert np.ptp(motion.energy()) < 1e-8


def test_it_leaves_its_tangent_with_the_fifth_power_of_the_way() -> None:
    model = gallery.watts_linkage()
    angles = np.array([0.1, 0.13, 0.17, 0.2])
    p = np.array([
        places(model, ["P"], mg.assemble(model, {"A": x}, guess=[x, -x / 2, x]).q)[0] for x in angles
    ])  # fmt: skip
    assert np.abs(p.imag).min() > 0.04
    assert np.abs(p.real).min() > 1e-8  # it does leave it
    order, _ = np.polyfit(np.log(np.abs(p.imag)), np.log(np.abs(p.real)), 1)
    assert order == pytest.approx(5.0, abs=0.1)
    # on the other side it goes the same way, turned by half a turn
    q = mg.assemble(model, {"A": -0.2}, guess=[-0.2, 0.0, -0.2]).q
    assert places(model, ["P"], q)[0] == pytest.approx(-p[-1], rel=1e-3, abs=1e-3)


def circles(a: complex, b: complex, from_a: float, from_b: float) -> complex:
    """Where two circles meet, on the left of the way from a to b: by the cosine rule."""
    way = abs(b - a)
    angle = np.arccos((way**2 + from_a**2 - from_b**2) / (2 * way * from_a))
    return a + from_a * cmath.exp(1j * angle) * (b - a) / way


def jansens_leg(crank: float) -> dict[str, complex]:
    """Joints of the leg [cm]."""
    s = JANSEN
    Y, Z = s["m"] * cmath.exp(1j * crank), -s["a"] - 1j * s["l"]
    X = circles(Z, Y, s["b"], s["j"])
    W = circles(Z, X, s["d"], s["e"])
    V = circles(Y, Z, s["k"], s["c"])
    U = circles(V, W, s["g"], s["f"])
    return {"X": X, "Y": Y, "Z": Z, "W": W, "V": V, "U": U, "foot": circles(V, U, s["i"], s["h"])}


@pytest.mark.parametrize("crank", [-7.0, -2.0, 0.0, 0.7, 1.9, 3.1, 4.4, 5.8, 9.0])
def test_every_joint_of_jansens_leg_is_where_circles_meet(crank: float) -> None:
    model = gallery.theo_jansen_leg()
    start = gallery.theo_jansen_leg_start(model, crank, -6.0)
    wanted = jansens_leg(crank)
    found = dict(zip(wanted, 100 * places(model, list(wanted), start.q), strict=True))
    assert [found[name] for name in wanted] == pytest.approx(list(wanted.values()), abs=1e-9)
    for bar, (p, q) in ENDS.items():
        assert abs(found[p] - found[q]) == pytest.approx(JANSEN[bar], abs=1e-9)
    assert start.q[0] == pytest.approx(crank)
    # velocities of the foot against differences of the circles
    ahead, back = jansens_leg(crank - 6e-4)["foot"], jansens_leg(crank + 6e-4)["foot"]
    x = mg.kinematics.marker_motion(model, ["foot"], start.q, start.v).velocity[0]
    assert 100 * complex(x[0], x[1]) == pytest.approx((ahead - back) / 2e-4, abs=1e-3)


def test_the_foot_is_flat_on_the_ground_for_half_of_a_turn_and_high_over_it_for_the_other() -> None:
    model = gallery.theo_jansen_leg()
    assert mg.mobility(model, model.neutral()).freedoms == 1
    assert len(model.bodies) == 7
    cranks = np.linspace(0.0, 2 * np.pi, 48, endpoint=False)
    feet = np.array([
        places(model, ["foot"], gallery.theo_jansen_leg_start(model, x).q)[0] for x in cranks
    ])  # fmt: skip
    height = feet.imag - feet.imag.min()
    stride = feet[height < 0.02].real
    assert np.count_nonzero(height < 0.02) >= 24
    assert np.ptp(stride) > 0.6
    assert height.max() > 0.2


def test_a_leg_needs_finite_numbers() -> None:
    with pytest.raises(mg.InputError, match="crank is nan rad, speed 0"):
        gallery.theo_jansen_leg_start(gallery.theo_jansen_leg(), float("nan"))
