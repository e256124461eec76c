"""The same digits wherever a mechanism stands: at home, 128 m, 8 km and 1000 km away.

Distances are powers of two, so that carrying a mechanism away rounds none of its own lengths. What is compared does not
depend on the place, or has the translation taken off; Pinocchio, whose quantities live in the axes of links, judges the
accelerations at home and far away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from support.pinocchio_twin import Twin

import mechgrad as mg
from mechgrad.gallery import arm7, five_bar, five_bar_start, human

FAR = (128.0, 8192.0, 2.0**20)
SAME = 1e-11  # relative: what users were promised
AWAY = np.array([1.0, -1.0, 0.5])  # direction of the way


def quadruped() -> mg.Model:
    """A floating trunk on four legs of three hinges, in the proportions of small walking robots."""
    bodies = [mg.Body("trunk", mass=1.2, com=(0.01, 0.002, 0.0), inertia=(0.003, 0.012, 0.013))]
    joints: list[mg.results.Joint] = [mg.Floating("trunk joint", "ground", "trunk")]
    points = []
    for x, end in ((0.19, "front"), (-0.19, "hind")):
        for y, side in ((0.08, "left"), (-0.08, "right")):
            leg = f"{end} {side}"
            last = "trunk"
            for part, origin, axis, mass in (
                ("hip", (x, y, 0.0), (1, 0, 0), 0.14),
                ("thigh", (0.0, 0.014, 0.0), (0, 1, 0), 0.15),
                ("shank", (0.0, 0.03, -0.16), (0, 1, 0), 0.03),
            ):
                name = f"{leg} {part}"
                inertia = tuple(mass * k for k in (1.1e-3, 1.3e-3, 2e-4))
                bodies.append(mg.Body(name, mass=mass, com=(0.003, 0.012, -0.07), inertia=inertia))
                joints.append(mg.Revolute(f"{name} joint", last, name, origin=origin, axis=axis))
                last = name
            points.append(mg.Point(f"{leg} foot", last, (0.0, 0.01, -0.16)))
    return mg.Model("quadruped", bodies=bodies, joints=joints, points=points)


class Case(NamedTuple):
    """A mechanism, how it is carried away, and where: other numbers of the model, other coordinates."""

    model: mg.Model
    moved: Callable[[float], tuple[mg.Model, np.ndarray]]
    slides: int  # coordinates that say where it is


def by_origin(model: mg.Model, joint: str) -> Case:
    def moved(d: float) -> tuple[mg.Model, np.ndarray]:
        paths = {f"{joint}.origin.{axis}": model.value(f"{joint}.origin.{axis}") + d * x
                 for axis, x in zip("xyz", AWAY, strict=True)}  # fmt: skip
        return model.with_values(paths), np.zeros(model.n_q)

    return Case(model, moved, 0)


def by_coordinates(model: mg.Model) -> Case:
    def moved(d: float) -> tuple[mg.Model, np.ndarray]:
        shift = np.zeros(model.n_q)
        shift[:3] = d * AWAY
        return model, shift

    return Case(model, moved, 3)


CASES = {
    "arm": by_origin(arm7(), "turn"),
    "quadruped": by_coordinates(quadruped()),
    "human": by_coordinates(human()),
}


def states(model: mg.Model, nt: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seeded; coordinates are multiples of 2^-20, which no distance rounds."""
    rng = np.random.default_rng(3)
    q = np.array([model.integrate(model.neutral(), x) for x in rng.uniform(-0.8, 0.8, (nt, model.n_v))])
    q[:, :3] = np.round(q[:, :3] * 2**20) / 2**20
    return q, *rng.uniform(-1, 1, (2, nt, model.n_v))


def gap(got: np.ndarray, want: np.ndarray) -> float:
    """Of the largest number that is wanted."""
    size = np.abs(want).max()
    assert size > 1e-3  # there is something to compare
    return float(np.abs(got - want).max() / size)


@pytest.mark.parametrize("d", FAR)
@pytest.mark.parametrize("name", CASES)
def test_torques_accelerations_and_their_derivatives(name, d):
    model, moved, slides = CASES[name]
    q, v, a = states(model)
    far, shift = moved(d)
    there = q + shift
    wrt = [f"{model.bodies[-1].name}.mass", f"{model.bodies[-1].name}.com.x"]
    near, away = (mg.inverse_dynamics_derivatives(m, x, v, a, wrt=wrt) for m, x in ((model, q), (far, there)))
    for part in ("dq", "dv", "da", "dp"):
        assert gap(getattr(away, part).values, getattr(near, part).values) < 1e-13, part
    tau = mg.inverse_dynamics(model, q, v, a)
    assert gap(mg.inverse_dynamics(far, there, v, a), tau) < 1e-14
    assert gap(mg.mass_matrix(far, there).values, mg.mass_matrix(model, q).values) < 1e-14
    assert gap(mg.forward_dynamics(far, there, v, tau), mg.forward_dynamics(model, q, v, tau)) < SAME
    D, E = mg.forward_dynamics_derivatives(model, q, v, tau), mg.forward_dynamics_derivatives(far, there, v, tau)
    for part in ("dq", "dv", "dtau"):
        assert gap(getattr(E, part), getattr(D, part)) < SAME, part
    reactions = [mg.joint_reactions(m, x, v, a) for m, x in ((model, q), (far, there))]
    assert gap(reactions[1].force, reactions[0].force) < 1e-13
    rails = slides if name == "human" else 0  # slides of their own feel a couple that does grow with the way
    assert gap(reactions[1].couple[:, rails:], reactions[0].couple[:, rails:]) < 1e-13


@pytest.mark.parametrize("d", [0.0, *FAR])
@pytest.mark.parametrize("name", ["arm", "human"])
def test_accelerations_are_those_of_pinocchio(name, d):
    """Also of small bodies at the end of long arms: 4e-14 of the largest at home."""
    model, moved, _ = CASES[name]
    q, v, tau = states(model)
    far, shift = moved(d)
    twin = Twin(model)
    want = np.array([pin.aba(twin.model, twin.data, *twin.theirs(*x))[twin.order] for x in zip(q, v, tau, strict=True)])
    assert gap(mg.forward_dynamics(far, q + shift, v, tau), want) < 1e-12


HOW = {
    "implicit": {"scheme": "trapezoidal", "step": 1e-2},
    "rk4": {"scheme": "rk4", "step": 1e-2},
    "dop853": {"rtol": 1e-13, "atol": 1e-13},  # it sizes its steps by roundings of slides, too: the same motion to this
}


@pytest.mark.parametrize(
    ("name", "how"),
    [*((name, how) for name in ("arm", "quadruped") for how in HOW), ("human", "implicit"), ("human", "dop853")],
)
def test_a_second_of_motion_and_its_gradient(name, how):
    model, moved, slides = CASES[name]
    q, v, _ = (x[0] for x in states(model))
    body = model.bodies[-1].name
    joint = model.joints[-1].name
    wrt = [f"{body}.mass", f"{body}.com.z", f"{joint}.a" if name == "human" else f"{joint}.origin.y", "gravity.z"]
    end = mg.measures.PointVelocity(model.points[-1].name) if model.points else mg.measures.JointCoordinate(joint)
    ask = [mg.AtEnd(end), mg.Integral(mg.measures.KineticEnergy())]

    def made(d: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        far, shift = moved(d)
        motion = mg.simulate(far, mg.state(far, q + shift, 0.3 * v), 1.0, samples=11, **HOW[how])
        at = motion.q - shift
        gradient = mg.gradient(motion, ask, wrt).array
        return at[:, slides:], at[:, :slides], gradient

    home, place, gradient = made(0.0)
    for d in FAR:
        turned, carried, other = made(d)
        assert gap(turned, home) < SAME, d
        assert gap(other, gradient) < SAME, d
        if slides:  # a coordinate of 1e6 m holds 1e-10 m, and adds up that often
            assert np.abs(carried - place).max() < 1e-9 + 200 * np.finfo(float).eps * d


@pytest.mark.parametrize("how", [{"formulation": f} for f in ("ali3p", "matrix-r", "index1", "penalty")], ids=str)
def test_closed_loops(how):
    """Loops close by differences of positions, which are rounded with the place; steps and gradients are not."""
    model = five_bar()
    grounded = [j for j in model.joints if j.parent == "ground"]
    wrt, end = ["A1.mass", "S1.stiffness", "gravity.y"], mg.AtEnd(mg.measures.PointVelocity("P2"))
    found = []
    for d in (0.0, 2.0**20):
        paths = {f"{j.name}.origin.x": model.value(f"{j.name}.origin.x") + d for j in grounded}
        paths |= {
            f"{p.name}.position.x": model.value(f"{p.name}.position.x") + d for p in model.points if p.body == "ground"
        }
        far = model.with_values(paths)
        motion = mg.simulate(far, five_bar_start(), 1.0, step=5e-3, **how)
        found.append((motion.q, mg.gradient(motion, end, wrt).array))
    assert gap(found[1][0], found[0][0]) < 1e-9
    assert gap(found[1][1], found[0][1]) < 1e-8


def test_the_origin_loses_digits_where_the_root_does_not():
    """The oracle can fail: the same motions about the world's origin (RTdyn1) do differ."""
    model, moved, _ = CASES["arm"]
    q, v, _ = (x[0] for x in states(model))
    motions = {}
    for reference in ("root", "com", "origin"):
        ends = []
        for d in (0.0, 8192.0):
            far, _ = moved(d)
            start = mg.state(far, q, v)
            ends.append(mg.simulate(far, start, 0.1, step=1e-2, scheme="trapezoidal", reference=reference).q)
        motions[reference] = gap(ends[1], ends[0])
    assert motions["root"] < SAME
    assert motions["com"] < SAME
    assert motions["origin"] > 1e3 * SAME
