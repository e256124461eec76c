"""Sums of measures: torques of a tree and what elements add to them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from mechgrad.optimization.motion.measures.base import SampleFunction, _replaced
from mechgrad.optimization.motion.measures.motion_samples import (
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
class Sum(SampleFunction):
    """Row by row; measures with fewer rows than the first add to its first ones."""

    parts: tuple[SampleFunction, ...]

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.parts[0].names

    @property
    def key(self) -> Hashable:
        return ("sum", tuple(part.key for part in self.parts))

    @property
    def analytic(self) -> bool:  # type: ignore[override]
        return all(part.analytic for part in self.parts)

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.parts[0].parameters

    def on(self, xi: Array) -> Sum:
        return _replaced(self, parts=tuple(part.on(xi) for part in self.parts))

    def freed(self, paths: tuple[str, ...]) -> Sum:
        return _replaced(self, parts=tuple(part.freed(paths) for part in self.parts))

    def at(self, numbers: Array) -> Sum:
        return _replaced(self, parts=tuple(part.at(numbers) for part in self.parts))

    def numbers(self) -> Array:
        return self.parts[0].numbers()

    def _padded(self, x: Array) -> Array:
        missing = self.m - x.shape[1]
        return np.pad(x, [(0, 0), (0, missing), *[(0, 0)] * (x.ndim - 2)]) if missing else x

    # ----------------------------------------------------------------------------------------------------- the motion
    def values(self, s: Samples) -> Array:
        return np.asarray(sum(self._padded(part.values(s)) for part in self.parts))

    @cached_property
    def _merged(self) -> tuple[Structure, list[Array]]:
        """One pattern, and the places of each part's entries in it."""
        return _united([(x.rows, x.cols, x.levels) for x in (part.structure for part in self.parts)], self.m)

    @property
    def structure(self) -> Structure:
        return self._merged[0]

    def partials(self, s: Samples) -> Partials:
        structure, places = self._merged
        by = {level: np.zeros((s.nt, structure.rows.size)) for level in structure.levels}
        for part, at in zip(self.parts, places, strict=True):
            for level, values in part.partials(s).by.items():
                by[level][:, at] += values
        return Partials(structure, by)

    @cached_property
    def _merged_curvature(self) -> tuple[CurvatureStructure, list[Array]]:
        given = [part.curvature_structure for part in self.parts]
        merged, places = _united([(x.rows, x.cols, x.pairs) for x in given], 0)
        return CurvatureStructure(merged.rows, merged.cols, merged.levels), places

    @property
    def curvature_structure(self) -> CurvatureStructure:
        return self._merged_curvature[0]

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        structure, places = self._merged_curvature
        blocks = {pair: np.zeros((s.nt, structure.rows.size)) for pair in structure.pairs}
        g: Gradient = {}
        for part, at in zip(self.parts, places, strict=True):
            inner, more = part.curvature(s, y[:, : part.m])
            for pair, block in inner.blocks.items():
                blocks[pair][:, at] += block
            _add(g, more, s.z.shape[2])
        return Curvature(structure, blocks), g

    # -------------------------------------------------------------------------------------- free numbers of the model
    def partials_p(self, s: Samples) -> Array:
        return np.asarray(sum(self._padded(part.partials_p(s)) for part in self.parts))

    def curvature_p(self, s: Samples, y: Array) -> tuple[Gradient, Array]:
        mixed: Gradient = {}
        second = np.zeros((len(self.parameters),) * 2)
        for part in self.parts:
            by, twice = part.curvature_p(s, y[:, : part.m])
            _add(mixed, by, s.z.shape[2])
            second = second + twice
        return mixed, second


def _add(total: Gradient, more: Gradient, width: int) -> None:
    """Add by level, (nt, width, ...)."""
    for level, x in more.items():
        x = np.pad(x, [(0, 0), (0, width - x.shape[1]), *[(0, 0)] * (x.ndim - 2)]) if x.shape[1] < width else x
        total[level] = total[level] + x if level in total else x


def _united(patterns: list[tuple], m: int) -> tuple[Structure, list[Array]]:  # type: ignore[type-arg]
    width = 1 + max((int(cols.max(initial=-1)) for _, cols, _ in patterns), default=-1)
    keys = [rows.astype(np.int64) * width + cols for rows, cols, _ in patterns]
    every = np.unique(np.concatenate([*keys, []])).astype(np.int64)
    places = [np.searchsorted(every, key) for key in keys]
    levels: dict[str, Array] = {}
    for (_, _, given), at in zip(patterns, places, strict=True):
        for level, mask in given.items():
            here = np.zeros((*mask.shape[:-1], every.size), bool)
            here[..., at] = mask
            levels[level] = levels[level] | here if level in levels else here
    return Structure(m, every // max(width, 1), every % max(width, 1), levels), places
