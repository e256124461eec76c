"""Between two points: springs as coils, dampers as pistons, rods of constraints and of telescopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.model.joints.base import PRISMATIC
from mechgrad.model.joints.seat import Seat
from mechgrad.model.shapes import Ring
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.colours import DAMPER, ROD, SPRING, STEEL
from mechgrad.visualization.scene.nodes import Stretched
from mechgrad.visualization.scene.outline import Outline, marker_place, reach

WIDE, SLIM = 0.03, 0.16  # radius of a coil, of the size and at most of its length


def stretched_nodes(outline: Outline) -> list[Stretched]:
    """Of every force and constraint that has two points."""
    found: list[Stretched] = []
    for element in (*outline.model.forces, *outline.model.constraints):
        first, second = (_end(element, name) for name in ("point_a", "point_b"))
        a, b = marker_place(outline.model, first), marker_place(outline.model, second)
        if a is None or b is None:
            continue
        frames = (outline.frames[a[0]], outline.frames[b[0]])
        ends = [outline.poses.point(f, x)[0] for f, x in zip(frames, (a[1], b[1]), strict=True)]
        length = float(np.linalg.norm(ends[1] - ends[0]))
        if length < 1e-3 * outline.size:
            continue  # points that are one by a constraint, bushings: their joint is drawn where they are
        for kind, radius, colour in _looks(element, float(min(WIDE * outline.size, SLIM * length))):
            found.append(Stretched(element.name, kind, frames[0], a[1], frames[1], b[1], radius, colour))
    return [*found, *_telescopes(outline), *_slide_springs(outline)]


def _telescopes(outline: Outline) -> list[Stretched]:
    """The rod within a telescope, so that it never comes apart to the eye."""
    found = []
    for joint in outline.model.joints:
        rods = outline.rod_on_slide(joint.parent) and outline.rod_on_slide(joint.child)
        if joint.kinds == (PRISMATIC,) and rods and outline.places(joint.parent) and outline.places(joint.child):
            r = 0.55 * min(outline.radius_of(joint.parent), outline.radius_of(joint.child))
            a, b = outline.places(joint.parent)[0], outline.places(joint.child)[0]
            frames = outline.frames[joint.parent], outline.frames[joint.child]
            found.append(Stretched(joint.name, "rod", frames[0], a, frames[1], b, r, STEEL))
    return found


def _slide_springs(outline: Outline) -> list[Stretched]:
    """Springs of slides, between the middles of the two bodies; of a body over the ground down to its own reach."""
    found, model = [], outline.model
    sliders = {joint.name: joint for joint in model.joints if joint.kinds == (PRISMATIC,)}
    for force in model.forces:
        joint = sliders.get(str(getattr(force, "coordinate", "")))
        if joint is None or not _any(force, "stiffness"):
            continue
        child, parent = outline.frames[joint.child], outline.frames[joint.parent]
        axis = np.real(Seat.of(joint).on_child[0])[:, 2]
        b = _middle(outline, joint.child)
        low = b - _depth(outline, joint.child) * axis
        a = outline.poses.point(child, low)[0] if parent < 0 else _middle(outline, joint.parent)
        length = float(np.linalg.norm(outline.poses.point(parent, a)[0] - outline.poses.point(child, b)[0]))
        if length > 0.02 * outline.size:
            for kind, radius, colour in _looks(force, min(WIDE * outline.size, 0.25 * length)):
                found.append(Stretched(force.name, kind, parent, a, child, b, radius, colour))
    return found


def _depth(outline: Outline, body: str) -> float:
    """How far below its middle a body goes: the radius of its wheels, if it has some."""
    shapes = outline.model.body(body).shapes
    wheels = [x.radius for x in shapes if isinstance(x, Ring)]
    return max(wheels or [reach(x) for x in shapes] or [0.25 * outline.size])


def _middle(outline: Outline, body: str) -> FloatArray:
    """The middle of the shapes of a body, else its centre of mass."""
    own = outline.model.body(body)
    origins = [np.array(x.origin) for x in own.shapes if hasattr(x, "origin")]
    return np.asarray(np.mean(origins, axis=0) if origins else np.real(own.com))


def _end(element: Any, name: str) -> str | None:
    """The name of an end; of a driven distance that of its measure."""
    measure = getattr(element, "coordinate", None)
    return getattr(element, name, None) or getattr(measure, name, None)


def _looks(element: Any, r: float) -> list[tuple[str, float, str]]:
    """Kinds, radii and colours of what one element is drawn as."""
    looks: list[tuple[str, float, str]] = []
    if _any(element, "stiffness") or getattr(element, "curve", None) is not None:
        looks.append(("coil", r, SPRING))
    if _any(element, "damping") or getattr(element, "damper", None) is not None:
        looks.append(("damper", 0.55 * r, DAMPER))
    if not looks:
        driven = getattr(element, "coordinate", None) is not None
        looks.append(("damper", 0.6 * r, DAMPER) if driven else ("rod", 0.35 * r, ROD))
    return looks


def _any(element: Any, name: str) -> bool:
    value: FloatArray | None = getattr(element, name, None)
    return value is not None and bool(np.any(np.real(value)))
