"""What spheres, rims and tyres get from surfaces: the equations of their docstrings, and closed forms."""

from __future__ import annotations

import ground_equations as ground
import law_equations as eq
import numpy as np
import pytest

import mechgrad as mg

RNG = np.random.default_rng(4)
SURFACES = {
    "plane": mg.surfaces.Plane(),
    "shaker": mg.surfaces.MovingPlane(mg.functions.Harmonic(0.1, 0.7, 0.2, 0.1)),
    "step": mg.surfaces.Step(start=-1.5, height=0.5, width=3.0, heading=(0.4, 1.0, 0.2)),
    "bump": mg.surfaces.Bump(centre=0.3, height=0.5, length=6.0),
    "map": mg.surfaces.HeightMap(
        np.linspace(-8, 8, 9), np.linspace(-8, 8, 6), RNG.uniform(-0.4, 0.4, (9, 6)), heading=(0.2, 1.0, 0.1)
    ),
}
NORMAL = {
    "damping": 0.1, "exponent": 1.3, "compression_damping": 90.0, "restitution_damping": 40.0, "damping_depth": 0.3,
    "damping_speed": 0.5,
}  # fmt: skip
WHEEL = ("on other", "axle", 0.8, "on base", "normal", 2e3)
FORCES = {
    "sphere": lambda S: mg.forces.SphereContact(
        "f", "on other", 0.7, "on base", "normal", 2e3, friction=0.6, slip_speed=0.05, ground=S, **NORMAL
    ),
    "rim": lambda S: mg.forces.WheelContact("f", *WHEEL, friction=0.6, slip_speed=0.05, ground=S, **NORMAL),
    "tyre": lambda S: mg.forces.Tyre(
        "f", *WHEEL, friction_x=1.1, friction_y=0.8, critical_slip=0.3, critical_angle=0.4, slip_speed=0.3, ground=S,
        **NORMAL,
    ),
    "ellipse": lambda S: mg.forces.EllipseTyre(
        "f", *WHEEL, friction_x=1.1, friction_y=0.8, critical_slip=0.6, critical_angle=0.7, slip_speed=0.3, ground=S,
        **NORMAL,
    ),
    "magic": lambda S: mg.forces.MagicFormulaTyre(
        "f", *WHEEL, nominal_load=1e3, friction_x=1.1, friction_y=0.8, slip_stiffness=2.0, cornering_stiffness=1.5,
        shape_x=1.6, shape_y=1.3, curvature_x=-0.4, curvature_y=-0.9, camber_stiffness=0.4, trail=0.07,
        load_sensitivity=0.1, stiffness_load_sensitivity=0.2, slip_speed=0.3, ground=S, **NORMAL,
    ),
}  # fmt: skip


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("kind", FORCES)
def test_forces_of_surfaces(kind, surface):
    """In the air, touching, deep inside; pressed in, coming back and let go; sliding in all directions."""
    if kind in ("sphere", "rim") and surface == "plane":
        pytest.skip("the same law without a surface is in test_law_values, and compared below")
    force = FORCES[kind](SURFACES[surface])
    states = ground.states(5, 14)
    pushes = [ground.EQUATIONS[type(force).__name__](s, force) for s in states]
    assert 3 <= sum(N > 0.0 for N in pushes) < 14
    wanted = np.array([s.forces for s in states])
    q, v = np.array([s.q() for s in states]), np.array([s.v() for s in states])
    t = np.array([s.t for s in states])
    found = -mg.terms.motion_terms(eq.model_with(force), q, v, t=t).r
    # closest and lowest points of the oracle come from a search, its slopes from differences
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["sphere", "rim", "tyre"])
def test_a_plane_as_ground_is_a_plane(kind):
    """The laws of surfaces and those of planes have no code in common."""
    states = ground.states(6, 20)
    q, v = np.array([s.q() for s in states]), np.array([s.v() for s in states])
    flat, surface = (
        -mg.terms.motion_terms(eq.model_with(FORCES[kind](S)), q, v).r for S in (None, mg.surfaces.Plane())
    )
    assert np.count_nonzero(np.abs(flat).max(axis=1)) > 5
    np.testing.assert_allclose(surface, flat, rtol=1e-11, atol=1e-12 * np.abs(flat).max())
