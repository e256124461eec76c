"""A closed surface: a smooth convex hull."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.primitives.fields import brief, direction, scalar, where
from mechgrad.model.primitives.rows import HULL, SurfaceTable
from mechgrad.model.surfaces.base import Surface
from mechgrad.model.surfaces.hull_distance import distance_of_hull
from mechgrad.typing import Array, ArrayField, ArrayLike, Number

ORDERS = (2, 4, 6, 8, 10, 12)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Superellipsoid(Surface):
    """A closed hull about `plane_point`: a ship, a boulder, a rounded block; spheres touch it from all sides.

        (x / half_length)^m + (y / half_width)^m + (z / half_height)^m = 1        m: order, even

    z is along the `normal` of the contact, x along `heading`, all of them on one body, which may move. Order 2 is an
    ellipsoid; the higher it is, the flatter are the sides and the sharper the edges. The surface is C-infinity and
    convex, so there is one closest point, and forces are as smooth as the contact's law. A sphere whose middle gets
    inside stops a simulation, with an error. Of all contacts `SphereContact` alone takes it.

    Attributes
    ----------
    half_length, half_width, half_height : float
        Along x, y and z [m], positive. Paths `force.ground.half_length`, ...
    order : int
        m: 2, 4, .. 12; not a parameter.
    heading : (3,) array
        Of x, in axes of the body; its part along the normal does not count.

    >>> hull = mg.surfaces.Superellipsoid(6.0, 1.5, 2.0, order=4)
    >>> float(hull.elevation(0.0, 0.0)), round(hull.distance((0.0, 2.5, 0.0)), 12)
    (2.0, 1.0)
    """

    type_name: ClassVar[str] = "superellipsoid"

    half_length: Number = field(metadata=scalar("surface", "m"))
    half_width: Number = field(metadata=scalar("surface", "m"))
    half_height: Number = field(metadata=scalar("surface", "m"))
    order: int = 4
    heading: ArrayField = field(default=(1.0, 0.0, 0.0), metadata=direction("surface"))

    def check(self) -> None:
        """Raise unless it has an extent and an order that kernels know."""
        Surface.check(self)
        for name in ("half_length", "half_width", "half_height"):
            if not getattr(self, name).real > 0.0:
                raise ValueRangeError(
                    f"{where(self)}: {name} = {brief(getattr(self, name))} must be positive: it is how far the hull "
                    "reaches from its middle."
                )
        if self.order not in ORDERS:
            raise ValueRangeError(
                f"{where(self)}: order = {self.order!r} must be one of {', '.join(map(str, ORDERS))}: an even power "
                "makes the hull smooth and convex. 2 is an ellipsoid, 4 a rounded block."
            )
        object.__setattr__(self, "order", int(self.order))

    @property
    def reach(self) -> Number:
        """A radius about the middle beyond which nothing of it is [m]: that of the corners of the box around it."""
        size = self.half_length**2 + self.half_width**2 + self.half_height**2
        result: Number = np.sqrt(size)
        return result

    def grown(self, radius: Number) -> tuple[Number, Number, Number]:
        """1 over the halves of a hull of the same shape outside of which a sphere does not touch this one [1/m]."""
        halves = self.half_length, self.half_width, self.half_height
        factor = 1.0 + radius / min(halves, key=lambda half: half.real)
        return 1.0 / (halves[0] * factor), 1.0 / (halves[1] * factor), 1.0 / (halves[2] * factor)

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Of its upper half; NaN beside it."""
        m = self.order
        rest = 1.0 - (np.asarray(x) / self.half_length) ** m - (np.asarray(y) / self.half_width) ** m
        result: Array = self.half_height * np.where(rest.real > 0.0, rest, np.nan) ** (1.0 / m)
        return result

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        m, u, w = self.order, np.asarray(x) / self.half_length, np.asarray(y) / self.half_width
        steep = -self.half_height * (self.elevation(x, y) / self.half_height) ** (1 - m)
        return steep * u ** (m - 1) / self.half_length, steep * w ** (m - 1) / self.half_width

    def distance(self, p: ArrayLike) -> float:
        """How far a point (x, y, z) is outside [m]; inside, how deep it is along the ray from the middle, negative."""
        halves = [float(half.real) for half in (self.half_length, self.half_width, self.half_height)]
        return distance_of_hull(halves, self.order, np.asarray(p, float).tolist())

    def table(self) -> SurfaceTable:
        numbers = np.array([self.half_height, self.half_length, self.half_width, self.half_height])
        return SurfaceTable(HULL, numbers, self.order)
