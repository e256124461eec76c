"""The buggy: counts, geometry that closes, loads at rest against statics by hand, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import buggy, buggy_freedoms, buggy_rest, buggy_start, lane_change
from mechgrad.gallery.buggy import CORNERS, GRAVITY, RADIUS

UNSPRUNG = {"front": 4.0 + 2.5 + 8.0 + 1.0 + 20.0, "rear": 4.0 + 9.0 + 20.0}  # kg
TRACK, WHEELBASE = 1.0, 2.2  # of the rear axle behind the origin, between axles [m]


def test_it_has_the_printed_counts():
    """18 bodies, 14 freedoms, four cut balls with 12 rows, five kinds of joints; no row depends on the others."""
    model = buggy()
    assert len(model.bodies) == 18
    assert {type(joint) for joint in model.joints} == {mg.Floating, mg.Prismatic, mg.Revolute, mg.Spherical, mg.Cardan}
    assert [type(joint) for joint in model.cut_joints] == [mg.Spherical] * 4
    found = mg.mobility(model, model.neutral())
    assert found.freedoms == 14
    assert not found.redundant
    closed = mg.assemble(model, guess=model.neutral())
    np.testing.assert_allclose(closed.q, model.neutral(), atol=1e-15)
    assert model.value("chassis.com.z") == -0.2471
    assert [model.value(path) for path in NUMBERS[:4]] == [16000.0, 10000.0, 10595.0, 6000.0]


def test_loads_at_rest_are_those_of_statics_by_hand():
    """Forces of tyres balance weight and its moment; less the weight of the corners they are what springs carry."""
    model = buggy()
    rest = buggy_rest(model)
    still = mg.simulate(model, rest, 0.01, step=0.01)
    load = {c: still.efforts(f"{c} tyre").push("position z")[0] for c in CORNERS}
    # exact: with centres of mass, and the lowest points of wheels that lean a little, where they are at rest
    centres = still.markers([f"{body.name}.com" for body in model.bodies]).position[0]
    masses = np.array([body.mass for body in model.bodies])
    hubs = still.markers([f"{c} wheel.origin" for c in CORNERS]).position[0]
    axles = still.markers([f"{c} axle" for c in CORNERS]).position[0]
    down = axles[:, 2:] * axles - (0.0, 0.0, 1.0)
    lowest = hubs + RADIUS * down / np.linalg.norm(down, axis=1)[:, None]
    moment = sum(load[c] * x for c, x in zip(CORNERS, lowest[:, 0], strict=True))
    assert sum(load.values()) == pytest.approx(GRAVITY * masses.sum(), rel=1e-9)
    assert moment == pytest.approx(GRAVITY * masses @ centres[:, 0], abs=1e-8)
    assert load["front left"] == pytest.approx(load["front right"], rel=1e-9)
    # by hand from the drawing: 500 kg at x = 0 and the rack's 3 kg at x = 1.07, between axles at 1.20 and -1.00
    sprung = {"front": (500.0 * TRACK + 3.0 * (1.07 + TRACK)) / WHEELBASE, "rear": 0.0}
    sprung["rear"] = 503.0 - sprung["front"]
    for end, mass in sprung.items():
        hand = GRAVITY * mass / 2
        assert hand == pytest.approx({"front": 1.12e3, "rear": 1.34e3}[end], rel=0.01)
        # the nose is 6 cm lower at rest, which moves the centre of mass forwards by some millimetres
        assert load[f"{end} left"] - GRAVITY * UNSPRUNG[end] == pytest.approx(hand, rel=5e-3)
        depth = -lowest[CORNERS.index(f"{end} left"), 2]
        assert load[f"{end} left"] == pytest.approx(60430.0 * depth, rel=1e-9)


def test_what_cannot_be_is_refused_with_body_and_instant():
    model = buggy()
    with pytest.raises(InputError, match=r"'front left wheel'.* start inside the ground at t = 0 s: hubs are 0\.115 m"):
        buggy_start(model, height=-0.4)
    with pytest.raises(InputError, match=r"no tyre is loaded at t = 0 s: those of bodies 'front left wheel'"):
        buggy_start(model, height=0.1)


def test_wheels_deep_in_the_ground_are_refused_whoever_made_the_start():
    """Before any step: 0.18 m of 0.30 m are in the road, with hubs above it; 0.12 m pass."""
    model = buggy()
    for lower, refused in ((0.10, False), (0.16, True)):
        q = model.neutral()
        q[model.q_names.index("chassis motion.z")] -= lower
        start = mg.state(model, q, t=2.5)
        if refused:
            said = r"'front left wheel' starts 0\.1775 m inside the ground at t = 2\.5 s, more than half of the radius"
            with pytest.raises(InputError, match=said):
                mg.simulate(model, start, 0.1, step=0.01)
        else:
            assert mg.simulate(model, start, 0.01, step=0.01).t[0] == 2.5


def test_a_rack_beyond_the_reach_of_the_tie_rods_says_who_locks_up_and_when():
    model = buggy(mg.functions.Polynomial((0.0, 0.0, 0.2)))
    said = r"'front right tie end', 'steering' come to depend .* bodies .*'rack'"
    with pytest.raises(mg.MechgradError, match=said) as e:
        mg.simulate(model, buggy_start(model, 0.0, 0.0), 2.0, step=0.01)
    assert "lock up, about t = 0." in str(e.value)


def test_both_manoeuvres_and_both_formulations():
    """The lane change goes 3.5 m aside and back, in joint coordinates with multipliers and in fourteen others."""
    model = buggy(lane_change())
    start = buggy_start(model, 11.9, 46.0)
    motion = mg.simulate(model, start, 12.0, step=0.01)
    way = motion.markers(["point 1"]).position[:, 0]
    assert way[motion.t <= 5.5, 1].max() == pytest.approx(3.5, abs=0.1)
    assert abs(way[-1, 1]) < 0.3
    other = mg.simulate(model, start, 12.0, step=0.01, formulation=mg.formulations.MatrixR(buggy_freedoms()))
    np.testing.assert_allclose(other.markers(["point 1"]).position[-1, 0], way[-1], atol=1e-3)
    assert np.ptp(other.measured(buggy_freedoms()[6])) > 0.01


LEFT, TURNING = mg.measures.PointPosition("left"), mg.measures.PointVelocity("left")
ROLL = mg.Integral(lambda u, w: w[:, 2] ** 2 / (1.0 - u[:, 2] ** 2), LEFT, TURNING)
SHAKE = mg.Integral(lambda a: a[:, 2] ** 2, mg.measures.PointAcceleration("point 1"))
NUMBERS = ["front stiffness", "front damping", "rear stiffness", "rear damping", "chassis.com.z", "chassis.mass"]


@pytest.mark.parametrize("method", ["ali3p", "matrix-r"])
@pytest.mark.parametrize("manoeuvre", ["step", "lane change"])
def test_gradients_are_exact(manoeuvre, method):
    """Parts of both manoeuvres: direct, adjoint, complex steps, differences. Newton's iteration ends close, since the
    smallest of these derivatives is 1e-8 of the objective per N/m."""
    form = mg.formulations.ALI3P(tolerance=1e-13) if method == "ali3p" else mg.formulations.MatrixR(buggy_freedoms())
    if manoeuvre == "step":
        model = buggy(ground=mg.surfaces.Step(0.0 + 1.6, -0.01, 0.1))
        motion = mg.simulate(model, buggy_start(model), 0.2, step=2e-3, formulation=form)
        goal = SHAKE
    else:
        model = buggy(lane_change())
        motion = mg.simulate(model, buggy_start(model, 11.9, 46.0), 2.2, step=0.01, formulation=form)
        goal = ROLL
    g = mg.gradient(motion, goal, NUMBERS)
    np.testing.assert_allclose(mg.gradient(motion, goal, NUMBERS, method="direct").array, g.array, rtol=1e-7)
    certificate = g.certify(tolerance=1e-7)
    assert certificate.passed, str(certificate)
    assert (np.abs(g.relative()) > 1e-6).all()
