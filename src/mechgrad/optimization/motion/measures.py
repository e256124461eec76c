"""What can be limited, fixed or penalised along a motion: functions of (q, v, a) at each sample, with their
derivatives.

A measure is m numbers per sample. It states its values, its sparse first partials, and the curvature of y . values
for multipliers y. A new one is one class; the problem knows nothing else of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.inverse.second_order import inverse_dynamics_hessian
from mechgrad.inverse.spatial import inverse_dynamics, inverse_dynamics_derivatives
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.markers import contracted_hessian, marker_derivatives, marker_motion
from mechgrad.optimization.motion.collocation import Curvature, Partials
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Gradient = dict[str, Array]


def columns_of(model: Model, names: Sequence[str] | None) -> Array:
    """Indices of velocities by name; all if None."""
    if names is None:
        return np.arange(model.n_v)
    found = []
    for name in [names] if isinstance(names, str) else names:
        if name not in model.v_names:
            raise unknown_name("joint coordinate", name, model.v_names, f"model {model.name!r}")
        found.append(model.v_names.index(name))
    return np.array(found, int)


class Measure(ABC):
    """m numbers per sample of a motion."""

    names: tuple[str, ...]

    @property
    def m(self) -> int:
        """How many."""
        return len(self.names)

    @abstractmethod
    def values(self, q: Array, v: Array, a: Array) -> Array:
        """(nt, m)"""

    @property
    @abstractmethod
    def structure(self) -> tuple[Array, Array]:
        """Rows (0 .. m-1) and columns (0 .. n_v-1) of its partials, one pattern for q, v and a."""

    @abstractmethod
    def partials(self, q: Array, v: Array, a: Array) -> Partials:
        """First derivatives in that pattern."""

    @property
    @abstractmethod
    def curvature_structure(self) -> tuple[Array, Array]:
        """Rows and columns of the curvature, a set symmetric in both; empty for a linear measure."""

    @abstractmethod
    def curvature(self, q: Array, v: Array, a: Array, y: Array) -> tuple[Curvature, Gradient]:
        """Second derivatives and gradient of sum y . values, y (nt, m) fixed."""


@final
@dataclass(frozen=True, eq=False)
class Coordinates(Measure):
    """q, v or a of some joints: linear."""

    model: Model
    level: str
    joints: Sequence[str] | None = None
    names: tuple[str, ...] = field(init=False)
    _columns: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = columns_of(self.model, self.joints)
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "names", tuple(f"{self.level}({self.model.v_names[c]})" for c in columns))

    def values(self, q: Array, v: Array, a: Array) -> Array:
        return np.asarray({"q": q, "v": v, "a": a}[self.level][:, self._columns])

    @property
    def structure(self) -> tuple[Array, Array]:
        return np.arange(self.m), self._columns

    def partials(self, q: Array, v: Array, a: Array) -> Partials:
        return Partials(self.m, *self.structure, {self.level: np.ones((len(q), self.m))})

    @property
    def curvature_structure(self) -> tuple[Array, Array]:
        return np.zeros(0, int), np.zeros(0, int)

    def curvature(self, q: Array, v: Array, a: Array, y: Array) -> tuple[Curvature, Gradient]:
        g = np.zeros_like(v)
        g[:, self._columns] = y
        return Curvature(*self.curvature_structure, {}), {self.level: g}


@final
@dataclass(frozen=True, eq=False)
class Torques(Measure):
    """Generalized forces of some joints, under loads that do not depend on the motion."""

    model: Model
    joints: Sequence[str] | None = None
    loads: Sequence[Load] | None = None
    names: tuple[str, ...] = field(init=False)
    _columns: Array = field(init=False, repr=False)
    _kept: Array = field(init=False, repr=False)
    _structure: tuple[Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = columns_of(self.model, self.joints)
        pattern = tree_of(self.model).pattern
        kept = np.flatnonzero(np.isin(pattern.rows, columns))
        place = np.full(self.model.n_v, -1)
        place[columns] = np.arange(columns.size)
        object.__setattr__(self, "_columns", columns)
        object.__setattr__(self, "_kept", kept)
        object.__setattr__(self, "_structure", (place[pattern.rows[kept]], pattern.cols[kept]))
        object.__setattr__(self, "names", tuple(f"tau({self.model.v_names[c]})" for c in columns))

    def values(self, q: Array, v: Array, a: Array) -> Array:
        return np.asarray(inverse_dynamics(self.model, q, v, a, loads=self.loads)[:, self._columns])

    @property
    def structure(self) -> tuple[Array, Array]:
        return self._structure

    def partials(self, q: Array, v: Array, a: Array) -> Partials:
        D = inverse_dynamics_derivatives(self.model, q, v, a, loads=self.loads)
        kept = self._kept
        return Partials(
            self.m, *self.structure, {"q": D.dq.values[:, kept], "v": D.dv.values[:, kept], "a": D.da.values[:, kept]}
        )

    @property
    def curvature_structure(self) -> tuple[Array, Array]:
        pattern = tree_of(self.model).pattern
        return pattern.rows, pattern.cols

    def curvature(self, q: Array, v: Array, a: Array, y: Array) -> tuple[Curvature, Gradient]:
        full = np.zeros((len(q), self.model.n_v))
        full[:, self._columns] = y
        H = inverse_dynamics_hessian(self.model, q, v, a, full, loads=self.loads)
        blocks = {"qq": H.qq.values, "qv": H.qv.values, "vv": H.vv.values, "qa": H.qa.values}
        return Curvature(*self.curvature_structure, blocks), {"q": H.q, "v": H.v, "a": H.a}


@final
@dataclass(frozen=True, eq=False)
class Points(Measure):
    """World positions of points, three numbers each."""

    model: Model
    markers: Sequence[str]
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(f"{name}.{axis}" for name in self.markers for axis in "xyz"))

    def values(self, q: Array, v: Array, a: Array) -> Array:
        return marker_motion(self.model, self.markers, q).position.reshape(len(q), -1)

    @property
    def structure(self) -> tuple[Array, Array]:
        n = self.model.n_v
        return np.repeat(np.arange(self.m), n), np.tile(np.arange(n), self.m)

    def partials(self, q: Array, v: Array, a: Array) -> Partials:
        J = marker_derivatives(self.model, self.markers, q).x_q
        return Partials(self.m, *self.structure, {"q": J.reshape(len(q), -1)})

    @property
    def curvature_structure(self) -> tuple[Array, Array]:
        n = self.model.n_v
        return np.repeat(np.arange(n), n), np.tile(np.arange(n), n)

    def curvature(self, q: Array, v: Array, a: Array, y: Array) -> tuple[Curvature, Gradient]:
        forces = y.reshape(len(q), len(self.markers), 3)
        H, _ = contracted_hessian(self.model, self.markers, q, forces)
        J = marker_derivatives(self.model, self.markers, q).x_q
        gradient = np.einsum("tmkc,tmk->tc", J, forces)
        return Curvature(*self.curvature_structure, {"qq": H.reshape(len(q), -1)}), {"q": gradient}
