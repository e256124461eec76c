"""Coordinates of joints and their rates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.motion.measures.base import SampleFunction, columns_of
from mechgrad.optimization.motion.measures.motion_samples import (
    LEVELS,
    NO_CURVATURE,
    Curvature,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


class _Columns(SampleFunction):
    """Some columns of q, v, a or j as they are: linear."""

    level: str
    columns: Array

    def values(self, s: Samples) -> Array:
        return np.asarray(s.z[LEVELS.index(self.level)][:, self.columns])

    @property
    def structure(self) -> Structure:
        return Structure(self.m, np.arange(self.m), self.columns, {self.level: np.ones(self.m, bool)})

    def partials(self, s: Samples) -> Partials:
        return Partials(self.structure, {self.level: np.ones((s.nt, self.m))})

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        g = np.zeros((s.nt, s.z.shape[2]))
        g[:, self.columns] = y
        return Curvature(NO_CURVATURE, {}), {self.level: g}


@final
@dataclass(frozen=True, eq=False)
class Coordinates(_Columns):
    """q, v, a or the jerk j of some joints: linear.

    >>> Coordinates(model, "v").names
    ('v(pin)',)
    """

    model: Model
    level: str = "q"
    joints: Sequence[str] | None = None
    names: tuple[str, ...] = field(init=False)
    columns: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise InputError(f"level is {self.level!r}; choose 'q', 'v', 'a' or 'j' (jerk).")
        columns = columns_of(self.model, self.joints)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "names", tuple(f"{self.level}({self.model.v_names[c]})" for c in columns))

    @property
    def key(self) -> Hashable:
        return ("coordinates", self.level, tuple(self.columns))

    @property
    def family(self) -> Hashable:
        return ("coordinates", self.level)

    def joined(self, others: Sequence[SampleFunction]) -> tuple[SampleFunction, list[Array]]:
        chosen = [m.columns for m in others if isinstance(m, Coordinates)]
        every = np.unique(np.concatenate(chosen))
        whole = Coordinates(self.model, self.level, [self.model.v_names[c] for c in every])
        return whole, [np.searchsorted(every, columns) for columns in chosen]


@final
@dataclass(frozen=True, eq=False)
class Profiles(_Columns):
    """Profiles behind the coordinates, such as forces in cut joints, or their derivatives by time: linear."""

    columns: Array
    names: tuple[str, ...]
    level: str = "q"

    @property
    def key(self) -> Hashable:
        return ("profiles", tuple(self.columns), self.level)
