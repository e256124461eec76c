"""The chain rule from samples to control points: a spline's motion at some instants, and what functions of it feel.

Unknowns x = (P, T, p): control points P (n_points, n) row by row, then the duration T if it is free, then free
numbers p of the model. At sample k

    q = sum_j B0_kj P_j      v = sum_j B1_kj P_j / T      a = sum_j B2_kj P_j / T^2

where j runs over the degree + 1 points that act. For a function y(q, v, a) with sparse partials, entry (r, c) of its
Jacobian meets degree + 1 control points of joint c:

    y_P = y_q B0 + y_v B1 / T + y_a B2 / T^2          y_T = -(y_v v + 2 y_a a) / T

and for a scalar L(q, v, a) with gradient g and curvature blocks

    L_PP = sum over blocks of L_xy (B_x outer B_y)    L_PT = (L_zz z_T) B - g_v B1 / T^2 - 2 g_a B2 / T^3
    L_TT = z_T . L_zz z_T + 2 g_v . v / T^2 + 6 g_a . a / T^2         z_T = (0, -v / T, -2 a / T)

Samples of one segment meet the same control points: their curvature is summed by matrix products before anything is
scattered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from mechgrad.optimization.motion.splines import Splines
from mechgrad.typing import Array

LEVELS = ("q", "v", "a")


@dataclass(frozen=True, eq=False)
class Partials:
    """First derivatives of m functions per sample: a pattern (rows, cols) and packed values by q, v, a, (nt, nnz)
    each or None."""

    m: int
    rows: Array
    cols: Array
    by: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives of a scalar, summed over samples: a pattern, symmetric as a set, and blocks "qq", "qv",
    "qa", "vv", "va", "aa".

    Entry (c, d) of block "qv" is by q_c and v_d, (nt, nnz). Blocks that are left out vanish; "vq" and the like are
    transposes.
    """

    rows: Array
    cols: Array
    blocks: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Collocation:
    """A spline's motion at the instants xi T, for n joints; `free` says whether T is an unknown."""

    splines: Splines
    n: int
    xi: Array
    free: bool
    n_p: int = 0

    @property
    def nt(self) -> int:
        """Number of samples."""
        return int(self.xi.size)

    @property
    def n_x(self) -> int:
        """Number of unknowns."""
        return self.splines.n_points * self.n + int(self.free) + self.n_p

    @property
    def at_T(self) -> int:
        """Where the duration stands among the unknowns, if it is free; the number of coordinates of control
        points."""
        return self.splines.n_points * self.n

    def parameters(self, x: Array) -> Array:
        """The free numbers of the model."""
        return x[self.n_x - self.n_p :]

    @cached_property
    def basis(self) -> tuple[Array, Array]:
        """Basis values (3, nt, degree + 1) and the first control point that acts."""
        return self.splines.basis(self.xi)

    @cached_property
    def _matrices(self) -> list[sparse.csr_array]:
        values, first = self.basis
        k = values.shape[2]
        rows, cols = np.repeat(np.arange(self.nt), k), (first[:, None] + np.arange(k)).ravel()
        shape = (self.nt, self.splines.n_points)
        return [sparse.csr_array((v.ravel(), (rows, cols)), shape=shape) for v in values]

    @cached_property
    def weights(self) -> Array:
        """Trapezoidal weights on [0, 1] for the samples (which must be sorted)."""
        gaps = np.diff(self.xi)
        return np.asarray(np.concatenate([gaps, [0.0]]) + np.concatenate([[0.0], gaps])) / 2

    def split(self, x: Array, duration: float) -> tuple[Array, float]:
        """Control points (n_points, n) and duration from the unknowns."""
        P = x[: self.at_T].reshape(self.splines.n_points, self.n)
        return P, float(x[self.at_T]) if self.free else duration

    def motion(self, x: Array, duration: float) -> tuple[Array, Array, Array, float]:
        """q, v, a (nt, n) and T."""
        P, T = self.split(x, duration)
        B0, B1, B2 = self._matrices
        return B0 @ P, (B1 @ P) / T, (B2 @ P) / T**2, T

    # ------------------------------------------------------------------------------------------------ first order
    def _scales(self, T: float) -> dict[str, float]:
        return {"q": 1.0, "v": 1.0 / T, "a": 1.0 / T**2}

    def jacobian_structure(self, rows: Array, cols: Array, m: int) -> tuple[Array, Array]:
        """Rows and columns of the Jacobian of m functions per sample (row k m + r) in the unknowns."""
        values, first = self.basis
        width = values.shape[2]
        k = np.arange(self.nt)[:, None, None]
        points = first[:, None, None] + np.arange(width)
        out_rows = np.broadcast_to(k * m + rows[:, None], (self.nt, rows.size, width)).ravel()
        out_cols = np.broadcast_to(points * self.n + cols[:, None], (self.nt, rows.size, width)).ravel()
        if self.free:
            out_rows = np.concatenate([out_rows, np.arange(self.nt * m)])
            out_cols = np.concatenate([out_cols, np.full(self.nt * m, self.at_T)])
        return out_rows, out_cols

    def jacobian(self, partials: Partials, v: Array, a: Array, T: float) -> Array:
        """Values in the order of `jacobian_structure`."""
        values, _ = self.basis
        scale = self._scales(T)
        total = np.zeros((self.nt, partials.rows.size, values.shape[2]))
        for level, B in zip(LEVELS, values, strict=True):
            if level in partials.by:
                total += partials.by[level][:, :, None] * (B[:, None, :] * scale[level])
        if not self.free:
            return total.ravel()
        change = np.zeros((self.nt, partials.rows.size))
        if "v" in partials.by:
            change += partials.by["v"] * v[:, partials.cols]
        if "a" in partials.by:
            change += 2 * partials.by["a"] * a[:, partials.cols]
        summed = sparse.csr_array(
            (np.ones(partials.rows.size), (np.arange(partials.rows.size), partials.rows)),
            (partials.rows.size, partials.m),
        )
        return np.concatenate([total.ravel(), (-(change @ summed) / T).ravel()])

    def gradient(self, g: Mapping[str, Array], v: Array, a: Array, T: float) -> Array:
        """Gradient by the unknowns of a sum over samples with gradients g["q"], g["v"], g["a"] (nt, n)."""
        scale = self._scales(T)
        out = np.zeros(self.n_x)
        P = out[: self.at_T].reshape(-1, self.n)
        for level, B in zip(LEVELS, self._matrices, strict=True):
            if level in g:
                P += (B.T @ g[level]) * scale[level]
        if self.free:
            zero = np.zeros_like(v)
            out[self.at_T] = -np.sum(g.get("v", zero) * v + 2 * g.get("a", zero) * a) / T
        return out

    # ----------------------------------------------------------------------------------------------- second order
    @cached_property
    def _groups(self) -> list[tuple[int, Array]]:
        _, first = self.basis
        return [(int(f), np.flatnonzero(first == f)) for f in np.unique(first)]

    def hessian_structure(self, rows: Array, cols: Array) -> tuple[Array, Array]:
        """Rows and columns of a curvature with this pattern in the unknowns, both triangles, with repetitions."""
        width = self.splines.degree + 1
        i, j = np.meshgrid(np.arange(width), np.arange(width), indexing="ij")
        out_rows, out_cols = [], []
        for first, _ in self._groups:
            out_rows.append((((first + i.ravel()) * self.n)[:, None] + rows).ravel())
            out_cols.append((((first + j.ravel()) * self.n)[:, None] + cols).ravel())
        if self.free:
            P, last = np.arange(self.at_T), self.at_T
            out_rows += [np.full(P.size, last), P, np.array([last])]
            out_cols += [P, np.full(P.size, last), np.array([last])]
        return np.concatenate(out_rows), np.concatenate(out_cols)

    def hessian(self, curvature: Curvature, g: Mapping[str, Array], v: Array, a: Array, T: float) -> Array:
        """Values in the order of `hessian_structure`."""
        values, _ = self.basis
        blocks, scale = _both_ways(curvature), self._scales(T)
        out = []
        for _, samples in self._groups:
            total = np.zeros(((self.splines.degree + 1) ** 2, curvature.rows.size))
            for (x, y), block in blocks.items():
                Bx, By = values[LEVELS.index(x)][samples], values[LEVELS.index(y)][samples]
                weights = np.einsum("ki,kj->ijk", Bx, By).reshape(-1, samples.size) * (scale[x] * scale[y])
                total += weights @ block[samples]
            out.append(total.ravel())
        if self.free:
            out += self._by_duration(curvature, blocks, g, v, a, T)
        return np.concatenate(out)

    def _by_duration(
        self,
        curvature: Curvature,
        blocks: Mapping[tuple[str, str], Array],
        g: Mapping[str, Array],
        v: Array,
        a: Array,
        T: float,
    ) -> list[Array]:
        """L_TP, L_PT, L_TT."""
        z_T = {"v": -v / T, "a": -2 * a / T}
        spread = sparse.csr_array(
            (np.ones(curvature.rows.size), (np.arange(curvature.rows.size), curvature.rows)),
            (curvature.rows.size, self.n),
        )
        moved = {level: np.zeros_like(v) for level in LEVELS}
        for (x, y), block in blocks.items():
            if y in z_T:
                moved[x] += (block * z_T[y][:, curvature.cols]) @ spread
        zero = np.zeros_like(v)
        g_v, g_a = g.get("v", zero), g.get("a", zero)
        B0, B1, B2 = self._matrices
        mixed = B0.T @ moved["q"] + (B1.T @ moved["v"]) / T + (B2.T @ moved["a"]) / T**2
        mixed = (mixed - (B1.T @ g_v) / T**2 - 2 * (B2.T @ g_a) / T**3).ravel()
        pure = np.sum(z_T["v"] * moved["v"] + z_T["a"] * moved["a"]) + np.sum(2 * g_v * v + 6 * g_a * a) / T**2
        return [mixed, mixed, np.array([pure])]


def _both_ways(curvature: Curvature) -> dict[tuple[str, str], Array]:
    """All blocks including transposed ones."""
    order = np.lexsort((curvature.rows, curvature.cols))
    position = np.lexsort((curvature.cols, curvature.rows))
    transpose = np.empty(order.size, int)
    transpose[position] = order
    found = {}
    for name, block in curvature.blocks.items():
        x, y = name[0], name[1]
        found[x, y] = block
        if x != y:
            found[y, x] = block[:, transpose]
    return found
