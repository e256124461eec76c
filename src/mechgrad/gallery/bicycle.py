"""The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007): on tyres, or rolling without slipping.

A frame with its rigid rider, a fork, two wheels. The published data have z down; here x is forward, y left, z up:

                       rear wheel        frame + rider     fork              front wheel
    mass [kg]          2                 85                4                 3
    centre x, z [m]    0, 0.3            0.3, 0.9          0.9, 0.7          1.02, 0.35
    Ixx [kg m^2]       0.0603            9.2               0.05892           0.1405
    Iyy                0.12              11                0.06              0.28
    Izz                0.0603            2.8               0.00708           0.1405
    Ixz                0                 -2.4              0.00756           0

Wheelbase 1.02 m, trail 0.08 m, steering axis tilted backwards by pi/10. Rolling without slipping and left alone, it
runs straight by itself between 4.292 m/s (below: weave) and 6.024 m/s (above: capsize).
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.equilibrium import equilibrium
from mechgrad.errors import InputError, unknown_name
from mechgrad.gallery.bicycle_shapes import fork_shapes, frame_shapes
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.state import State
from mechgrad.model import (
    Body,
    EllipseTyre,
    Floating,
    Model,
    Motor,
    Point,
    Revolute,
    Rolling,
    SphereContact,
    Spline,
    Tyre,
    Vector,
)
from mechgrad.model.constraints import Constraint
from mechgrad.model.forces import Force
from mechgrad.model.joints import Joint
from mechgrad.typing import ArrayLike

CONTACTS = ("tyres", "ellipse tyres", "rolling")
WHEELBASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10
REAR, FRONT = 0.30, 0.35  # radii [m]
GRAVITY = 9.81
REAR_LOAD, FRONT_LOAD = 612.84, 309.30  # [N] on the road when upright and at rest
WHEELS = (("rear", REAR, REAR_LOAD), ("front", FRONT, FRONT_LOAD))
SIDEWAYS = ("side", "rear axis", "front axis")
CROWN, BUMPER = (0.3, 0.0, 3.0), 1.0  # centre and radius [m] of the sphere that ends a fall


def bicycle(
    contact: str = "tyres",
    *,
    knots: int = 16,
    duration: float = 10.0,
    drive: ArrayLike = 0.0,
    steer: ArrayLike = 0.0,
    stiffness: float = 6000.0,
    damping: float = 100.0,
    restitution_damping: float = 80.0,
) -> Model:
    """The benchmark bicycle: 94 kg, a floating frame and three hinges, n_q = 10, n_v = 9.

    Upright on its wheels at q = 0, the rear one on the world's origin. Hinges: `steering` (positive to the left), `rear
    axle` and `front axle` (positive forwards). Motors `drive` on the rear axle and `steer` on the steering follow
    natural cubic splines; their values are the parameters `drive.torque.values.0`, ... Leaning to the right turns the
    frame about +x, and the vector `side` (to the left at q = 0) upwards: side.z = sin(lean).

    Parameters
    ----------
    contact :
        "tyres"     `Tyre` under both wheels: an open tree with nine freedoms; critical slips 0.15, friction 1, and a
                    sphere above the rider that ends falls
        "ellipse tyres"     the same with `EllipseTyre`: grip within the friction ellipse, and two dampings
        "rolling"   `Rolling` wheels that keep to the road: six rows, three freedoms (lean, steering, speed)
    knots : int
        Values of each spline, at least 2, at equal distances over the duration [s].
    drive, steer : (knots,) or float
        Values of the splines [N m].
    stiffness : float
        Of a tyre [N/m]: 6000 is the printed number of a study with this bicycle, soft (10 cm under the rear wheel);
        60000 is usual.
    damping, restitution_damping : float
        Of a tyre under its load at rest [N s/m]; of ellipse tyres while they are pressed in, and while they come back.

    >>> bicycle().n_v, bicycle("rolling").total_mass
    (9, 94.0)
    """
    if contact not in CONTACTS:
        raise unknown_name("contact", contact, CONTACTS)
    if knots < 2 or not duration > 0:
        raise InputError(f"knots is {knots}, duration {duration} s; a spline needs 2 knots and a positive duration.")
    bodies, joints = _parts()
    y = (0.0, 1.0, 0.0)
    points = [Point("rear hub", "rear"), Point("front hub", "front"), Point("crown", "frame", CROWN)]
    vectors = [Vector("up", "ground", (0, 0, 1)), Vector("ahead", "frame", (1, 0, 0))]
    vectors += [Vector(name, body, y) for name, body in zip(SIDEWAYS, ("frame", "rear", "front"), strict=True)]
    times = np.linspace(0.0, duration, knots)
    motors: list[Force] = [
        Motor(name, hinge, Spline(times, _values(name, values, knots)))
        for name, hinge, values in (("drive", "rear axle", drive), ("steer", "steering", steer))
    ]
    rolls = contact == "rolling"
    return Model(
        f"bicycle ({contact})", bodies, joints, points, vectors, gravity=(0, 0, -GRAVITY),
        constraints=_rolling() if rolls else [],
        forces=motors if rolls else [*motors, *_tyres(contact, stiffness, damping, restitution_damping)],
    )  # fmt: skip


def _parts() -> tuple[list[Body], list[Joint]]:
    """Bodies and joints."""
    steering_at = _on_axis(FRONT)
    fork_inertia = _inertia(0.05892, 0.06, 0.00708, 0.00756)
    bodies = [
        Body("frame", 85.0, com=(0.3, 0, 0.9), inertia=_inertia(9.2, 11.0, 2.8, -2.4), shape=frame_shapes()),
        Body(
            "fork", 4.0, com=(0.9 - steering_at, 0, 0.7 - FRONT), inertia=fork_inertia,
            shape=fork_shapes(steering_at, FRONT),
        ),
        Body("rear", 2.0, inertia=(0.0603, 0.12, 0.0603)),
        Body("front", 3.0, inertia=(0.1405, 0.28, 0.1405)),
    ]  # fmt: skip
    y = (0.0, 1.0, 0.0)
    joints: list[Joint] = [
        Floating("root", "ground", "frame"),
        Revolute("steering", "frame", "fork", (steering_at, 0, FRONT), axis=(-np.sin(TILT), 0, np.cos(TILT))),
        Revolute("rear axle", "frame", "rear", (0, 0, REAR), axis=y),
        Revolute("front axle", "fork", "front", (WHEELBASE - steering_at, 0, 0), axis=y),
    ]
    return bodies, joints


def _rolling() -> list[Constraint]:
    """Wheels that keep to the road and do not slip."""
    return [
        Rolling(
            f"{name} wheel", f"{name} hub", radius, "up", kind="wheel", axis=f"{name} axis", contact=True,
            plane_point="ground.origin",
        )
        for name, radius, _ in WHEELS
    ]  # fmt: skip


def _tyres(contact: str, stiffness: float, damping: float, restitution_damping: float) -> list[Force]:
    """Tyres, and the sphere that ends a fall; the damping of a `Tyre` grows with its depth: this is that at the depth
    of rest."""
    tyres: list[Force] = []
    for name, radius, load in WHEELS:
        hub, axis = f"{name} hub", f"{name} axis"
        if contact == "ellipse tyres":
            tyre: Force = EllipseTyre(
                f"{name} tyre", hub, axis, radius, "ground.origin", "up", stiffness, damping, restitution_damping,
                critical_slip=0.15, critical_angle=0.15,
            )  # fmt: skip
        else:
            tyre = Tyre(
                f"{name} tyre", hub, axis, radius, "ground.origin", "up", stiffness, damping / load, critical_slip=0.15,
                critical_angle=0.15,
            )  # fmt: skip
        tyres.append(tyre)
    fall = SphereContact("fall", "crown", BUMPER, "ground.origin", "up", stiffness=6e4, damping=0.2, exponent=1.0)
    return [*tyres, fall]


def bicycle_start(model: Model, speed: float = 4.6, lean: float = 0.0) -> State:
    """Straight ahead along x at a speed [m/s], wheels rolling; leaning to the right by an angle [rad] if asked.

    On tyres the bicycle stands as deep in them as it would at rest. Without slipping, what is held at the start is
    "side.z" (the sine of the lean), "root.x", "root.y", "ahead.y" and the hinges, so that `start.position.side.z` is a
    parameter; a start with the steering turned needs rates that turn with it.

    >>> start = bicycle_start(bicycle("rolling"), 4.5)
    >>> start.v[[0, 7]].round(9)                                  # forwards [m/s], rear wheel [rad/s]
    array([ 4.5, 15. ])
    """
    if not np.isfinite(speed) or not -1.0 < np.real(lean) < 1.0:
        raise InputError(f"speed is {speed} m/s, lean {lean} rad; give a finite speed and less than 1 rad.")
    on_tyres = any(isinstance(force, Tyre | EllipseTyre) for force in model.forces)
    spins = {
        f"{wheel} axle": speed / model.value(f"{wheel} {'tyre' if on_tyres else 'wheel'}.radius")
        for wheel in ("rear", "front")
    }
    leaning = lean * np.eye(model.n_v)[model.v_names.index("root.wx")]
    if on_tyres:
        # from a guess far above, the search may end in the other equilibrium, on the rear wheel alone
        rear, front = REAR_LOAD / model.value("rear tyre.stiffness"), FRONT_LOAD / model.value("front tyre.stiffness")
        sunk = model.integrate(model.neutral(), (0, 0, -rear, 0, (front - rear) / WHEELBASE, 0, 0, 0, 0))
        standing = equilibrium(model, sunk, at=dict.fromkeys(("steering", "rear axle", "front axle"), 0.0))
        return assemble(model, rates={"root.vx": speed, **spins}, guess=model.integrate(standing.q, leaning))
    held = dict.fromkeys(("root.x", "root.y", "ahead.y", "steering", "rear axle", "front axle"), 0.0)
    return assemble(
        model,
        {"side.z": np.sin(lean), **held},
        {"root.x": speed, **dict.fromkeys(("root.y", "ahead.y", "rear axle", "front axle"))},  # as rolling says
        guess=model.integrate(model.neutral(), leaning),
    )


def bicycle_freedoms() -> tuple[str, ...]:
    """Nine independent coordinates of a bicycle on tyres for `MatrixR`: B changes with the configuration.

    World coordinates of the rear hub, components of two vectors of the frame (yaw, pitch, lean), three hinges.

    They serve while the frame does not turn by a right angle.

    >>> len(bicycle_freedoms())
    9
    """
    hub = ("rear hub.x", "rear hub.y", "rear hub.z")
    return (*hub, "ahead.y", "ahead.z", "side.z", "steering", "rear axle", "front axle")


def _on_axis(height: float) -> float:
    """Where the steering axis is at a height [m]: it meets the road one trail before the front wheel does."""
    return float(WHEELBASE + TRAIL - height * np.tan(TILT))


def _inertia(xx: float, yy: float, zz: float, xz: float) -> tuple[tuple[float, float, float], ...]:
    return ((xx, 0.0, xz), (0.0, yy, 0.0), (xz, 0.0, zz))


def _values(name: str, values: ArrayLike, knots: int) -> np.ndarray:
    found = np.asarray(values)
    if found.shape not in ((), (knots,)):
        raise InputError(f"{name} has shape {found.shape}; give one torque [N m] or {knots}, one to each knot.")
    return np.array(np.broadcast_to(found, (knots,)))
