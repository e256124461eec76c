"""What the bicycle looks like: tubes, a saddle, a rider who holds the handlebar; for the eye alone.

Places are those of the world at q = 0: x forward, y left, z up, the rear wheel on the origin.
"""

from __future__ import annotations

from mechgrad.model.shapes import Capsule, Cylinder, Shape, Sphere

__all__ = ["fork_shapes", "frame_shapes"]

Place = tuple[float, float, float]

PAINT, STEEL, RUBBER = "#c4564a", "#aab3bb", "#2b3138"
SKIN, SHIRT, TROUSERS, SHOE, HELMET = "#e3b495", "#3d7ab8", "#46525f", "#2b3138", "#e0893b"
TUBE = 0.017  # radius [m]

_REAR, _BRACKET, _SEAT = (0.0, 0.0, 0.30), (0.44, 0.0, 0.27), (0.30, 0.0, 0.82)
_HEAD_LOW, _HEAD_HIGH = (0.866, 0.0, 0.72), (0.820, 0.0, 0.86)
_HIP, _SHOULDER = (0.27, 0.0, 0.99), (0.55, 0.0, 1.40)


def frame_shapes() -> tuple[Shape, ...]:
    """The frame with its rigid rider, in axes of the body `frame`."""
    tubes = [(_BRACKET, _SEAT), (_SEAT, _HEAD_HIGH), (_BRACKET, _HEAD_LOW), (_HEAD_LOW, _HEAD_HIGH)]
    for y in (-0.05, 0.05):
        tubes += [(_at(_REAR, y), _at(_BRACKET, 0.6 * y)), (_at(_REAR, y), _at(_SEAT, 0.4 * y))]
    made: list[Shape] = [Capsule(a, b, TUBE, TUBE, PAINT) for a, b in tubes]
    made += [
        Capsule(_SEAT, (0.285, 0.0, 0.9), 0.013, 0.013, STEEL),
        Capsule((0.18, 0.0, 0.905), (0.36, 0.0, 0.905), 0.06, 0.022, RUBBER),
        Cylinder((0.44, -0.06, 0.27), (0.44, -0.05, 0.27), 0.085, STEEL),
        Cylinder((0.44, -0.09, 0.27), (0.44, 0.09, 0.27), 0.014, STEEL),
    ]
    return (*made, *_trunk(), *_arm(-1.0), *_arm(1.0), *_right_leg(), *_left_leg())


def fork_shapes(steering: float, height: float) -> tuple[Shape, ...]:
    """Blades, steerer and handlebar, in axes of the body `fork`, whose origin is at (steering, 0, height)."""

    def tube(a: Place, b: Place, radius: float, colour: str) -> Shape:
        first, second = ((x - steering, y, z - height) for x, y, z in (a, b))
        return Capsule(first, second, radius, radius, colour)

    blades = [tube((1.02, y, 0.35), (0.884, 0.8 * y, 0.69), 0.014, STEEL) for y in (-0.05, 0.05)]
    crown = tube((0.884, -0.04, 0.69), (0.884, 0.04, 0.69), 0.016, STEEL)
    bar = [tube((0.80, -0.16, 1.0), (0.80, 0.16, 1.0), 0.012, STEEL)]
    bar += [tube((0.80, side * 0.16, 1.0), (0.77, side * 0.29, 1.01), 0.016, RUBBER) for side in (-1.0, 1.0)]
    steerer = [
        tube((0.884, 0.0, 0.69), (0.781, 0.0, 0.98), 0.015, STEEL),
        tube((0.781, 0.0, 0.98), (0.8, 0.0, 1.0), 0.015, STEEL),
    ]
    return (*blades, crown, *steerer, *bar)


def _at(place: Place, y: float) -> Place:
    return place[0], y, place[2]


def _trunk() -> tuple[Shape, ...]:
    leaning = (0.9659, 0.0, 0.2588, 0.0)  # as far as the back does: 30 degrees
    return (
        Capsule(_at(_HIP, -0.07), _at(_HIP, 0.07), 0.098, 0.098, TROUSERS),
        Sphere(0.20, (0.35, 0.0, 1.11), (0.55, 0.72, 1.0), leaning, SHIRT),
        Sphere(0.20, (0.47, 0.0, 1.27), (0.60, 0.82, 1.0), leaning, SHIRT),
        Capsule(_at(_SHOULDER, -0.16), _at(_SHOULDER, 0.16), 0.062, 0.062, SHIRT),
        Capsule((0.57, 0.0, 1.42), (0.63, 0.0, 1.53), 0.048, 0.045, SKIN),
        Sphere(0.115, (0.66, 0.0, 1.60), (0.85, 0.70, 1.0), colour=SKIN),
        Sphere(0.112, (0.645, 0.0, 1.635), (1.02, 0.80, 0.82), colour=HELMET),
        Sphere(0.017, (0.757, 0.0, 1.585), colour=SKIN),
    )


def _arm(side: float) -> tuple[Shape, ...]:
    shoulder, elbow, hand = (0.55, 0.17 * side, 1.39), (0.66, 0.27 * side, 1.17), (0.78, 0.25 * side, 1.02)
    return (
        Capsule(shoulder, elbow, 0.050, 0.038, SHIRT),
        Capsule(elbow, hand, 0.038, 0.026, SKIN),
        Sphere(0.042, hand, colour=SKIN),
    )


def _leg(hip: Place, knee: Place, ankle: Place, toe: Place, pedal: Place, colour: str) -> tuple[Shape, ...]:
    y = pedal[1]
    return (
        Capsule(hip, knee, 0.083, 0.056, colour),
        Capsule(knee, ankle, 0.056, 0.036, colour),
        Capsule(ankle, toe, 0.038, 0.030, SHOE),
        Capsule((0.44, 0.75 * y, 0.27), _at(pedal, 0.75 * y), 0.011, 0.011, STEEL),
        Cylinder(_at(pedal, 0.7 * y), _at(pedal, 1.3 * y), 0.014, RUBBER),
    )


def _right_leg() -> tuple[Shape, ...]:
    return _leg(
        (0.27, -0.09, 0.97),
        (0.60, -0.11, 0.67),
        (0.47, -0.12, 0.25),
        (0.60, -0.12, 0.18),
        (0.55, -0.12, 0.13),
        TROUSERS,
    )


def _left_leg() -> tuple[Shape, ...]:
    return _leg(
        (0.27, 0.09, 0.97), (0.66, 0.11, 0.79), (0.30, 0.12, 0.50), (0.43, 0.12, 0.45), (0.33, 0.12, 0.41), "#76828e"
    )
