"""What the segments of a human look like: limbs, a chest, a head with a nose, in clothes; for the eye alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mechgrad.model.shapes import Capsule, Shape, Sphere
from mechgrad.typing import ArrayLike, FloatArray

__all__ = ["figure_shapes"]

SKIN, SHIRT, TROUSERS, SHOE, HAIR = "#e3b495", "#3d7ab8", "#46525f", "#2b3138", "#4a3b31"
OTHER_SIDE = {TROUSERS: "#76828e", SHIRT: "#3d7ab8"}  # of the left leg, so that steps can be told apart

# radii at the near and at the far end [m]
LIMBS = {
    "thigh": (0.083, 0.056, TROUSERS),
    "shank": (0.056, 0.038, TROUSERS),
    "toes": (0.026, 0.021, SHOE),
    "shoulder": (0.062, 0.058, SHIRT),
    "girdle": (0.062, 0.058, SHIRT),
    "upper_arm": (0.052, 0.040, SHIRT),
    "forearm": (0.040, 0.027, SKIN),
}


def figure_shapes(
    segment: str, start: ArrayLike, end: ArrayLike, turn: ArrayLike, forward: ArrayLike, *, left: bool = False
) -> tuple[Shape, ...]:
    """Shapes of a segment, in axes of its body.

    Parameters
    ----------
    segment : "pelvis", "thigh", "shank", "foot", "toes", "torso", "shoulder", "upper_arm", "forearm", "hand" or "head"
    start, end : near and far end of its axis, in body axes [m]
    turn : R_WB, the body's axes in the world where the human stands upright
    forward : where the human looks then, in the world; z is up

    >>> [type(shape).__name__ for shape in figure_shapes("thigh", (0, 0, 0), (0, 0, -0.44), np.eye(3), (1, 0, 0))]
    ['Capsule']
    """
    a, b = np.asarray(start, float), np.asarray(end, float)
    if segment in LIMBS:
        near, far, colour = LIMBS[segment]
        return (Capsule(_triple(a), _triple(b), near, far, OTHER_SIDE.get(colour, colour) if left else colour),)
    made: dict[str, Callable[[FloatArray, FloatArray, _Axes], tuple[Shape, ...]]] = {
        "pelvis": _pelvis, "foot": _sole, "torso": _torso, "hand": _hand, "head": _head,
    }  # fmt: skip
    return made[segment](a, b, _Axes(np.asarray(turn, float), np.asarray(forward, float)))


class _Axes:
    """The body's own directions: forwards, to the left, upwards; and ellipsoids along them."""

    def __init__(self, turn: FloatArray, forward: FloatArray) -> None:
        up = np.array([0.0, 0.0, 1.0])
        world = np.column_stack([forward, np.cross(up, forward), up])
        self.axes = turn.T @ world  # columns in body axes
        self.quaternion = _quaternion(self.axes)

    def ball(self, at: FloatArray, ahead: float, across: float, upwards: float, colour: str) -> Sphere:
        """An ellipsoid with these half axes."""
        stretch = (ahead / upwards, across / upwards, 1.0)
        return Sphere(upwards, _triple(at), stretch, self.quaternion, colour)


def _pelvis(a: FloatArray, b: FloatArray, axes: _Axes) -> tuple[Shape, ...]:
    return (Capsule(_triple(a), _triple(b), 0.098, 0.098, TROUSERS),)


def _torso(a: FloatArray, b: FloatArray, axes: _Axes) -> tuple[Shape, ...]:
    way = b - a
    return (
        axes.ball(a + 0.24 * way, 0.098, 0.132, 0.19, SHIRT),
        axes.ball(a + 0.64 * way, 0.112, 0.158, 0.20, SHIRT),
        Capsule(_triple(a + 0.9 * way), _triple(b), 0.062, 0.05, SHIRT),
    )


def _head(a: FloatArray, b: FloatArray, axes: _Axes) -> tuple[Shape, ...]:
    way, ahead = b - a, axes.axes[:, 0]
    middle = a + 0.66 * way
    return (
        Capsule(_triple(a), _triple(a + 0.5 * way), 0.048, 0.045, SKIN),
        axes.ball(middle, 0.095, 0.078, 0.118, SKIN),
        axes.ball(middle + 0.06 * way - 0.016 * ahead, 0.094, 0.083, 0.108, HAIR),
        Sphere(0.016, _triple(middle + 0.095 * ahead - 0.03 * way), colour=SKIN),
    )


def _hand(a: FloatArray, b: FloatArray, axes: _Axes) -> tuple[Shape, ...]:
    along = (b - a) / np.linalg.norm(b - a)
    ahead = axes.axes[:, 0] - (axes.axes[:, 0] @ along) * along
    ahead /= np.linalg.norm(ahead)
    quaternion = _quaternion(np.column_stack([ahead, np.cross(along, ahead), along]))
    length = float(np.linalg.norm(b - a))
    palm = Sphere(0.5 * length, _triple(a + 0.46 * (b - a)), (0.44, 0.24, 1.0), quaternion, SKIN)
    thumb = a + 0.3 * (b - a) + 0.02 * ahead
    return (palm, Capsule(_triple(thumb), _triple(thumb + 0.035 * ahead + 0.03 * along), 0.013, 0.011, SKIN))


def _sole(a: FloatArray, b: FloatArray, axes: _Axes) -> tuple[Shape, ...]:
    return (
        Capsule(_triple(a), _triple(b), 0.038, 0.03, SHOE),
        Capsule(_triple(0.72 * a + 0.28 * b + 0.03 * axes.axes[:, 2]), _triple(a + 0.6 * (b - a)), 0.040, 0.031, SHOE),
    )


def _triple(x: ArrayLike) -> tuple[float, float, float]:
    first, second, third = (float(v) for v in np.round(np.asarray(x, float), 6) + 0.0)
    return first, second, third


def _quaternion(R: FloatArray) -> tuple[float, float, float, float]:
    """(w, x, y, z) of a rotation, from the column of 4 e e^T with the largest diagonal."""
    x, y, z = R.diagonal()
    squares = np.array([1 + x + y + z, 1 + x - y - z, 1 - x + y - z, 1 - x - y + z])
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, f, g = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = np.array([(squares[0], a, b, c), (a, squares[1], d, f), (b, d, squares[2], g), (c, f, g, squares[3])])
    e = rows[squares.argmax()]
    w, i, j, k = (float(v) for v in np.round(e / np.sqrt(e @ e), 6) + 0.0)
    return w, i, j, k
