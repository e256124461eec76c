"""Spheres and capsules that touch each other: forces against a search for the closest points, and the broad phase."""

from __future__ import annotations

import law_equations as eq
import numpy as np
import pytest
from ground_equations import normal_force
from scipy.optimize import minimize

import mechgrad as mg
from mechgrad.dynamics.system import System
from mechgrad.kinematics.mechanism_record import evaluate_rows
from mechgrad.model.primitives.rows import FAR
from mechgrad.terms import motion_terms

NORMAL = {
    "damping": 0.1, "exponent": 1.3, "friction": 0.6, "slip_speed": 0.05, "compression_damping": 90.0,
    "restitution_damping": 40.0, "damping_depth": 0.3, "damping_speed": 0.5,
}  # fmt: skip
PAIRS = {
    "spheres": mg.forces.BodyContact("f", "on other", "on base", 0.9, 0.7, 2e3, **NORMAL),
    "sphere and capsule": mg.forces.BodyContact(
        "f", "on other", "on base", 0.5, 0.4, 2e3, axis_b="normal", length_b=1.6, **NORMAL
    ),
    "capsule and sphere": mg.forces.BodyContact(
        "f", "on other", "on base", 0.5, 0.4, 2e3, axis="axle", length=1.2, **NORMAL
    ),
    "capsules": mg.forces.BodyContact(
        "f", "on other", "on base", 0.4, 0.3, 2e3, axis="axle", axis_b="normal", length=1.2, length_b=1.6, **NORMAL
    ),
    "capsule and hook": mg.forces.BodyContact(
        "f", "on other", "hook", 0.9, 0.9, 2e3, axis="axle", length=1.2, **NORMAL
    ),
}


def closest(s, f):
    """The closest points of two segments, by a bounded search."""
    (_, x), (_, o) = s.point(f.point), s.point(f.point_b)
    w = np.zeros(3) if f.axis is None else s.direction(f.axis)
    u = np.zeros(3) if f.axis_b is None else s.direction(f.axis_b)
    bounds = [(-f.length / 2, f.length / 2), (-f.length_b / 2, f.length_b / 2)]

    def square(z):
        d = x + z[0] * w - o - z[1] * u
        return d @ d, np.array([2 * d @ w, -2 * d @ u])

    z = minimize(square, (0.01, 0.02), jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-13}).x
    return x + z[0] * w, o + z[1] * u


def push(s, f):
    """The equation of the docstring; returns N."""
    (a, _), (b, _) = s.point(f.point), s.point(f.point_b)
    mine, other = closest(s, f)
    n = (mine - other) / np.linalg.norm(mine - other)
    depth = f.radius + f.radius_b - np.linalg.norm(mine - other)
    c = mine - n * (f.radius - depth / 2)
    relative = s.between(a, b, c)
    N = normal_force(f, depth, -n @ relative)
    slip = relative - (n @ relative) * n
    s.push_apart(a, b, N * n - f.friction * N * slip / np.sqrt(slip @ slip + f.slip_speed**2), c)
    return N


@pytest.mark.parametrize("kind", PAIRS)
def test_forces_between_bodies(kind):
    force, rng = PAIRS[kind], np.random.default_rng(8)
    states = [eq.Instant(eq.random_pose(rng), eq.random_pose(rng)) for _ in range(24)]
    pushes = [push(s, force) for s in states]
    assert 5 < np.count_nonzero(pushes) < 24
    wanted = np.array([s.forces for s in states])
    q, v = np.array([s.q() for s in states]), np.array([s.v() for s in states])
    found = -motion_terms(eq.model_with(force), q, v).r
    # nearly parallel segments are told apart by a regularised angle: 1e-4 of what is left of it
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-3 * np.abs(wanted).max())
    np.testing.assert_allclose(np.median(np.abs(found - wanted)), 0.0, atol=1e-7 * np.abs(wanted).max())
    alone = np.array([mg.forward_dynamics(eq.model_with(force), q[k], v[k]) for k in range(len(q))])
    np.testing.assert_allclose(alone, found, atol=1e-11 * np.abs(found).max())


def balls(n, far=50.0):
    """n balls; numbers 0 and 1 touch, the others are alone."""
    bodies = [mg.Body(f"b{k}", 1.0, inertia=(0.01, 0.01, 0.01)) for k in range(n)]
    joints = [mg.Floating(f"j{k}", "ground", f"b{k}") for k in range(n)]
    pairs = [(i, k) for i in range(n) for k in range(i)]
    forces = [
        mg.forces.BodyContact(f"touch {i} {k}", f"b{i}.origin", f"b{k}.origin", 0.1, 0.1, 1e4, friction=0.3)
        for i, k in pairs
    ]
    model = mg.Model("balls", bodies, joints, forces=forces, gravity=(0, 0, 0))
    q = np.zeros((n, 7))
    q[:, 3], q[:, 0] = 1.0, far * np.arange(n)
    q[1, 0] = 0.18
    return model, q.ravel()


def test_bodies_out_of_reach_are_left_out():
    """No row of theirs is evaluated; the pair that touches has its forces."""
    model, q = balls(5)
    system = System(model)
    rows = evaluate_rows(system.T, q[None], None, None, np.zeros(1), 0, int(system.n_rows))
    first = rows.values[0].reshape(-1, 6)[:, 0]
    assert np.count_nonzero(first == FAR) == 9
    assert np.count_nonzero(rows.J[0].reshape(10, 6, -1).any(axis=(1, 2))) == 1
    a = mg.forward_dynamics(model, q, np.zeros(30)).reshape(5, 6)
    np.testing.assert_allclose(a[:2, 0], [-1e4 * 0.02**1.5, 1e4 * 0.02**1.5], rtol=1e-12)
    assert not a[2:].any()


def test_two_balls_keep_momentum_and_energy():
    """Without loss they exchange their velocities, as equal masses do."""
    model, q = balls(2)
    q[7] = 0.5
    v = np.zeros(12)
    v[6] = -2.0
    motion = mg.simulate(model, mg.state(model, q, v), 0.4, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(motion.v[-1, [0, 6]], [-2.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(motion.v[:, 0] + motion.v[:, 6], -2.0, atol=1e-11)


def test_gradients_through_touch_and_release():
    """Direct, adjoint and complex steps agree on a motion during which a pair comes into reach, touches and parts."""
    model, q = balls(3)
    q[7] = 0.3
    v = np.zeros(18)
    v[6], v[7], v[11] = -2.0, 0.1, 3.0
    motion = mg.simulate(model, mg.state(model, q, v), 0.15, step=1e-3)
    goal = mg.AtEnd(mg.measures.JointCoordinate("j0.x"))
    numbers = ["touch 1 0.stiffness", "touch 1 0.radius", "touch 1 0.friction", "b1.mass"]
    adjoint, direct = (mg.gradient(motion, goal, numbers, method=m) for m in ("adjoint", "direct"))
    np.testing.assert_allclose(adjoint.array, direct.array, rtol=1e-8)
    assert np.abs(adjoint.array).min() > 1e-9
    certificate = adjoint.certify()  # differences see a kink at the touch, and leave it to the complex step
    np.testing.assert_allclose(certificate.complex_step, adjoint.array.reshape(1, -1), rtol=1e-9)
