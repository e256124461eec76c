"""Spheres on a closed hull: forces against an independent search, closed forms, and clear refusals."""

from __future__ import annotations

import ground_equations as ground
import law_equations as eq
import numpy as np
import pytest
from scipy.optimize import root

import mechgrad as mg

NORMAL = {
    "damping": 0.1, "exponent": 1.3, "compression_damping": 90.0, "restitution_damping": 40.0, "damping_depth": 0.3,
    "damping_speed": 0.5,
}  # fmt: skip
HULLS = {order: mg.surfaces.Superellipsoid(0.6, 0.25, 0.4, order=order, heading=(0.4, 1.0, 0.2)) for order in (2, 4, 8)}


def contact(hull, radius=1.1, friction=0.6):
    return mg.forces.SphereContact(
        "f", "on other", radius, "on base", "normal", 2e3, friction=friction, slip_speed=0.05, ground=hull, **NORMAL
    )


def closest(hull, p):
    """The closest point of a hull: scipy's root of Lagrange's equations, from the ray to the middle on."""
    m, s = hull.order, np.array([hull.half_length, hull.half_width, hull.half_height])
    x = p / ((p / s) ** m).sum() ** (1 / m)
    slope = m * x ** (m - 1) / s**m

    def equations(z):
        return [*(z[:3] + z[3] * m * z[:3] ** (m - 1) / s**m - p), ((z[:3] / s) ** m).sum() - 1.0]

    found = root(equations, [*x, (p - x) @ slope / (slope @ slope)], tol=1e-13, options={"maxfev": 4000})
    assert np.abs(equations(found.x)).max() < 1e-9
    assert found.x[3] > 0.0
    return found.x[:3]


def push(s, f):
    """The equation of `SphereContact`; returns N, or None where the middle of the sphere is inside the hull."""
    (a, x), (b, o) = s.point(f.point), s.point(f.plane_point)
    R = s.body(b).R @ ground.axes(f.ground, s.body(b).R.T @ s.direction(f.normal))
    p = R.T @ (x - o)
    if f.ground.distance(p) < 0.0:
        return None
    at = closest(f.ground, p)
    away = np.linalg.norm(p - at)
    n = R @ (p - at) / away
    relative = s.between(a, b, x - f.radius * n)
    N = ground.normal_force(f, f.radius - away, -n @ relative)
    slip = relative - (n @ relative) * n
    s.push_apart(a, b, N * n - f.friction * N * slip / np.sqrt(slip @ slip + f.slip_speed**2), x - f.radius * n)
    return N


@pytest.mark.parametrize("order", HULLS)
def test_forces_on_a_hull(order):
    force, rng = contact(HULLS[order]), np.random.default_rng(3)
    states = [eq.Instant(eq.random_pose(rng), eq.random_pose(rng)) for _ in range(20)]
    pushes = [push(s, force) for s in states]
    states = [s for s, N in zip(states, pushes, strict=True) if N is not None]
    assert 5 < sum(N is not None and N > 0.0 for N in pushes) < len(states)
    wanted = np.array([s.forces for s in states])
    q, v = np.array([s.q() for s in states]), np.array([s.v() for s in states])
    found = -mg.terms.motion_terms(eq.model_with(force), q, v).r
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_a_round_hull_is_a_ball():
    """Two laws without a line in common."""
    rng = np.random.default_rng(5)
    states = [eq.Instant(eq.random_pose(rng), eq.random_pose(rng)) for _ in range(20)]
    q, v = np.array([s.q() for s in states]), np.array([s.v() for s in states])
    hull = contact(mg.surfaces.Superellipsoid(0.3, 0.3, 0.3, order=2), 0.7, 0.0)
    ball = mg.forces.BodyContact("f", "on other", "on base", 0.7, 0.3, 2e3, **NORMAL)
    found, wanted = (-mg.terms.motion_terms(eq.model_with(f), q, v).r for f in (hull, ball))
    assert 3 < np.count_nonzero(np.abs(wanted).max(axis=1) > 1e-9) < 20
    np.testing.assert_allclose(found, wanted, atol=1e-11 * np.abs(wanted).max())


@pytest.mark.parametrize("order", HULLS)
def test_distances(order):
    hull, rng = HULLS[order], np.random.default_rng(order)
    for p in rng.normal(size=(6, 3)):
        if hull.distance(p) > 0.0:
            np.testing.assert_allclose(hull.distance(p), np.linalg.norm(closest(hull, p) - p), rtol=1e-9)
    assert abs(hull.distance((0.0, -1.25, 0.0)) - 1.0) < 1e-12
    assert hull.distance((0.1, 0.1, 0.1)) < 0.0 > hull.distance((0.0, 0.0, 0.0))
    z, h = float(hull.elevation(0.2, 0.05)), 1e-6
    assert abs((0.2 / 0.6) ** order + (0.05 / 0.25) ** order + (z / 0.4) ** order - 1.0) < 1e-12
    rise = [(hull.elevation(0.2 + dx, 0.05 + dy) - hull.elevation(0.2 - dx, 0.05 - dy)) / (2 * h)
            for dx, dy in ((h, 0), (0, h))]  # fmt: skip
    np.testing.assert_allclose(hull.slopes(0.2, 0.05), rise, rtol=1e-6)  # differences of heights lose ten digits


def thrown(height, **options):
    """A ball above a hull at rest."""
    bodies = [mg.Body("ball", 1.0, inertia=(0.01, 0.01, 0.01))]
    hull = mg.surfaces.Superellipsoid(1.0, 0.5, 0.5, **options)
    force = mg.forces.SphereContact("side", "ball.origin", 0.1, "ground.origin", "up", 1e4, ground=hull)
    free, up = mg.Floating("free", "ground", "ball"), mg.Vector("up", "ground", (0, 0, 1))
    model = mg.Model("thrown", bodies, [free], vectors=[up], forces=[force])
    q = model.neutral().reshape(-1)
    q[2] = height
    return model, q


def test_a_ball_that_starts_inside_is_refused():
    model, q = thrown(0.3)
    with pytest.raises(mg.errors.InputError, match=r"'side'.*'ball' starts 0\.3 m inside the ground at t = 0\.5 s"):
        mg.simulate(model, mg.state(model, q), 0.1, step=1e-3, t0=0.5)


def test_a_ball_that_gets_inside_ends_the_motion():
    """A contact that is too soft: the body is named, and where it is."""
    model, q = thrown(0.7)
    model = model.with_values({"side.stiffness": 1.0})
    with pytest.raises(mg.errors.MechgradError, match="middle of 'ball' gets into the hull of force 'side'"):
        mg.simulate(model, mg.state(model, q), 1.0, step=1e-3)


def test_only_spheres_touch_a_hull():
    hull = mg.surfaces.Superellipsoid(1.0, 0.5, 0.5)
    rim = mg.forces.WheelContact("f", "on other", "axle", 0.8, "on base", "normal", 2e3, ground=hull)
    with pytest.raises(mg.errors.ValueRangeError, match=r"closed hull .*spheres alone"):
        eq.model_with(rim)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [((1.0, 0.0, 1.0), "half_width = 0 must be positive"), ((1.0, 1.0, 1.0, 3), "order = 3 must be one of 2, 4")],
)
def test_numbers_that_make_no_hull(numbers, said):
    with pytest.raises(mg.errors.ValueRangeError, match=said):
        mg.surfaces.Superellipsoid(*numbers)
