"""What pictures are drawn from: where bodies are held and marked, and how large everything is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.model.joints import Joint
from mechgrad.model.joints.base import FIXED, PRISMATIC
from mechgrad.model.joints.seat import Seat
from mechgrad.model.shapes import Box, Capsule, Cylinder, Ring, Shape, Sphere
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.colours import branch_colours
from mechgrad.visualization.scene.nodes import GROUND_FRAME
from mechgrad.visualization.scene.poses import Poses

if TYPE_CHECKING:
    from mechgrad.model.model import Model

SAME = 1e-4  # of the size: places that are closer are one
THICK, LEAST, SLENDER, STOUT = 0.022, 0.25, 0.06, 0.2  # radii of links, of the size and of their own length
DENSITY, HEAVIEST = 4000.0, 2.0  # [kg/m^3] of a link whose mass is more than slender, and how much that may add
SHORT = 0.35  # of the size: what slides on the ground and is shorter is a block
NO_SIZE = 1.0  # [m] of what has neither length nor way: a lone body at the origin


@final
@dataclass(frozen=True, eq=False)
class Outline:
    """The model as a sketch.

    Attributes
    ----------
    frames : number of each body in the poses; the ground is -1
    held : points of each body where joints hold it, in body axes, as {joint: point}
    marked : points where springs and rods end, and its markers but for centres of what touches
    size : of the whole at the first instant [m]
    """

    model: Model
    poses: Poses
    frames: dict[str, int]
    held: dict[str, dict[str, FloatArray]]
    marked: dict[str, list[FloatArray]]
    size: float
    colours: dict[str, str] = field(default_factory=dict)

    def places(self, body: str) -> list[FloatArray]:
        """Distinct points of a body where something is, those where joints hold it first."""
        found: list[FloatArray] = []
        for point in (*self.held[body].values(), *self.marked[body]):
            if all(np.abs(point - other).max() > SAME * self.size for other in found):
                found.append(point)
        return found

    def radius(self, length: float, mass: float = 0.0) -> float:
        """Of a link of this length [m] and mass [kg]: slender, but as thick as its mass asks."""
        thick = THICK * self.size
        slender = float(np.clip(SLENDER * length, LEAST * thick, thick))
        heavy = float(np.sqrt(mass / (np.pi * DENSITY * length))) if length > 0 else 0.0
        return min(max(slender, min(heavy, HEAVIEST * slender)), STOUT * length)

    def radius_of(self, body: str) -> float:
        """Of the link that a body is drawn as."""
        return self.radius(self.length(body), float(np.real(self.model.body(body).mass)))

    def joint_radius(self, joint: Joint) -> float:
        """Of what is drawn at a joint: that of the links it joins."""
        found = [self.radius_of(body) for body in (joint.parent, joint.child) if body != "ground"]
        found = [r for r in found if r > 0.0]
        return min(found) if found else 0.6 * THICK * self.size

    def length(self, body: str) -> float:
        """Largest distance between places of a body; twice that to its centre of mass if there is one place alone."""
        places = self.places(body)
        if len(places) == 1:
            return 2.0 * float(np.linalg.norm(np.real(self.model.body(body).com) - places[0]))
        return max((float(np.linalg.norm(a - b)) for a in places for b in places), default=0.0)

    def solid(self, body: str) -> bool:
        """Whether a body is one to be seen: with mass, or with a shape."""
        return body == "ground" or bool(self.model.body(body).mass) or bool(self.model.body(body).shapes)

    @cached_property
    def balls(self) -> frozenset[str]:
        """Bodies that are a wheel or a ball: what touches is centred where joints hold them, if any do."""
        found = set()
        for element in (*self.model.forces, *self.model.constraints):
            place, radius = marker_place(self.model, getattr(element, "point", None)), getattr(element, "radius", None)
            if place is None or radius is None or place[0] == "ground" or self.shaped(place[0]):
                continue
            if all(np.linalg.norm(x - place[1]) < 0.2 * float(np.real(radius)) for x in self.places(place[0])):
                found.add(place[0])
        return frozenset(found)

    @cached_property
    def on_rails(self) -> frozenset[str]:
        """Bodies that slide on the ground and are short: they are drawn as blocks."""
        return frozenset(
            joint.child
            for joint in self.model.joints
            if joint.kinds == (PRISMATIC,)
            and joint.parent == "ground"
            and self.solid(joint.child)
            and not self.shaped(joint.child)
            and 0.0 < self.length(joint.child) < SHORT * self.size
            and len(self.places(joint.child)) > 1
        )

    def rod_on_slide(self, body: str) -> bool:
        """Whether a body on a slide is a rod of its own: held at one place, its centre of mass elsewhere."""
        return self.solid(body) and body != "ground" and not self.shaped(body) and self.length(body) > 0.0

    def shaped(self, body: str) -> bool:
        """Whether its user said what it looks like."""
        return body != "ground" and bool(self.model.body(body).shapes)


def outline_of(model: Model, poses: Poses) -> Outline:
    """The sketch of a model whose bodies are where the poses say."""
    frames = {name: k for k, name in enumerate(poses.names)} | {"ground": GROUND_FRAME}
    held: dict[str, dict[str, FloatArray]] = {name: {} for name in frames}
    for joint in model.joints:
        if joint.kinds and joint.kinds[0] != FIXED and len(joint.kinds) < 3 and PRISMATIC not in joint.kinds[:1]:
            seat = Seat.of(joint)
            held[joint.parent][joint.name] = np.real(seat.on_parent[1])
            held[joint.child][joint.name] = np.real(seat.on_child[1])
        elif joint.kinds and joint.kinds[0] == FIXED:
            held[joint.parent][joint.name] = np.real(Seat.of(joint).on_parent[1])
            held[joint.child][joint.name] = np.real(Seat.of(joint).on_child[1])
    marked: dict[str, list[FloatArray]] = {name: [] for name in frames}
    for element in (*model.forces, *model.constraints):
        for end in ("point_a", "point_b"):
            place = marker_place(model, getattr(element, end, None))
            if place is not None:
                marked[place[0]].append(place[1])
    touching = {
        getattr(x, "point", None) for x in (*model.forces, *model.constraints) if getattr(x, "radius", None) is not None
    }
    for point in model.points:
        if point.body != "ground" and point.name not in touching:
            marked[point.body].append(np.real(point.position))
    rough = Outline(model, poses, frames, held, marked, 1.0)
    return Outline(model, poses, frames, held, marked, _size(rough), branch_colours(model))


def marker_place(model: Model, name: str | None) -> tuple[str, FloatArray] | None:
    """Body and local coordinates of a point by its name: a marker, "body.origin" or "body.com"."""
    if not isinstance(name, str):
        return None
    for point in model.points:
        if point.name == name:
            return point.body, np.real(point.position)
    body, _, part = name.rpartition(".")
    if part == "origin":
        return body, np.zeros(3)
    return (body, np.real(model.body(body).com)) if part == "com" and body in model.body_names else None


def vector_place(model: Model, name: str | None) -> tuple[str, FloatArray] | None:
    """Body and unit vector of a vector by its name."""
    for vector in model.vectors:
        if vector.name == name:
            direction = np.real(vector.direction)
            return vector.body, direction / np.linalg.norm(direction)
    return None


def reach(shape: Shape) -> float:
    """How far a shape goes from the body's origin, roughly [m]; 0 for meshes, which are not read for it."""
    if isinstance(shape, Box):
        return float(np.linalg.norm(shape.origin) + np.linalg.norm(shape.size) / 2)
    if isinstance(shape, Sphere):
        return float(np.linalg.norm(shape.origin) + shape.radius * max(shape.stretch))
    if isinstance(shape, Cylinder | Capsule):
        return float(max(np.linalg.norm(shape.start), np.linalg.norm(shape.end)) + shape.radius)
    return float(np.linalg.norm(shape.origin) + shape.radius) if isinstance(shape, Ring) else 0.0


def _size(rough: Outline) -> float:
    """Diagonal of the box around all places, the ground's too, at the first instant; else the way; else a metre."""
    poses, model = rough.poses, rough.model
    corners = []
    for name, frame in rough.frames.items():
        local = [*rough.held[name].values(), *rough.marked[name]]
        local += [] if frame < 0 else [np.zeros(3), np.real(model.body(name).com)]
        corners += [poses.point(frame, x)[0] for x in local]
        corners += [
            poses.p[0, frame] + side * reach(shape) * axis
            for shape in (() if frame < 0 else model.body(name).shapes)
            for side in (-0.7, 0.7)
            for axis in np.eye(3)
        ]
    for element in (*model.forces, *model.constraints):
        place, radius = marker_place(model, getattr(element, "point", None)), getattr(element, "radius", None)
        if place is not None and radius is not None:
            centre = poses.point(rough.frames[place[0]], place[1])[0]
            corners += [centre - np.real(radius), centre + np.real(radius)]
    if corners:
        span = np.ptp(np.array(corners), axis=0)
        if (size := float(np.linalg.norm(span))) > 0.0:
            return size
    way = float(np.linalg.norm(np.ptp(poses.p.reshape(-1, 3), axis=0))) if poses.p.size else 0.0
    return way or NO_SIZE
