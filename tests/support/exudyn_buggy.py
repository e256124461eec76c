"""The buggy in Exudyn: eighteen rigid bodies with Euler parameters, its joints, connectors, and its own rolling disc.

What differs: Exudyn's disc rolls on a plane only, and grips by slip velocity within one proportional zone instead of by
slip and slip angle. So both cars stand or roll straight ahead on a level road with wheels that do not slip, where grip
hardly matters; stiffness and damping of the tyres (here one coefficient, D_c = D_r) are the same. The rack is locked by
a rigid joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import mechgrad as mg
from mechgrad.gallery.buggy import CORNERS, RADIUS
from support.exudyn_twins import SPARSE, Run, Solver, _frame, _rigid, _solve, _system, _watch, items

Array = np.ndarray
ZONE = 0.6  # [m/s]: grip grows linearly up to this slip velocity; critical_angle times 3 m/s


@dataclass(frozen=True)
class Placed:
    """A body where it is drawn: number in Exudyn, centre of mass and axes in the world."""

    number: int
    centre: Array
    axes: Array


class Twin:
    """The car where it is drawn, moving forwards at a speed, wheels rolling."""

    def __init__(self, model: Any, speed: float) -> None:
        self.model, self.mbs = model, _system()
        q = model.neutral()
        self.bodies = {"ground": Placed(self.mbs.AddObject(items.ObjectGround()), np.zeros(3), np.eye(3))}
        at = mg.kinematics.marker_motion(model, [f"{body.name}.com" for body in model.bodies], q).position
        poses = mg.kinematics.body_motion(model, q).R
        for body, centre, axes in zip(model.bodies, at, poses, strict=True):
            spin = np.array([0.0, speed / RADIUS, 0.0]) if body.name.endswith("wheel") else None
            number = _rigid(
                self.mbs, body.mass, np.asarray(body.inertia), centre, model.gravity, Rotation.from_matrix(axes),
                np.array([speed, 0.0, 0.0]), spin,
            )  # fmt: skip
            self.bodies[body.name] = Placed(number, centre, axes)
        self.places = {point.name: self._world(point.body, point.position) for point in model.points}
        for joint in model.joints:
            self._join(joint)
        self._guide()
        self._push()

    def _world(self, body: str, local: Any) -> tuple[str, Array]:
        """A point of the drawing: its body and place; `local` counts from the origin of the body's frame."""
        x = mg.kinematics.marker_motion(self.model, [f"{body}.origin"], self.model.neutral()).position[0]
        return body, x + self.bodies[body].axes @ np.asarray(local, float)

    def frame(self, body: str, place: Array, axes: Array) -> int:
        """A marker of a body at a place of the world, with axes of the world."""
        on = self.bodies[body]
        return _frame(self.mbs, on.number, on.axes.T @ (place - on.centre), on.axes.T @ axes)

    def _join(self, joint: Any) -> None:
        kind = type(joint).__name__
        if kind == "Floating":
            return
        parent, place = self._world(joint.parent, joint.origin)
        seat = (
            self.bodies[parent].axes
            @ Rotation.from_quat(getattr(joint, "orientation", (1.0, 0.0, 0.0, 0.0)), scalar_first=True).as_matrix()
        )
        axes = np.eye(3)
        if kind in ("Revolute", "Prismatic"):
            axes = _with_z(seat @ np.asarray(joint.axis, float))
        first, second = axes, axes
        if kind == "Cardan":
            x, y = seat @ np.asarray(joint.axis1, float), seat @ np.asarray(joint.axis2, float)
            first = second = np.column_stack([x, y, np.cross(x, y)])
        ends = [self.frame(parent, place, first), self.frame(joint.child, place, second)]
        if kind == "Revolute":
            self.mbs.AddObject(items.ObjectJointRevoluteZ(markerNumbers=ends))
        elif kind == "Spherical":
            self.mbs.AddObject(items.ObjectJointSpherical(markerNumbers=ends))
        else:  # a rack that is locked; a Cardan joint: x of the first frame is across y of the second
            held = {"Prismatic": [1, 1, 1, 1, 1, 1], "Cardan": [1, 1, 1, 0, 0, 1]}[kind]
            self.mbs.AddObject(items.ObjectJointGeneric(markerNumbers=ends, constrainedAxes=held))

    def _guide(self) -> None:
        """Struts slide through their tops; toe links keep their length."""
        for side in ("left", "right"):
            (upright, foot), (chassis, top) = (self.places[f"rear {side} strut {end}"] for end in ("foot", "top"))
            axes = _with_z(top - foot)
            ends = [self.frame(upright, foot, axes), self.frame(chassis, top, axes)]
            self.mbs.AddObject(items.ObjectJointGeneric(markerNumbers=ends, constrainedAxes=[1, 1, 0, 0, 0, 0]))
            link = [self.places[f"rear {side} toe {end}"] for end in ("inner", "outer")]
            ends = [self.frame(*place, np.eye(3)) for place in link]
            length = float(np.linalg.norm(link[0][1] - link[1][1]))
            self.mbs.AddObject(items.ObjectConnectorDistance(markerNumbers=ends, distance=length))

    def _push(self) -> None:
        """Spring-dampers and tyres."""
        for corner in CORNERS:
            spring, tyre = self.model.force(f"{corner} spring"), self.model.force(f"{corner} tyre")
            ends = [self.frame(*self.places[name], np.eye(3)) for name in (spring.point_a, spring.point_b)]
            self.mbs.AddObject(
                items.ObjectConnectorSpringDamper(
                    markerNumbers=ends, stiffness=spring.stiffness, damping=spring.damping,
                    referenceLength=spring.free_length,
                )
            )  # fmt: skip
            wheel = self.bodies[f"{corner} wheel"]
            road = self.frame("ground", np.zeros(3), np.eye(3))
            memory = self.mbs.AddNode(items.NodeGenericData(initialCoordinates=[0.0] * 3, numberOfDataCoordinates=3))
            self.mbs.AddObject(
                items.ObjectConnectorRollingDiscPenalty(
                    markerNumbers=[road, self.frame(f"{corner} wheel", wheel.centre, np.eye(3))], nodeNumber=memory,
                    discRadius=tyre.radius, discAxis=[0.0, 1.0, 0.0], planeNormal=[0.0, 0.0, 1.0],
                    contactStiffness=tyre.stiffness, contactDamping=tyre.compression_damping,
                    dryFriction=[tyre.friction_x, tyre.friction_y], dryFrictionProportionalZone=ZONE,
                    useLinearProportionalZone=True,
                )
            )  # fmt: skip


def _with_z(direction: Array) -> Array:
    """Axes whose z is along a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def settle(
    model: Any, step: float, duration: float, records: int = 0, solver: Solver = SPARSE, speed: float = 0.0
) -> Run:
    """The centre of mass of the chassis as the car comes down on its springs from where it is drawn."""
    twin = Twin(model, speed)
    watch = _watch(twin.mbs, twin.bodies["chassis"].number, (0.0, 0.0, 0.0), records)
    return _solve(twin.mbs, watch, step, duration, records, solver)
