"""Where the eye is: which way is up, from where to look, where the floor lies, and how much is in the picture."""

from __future__ import annotations

import numpy as np

from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE
from mechgrad.model.joints.seat import Seat
from mechgrad.model.shapes import Box, Capsule, Cylinder, Ring, Sphere
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.nodes import Node, Path, Surface
from mechgrad.visualization.scene.outline import Outline
from mechgrad.visualization.scene.poses import Poses

PARALLEL = 1e-6
SPACE_VIEW = (0.55, -1.0, 0.42)  # from where a mechanism in space is seen: right, towards the eye, up
PLANE_VIEW = (0.22, -1.0, 0.2)  # and one that moves in a plane
BELOW = 0.06  # of the size: the floor under what does not stand on one
NEAR_ZERO = 0.05  # of the size: a lowest point so close to the origin's height stands there


def upwards(outline: Outline) -> FloatArray:
    """Against gravity; without gravity y for mechanisms in the x-y plane, z for others."""
    gravity = np.real(outline.model.gravity)
    if np.any(gravity):
        return np.asarray(-gravity / np.linalg.norm(gravity))
    normal = plane_normal(outline)
    flat = normal is not None and abs(normal[2]) > 1 - PARALLEL
    return np.array([0.0, 1.0, 0.0]) if flat else np.array([0.0, 0.0, 1.0])


def plane_normal(outline: Outline) -> FloatArray | None:
    """The common direction of all hinges of a mechanism that moves across it; None if it moves in space."""
    normal: FloatArray | None = None
    slides = []
    for joint in outline.model.joints:
        frame = outline.frames[joint.parent]
        R = np.eye(3) if frame < 0 else outline.poses.R[0, frame]
        for k, kind in enumerate(joint.kinds):
            axis = R @ np.real(Seat.of(joint, k).on_parent[0])[:, 2]
            if kind == BALL:
                return None
            if kind == PRISMATIC:
                slides.append(axis)
            elif kind == REVOLUTE:
                if normal is not None and np.linalg.norm(np.cross(normal, axis)) > PARALLEL:
                    return None
                normal = axis if normal is None else normal
    if normal is None or any(abs(axis @ normal) > PARALLEL for axis in slides):
        return None
    return normal


def eye_direction(outline: Outline, up: FloatArray) -> FloatArray:
    """From the middle of the picture to the eye, of length one: with the ground's x (or y) to the right."""
    normal = plane_normal(outline)
    flat = normal is not None and abs(normal @ up) < 0.5
    side = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    if flat and normal is not None:
        towards = normal - (normal @ up) * up
        right = np.cross(up, towards)
        if right[np.abs(right).argmax()] < 0:
            towards, right = -towards, -right
        parts = PLANE_VIEW
    else:
        right = side - (side @ up) * up
        towards = np.cross(right, up)
        parts = SPACE_VIEW
    right, towards = right / np.linalg.norm(right), towards / np.linalg.norm(towards)
    eye = parts[0] * right - parts[1] * towards + parts[2] * up
    return np.asarray(eye / np.linalg.norm(eye))


def extents(nodes: tuple[Node, ...], poses: Poses) -> tuple[FloatArray, FloatArray]:
    """Centres (nt, n, 3) and radii (n,) of balls around what is seen of bodies, for the floor and the camera."""
    centres, radii = [], []
    for node in nodes:
        if node.layer in ("axes", "centres of mass", "contact spheres"):
            continue
        for centre, radius in balls(node):
            centres.append(poses.point(node.frame, centre))
            radii.append(radius)
    if not centres:
        return np.zeros((max(len(poses.p), 1), 1, 3)), np.zeros(1)
    return np.stack(centres, axis=1), np.array(radii)


def balls(node: Node) -> list[tuple[FloatArray, float]]:
    """Balls that a shape is about as large as, in body axes."""
    shape = node.shape
    if isinstance(shape, Capsule):
        return [
            (np.array(shape.start), shape.radius),
            (np.array(shape.end), shape.end_radius or shape.radius),
        ]
    if isinstance(shape, Cylinder):
        return [(np.array(shape.start), shape.radius), (np.array(shape.end), shape.radius)]
    if isinstance(shape, Sphere):
        return [(np.array(shape.origin), shape.radius * max(shape.stretch))]
    if isinstance(shape, Ring):
        return [(np.array(shape.origin), shape.radius)]
    if isinstance(shape, Surface | Path):
        points = shape.vertices if isinstance(shape, Surface) else shape.points
        return [(points.min(axis=0), 0.0), (points.max(axis=0), 0.0)]
    if isinstance(shape, Box):
        half = 0.5 * np.array(shape.size)
        return [(np.array(shape.origin), float(np.sqrt((half * half).sum())))]
    return []


def floor_under(centres: FloatArray, radii: FloatArray, up: FloatArray, size: float, touched: float | None) -> float:
    """Height of the floor along `up` [m]: the plane that is touched; the origin's, where something stands there; else
    under the lowest point of the whole motion."""
    if touched is not None:
        return touched
    lowest = float(((centres @ up) - radii).min())
    return 0.0 if abs(lowest) < NEAR_ZERO * size else lowest - BELOW * size
