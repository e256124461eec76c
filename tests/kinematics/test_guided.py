"""Motions that drivers decide."""

import math

import numpy as np
import pytest
from kinematic_loops import (
    COUPLER,
    CRANK,
    FRAME,
    ROCKER,
    five_bar,
    four_bar,
    four_bar_angles,
    slider,
    spatial_slider_crank,
)

import mechgrad as mg
from mechgrad.errors import AssemblyError, InputError
from mechgrad.simulation.guided import kinematic_motion

SPEED = 2 * np.pi
TIMES = np.linspace(0.0, 1.0, 41)
GUESS = [0.3, 1.5, 0.0]


def closed_form(t, h=1e-4):
    """Rocker angle and its first two rates; differences of fourth order, whose error is h^4 and rounding over h^2."""
    th = 0.3 + SPEED * t
    f = np.unwrap([four_bar_angles(th + SPEED * k * h)[0] for k in range(-2, 3)])
    return (
        f[2],
        (f[0] - 8 * f[1] + 8 * f[3] - f[4]) / (12 * h),
        (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / (12 * h * h),
    )


def driven():
    return four_bar(constraints=[mg.constraints.Driver("motor", "crank", mg.functions.Polynomial((0.3, SPEED)))])


def test_four_bar_over_a_full_turn():
    motion = kinematic_motion(driven(), TIMES, guess=GUESS)
    expected = np.array([closed_form(t) for t in TIMES])
    np.testing.assert_allclose(motion.q[:, 0], 0.3 + SPEED * TIMES, atol=1e-12)
    np.testing.assert_allclose(motion.q[:, 1], np.unwrap(expected[:, 0]), atol=1e-11)
    np.testing.assert_allclose(motion.v[:, 1], expected[:, 1], atol=1e-8)
    np.testing.assert_allclose(motion.a[:, 1], expected[:, 2], atol=1e-4)
    assert np.abs(expected[:, 1:]).max(axis=0).min() > 1.0
    assert motion.norms[:, 0].max() < 1e-12
    assert motion.norms.max() < 1e-11


@pytest.mark.parametrize(
    "drive",
    [
        mg.functions.Polynomial((0.3, SPEED)),
        0.3 + SPEED * TIMES,
        lambda t: 0.3 + SPEED * t,
        lambda t: (0.3 + SPEED * t, SPEED, 0.0),
    ],
    ids=["function", "values", "callable", "with rates"],
)
def test_ways_to_say_how_a_coordinate_moves(drive):
    motion = kinematic_motion(four_bar(), TIMES, {"crank": drive}, guess=GUESS)
    reference = kinematic_motion(driven(), TIMES, guess=GUESS)
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-11)
    np.testing.assert_allclose(motion.v, reference.v, atol=1e-10)
    np.testing.assert_allclose(motion.a, reference.a, atol=1e-7)
    assert motion.held == ("crank",)


def test_second_rates_of_a_callable():
    motion = kinematic_motion(four_bar(), TIMES[:9], {"crank": lambda t: 0.3 + np.sin(3 * t)}, guess=GUESS)
    np.testing.assert_allclose(motion.v[:, 0], 3 * np.cos(3 * TIMES[:9]), atol=1e-12)
    np.testing.assert_allclose(motion.a[:, 0], -9 * np.sin(3 * TIMES[:9]), atol=1e-8)


@pytest.mark.parametrize("stride", [8, 13, 20, 40])
def test_few_instants_do_not_change_the_way_it_is_put_together(stride):
    """Up to a whole turn per instant: steps are halved until they are followed."""
    motion = kinematic_motion(driven(), TIMES[::stride], guess=GUESS)
    reference = kinematic_motion(driven(), TIMES, guess=GUESS)
    np.testing.assert_allclose(motion.q, reference.q[::stride], atol=1e-11)


@pytest.mark.parametrize("count", [2, 4, 6, 9])
@pytest.mark.parametrize("longer", [1e-2, 1e-3, 1e-4])
def test_next_to_a_change_point_it_stays_in_its_way(longer, count):
    """With a coupler that is hardly longer than in line, the other way to close the loop is hardly farther away."""
    bars = (0.5, 0.8 + longer, 0.7, 1.0)
    t = np.linspace(0.0, 1.0, count)
    motion = kinematic_motion(
        four_bar(*bars), t, {"crank": mg.functions.Polynomial((2.0, 2.2))}, guess=[2.0, 1.6, -2.0]
    )
    expected = [four_bar_angles(th, *bars)[0] for th in 2.0 + 2.2 * t]
    np.testing.assert_allclose(motion.q[:, 1], np.mod(expected, 2 * np.pi), atol=1e-8)


def test_a_driver_that_jumps_is_not_followed():
    def step(t):
        return (0.3 if t < 0.5 else 1.2), 0.0, 0.0

    with pytest.raises(AssemblyError, match=r"cannot follow its drivers beyond t = 0\.4\d* s: the conf.* would jump"):
        kinematic_motion(four_bar(), TIMES, {"crank": step}, guess=GUESS)


def test_points_can_be_guided():
    """Point 2 of the five-bar on a circle."""
    x, y = mg.functions.Harmonic(0.2, 1.0, offset=0.5, phase=np.pi / 2), mg.functions.Harmonic(0.2, 1.0, offset=-1.9)
    motion = kinematic_motion(five_bar(), TIMES, {"P2.x": x, "P2.y": y})
    markers = motion.markers(["P2"])
    np.testing.assert_allclose(markers.position[:, 0, :2], np.stack([x(TIMES), y(TIMES)], 1), atol=1e-12)
    np.testing.assert_allclose(markers.velocity[:, 0, :2], np.stack([x.rate(TIMES), y.rate(TIMES)], 1), atol=1e-11)
    np.testing.assert_allclose(
        markers.acceleration[:, 0, :2], np.stack([x.second(TIMES), y.second(TIMES)], 1), atol=1e-10
    )
    np.testing.assert_allclose(motion.q[0], motion.q[-1], atol=1e-10)


@pytest.mark.parametrize("cut", ["ball", "cardan"])
def test_spatial_slider_crank_over_a_full_turn(cut):
    motion = kinematic_motion(spatial_slider_crank(cut), TIMES, {"crank": mg.functions.Polynomial((0.0, SPEED))})
    markers, th = motion.markers(["C"]), SPEED * TIMES
    sign = np.sign(markers.position[0, 0, 0])
    np.testing.assert_allclose(markers.position[:, 0, 0], sign * slider(th), atol=1e-12)
    np.testing.assert_allclose(markers.velocity[:, 0, 0], sign * SPEED * slider(th + 1e-30j).imag / 1e-30, atol=1e-11)
    rate = [slider(th + d + 1e-30j).imag / 1e-30 for d in (-1e-5, 1e-5)]
    np.testing.assert_allclose(markers.acceleration[:, 0, 0], sign * SPEED**2 * (rate[1] - rate[0]) / 2e-5, atol=1e-7)


def test_undriven_freedoms_are_named():
    with pytest.raises(AssemblyError, match=r"keeps 1 degree\(s\) of freedom .* for example [123]; at a dead point"):
        kinematic_motion(five_bar(), TIMES, {"A": 0.1})
    with pytest.raises(AssemblyError, match=r"keeps 2 degree\(s\) of freedom"):
        kinematic_motion(five_bar(), TIMES)


def test_a_driver_beyond_reach():
    """The rocker turns back where crank and coupler are in line, at the law of cosines."""
    farthest = np.pi - np.arccos((FRAME**2 + ROCKER**2 - (CRANK + COUPLER) ** 2) / (2 * FRAME * ROCKER))
    nearest = np.pi - np.arccos((FRAME**2 + ROCKER**2 - (COUPLER - CRANK) ** 2) / (2 * FRAME * ROCKER))
    limit = max(farthest, nearest)
    with pytest.raises(AssemblyError, match=r"cannot follow its drivers beyond t = .*misses 'pin: point") as caught:
        kinematic_motion(four_bar(), TIMES, {"rocker": mg.functions.Polynomial((1.5, 3.0))}, guess=GUESS)
    reached = float(str(caught.value).split("beyond t = ")[1].split(" s")[0])
    assert 1.5 + 3.0 * reached == pytest.approx(limit, abs=1e-3)


def test_dead_point():
    """All bars in line: driving the crank does not tell which way the rocker goes."""
    model, drive = (
        four_bar(crank=0.5, coupler=0.8, rocker=0.7, frame=1.0),
        {"crank": mg.functions.Polynomial((np.pi, 1.0))},
    )
    with pytest.raises(AssemblyError, match=r"keeps 1 degree\(s\) of freedom at t = 0 s.*at a dead point"):
        kinematic_motion(model, [0.0, 0.1], drive, guess=[np.pi, np.pi, -np.pi])
    with pytest.raises(AssemblyError, match=r"dead point or change point at t = 0 s: its drivers leave 1 velocities"):
        kinematic_motion(model, [-0.1, 0.0, 0.1], drive, guess=[np.pi - 0.1, np.pi - 0.2, -np.pi])


def test_input_is_checked():
    with pytest.raises(InputError, match="increasing"):
        kinematic_motion(driven(), [0.0, 0.0], guess=GUESS)
    with pytest.raises(InputError, match=r"shape \(3,\), but there are 41 times"):
        kinematic_motion(four_bar(), TIMES, {"crank": [0.0, 1.0, 2.0]})
    with pytest.raises(InputError, match="does not accept complex times"):
        kinematic_motion(four_bar(), TIMES, {"crank": math.sin}, guess=GUESS)
