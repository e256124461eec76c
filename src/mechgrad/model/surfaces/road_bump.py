"""A bump across the road."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.model.primitives.fields import direction, scalar
from mechgrad.model.primitives.rows import BUMP, SurfaceTable
from mechgrad.model.surfaces.base import Surface, check_extent, clipped
from mechgrad.typing import Array, ArrayField, ArrayLike, Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bump(Surface):
    """A smooth ridge across the way, or a trough where its height is negative.

        h = height (1 - u^2)^3,   u = 2 (x - centre) / length within -1 .. 1

    C2, as `Step` is; the steepest slope is 3.43 height / length, the curvature on top 24 height / length^2.

    Attributes
    ----------
    centre : float
        [m]. Path `force.ground.centre`.
    height : float
        [m]. Path `force.ground.height`.
    length : float
        From foot to foot [m], positive. Path `force.ground.length`.
    heading : (3,) array
        Of x, in axes of the body; its part along the normal does not count.

    >>> float(mg.surfaces.Bump(centre=3.0, height=0.05, length=0.4).elevation(3.0, 1.0))
    0.05
    """

    type_name: ClassVar[str] = "bump"

    centre: Number = field(metadata=scalar("surface", "m"))
    height: Number = field(metadata=scalar("surface", "m"))
    length: Number = field(metadata=scalar("surface", "m"))
    heading: ArrayField = field(default=(1.0, 0.0, 0.0), metadata=direction("surface"))

    def check(self) -> None:
        """Raise unless it has a length."""
        Surface.check(self)
        check_extent(self, "length")

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        u = clipped(2.0 * (np.asarray(x) + 0.0 * np.asarray(y) - self.centre) / self.length, -1.0)
        result: Array = self.height * (1.0 - u**2) ** 3
        return result

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        u = clipped(2.0 * (np.asarray(x) + 0.0 * np.asarray(y) - self.centre) / self.length, -1.0)
        slope: Array = -12.0 * self.height / self.length * u * (1.0 - u**2) ** 2
        return slope, 0.0 * slope

    def table(self) -> SurfaceTable:
        top = self.height if self.height.real > 0.0 else 0.0
        return SurfaceTable(BUMP, np.array([top, self.centre, self.height, self.length]))
