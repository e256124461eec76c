"""Mechanisms with drives, in states without symmetry, and torques from forward dynamics alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from support.random_loops import random_linkage

import mechgrad as mg
from mechgrad.gallery import double_pendulum, five_bar, five_bar_start, slider_crank

BASE_ANGLES, TOP_ANGLES = [-10, 10, 110, 130, 230, 250], [-50, 50, 70, 170, 190, 290]
HEIGHT = 1.0


@dataclass(frozen=True)
class Case:
    """A model, its independent coordinates with rates and second rates, as many drives, more of them, and numbers."""

    model: mg.Model
    z: dict[str, float]
    zd: dict[str, float]
    zdd: dict[str, float]
    driven: list[str]
    more: list[str] | None
    wrt: list[str]
    guess: Any = None
    t: float = 0.0
    loads: list[mg.Load] = field(default_factory=list)

    def state(self, **changes):
        """q, v, a by assembly, with other numbers where these are given, real or complex."""
        model = changes.get("model", self.model)
        z, zd, zdd = (changes.get(name, getattr(self, name)) for name in ("z", "zd", "zdd"))
        found = mg.assemble(model, z, zd, guess=self.guess, t=self.t)
        return found.q, found.v, mg.kinematics.solve_accelerations(model, found.q, found.v, zdd, self.t)

    def torques(self, driven=None, **changes):
        """By forward dynamics alone: accelerations are linear in torques; the smallest torques that reach those of z.

        Transposed, not conjugated: complex steps pass.
        """
        model, loads = changes.get("model", self.model), changes.get("loads", self.loads)
        q, v, a = self.state(**changes)
        columns = [model.v_names.index(name) for name in (self.driven if driven is None else driven)]
        rows = [model.v_names.index(name) for name in self.zd]

        def accelerations(tau):
            return mg.forward_dynamics(model, q, v, t=self.t, tau=tau, loads=loads)[rows]

        still = accelerations(np.zeros(model.n_v))
        S = np.stack([accelerations(e) - still for e in np.eye(model.n_v)[columns]], axis=1)
        tau = np.zeros(model.n_v, np.result_type(S, a))
        tau[columns] = S.T @ np.linalg.solve(S @ S.T, a[rows] - still)
        return tau


def stewart() -> mg.Model:
    """A plate on six legs with mass: universal joints below, slides, balls above, of which all but the first are cut.

    In the zero position all legs point to their balls at HEIGHT, lengths are measured from there."""

    def hexagon(radius, degrees, z):
        turn = np.radians(degrees)
        return np.stack([radius * np.cos(turn), radius * np.sin(turn), np.full(6, z)], axis=1)

    base, top = hexagon(1.0, BASE_ANGLES, 0.0), hexagon(0.6, TOP_ANGLES, HEIGHT)
    bodies, joints = [mg.Body("plate", 5.0, (0.02, -0.03, 0.05), inertia=(0.4, 0.5, 0.8))], []
    for k in range(6):
        along = top[k] - base[k]
        e = along / np.linalg.norm(along)
        first = np.cross(e, (0.3, 0.1, 1.0))
        bodies += [
            mg.Body(f"cylinder {k}", 1.0 + 0.1 * k, 0.2 * along, (0.02, 0.021, 0.018)),
            mg.Body(f"rod {k}", 0.6, -0.3 * along, (0.012, 0.011, 0.01)),
        ]
        joints += [
            mg.Cardan(f"foot {k}", "ground", f"cylinder {k}", base[k], axis1=first, axis2=np.cross(e, first)),
            mg.Prismatic(f"leg {k}", f"cylinder {k}", f"rod {k}", along, axis=e),
            mg.Spherical(f"ball {k}", f"rod {k}", "plate", child_origin=top[k] - (0, 0, HEIGHT)),
        ]
    return mg.Model("stewart", bodies, joints, cut=[f"ball {k}" for k in range(1, 6)])


def _five_bar() -> Case:
    q = five_bar_start()
    loads = [
        mg.Load("12", force=(3.0, -2.0, 0.0), point=(0.4, 0.1, 0.0), torque=(0.0, 0.0, 1.5), name="push"),
        mg.Load("3B", force=(1.0, 4.0, 0.0), point="3B.com", axes="body", name="thrust"),
    ]
    wrt = ["A1.mass", "23.com.y", "12.inertia.zz", "1.origin.x", "B.origin.y", "B.child_origin.x", "S1.free_length",
           "S2.stiffness", "P2.position.y", "gravity.x", "push.force.x", "push.point.y", "thrust.force.y",
           "3B.com.x"]  # fmt: skip
    z, zd, zdd = {"A": q[0] + 0.1, "1": q[1] - 0.07}, {"A": 0.7, "1": -1.1}, {"A": 2.0, "1": 1.3}
    return Case(five_bar(), z, zd, zdd, ["A", "3"], ["A", "1", "3"], wrt, q, loads=loads)


def _slider_crank() -> Case:
    model = slider_crank(cut="slide", axial_inertia=1e-3, spring=True)
    wrt = ["rod.mass", "crank.com.y", "B.origin.z", "C.axis2.y", "slide.axis.y", "crank axis.axis.y", "S1.damping",
           "D.position.x", "gravity.y"]  # fmt: skip
    name = "crank axis"
    return Case(model, {name: 0.4}, {name: 3.0}, {name: -7.0}, ["B.wy"], ["crank axis", "B.wx", "C.angle1"], wrt,
                mg.assemble(model).q)  # fmt: skip


def _linkage() -> Case:
    model, at = random_linkage(5, 5)
    zd = {name: 0.8 - 0.5 * k for k, name in enumerate(at)}
    zdd = {name: -2.0 + 1.7 * k for k, name in enumerate(at)}
    wrt = ["bar2.mass", "h2.origin.x", "h5.origin.y", "rub.coulomb", "motor.torque.values.1", "spring.stiffness"]
    return Case(model, at, zd, zdd, ["h0", "h2", "h4"], ["h0", "h1", "h2", "h4"], wrt, t=0.07)


def _stewart() -> Case:
    model = stewart()
    legs = [f"leg {k}" for k in range(6)]
    z = {name: 0.04 * (-1) ** k + 0.01 * k for k, name in enumerate(legs)}
    zd = {name: 0.3 - 0.11 * k for k, name in enumerate(legs)}
    zdd = {name: -0.5 + 0.4 * k for k, name in enumerate(legs)}
    wrt = ["plate.mass", "rod 2.com.x", "ball 3.child_origin.y", "foot 1.origin.z", "leg 4.axis.x"]
    return Case(model, z, zd, zdd, legs, [*legs, "foot 0.angle1", "foot 3.angle2"], wrt)


def _wheel() -> Case:
    """A wheel in a fork on a plane, with a spring to a post: four places, of which rolling lets two move."""
    radius = 0.3
    bodies = [
        mg.Body("fork", 1.3, (0.1, -0.05, 0.2), (0.02, 0.03, 0.05)),
        mg.Body("wheel", 2.0, (0.02, 0.0, 0.01), (0.05, 0.09, 0.06)),
    ]
    joints = [
        mg.Planar("plane", "ground", "fork", (0.0, 0.0, radius)),
        mg.Revolute("spin", "fork", "wheel", (0.1, 0.05, 0.0), axis=(0, 1, 0)),
    ]
    model = mg.Model(
        "rolling wheel", bodies, joints,
        [mg.Point("post", "ground", (1.0, 0.4, 0.3)), mg.Point("P", "fork", (0, 0, 0.4))],
        [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "wheel", (0, 1, 0))],
        constraints=[mg.constraints.Rolling("rolls", "wheel.origin", radius, "up", kind="wheel", axis="axle")],
        forces=[mg.forces.SpringDamper("spring", "P", "post", 30.0, 2.0, 0.2)],
    )  # fmt: skip
    z = {"plane.x": 0.2, "plane.y": -0.1, "plane.angle": 0.4, "spin": 0.7}
    zd, zdd = {"plane.angle": 0.9, "spin": 2.0}, {"plane.angle": -1.5, "spin": 3.0}
    wrt = ["wheel.mass", "fork.com.y", "rolls.radius", "spin.origin.y", "spring.damping", "P.position.x"]
    return Case(model, z, zd, zdd, ["plane.angle", "spin"], ["plane.x", "plane.angle", "spin"], wrt)


CASES = {
    "five-bar": _five_bar,
    "slider-crank": _slider_crank,
    "linkage": _linkage,
    "stewart": _stewart,
    "wheel": _wheel,
}


# ---- others


def bricard_state(x, xd, xdd):
    """q, v, a of Bricard's linkage, closed form: A = C = E = x, B = D = y, sin y = -sin x / (1 + sin x)."""
    s, c = np.sin(x), np.cos(x)
    f, f1, f2 = -s / (1 + s), -c / (1 + s) ** 2, s / (1 + s) ** 2 + 2 * c * c / (1 + s) ** 3
    y = np.arcsin(f)
    yd = f1 * xd / np.cos(y)
    ydd = (f2 * xd**2 + f1 * xdd + np.sin(y) * yd**2) / np.cos(y)
    return tuple(np.array([p, r, p, r, p]) for p, r in ((x, y), (xd, yd), (xdd, ydd)))


def closed_twice(variables=()):
    """The five-bar with its closure stated twice."""
    m = five_bar()
    points = [*m.points, mg.Point("end", "3B", (np.sqrt(2.0), 0, 0))]
    return mg.Model(
        "twice", m.bodies, m.joints, points, gravity=m.gravity, forces=m.forces, variables=variables,
        constraints=[mg.constraints.SamePoint("again", "end", "PB")],
    )  # fmt: skip


def sprung_pendulum():
    """A double pendulum with springs, dampers, a motor and a law in Python that stiffens with time: a tree."""
    m = double_pendulum()
    points = [*m.points, mg.Point("wall", "ground", (1.0, 0.3, 0.4))]
    forces = [
        mg.forces.SpringDamper("line", "tip", "wall", stiffness=40.0, damping=3.0, free_length=0.5),
        mg.forces.JointSpring("knee", "elbow", stiffness=7.0, damping=0.4, free=0.3),
        mg.forces.Motor("motor", "shoulder", mg.functions.Polynomial((1.0, 5.0))),
        mg.forces.UserForce(
            "stiffens", [mg.measures.JointCoordinate("elbow")], lambda t, g, gd: (1.0 + 20.0 * t) * (g + 0.5 * g**3)
        ),
    ]
    return mg.Model("sprung", m.bodies, m.joints, points, gravity=m.gravity, forces=forces)
