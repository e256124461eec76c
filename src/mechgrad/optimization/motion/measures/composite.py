"""Functions of measures: distances, products, and whatever a user writes.

    y = f(z_1, z_2, ...)        y_x = f_z z_x        (l . y)_xx = z_x^T (l . f)_zz z_x + sum_i (l . f_z)_i z_i,xx

The function is local: row by row over the samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.motion.measures.base import STEP, Measure, _replaced
from mechgrad.optimization.motion.samples import (
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


class Local(ABC):
    """A function of the m_in numbers of a sample: m_in -> m."""

    @abstractmethod
    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        """Of its values."""

    @abstractmethod
    def feels(self, m_in: int) -> tuple[Array, Array]:
        """Where f_z (m, m_in) and (y . f)_zz (m_in, m_in) can differ from zero."""

    @abstractmethod
    def values(self, z: Array, xi: Array) -> Array:
        """(nt, m)"""

    @abstractmethod
    def partials(self, z: Array, xi: Array) -> Array:
        """(nt, m, m_in)"""

    @abstractmethod
    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        """(nt, m_in, m_in) of y . f"""


@final
@dataclass(frozen=True, eq=False)
class Composite(Measure):
    """A local function of other measures."""

    inputs: tuple[Measure, ...]
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
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        return max((measure.parameters for measure in self.inputs), key=len)

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
        """By level, which input feels which column: (nt or 1, m_in, width)."""
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
        f_z, _ = self.function.feels(len(self._input_names))
        masks = {level: np.einsum("ri,tic->trc", f_z, here) > 0 for level, here in self._levels.items()}
        rows, cols = np.nonzero(np.any([np.any(mask, axis=0) for mask in masks.values()], axis=0))
        return Structure(self.m, rows, cols, {level: _flat(mask[:, rows, cols]) for level, mask in masks.items()})

    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        return self.curvature_of(np.ones(self.m, bool))

    def curvature_of(self, rows: Array) -> CurvatureStructure:
        f_z, f_zz = self.function.feels(len(self._input_names))
        used = np.any(f_z[rows], axis=0)
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
            inner = measure.curvature_of(used[part])
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
        twice = np.einsum("tip,tij,tjr->pr", z_p, f_zz, z_p)
        for part, measure in zip(self._slices, self.inputs, strict=True):
            if measure.parameters:
                inner, more = measure.curvature_p(s, inner_y[:, part])
                twice = twice + more
                for level, x in inner.items():
                    mixed[level] = mixed[level] + _wide(x, n)
        return mixed, twice


def _flat(mask: Array) -> Array:
    """(1, nnz) -> (nnz,): the same for all samples."""
    return np.asarray(mask[0] if len(mask) == 1 else mask)


def _wide(x: Array, n: int) -> Array:
    """Zeros for the columns that follow, (nt, n, ...)."""
    if x.shape[1] == n:
        return x
    return np.concatenate([x, np.zeros((x.shape[0], n - x.shape[1], *x.shape[2:]))], axis=1)


# ------------------------------------------------------------------------------------------------------- functions
@final
@dataclass(frozen=True, eq=False)
class SquaredDistance(Local):
    """|E (a - b)|^2 of two points, or of a point and a fixed place; E projects along an axis if there is one."""

    label: str
    place: Array | None = None
    axis: Array | None = None

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return (self.label,)

    def _projector(self) -> Array:
        if self.axis is None:
            return np.eye(3)
        unit = self.axis / np.linalg.norm(self.axis)
        return np.eye(3) - np.outer(unit, unit)

    def _metric(self) -> Array:
        """Half the second derivative, (m_in, m_in)."""
        E = self._projector()
        return E if self.place is not None else np.block([[E, -E], [-E, E]])

    def feels(self, m_in: int) -> tuple[Array, Array]:
        metric = self._metric() != 0
        return np.any(metric, axis=0)[None], metric

    def _from(self, z: Array) -> Array:
        return z if self.place is None else z - self.place

    def values(self, z: Array, xi: Array) -> Array:
        d = self._from(z)
        return np.einsum("ti,ij,tj->t", d, self._metric(), d)[:, None]

    def partials(self, z: Array, xi: Array) -> Array:
        return (2 * self._from(z) @ self._metric())[:, None, :]

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        return np.asarray(2 * y[:, :, None] * self._metric())


@final
@dataclass(frozen=True, eq=False)
class Difference(Local):
    """a - b of two inputs of m numbers each, of which some components are taken."""

    label: str
    components: tuple[int, ...]

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{self.label}.{'xyz'[c]}" for c in self.components)

    def _matrix(self, m_in: int) -> Array:
        out = np.zeros((len(self.components), m_in))
        for row, c in enumerate(self.components):
            out[row, c], out[row, m_in // 2 + c] = 1.0, -1.0
        return out

    def feels(self, m_in: int) -> tuple[Array, Array]:
        return self._matrix(m_in) != 0, np.zeros((m_in, m_in), bool)

    def values(self, z: Array, xi: Array) -> Array:
        return np.asarray(z @ self._matrix(z.shape[1]).T)

    def partials(self, z: Array, xi: Array) -> Array:
        return np.broadcast_to(self._matrix(z.shape[1]), (len(z), len(self.components), z.shape[1]))

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        return np.zeros((len(z), z.shape[1], z.shape[1]))


@final
@dataclass(frozen=True, eq=False)
class Products(Local):
    """a_i b_i of two inputs of m numbers each, or its smooth magnitude sqrt((a b)^2 + e^2) - e."""

    label: str
    smoothing: float | None = None

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{self.label} {name}" for name in inputs[: len(inputs) // 2])

    def feels(self, m_in: int) -> tuple[Array, Array]:
        m = m_in // 2
        one, cross = np.eye(m, dtype=bool), np.eye(m, dtype=bool)
        diagonal = np.zeros_like(one) if self.smoothing is None else one
        return np.hstack([one, one]), np.block([[diagonal, cross], [cross, diagonal]])

    def _outer(self, x: Array) -> tuple[Array, Array, Array]:
        """Value and derivatives of the function of the product."""
        if self.smoothing is None:
            return x, np.ones_like(x), np.zeros_like(x)
        root = np.sqrt(x**2 + self.smoothing**2)
        return root - self.smoothing, x / root, self.smoothing**2 / root**3

    def values(self, z: Array, xi: Array) -> Array:
        m = z.shape[1] // 2
        return self._outer(z[:, :m] * z[:, m:])[0]

    def partials(self, z: Array, xi: Array) -> Array:
        m = z.shape[1] // 2
        a, b = z[:, :m], z[:, m:]
        d = self._outer(a * b)[1]
        out = np.zeros((len(z), m, 2 * m))
        i = np.arange(m)
        out[:, i, i], out[:, i, m + i] = d * b, d * a
        return out

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        m = z.shape[1] // 2
        a, b = z[:, :m], z[:, m:]
        _, d, dd = self._outer(a * b)
        out = np.zeros((len(z), 2 * m, 2 * m))
        i = np.arange(m)
        out[:, i, i], out[:, m + i, m + i] = y * dd * b * b, y * dd * a * a
        cross = y * (d + dd * a * b)
        out[:, i, m + i] = out[:, m + i, i] = cross
        return out


@final
class UserFunction(Local):
    """A function of arrays: called with one array (nt, m_k) per input it returns (nt, m) or (nt,).

    It must be analytic in its inputs and accept complex arrays (no abs, max, or comparison): partials are a complex
    step, second derivatives fourth-order differences of those. With `xi=True` it is also given xi.
    """

    def __init__(
        self, function: Callable[..., Any], sizes: Sequence[int], label: str = "user", xi: bool = False
    ) -> None:
        self.function, self.sizes, self.label, self.wants_xi = function, tuple(sizes), label, xi
        rng = np.random.default_rng(1)
        trial = self._call(rng.uniform(0.1, 0.9, (2, sum(self.sizes))), np.array([0.3, 0.6]))
        self.m = trial.shape[1]

    def _call(self, z: Array, xi: Array) -> Array:
        parts = np.split(z, np.cumsum(self.sizes)[:-1], axis=1)
        out = np.asarray(self.function(*parts, xi) if self.wants_xi else self.function(*parts))
        out = out[:, None] if out.ndim == 1 else out
        if out.ndim != 2 or len(out) != len(z):
            raise InputError(
                f"{self.label!r} returned shape {out.shape} for {len(z)} samples; it must return ({len(z)},) or "
                f"({len(z)}, m): one row per sample."
            )
        if np.iscomplexobj(z) and not np.iscomplexobj(out) and np.any(z.imag):
            raise InputError(
                f"{self.label!r} drops the imaginary part of its inputs (np.abs, np.maximum, float()?); its derivatives "
                "are taken by a complex step. Write it with analytic functions, e.g. np.sqrt(x**2 + e**2) for |x|."
            )
        return out

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return (self.label,) if self.m == 1 else tuple(f"{self.label}[{k}]" for k in range(self.m))

    def feels(self, m_in: int) -> tuple[Array, Array]:
        """Everything may feel everything that shows at random points."""
        rng = np.random.default_rng(2)
        z, xi = rng.uniform(-0.9, 0.9, (5, m_in)), rng.uniform(0, 1, 5)
        f_z = np.any(self.partials(z, xi) != 0, axis=0)
        f_zz = np.abs(self.curvature(z, xi, rng.uniform(0.5, 1.0, (5, self.m))))
        return f_z, np.any(f_zz > 1e-8 * max(1.0, float(np.max(f_zz, initial=0.0))), axis=0)

    def values(self, z: Array, xi: Array) -> Array:
        return np.asarray(self._call(z, xi), float)

    def partials(self, z: Array, xi: Array) -> Array:
        out = np.zeros((len(z), self.m, z.shape[1]))
        for i in range(z.shape[1]):
            stepped = z.astype(complex)
            stepped[:, i] += 1j * STEP
            out[:, :, i] = self._call(stepped, xi).imag / STEP
        return out

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        out = np.zeros((len(z), z.shape[1], z.shape[1]))
        for i in range(z.shape[1]):
            h = 2e-3 * np.maximum(np.abs(z[:, i]), 1e-1)
            ends = []
            for step in (2, 1, -1, -2):
                moved = z.copy()
                moved[:, i] += step * h
                ends.append(np.einsum("tr,tri->ti", y, self.partials(moved, xi)))
            out[:, i] = (8 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / (12 * h[:, None])
        return (out + out.swapaxes(1, 2)) / 2
