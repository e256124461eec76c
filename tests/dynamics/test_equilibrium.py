"""Configurations of rest against closed forms, against minimal potential energy and against complex steps."""

from __future__ import annotations

import sys
from math import atan2
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import five_bar_reference as reference

import mechgrad as mg
from mechgrad.dynamics.equilibrium import equilibrium
from mechgrad.errors import NoEquilibriumError
from mechgrad.gallery import double_pendulum
from mechgrad.gallery.mechanisms import five_bar, five_bar_start

PENDULUM = mg.Model(
    "pendulum", [mg.Body("bob", 2.0, (0, 0, -1.0))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
)
G = 9.81


def test_pendulum_hangs_stands_and_is_held():
    for guess, angle, stable in ((0.9, 0.0, True), (2.8, np.pi, False), (-2.8, -np.pi, False)):
        rest = equilibrium(PENDULUM, [guess])
        assert rest.q[0] == pytest.approx(angle, abs=1e-10)
        assert rest.stable is stable
        assert rest.residual < 1e-8
    # a torque m g l sin(q) keeps it at q
    assert equilibrium(PENDULUM, [0.1], tau=[2 * G * np.sin(0.7)]).q[0] == pytest.approx(0.7, abs=1e-9)
    held = equilibrium(PENDULUM, at={"pin": 0.7})
    assert held.q[0] == 0.7
    assert held.holding["pin"] == pytest.approx(2 * G * np.sin(0.7), rel=1e-12)
    # a horizontal push p at the bob: tan(q) = p / m g; q turns the bob towards -x
    pushed = equilibrium(PENDULUM, loads=[mg.Load("bob", force=(5.0, 0, 0), point=(0, 0, -1.0))])
    assert pushed.q[0] == pytest.approx(-np.arctan(5.0 / (2 * G)), abs=1e-9)


def test_relaxation_falls_from_where_newton_finds_no_way():
    """Close to the side, Newton's step for a pendulum with a weak hinge spring is worthless."""
    spring = mg.forces.TorsionSpring("s", "pin", stiffness=3.0, free_angle=6.0)
    model = mg.Model("sprung", PENDULUM.bodies, PENDULUM.joints, forces=[spring])
    for guess in np.linspace(-3.0, 9.0, 25):
        rest = equilibrium(model, [guess])
        assert 2 * G * np.sin(rest.q[0]) + 3.0 * (rest.q[0] - 6.0) == pytest.approx(0.0, abs=1e-8)
        assert rest.stable is bool(2 * G * np.cos(rest.q[0]) + 3.0 > 0)


def test_steps_stay_near_the_guess():
    """At 1.5 rad Newton's step for the pendulum is tan(1.5) = 14 rad; the nearest rest is at 0."""
    assert equilibrium(PENDULUM, [1.5]).q[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_two_rods_with_random_springs_from_anywhere(seed):
    rng = np.random.default_rng(seed)
    bare = double_pendulum()
    k, free = rng.uniform(0.1, 20, 2), rng.uniform(-6, 6, 2)
    springs = [
        mg.forces.TorsionSpring(f"spring {name}", name, stiffness=k[i], free_angle=free[i])
        for i, name in enumerate(bare.q_names)
    ]
    rest = equilibrium(mg.Model("sprung", bare.bodies, bare.joints, forces=springs), rng.uniform(-6, 6, 2))
    np.testing.assert_allclose(mg.inverse_dynamics(bare, rest.q) + k * (rest.q - free), 0.0, atol=1e-7)
    assert rest.iterations < 60


def test_tolerances_below_rounding_end_at_rounding():
    rest = equilibrium(five_bar(), five_bar_start(), tolerance=1e-30)
    assert rest.residual < 1e-10
    assert rest.iterations < 20


def test_mass_on_two_springs():
    """In line: k1 (z - z1) + k2 (z - z2) = -m g."""
    points = [mg.Point("top", "ground", (0, 0, 3.0)), mg.Point("floor", "ground", (0, 0, -2.0))]
    springs = [
        mg.forces.SpringDamper("upper", "top", "b.origin", stiffness=70.0, free_length=1.0, damping=2.0),
        mg.forces.SpringDamper("lower", "b.origin", "floor", stiffness=40.0, free_length=1.5),
    ]
    slide = mg.Prismatic("z", "ground", "b", axis=(0, 0, 1))
    model = mg.Model("springs", [mg.Body("b", 4.0)], [slide], points, forces=springs)
    rest = equilibrium(model)
    assert rest.q[0] == pytest.approx((70 * 2.0 + 40 * -0.5 - 4 * G) / 110, rel=1e-12)
    assert rest.stable is True
    assert rest.iterations <= 3


def five_bar_potential(angles):
    try:
        return reference.energy(reference.DATA, *angles, 0.0, 0.0)
    except ValueError:  # bars that do not reach
        return np.inf


def test_five_bar_has_the_least_potential_energy():
    rest = equilibrium(five_bar(), five_bar_start())
    first = np.cumsum(rest.q)[:2]
    start = [-3 * np.pi / 4, atan2(-1, 1.5)]
    found = minimize(five_bar_potential, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    np.testing.assert_allclose(first, found.x, atol=1e-6)
    step = 1e-4
    slope = [(five_bar_potential(first + e) - five_bar_potential(first - e)) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)
    assert rest.stable is True
    assert len(rest.multipliers) == len(rest.constraint_names) == 2
    a, lam = mg.forward_dynamics(five_bar(), rest.q, return_multipliers=True)
    np.testing.assert_allclose(a, 0.0, atol=1e-7)
    np.testing.assert_allclose(rest.multipliers, lam, atol=1e-7)


def test_five_bar_without_springs_stands_or_hangs():
    """Turned over, the same linkage has an unstable equilibrium; gravity the other way makes it stable."""
    hanging = equilibrium(five_bar(springs=False), five_bar_start())
    assert hanging.stable is True
    upside_down = five_bar(springs=False).with_values({"gravity.y": G})
    standing = equilibrium(upside_down, hanging.q)
    np.testing.assert_allclose(standing.q, hanging.q, atol=1e-9)
    assert standing.stable is False


def chain(links, length, span):
    """Rods between two pegs, hinges about y; q are relative angles, the first one from the x axis."""
    size = length / links
    bodies = [mg.Body(f"b{k}", 1.0 / links, (size / 2, 0, 0), (0, 1e-3 / links, 1e-3 / links)) for k in range(links)]
    joints = [mg.Revolute("j0", "ground", "b0", axis=(0, 1, 0))]
    joints += [mg.Revolute(f"j{k}", f"b{k - 1}", f"b{k}", origin=(size, 0, 0), axis=(0, 1, 0)) for k in range(1, links)]
    ends = [mg.Point("end", f"b{links - 1}", (size, 0, 0)), mg.Point("peg", "ground", (span, 0, 0))]
    return mg.Model("chain", bodies, joints, ends, constraints=[mg.constraints.SamePoint("hook", "end", "peg")])


def chain_guess(links):
    """A V: down, then up."""
    q = np.zeros(links)
    q[0], q[links // 2] = 0.8, -1.6
    return q


@pytest.mark.parametrize("links", [6, 24])
def test_hanging_chain(links):
    """Rods of weight w between pegs: tan(angle of rod i) = w (i + 1/2 - n/2) / H, with H from the span; as rods grow
    shorter, the catenary y = c cosh(x / c)."""
    length, span = 3.0, 2.0
    rest = equilibrium(chain(links, length, span), chain_guess(links))
    steps = (np.arange(links) + 0.5 - links / 2) * G / links

    def too_long(H):
        return np.sum(length / links / np.sqrt(1 + (steps / H) ** 2)) - span

    H = brentq(too_long, 0.1, 1e3, xtol=1e-14)
    # a rotation about y turns x towards -z
    np.testing.assert_allclose(-np.cumsum(rest.q), np.arctan(steps / H), atol=1e-9)
    assert rest.stable is True
    middle = mg.kinematics.body_motion(chain(links, length, span), rest.q).of(f"b{links // 2}").p[2]
    c = brentq(lambda c: 2 * c * np.sinh(span / (2 * c)) - length, 0.2, 50)
    catenary = c - c * np.cosh(span / (2 * c))
    assert middle == pytest.approx(catenary, abs=1.5 / links**2)
    pull = dict(zip(rest.constraint_names, rest.multipliers, strict=True))
    assert abs(pull["hook: point x"]) == pytest.approx(H, rel=1e-9)
    assert abs(pull["hook: point z"]) == pytest.approx(G / 2, rel=1e-9)


def resting(joint, height=0.3, exponent=1.5):
    up, ground = mg.Vector("up", "ground", (0, 0, 1)), mg.Point("floor", "ground")
    contact = mg.forces.SphereContact(
        "touch", "ball.origin", 0.1, "floor", "up", stiffness=1e5, exponent=exponent, friction=0.3, damping=0.4
    )
    ball = mg.Body("ball", 2.0, inertia=(0.01, 0.01, 0.01))
    return mg.Model("resting", [ball], [joint], [ground], [up], forces=[contact])


@pytest.mark.parametrize("height", [0.095, 0.3, 2.0])
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_sphere_sinks_in_until_the_floor_carries_it(height, exponent):
    depth = (2.0 * G / 1e5) ** (1 / exponent)
    model = resting(mg.Prismatic("z", "ground", "ball", axis=(0, 0, 1)), exponent=exponent)
    rest = equilibrium(model, [height])
    assert rest.q[0] == pytest.approx(0.1 - depth, abs=1e-9)
    assert rest.stable is True


def test_a_free_ball_rests_anywhere():
    model = resting(mg.Floating("free", "ground", "ball"))
    rest = equilibrium(model, [0.4, -0.2, 0.15, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(rest.q[:3], [0.4, -0.2, 0.1 - (2.0 * G / 1e5) ** (2 / 3)], atol=1e-9)
    assert rest.stable is None


@pytest.mark.parametrize("seed", range(6))
def test_a_table_dropped_askew_comes_to_stand_on_its_feet(seed):
    rng = np.random.default_rng(seed)
    turns = 2 * np.pi * np.arange(3) / 3
    feet = [mg.Point(f"foot {k}", "table", (np.cos(x), np.sin(x), 0)) for k, x in enumerate(turns)]
    contacts = [
        mg.forces.SphereContact(f"touch {k}", foot.name, 0.05, "ground.origin", "up", stiffness=1e5)
        for k, foot in enumerate(feet)
    ]
    table = mg.Body("table", 5.0, (0, 0, 0.2), (1, 1, 1))
    up = mg.Vector("up", "ground", (0, 0, 1))
    model = mg.Model("table", [table], [mg.Floating("free", "ground", "table")], feet, [up], forces=contacts)
    askew = np.array([1.0, *rng.normal(0, 0.15, 3)])
    rest = equilibrium(model, [0, 0, rng.uniform(0, 2), *askew / np.linalg.norm(askew)])
    depth = (5.0 * G / 3 / 1e5) ** (2 / 3)
    assert rest.q[2] == pytest.approx(0.05 - depth, abs=1e-9)
    np.testing.assert_allclose(mg.kinematics.body_motion(model, rest.q).of("table").R[:, 2], [0, 0, 1], atol=1e-9)
    assert rest.stable is None  # it may be anywhere on the floor


def test_a_beam_on_two_hinges_in_line():
    """The second hinge asks nothing that the first does not give."""
    hinges = [
        mg.Revolute("left", "ground", "beam", (0, -1, 0), child_origin=(0, -1, 0), axis=(0, 1, 0)),
        mg.Revolute("right", "ground", "beam", (0, 1, 0), child_origin=(0, 1, 0), axis=(0, 1, 0)),
    ]
    model = mg.Model("beam", [mg.Body("beam", 3.0, (0.5, 0, 0), (0.1, 0.1, 0.1))], hinges)
    rest = equilibrium(model, [0.3])
    assert rest.q[0] == pytest.approx(np.pi / 2, abs=1e-9)


def test_redundant_rows_share_a_load():
    """Two rods of 1 m, the end of the second held 1 m below the first hinge by two equal rows: the first rod hangs
    down, the second lies level, and either row carries half of m g / 2."""
    rods = [mg.Body(name, 3.0, (0.5, 0, 0), (0.1, 0.1, 0.1)) for name in ("first", "second")]
    hinges = [
        mg.Revolute("a", "ground", "first", axis=(0, 1, 0)),
        mg.Revolute("b", "first", "second", (1, 0, 0), axis=(0, 1, 0)),
    ]
    points = [mg.Point("P", "second", (1, 0, 0)), mg.Point("O", "ground", (0, 0, -1))]
    up = mg.Vector("up", "ground", (0, 0, 1))
    rows = [mg.constraints.PointInPlane(name, "P", "O", "up") for name in ("one", "other")]
    rest = equilibrium(mg.Model("rods", rods, hinges, points, [up], constraints=rows), [0.6, -0.3])
    np.testing.assert_allclose(rest.q, [np.pi / 2, -np.pi / 2], atol=1e-9)
    np.testing.assert_allclose(rest.multipliers, -3.0 * G / 4, rtol=1e-9)
    assert rest.stable is True


def test_follower_loads_have_no_potential():
    """A thrust along the last of two rods keeps its direction in the rod: stiffness is not symmetric."""
    bodies = [mg.Body(name, 1.0, (0, 0, 0.5), (0.1, 0.1, 0.1)) for name in ("lower", "upper")]
    joints = [
        mg.Revolute("a", "ground", "lower", axis=(0, 1, 0)),
        mg.Revolute("b", "lower", "upper", origin=(0, 0, 1), axis=(0, 1, 0)),
    ]
    springs = [mg.forces.TorsionSpring("ka", "a", stiffness=100.0), mg.forces.TorsionSpring("kb", "b", stiffness=100.0)]
    model = mg.Model("beck", bodies, joints, forces=springs)
    thrust = [mg.Load("upper", force=(0, 0, -10.0), point=(0, 0, 1), axes="body")]
    rest = equilibrium(model, [0.1, -0.1], loads=thrust)
    np.testing.assert_allclose(rest.q, 0.0, atol=1e-9)
    assert rest.stable is None
    assert equilibrium(model, [0.0, 0.0]).stable is True


def test_complex_steps_through_an_equilibrium():
    h, path = 1e-30, "S1.stiffness"
    model = five_bar()
    moved = equilibrium(model.with_values({path: 100.0 + 1j * h}), five_bar_start())
    ends = [equilibrium(model.with_values({path: 100.0 + s * 1e-4}), five_bar_start()) for s in (1, -1)]
    for mine, up, down in (
        (moved.q, ends[0].q, ends[1].q),
        (moved.multipliers, ends[0].multipliers, ends[1].multipliers),
    ):
        np.testing.assert_allclose(mine.imag / h, (up - down) / 2e-4, rtol=1e-4, atol=1e-7)
        assert np.abs(mine.imag / h).max() > 1e-4
    held = equilibrium(PENDULUM, at={"pin": 0.7 + 1j * h})
    assert held.holding["pin"].imag / h == pytest.approx(2 * G * np.cos(0.7), rel=1e-12)


def test_a_ball_rolls_to_where_its_spring_rests():
    """Constraints at velocity level tie its angle to its path: 0.6 m of a ball of 0.1 m are 6 rad about y."""
    model = mg.Model(
        "ball",
        [mg.Body("ball", 1.0, inertia=(0.01, 0.01, 0.01))],
        [mg.Floating("free", "ground", "ball")],
        [mg.Point("wall", "ground", (1.0, 0, 0.1))],
        [mg.Vector("up", "ground", (0, 0, 1))],
        constraints=[
            mg.constraints.Rolling("roll", "ball.origin", 0.1, "up", contact=True, plane_point="ground.origin")
        ],
        forces=[mg.forces.SpringDamper("pull", "ball.origin", "wall", stiffness=50.0, free_length=0.4)],
    )
    rest = equilibrium(model, [0, 0, 0.1, 1, 0, 0, 0])
    motion = mg.kinematics.body_motion(model, rest.q).of("ball")
    np.testing.assert_allclose(motion.p, [0.6, 0, 0.1], atol=1e-9)
    turned = [[np.cos(6.0), 0, np.sin(6.0)], [0, 1, 0], [-np.sin(6.0), 0, np.cos(6.0)]]
    np.testing.assert_allclose(motion.R, turned, atol=1e-9)


def test_what_cannot_rest_says_so():
    falling = mg.Model("falling", [mg.Body("b", 3.0)], [mg.Prismatic("z", "ground", "b", axis=(0, 0, 1))])
    with pytest.raises(
        NoEquilibriumError, match=r"model 'falling'.*200 iterations.*-29\.4 on 'z'.*another guess"
    ) as found:
        equilibrium(falling)
    assert found.value.q[0] < -1
    with pytest.raises(NoEquilibriumError, match="3 iterations"):
        equilibrium(falling, max_iterations=3)


def test_bad_input():
    cases = [
        ({"guess": [0.0, 1.0]}, mg.InputError, "guess has shape"),
        ({"guess": [np.nan]}, mg.InputError, r"guess\[0\] is nan"),
        ({"tolerance": 0.0}, mg.InputError, "tolerance = 0"),
        ({"max_iterations": 0}, mg.InputError, "max_iterations = 0"),
        ({"tau": [1.0, 2.0]}, mg.InputError, "tau has shape"),
        ({"t": np.inf}, mg.InputError, "t is inf"),
        ({"at": {"pin": np.nan}}, mg.InputError, "must be a finite number"),
        ({"at": {"bob.com.x": 0.1}}, mg.InputError, "no coordinate; hold coordinates"),
        ({"at": {"pim": 0.1}}, mg.ModelError, "Did you mean 'pin'"),
    ]
    for given, error, message in cases:
        with pytest.raises(error, match=message):
            equilibrium(PENDULUM, **given)
    wrong = mg.forces.UserForce("wrong", [mg.measures.JointCoordinate("pin")], lambda t, g, gd: g * np.nan)
    with pytest.raises(mg.InputError, match="generalized force on 'pin' is not finite"):
        equilibrium(mg.Model("wrong", PENDULUM.bodies, PENDULUM.joints, forces=[wrong]))
