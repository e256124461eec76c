"""A step in the road."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.model.primitives.fields import direction, scalar
from mechgrad.model.primitives.rows import STEP, SurfaceTable
from mechgrad.model.surfaces.base import Surface, check_extent, clipped
from mechgrad.typing import Array, ArrayField, ArrayLike, Number


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(Surface):
    """A step up or down, with a smooth edge of stated width.

        h = height s(u),   s = 10 u^3 - 15 u^4 + 6 u^5,   u = (x - start) / width within 0 .. 1

    C2: heights, slopes and curvatures are continuous, so forces on it are C1. The steepest slope is
    1.875 height / width.

    Attributes
    ----------
    start : float
        Where it begins [m]. Path `force.ground.start`.
    height : float
        [m], negative for a step down. Path `force.ground.height`.
    width : float
        Over which it rises [m], positive. Path `force.ground.width`.
    heading : (3,) array
        Of x, in axes of the body; its part along the normal does not count.

    >>> mg.surfaces.Step(start=5.5, height=-0.01, width=0.1)
    Step(start=5.5, height=-0.01)
    """

    type_name: ClassVar[str] = "step"

    start: Number = field(metadata=scalar("surface", "m"))
    height: Number = field(metadata=scalar("surface", "m"))
    width: Number = field(default=0.1, metadata=scalar("surface", "m"))
    heading: ArrayField = field(default=(1.0, 0.0, 0.0), metadata=direction("surface"))

    def check(self) -> None:
        """Raise unless it has a width."""
        Surface.check(self)
        check_extent(self, "width")

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        u = clipped((np.asarray(x) + 0.0 * np.asarray(y) - self.start) / self.width, 0.0)
        result: Array = self.height * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        return result

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        u = clipped((np.asarray(x) + 0.0 * np.asarray(y) - self.start) / self.width, 0.0)
        slope: Array = self.height / self.width * 30.0 * u**2 * (1.0 - u) ** 2
        return slope, 0.0 * slope

    def table(self) -> SurfaceTable:
        top = self.height if self.height.real > 0.0 else 0.0
        return SurfaceTable(STEP, np.array([top, self.start, self.height, self.width]))
