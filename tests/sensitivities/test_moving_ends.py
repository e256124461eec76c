"""Motions that a stop condition ends: when, where, and what happened until then, with an end that moves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk, ellipkinc

sys.path.insert(0, str(Path(__file__).parents[1] / "simulation"))
from test_cuts import dropped

import mechgrad as mg
from mechgrad.errors import UnknownNameError
from mechgrad.gallery import free_top

TIGHT = {"rtol": 1e-13, "atol": 1e-13}
END = mg.objectives.EndTime()
G = 9.81


def agreed(
    motion: mg.Trajectory, goals: Any, wrt: list[str], tolerance: float = 1e-9, by_differences: float = 1e-6
) -> np.ndarray:
    """Direct, adjoint, complex step and differences, the event found anew, are the same; returns the first."""
    assert motion.ended == "stop"
    direct = mg.gradient(motion, goals, wrt, method="direct").array
    size = np.abs(direct).max(axis=1, keepdims=True)
    for method, limit in (("adjoint", tolerance), ("complex", tolerance), ("fd", by_differences)):
        found = mg.gradient(motion, goals, wrt, method=method).array
        assert np.all(np.abs(found - direct) <= limit * size), (method, np.abs((found - direct) / size).max())
    return direct


# ---- closed forms


def drop(**how: Any) -> mg.Trajectory:
    """A slider falls from 1 m, thrown upwards with 0.3 m/s, until it meets the ground; the clock begins at 2 s."""
    model = mg.Model("drop", [mg.Body("b", 1.3)], [mg.Prismatic("z", "ground", "b", axis=(0, 0, 1))])
    return mg.simulate(model, mg.state(model, [1.0], [0.3], t=2.0), 2.0, **{"stop": {"z": 0.0}} | how)


def falling(x: tuple[float, float, float]) -> tuple[float, float, float, float]:
    """When, how fast, and the integrals of z and z t, of a fall from z0 with v0 under g; for complex steps, too."""
    z0, v0, g = x
    T = (v0 + np.sqrt(v0**2 + 2.0 * g * z0)) / g
    area = z0 * T + v0 * T**2 / 2 - g * T**3 / 6
    moment = 2.0 * area + z0 * T**2 / 2 + v0 * T**3 / 3 - g * T**4 / 8
    return 2.0 + T, v0 - g * T, area, moment


FALLS = [
    {**TIGHT},
    {**TIGHT, "samples": 5},
    {"step": 1e-2},
    {"step": 1e-2, "samples": 21},
    {"scheme": mg.schemes.RungeKutta([[0, 0, 0], [0.5, 0, 0], [-1, 2, 0]], [1 / 6, 2 / 3, 1 / 6]), "step": 1e-2},
]
Z, V = mg.measures.JointCoordinate("z"), mg.measures.JointVelocity("z")
FALLEN = {"T": END, "v": mg.AtEnd(V), "area": mg.Integral(Z), "moment": mg.Integral(lambda z, t: z * t, Z)}
CONDITIONS: list[Any] = [{"z": 0.0}, {Z: 0.0}, lambda t, q, v: q[:, 0], lambda t, q, v: np.exp(q[:, 0]) - 1.0 + 0.0 * t]


@pytest.mark.parametrize("how", FALLS, ids=str)
def test_a_body_that_falls_on_the_ground(how: dict[str, Any]) -> None:
    motion = drop(**how)
    wrt = ["start.position.z", "start.velocity.z", "gravity.z", "b.mass"]
    found = mg.gradient(motion, FALLEN, wrt)
    np.testing.assert_allclose(found.values, falling((1.0, 0.3, G)), rtol=1e-10)
    array = agreed(motion, FALLEN, wrt)
    exact = np.array([np.imag(falling(np.array([1.0, 0.3, G]) + 1e-30j * e)) / 1e-30 for e in np.eye(3)]).T
    exact[:, 2] *= -1.0  # gravity.z = -g
    assert np.all(np.abs(exact) > 1e-3)
    np.testing.assert_allclose(array[:, :3], exact, rtol=1e-10)
    np.testing.assert_allclose(array[:, 3], 0.0, atol=1e-12)  # all bodies fall alike


@pytest.mark.parametrize("stop", CONDITIONS)
def test_conditions_of_any_kind_say_the_same(stop: Any) -> None:
    found = mg.gradient(drop(stop=stop, **TIGHT), FALLEN, ["start.position.z", "gravity.z"]).array
    exact = mg.gradient(drop(**TIGHT), FALLEN, ["start.position.z", "gravity.z"]).array
    np.testing.assert_allclose(found, exact, rtol=1e-10)


def test_the_range_of_a_projectile() -> None:
    """Of a spinning body; on a plane through a point that is a number of the model, over which g has a partial."""
    up = mg.Vector("up", "ground", (0, 0, 1))
    plane = mg.Point("plane", "ground", (0.0, 0.0, -0.4))
    body = mg.Body("ball", 0.8, inertia=(0.01, 0.02, 0.03))
    model = mg.Model("shot", [body], [mg.Floating("free", "ground", "ball")], points=[plane], vectors=[up])
    start = mg.state(model, model.neutral(), [3.0, 0.5, 4.0, 2.0, -3.0, 1.0])
    stop = {mg.measures.Height("ball.origin", "plane", "up"): 0.0}
    where = mg.AtEnd(mg.measures.PointPosition("ball.origin"))
    wrt = ["start.velocity.free.vx", "start.velocity.free.vz", "gravity.z", "plane.position.z", "ball.inertia.xx"]
    names = mg.gradient(mg.simulate(model, start, 2.0, stop=stop), END, wrt[2:]).parameters
    assert names == tuple(wrt[2:])

    def landed(x: Any) -> list[Any]:
        vx, vz, g, z = x
        T = (vz + np.sqrt(vz**2 - 2.0 * g * z)) / g
        return [T, vx * T, 0.5 * T]

    motion = mg.simulate(model, start, 2.0, stop=stop, **TIGHT)
    wrt = [f"start.velocity.{model.v_names[k]}" for k in (0, 2)] + wrt[2:]
    array = agreed(motion, [END, where], wrt)[:3]
    exact = np.array([np.imag(landed(np.array([3.0, 4.0, G, -0.4]) + 1e-30j * e)) / 1e-30 for e in np.eye(4)]).T
    exact[:, 2] *= -1.0
    assert np.all(np.abs(exact[:, 1:]) > 1e-2)
    np.testing.assert_allclose(array[:, :4], exact, rtol=0, atol=1e-10)
    np.testing.assert_allclose(array[:, 4], 0.0, atol=1e-12)


@pytest.mark.parametrize("how", [TIGHT, {"step": 1e-3}], ids=["dop853", "rk4"])
def test_a_pendulum_that_reaches_an_angle(how: dict[str, Any]) -> None:
    """From rest at an angle a until it hangs at b: T = (K(k) - F(asin(sin(b/2) / k), k)) / w with k = sin(a / 2), its
    derivatives by a and by the length from differences of that."""
    length = 0.7
    bob = mg.Body("bob", 2.0, com=(0, 0, -length))
    model = mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
    a, b = 1.1, 0.25

    def time(a: float, z: float, g: float) -> float:
        m = np.sin(a / 2) ** 2
        quarter = ellipk(m) - ellipkinc(np.arcsin(np.sin(b / 2) / np.sqrt(m)), m)
        return float(quarter * np.sqrt(-z / g))

    motion = mg.simulate(model, {"pin": a}, 3.0, stop={"pin": b}, **how)
    wrt = ["start.position.pin", "bob.com.z", "gravity.z", "bob.mass"]
    array = agreed(motion, {"T": END, "v": mg.AtEnd(mg.measures.JointVelocity("pin"))}, wrt)
    assert motion.t[-1] == pytest.approx(time(a, -length, G), abs=1e-10)

    def slope(f: Callable[[float], float], x: float) -> float:
        d = [(f(x + h) - f(x - h)) / (2 * h) for h in (1e-3, 2e-3, 4e-3)]
        first = [(4 * d[0] - d[1]) / 3, (4 * d[1] - d[2]) / 3]
        return (16 * first[0] - first[1]) / 15

    exact = [slope(lambda x: time(x, -length, G), a), slope(lambda x: time(a, x, G), -length)]
    exact += [-slope(lambda x: time(a, -length, x), G), 0.0]
    np.testing.assert_allclose(array[0], exact, rtol=0, atol=1e-9)
    assert np.all(np.abs(array[0, :3]) > 1e-3)
    # energy: v^2 = 2 g / l (cos b - cos a)
    speed = -np.sqrt(2 * G / length * (np.cos(b) - np.cos(a)))
    assert motion.v[-1, 0] == pytest.approx(speed, abs=1e-9)
    assert array[1, 0] == pytest.approx(G / length * np.sin(a) / speed, abs=1e-8)


# ---- closed loops


def four_bar() -> tuple[mg.Model, mg.State]:
    """Crank, coupler and rocker under gravity, with a spring; the crank is held at the start and turns."""
    bar = {"inertia": (0.002, 0.01, 0.012)}
    model = mg.Model(
        "four-bar",
        [
            mg.Body("crank", 1.0, com=(0.1, 0.01, 0), **bar),
            mg.Body("coupler", 1.5, com=(0.3, 0.02, 0), **bar),
            mg.Body("rocker", 1.2, com=(0.2, -0.01, 0), **bar),
        ],
        [
            mg.Revolute("A", "ground", "crank"),
            mg.Revolute("B", "crank", "coupler", (0.2, 0, 0)),
            mg.Revolute("D", "ground", "rocker", (0.5, 0, 0)),
            mg.Revolute("C", "coupler", "rocker", (0.55, 0, 0), child_origin=(0.45, 0, 0)),
        ],
        [mg.Point("eye", "coupler", (0.3, 0.1, 0))],
        gravity=(0, -9.81, 0),
        forces=[mg.forces.SpringDamper("spring", "eye", "ground.origin", 40.0, 0.5, 0.3)],
    )
    return model, mg.assemble(model, {"A": 0.6}, {"A": 5.0}, guess=[0.6, 0.3, 1.8][: model.n_q])


LOOPS = [
    {"formulation": "ali3p", "scheme": "trapezoidal", "step": 2e-3},
    {"formulation": "ali3p", "scheme": "hht", "step": 2e-3, "samples": 51},
    {"formulation": "index1", "scheme": "dop853"},
    {"formulation": "index1", "scheme": "rk4", "step": 2e-3},
    {"formulation": mg.formulations.MatrixR(["A"], tolerance=1e-13), "scheme": "trapezoidal", "step": 2e-3},
    {"formulation": "matrix-r", "scheme": "rk4", "step": 2e-3, "samples": 51},
    {"formulation": "ali3p", "scheme": "hht", "rtol": 1e-5, "atol": 1e-5},
    {"formulation": mg.formulations.MatrixR(tolerance=1e-13), "scheme": "trapezoidal", "rtol": 1e-5, "atol": 1e-5},
]
LINKED = {
    "T": END,
    "eye": mg.AtEnd(lambda v: v[:, :2], mg.measures.PointVelocity("eye")),
    "work": mg.Integral(lambda x: x**2, mg.measures.KineticEnergy()),
    "push": mg.AtEnd(mg.measures.Multiplier("C: point x")),
    "a": mg.AtEnd(mg.measures.JointAcceleration("A")),
}


@pytest.mark.parametrize("how", LOOPS, ids=lambda how: f"{how['formulation']}-{how['scheme']}"[:40])
def test_a_crank_that_passes_a_line(how: dict[str, Any]) -> None:
    """Crank and coupler pass the line of the ground, at angles that the geometry decides: g depends on numbers of the
    model; accelerations and multipliers at the end are differentiated, too."""
    model, start = four_bar()
    line = {mg.measures.Offset("crank.com", "ground.origin", (0.0, 1.0, 0.0)): 0.0}
    motion = mg.simulate(model, start, 1.0, stop=line, **how)
    assert 0.05 < motion.t[-1] < 0.5
    wrt = ["crank.mass", "spring.stiffness", "gravity.y", "start.velocity.A", "start.position.A", "crank.com.x"]
    wrt += ["D.origin.x"]
    array = agreed(motion, LINKED, wrt, 1e-8 if how["scheme"] == "hht" else 1e-9, 1e-5)
    assert np.all(np.abs(array).max(axis=0) > 1e-5)
    assert np.abs(array[0]).min() > 1e-6
    # an end that is held fixed has other derivatives
    fixed = mg.gradient(mg.simulate(model, start, 0.1, **{k: x for k, x in how.items() if k != "samples"}), LINKED, wrt)
    assert np.all(fixed.array[0] == 0.0)
    assert mg.gradient(motion, LINKED, wrt).certify().passed


def test_an_equilibrium_that_is_let_go() -> None:
    """At rest under a torque, which is gone when the motion begins: the end follows the equilibrium."""
    body = mg.Body("u", 1.4, com=(0.3, 0, 0.05), inertia=(0.1, 0.1, 0.1))
    spring = mg.forces.TorsionSpring("k", "s", 8.0, 0.1)
    model = mg.Model("arm", [body], [mg.Revolute("s", "ground", "u", axis=(0, 1, 0))], forces=[spring])
    rest = mg.equilibrium(model, [0.5], tau=[3.0])
    level = float(rest.q[0]) - 0.2
    wrt = ["k.stiffness", "u.mass", "u.com.x", "gravity.z"]
    for how in ({}, {"step": 2e-3}, {"step": 2e-3, "scheme": "hht"}):
        motion = mg.simulate(model, rest, 2.0, stop={"s": level}, **how)
        array = agreed(motion, {"T": END, "v": mg.AtEnd(mg.measures.JointVelocity("s"))}, wrt, by_differences=1e-5)
        assert np.all(np.abs(array[0]) > 1e-4)


def test_matrix_r_and_divided_steps_within_the_last_step() -> None:
    """Steps that were divided are held; the end lies within one of them."""
    cut = dropped().cuts[0]
    middle = cut.t + 0.4 * cut.length
    motion = dropped(stop=lambda t, q, v: t - middle + 1e-3 * (q[:, 2] - 0.25))
    wrt = ["tyre.stiffness", "hub.mass", "start.velocity.rod"]
    goals = {"T": END, "z": mg.AtEnd(mg.measures.PointVelocity("hub.origin"))}
    direct, adjoint, exact = (mg.gradient(motion, goals, wrt, method=m).array for m in ("direct", "adjoint", "complex"))
    size = np.abs(exact).max(axis=1, keepdims=True)
    assert np.all(np.abs(direct - exact) < 1e-8 * size)
    assert np.all(np.abs(adjoint - exact) < 1e-8 * size)
    assert np.abs(exact[0]).max() > 0.0


def test_switches_of_contacts_before_the_end() -> None:
    """A ball bounces on a floor before it passes a height; the certificate takes steps of its own."""
    up = mg.Vector("up", "ground", (0, 0, 1))
    floor = mg.forces.SphereContact("floor", "ball.origin", 0.2, "ground.origin", "up", stiffness=1e5, damping=0.5)
    ball = mg.Body("ball", 3.0, inertia=(0.05, 0.05, 0.05))
    model = mg.Model(
        "bounce", [ball], [mg.Prismatic("z", "ground", "ball", axis=(0, 0, 1))], vectors=[up], forces=[floor]
    )
    motion = mg.simulate(
        model, mg.state(model, [0.5]), 2.0, stop=lambda t, q, v: t - 0.4 + 0.2 * q[:, 0], rtol=1e-11, atol=1e-11
    )
    assert motion.ended == "stop"
    assert len(motion.events) == 2
    g = mg.gradient(motion, {"T": END, "v": mg.AtEnd(V)}, ["start.position.z", "floor.stiffness", "ball.mass"])
    assert np.all(np.abs(g.array[0]) > 0.0)
    assert g.certify().passed


@pytest.mark.parametrize("how", [{}, {"step": 5e-3}, {"step": 5e-3, "scheme": "hht"}], ids=["dop853", "rk4", "hht"])
def test_functions_of_rotations_and_velocities(how: dict[str, Any]) -> None:
    """A tumbling body, until a function of time, Euler parameters and angular velocities changes its sign."""
    model, q, v = free_top()
    if how.get("scheme"):
        how = how | {"formulation": mg.formulations.SemiRecursive(tolerance=1e-14)}
    e, w = model.layout.ball_q[0], model.layout.ball_v[0]
    whole = mg.simulate(model, mg.state(model, q, v), 1.0)

    def turned(t: Any, q: Any, v: Any) -> Any:
        return q[:, e[1]] * q[:, e[0]] + 0.2 * v[:, w[2]] * v[:, w[0]] + t

    middle = whole.at([0.4321])
    level = float(turned(middle.t, middle.q, middle.v)[0])
    motion = mg.simulate(model, mg.state(model, q, v), 1.0, stop=lambda t, q, v: turned(t, q, v) - level, **how)
    goals = {"T": END, "w": mg.AtEnd(mg.measures.JointVelocity(model.v_names[w[1]]))}
    wrt = [f"{model.bodies[0].name}.inertia.{k}" for k in ("xx", "yy", "zz")]
    wrt += [f"start.velocity.{model.v_names[k]}" for k in w]
    array = agreed(motion, goals, wrt)
    assert np.abs(array).min() > 1e-4


# ---- what is refused, and said


def test_a_condition_that_grazes_is_refused() -> None:
    model = mg.Model("drop", [mg.Body("b", 1.3)], [mg.Prismatic("z", "ground", "b", axis=(0, 0, 1))])
    start = mg.state(model, [0.0], [3.0])
    top = 9.0 / (2 * G)
    motion = mg.simulate(model, start, 1.0, stop=lambda t, q, v: v[:, 0] ** 3, **TIGHT)
    with pytest.raises(mg.InputError, match=r"grazes zero at t = 0\.305"):
        mg.gradient(motion, END, ["gravity.z"])
    below = mg.simulate(model, start, 1.0, stop={"z": top - 0.1}, **TIGHT)
    assert mg.gradient(below, END, ["gravity.z"]).certify().passed


def test_what_a_stopped_motion_does_not_have() -> None:
    motion = drop(**TIGHT)
    with pytest.raises(mg.InputError, match="its last instant moves"):
        mg.motion_sensitivities(motion, ["gravity.z"])
    with pytest.raises(mg.InputError, match="does not follow an end that moves"):
        mg.gradient(motion, END, ["gravity.z"], method="continuous-adjoint")
    with pytest.raises(mg.InputError, match="not within the motion"):
        mg.gradient(motion, mg.AtTime(2.9, Z), ["gravity.z"])
    note = str(mg.gradient(motion, END, ["gravity.z"]))
    assert "The end, at t = 2.48314 s, moves with the stop condition." in note


@pytest.mark.parametrize(
    ("stop", "word"),
    [
        ({"y": 0.0}, "unknown coordinate 'y'"),
        ({"z": np.nan}, "cannot pass nan"),
        ({"z": 0.0, "x": 1.0}, "names 2 quantities"),
        ({3: 0.0}, "is no name of a coordinate"),
        ({mg.measures.JointAcceleration("z"): 0.0}, "depends on a"),
        (3.0, "give a function of t, q and v"),
        ({mg.measures.PointPosition("b.origin"): 0.0}, r"stop returned shape \(\d+, 3\)"),
    ],
)
def test_conditions_that_are_none(stop: Any, word: str) -> None:
    with pytest.raises((mg.InputError, UnknownNameError), match=word):
        drop(stop=stop)


def test_a_condition_that_is_not_smooth_is_refused() -> None:
    motion = drop(stop=lambda t, q, v: q[:, 0] + 1e-3 * np.abs(q[:, 0]), **TIGHT)
    with pytest.raises(mg.InputError, match="not smooth around the end"):
        mg.gradient(motion, END, ["gravity.z"])


def test_recipes_keep_the_condition() -> None:
    motion = drop(**TIGHT)
    g = mg.gradient(motion, END, ["start.position.z"])
    ends = [motion.recipe.with_values({"start.position.z": 1.0 + h}).simulate().t[-1] for h in (1e-5, -1e-5)]
    assert g.array[0, 0] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    higher = motion.recipe.changed(stop={"z": 0.5}).simulate()
    assert higher.q[-1, 0] == pytest.approx(0.5, abs=1e-11)


def test_end_time_of_a_given_duration() -> None:
    motion = drop(stop=None, **TIGHT)
    g = mg.gradient(motion, END, ["gravity.z"])
    assert g.values[0] == 4.0
    assert g.array[0, 0] == 0.0


def test_data_at_reported_instants_only() -> None:
    motion = drop(**TIGHT, samples=21)
    data = 0.1 * np.arange(len(motion.t))
    g = mg.gradient(motion, mg.Integral(lambda z: z * data, Z), ["gravity.z", "start.position.z"])
    assert "reported instants only" in g.note
    assert g.certify().passed
