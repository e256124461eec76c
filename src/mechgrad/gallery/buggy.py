"""A buggy: 18 bodies, double wishbones in front, struts behind, a rack that steers, four tyres.

The mechanism is that of A. Lopez Varela, "Sensitivity analysis of multibody systems with recursive formulations"
(thesis, Universidade da Coruna, 2022, section 7.3). Printed there are the counts, the spring-dampers and the tyres:

                stiffness   damping     free length          tyre     60430 N/m, 100 N s/m, radius 0.30253 m,
                [N/m]       [N s/m]     [m]                           critical slip 0.8 and angle 0.2, friction 0.7
    front       16000       10000       0.710                chassis  centre of mass at z = -0.2471 m in its own frame,
    rear        10595        6000       0.741                         whose z axis points down

Where its parts are and what they weigh is not printed; the numbers of this file are this project's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mechgrad.gallery.buggy_shape import chassis_shape
from mechgrad.model import (
    Body,
    Cardan,
    DesignVariable,
    Driver,
    EllipseTyre,
    FixedDistance,
    Floating,
    Model,
    Point,
    PointOnLine,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
    Vector,
)
from mechgrad.model.surfaces import Plane, Surface
from mechgrad.typing import FloatArray

SIDES = {"left": 1.0, "right": -1.0}
CORNERS = tuple(f"{end} {side}" for end in ("front", "rear") for side in SIDES)
GRAVITY = 9.81
RADIUS = 0.30253
ORIGIN = np.array([0.0, 0.0, 0.30])  # of the chassis, in the world at the start
UPSIDE_DOWN = (0.0, 1.0, 0.0, 0.0)  # z of the chassis points down, y to the right
SPRINGS = {"front": (16000.0, 10000.0, 0.710), "rear": (10595.0, 6000.0, 0.741)}  # N/m, N s/m, m
STRUT_FOOT, STRUT_TOP = np.array([-1.0, 0.58, 0.25]), np.array([-1.0, 0.48, 0.872])

# Left-hand bodies: mass [kg], principal inertia along the world's axes at the start [kg m^2], centre of mass [m]
_FRONT: dict[str, tuple[float, tuple[float, float, float], tuple[float, float, float]]] = {
    "lower arm": (4.0, (0.05, 0.03, 0.06), (1.20, 0.435, 0.25)),
    "upper arm": (2.5, (0.02, 0.015, 0.03), (1.19, 0.44, 0.47)),
    "knuckle": (8.0, (0.05, 0.05, 0.05), (1.20, 0.64, 0.30)),
    "tie rod": (1.0, (0.01, 1e-4, 0.01), (1.07, 0.45, 0.32)),
    "wheel": (20.0, (0.6, 1.0, 0.6), (1.20, 0.7125, 0.285)),
}
_REAR: dict[str, tuple[float, tuple[float, float, float], tuple[float, float, float]]] = {
    "arm": (4.0, (0.05, 0.03, 0.06), (-1.00, 0.435, 0.25)),
    "upright": (9.0, (0.06, 0.06, 0.05), (-1.00, 0.63, 0.35)),
    "wheel": (20.0, (0.6, 1.0, 0.6), (-1.00, 0.7125, 0.285)),
}
_X, _Y, _Z = np.eye(3)


def buggy(steering: Any = 0.0, ground: Surface = Plane()) -> Model:  # noqa: B008 - a surface is a constant
    """A buggy on four tyres: 640 kg, 18 bodies, n_v = 33 with 19 constraint rows, 14 degrees of freedom.

    x is forward, y to the left, z up; the world's origin is on the road, 1.0 m before the rear axle. At q = 0 it stands
    a little above where it comes to rest. Of each front corner `front left lower arm` and `upper arm` turn on the
    chassis, the `knuckle` hangs on two balls, of which the upper one is cut, and the `tie rod` leads from the rack to
    it, ending in a ball that is cut; of each rear corner an `arm` carries an `upright` whose strut slides through a
    point of the chassis, with a toe link of constant length. Hinges of wheels are called after them, positive forwards.

    The chassis has its frame 0.30 m over the road, z down and y to the right: `chassis.com.z` = -0.2471 m is above it.
    Point `point 1` is its nose; vectors are `ahead`, `left` and `up` of the chassis, `sky` and `track` of the ground.
    Springs are `front left spring`, ...; tyres `front left tyre`, ... Variables drive both sides of an axle: `front
    stiffness`, `front damping`, `rear stiffness`, `rear damping`.

    Parameters
    ----------
    steering : float or Function
        Where the rack is over time [m], positive to the left, which turns the wheels to the right: the tie rods are
        behind the front axle. At 0.12 m they are at the end of their reach.
    ground : Surface
        The road: `mg.surfaces.Step(5.5, -0.01)` steps down by 1 cm. Its numbers are those of each tyre, `front left
        tyre.ground.height`.

    >>> model = buggy()
    >>> len(model.bodies), len(model.joints), model.n_v, round(float(model.total_mass), 9)
    (18, 22, 33, 640.0)
    """
    shape = chassis_shape(_seen)
    bodies = [Body("chassis", 500.0, com=(0, 0, -0.2471), inertia=(150.0, 450.0, 500.0), shape=shape)]
    bodies.append(Body("rack", 3.0, inertia=(0.05, 0.001, 0.05)))
    at: dict[str, FloatArray] = {"chassis": ORIGIN, "rack": np.array([1.07, 0.0, 0.33])}
    for side, sign in SIDES.items():
        for end, parts in (("front", _FRONT), ("rear", _REAR)):
            for part, (mass, inertia, com) in parts.items():
                name = f"{end} {side} {part}"
                bodies.append(Body(name, mass, inertia=inertia))
                at[name] = np.array([com[0], sign * com[1], com[2]])
    joints: list[Any] = [
        Floating("chassis motion", "ground", "chassis", ORIGIN, UPSIDE_DOWN),
        Prismatic("rack slide", "chassis", "rack", _seen(at["rack"]), UPSIDE_DOWN, axis=(0, -1, 0)),
    ]
    points = [Point("point 1", "chassis", _seen((1.5, 0.0, 0.40)))]
    vectors = [
        Vector("ahead", "chassis", (1, 0, 0)), Vector("left", "chassis", (0, -1, 0)),
        Vector("up", "chassis", (0, 0, -1)), Vector("sky", "ground", (0, 0, 1)), Vector("track", "ground", (1, 0, 0)),
    ]  # fmt: skip
    constraints: list[Any] = [Driver("steering", "rack slide", steering)]
    forces: list[Any] = []
    for side, sign in SIDES.items():
        corner = _Corner(side, sign, at)
        joints += [*corner.front_joints(), *corner.rear_joints()]
        points += corner.points()
        vectors += corner.vectors()
        constraints += corner.constraints()
        forces += corner.forces(ground)
    return Model(
        "buggy", bodies, joints, points, vectors, constraints=constraints, forces=forces, gravity=(0, 0, -GRAVITY),
        variables=_variables(), cut=[f"front {side} {end}" for side in SIDES for end in ("upper ball", "tie end")],
    )  # fmt: skip


def _seen(x: Sequence[float] | FloatArray) -> FloatArray:
    """A place of the world at the start, in the frame of the chassis [m]."""
    return np.asarray((np.asarray(x, float) - ORIGIN) * (1.0, -1.0, -1.0))


class _Corner:
    """Joints, markers, constraints and forces of one side."""

    def __init__(self, side: str, sign: float, at: dict[str, FloatArray]) -> None:
        self.side, self.sign, self.at = side, sign, at

    def place(self, x: Any) -> FloatArray:
        """A place of the left side, here [m]."""
        return np.array([x[0], self.sign * x[1], x[2]])

    def on(self, body: str, x: Any) -> FloatArray:
        """A place of the left side, in the frame of a body [m]."""
        return self.place(x) - self.at[body]

    def hinge(self, name: str, body: str, x: Any) -> Revolute:
        """On the chassis, about the world's x axis."""
        return Revolute(name, "chassis", body, _seen(self.place(x)), UPSIDE_DOWN, self.on(body, x), axis=_X)

    def front_joints(self) -> list[Any]:
        """Two arms, the knuckle between them, the tie rod and the wheel."""
        name = f"front {self.side}"
        lower, upper, knuckle, rod, wheel = (f"{name} {part}" for part in _FRONT)
        low, high, inner, outer = (1.20, 0.62, 0.22), (1.18, 0.58, 0.46), (1.07, 0.28, 0.33), (1.07, 0.62, 0.31)
        hub = _FRONT["wheel"][2]
        return [
            self.hinge(f"{name} lower hinge", lower, (1.20, 0.25, 0.28)),
            self.hinge(f"{name} upper hinge", upper, (1.20, 0.30, 0.48)),
            Spherical(f"{name} lower ball", lower, knuckle, self.on(lower, low), child_origin=self.on(knuckle, low)),
            Cardan(
                f"{name} tie joint", "rack", rod, self.on("rack", inner), child_origin=self.on(rod, inner), axis1=_X,
                axis2=_Z,
            ),
            Revolute(f"{name} wheel hinge", knuckle, wheel, self.on(knuckle, hub), axis=_Y),
            Spherical(f"{name} upper ball", upper, knuckle, self.on(upper, high), child_origin=self.on(knuckle, high)),
            Spherical(f"{name} tie end", rod, knuckle, self.on(rod, outer), child_origin=self.on(knuckle, outer)),
        ]  # fmt: skip

    def rear_joints(self) -> list[Any]:
        """An arm, the upright on its ball, the wheel."""
        name = f"rear {self.side}"
        arm, upright, wheel = (f"{name} {part}" for part in _REAR)
        ball, hub = (-1.00, 0.62, 0.22), _REAR["wheel"][2]
        return [
            self.hinge(f"{name} hinge", arm, (-1.00, 0.25, 0.28)),
            Spherical(f"{name} ball", arm, upright, self.on(arm, ball), child_origin=self.on(upright, ball)),
            Revolute(f"{name} wheel hinge", upright, wheel, self.on(upright, hub), axis=_Y),
        ]

    def points(self) -> list[Point]:
        """Ends of springs, struts and toe links."""
        side, arm, upright = self.side, f"front {self.side} lower arm", f"rear {self.side} upright"
        top = _seen(self.place((1.20, 0.30, 0.8269)))
        return [
            Point(f"front {side} spring top", "chassis", top),
            Point(f"front {side} spring foot", arm, self.on(arm, (1.20, 0.50, 0.24))),
            Point(f"rear {side} strut top", "chassis", _seen(self.place(STRUT_TOP))),
            Point(f"rear {side} strut foot", upright, self.on(upright, STRUT_FOOT)),
            Point(f"rear {side} toe inner", "chassis", _seen(self.place((-1.15, 0.28, 0.30)))),
            Point(f"rear {side} toe outer", upright, self.on(upright, (-1.15, 0.62, 0.28))),
        ]

    def vectors(self) -> list[Vector]:
        """The strut, and axes of wheels."""
        side, strut = self.side, STRUT_TOP - STRUT_FOOT
        found = [Vector(f"rear {side} strut", f"rear {side} upright", self.place(strut))]
        return found + [Vector(f"{end} {side} axle", f"{end} {side} wheel", _Y) for end in SPRINGS]

    def constraints(self) -> list[Any]:
        """The strut slides through its top, the toe link keeps its length."""
        name = f"rear {self.side}"
        link = np.array([0.0, 0.62 - 0.28, 0.28 - 0.30])
        return [
            PointOnLine(f"{name} slider", f"{name} strut top", f"{name} strut foot", f"{name} strut"),
            FixedDistance(f"{name} toe link", f"{name} toe inner", f"{name} toe outer", float(np.sqrt(link @ link))),
        ]

    def forces(self, ground: Surface) -> list[Any]:
        """Spring-dampers and tyres."""
        found: list[Any] = []
        for end, (stiffness, damping, length) in SPRINGS.items():
            name, kind = f"{end} {self.side}", "spring" if end == "front" else "strut"
            found.append(
                SpringDamper(f"{name} spring", f"{name} {kind} top", f"{name} {kind} foot", stiffness, damping, length)
            )
            found.append(
                EllipseTyre(
                    f"{name} tyre", f"{name} wheel.origin", f"{name} axle", RADIUS, "ground.origin", "sky",
                    stiffness=60430.0, compression_damping=100.0, restitution_damping=100.0, critical_slip=0.8,
                    critical_angle=0.2, friction_x=0.7, friction_y=0.7, ground=ground,
                )
            )  # fmt: skip
        return found


def _variables() -> list[DesignVariable]:
    """Stiffness and damping of both springs of an axle."""
    return [
        DesignVariable(
            f"{end} {what}", [f"{end} {side} spring.{what}" for side in SIDES], value, bounds=(10.0, 1e5), scale=1e4
        )
        for end, numbers in SPRINGS.items()
        for what, value in zip(("stiffness", "damping"), numbers, strict=False)
    ]  # fmt: skip
