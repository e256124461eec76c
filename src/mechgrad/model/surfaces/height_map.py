"""A surface through given heights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
from scipy.linalg import solve_banded

from mechgrad.errors import ShapeError, ValueRangeError
from mechgrad.model.primitives.fields import array, as_array, brief, direction, frozen_array, where
from mechgrad.model.primitives.rows import HEIGHT_MAP, SurfaceTable
from mechgrad.model.surfaces.base import Surface
from mechgrad.typing import Array, ArrayField, ArrayLike

UNEVEN = 1e-9  # of the pitch of a grid


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeightMap(Surface):
    """A surface through heights on a grid of equal pitch in x and in y.

        h = sum c_ij B(u - i) B(v - j),   u = (x - x_0) / dx,  v = (y - y_0) / dy,   h(x_i, y_j) = heights_ij

    B: cubic B-splines; the curvature across an edge of the map is zero there (a natural spline). C2, so forces on it
    are C1. A map ends at its edges: a contact or tyre that looks beyond stops a simulation, with an error.

    Attributes
    ----------
    x, y : (m,), (n,) arrays
        Of the grid [m], increasing by equal steps, at least two; not parameters.
    heights : (m n,) array
        [m], line by line of equal x: heights[i n + j] at (x[i], y[j]); (m, n) is taken as well. Paths
        `force.ground.heights.0`, ...
    heading : (3,) array
        Of x, in axes of the body; its part along the normal does not count.

    >>> road = mg.surfaces.HeightMap((0, 1, 2), (0, 1), [[0, 0], [0.1, 0.1], [0, 0]])
    >>> float(road.elevation(1.0, 0.3))
    0.1
    """

    type_name: ClassVar[str] = "height_map"

    x: ArrayField
    y: ArrayField
    heights: ArrayField = field(metadata=array("surface", "m"))
    heading: ArrayField = field(default=(1.0, 0.0, 0.0), metadata=direction("surface"))

    def __post_init__(self) -> None:
        given = as_array(self.heights, f"{where(self)}: heights")
        for name in ("x", "y"):
            object.__setattr__(self, name, _even(self, name))
        if given.shape not in ((len(self.x), len(self.y)), (len(self.x) * len(self.y),)):
            raise ShapeError(
                f"{where(self)}: heights has shape {given.shape}, but the grid has {len(self.x)} lines of "
                f"{len(self.y)}. Give one height per crossing, lines of equal x one after the other."
            )
        object.__setattr__(self, "heights", given.ravel())
        Surface.__post_init__(self)

    def _coefficients(self) -> Array:
        along = _coefficients(self.heights.reshape(len(self.x), len(self.y)))
        return _coefficients(along.T).T

    def _weights(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array, Array, Array, Array]:
        x, y = np.broadcast_arrays(np.asarray(x), np.asarray(y))
        (i, a, ad), (j, b, bd) = _near(self.x, x), _near(self.y, y)
        c = self._coefficients()[
            (i[..., None] + np.arange(4))[..., :, None], (j[..., None] + np.arange(4))[..., None, :]
        ]
        return c, a, ad, b, bd

    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        c, a, _, b, _ = self._weights(x, y)
        result: Array = np.einsum("...ij,...i,...j->...", c, a, b)
        return result

    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        c, a, ad, b, bd = self._weights(x, y)
        return np.einsum("...ij,...i,...j->...", c, ad, b), np.einsum("...ij,...i,...j->...", c, a, bd)

    def table(self) -> SurfaceTable:
        c = self._coefficients()
        grid = [self.x[0], self.y[0], self.x[1] - self.x[0], self.y[1] - self.y[0]]
        top = c.flat[np.argmax(c.real)]  # a spline stays below its coefficients
        numbers = np.concatenate(([top], grid, c.ravel()))
        return SurfaceTable(HEIGHT_MAP, numbers, len(self.x), len(self.y))


def _even(surface: HeightMap, name: str) -> Array:
    """The x or y of a grid, checked."""
    grid = as_array(getattr(surface, name), f"{where(surface)}: {name}")
    if np.iscomplexobj(grid) or grid.ndim != 1 or len(grid) < 2:
        raise ShapeError(f"{where(surface)}: {name} must be a list of at least two real numbers, got {grid!r}.")
    steps = np.diff(grid)
    if not (steps > 0.0).all() or np.ptp(steps) > UNEVEN * steps.max():
        k = int(np.argmax(np.abs(steps - steps[0])))
        raise ValueRangeError(
            f"{where(surface)}: {name} must increase by equal steps, but goes from {brief(grid[k])} to "
            f"{brief(grid[k + 1])} after a step of {brief(steps[0])}. Interpolate the heights to an even grid first."
        )
    return frozen_array(grid)


def _coefficients(values: Array) -> Array:
    """(n + 2, .) coefficients of natural cubic splines through the lines of values (n, .)."""
    n = len(values)
    inner = np.array(values)
    if n > 2:
        right = 6.0 * values[1:-1]
        right[0] -= values[0]
        right[-1] -= values[-1]
        bands = np.array([[1.0], [4.0], [1.0]]) * np.ones(n - 2)
        inner[1:-1] = solve_banded((1, 1), bands, right) if n > 3 else right / 4.0
    return np.concatenate([2.0 * inner[:1] - inner[1:2], inner, 2.0 * inner[-1:] - inner[-2:-1]])


def _near(grid: Array, x: Array) -> tuple[Array, Array, Array]:
    """Intervals that x is in, the weights of the four coefficients there, and their derivatives; NaN outside."""
    pitch = (grid[-1] - grid[0]) / (len(grid) - 1)
    u = (x - grid[0]) / pitch
    inside = (u.real >= 0.0) & (u.real <= len(grid) - 1)
    i = np.clip(np.floor(u.real).astype(int), 0, len(grid) - 2)
    f = np.where(inside, u - i, np.nan)
    weights = ((1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, 3 * (f + f**2 - f**3) + 1, f**3)
    rates = (-((1 - f) ** 2), 3 * f**2 - 4 * f, 1 + 2 * f - 3 * f**2, f**2)
    return i, np.stack(weights, axis=-1) / 6.0, np.stack(rates, axis=-1) / (2.0 * pitch)
