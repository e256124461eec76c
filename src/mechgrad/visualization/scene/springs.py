"""Between two points: springs as coils, dampers as pistons, rods of constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.colours import DAMPER, ROD, SPRING
from mechgrad.visualization.scene.nodes import Stretched
from mechgrad.visualization.scene.outline import Outline, marker_place

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
    return found


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
