"""How far solids reach: balls around them, for the floor and the camera."""

from __future__ import annotations

import numpy as np

from mechgrad.model.shapes import Box, Capsule, Cylinder, Ring, Sphere
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.nodes import Node, Path, Stretched, Surface
from mechgrad.visualization.scene.poses import Poses
from mechgrad.visualization.scene.quaternions import rotation


def extents(nodes: tuple[Node, ...], stretched: tuple[Stretched, ...], poses: Poses) -> tuple[FloatArray, FloatArray]:
    """Centres (nt, n, 3) and radii (n,) of balls around what is seen of bodies, for the floor and the camera."""
    centres, radii = [], []
    for node in nodes:
        if node.layer in ("axes", "centres of mass", "contact spheres", "terrain"):
            continue
        for centre, radius in balls(node):
            centres.append(poses.point(node.frame, centre))
            radii.append(radius)
    for item in stretched:
        for frame, end in ((item.frame_a, item.point_a), (item.frame_b, item.point_b)):
            centres.append(poses.point(frame, end))
            radii.append(0.0)
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
        R = rotation(shape.orientation)
        signs = [(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]
        return [(np.array(shape.origin) + R @ (np.array(s) * shape.size), 0.0) for s in signs]
    return []
