"""What an anchor and its chain look like: stud links, a swivel, a stock-less anchor with two flukes; for the eye alone.

Places are in axes of the bodies: z along the chain, each origin at the upper pin.
"""

from __future__ import annotations

from mechgrad.model.shapes import Box, Capsule, Cylinder, Shape, Sphere

__all__ = ["anchor_shapes", "hawse_shapes", "link_shapes", "swivel_shapes"]

Place = tuple[float, float, float]

CHAIN, DARK, IRON, STEEL = "#9aa4ad", "#5c6670", "#2f363d", "#c3cad1"
TOP, BOTTOM = 0.028, -0.228  # ends of a link's rounds: beyond its pins, so that links hold each other [m]
HALF, BAR = 0.042, 0.017  # half of its width, and its bar's radius [m]


def link_shapes(turned: bool) -> tuple[Shape, ...]:
    """A stud link in its plane, x or y."""

    def at(x: float, z: float) -> Place:
        return (0.0, x, z) if turned else (x, 0.0, z)

    colour, inner = (DARK if turned else CHAIN), 0.6 * HALF
    corners = [at(-HALF, TOP - 0.05), at(-inner, TOP - 0.012), at(inner, TOP - 0.012), at(HALF, TOP - 0.05)]
    corners += [
        at(HALF, BOTTOM + 0.05),
        at(inner, BOTTOM + 0.012),
        at(-inner, BOTTOM + 0.012),
        at(-HALF, BOTTOM + 0.05),
    ]
    bars = zip(corners, [*corners[1:], corners[0]], strict=True)
    stud = Capsule(at(-HALF, -0.1), at(HALF, -0.1), 0.7 * BAR, 0.7 * BAR, colour)
    return (*(Capsule(a, b, BAR, BAR, colour) for a, b in bars), stud)


def hawse_shapes() -> tuple[Shape, ...]:
    """A claw that holds the end link."""
    return (Box((0.16, 0.16, 0.05), (0.0, 0.0, 0.05), colour=IRON),)


def swivel_shapes() -> tuple[Shape, ...]:
    """A round swivel with an eye."""
    return (
        Cylinder((0.0, 0.0, 0.02), (0.0, 0.0, -0.11), 0.045, STEEL),
        Sphere(0.055, (0.0, 0.0, -0.06), colour=STEEL),
        Capsule((0.0, -0.04, -0.1), (0.0, -0.04, -0.21), BAR, BAR, STEEL),
        Capsule((0.0, 0.04, -0.1), (0.0, 0.04, -0.21), BAR, BAR, STEEL),
        Cylinder((0.0, -0.07, -0.2), (0.0, 0.07, -0.2), BAR, DARK),
    )


def anchor_shapes() -> tuple[Shape, ...]:
    """Shank, crown, two arms that end in flukes."""
    made: list[Shape] = [
        Capsule((0.0, 0.0, 0.0), (0.0, 0.0, -1.08), 0.035, 0.06, IRON),
        Capsule((0.0, -0.14, -1.1), (0.0, 0.14, -1.1), 0.12, 0.12, IRON),
    ]
    for side in (-1.0, 1.0):
        made += [
            Capsule((0.0, 0.14 * side, -1.1), (0.0, 0.36 * side, -0.98), 0.085, 0.065, IRON),
            Capsule((0.0, 0.36 * side, -0.98), (0.0, 0.4 * side, -0.75), 0.065, 0.03, IRON),
            Box((0.16, 0.03, 0.24), (0.0, 0.37 * side, -0.84), colour=IRON),
        ]
    return tuple(made)
