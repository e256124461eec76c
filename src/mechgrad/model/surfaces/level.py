"""Planes: at rest on their body, or moved along their normal by a function of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.model.functions import Function
from mechgrad.model.primitives.fields import function
from mechgrad.model.primitives.rows import PLANE_SURFACE, SurfaceTable
from mechgrad.model.surfaces.base import Surface
from mechgrad.typing import Array, ArrayLike


def _nothing(x: ArrayLike, y: ArrayLike) -> Array:
    result: Array = 0.0 * (np.asarray(x) + np.asarray(y))
    return result


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plane(Surface):
    """h(x, y) = 0: the plane through `plane_point`. It moves with the body that this point is on.

    >>> mg.surfaces.Plane()
    Plane()
    """

    type_name: ClassVar[str] = "plane"

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        return _nothing(x, y)

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        return _nothing(x, y), _nothing(x, y)

    def table(self) -> SurfaceTable:
        return SurfaceTable(PLANE_SURFACE, np.zeros(1))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MovingPlane(Surface):
    """h(x, y, t) = position(t): a plane that something moves along its normal, whatever that takes (a shaker rig).

    Its velocity counts in slips and dampings. A plane that other forces move is a `Plane` on a body.

    Attributes
    ----------
    position : Function or float
        [m] over time [s]; twice differentiable, or velocities jump. Paths `force.ground.position...`.

    >>> shaker = mg.surfaces.MovingPlane(mg.functions.Harmonic(0.01, frequency=2.0))
    >>> round(float(shaker.position(0.125)), 6)
    0.01
    """

    type_name: ClassVar[str] = "moving_plane"

    position: Function = field(metadata=function("surface", "m"))

    @property
    def lift(self) -> Function | None:
        return self.position

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Above `position`: zero."""
        return _nothing(x, y)

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        return _nothing(x, y), _nothing(x, y)

    def table(self) -> SurfaceTable:
        return SurfaceTable(PLANE_SURFACE, np.zeros(1))
