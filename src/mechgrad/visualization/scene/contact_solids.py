"""What touches: wheels and tyres as rings of their own radius, contact spheres, and the planes that are touched."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.model.shapes import Cylinder, Ring, Sphere
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.colours import CONTACT, GROUND, RIM, TYRE
from mechgrad.visualization.scene.nodes import GROUND_FRAME, Node, Path, Surface
from mechgrad.visualization.scene.outline import Outline, marker_place, vector_place

TUBE = 0.075  # of a tyre, of its radius
SPOKES = 14
HEAVY, STOUT = (
    60.0,
    0.22,
)  # mass over radius squared [kg/m^2] of the wheel of a car, and the tube of its tyre, of its radius
PLATE = 0.6  # half the side of a plane that is touched, of the size
CURVE_POINTS = 120
LEVEL = 0.999  # cosine of the angle between a floor's normal and the vertical, at least


def contact_nodes(outline: Outline, up: FloatArray) -> list[Node]:
    """Wheels, spheres and planes of forces and constraints that have a point and a radius, and curves of wires."""
    nodes: list[Node] = []
    for element in (*outline.model.forces, *outline.model.constraints):
        nodes += _round(outline, element)
        nodes += _plane(outline, element, up)
        nodes += _wire(outline, element)
    return nodes


def floor_height(outline: Outline, up: FloatArray) -> float | None:
    """Height of the level plane of the ground that something touches, along `up`; None if there is none."""
    heights = []
    for element in (*outline.model.forces, *outline.model.constraints):
        if getattr(element, "radius", None) is None:
            continue
        place, normal = _plane_of(outline, element)
        if place is not None and normal is not None and place[0] == "ground" and normal @ up > LEVEL:
            heights.append(float(place[1] @ up))
    return min(heights) if heights else None


def _plane_of(outline: Outline, element: Any) -> tuple[tuple[str, FloatArray] | None, FloatArray | None]:
    model = outline.model
    normal = vector_place(model, getattr(element, "normal", None))
    place = marker_place(model, getattr(element, "plane_point", None))
    if place is None and normal is not None and normal[0] == "ground":
        place = ("ground", np.zeros(3))  # rolling without a holonomic row names no point
    return place, None if normal is None else normal[1]


def _round(outline: Outline, element: Any) -> list[Node]:
    place, radius = marker_place(outline.model, getattr(element, "point", None)), getattr(element, "radius", None)
    if place is None or radius is None:
        return []
    body, centre = place
    if outline.shaped(body) or body == "ground":
        return []
    r, frame = float(np.real(radius)), outline.frames[body]
    axis = vector_place(outline.model, getattr(element, "axis", None))
    if axis is None or axis[0] != body:
        if body in outline.balls:
            return [Node(body, "bodies", frame, Sphere(r, tuple(centre)), outline.colours.get(body, CONTACT))]
        return [Node(element.name, "contact spheres", frame, Sphere(r, tuple(centre)), CONTACT)]
    if float(np.real(outline.model.body(body).mass)) > HEAVY * r * r:  # the wheel of a car: a stout tyre on a rim
        rim = Cylinder(tuple(centre - 0.2 * r * axis[1]), tuple(centre + 0.2 * r * axis[1]), 0.6 * r)
        stout = Ring(r, STOUT * r, tuple(axis[1]), tuple(centre))
        return [Node(element.name, "bodies", frame, stout, TYRE), Node(element.name, "bodies", frame, rim, RIM)]
    ring = Ring(r, TUBE * r, tuple(axis[1]), tuple(centre), spokes=SPOKES)
    hub = Cylinder(tuple(centre - 0.16 * r * axis[1]), tuple(centre + 0.16 * r * axis[1]), 0.09 * r)
    return [Node(element.name, "bodies", frame, ring, TYRE), Node(element.name, "bodies", frame, hub, GROUND)]


def _plane(outline: Outline, element: Any, up: FloatArray) -> list[Node]:
    """A square of a plane that is not the floor."""
    place, normal = _plane_of(outline, element)
    if place is None or normal is None or (place[0] == "ground" and normal @ up > LEVEL):
        return []
    if getattr(element, "radius", None) is None or getattr(element, "ground", None) is not None:
        return []
    e1 = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(normal, e1)
    half = PLATE * outline.size
    corners = np.array([place[1] + half * (i * e1 + j * e2) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    faces = np.array([(0, 1, 2), (0, 2, 3), (2, 1, 0), (3, 2, 0)])
    return [Node(f"plane of {element.name}", "ground", outline.frames[place[0]], Surface(corners, faces), GROUND)]


def _wire(outline: Outline, element: Any) -> list[Node]:
    """The curve of a PointOnCurve, as far as the point goes; the line of a PointOnLine."""
    model = outline.model
    bead = marker_place(model, getattr(element, "point", None))
    base = marker_place(model, getattr(element, "base", None) or getattr(element, "line_point", None))
    along = vector_place(model, getattr(element, "along", None) or getattr(element, "direction", None))
    if bead is None or base is None or along is None:
        return []
    poses, frame = outline.poses, outline.frames[base[0]]
    way = poses.point(outline.frames[bead[0]], bead[1]) - poses.point(frame, base[1])
    if frame >= 0:
        way = np.einsum("tji,tj->ti", poses.R[:, frame], way)
    s = way @ along[1]
    pad = 0.08 * outline.size
    grid = np.linspace(s.min() - pad, s.max() + pad, CURVE_POINTS)
    height = vector_place(model, getattr(element, "height", None))
    points = base[1] + np.multiply.outer(grid, along[1])
    if height is not None and (curve := getattr(element, "curve", None)) is not None:
        points = points + np.multiply.outer(np.real(np.array([curve(x) for x in grid])), height[1])
    return [Node(element.name, "ground" if frame == GROUND_FRAME else "bodies", frame,
                 Path(points, 0.006 * outline.size), GROUND)]  # fmt: skip
