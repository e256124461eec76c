"""What every force element exerts, against the equations of its docstring, in states where all its branches act.

`law_equations` has the equations, and knows nothing of rows, laws and tables. Both ways of the library are asked: the
residual of many states at once (lanes), and the accelerations of one.
"""

from __future__ import annotations

import law_equations as eq
import numpy as np
import pytest

import mechgrad as mg
from mechgrad.model import FORCE_TYPES

SPEEDS = (-2.0, -0.03, 0.02, 1.5)


def check(force, instants, equation):
    """Compare the generalized forces in all states; returns those of the equation."""
    for s in instants:
        equation(s, force)
    wanted = np.array([s.forces for s in instants])
    q, v = np.array([s.q() for s in instants]), np.array([s.v() for s in instants])
    t = np.array([s.t for s in instants])
    model = eq.model_with(force)
    alone = np.array([mg.forward_dynamics(model, q[k], v[k], t=t[k]) for k in range(len(q))])
    # lengths of a metre are rounded at 1e-16, and the smallest depth, 0.01 m, is a difference of such
    tolerance = 1e-12 * np.abs(wanted).max(axis=1, keepdims=True) + 1e-15 * np.abs(wanted).max()
    for found in (-mg.terms.motion_terms(model, q, v, t=t).r, alone):
        assert (np.abs(found - wanted) / tolerance).max() < 1.0
    return wanted


def instants(seed, count=9, **more):
    rng = np.random.default_rng(seed)
    return [eq.Instant(eq.random_pose(rng), eq.random_pose(rng), **more) for _ in range(count)]


def test_without_forces_nothing_accelerates():
    """The oracle rests on it: unit masses without gravity."""
    s = instants(1, 1)[0]
    np.testing.assert_allclose(mg.forward_dynamics(eq.model_with(), s.q(), s.v()), 0.0, atol=1e-14)


@pytest.mark.parametrize("to", ["on other", "hook"])
def test_spring_damper(to):
    states = instants(2)
    spring = mg.forces.SpringDamper("s", "on base", to, stiffness=70.0, damping=6.0, free_length=1.1)
    lengths = [eq.stretch(s, "on base", to)[3:] for s in states]
    assert min(d for d, _ in lengths) < 1.0 < 1.2 < max(d for d, _ in lengths)  # it pushes and it pulls
    assert min(rate for _, rate in lengths) < -0.5 < 0.5 < max(rate for _, rate in lengths)
    forces = check(spring, states, eq.spring_damper)
    assert np.abs(forces[:, :6]).max(axis=1).min() > 1.0


KNOTS, FORCES = (-0.5, -0.2, 0.1, 0.6), (-20.0, -9.0, 3.0, 40.0)
CURVES = {
    "natural": (mg.functions.Spline(KNOTS, FORCES), eq.spline(KNOTS, FORCES)),
    "clamped": (mg.functions.Spline(KNOTS, FORCES, ends="clamped"), eq.spline(KNOTS, FORCES, "clamped")),
    "not-a-knot": (mg.functions.Spline(KNOTS, FORCES, ends="not-a-knot"), eq.spline(KNOTS, FORCES, "not-a-knot")),
    "table": (mg.functions.Table(KNOTS, FORCES), eq.lines(KNOTS, FORCES)),
    "polynomial": (
        mg.functions.Polynomial((2.0, 30.0, -5.0, 80.0)),
        lambda x: 2.0 + 30.0 * x - 5.0 * x**2 + 80.0 * x**3,
    ),
    "harmonic": (mg.functions.Harmonic(9.0, 0.7, 0.3, -2.0), lambda x: 9.0 * np.sin(2 * np.pi * 0.7 * x + 0.3) - 2.0),
    "constant": (mg.functions.Constant(4.0), lambda x: 4.0),
}


@pytest.mark.parametrize("kind", CURVES)
def test_spring_curve(kind):
    """Left and right of the free length, between the knots and beyond both ends."""
    given, curve = CURVES[kind]
    states = instants(3, 17)
    elongations = np.array([eq.stretch(s, "on base", "on other")[3] for s in states]) - 1.2
    assert (elongations < KNOTS[0]).any()
    assert (elongations > KNOTS[-1]).any()
    assert len(set(np.searchsorted(KNOTS, elongations))) == len(KNOTS) + 1
    force = mg.forces.SpringCurve("c", "on base", "on other", given, free_length=1.2)
    check(force, states, lambda s, f: eq.spring_curve(s, f, curve))


@pytest.mark.parametrize("kind", CURVES)
def test_damper_curve(kind):
    """Of the rate alone; the spring is linear."""
    given, damper = CURVES[kind]
    states = instants(4, 40)
    rates = [eq.stretch(s, "on base", "on other")[4] for s in states]
    assert len(set(np.searchsorted(KNOTS, rates))) == len(KNOTS) + 1
    force = mg.forces.SpringCurve(
        "c", "on base", "on other", mg.functions.Polynomial((0, 7.0)), damper=given, free_length=0.9
    )
    check(force, states, lambda s, f: eq.spring_curve(s, f, lambda x: 7.0 * x, damper))


@pytest.mark.parametrize("kind", [mg.forces.TorsionSpring, mg.forces.JointSpring])
@pytest.mark.parametrize("coordinate", ["hinge", "slide"])
def test_torsion_spring(coordinate, kind):
    """On both sides of its free angle, the joint turning both ways; behind bodies with four Euler parameters each."""
    free = {"free_position" if kind is mg.forces.JointSpring else "free_angle": 0.2}
    force = kind("s", coordinate, stiffness=11.0, damping=0.6, **free)
    states = [s for q in (-0.4, 0.1, 0.9) for rate in SPEEDS for s in instants(5, 1, **{coordinate: (q, rate)})]
    forces = check(force, states, eq.torsion_spring)
    assert forces.min() < -5.0
    assert forces.max() > 5.0


@pytest.mark.parametrize("coordinate", ["hinge", "slide"])
def test_joint_friction(coordinate):
    """Creeping and sliding, both ways, and at rest."""
    force = mg.forces.JointFriction("f", coordinate, coulomb=0.8, viscous=0.15, speed=0.05)
    states = [s for rate in (0.0, *SPEEDS) for s in instants(6, 1, **{coordinate: (0.3, rate)})]
    forces = check(force, states, eq.joint_friction)
    rates = np.array([0.0, *SPEEDS])
    assert (forces.sum(axis=1) * rates)[1:].max() < 0.0  # it takes energy out
    assert not forces[0].any()


@pytest.mark.parametrize("coordinate", ["hinge", "slide"])
@pytest.mark.parametrize("kind", CURVES)
def test_motor(kind, coordinate):
    """Before, between and beyond the knots; positive torque speeds the coordinate up."""
    given, torque = CURVES[kind]
    times = np.linspace(-0.8, 0.9, 11)
    states = [s for t in times for s in instants(7, 1, t=float(t))]
    forces = check(mg.forces.Motor("m", coordinate, given), states, lambda s, f: eq.motor(s, f, torque))
    assert np.ptp(forces.sum(axis=1)) > 5.0 or kind == "constant"


FRAMES = ((0.9, 0.3, -0.2, 0.4), (0.7, -0.4, 0.5, 0.1))


@pytest.mark.parametrize("i", range(3), ids="xyz")
@pytest.mark.parametrize("part", ["stiffness", "damping", "rotational_stiffness", "rotational_damping"])
def test_bushing_in_each_direction(part, i):
    number = 3.0 * np.eye(3)[i]
    force = mg.forces.Bushing(
        "b", "on base", "on other", orientation_a=FRAMES[0], orientation_b=FRAMES[1], **{part: number}
    )
    forces = check(force, instants(8), eq.bushing)
    assert np.median(np.abs(forces[:, 3:6]).max(axis=1)) > 0.1
    assert (np.abs(forces[:, :3]).max() > 0.1) == (part in ("stiffness", "damping"))


def test_bushing_as_a_whole():
    force = mg.forces.Bushing(
        "b", "on base", "on other", (30.0, 20.0, 50.0), (2.0, 3.0, 1.0), (7.0, 5.0, 9.0), (0.4, 0.8, 0.6), *FRAMES
    )  # fmt: skip
    check(force, instants(9), eq.bushing)
    check(
        mg.forces.Bushing("b", "on base", "hook", (30.0, 20.0, 50.0), rotational_stiffness=(7.0, 5.0, 9.0)),
        instants(9),
        eq.bushing,
    )


# depth, speed of approach, slip along and across: a damping of 0.4 s/m ends the push of a rebound at 2.5 m/s
CONTACTS = {
    "airborne": (-0.02, 1.0, (1.0, 0.5)),
    "resting": (0.02, 0.0, (0.0, 0.0)),
    "compressed, sliding": (0.03, 1.3, (2.0, -1.0)),
    "compressed, creeping": (0.01, 0.4, (0.01, 0.02)),
    "deep": (0.2, 0.2, (-0.3, 0.6)),
    "rebounding, sliding": (0.03, -1.2, (-1.5, 2.0)),
    "rebounding, creeping": (0.02, -2.3, (-0.02, 0.01)),
    "rebounding too fast": (0.04, -3.0, (1.0, 1.0)),
    "rebounding far too fast": (0.05, -9.0, (0.02, 0.0)),
}
LET_GO = [k for k, name in enumerate(CONTACTS) if name == "airborne" or "too fast" in name]


def contact_states(force, spin=0.0):
    rng = np.random.default_rng(10)
    return [eq.touching(rng, force, *numbers, spin) for numbers in CONTACTS.values()]


def check_contact(force, states, equation):
    """Forces, and that nothing is left where the contact must let go."""
    for s, (depth, approach, slip) in zip(states, CONTACTS.values(), strict=True):
        a, b, n, found, _, c = eq.lowest_point(s, force)
        relative = s.between(a, b, c)
        across = np.linalg.norm(relative - (n @ relative) * n)
        np.testing.assert_allclose((found, -n @ relative, across), (depth, approach, np.hypot(*slip)), atol=1e-12)
    forces = check(force, states, equation)
    size = np.abs(forces).max(axis=1)
    assert not size[LET_GO].any()
    assert np.delete(size, LET_GO).min() > 0.02
    np.testing.assert_allclose(forces[:, :3], -forces[:, 6:9], atol=1e-12 * size.max())


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.2])
def test_sphere_contact(exponent):
    force = mg.forces.SphereContact(
        "c", "on other", 0.3, "on base", "normal", 2e3, damping=0.4, exponent=exponent, friction=0.6, slip_speed=0.05
    )
    check_contact(force, contact_states(force), eq.contact)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.2])
def test_wheel_contact(exponent):
    force = mg.forces.WheelContact(
        "c", "on other", "axle", 0.35, "on base", "normal", 2e3, damping=0.4, exponent=exponent, friction=0.7,
        slip_speed=0.04,
    )  # fmt: skip
    check_contact(force, contact_states(force, spin=3.0), eq.contact)


def test_contacts_without_friction_and_damping():
    sphere = mg.forces.SphereContact("c", "on other", 0.3, "on base", "normal", 2e3)
    wheel = mg.forces.WheelContact("c", "on other", "axle", 0.35, "on base", "normal", 2e3)
    for force in (sphere, wheel):
        check(force, contact_states(force), eq.contact)


@pytest.mark.parametrize("spin", [0.0, 25.0, -8.0])
def test_tyre(spin):
    """Standing, rolling and turning backwards; slipping softly and beyond the limits of friction."""
    force = mg.forces.Tyre(
        "t", "on other", "axle", 0.32, "on base", "normal", 5e3, damping=0.4, exponent=1.2, friction_x=1.1,
        friction_y=0.8, critical_slip=0.12, critical_angle=0.09, slip_speed=0.2,
    )  # fmt: skip
    check_contact(force, contact_states(force, spin), eq.tyre)


def law(t, g, gd):
    """Each of four forces has its own dependence on time, values and rates."""
    return np.array([5.0 * g[0] ** 2 + t, 3.0 * gd[1] * g[2], 2.0 * g[2] - gd[0], np.sin(3.0 * t) * gd[3] + g[1]])


def test_user_force():
    measures = [
        mg.measures.Distance("on base", "on other"),
        mg.measures.JointCoordinate("hinge"),
        mg.measures.Height("on other", "on base", "normal"),
        mg.measures.Offset("on other", "hook", (1, 2, 2)),
    ]

    def equation(s, f):
        _, _, _, d, rate = eq.stretch(s, "on base", "on other")
        (_, x), (_, foot), (_, hook), n = (
            s.point("on other"),
            s.point("on base"),
            s.point("hook"),
            s.direction("normal"),
        )
        e = np.array([1.0, 2.0, 2.0]) / 3.0
        g = np.array([d, s.hinge[0], n @ (x - foot), e @ (x - hook)])
        gd = np.array([rate, s.hinge[1], n @ s.between("other", "base", x), e @ s.other.velocity(x)])
        eq.user_force(s, f, *law(s.t, g, gd))

    states = [s for k in range(9) for s in instants(20 + k, 1, t=0.1 * k)]
    check(mg.forces.UserForce("u", measures, law), states, equation)


def test_every_force_element_is_here():
    tested = {"spring_damper", "spring_curve", "torsion_spring", "joint_spring", "joint_friction", "motor"}
    tested |= {"bushing", "tyre"}
    on_surfaces = {"ellipse_tyre", "magic_formula_tyre", "body_contact"}  # test_ground_values
    assert tested | on_surfaces | {"sphere_contact", "wheel_contact"} == set(FORCE_TYPES)
