"""Mechanisms for tests of gradients: every kind of joint, constraint, force and parameter, in motion."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
import row_values as plain

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start, slider_crank
from mechgrad.model.forces.ground_touch import surface_axes
from mechgrad.model.primitives.attached import places
from mechgrad.model.surfaces import Plane
from mechgrad.simulation.starts.touch import depth_of, touching

SPLINE = mg.functions.Spline((0.0, 0.05, 0.1, 0.3), (0.5, 2.0, -1.0, 0.3))


def linked_five_bar(**more):
    """The five-bar with the length of its first bar as one number, as the published gradients read it."""
    m = five_bar()
    length = mg.DesignVariable("L_A1", ["1.origin.x", "P1.position.x"], np.sqrt(2.0))
    forces = (*m.forces, *more.pop("forces", ()))
    return mg.Model(
        m.name, m.bodies, m.joints, m.points, m.vectors, gravity=m.gravity, forces=forces, variables=[length], **more
    )


def held_five_bar(model, rates=(0.0, 0.0)):
    """Its start, the first two angles held."""
    q = five_bar_start()
    at = {"A": q[0], "1": q[1]}
    return mg.assemble(model, at, dict(zip(at, rates, strict=True)), guess=q)


def driven_five_bar():
    """With a motor that follows a spline, friction, and a turning start."""
    model = linked_five_bar(
        forces=[mg.forces.Motor("motor", "A", SPLINE), mg.forces.JointFriction("rub", "1", 0.4, 0.1, 0.5)]
    )
    return model, held_five_bar(model, (0.4, -0.3))


def redundant_five_bar():
    """The closure stated twice."""
    m = five_bar()
    points = [*m.points, mg.Point("end", "3B", (np.sqrt(2.0), 0, 0))]
    model = mg.Model(
        "redundant", m.bodies, m.joints, points, gravity=m.gravity, forces=m.forces,
        constraints=[mg.constraints.SamePoint("again", "end", "PB")],
    )  # fmt: skip
    return model, held_five_bar(model, (0.2, 0.1))


def spatial_slider_crank(cut=None):
    """Spatial, with a spring; cut="slide" leaves a ball in the tree."""
    model = slider_crank(cut=cut, axial_inertia=1e-3, spring=True)
    name = "crank axis"
    guess = None if cut is None else mg.assemble(model).q
    return model, mg.assemble(model, {name: 0.4}, {name: 3.0}, guess=guess)


def forced_tree():
    """A tree with floating bodies and one of every force."""
    joints = [joint for joint in plain.JOINTS if joint.name != "B"]
    bodies = [plain._body(name, k) for k, name in enumerate(plain.BODIES)]
    model = mg.Model(
        "forced", bodies, joints, plain.POINTS, plain.VECTORS, forces=[*plain.FORCES, plain.USER_FORCE]
    )  # fmt: skip
    rng = np.random.default_rng(8)
    q = np.asarray(model.integrate(model.neutral(), rng.uniform(-0.7, 0.7, model.n_v)))
    return with_ground_below(model, q), (q, 0.3 * rng.normal(size=model.n_v))


def with_ground_below(model, q, t0=0.0):
    """The same, but what is deep inside its ground, or above it, has ground that it presses."""
    points, forces = list(model.points), list(model.forces)
    for force in touching(model):
        _, depth = depth_of(model, force, q, t0)
        if not 0.05 < depth / force.radius < (0.45 if hasattr(force, "axis") else 0.9):
            plane = places(model)(force.plane_point)
            n = surface_axes(places(model)(force.normal).local, force.ground or Plane())[:, 2]
            down = plane.local - (depth - 0.3 * force.radius) * n
            points.append(mg.Point(f"ground {len(points)}", plane.body, down))
            forces[forces.index(force)] = replace(force, plane_point=points[-1].name)
    return mg.Model(model.name, model.bodies, model.joints, points, model.vectors, gravity=model.gravity, forces=forces)


def constrained():
    """Small mechanisms side by side, one for each kind of constraint; coordinates that remain are held at the start."""
    bodies, joints, points, vectors, constraints, held = [], [], [], [], [], {}
    vectors += [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("ahead", "ground", (1, 0, 0))]
    vectors.append(mg.Vector("along rail", "ground", (0.1, 0.2, 1)))
    points.append(mg.Point("rail", "ground", (12.8, 0.25, 0.5)))
    rng = np.random.default_rng(3)

    def body(name, parent, joint):
        bodies.append(mg.Body(name, 1.0 + rng.random(), com=rng.uniform(-0.2, 0.2, 3), inertia=(0.2, 0.3, 0.4)))
        points.append(mg.Point(f"P {name}", name, (0.3, 0.2, 0.5)))
        vectors.append(mg.Vector(f"U {name}", name, (0.4, 0.1, 0.9)))
        joints.append(joint)

    def cross(name, k):
        joint = mg.Cardan(f"{name} cross", "ground", name, (k, 0, 0), axis1=(1, 0, 0), axis2=(0, 1, 0))
        body(name, "ground", joint)

    cross("dot", 0)
    constraints.append(mg.constraints.DotProduct("dot rule", "U dot", "up", 0.7))
    held["dot cross.angle1"] = 0.4
    cross("angle", 1)
    constraints.append(
        mg.constraints.AngleBetween("angle rule", "up", "U angle", "ahead", angle=mg.functions.Polynomial((0.3, 0.2)))
    )
    held["angle cross.angle2"] = 0.3
    cross("plane", 2)
    constraints.append(mg.constraints.PointInPlane("plane rule", "P plane", "ground.origin", "up", 0.45))
    held["plane cross.angle1"] = 0.3
    cross("rope", 3)
    constraints.append(
        mg.constraints.FixedDistance("rope rule", "P rope", "P plane", mg.functions.Harmonic(0.02, 1.5, offset=1.2))
    )
    held["rope cross.angle1"] = 0.2
    for k, name in enumerate(("first", "second", "third")):
        body(name, "ground", mg.Prismatic(f"{name} slide", "ground", name, (4 + k, 0, 0), axis=(0.1, 0.2, 1)))
    constraints.append(mg.constraints.Gear("gear rule", "first slide", "second slide", 1.7, 0.1))
    constraints.append(mg.constraints.Driver("driver rule", "third slide", SPLINE))
    held["first slide"] = 0.2
    body("a", "ground", mg.Prismatic("a slide", "ground", "a", (8, 0, 0), axis=(1, 0, 0)))
    body("b", "a", mg.Revolute("b hinge", "a", "b", (0.4, 0, 0), axis=(0, 1, 0)))
    constraints.append(mg.constraints.LinearCombination("sum rule", {"a slide": 1.5, "b hinge": -0.5}, 0.1))
    held["a slide"] = 0.1
    body("c", "ground", mg.Planar("c plane", "ground", "c", (10, 0, 0)))
    constraints.append(mg.constraints.GuidedPoint("guided rule", "P c", x=10.4, y=SPLINE))
    held["c plane.angle"] = 0.2
    body("d", "ground", mg.Cardan("d cross", "ground", "d", (12, 0, 0), axis1=(0, 0, 1), axis2=(0, 1, 0)))
    body("e", "d", mg.Prismatic("e slide", "d", "e", (0.5, 0, 0), axis=(1, 0, 0)))
    constraints.append(mg.constraints.PointOnLine("line rule", "P e", "rail", "along rail"))
    held["d cross.angle1"] = 0.1
    body("s", "ground", mg.Planar("s plane", "ground", "s", (20, 0, 0)))
    vectors.append(mg.Vector("aside", "ground", (0.2, 1, 0.1)))
    points.append(mg.Point("cam", "ground", (19.9, 0.1, 0.2)))
    profile = mg.functions.Spline((0.0, 0.3, 0.6, 0.9), (0.1, 0.3, 0.2, 0.4))
    constraints.append(mg.constraints.PointOnCurve("curve rule", "P s", "cam", "ahead", "aside", profile))
    held |= {"s plane.angle": 0.3, "s plane.x": 0.2}
    model = mg.Model("constrained", bodies, joints, points, vectors, constraints=constraints)
    start = mg.assemble(model, held)
    moving = [name for name in held if name != "d cross.angle1"]
    return model, mg.assemble(model, held, dict.fromkeys(moving, 0.3), guess=start.q)
