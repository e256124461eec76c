"""What measures see and what they say: samples of a motion, and sparse first and second derivatives by them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from mechgrad.typing import Array

LEVELS = ("q", "v", "a", "j")
PAIRS = ("qq", "qv", "qa", "qj", "vv", "va", "vj", "aa", "aj", "jj")

T = TypeVar("T")
Gradient = dict[str, Array]
"""By level: (nt, n)."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Positions, velocities, accelerations and jerks at nt samples: (4, nt, n), the model's n_v coordinates first.

    Columns behind n_v are profiles that are no coordinates: forces in cut joints, multipliers. Where joints have Euler
    parameters, `configuration` (nt, n_q) holds the coordinates, and z[0] means nothing for these joints.
    """

    z: Array
    n_v: int
    xi: Array
    configuration: Array | None = None
    _memo: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for these samples before, or now: values, partials and curvature share their parts."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]  # type: ignore[no-any-return]

    @property
    def nt(self) -> int:
        """Number of samples."""
        return int(self.z.shape[1])

    @property
    def q(self) -> Array:
        """(nt, n_q)"""
        return np.ascontiguousarray(self.z[0, :, : self.n_v]) if self.configuration is None else self.configuration

    @property
    def v(self) -> Array:
        """(nt, n_v)"""
        return np.ascontiguousarray(self.z[1, :, : self.n_v])

    @property
    def a(self) -> Array:
        """(nt, n_v)"""
        return np.ascontiguousarray(self.z[2, :, : self.n_v])


@dataclass(frozen=True, eq=False)
class Structure:
    """Places of first derivatives: entry e stands in row rows[e] of m and column cols[e].

    `levels[level]` says which entries there are by q, v, a or jerk: (nnz,), or (nt, nnz) where samples differ.
    """

    m: int
    rows: Array
    cols: Array
    levels: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Partials:
    """First derivatives: packed values by level, (nt, nnz)."""

    structure: Structure
    by: Mapping[str, Array]

    def dense(self, level: str, n: int) -> Array:
        """(nt, m, n)"""
        values = self.by[level]
        out = np.zeros((len(values), self.structure.m, n))
        out[:, self.structure.rows, self.structure.cols] = values
        return out


@dataclass(frozen=True, eq=False)
class CurvatureStructure:
    """Places of second derivatives of a scalar: entry e of pair "qv" is by q[rows[e]] and v[cols[e]].

    A pair of two different levels stands for both orders. `pairs` as `Structure.levels`.
    """

    rows: Array
    cols: Array
    pairs: Mapping[str, Array]


NO_CURVATURE = CurvatureStructure(np.zeros(0, int), np.zeros(0, int), {})


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives: packed values by pair, (nt, nnz); pairs of one level are symmetric."""

    structure: CurvatureStructure
    blocks: Mapping[str, Array]

    def dense(self, pair: str, n: int) -> Array:
        """(nt, n, n)"""
        values = self.blocks[pair]
        out = np.zeros((len(values), n, n))
        out[:, self.structure.rows, self.structure.cols] = values
        return out


def rows_only(structure: Structure, rows: Array) -> Structure:
    """The entries of some rows, (nt, m) bool."""
    asked = rows[:, structure.rows]
    levels = {level: mask & asked for level, mask in structure.levels.items()}
    return Structure(structure.m, structure.rows, structure.cols, levels)
