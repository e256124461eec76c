"""The gyroscope goes round, and nods, as closed forms say."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery

MASS, RADIUS, PLACE, ROD_MASS, ROD, THIN = 0.5, 0.08, 0.12, 0.1, 0.15, 0.004
ACROSS = MASS * (RADIUS**2 / 4 + PLACE**2) + ROD_MASS * (THIN**2 / 4 + ROD**2 / 3)  # about the yoke [kg m^2]
ROTOR, ARM, YOKE = MASS * RADIUS**2 / 2, ROD_MASS * THIN**2 / 2, 2e-4
PULL = 9.81 * (MASS * PLACE + ROD_MASS * ROD / 2)  # [N m]


@pytest.mark.parametrize(("tilt", "spin"), [(1.2, 150.0), (np.pi / 2, 150.0), (2.0, -90.0), (0.4, 300.0)])
def test_it_goes_round_steadily(tilt: float, spin: float) -> None:
    model = gallery.gyroscope()
    start = gallery.gyroscope_start(model, tilt, spin)
    rate = start.v[0]
    # the slower root of (A - C - C_a) cos(tilt) W^2 - C spin W + m g l = 0
    roots = np.roots([(ACROSS - ROTOR - ARM) * np.cos(tilt), -ROTOR * spin, PULL])
    if abs(np.cos(tilt)) < 1e-9:
        roots = np.array([PULL / (ROTOR * spin)])
    assert rate == pytest.approx(roots[np.abs(roots).argmin()], rel=1e-12)
    motion = mg.simulate(model, start, 1.0, rtol=1e-11, atol=1e-11)
    wanted = np.array([0.0, tilt, 0.0]) + motion.t[:, None] * [rate, 0.0, spin]
    assert np.abs(motion.q - wanted).max() < 1e-7
    assert abs(motion.q[-1, 0]) > 1.0
    assert mg.mobility(model, start.q).freedoms == 3


@pytest.mark.parametrize("tilt", [1.2, np.pi / 2])
def test_it_nods_around_that(tilt: float) -> None:
    """With the momenta about the post and of the rotor constant, the tilt alone moves: A tilt'' = torque(tilt)."""
    model = gallery.gyroscope()
    start = gallery.gyroscope_start(model, tilt)
    rate, _, spin = start.v
    rotor = ROTOR * (spin + rate * np.cos(tilt))
    post = (YOKE + ACROSS * np.sin(tilt) ** 2 + ARM * np.cos(tilt) ** 2) * rate + rotor * np.cos(tilt)

    def torque(x: complex) -> complex:
        w = (post - rotor * np.cos(x)) / (YOKE + ACROSS * np.sin(x) ** 2 + ARM * np.cos(x) ** 2)
        return np.sin(x) * ((ACROSS - ARM) * np.cos(x) * w**2 - rotor * w + PULL)

    assert abs(torque(tilt)) < 1e-12
    nod = np.sqrt(-np.imag(torque(tilt + 1e-30j)) / 1e-30 / ACROSS)
    found = mg.linearise(model, start)
    assert found.about == "a steady motion"
    np.testing.assert_allclose(np.abs(found.eigenvalues.imag).max(), nod, rtol=1e-10)
    assert nod > 10.0


@pytest.mark.parametrize(
    ("tilt", "spin", "message"),
    [(0.3, 20.0, "too slow to go round"), (np.pi / 2, 0.0, "too slow to go round"), (1.0, np.nan, "finite")],
)
def test_spins_that_do_not_carry_it(tilt: float, spin: float, message: str) -> None:
    with pytest.raises(mg.InputError, match=message):
        gallery.gyroscope_start(gallery.gyroscope(), tilt, spin)
