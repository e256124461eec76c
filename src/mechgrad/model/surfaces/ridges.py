"""Surfaces that change along x alone: a step, a bump."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.primitives.fields import brief, direction, scalar, where
from mechgrad.model.primitives.rows import BUMP, STEP, SurfaceTable
from mechgrad.model.surfaces.base import Surface
from mechgrad.typing import Array, ArrayField, ArrayLike, Number


def _check_extent(surface: Surface, name: str) -> None:
    size: Number = getattr(surface, name)
    if not size.real > 0.0:
        raise ValueRangeError(
            f"{where(surface)}: {name} = {brief(size)} must be positive: within it the height changes smoothly. A jump "
            "has no slope that a wheel could touch; give a short one instead."
        )


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
        _check_extent(self, "width")

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        u = _clipped((np.asarray(x) + 0.0 * np.asarray(y) - self.start) / self.width, 0.0)
        result: Array = self.height * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        return result

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        u = _clipped((np.asarray(x) + 0.0 * np.asarray(y) - self.start) / self.width, 0.0)
        slope: Array = self.height / self.width * 30.0 * u**2 * (1.0 - u) ** 2
        return slope, 0.0 * slope

    def table(self) -> SurfaceTable:
        top = self.height if self.height.real > 0.0 else 0.0
        return SurfaceTable(STEP, np.array([top, self.start, self.height, self.width]))


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
        _check_extent(self, "length")

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        u = _clipped(2.0 * (np.asarray(x) + 0.0 * np.asarray(y) - self.centre) / self.length, -1.0)
        result: Array = self.height * (1.0 - u**2) ** 3
        return result

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        u = _clipped(2.0 * (np.asarray(x) + 0.0 * np.asarray(y) - self.centre) / self.length, -1.0)
        slope: Array = -12.0 * self.height / self.length * u * (1.0 - u**2) ** 2
        return slope, 0.0 * slope

    def table(self) -> SurfaceTable:
        top = self.height if self.height.real > 0.0 else 0.0
        return SurfaceTable(BUMP, np.array([top, self.centre, self.height, self.length]))


def _clipped(u: Array, least: float) -> Array:
    """u between `least` and 1; beyond these a constant."""
    return np.where(u.real <= least, least, np.where(u.real >= 1.0, 1.0, u))
