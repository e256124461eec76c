"""What the chassis of the buggy looks like: a cage of tubes, a bonnet, seats, an engine; nothing is computed of it.

Places are those of the world at the start: x forward, y to the left, z up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from mechgrad.model.shapes import Box, Capsule, Ring, Shape

TUBE = 0.026  # radius [m]
BODY, CAGE, SEAT, ENGINE, DARK = "#e0893b", "#3a4652", "#5b6570", "#8a939e", "#2c3238"

# one side, from place to place; the other is its mirror image
_RAILS: tuple[tuple[tuple[float, float, float], ...], ...] = (
    ((-1.20, 0.26, 0.30), (0.55, 0.34, 0.28), (1.42, 0.20, 0.30)),  # below
    ((-1.20, 0.28, 0.58), (-0.42, 0.42, 0.60), (0.55, 0.42, 0.60), (1.42, 0.20, 0.50)),  # beside the seats
    ((0.62, 0.42, 0.60), (0.22, 0.36, 1.26), (-0.42, 0.37, 1.30), (-1.00, 0.46, 0.872), (-1.20, 0.28, 0.58)),  # cage
    ((-0.42, 0.42, 0.60), (-0.42, 0.37, 1.30)),
    ((0.86, 0.38, 0.58), (1.20, 0.31, 0.83), (1.42, 0.20, 0.50)),  # tower of the front spring
    ((-1.20, 0.26, 0.30), (-1.20, 0.28, 0.58)),
    ((1.42, 0.20, 0.30), (1.42, 0.20, 0.50)),
)
# across, at x and z from one side to the other
_BARS = (
    (0.22, 0.36, 1.26), (-0.42, 0.37, 1.30), (-1.00, 0.46, 0.872), (1.20, 0.31, 0.83), (1.42, 0.20, 0.50),
    (1.42, 0.20, 0.30), (-1.20, 0.28, 0.58), (-1.20, 0.26, 0.30), (0.62, 0.42, 0.60),
)  # fmt: skip


def chassis_shape(seen: Callable[[Sequence[float]], Any]) -> list[Shape]:
    """The solids, in axes of the chassis; `seen` takes a place of the world at the start there."""

    def at(*x: float) -> tuple[float, float, float]:
        a, b, c = (float(y) for y in seen(x))
        return a, b, c

    def tube(a: tuple[float, float, float], b: tuple[float, float, float]) -> Shape:
        return Capsule(at(*a), at(*b), TUBE, colour=CAGE)

    found: list[Shape] = [
        Box((1.75, 0.66, 0.04), at(-0.32, 0, 0.28), colour=DARK),
        Box((0.80, 0.44, 0.20), at(1.04, 0, 0.46), colour=BODY),
        Box((0.16, 0.34, 0.14), at(1.48, 0, 0.41), colour=BODY),
        Box((0.52, 0.46, 0.34), at(-0.90, 0, 0.50), colour=ENGINE),
    ]
    for side in (1.0, -1.0):
        for rail in _RAILS:
            places = [(x, side * y, z) for x, y, z in rail]
            found += [tube(a, b) for a, b in pairwise(places)]
        found += [
            Box((0.46, 0.34, 0.12), at(0.02, side * 0.20, 0.40), colour=SEAT),
            Box((0.10, 0.34, 0.52), at(-0.28, side * 0.20, 0.66), (0.9914, 0.0, 0.1305, 0.0), colour=SEAT),
            Box((0.95, 0.02, 0.24), at(0.06, side * 0.40, 0.44), colour=BODY),
        ]
    found += [tube((x, -y, z), (x, y, z)) for x, y, z in _BARS]
    found.append(Ring(0.16, 0.016, (0.85, 0.0, 0.53), at(0.42, 0.20, 0.76), spokes=3, colour=DARK))
    return found
