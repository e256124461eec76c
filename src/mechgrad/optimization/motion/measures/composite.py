"""Functions of measures: distances, products, and whatever a user writes.

    y = f(z_1, z_2, ...)        y_x = f_z z_x        (l . y)_xx = z_x^T (l . f)_zz z_x + sum_i (l . f_z)_i z_i,xx

The function is local: row by row over the samples.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import final

import numpy as np

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
from mechgrad.optimization.motion.measures.sample_functions import Local, Quadratic
from mechgrad.typing import Array


@final
@dataclass(frozen=True, eq=False)
class Composite(SampleFunction):
    """A local function of other measures."""

    inputs: tuple[SampleFunction, ...]
    function: Local
    label: str = ""

    @cached_property
    def _input_names(self) -> tuple[str, ...]:
        return tuple(name for measure in self.inputs for name in measure.names)

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.function.names(self._input_names)

    @property
    def key(self) -> Hashable:
        return ("composite", tuple(measure.key for measure in self.inputs), id(self.function))

    @property
    def family(self) -> Hashable | None:
        if not isinstance(self.function, Quadratic) or len(self.inputs) != 1:
            return None
        inner = self.inputs[0].family
        return None if inner is None else ("quadratic", inner)

    def joined(self, others: Sequence[SampleFunction]) -> tuple[SampleFunction, list[Array]]:
        given = [(m.inputs[0], m.function) for m in others if isinstance(m, Composite)]
        whole, rows = given[0][0].joined([measure for measure, _ in given])
        forms = [f.among(r, whole.m) for (_, f), r in zip(given, rows, strict=True) if isinstance(f, Quadratic)]
        labels = tuple(label for f in forms for label in f.labels)
        function = Quadratic(labels, np.concatenate([f.A for f in forms]), np.concatenate([f.z0 for f in forms]))
        ends = np.cumsum([0, *(len(f.labels) for f in forms)])
        return Composite((whole,), function), [np.arange(a, b) for a, b in pairwise(ends)]

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        return max((measure.parameters for measure in self.inputs), key=len)

    @property
    def analytic(self) -> bool:  # type: ignore[override]
        return all(measure.analytic for measure in self.inputs)

    def on(self, xi: Array) -> Composite:
        return _replaced(self, inputs=tuple(measure.on(xi) for measure in self.inputs))

    def freed(self, paths: tuple[str, ...]) -> Composite:
        return _replaced(self, inputs=tuple(measure.freed(paths) for measure in self.inputs))

    def at(self, numbers: Array) -> Composite:
        return _replaced(self, inputs=tuple(measure.at(numbers) for measure in self.inputs))

    def numbers(self) -> Array:
        return max((measure.numbers() for measure in self.inputs), key=len)

    # ----------------------------------------------------------------------------------------------------- structure
    @cached_property
    def _slices(self) -> list[slice]:
        ends = np.cumsum([0, *(measure.m for measure in self.inputs)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @cached_property
    def _width(self) -> int:
        return 1 + max((int(measure.structure.cols.max(initial=-1)) for measure in self.inputs), default=-1)

    @cached_property
    def _levels(self) -> dict[str, Array]:
        """By level, which input depends on which column: (nt or 1, m_in, width)."""
        found: dict[str, Array] = {}
        for part, measure in zip(self._slices, self.inputs, strict=True):
            structure = measure.structure
            for level, mask in structure.levels.items():
                mask = np.atleast_2d(mask)
                here = np.zeros((len(mask), len(self._input_names), self._width), bool)
                here[:, part][:, structure.rows, structure.cols] = mask
                found[level] = found[level] | here if level in found else here
        return {level: found[level] for level in LEVELS if level in found}

    @cached_property
    def structure(self) -> Structure:
        f_z, _ = self.function.patterns(len(self._input_names))
        masks = {level: np.einsum("ri,tic->trc", f_z, here) > 0 for level, here in self._levels.items()}
        rows, cols = np.nonzero(np.any([np.any(mask, axis=0) for mask in masks.values()], axis=0))
        return Structure(self.m, rows, cols, {level: _flat(mask[:, rows, cols]) for level, mask in masks.items()})

    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        f_z, f_zz = self.function.patterns(len(self._input_names))
        used = np.any(f_z, axis=0)
        masks: dict[str, Array] = {}
        for pair in PAIRS:
            if pair[0] in self._levels and pair[1] in self._levels:
                x, y = self._levels[pair[0]], self._levels[pair[1]]
                mask = np.einsum("tic,ij,tjd->tcd", x.astype(float), f_zz.astype(float), y.astype(float)) > 0
                if np.any(mask):
                    masks[pair] = mask
        for part, measure in zip(self._slices, self.inputs, strict=True):
            if not np.any(used[part]):
                continue
            inner = measure.curvature_structure
            for pair, flags in inner.pairs.items():
                flags = np.atleast_2d(flags)
                here = np.zeros((len(flags), self._width, self._width), bool)
                here[:, inner.rows, inner.cols] = flags
                masks[pair] = masks[pair] | here if pair in masks else here
        if not masks:
            return CurvatureStructure(np.zeros(0, int), np.zeros(0, int), {})
        r, c = np.nonzero(np.any([np.any(mask, axis=0) for mask in masks.values()], axis=0))
        return CurvatureStructure(r, c, {pair: _flat(mask[:, r, c]) for pair, mask in masks.items()})

    # -------------------------------------------------------------------------------------------------------- values
    def _z(self, s: Samples) -> Array:
        return np.concatenate([measure.values(s) for measure in self.inputs], axis=1)

    def _first(self, s: Samples) -> dict[str, Array]:
        """z_x by level, (nt, m_in, width)."""
        out = {level: np.zeros((s.nt, len(self._input_names), self._width)) for level in self._levels}
        for part, measure in zip(self._slices, self.inputs, strict=True):
            partials = measure.partials(s)
            for level in partials.by:
                out[level][:, part] = partials.dense(level, self._width)
        return out

    def values(self, s: Samples) -> Array:
        return self.function.values(self._z(s), s.xi)

    def partials(self, s: Samples) -> Partials:
        f_z = self.function.partials(self._z(s), s.xi)
        structure = self.structure
        by = {level: (f_z @ x)[:, structure.rows, structure.cols] for level, x in self._first(s).items()}
        return Partials(structure, by)

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        z = self._z(s)
        f_zz = self.function.curvature(z, s.xi, y)
        inner_y = np.einsum("tr,tri->ti", y, self.function.partials(z, s.xi))
        first, structure = self._first(s), self.curvature_structure
        dense = {pair: first[pair[0]].swapaxes(1, 2) @ (f_zz @ first[pair[1]])
                 for pair in structure.pairs if pair[0] in first and pair[1] in first}  # fmt: skip
        g: Gradient = {level: np.einsum("ti,tic->tc", inner_y, x) for level, x in first.items()}
        for part, measure in zip(self._slices, self.inputs, strict=True):
            inner, _ = measure.curvature(s, inner_y[:, part])
            for pair, block in inner.blocks.items():
                if pair in dense:
                    dense[pair][:, inner.structure.rows, inner.structure.cols] += block
        blocks = {pair: x[:, structure.rows, structure.cols] for pair, x in dense.items()}
        return Curvature(structure, blocks), {level: _wide(x, s.z.shape[2]) for level, x in g.items()}

    # ------------------------------------------------------------------------------------------ numbers of the model
    def _first_p(self, s: Samples) -> Array:
        """z_p, (nt, m_in, n_p)."""
        out = np.zeros((s.nt, len(self._input_names), len(self.parameters)))
        for part, measure in zip(self._slices, self.inputs, strict=True):
            if measure.parameters:
                out[:, part] = measure.partials_p(s)
        return out

    def partials_p(self, s: Samples) -> Array:
        return np.asarray(self.function.partials(self._z(s), s.xi) @ self._first_p(s))

    def curvature_p(self, s: Samples, y: Array) -> tuple[Gradient, Array]:
        z, z_p = self._z(s), self._first_p(s)
        f_zz = self.function.curvature(z, s.xi, y)
        inner_y = np.einsum("tr,tri->ti", y, self.function.partials(z, s.xi))
        n = s.z.shape[2]
        mixed = {level: _wide((x.swapaxes(1, 2) @ (f_zz @ z_p)), n) for level, x in self._first(s).items()}
        second_derivatives = np.einsum("tip,tij,tjr->pr", z_p, f_zz, z_p)
        for part, measure in zip(self._slices, self.inputs, strict=True):
            if measure.parameters:
                inner, more = measure.curvature_p(s, inner_y[:, part])
                second_derivatives = second_derivatives + more
                for level, x in inner.items():
                    mixed[level] = mixed[level] + _wide(x, n)
        return mixed, second_derivatives


def _flat(mask: Array) -> Array:
    """(1, nnz) -> (nnz,): the same for all samples."""
    return np.asarray(mask[0] if len(mask) == 1 else mask)


def _wide(x: Array, n: int) -> Array:
    """Zeros for the columns that follow, (nt, n, ...)."""
    if x.shape[1] == n:
        return x
    return np.concatenate([x, np.zeros((x.shape[0], n - x.shape[1], *x.shape[2:]))], axis=1)
