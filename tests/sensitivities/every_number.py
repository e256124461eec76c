"""Mechanisms that together hold every number a model can have, in motion from every kind of start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr
from support.random_trees import ALL_KINDS, random_state, random_tree

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
sys.path.insert(0, str(Path(__file__).parents[1] / "dynamics"))
sys.path.insert(0, str(Path(__file__).parent))
import gradient_mechanisms as mechanisms
import test_cut_joints as rings

import mechgrad as mg
from mechgrad.dynamics.system import System

TREES = (("fully-recursive", "rk4"), ("fully-recursive", "dop853"), ("semi-recursive", "trapezoidal"))
LOOPS = (
    (mg.formulations.ALI3P(), "trapezoidal"),
    (mg.formulations.ALI3P(), "generalized-alpha"),
    (mg.formulations.Index1(), "rk4"),
    (mg.formulations.Index1(), "newmark"),
    (mg.formulations.Penalty(1e7), "trapezoidal"),
    (mg.formulations.MatrixR(), "trapezoidal"),
    (mg.formulations.MatrixR(), "rk4"),
)
NONHOLONOMIC = tuple(x for x in LOOPS if not isinstance(x[0], mg.formulations.MatrixR))


class Case(NamedTuple):
    """A mechanism and how it starts.

    still : patterns of numbers that change nothing there, each with the reason
    torn : patterns of numbers that loops cannot follow, each with the reason
    forces : tau and loads of `simulate`
    of : whose numbers it is there for, besides start values, gravity, variables, tau and loads
    """

    model: mg.Model
    start: Any
    v0: Any
    still: Mapping[str, str] = MappingProxyType({})
    torn: Mapping[str, str] = MappingProxyType({})
    forces: Mapping[str, Any] = MappingProxyType({})
    of: tuple[str, ...] = ("bodies", "joints", "points", "vectors", "constraints", "forces")
    t0: float | None = None
    step: float = 2e-3


def held(model: mg.Model, q: np.ndarray, names: list[str]) -> list[str]:
    """As many of some point coordinates as there are degrees of freedom, those that determine q best."""
    J = System(model).constraints(q[None]).J[0]
    free = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-8) :].T if J.size else np.eye(model.n_v)
    rows = np.stack([mg.kinematics.marker_jacobian(model, [name[:-2]], q)[0]["xyz".index(name[-1])] for name in names])
    order = qr((rows @ free).T, mode="economic", pivoting=True)[2][: free.shape[1]]
    return [names[k] for k in order]


def assembled(model: mg.Model, q: np.ndarray, points: list[str], seed: int, t: float = 0.0) -> mg.State:
    """A state near q: coordinates of points and vectors are held, and move."""
    chosen = held(model, q, [f"{name}.{axis}" for name in points for axis in "xyz"])
    where = {
        name: mg.kinematics.marker_motion(model, [name[:-2]], q).position[0, "xyz".index(name[-1])] for name in chosen
    }
    rates = np.random.default_rng(seed).normal(size=len(chosen))
    return mg.assemble(model, where, dict(zip(chosen, rates, strict=True)), guess=q, t=t)


# ---- trees


def joints_given() -> Case:
    """Every kind of joint, from given numbers, with tau and loads."""
    model = random_tree(1, len(ALL_KINDS), massless=0.0)
    q, v, _ = random_state(model, 1)
    rng = np.random.default_rng(4)
    loads = [
        mg.Load("b3", rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), name="push"),
        mg.Load("b10", rng.normal(size=3), rng.normal(size=3), "b10.com", axes="body", name="thrust"),
        mg.Load("b6", rng.normal(size=3), point="Pb6", name="pull"),
    ]
    return Case(model, q, v, forces={"tau": rng.normal(size=model.n_v), "loads": loads})


def tree_assembled() -> Case:
    """A tree that was put together by points."""
    model = random_tree(5, 3, kinds=("revolute", "cylindrical", "cardan"), massless=0.0, branching=0.0)
    q, _, _ = random_state(model, 2)
    return Case(model, assembled(model, q, ["Pb0", "Pb1", "Pb2"], 3), None)


def forces_given() -> Case:
    """Every kind of force, all of them pushing."""
    model, (q, v) = mechanisms.forced_tree()
    law = mg.forces.UserForce(
        "law", [mg.measures.Distance("on cart", "on ball"), mg.measures.JointCoordinate("hinge")],
        lambda t, g, gd, k, c: np.array([k * g[0] ** 2 + t * gd[1], c * gd[1] ** 3 + g[0]]),
        numbers={"k": 3.0, "c": 0.4},
    )  # fmt: skip
    model = mg.Model(model.name, model.bodies, model.joints, model.points, model.vectors, forces=[*model.forces, law])
    # a little deeper than contacts and tyre need to push
    up = model.vector("up").direction / np.linalg.norm(model.vector("up").direction)
    for joint, point, height in (("ball free", "on ball", 0.09), ("wheel free", "hub", 0.24)):
        x, floor = mg.kinematics.marker_motion(model, [point, "spot"], q).position
        q = np.array(q)
        q[model.q_slice(joint).start : model.q_slice(joint).start + 3] += (height - up @ (x - floor)) * up
    model = mechanisms.with_ground_below(model, q, t0=0.15)
    still = {
        "cart.com.*": "it slides without turning", "cart.inertia.*": "it slides without turning",
        "*.orientation.w": "the length of Euler parameters", "plain curve.curve.values.0": "the curve is not there",
        "sphere contact.damping_*": "no viscous damping", "wheel contact.damping_*": "no viscous damping",
        "tyre.damping_*": "no viscous damping", "balls.damping_*": "no viscous damping",
        "sphere on hull.damping_depth": "the sphere is deeper than that: all of its damping is there",
        "balls.length*": "spheres have none", "links.length*": "they touch between their ends",
        "tyre on shaker.critical_slip": "it slides along, beyond its critical slip",
    }  # fmt: skip
    return Case(model, q, v, still=still, t0=0.15, step=1e-4)


def springs() -> mg.Model:
    """Bodies on springs, bushings, motors, laws of a user and the ground, that can come to rest."""
    bodies = [
        mg.Body("cart", 1.5, (0.1, 0.05, 0.02), (0.1, 0.2, 0.3)),
        mg.Body("arm", 0.8, (0.2, 0.03, 0.1), (0.05, 0.06, 0.07)),
        mg.Body("ball", 1.1, (0.02, 0.01, 0.03), (0.02, 0.03, 0.04)),
        mg.Body("block", 0.9, (0.03, -0.02, 0.01), (0.03, 0.04, 0.05)),
    ]
    joints = [
        mg.Prismatic("slide", "ground", "cart", (0.1, 0.2, 0.3), axis=(1, 0.3, 0.4)),
        mg.Revolute("hinge", "cart", "arm", (0.3, 0, 0.1), axis=(0.2, 1, 0.1)),
        mg.Prismatic("drop", "ground", "ball", (1.0, 0.2, 0.3), axis=(0.3, 0.05, 1)),
        mg.Floating("float", "ground", "block", (0.1, 1.0, 0.2)),
    ]
    points = [
        mg.Point("P cart", "cart", (0.1, 0.2, 0.1)), mg.Point("P arm", "arm", (0.4, 0.1, 0.2)),
        mg.Point("P ball", "ball", (0.05, 0.02, 0.01)), mg.Point("P block", "block", (0.1, 0.05, 0.02)),
        mg.Point("wall", "ground", (-0.5, 0.1, 0.2)), mg.Point("floor", "ground", (0.1, 0.1, 0.05)),
        mg.Point("seat", "ground", (0.15, 1.05, 0.25)),
    ]  # fmt: skip
    vectors = [mg.Vector("up", "ground", (0.1, 0.05, 1.0))]
    curve = mg.functions.Spline((-1.0, -0.2, 0.1, 0.5, 1.5), (-40.0, -6.0, 2.0, 15.0, 70.0), ends="not-a-knot")
    forces = [
        mg.forces.SpringDamper("spring", "P cart", "wall", 60.0, 1.0, 0.5),
        mg.forces.SpringCurve(
            "curve", "P arm", "wall", curve, damper=mg.functions.Polynomial((0.0, 0.5, 0.1)), free_length=0.6
        ),
        mg.forces.TorsionSpring("torsion", "hinge", 9.0, 0.2, 0.3),
        mg.forces.JointSpring("sprung", "drop", 7.0, 0.3, 0.2),
        mg.forces.JointFriction("rub", "hinge", 0.2, 0.1, 0.3),
        mg.forces.Bushing(
            "bushing",
            "P block",
            "seat",
            (300, 400, 500),
            (3, 2, 1),
            (20, 30, 40),
            (0.4, 0.5, 0.6),
            (1, 0.02, 0.03, -0.01),
            (0.99, -0.02, 0.1, 0.04),
        ),
        mg.forces.Motor("motor", "hinge", mg.functions.Harmonic(0.7, frequency=0.4, phase=0.3, offset=0.2)),
        mg.forces.SphereContact(
            "ground contact", "P ball", 0.1, "floor", "up", 4e3, 0.2, 1.5, 0.3, 0.02, 30.0, 20.0, 0.05, 0.3
        ),
        mg.forces.UserForce(
            "law",
            [mg.measures.JointCoordinate("slide")],
            lambda t, g, gd, k, c: k * g**3 + c * gd + 0.1 * t,
            numbers={"k": 8.0, "c": 0.5},
        ),
    ]
    return mg.Model("springs", bodies, joints, points, vectors, forces=forces)


def tree_at_rest() -> Case:
    """From an equilibrium with a held coordinate, tau and a load, at a time that is not zero, then let go."""
    model = springs()
    rng = np.random.default_rng(2)
    load = mg.Load("arm", force=(1.0, -0.5, 0.7), torque=(0.1, 0.2, 0.3), point="P arm", name="push")
    guess = model.neutral()
    guess[model.q_slice("drop")] = -0.2
    rest = mg.equilibrium(
        model, guess, at={"slide": 0.15}, tau=0.2 * rng.normal(size=model.n_v), loads=[load], t=0.3,
        rates={"slide": 0.4, "hinge": -0.3, "drop": -0.2, "float.vx": 0.3, "float.wy": 0.5},
    )  # fmt: skip
    still = {
        "start.tau.slide": "what holds the coordinate takes it", "float.origin.*": "the equilibrium takes it along",
        "float.orientation.*": "the equilibrium takes it along", "*.orientation.w": "the length of Euler parameters",
        "cart.com.*": "it slides without turning", "cart.inertia.*": "it slides without turning",
        "ball.com.*": "it slides without turning", "ball.inertia.*": "it slides without turning",
    }  # fmt: skip
    return Case(model, rest, None, still=still, t0=0.3)


# ---- loops


def constraints_assembled() -> Case:
    """Constraints of every holonomic kind, some of them moving, at a time that is not zero."""
    model, _ = mechanisms.constrained()
    bodies, joints = list(model.bodies), list(model.joints)
    points, vectors, constraints = list(model.points), list(model.vectors), list(model.constraints)
    rng = np.random.default_rng(7)

    def free(name, at):
        bodies.append(mg.Body(name, 1.0 + rng.random(), rng.uniform(-0.2, 0.2, 3), (0.2, 0.3, 0.4)))
        joints.append(mg.Floating(f"{name} free", "ground", name, at))
        points.append(mg.Point(f"P {name}", name, (0.3, 0.2, 0.5)))
        points.append(mg.Point(f"Q {name}", name, (-0.4, 0.5, 0.1)))
        points.append(mg.Point(f"R {name}", name, (0.2, -0.6, 0.4)))
        vectors.append(mg.Vector(f"U {name}", name, (0.4, 0.1, 0.9)))

    free("f", (14, 0, 0))
    vectors.append(mg.Vector("slanted", "ground", (0.3, 0.2, 1.0)))
    vectors.append(mg.Vector("leaning", "ground", (0.4, 0.1, 0.9)))
    points.append(mg.Point("hook", "ground", (15.3, 0.4, 0.6)))
    constraints.append(mg.constraints.Parallel("parallel rule", "U f", "slanted"))
    free("k", (13, 1, 0))
    constraints.append(mg.constraints.GuidedPoint("lift rule", "P k", z=mg.functions.Polynomial((0.5, 0.3, 0.2))))
    free("g", (15, 0, 0))
    constraints.append(mg.constraints.SamePoint("point rule", "P g", "hook"))
    free("h", (16, 0, 0))
    constraints.append(mg.constraints.SameVector("vector rule", "U h", "leaning"))
    constraints.append(mg.constraints.FixedDistance("rod rule", "P h", "hook", 1.4))
    model = mg.Model("constrained", bodies, joints, points, vectors, constraints=constraints)
    t0 = 0.07
    q = mg.assemble(model, t=t0).q
    start = assembled(model, q, [x.name for x in (*points, *vectors) if x.body != "ground"], 5, t0)
    still = {"tau.third slide": "a driver moves it, whatever pushes"}
    return Case(model, start, None, of=("constraints", "points", "vectors"), still=still, t0=t0)


def rolling() -> Case:
    """A ball and a wheel that roll without slipping."""
    bodies = [
        mg.Body("ball", 1.2, (0.02, 0.03, 0.01), (0.2, 0.3, 0.4)),
        mg.Body("wheel", 1.5, (0.03, 0.01, 0.02), (0.3, 0.25, 0.35)),
    ]
    joints = [mg.Floating("ball free", "ground", "ball"), mg.Floating("wheel free", "ground", "wheel", (2, 0, 0))]
    points = [
        mg.Point("centre", "ball"), mg.Point("hub", "wheel", (0.01, 0.02, 0.03)),
        mg.Point("floor", "ground", (0.1, 0, 0)),
        mg.Point("P ball", "ball", (0.2, 0.1, 0.3)), mg.Point("P wheel", "wheel", (0.1, 0.3, 0.2)),
    ]  # fmt: skip
    vectors = [mg.Vector("up", "ground", (0.1, -0.2, 1.5)), mg.Vector("axle", "wheel", (0.1, 2.0, 0.2))]
    constraints = [
        mg.constraints.Rolling("ball rolls", "centre", 0.3, "up", contact=True, plane_point="floor"),
        mg.constraints.Rolling(
            "wheel rolls", "hub", 0.4, "up", kind="wheel", axis="axle", contact=True, plane_point="floor"
        ),
    ]
    model = mg.Model("rolling", bodies, joints, points, vectors, constraints=constraints)
    guess = model.neutral()
    guess[[2, 9]] = 0.3, 0.4
    q = mg.assemble(model, guess=guess).q
    # all positions but the heights are held; the spins alone decide velocities
    names = held_positions(model, q)
    spins = {"ball free.wx": 1.0, "ball free.wy": -2.0, "ball free.wz": 0.5}
    spins |= {"wheel free.wx": 0.2, "wheel free.wy": 3.0, "wheel free.wz": -0.4}
    start = mg.assemble(model, names, {**dict.fromkeys(names), **spins}, guess=q)
    return Case(model, start, None, of=("bodies", "constraints", "points", "vectors"))


def held_positions(model, q):
    """Coordinates of points that fix ball and wheel on the ground: for each of them five, those that do it best."""
    chosen = []
    for body, points in (("ball", ["P ball", "centre"]), ("wheel", ["P wheel", "hub"])):
        system = System(model)
        J = system.constraints(q[None]).J[0][: system.n_holonomic]
        columns = list(range(model.v_slice(f"{body} free").start, model.v_slice(f"{body} free").stop))
        names = [f"{p}.{axis}" for p in points for axis in "xyz"]
        rows = np.stack(
            [mg.kinematics.marker_jacobian(model, [n[:-2]], q)[0]["xyz".index(n[-1])][columns] for n in names]
        )
        own = J[:, columns]
        own = own[np.abs(own).max(axis=1) > 1e-9]
        free = np.linalg.svd(own)[2][len(own) :].T
        # five numbers of six: two points fix a body but for the turn about their line
        extra = np.stack([mg.kinematics.marker_jacobian(model, [f"{body}.com"], q)[0][k][columns] for k in range(3)])
        names += [f"{body}.com.{axis}" for axis in "xyz"]
        rows = np.concatenate([rows, extra])
        order = qr((rows @ free).T, mode="economic", pivoting=True)[2][: free.shape[1]]
        chosen += [names[k] for k in order]
    return {n: mg.kinematics.marker_motion(model, [n[:-2]], q).position[0, "xyz".index(n[-1])] for n in chosen}


def ring(kind) -> Callable[[], Case]:
    """A loop that a joint of this kind closes."""

    def make() -> Case:
        model = rings.mechanism(kind, False, 3, "tested")
        start = assembled(model, model.neutral(), rings.MARKERS, 6)
        still = dict.fromkeys(("first.orientation.*", "last.orientation.*"), "a ball turns it back")
        if kind is mg.Planar:
            still["tested.direction.*"] = "a cut joint has no coordinates that would begin there"
        if kind is mg.Spherical:
            still["tested.orientation.*"] = "a ball turns it back"
        return Case(model, start, None, still=still)

    make.__name__ = f"cut_{kind.__name__.lower()}"
    return make


def driven_linkage() -> Case:
    """A planar linkage with two springs from an equilibrium."""
    model = mechanisms.linked_five_bar()
    rest = mg.equilibrium(model, mechanisms.held_five_bar(model).q, rates={"A": 0.6, "1": -0.4})
    plane = {
        **{f"{j}.{field}.{axis}": "out of the plane" for j in "A123B" for field, axis in
           [("origin", "z"), ("child_origin", "z"), ("axis", "x"), ("axis", "y")]},
        **{f"{j}.orientation.{axis}": "out of the plane" for j in "A123B" for axis in "xy"},
    }  # fmt: skip
    across = dict.fromkeys(
        ("*.com.z", "*.inertia.xx", "*.inertia.yy", "*.inertia.xy", "*.inertia.xz", "*.inertia.yz", "gravity.z"),
        "nothing turns about axes in the plane, nothing moves across it",
    )
    lengths = dict.fromkeys(("*.axis.z", "*.orientation.w"), "the length of an axis or of Euler parameters")
    turned = {"*.orientation.z": "the equilibrium turns it back"}
    return Case(model, rest, None, torn=plane, still={**across, **lengths, **turned})


CASES: dict[Callable[[], Case], tuple[tuple[Any, str], ...]] = {
    joints_given: TREES,
    tree_assembled: TREES,
    forces_given: TREES[:2],  # contacts as hard as these are no work for Newton's iteration
    tree_at_rest: TREES,
    constraints_assembled: LOOPS,
    rolling: NONHOLONOMIC,
    driven_linkage: LOOPS[:3],
    **{ring(kind): (LOOPS[k % len(LOOPS)], LOOPS[(k + 2) % len(LOOPS)]) for k, kind in enumerate(rings.AXES)},
}
"""Mechanisms, and by which formulations and schemes they move; Matrix R is to take what was held as its coordinates."""

QUICK = {forces_given: (0,), constraints_assembled: (0, 2, 5), rolling: (0, 2), driven_linkage: (0,)}
"""Which of the ways are tried in seconds; all of them if nothing is said."""
