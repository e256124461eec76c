"""A measure on a grid and everything that is asked of it there: limits, fixed values, integrals.

    rows        lower <= C y <= upper         y (nt m,) all values of the measure, C a constant sparse matrix
    integrals   sum_k omega_k sum_r ( c_r y_r + d_r y_r^2 )         omega from the clock

All share one evaluation of the measure, one of its partials and one of its curvature, with the multipliers
C^T lambda + sigma omega (c + 2 d y).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from mechgrad.optimization.motion.grid import Grid, Moment, Places
from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.motion_samples import (
    PAIRS,
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Structure,
    rows_only,
)
from mechgrad.optimization.motion.pruning import pruned, pruned_curvature
from mechgrad.typing import Array


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraint rows C y between bounds."""

    label: str
    combine: sparse.csr_array  # (rows, nt m)
    lower: Array
    upper: Array
    names: Sequence[str]
    scale: Array


@dataclass(frozen=True, eq=False)
class Integral:
    """Coefficients of an integral over time: c (m,) of the values, d (m,) of their squares."""

    linear: Array
    squares: Array


@dataclass(frozen=True, eq=False)
class _Evaluation:
    moment: Moment
    measure: SampleFunction
    values: Array


class Bundle:
    """One measure on one grid."""

    def __init__(
        self, measure: SampleFunction, grid: Grid, rows: Sequence[Rows], integrals: Sequence[Integral]
    ) -> None:
        self.measure, self.grid = measure, grid
        self.rows, self.integrals = tuple(rows), tuple(integrals)
        self.has_integral = bool(self.integrals)
        self._linear = np.sum([i.linear for i in self.integrals], axis=0) if self.integrals else np.zeros(measure.m)
        self._squares = np.sum([i.squares for i in self.integrals], axis=0) if self.integrals else np.zeros(measure.m)
        self._combine = sparse.csr_array(sparse.vstack([r.combine for r in self.rows])) if self.rows else None
        self._last: tuple[Array, _Evaluation] | None = None
        self._last_partials: tuple[Array, Partials] | None = None

    @property
    def has_squares(self) -> bool:
        """Whether an integral of squares is among its integrals."""
        return bool(np.any(self._squares))

    @property
    def size(self) -> int:
        """Number of constraint rows."""
        return 0 if self._combine is None else int(self._combine.shape[0])

    # ------------------------------------------------------------------------------------------------------ values
    def _at(self, x: Array) -> _Evaluation:
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1]
        moment = self.grid.moment(x)
        measure = self.measure.at(moment.numbers) if self.measure.parameters else self.measure
        evaluation = _Evaluation(moment, measure, measure.values(moment.samples))
        self._last = (x.copy(), evaluation)
        return evaluation

    def _partials(self, x: Array) -> Partials:
        if self._last_partials is not None and np.array_equal(self._last_partials[0], x):
            return self._last_partials[1]
        e = self._at(x)
        structure, kept = self._first
        given = e.measure.partials(e.moment.samples)
        partials = Partials(structure, {level: values[:, kept] for level, values in given.by.items()})
        self._last_partials = (x.copy(), partials)
        return partials

    def values(self, x: Array) -> Array:
        """Of the constraint rows."""
        return np.zeros(0) if self._combine is None else np.asarray(self._combine @ self._at(x).values.ravel())

    def all_values(self, x: Array) -> Array:
        """Of the measure itself, (nt, m)."""
        return self._at(x).values

    def integral(self, x: Array) -> float:
        """Of all integrals, summed."""
        if not self.has_integral:
            return 0.0
        e = self._at(x)
        return float(e.moment.time.omega @ self._integrand(e.values))

    def _integrand(self, y: Array) -> Array:
        return np.asarray(y @ self._linear + y**2 @ self._squares)

    def _slopes(self, y: Array) -> Array:
        """d integrand / d y, (nt, m)."""
        return np.asarray(self._linear + 2 * self._squares * y)

    # ------------------------------------------------------------------------------------------------- first order
    def gradient(self, x: Array) -> Array:
        """Of the integrals, by all unknowns."""
        e, grid = self._at(x), self.grid
        slopes = self._slopes(e.values)
        weighted = e.moment.time.omega[:, None] * slopes
        out = grid.gradient(_pulled(self._partials(x), weighted, grid.n), e.moment)
        grid.add_theta(out, e.moment.time.omega_t * self._integrand(e.values)[:, None], e.moment)
        if e.measure.parameters:
            out[grid.at_p :] = np.einsum("tr,trp->p", weighted, e.measure.partials_p(e.moment.samples))
        return out

    @cached_property
    def _jacobian(self) -> tuple[Places, sparse.csr_array]:
        """Places of the rows' Jacobian, and the matrix that makes its values from those of the measure."""
        assert self._combine is not None
        m, grid = self.measure.m, self.grid
        places = grid.jacobian_places(self._first[0])
        rows, cols = places.rows, places.cols
        if self.measure.parameters:
            p = np.arange(grid.at_p, grid.n_x)
            rows = np.concatenate([rows, np.repeat(np.arange(grid.nt * m), p.size)])
            cols = np.concatenate([cols, np.tile(p, grid.nt * m)])
        # entry e of the measure's Jacobian goes to every row of C that holds its row
        C = sparse.csc_array(self._combine)
        counts = np.diff(C.indptr)[rows]
        entries = np.repeat(np.arange(rows.size), counts)
        offset = np.arange(entries.size) - np.repeat(np.cumsum(counts) - counts, counts)
        at = C.indptr[rows][entries] + offset
        keys = C.indices[at].astype(np.int64) * grid.n_x + cols[entries]
        unique, position = np.unique(keys, return_inverse=True)
        mixing = sparse.csr_array((C.data[at], (position, entries)), shape=(unique.size, rows.size))
        return Places(unique // grid.n_x, unique % grid.n_x, places.keep), mixing

    @property
    def jacobian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of the constraint rows' Jacobian."""
        if self._combine is None:
            return np.zeros(0, int), np.zeros(0, int)
        places, _ = self._jacobian
        return places.rows, places.cols

    def jacobian(self, x: Array) -> Array:
        """Its values."""
        if self._combine is None:
            return np.zeros(0)
        e = self._at(x)
        places, mixing = self._jacobian
        values = self.grid.jacobian(self._partials(x), e.moment)[places.keep]
        if e.measure.parameters:
            values = np.concatenate([values, e.measure.partials_p(e.moment.samples).ravel()])
        return np.asarray(mixing @ values)

    # ------------------------------------------------------------------------------------------------ second order
    @cached_property
    def _asked(self) -> Array:
        """Values of the measure that anything is asked of, (nt, m) bool."""
        asked = np.tile((self._linear != 0) | (self._squares != 0), (self.grid.nt, 1))
        if self._combine is not None:
            asked.ravel()[np.unique(self._combine.indices)] = True
        return asked

    @cached_property
    def _first(self) -> tuple[Structure, Array]:
        """Pattern of the first derivatives, and where its entries stand among those of the measure."""
        return pruned(self.measure, self.grid.n, self.grid.n_v, self.grid.xi)

    @cached_property
    def _integrated(self) -> Structure:
        """First derivatives of what is integrated."""
        return rows_only(self._first[0], np.tile((self._linear != 0) | (self._squares != 0), (self.grid.nt, 1)))

    @cached_property
    def _gauss_newton_pairs(self) -> CurvatureStructure:
        """Columns that meet in a squared row."""
        structure, n = self._first[0], self.grid.n
        squared = self._squares != 0
        masks = {}
        depends = {}
        for level, mask in structure.levels.items():
            mask = np.atleast_2d(mask)
            dense = np.zeros((len(mask), structure.m, n), np.float32)
            dense[:, structure.rows, structure.cols] = mask
            depends[level] = dense[:, squared]
        for pair in PAIRS:
            if pair[0] in depends and pair[1] in depends:
                masks[pair] = depends[pair[0]].swapaxes(1, 2) @ depends[pair[1]] > 0
        rows, cols = np.nonzero(np.any([np.any(mask, axis=0) for mask in masks.values()], axis=0))
        return CurvatureStructure(rows, cols, {pair: mask[:, rows, cols] for pair, mask in masks.items()})

    @cached_property
    def _union(self) -> tuple[CurvatureStructure, Array, Array]:
        """Curvature of the measure and of squares in one pattern; positions of both in it."""
        (inner, _), n = self._inner, self.grid.n
        nothing = CurvatureStructure(inner.rows[:0], inner.cols[:0], {})
        outer = self._gauss_newton_pairs if np.any(self._squares) else nothing
        inner_keys, outer_keys = inner.rows * n + inner.cols, outer.rows * n + outer.cols
        keys = np.unique(np.concatenate([inner_keys, outer_keys])).astype(int)
        at_inner, at_outer = np.searchsorted(keys, inner_keys), np.searchsorted(keys, outer_keys)
        pairs = {}
        for pair in PAIRS:
            found = np.zeros((self.grid.nt, keys.size), bool)
            for structure, at in ((inner, at_inner), (outer, at_outer)):
                if pair in structure.pairs:
                    found[:, at] |= structure.pairs[pair]
            if np.any(found):
                pairs[pair] = found
        return CurvatureStructure(keys // n, keys % n, pairs), at_inner, at_outer

    @cached_property
    def _inner(self) -> tuple[CurvatureStructure, Array]:
        """Pattern of the measure's curvature, and where its entries stand among those it states."""
        return pruned_curvature(self.measure, self._asked, self.grid.n, self.grid.n_v, self.grid.xi)

    @cached_property
    def _touched(self) -> Array:
        """Control points (flat) that the measure depends on at any level."""
        points, _ = self.grid.dependence_of(rows_only(self._first[0], self._asked))
        return np.unique(np.concatenate([*points, []])).astype(int)

    @cached_property
    def hessian_structure(self) -> tuple[Array, Array]:
        """Rows and columns of the lower triangle of its contributions, with repetitions."""
        grid = self.grid
        rows, cols = [self._places.rows], [self._places.cols]
        if self.has_integral and grid.clock.n:
            for theta, other in self._clock_pairs:
                rows.append(theta)
                cols.append(other)
        if self.measure.parameters:
            p = np.arange(grid.at_p, grid.n_x)
            before = self._before_p
            rows += [np.repeat(p, before.size), np.repeat(p, p.size)]
            cols += [np.tile(before, p.size), np.tile(p, p.size)]
            low = rows[-1] >= cols[-1]
            rows[-1], cols[-1] = rows[-1][low], cols[-1][low]
        return np.concatenate(rows), np.concatenate(cols)

    @cached_property
    def _before_p(self) -> Array:
        """Unknowns that have second derivatives with the numbers of the model."""
        grid = self.grid
        moves = np.zeros(grid.clock.n, bool)
        if grid.clock.n:
            levels = self._first[0].levels
            for level in levels:
                here = grid._which[grid._moves["qvaj".index(level)]]
                moves[here[here >= 0]] = True
            if self.has_integral:
                moves[np.unique(grid._which[grid._which >= 0])] = True
        return np.concatenate([self._touched, grid.at_theta + np.flatnonzero(moves)])

    @cached_property
    def _clock_pairs(self) -> list[tuple[Array, Array]]:
        """Places of omega_theta times the gradient of the integrand: theta with control points, theta with theta.

        The length of a segment weighs the samples in it, which depend on the control points and clock unknowns there.
        """
        grid = self.grid
        time = grid.clock.at(grid.clock.start, grid.instants)
        depends, moved = np.zeros((grid.clock.n, grid.at_theta), bool), np.zeros((grid.clock.n, grid.clock.n), bool)
        points, clocks = grid.dependence_of(self._integrated)
        for k, slot in np.argwhere((time.omega_t != 0) & (time.which >= 0)):
            theta = time.which[k, slot]
            depends[theta, points[k]] = True
            moved[theta, clocks[k]] = True
            moved[theta, theta] |= bool(clocks[k].size)
        moved = np.tril(moved | moved.T)
        found = []
        for mask, at in ((depends, 0), (moved, grid.at_theta)):
            rows, cols = np.nonzero(mask)
            found.append((grid.at_theta + rows, at + cols))
        return found

    def hessian(self, x: Array, sigma: float, multipliers: Array, gauss_newton: bool = False) -> Array:
        """Values in the order of `hessian_structure`; of the squares only, without curvature, if `gauss_newton`."""
        e, grid = self._at(x), self.grid
        omega = sigma * e.moment.time.omega
        y = omega[:, None] * self._slopes(e.values)
        if self._combine is not None and multipliers.size:
            y = y + (self._combine.T @ multipliers).reshape(y.shape)
        structure, at_inner, at_outer = self._union
        blocks = {pair: np.zeros((grid.nt, structure.rows.size)) for pair in structure.pairs}
        g: Gradient = {}
        if not gauss_newton:
            inner, g = e.measure.curvature(e.moment.samples, y)
            for pair, block in inner.blocks.items():
                if pair in blocks:
                    blocks[pair][:, at_inner] += block[:, self._inner[1]]
        J = self._squared_partials(x) if np.any(self._squares) else {}
        if J:
            outer = self._gauss_newton_pairs
            weights = 2 * omega[:, None] * self._squares[self._squares != 0]
            for pair in outer.pairs.keys() & blocks.keys():
                product = J[pair[0]].swapaxes(1, 2) @ (weights[:, :, None] * J[pair[1]])
                blocks[pair][:, at_outer] += product[:, outer.rows, outer.cols]
        parts = [grid.hessian(Curvature(structure, blocks), g, e.moment)[self._places.keep]]
        if self.has_integral and grid.clock.n:
            parts.append(self._by_clock(x, e, sigma, gauss_newton))
        if e.measure.parameters:
            parts.append(self._by_numbers(x, e, y, sigma, gauss_newton))
        return np.concatenate(parts)

    @cached_property
    def _places(self) -> Places:
        return self.grid.hessian_places(self._union[0], rows_only(self._first[0], self._asked))

    def _squared_partials(self, x: Array) -> dict[str, Array]:
        partials = self._partials(x)
        squared = np.flatnonzero(self._squares != 0)
        return {level: partials.dense(level, self.grid.n)[:, squared] for level in partials.by}

    def _by_clock(self, x: Array, e: _Evaluation, sigma: float, gauss_newton: bool) -> Array:
        """omega_l S_x for each l, and omega_l S_m + omega_m S_l among the clock's unknowns."""
        grid, time = self.grid, e.moment.time
        pairs = self._clock_pairs
        if gauss_newton:
            return np.zeros(sum(rows.size for rows, _ in pairs))
        slopes, partials = self._slopes(e.values), self._partials(x)
        out = np.zeros((grid.clock.n, grid.n_x))
        for theta in range(grid.clock.n):
            share = np.sum(np.where(time.which == theta, time.omega_t, 0.0), axis=1)
            out[theta] = grid.gradient(_pulled(partials, sigma * share[:, None] * slopes, grid.n), e.moment)
        clock = slice(grid.at_theta, grid.at_p)
        among = out[:, clock] + out[:, clock].T
        (t, other), (t1, t2) = pairs
        at = grid.at_theta
        return np.concatenate([out[t - at, other], among[t1 - at, t2 - at]])

    def _by_numbers(self, x: Array, e: _Evaluation, y: Array, sigma: float, gauss_newton: bool) -> Array:
        """L_px and L_pp."""
        grid, s = self.grid, e.moment.samples
        n_p = grid.n_p
        before = self._before_p
        y_p = e.measure.partials_p(s)
        mixed: dict[str, Array] = {}
        second_p = np.zeros((n_p, n_p))
        if not gauss_newton:
            mixed, second_p = e.measure.curvature_p(s, y)
            mixed = dict(mixed)
        omega = sigma * e.moment.time.omega
        if np.any(self._squares):
            weights = 2 * omega[:, None] * self._squares
            partials = self._partials(x)
            for level in partials.by:
                product = np.einsum("tr,tri,trp->tip", weights, partials.dense(level, grid.n), y_p, optimize=True)
                here = mixed.get(level)
                if here is not None and here.shape[1] < grid.n:
                    here = np.concatenate([here, np.zeros((s.nt, grid.n - here.shape[1], n_p))], axis=1)
                mixed[level] = product if here is None else here + product
            second_p = second_p + np.einsum("tr,trp,trs->ps", weights, y_p, y_p)
        rows = np.zeros((n_p, grid.n_x))
        for j in range(n_p):
            rows[j] = grid.gradient({level: g[..., j] for level, g in mixed.items()}, e.moment)
            if self.has_integral and grid.clock.n and not gauss_newton:
                by_time = np.einsum("tr,tr->t", self._slopes(e.values), y_p[:, :, j])
                grid.add_theta(rows[j], sigma * e.moment.time.omega_t * by_time[:, None], e.moment)
        p = np.arange(n_p)
        low = np.repeat(p, n_p) >= np.tile(p, n_p)
        return np.concatenate([rows[:, before].ravel(), second_p.ravel()[low]])


def _pulled(partials: Partials, y: Array, n: int) -> dict[str, Array]:
    """y . partials by level, (nt, n)."""
    structure = partials.structure
    weighted = y[:, structure.rows]
    summing = sparse.csr_array(
        (np.ones(structure.cols.size), (np.arange(structure.cols.size), structure.cols)),
        shape=(structure.cols.size, n),
    )
    return {level: np.asarray((weighted * values) @ summing) for level, values in partials.by.items()}
