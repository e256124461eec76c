"""The angle between two vectors about a third."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from mechgrad.measures.geometric import GeometricMeasure, dot, length
from mechgrad.model.primitives.attached import VECTOR, Where
from mechgrad.model.primitives.measured_rows import angle_row
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array


@final
@dataclass(frozen=True)
class Angle(GeometricMeasure):
    """Angle from one vector to another about a third, (nt,) [rad], in (-pi, pi]:

        g = atan2(n . (u_a x u_b), |n| u_a . u_b)        n the axis

    All three are vectors of the model of any length: a roll angle is that from the vertical to the body's own up vector
    about its forward vector, with u_a and u_b perpendicular to n in the upright position. A positive torque of a law on
    it lowers it. Drivers and `assemble` take it modulo a full turn.

    >>> Angle("up", "mast", axis="forward").axis
    'forward'
    """

    vector_a: str = field(metadata=VECTOR)
    vector_b: str = field(metadata=VECTOR)
    axis: str = field(metadata=VECTOR)

    def row(self, where: Where) -> Row:
        """The row that it is."""
        return angle_row(where, self.vector_a, self.vector_b, self.axis)

    def function(self, *x: Array) -> Array:
        s, c = _sine_and_cosine(*x)
        base = np.arctan2(s.real, c.real)
        if not np.iscomplexobj(s):
            return np.asarray(base)
        return np.asarray(base + 1j * (c.real * s.imag - s.real * c.imag) / (s.real**2 + c.real**2))

    def gradient(self, *x: Array) -> tuple[Array, ...]:
        u, w, n = x
        s, c = _sine_and_cosine(u, w, n)
        by_s, by_c = ((part / (s * s + c * c))[:, None] for part in (c, -s))
        size = length(n)[:, None]
        turn = dot(u, w)[:, None] / size
        return (
            by_s * np.cross(w, n) + by_c * size * w,
            by_s * np.cross(n, u) + by_c * size * u,
            by_s * np.cross(u, w) + by_c * turn * n,
        )


def _sine_and_cosine(u: Array, w: Array, n: Array) -> tuple[Array, Array]:
    return dot(n, np.cross(u, w)), length(n) * dot(u, w)
