"""Tyres and contacts where the answer is known: standing, bouncing, sliding; and what cannot be meant."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mechgrad as mg

MASS, RADIUS, K, G = 20.0, 0.3, 6e4, 9.81


def wheel(force, gravity=(0, 0, -G)):
    body = mg.Body("rim", MASS, inertia=(0.6, 1.0, 0.6))
    return mg.Model(
        "wheel", [body], [mg.Floating("free", "ground", "rim")], points=[mg.Point("hub", "rim", (0, 0, 0))],
        vectors=[mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "rim", (0, 1, 0))], forces=[force],
        gravity=gravity,
    )  # fmt: skip


def ellipse(**more):
    return mg.forces.EllipseTyre("tyre", "hub", "axle", RADIUS, "ground.origin", "up", K, **more)


def magic(**more):
    return mg.forces.MagicFormulaTyre("tyre", "hub", "axle", RADIUS, "ground.origin", "up", K, **more)


def force_at(tyre, v, depth=0.01, lean=0.0):
    """Force along, across and up, and moments, on an upright wheel with velocities v at a depth."""
    q = np.array([0, 0, RADIUS * np.cos(lean) - depth, np.cos(lean / 2), np.sin(lean / 2), 0, 0])
    model = wheel(tyre, gravity=(0, 0, 0))
    return -mg.terms.motion_terms(model, q, np.asarray(v, float), np.zeros(6)).r - gyroscopic(model, q, v)


def gyroscopic(model, q, v):
    bare = mg.Model(model.name, model.bodies, model.joints, model.points, model.vectors, gravity=(0, 0, 0))
    return -mg.terms.motion_terms(bare, q, np.asarray(v, float), np.zeros(6)).r


@pytest.mark.parametrize("make", [ellipse, lambda: magic(nominal_load=200.0)])
def test_a_standing_wheel_sinks_in_by_its_weight(make):
    model = wheel(make())
    q = np.array([0, 0, RADIUS - MASS * G / K, 1, 0, 0, 0])
    np.testing.assert_allclose(mg.forward_dynamics(model, q, np.zeros(6)), 0.0, atol=1e-12 * G * K)
    lower = mg.forward_dynamics(model, q - 1e-3 * np.eye(7)[2], np.zeros(6))
    np.testing.assert_allclose(lower[2], 1e-3 * K / MASS, rtol=1e-10)


@pytest.mark.parametrize(("D_c", "D_r"), [(200.0, 200.0), (300.0, 80.0), (0.0, 400.0)])
def test_a_bounce_with_two_dampings(D_c, D_r):
    """m x'' = -K x - D x' in both phases; pressed in until it rests, then back until nothing pushes:
    e = exp(-g_c t_c - g_r t_r), t = atan(w / g) / w, g = D / 2m, w^2 = K / m - g^2."""
    floor = mg.forces.SphereContact(
        "floor", "rim.origin", RADIUS, "ground.origin", "up", K, exponent=1.0, compression_damping=D_c,
        restitution_damping=D_r, damping_depth=1e-6, damping_speed=1e-5,
    )  # fmt: skip
    model, q, v = wheel(floor, gravity=(0, 0, 0)), np.array([0, 0, RADIUS + 0.01, 1.0, 0, 0, 0]), np.zeros(6)
    v[2] = -2.0
    motion = mg.simulate(model, mg.state(model, q, v), 0.15, rtol=1e-9, atol=1e-11)
    exponent = 0.0
    for D in (D_c, D_r):
        g = D / (2 * MASS)
        w = np.sqrt(K / MASS - g**2)
        exponent += g * np.arctan2(w, g) / w
    np.testing.assert_allclose(motion.v[-1, 2], 2.0 * np.exp(-exponent), rtol=2e-4)


@pytest.mark.parametrize("slip", [-0.4, 0.01, 0.1, 3.0])
def test_the_ellipse_along_the_track(slip):
    tyre = ellipse(critical_slip=0.2, friction_x=0.8, slip_speed=1e-3)
    u = 10.0
    found = force_at(tyre, [u, 0, 0, 0, (1.0 - slip) * u / RADIUS, 0])
    np.testing.assert_allclose(found[0], -0.8 * K * 0.01 * np.tanh(slip / 0.2), rtol=1e-7)
    np.testing.assert_allclose(found[4], -RADIUS * found[0], rtol=1e-10)


def test_sliding_tyres_stay_on_the_ellipse():
    """Whatever the direction: the resultant grows towards the ellipse, and never leaves it."""
    tyre = ellipse(critical_slip=0.1, critical_angle=0.15, friction_x=1.1, friction_y=0.7, slip_speed=0.01)
    N = K * 0.01
    for angle in np.linspace(0.1, 6.2, 9):
        shares = []
        for size in (0.05, 0.5, 30.0):
            across, along = size * np.sin(angle), size * np.cos(angle)
            F = force_at(tyre, [5.0, across, 0, 0, (5.0 - along) / RADIUS, 0])
            shares.append(np.hypot(F[0] / (1.1 * N), F[1] / (0.7 * N)))
            np.testing.assert_allclose(F[2], N, rtol=1e-9)
        assert shares[0] < shares[1] < shares[2] <= 1.0 + 1e-12
        assert shares[2] > 0.999


def test_the_magic_formula_has_its_slope_and_its_peak():
    C, E, mu, k, load = 1.4, -0.8, 0.9, 12.0, K * 0.01
    tyre = magic(nominal_load=load, friction_y=mu, cornering_stiffness=k, shape_y=C, curvature_y=E, slip_speed=1e-4)
    spin = 10.0 / RADIUS
    small = force_at(tyre, [10.0, 1e-4, 0, 0, spin, 0])
    np.testing.assert_allclose(small[1], -k * load * 1e-5, rtol=1e-6)
    # the peak: C atan(x) = pi / 2 with x = B r - E (B r - atan(B r))
    x = np.tan(np.pi / (2 * C))
    r = np.linspace(0, 50, 2_000_001)
    at = r[np.argmin(np.abs(r / C - E * (r / C - np.arctan(r / C)) - x))]
    peak = force_at(tyre, [10.0, 10.0 * at * mu / k, 0, 0, spin, 0])
    np.testing.assert_allclose(peak[1], -mu * load, rtol=1e-8)


def test_camber_load_and_trail():
    """A wheel that leans to its left is pushed to the left; grip falls with load; the trail turns it into its way."""
    load = K * 0.01
    leaning = force_at(magic(nominal_load=load, camber_stiffness=0.8), [10, 0, 0, 0, 10 / RADIUS, 0], lean=-0.05)
    np.testing.assert_allclose(leaning[1], 0.8 * load * np.sin(0.05), rtol=5e-2)
    sliding = [10.0, 40.0, 0, 0, 10 / RADIUS, 0]
    heavy, light = (
        force_at(magic(nominal_load=load, load_sensitivity=0.2, shape_y=1.0), sliding, depth) for depth in (0.02, 0.01)
    )
    np.testing.assert_allclose((heavy[1] / 2) / light[1], np.exp(-0.2), rtol=2e-3)
    aligning = force_at(magic(nominal_load=load, trail=0.05), [10.0, 0.02, 0, 0, 10 / RADIUS, 0])
    np.testing.assert_allclose(aligning[5], -0.05 * aligning[1], rtol=1e-3)
    assert aligning[5] > 0.0


def test_a_tyre_in_the_air_has_nothing():
    found = force_at(ellipse(), [5.0, 1.0, 0, 0, 0, 0], depth=-0.01)
    assert not found.any()


ROAD = mg.surfaces.HeightMap(np.linspace(-1, 1, 9), np.linspace(-1, 1, 5), np.zeros((9, 5)))


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (
            [0, 0, -0.05, 1, 0, 0, 0],
            "'rim' starts 0.35 m inside the ground at t = 0 s, more than half of the radius, 0.15 m",
        ),
        (
            [2, 0, 0.3, 1, 0, 0, 0],
            "'rim' starts at x = 2, y = 0 m of its height map at t = 0 s, and the map reaches from",
        ),
    ],
)
def test_starts_that_cannot_be_meant(q, message):
    model = wheel(ellipse(ground=ROAD))
    with pytest.raises(mg.InputError, match=re.escape(message)):
        mg.simulate(model, mg.state(model, np.array(q, float), np.zeros(6)), 0.1, step=1e-3)


def test_a_map_ends_at_its_edges():
    model = wheel(ellipse(ground=ROAD))
    start = mg.state(model, np.array([0.9, 0, 0.297, 1.0, 0, 0, 0]), np.array([3.0, 0, 0, 0, 10, 0]))
    with pytest.raises(mg.StepFailed, match=r"Force 'tyre' leaves its height map at x = 0\.99"):
        mg.simulate(model, start, 0.1, step=1e-3)


def test_gradients_over_a_step():
    """Down a step with smooth edges: both methods and the complex step agree, by numbers of tyre and step."""
    step = mg.surfaces.Step(start=0.1, height=-0.01, width=0.1)
    model = wheel(ellipse(ground=step, compression_damping=100.0, restitution_damping=60.0))
    start = mg.state(model, np.array([0, 0, 0.296, 1.0, 0, 0, 0]), np.array([3.0, 0.1, 0, 0, 11, 0]))
    motion = mg.simulate(model, start, 0.1, step=1e-3)
    goal = mg.AtEnd(mg.measures.JointCoordinate("free.z"))
    names = ["stiffness", "radius", "restitution_damping", "critical_slip", "ground.height", "ground.start"]
    adjoint, direct = (
        mg.gradient(motion, goal, [f"tyre.{name}" for name in names], method=m) for m in ("adjoint", "direct")
    )
    np.testing.assert_allclose(adjoint.array, direct.array, rtol=1e-7)
    assert np.abs(adjoint.array).min() > 1e-10
    assert adjoint.certify().passed


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ellipse(critical_slip=0.0), "force 'tyre': critical_slip = 0 must be positive"),
        (lambda: ellipse(damping_depth=0.0), "damping_depth = 0 must be positive"),
        (lambda: ellipse(compression_damping=-1.0), "compression_damping = -1 must not be negative"),
        (lambda: magic(nominal_load=0.0), "nominal_load = 0 must be positive"),
        (lambda: magic(nominal_load=1.0, shape_x=2.5), "shape_x = 2.5 must be between 1 and 2"),
        (lambda: magic(nominal_load=1.0, curvature_y=1.5), "curvature_y = 1.5 must be at most 1"),
        (lambda: mg.surfaces.Step(0.0, 1.0, 0.0), "surface: width = 0 must be positive"),
        (lambda: mg.surfaces.Bump(0.0, 1.0, -1.0), "surface: length = -1 must be positive"),
        (lambda: mg.surfaces.HeightMap((0, 1), (0, 1, 2), (0, 1)), "heights has shape (2,), but the grid has 2 lines"),
        (lambda: mg.surfaces.HeightMap((0, 1, 3), (0, 1), np.zeros(6)), "x must increase by equal steps"),
        (lambda: ellipse(ground=3), "force 'tyre': ground = 3 must be a surface"),
        (lambda: ellipse(ground={"type": "hole"}), "unknown surface type 'hole'"),
        (lambda: ellipse(ground={"type": "step", "start": 1}), "the field 'height' of Step is missing"),
    ],
)
def test_errors_of_numbers(make, message):
    with pytest.raises(mg.ModelError, match=re.escape(message)):
        make()


def test_a_surface_that_heads_upwards_is_refused():
    road = mg.surfaces.Step(0.0, 0.1, 0.1, heading=(0, 0, 1))
    with pytest.raises(mg.ModelError, match="is along the normal, and says nothing about where x is"):
        wheel(ellipse(ground=road))
