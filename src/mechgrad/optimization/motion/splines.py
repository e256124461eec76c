"""Joint profiles as B-splines in the normalised time xi = t / T.

    q(t) = sum_i B_i(xi) p_i      v = (1/T) sum_i B_i'(xi) p_i      a = (1/T^2) sum_i B_i''(xi) p_i

On s equal segments a spline of degree k has s + k control points per joint; each instant depends on k + 1 of them.
*Uniform* knots run on beyond both ends (as in the motion-prediction literature), *clamped* ones pile up there, so
that the first and last control points are the end positions. The basis comes from `scipy.interpolate`; its
derivatives from the differences of control points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy import sparse
from scipy.interpolate import BSpline

from mechgrad.errors import InputError
from mechgrad.typing import Array, ArrayLike


@final
@dataclass(frozen=True)
class Splines:
    """B-splines of one degree on equal segments of [0, 1].

    Attributes
    ----------
    segments : int
    degree : 3 or 5
        Cubic (continuous accelerations) or quintic (continuous to the fourth derivative).
    knots : "uniform" or "clamped"

    >>> Splines(20).n_points
    23
    """

    segments: int
    degree: int = 3
    knots: str = "uniform"

    def __post_init__(self) -> None:
        if self.segments < 1 or self.segments != int(self.segments):
            raise InputError(f"segments is {self.segments}; a spline needs at least one.")
        if self.degree not in (3, 5):
            raise InputError(f"degree is {self.degree}; choose 3 (cubic) or 5 (quintic).")
        if self.knots not in ("uniform", "clamped"):
            raise InputError(f"knots is {self.knots!r}; choose 'uniform' or 'clamped'.")

    @property
    def n_points(self) -> int:
        """Control points per joint."""
        return self.segments + self.degree

    @cached_property
    def knot_vector(self) -> Array:
        """All knots, n_points + degree + 1 of them."""
        k, s = self.degree, self.segments
        inner = np.arange(-k, s + k + 1) / s
        return inner if self.knots == "uniform" else np.clip(inner, 0.0, 1.0)

    @property
    def grid(self) -> Array:
        """Ends of the segments, in [0, 1]."""
        return np.arange(self.segments + 1) / self.segments

    def basis(self, xi: ArrayLike, derivatives: int = 2) -> tuple[Array, Array]:
        """Basis functions that act at each xi, and which they are.

        Returns
        -------
        values : (derivatives + 1, nt, degree + 1)
            d^r B / d xi^r.
        first : (nt,) int
            Index of the first of the degree + 1 control points that act.
        """
        x = np.atleast_1d(np.asarray(xi, float))
        if x.ndim != 1 or np.any(~np.isfinite(x)) or np.any((x < 0) | (x > 1)):
            raise InputError("xi must be numbers in [0, 1].")
        k = self.degree
        # a point on a knot belongs to the segment on its right, whatever rounding made of the product
        first = np.minimum(np.searchsorted(self.grid, x, side="right") - 1, self.segments - 1)
        values = np.zeros((derivatives + 1, x.size, k + 1))
        for r in range(derivatives + 1):
            matrix = self._matrix(x, r)
            for j in range(k + 1):
                values[r, :, j] = matrix[np.arange(x.size), first + j]
        return values, first

    def _matrix(self, x: Array, r: int) -> Array:
        """d^r B_i (x) as a matrix (nt, n_points)."""
        k, t = self.degree, self.knot_vector
        change = sparse.identity(self.n_points, format="csr")
        for _ in range(r):
            width = t[k + 1 : -1] - t[1 : -k - 1]
            n = change.shape[0]
            difference = sparse.diags_array([-np.ones(n - 1), np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n))
            change = sparse.diags_array(k / width) @ difference @ change
            t, k = t[1:-1], k - 1
        return np.asarray((BSpline.design_matrix(x, t, k) @ change).todense())

    def fit(self, xi: ArrayLike, values: ArrayLike) -> Array:
        """Control points (n_points, n) of the spline nearest to values (nt, n) at xi, by least squares.

        Where the samples leave freedom, the smoothest spline is taken.
        """
        x, y = np.asarray(xi, float), np.asarray(values, float)
        if y.ndim != 2 or len(y) != x.size:
            raise InputError(f"values has shape {y.shape}; it must be ({x.size}, n), one row per xi.")
        B = self._matrix(x, 0)
        rough = np.diff(np.eye(self.n_points), 3, axis=0)
        system = np.vstack([B, 1e-6 * rough])
        return np.asarray(np.linalg.lstsq(system, np.vstack([y, np.zeros((len(rough), y.shape[1]))]), rcond=None)[0])

    def between(self, start: ArrayLike, end: ArrayLike) -> Array:
        """Control points (n_points, n) of the straight line from start to end."""
        k, t = self.degree, self.knot_vector
        greville = np.array([np.mean(t[i + 1 : i + k + 1]) for i in range(self.n_points)])
        a, b = np.asarray(start, float), np.asarray(end, float)
        return np.asarray(a + greville[:, None] * (b - a))
