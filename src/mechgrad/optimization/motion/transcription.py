"""From a motion problem to a sparse nonlinear program: all functions, Jacobian and Hessian, in fixed patterns.

    minimise     w_T T + sum of w T sum_k omega_k sum_r (y_r / s_r)^2
    subject to   lower <= y <= upper at chosen samples

over the control points P, the duration T and free numbers p of the model; y is a measure at sample k, omega are
trapezoidal weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechgrad.optimization.motion.collocation import LEVELS, Collocation, Curvature, Partials
from mechgrad.optimization.motion.measures import Measure
from mechgrad.typing import Array


def measure_at(measure: Measure, collocation: Collocation, x: Array) -> Measure:
    """The measure with the free numbers that stand in x."""
    return measure.at(collocation.parameters(x)) if measure.parameters else measure


def parameter_structure(c: Collocation) -> tuple[Array, Array]:
    """Places of L_px (x: control points and duration) and L_pp."""
    before = c.n_x - c.n_p
    p = np.arange(before, c.n_x)
    rows = np.concatenate([np.repeat(p, before), np.repeat(p, c.n_p)])
    return rows, np.concatenate([np.tile(np.arange(before), c.n_p), np.tile(p, c.n_p)])


def parameter_rows(c: Collocation, mixed: Mapping[str, Array], v: Array, a: Array, T: float) -> Array:
    """L_px (n_p, unknowns before p) from L_zp (nt, n, n_p): the chain rule of a gradient, once per parameter."""
    before = c.n_x - c.n_p
    rows = [c.gradient({level: g[..., j] for level, g in mixed.items()}, v, a, T)[:before] for j in range(c.n_p)]
    return np.stack(rows)


@dataclass(frozen=True, eq=False)
class Constraint:
    """A measure between bounds, at the samples of a collocation."""

    label: str
    measure: Measure
    collocation: Collocation
    lower: Array  # (m,)
    upper: Array

    @property
    def size(self) -> int:
        """Number of constraint rows."""
        return self.collocation.nt * self.measure.m

    @property
    def names(self) -> list[str]:
        """One name per row."""
        return [f"{self.label}: {name} at xi = {xi:.4g}" for xi in self.collocation.xi for name in self.measure.names]

    def values(self, x: Array, duration: float) -> Array:
        """Of the rows."""
        q, v, a, _ = self.collocation.motion(x, duration)
        return measure_at(self.measure, self.collocation, x).values(q, v, a).ravel()

    @property
    def jacobian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of its part of the Jacobian."""
        c, m = self.collocation, self.measure.m
        rows, cols = c.jacobian_structure(*self.measure.structure, m)
        if self.measure.parameters:
            rows = np.concatenate([rows, np.repeat(np.arange(self.size), c.n_p)])
            cols = np.concatenate([cols, np.tile(np.arange(c.n_x - c.n_p, c.n_x), self.size)])
        return rows, cols

    def partials(self, x: Array, duration: float) -> Array:
        """Values of the Jacobian."""
        q, v, a, T = self.collocation.motion(x, duration)
        measure = measure_at(self.measure, self.collocation, x)
        values = self.collocation.jacobian(measure.partials(q, v, a), v, a, T)
        if not measure.parameters:
            return values
        return np.concatenate([values, measure.partials_p(q, v, a).ravel()])

    @property
    def hessian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of its part of the Hessian."""
        parts = [self.collocation.hessian_structure(*self.measure.curvature_structure)]
        if self.measure.parameters:
            parts.append(parameter_structure(self.collocation))
        return np.concatenate([r for r, _ in parts]), np.concatenate([k for _, k in parts])

    def curvature(self, x: Array, duration: float, y: Array) -> Array:
        """Values of the Hessian of y . c."""
        c = self.collocation
        q, v, a, T = c.motion(x, duration)
        measure = measure_at(self.measure, c, x)
        y = y.reshape(c.nt, measure.m)
        values = c.hessian(*measure.curvature(q, v, a, y), v, a, T)
        if not measure.parameters:
            return values
        mixed, twice = measure.curvature_p(q, v, a, y)
        return np.concatenate([values, parameter_rows(c, mixed, v, a, T).ravel(), twice.ravel()])


@dataclass(frozen=True, eq=False)
class SquaresTerm:
    """weight * T * sum_k omega_k sum_r (y_r / scale_r)^2: an integral by the trapezoidal rule."""

    measure: Measure
    collocation: Collocation
    weight: float
    scale: Array  # (m,)

    def _factors(self) -> Array:
        """omega_k weight / scale_r^2, (nt, m)"""
        return np.asarray(self.weight * self.collocation.weights[:, None] / self.scale**2)

    def value(self, x: Array, duration: float) -> float:
        """The integral."""
        q, v, a, T = self.collocation.motion(x, duration)
        y = measure_at(self.measure, self.collocation, x).values(q, v, a)
        return float(T * np.sum(self._factors() * y**2))

    def gradient(self, x: Array, duration: float) -> Array:
        """By the unknowns."""
        c = self.collocation
        q, v, a, T = c.motion(x, duration)
        measure = measure_at(self.measure, c, x)
        y = measure.values(q, v, a)
        factors = self._factors()
        out = T * self._sum_gradient(measure.partials(q, v, a), 2 * factors * y, v, a, T)
        if c.free:
            out[c.at_T] += np.sum(factors * y**2)
        if measure.parameters:
            out[c.n_x - c.n_p :] = T * np.einsum("tr,trp->p", 2 * factors * y, measure.partials_p(q, v, a))
        return out

    def _sum_gradient(self, partials: Partials, y: Array, v: Array, a: Array, T: float) -> Array:
        weighted = y[:, partials.rows]
        g = {}
        for level, values in partials.by.items():
            g[level] = np.zeros_like(v)
            np.add.at(g[level].T, partials.cols, (weighted * values).T)
        return self.collocation.gradient(g, v, a, T)

    @property
    def _dense(self) -> tuple[Array, Array]:
        n = self.collocation.n
        return np.repeat(np.arange(n), n), np.tile(np.arange(n), n)

    @property
    def structures(self) -> tuple[Array, Array]:
        """Rows and columns of all its contributions to the Hessian, one after the other."""
        c = self.collocation
        parts = [c.hessian_structure(*self._dense), c.hessian_structure(*self.measure.curvature_structure)]
        if c.free:
            P, last = np.arange(c.at_T), c.at_T
            parts.append((np.r_[np.full(P.size, last), P, last], np.r_[P, np.full(P.size, last), last]))
        if self.measure.parameters:
            parts.append(parameter_structure(c))
        return np.concatenate([r for r, _ in parts]), np.concatenate([k for _, k in parts])

    def hessian(self, x: Array, duration: float) -> Array:
        """Values in that order. With F = T S:  F_PP = T S_PP,  F_PT = S_P + T S_PT,  F_TT = 2 S_T + T S_TT."""
        c = self.collocation
        q, v, a, T = c.motion(x, duration)
        measure = measure_at(self.measure, c, x)
        y, partials, factors = measure.values(q, v, a), measure.partials(q, v, a), self._factors()
        J = {}
        for level, values in partials.by.items():
            J[level] = np.zeros((c.nt, self.measure.m, c.n))
            J[level][:, partials.rows, partials.cols] = values
        blocks = {}
        for i, x_level in enumerate(LEVELS):
            for y_level in LEVELS[i:]:
                if x_level in J and y_level in J:
                    weighted = 2 * factors[:, :, None] * J[x_level]
                    blocks[x_level + y_level] = np.einsum("kri,krj->kij", weighted, J[y_level]).reshape(c.nt, -1)
        nothing = {"v": np.zeros_like(v)}
        out = [T * c.hessian(Curvature(*self._dense, blocks), nothing, v, a, T)]
        curvature, gradient = measure.curvature(q, v, a, 2 * factors * y)
        out.append(T * c.hessian(curvature, gradient, v, a, T))
        if c.free:
            S = c.gradient(gradient, v, a, T)
            out.append(np.concatenate([S[: c.at_T], S[: c.at_T], [2 * S[c.at_T]]]))
        if measure.parameters:
            out += self._by_parameters(measure, J, q, v, a, T, y)
        return np.concatenate(out)

    def _by_parameters(
        self, measure: Measure, J: Mapping[str, Array], q: Array, v: Array, a: Array, T: float, y: Array
    ) -> list[Array]:
        """F_px and F_pp: Gauss-Newton part and curvature; F_pT has S_p besides."""
        c, weights = self.collocation, 2 * self._factors()
        y_p = measure.partials_p(q, v, a)
        mixed, twice = measure.curvature_p(q, v, a, weights * y)
        mixed = dict(mixed)
        for level, values in J.items():
            product = np.einsum("tr,tri,trp->tip", weights, values, y_p)
            mixed[level] = mixed.get(level, 0.0) + product
        rows = T * parameter_rows(c, mixed, v, a, T)
        if c.free:
            rows[:, c.at_T] += np.einsum("tr,trp->p", weights * y, y_p)
        return [rows.ravel(), T * (twice + np.einsum("tr,tri,trj->ij", weights, y_p, y_p)).ravel()]


@dataclass(frozen=True, eq=False)
class Transcription:
    """The nonlinear program of a motion."""

    collocation: Collocation  # of the knots: knows the unknowns
    duration: float  # used when it is not free
    duration_weight: float
    terms: Sequence[SquaresTerm]
    constraints: Sequence[Constraint]

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.collocation.n_x

    @cached_property
    def m(self) -> int:
        """Number of constraints."""
        return sum(c.size for c in self.constraints)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the constraints."""
        lower = [np.tile(c.lower, c.collocation.nt) for c in self.constraints]
        upper = [np.tile(c.upper, c.collocation.nt) for c in self.constraints]
        return np.concatenate([*lower, []]), np.concatenate([*upper, []])

    @cached_property
    def names(self) -> list[str]:
        """Names of the constraints."""
        return [name for c in self.constraints for name in c.names]

    # ------------------------------------------------------------------------------------------------- functions
    def objective(self, x: Array) -> float:
        """The cost."""
        T = self.collocation.split(x, self.duration)[1]
        return self.duration_weight * T + sum(term.value(x, self.duration) for term in self.terms)

    def gradient(self, x: Array) -> Array:
        """Of the cost."""
        out = np.zeros(self.n)
        if self.collocation.free:
            out[self.collocation.at_T] = self.duration_weight
        for term in self.terms:
            out += term.gradient(x, self.duration)
        return out

    def values(self, x: Array) -> Array:
        """Of the constraints."""
        return np.concatenate([*(c.values(x, self.duration) for c in self.constraints), []])

    @cached_property
    def jacobian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of the Jacobian."""
        rows, cols, at = [], [], 0
        for c in self.constraints:
            r, k = c.jacobian_structure
            rows.append(r + at)
            cols.append(k)
            at += c.size
        return np.concatenate([*rows, []]).astype(int), np.concatenate([*cols, []]).astype(int)

    def jacobian(self, x: Array) -> Array:
        """Values in the order of `jacobian_structure`."""
        return np.concatenate([*(c.partials(x, self.duration) for c in self.constraints), []])

    @cached_property
    def _hessian_map(self) -> tuple[Array, Array, list[Array]]:
        """Rows and columns of the lower triangle, and for each contribution the position of its entries (nnz:
        dropped)."""
        raw = [term.structures for term in self.terms]
        raw += [c.hessian_structure for c in self.constraints]
        keys = [r * self.n + k for r, k in raw]
        lower = [r >= k for r, k in raw]
        unique = np.unique(np.concatenate([*(key[low] for key, low in zip(keys, lower, strict=True)), []])).astype(int)
        positions = [
            np.where(low, np.searchsorted(unique, key), unique.size) for key, low in zip(keys, lower, strict=True)
        ]
        return unique // self.n, unique % self.n, positions

    @property
    def hessian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of the lower triangle of the Hessian of the Lagrangian."""
        return self._hessian_map[:2]

    def hessian(self, x: Array, sigma: float, multipliers: Array) -> Array:
        """sigma * Hessian of the cost + sum multipliers_i * Hessian of constraint i, lower triangle."""
        rows, _, positions = self._hessian_map
        total = np.zeros(rows.size + 1)
        for k, term in enumerate(self.terms):
            total += np.bincount(positions[k], sigma * term.hessian(x, self.duration), total.size)
        at = 0
        for k, c in enumerate(self.constraints, len(self.terms)):
            y = multipliers[at : at + c.size]
            at += c.size
            if positions[k].size and np.any(y != 0):
                total += np.bincount(positions[k], c.curvature(x, self.duration, y), total.size)
        return total[:-1]
