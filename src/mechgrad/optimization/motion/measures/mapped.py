"""Measures of mechanisms with balls, as functions of profiles (`motion.attitudes`):

    x = (q, v, a, j) of the mechanism, along small rotations        p = (s, s', s'', s''')        x_p = T
    y_p = y_x T        (l . y)_pp = T^T (l . y)_xx T + sum_i (l . y)_x_i (x_i)_pp

By q, where x_s = B(s) and L_q is along small rotations, the last sum is d(B^T L_q) / ds, L_q held.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from mechgrad.optimization.motion.measures.attitudes import ORDERS, Attitudes
from mechgrad.optimization.motion.measures.base import SampleFunction, _replaced
from mechgrad.optimization.motion.measures.motion_samples import (
    LEVELS,
    PAIRS,
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.typing import Array


@final
@dataclass(frozen=True, eq=False)
class Mapped(SampleFunction):
    """A measure of the mechanism's motion, as one of profiles; `width` of these."""

    inner: SampleFunction
    attitudes: Attitudes
    width: int

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inner.names

    @property
    def analytic(self) -> bool:  # type: ignore[override]
        return self.inner.analytic

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inner.parameters

    @property
    def key(self) -> Hashable:
        return ("mapped", self.inner.key)

    @property
    def family(self) -> Hashable | None:
        return None if self.inner.family is None else ("mapped", self.inner.family)

    def joined(self, others: Sequence[SampleFunction]) -> tuple[SampleFunction, list[Array]]:
        whole, rows = self.inner.joined([m.inner for m in others if isinstance(m, Mapped)])
        return _replaced(self, inner=whole), rows

    def on(self, xi: Array) -> Mapped:
        return _replaced(self, inner=self.inner.on(xi))

    def freed(self, paths: tuple[str, ...]) -> Mapped:
        return _replaced(self, inner=self.inner.freed(paths))

    def at(self, numbers: Array) -> Mapped:
        return _replaced(self, inner=self.inner.at(numbers))

    def numbers(self) -> Array:
        return self.inner.numbers()

    def values(self, s: Samples) -> Array:
        return self.inner.values(self.attitudes.samples(s))

    # -------------------------------------------------------------------------------------------------- the change x_p
    @property
    def _n(self) -> int:
        return ORDERS * self.width

    @cached_property
    def _blocks(self) -> Array:
        """Places of s, s', s'', s''' of each ball among all profiles and levels, (balls, 12)."""
        levels = np.arange(ORDERS)[:, None] * self.width
        return np.stack([(levels + columns).ravel() for columns in self.attitudes.columns])

    @cached_property
    def _acts(self) -> Array:
        """Where x_p can differ from zero, (n, n) bool."""
        acts = np.eye(self._n, dtype=bool)
        lower = np.kron(np.tril(np.ones((ORDERS, ORDERS), bool)), np.ones((3, 3), bool))
        for block in self._blocks:
            acts[np.ix_(block, block)] = lower
        return acts

    def _change(self, s: Samples) -> Array:
        """x_p, (nt, n, n)."""

        def make() -> Array:
            T = np.zeros((s.nt, self._n, self._n))
            T[:, np.arange(self._n), np.arange(self._n)] = 1.0
            jets = self.attitudes.jets(s, False)
            for b, block in enumerate(self._blocks):
                here = np.zeros((s.nt, 12, 12))
                for level, spins in enumerate(jets, start=1):
                    for i in range(3):
                        here[:, 3 * level + i] = spins[i].slope[:, b]
                here[:, :3, :3] = here[:, 3:6, 3:6]  # w by s' is the tangent by s
                T[:, block[:, None], block] = here
            return T

        return s.remember(("change of balls", self.width), make)

    # ---------------------------------------------------------------------------------------------------- first order
    @cached_property
    def _reached(self) -> Array:
        """Rows of the measure by what they depend on in the mechanism, (m, n) bool."""
        inner = self.inner.structure
        depends = np.zeros((self.m, self._n), bool)
        for level, mask in inner.levels.items():
            some = mask if mask.ndim == 1 else np.any(mask, axis=0)
            np.logical_or.at(depends, (inner.rows, LEVELS.index(level) * self.width + inner.cols), some)
        return depends

    @cached_property
    def structure(self) -> Structure:
        depends = (self._reached.astype(float) @ self._acts > 0).reshape(self.m, ORDERS, self.width)
        rows, cols = np.nonzero(np.any(depends, axis=1))
        return Structure(self.m, rows, cols, {
            level: depends[rows, r, cols] for r, level in enumerate(LEVELS) if np.any(depends[:, r])
        })  # fmt: skip

    def partials(self, s: Samples) -> Partials:
        inner = self.inner.partials(self.attitudes.samples(s))
        y_x = np.zeros((s.nt, self.m, self._n))
        for level in inner.by:
            r = LEVELS.index(level)
            y_x[:, :, r * self.width : (r + 1) * self.width] = inner.dense(level, self.width)
        y_p = (y_x @ self._change(s)).reshape(s.nt, self.m, ORDERS, self.width)
        structure = self.structure
        by = {level: y_p[:, structure.rows, LEVELS.index(level), structure.cols] for level in structure.levels}
        return Partials(structure, by)

    # --------------------------------------------------------------------------------------------------- second order
    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        inner, w = self.inner.curvature_structure, self.width
        met = np.zeros((self._n, self._n), bool)
        for pair, mask in inner.pairs.items():
            some = mask if mask.ndim == 1 else np.any(mask, axis=0)
            rows, cols = (LEVELS.index(level) * w + x for level, x in zip(pair, (inner.rows, inner.cols), strict=True))
            np.logical_or.at(met, (rows, cols), some)
            np.logical_or.at(met, (cols, rows), some)
        acts = self._acts.astype(float)
        met = acts.T @ met @ acts > 0
        depends = np.any(self._reached, axis=0)
        for block in self._blocks:
            reached = np.flatnonzero(depends[block])
            if reached.size:
                below = block[: 3 * (reached[-1] // 3 + 1)]
                met[np.ix_(below, below)] = True
        blocks = met.reshape(ORDERS, w, ORDERS, w)
        pairs = {pair: blocks[LEVELS.index(pair[0]), :, LEVELS.index(pair[1])] for pair in PAIRS}
        rows, cols = np.nonzero(np.any([*pairs.values()], axis=0))
        return CurvatureStructure(rows, cols, {
            pair: mask[rows, cols] for pair, mask in pairs.items() if np.any(mask)
        })  # fmt: skip

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        H, g = self.dense_curvature(s, y)
        H = (H + H.swapaxes(1, 2)) / 2  # symmetric but for rounding
        blocks = H.reshape(s.nt, ORDERS, self.width, ORDERS, self.width)
        structure = self.curvature_structure
        found = {
            pair: blocks[:, LEVELS.index(pair[0]), structure.rows, LEVELS.index(pair[1]), structure.cols].copy()
            for pair in structure.pairs
        }
        shaped = g.reshape(s.nt, ORDERS, self.width)
        levels = self.structure.levels
        return Curvature(structure, found), {level: shaped[:, LEVELS.index(level)].copy() for level in levels}

    def dense_curvature(self, s: Samples, y: Array) -> tuple[Array, Array]:
        """Hessian (nt, n, n) and gradient (nt, n) of y . values by all profiles, level by level."""
        w = self.width
        inner, given = self.inner.curvature(self.attitudes.samples(s), y)
        L_x = np.zeros((s.nt, self._n))
        for level, x in given.items():
            r = LEVELS.index(level)
            L_x[:, r * w : r * w + x.shape[1]] = x
        L_xx = np.zeros((s.nt, self._n, self._n))
        for pair in inner.blocks:
            rows, cols = (slice(LEVELS.index(level) * w, (LEVELS.index(level) + 1) * w) for level in pair)
            L_xx[:, rows, cols] = inner.dense(pair, w)
            if pair[0] != pair[1]:
                L_xx[:, cols, rows] = L_xx[:, rows, cols].swapaxes(1, 2)
        T = self._change(s)
        H = T.swapaxes(1, 2) @ L_xx @ T
        jets = self.attitudes.jets(s, True)
        for b, block in enumerate(self._blocks):
            more = np.zeros((s.nt, 12, 12))
            weights = L_x[:, block].reshape(s.nt, ORDERS, 3)
            for i in range(3):
                for order, spins in enumerate(jets, start=1):
                    hessian = spins[i].hessian
                    assert hessian is not None  # second was asked for
                    more += weights[:, order, i, None, None] * hessian[:, b]
                    if order == 1:  # d(B^T L_q) / ds, B = w by s'
                        more[:, :3, :3] += weights[:, 0, i, None, None] * hessian[:, b, 3:6, :3]
            H[:, block[:, None], block] += more
        return H, np.einsum("ti,tij->tj", L_x, T)

    # -------------------------------------------------------------------------------------- free numbers of the model
    def partials_p(self, s: Samples) -> Array:
        return self.inner.partials_p(self.attitudes.samples(s))

    def curvature_p(self, s: Samples, y: Array) -> tuple[Gradient, Array]:
        mixed, second = self.inner.curvature_p(self.attitudes.samples(s), y)
        n_p = len(self.parameters)
        x = np.zeros((s.nt, self._n, n_p))
        for level, given in mixed.items():
            r = LEVELS.index(level)
            x[:, r * self.width : r * self.width + given.shape[1]] = given
        out = (self._change(s).swapaxes(1, 2) @ x).reshape(s.nt, ORDERS, self.width, n_p)
        return {level: out[:, LEVELS.index(level)].copy() for level in self.structure.levels}, second
