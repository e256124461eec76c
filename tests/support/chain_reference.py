"""A hanging chain of links with crossing hinges: its data in plain Python, and its motion by Pinocchio and RK4.

Link k (from 1) hangs on the end of link k - 1 by a hinge, about x for odd k and about y for even k, and is a thin rod
along -z of its own axes when all angles are zero. It starts at rest, bent by 0.1 sin k.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sin
from typing import Any

import numpy as np
import pinocchio as pin

LENGTH, MASS, AXIAL = 0.2, 1.0, 1e-4


def chain_data(n: int = 43) -> dict[str, Any]:
    """The chain as lists and tuples (m, kg, kg m2, rad, m/s2), for any library to build it from.

    `tip` is the end of a link and the place of the next hinge, `com` its centre of mass, both from the link's own
    hinge in its own axes; `inertia` is the diagonal of the central inertia.
    """
    across = MASS * LENGTH**2 / 12 + AXIAL
    return {
        "n": n,
        "length": LENGTH,
        "mass": MASS,
        "tip": (0.0, 0.0, -LENGTH),
        "com": (0.0, 0.0, -LENGTH / 2),
        "inertia": (across, across, AXIAL),
        "axes": ["y" if k % 2 else "x" for k in range(n)],
        "angles": [0.1 * sin(k) for k in range(1, n + 1)],
        "gravity": (0.0, 0.0, -9.81),
    }


def pinocchio_chain(n: int = 43) -> pin.Model:
    """The chain with Pinocchio's aligned hinges, its quickest."""
    data = chain_data(n)
    model = pin.Model()
    model.gravity.linear = np.array(data["gravity"])
    inertia = pin.Inertia(data["mass"], np.array(data["com"]), np.diag(data["inertia"]))
    hinge = {"x": pin.JointModelRX, "y": pin.JointModelRY}
    parent, place = 0, pin.SE3.Identity()
    for k, axis in enumerate(data["axes"]):
        parent = model.addJoint(parent, hinge[axis](), place, f"hinge {k + 1}")
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        place = pin.SE3(np.eye(3), np.array(data["tip"]))
    return model


def rk4_step(model: pin.Model) -> Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]:
    """One classical Runge-Kutta step (q, v, h) -> (q, v) with accelerations by the articulated-body algorithm."""
    data, still = model.createData(), np.zeros(model.nv)

    def step(q: np.ndarray, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        a1 = pin.aba(model, data, q, v, still).copy()  # Pinocchio hands out its own array
        v2 = v + h / 2 * a1
        a2 = pin.aba(model, data, q + h / 2 * v, v2, still).copy()
        v3 = v + h / 2 * a2
        a3 = pin.aba(model, data, q + h / 2 * v2, v3, still).copy()
        v4 = v + h * a3
        a4 = pin.aba(model, data, q + h * v3, v4, still)
        return q + h / 6 * (v + 2 * (v2 + v3) + v4), v + h / 6 * (a1 + 2 * (a2 + a3) + a4)

    return step


def tip(model: pin.Model, q: np.ndarray) -> np.ndarray:
    """Position of the chain's free end (m)."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    return data.oMi[model.njoints - 1].act(np.array([0.0, 0.0, -LENGTH]))


def solve(n: int, step: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles at the end and the way of the free end (one row per step)."""
    model = pinocchio_chain(n)
    march = rk4_step(model)
    q, v = np.array(chain_data(n)["angles"]), np.zeros(n)
    way = [tip(model, q)]
    for _ in range(round(duration / step)):
        q, v = march(q, v, step)
        way.append(tip(model, q))
    return q, np.array(way)
