"""Where the eye is: which way is up, from where to look, where the floor lies, and how much is in the picture."""

from __future__ import annotations

import numpy as np

from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE
from mechgrad.model.joints.seat import Seat
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.outline import Outline

PARALLEL = 1e-6
SPACE_VIEW = (0.55, -1.0, 0.42)  # from where a mechanism in space is seen: right, towards the eye, up
PLANE_VIEW = (0.22, -1.0, 0.2)  # and one that moves in a plane
UNDER = 0.06  # of the size: the floor under what does not stand on one
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


def floor_under(
    centres: FloatArray, radii: FloatArray, up: FloatArray, size: float, touched: float | None, stands: bool
) -> float:
    """Height of the floor along `up` [m]: the plane that is touched; the origin's, where something stands there; else
    the lowest point of the whole motion if it stands, on wheels or held by nothing, and some way under it if not."""
    if touched is not None:
        return touched
    lowest = float(((centres @ up) - radii).min())
    if abs(lowest) < NEAR_ZERO * size:
        return 0.0
    return lowest if stands else lowest - UNDER * size
