"""Mechanisms that are hard to integrate, with what is known of their motion."""

from __future__ import annotations

import numpy as np

import mechgrad as mg
from mechgrad.gallery import four_bars, four_bars_angle  # noqa: F401, with the other mechanisms of these tests

TIGHT = {"rtol": 1e-11, "atol": 1e-11}
UP = mg.Vector("up", "ground", (0, 0, 1))


def bennett(a=0.6, alpha=0.7, beta=1.2, start=1.0):
    """Bennett's linkage and its angles: four skew hinges that move, although counting says -2.

    Opposite bars are equal, a / sin(alpha) = b / sin(beta), and
    tan(q1 / 2) tan(q2 / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2), q3 = -q1.
    """
    b = a * np.sin(beta) / np.sin(alpha)

    def axis(twist):
        return (0.0, -np.sin(twist), np.cos(twist))

    def turn(twist):
        return (np.cos(twist / 2), np.sin(twist / 2), 0.0, 0.0)

    bodies = [
        mg.Body(f"bar {k + 1}", 1.0 + 0.3 * k, (x / 2, 0.05, 0), (0.02, 0.03, 0.04)) for k, x in enumerate((a, b, a))
    ]
    joints = [
        mg.Revolute("1", "ground", "bar 1"),
        mg.Revolute("2", "bar 1", "bar 2", (a, 0, 0), turn(alpha), axis=axis(alpha)),
        mg.Revolute("3", "bar 2", "bar 3", (b, 0, 0), turn(beta), axis=axis(beta)),
        mg.Revolute("4", "ground", "bar 3", (-b, 0, 0), turn(-alpha - beta), (a, 0, 0), axis=axis(-beta)),
    ]
    model = mg.Model("Bennett", bodies, joints, [mg.Point("P", "bar 2", (b, 0, 0))], gravity=(3, -5, -6), cut=["4"])
    second = 2 * np.arctan(np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2) / np.tan(start / 2))
    return model, np.array([start, second, -start])


def slider(mass=2.0, forces=(), gravity=(0, 0, 0)):
    """One body on a rail along x."""
    return mg.Model(
        "slider",
        [mg.Body("b", mass)],
        [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))],
        gravity=gravity,
        forces=forces,
    )


def rolling_disc(slope, radius=0.3, mass=2.0):
    """A disc on an inclined plane (gravity is tilted instead), free but for rolling, and its acceleration down.

    a = g sin(slope) / (1 + J / (m r^2)); it stays upright.
    """
    spin = mass * radius**2 / 2
    disc = mg.Body("disc", mass, inertia=(spin / 2, spin, spin / 2))
    axle = mg.Vector("axle", "disc", (0, 1, 0))
    rolls = mg.constraints.Rolling(
        "rolls", "disc.origin", radius, "up", kind="wheel", axis="axle", contact=True, plane_point="ground.origin"
    )
    gravity = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    model = mg.Model(
        "disc",
        [disc],
        [mg.Floating("free", "ground", "disc")],
        vectors=[UP, axle],
        gravity=gravity,
        constraints=[rolls],
    )
    return model, 9.81 * np.sin(slope) / 1.5


CONTACTS = {
    "sphere": lambda stiffness, damping, exponent: mg.forces.SphereContact(
        "floor", "ball.origin", 0.2, "ground.origin", "up", stiffness, damping, exponent
    ),
    "wheel": lambda stiffness, damping, exponent: mg.forces.WheelContact(
        "floor", "ball.origin", "axle", 0.2, "ground.origin", "up", stiffness, damping, exponent
    ),
    "tyre": lambda stiffness, damping, exponent: mg.forces.Tyre(
        "floor", "ball.origin", "axle", 0.2, "ground.origin", "up", stiffness, damping, exponent
    ),
}


def dropped(kind, stiffness=1e6, damping=2.0, exponent=1.5):
    """A free body of 3 kg and radius 0.2 m over a floor, and the depth at which it rests."""
    force = CONTACTS[kind](stiffness, damping, exponent)
    axle = mg.Vector("axle", "ball", (0, 1, 0))
    body = mg.Body("ball", 3.0, inertia=(0.05, 0.05, 0.05))
    model = mg.Model("drop", [body], [mg.Floating("free", "ground", "ball")], vectors=[UP, axle], forces=[force])
    return model, (3.0 * 9.81 / stiffness) ** (1 / exponent)
