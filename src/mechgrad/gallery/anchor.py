"""A ship's anchor: 64 bodies in one chain that a windlass hauls in along the ship's side.

The machine is that of A. Lopez Varela, "Sensitivity analysis of multibody systems with recursive formulations"
(thesis, Universidade da Coruna, 2022, section 7.5): an anchor, 61 links, a swivel and an end link, hinged by 60
universal joints and hinges against twist, 126 degrees of freedom, every link and the anchor in contact with the hull.
Printed there are these counts and times of computation only; links, masses, hull and drive are this project's own:

    link      0.2 m from pin to pin, 2 kg, inertia about its middle 8e-3, 8e-3, 2e-4 kg m^2, a sphere of 0.05 m
    anchor    40 kg, inertia 4, 4, 2 kg m^2, spheres at crown and flukes
    contact   1e5 N/m, Kelvin-Voigt 1000 N s/m pressed in and 500 N s/m coming back, friction 0.3
    hull      a superellipsoid of order 4, 24 m long, 16 m high and 5 m wide, its side 5 mm beside the chain; the ship
              heels by 5 degrees, which lays the chain on it
    windlass  hauls 0.2 m/s after a second, from rest, as an induction motor does: its pull falls with its speed
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechgrad.gallery.anchor_shapes import anchor_shapes, hawse_shapes, link_shapes, swivel_shapes
from mechgrad.kinematics.state import State, state
from mechgrad.model import (
    Body,
    Cardan,
    Driver,
    JointFriction,
    Model,
    Motor,
    Point,
    Prismatic,
    Revolute,
    SphereContact,
    Spherical,
    Superellipsoid,
    Vector,
)
from mechgrad.model.functions import Spline

LINKS = 61
PITCH, LINK_RADIUS = 0.2, 0.05  # m
LINK_MASS, LINK_INERTIA = 2.0, (8e-3, 8e-3, 2e-4)  # kg, kg m^2
ANCHOR_MASS, ANCHOR_INERTIA = 40.0, (4.0, 4.0, 2.0)
ANCHOR_SPHERES = {  # places in the anchor's frame, below the shackle, and radii [m]
    "crown": ((0.0, 0.0, -1.1), 0.12),
    "left fluke": ((0.0, 0.4, -0.75), 0.08),
    "right fluke": ((0.0, -0.4, -0.75), 0.08),
}
GRAVITY, HEEL = 9.81, 5.0  # m/s^2, degrees
GAP = 0.005  # between the hanging chain and the hull [m]
HALF_LENGTH, HALF_HEIGHT, HALF_WIDTH = 12.0, 8.0, 2.5  # of the hull [m]
MIDDLE = -7.0  # height of its middle [m]; the hawse pipe is at zero
HAULING, RISE = 0.2, 1.0  # m/s, s
GRIP = 2e5  # by how much the windlass pulls less where it is faster [N s/m]
CONTACT = {
    "stiffness": 1e5, "exponent": 1.0, "compression_damping": 1000.0, "restitution_damping": 500.0, "friction": 0.3,
    "slip_speed": 0.05,
}  # fmt: skip


def anchor(links: int = LINKS, driven: bool = False, hull: bool = True) -> Model:
    """A ship's anchor on its chain, hauled in along the hull: 64 bodies, 126 degrees of freedom, 65 contacts.

    Axes are those of the ship, which heels: z is its mast, the hawse pipe at the origin, the hull on the side of
    negative x, its middle 7 m below. At q = 0 the chain is straight along z. The `end link` slides up the pipe (joint
    `windlass`, positive upwards); `link 1` hangs from it on a ball, `link 2` .. on universal joints whose axes cross,
    the `swivel` turns about the chain below the last of them, and the `anchor` swings from the swivel's shackle towards
    the hull. Contacts are `link 7 side`, `swivel side`, `crown side`, ...; the hull is that of each of them, `link 7
    side.ground.half_height` half of its width. Point `crown` is the lowest of the anchor.

    Parameters
    ----------
    links : int
        Between the end link and the swivel; 61 as in the thesis.
    driven : bool
        Whether the windlass moves the end link as its drive says, whatever that takes (a constraint: 125 degrees of
        freedom), or pulls with what an induction motor has at its speed.
    hull : bool
        Whether there is one.

    >>> model = anchor()
    >>> len(model.bodies), len(model.joints), model.n_v, round(float(model.total_mass), 9)
    (64, 64, 126, 166.0)
    """
    names = ["end link", *(f"link {k}" for k in range(1, links + 1))]
    middle = (0.0, 0.0, -0.5 * PITCH)
    bodies = [
        Body(name, LINK_MASS, middle, LINK_INERTIA, shape=link_shapes(k % 2 == 1)) for k, name in enumerate(names)
    ]
    bodies[0] = Body("end link", LINK_MASS, middle, LINK_INERTIA, shape=(*link_shapes(False), *hawse_shapes()))
    bodies.append(Body("swivel", LINK_MASS, middle, LINK_INERTIA, shape=swivel_shapes()))
    bodies.append(Body("anchor", ANCHOR_MASS, (0.0, 0.0, -0.9), ANCHOR_INERTIA, shape=anchor_shapes()))
    return Model(
        "anchor", bodies, _joints(names),
        [Point(name, "anchor", place) for name, (place, _) in ANCHOR_SPHERES.items()]
        + [Point("amidships", "ground", (-(HALF_WIDTH + LINK_RADIUS + GAP), 0.0, MIDDLE))],
        [Vector("outboard", "ground", (1, 0, 0)), Vector("sky", "ground", (0, 0, 1))],
        constraints=[Driver("hauling", "windlass", _way())] if driven else [],
        forces=[*([] if driven else _windlass(links)), *(_contacts(names) if hull else [])],
        gravity=(-GRAVITY * math.sin(math.radians(HEEL)), 0, -GRAVITY * math.cos(math.radians(HEEL))),
    )  # fmt: skip


def anchor_start(model: Model, swing: float = 0.03) -> State:
    """The chain is straight and swings about the hawse pipe towards the hull, at `swing` rad/s; the windlass holds.

    >>> anchor_start(anchor()).t
    0.0
    """
    v = np.zeros(model.n_v)
    v[model.v_names.index("hawse.wy")] = swing
    for drive in (item for item in model.constraints if isinstance(item, Driver)):
        v[0] = float(drive.function.rate(0.0))  # a spline's, nearly at rest
    return state(model, model.neutral().reshape(-1), v)


def _joints(names: list[str]) -> list[Any]:
    below = (0.0, 0.0, -PITCH)
    joints: list[Any] = [
        Prismatic("windlass", "ground", "end link", origin=(0, 0, PITCH), axis=(0, 0, 1)),
        Spherical("hawse", "end link", names[1], origin=below),
    ]
    for k in range(2, len(names)):
        crossed = ((1, 0, 0), (0, 1, 0)) if k % 2 else ((0, 1, 0), (1, 0, 0))
        joints.append(Cardan(f"pin {k}", names[k - 1], names[k], below, axis1=crossed[0], axis2=crossed[1]))
    joints.append(Revolute("swivel pin", names[-1], "swivel", below, axis=(0, 0, 1)))
    joints.append(Revolute("shackle", "swivel", "anchor", below, axis=(0, 1, 0)))
    return joints


def _speed(t: float) -> float:
    """Of hauling, rising without a jump in its second derivative [m/s]."""
    s = min(t / RISE, 1.0)
    return HAULING * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


def _way() -> Spline:
    """The way of the end link over time [m]: the integral of the speed, as a spline."""
    t = np.linspace(0.0, RISE, 11)
    x = HAULING * RISE * (2.5 * t**4 - 3.0 * t**5 + t**6)
    later = np.linspace(1.5, 21.0, 14)
    return Spline(np.append(t, later), np.append(x, x[-1] + HAULING * (later - RISE)))


def _windlass(links: int) -> list[Any]:
    """Pull = weight + grip (speed wanted - speed): an induction motor about its synchronous speed."""
    weight = GRAVITY * math.cos(math.radians(HEEL)) * ((links + 2) * LINK_MASS + ANCHOR_MASS)
    t = np.append(np.linspace(0.0, RISE, 11), [2.0, 21.0])
    pull = Spline(t, [weight + GRIP * _speed(x) for x in t])
    return [Motor("pull", "windlass", pull), JointFriction("slip", "windlass", viscous=GRIP)]


def _contacts(names: list[str]) -> list[Any]:
    side = Superellipsoid(HALF_LENGTH, HALF_HEIGHT, HALF_WIDTH, order=4, heading=(0, 1, 0))
    found = [
        SphereContact(f"{name} side", f"{name}.com", LINK_RADIUS, "amidships", "outboard", ground=side, **CONTACT)
        for name in (*names[1:], "swivel")
    ]
    return found + [
        SphereContact(f"{name} side", name, radius, "amidships", "outboard", ground=side, **CONTACT)
        for name, (_, radius) in ANCHOR_SPHERES.items()
    ]
