"""What can be limited, fixed or penalised along a motion: functions of (q, v, a) at each sample, with their
derivatives.

A measure is m numbers per sample. It states its values, its sparse first partials, and the curvature of y . values
for multipliers y. A new one is one class; the problem knows nothing else of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.inverse.second_order import inverse_dynamics_gradient, inverse_dynamics_hessian
from mechgrad.inverse.spatial import inverse_dynamics, inverse_dynamics_derivatives
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.markers import contracted_hessian, marker_derivatives, marker_motion
from mechgrad.optimization.motion.collocation import Curvature, Partials
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Gradient = dict[str, Array]
STEP = 1e-30


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


def numbers_of(model: Model, paths: Sequence[str]) -> Array:
    """Present values of some numbers of a model."""
    return np.array([model.value(path) for path in paths], float)


def with_numbers(model: Model, paths: Sequence[str], numbers: Array) -> Model:
    """The model with other values of these numbers."""
    return model.with_values(dict(zip(paths, numbers.tolist(), strict=True)))


class Measure(ABC):
    """m numbers per sample of a motion."""

    names: tuple[str, ...]

    @property
    def m(self) -> int:
        """How many."""
        return len(self.names)

    # What depends on free numbers of the model says so with `parameters`, and then states the three functions below.
    parameters: tuple[str, ...] = ()

    def at(self, numbers: Array) -> Measure:
        """The same measure with these values of its parameters."""
        return self

    def partials_p(self, q: Array, v: Array, a: Array) -> Array:
        """By the parameters, (nt, m, n_p)."""
        return np.zeros((len(q), self.m, 0))

    def curvature_p(self, q: Array, v: Array, a: Array, y: Array) -> tuple[Gradient, Array]:
        """Second derivatives of sum y . values by (q, v, a) and the parameters (nt, n, n_p), and by the parameters
        (n_p, n_p)."""
        return {}, np.zeros((0, 0))

    def _twice(self, q: Array, v: Array, a: Array, y: Array) -> Array:
        """Second derivatives of sum y . values by the parameters: central differences of the exact first ones."""
        numbers = self._numbers()
        found = np.zeros((numbers.size, numbers.size))
        for j, number in enumerate(numbers):
            h = 1e-5 * max(abs(number), 1e-2)
            ends = []
            for sign in (1, -1):
                moved = numbers.copy()
                moved[j] += sign * h
                ends.append(np.einsum("tr,trp->p", y, self.at(moved).partials_p(q, v, a)))
            found[:, j] = (ends[0] - ends[1]) / (2 * h)
        return (found + found.T) / 2

    def _numbers(self) -> Array:
        """Present values of the parameters."""
        return np.zeros(0)

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
    parameters: tuple[str, ...] = ()
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

    def _numbers(self) -> Array:
        return numbers_of(self.model, self.parameters)

    def at(self, numbers: Array) -> Torques:
        return replace(self, model=with_numbers(self.model, self.parameters, numbers))

    def partials_p(self, q: Array, v: Array, a: Array) -> Array:
        D = inverse_dynamics_derivatives(self.model, q, v, a, loads=self.loads, wrt=self.parameters)
        return np.asarray(D.dp.dense()[:, self._columns, :])

    def curvature_p(self, q: Array, v: Array, a: Array, y: Array) -> tuple[Gradient, Array]:
        """By (q, v, a) and p: a complex step through the gradient, exact. By p twice: central differences of exact
        first derivatives."""
        full = np.zeros((len(q), self.model.n_v))
        full[:, self._columns] = y
        mixed = []
        for path in self.parameters:
            stepped = self.model.with_values({path: self.model.value(path) + 1j * STEP})
            mixed.append([x.imag / STEP for x in inverse_dynamics_gradient(stepped, q, v, a, full, loads=self.loads)])
        by = {level: np.stack([m[k] for m in mixed], axis=-1) for k, level in enumerate(("q", "v", "a"))}
        return by, self._twice(q, v, a, y)

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
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(f"{name}.{axis}" for name in self.markers for axis in "xyz"))

    def _numbers(self) -> Array:
        return numbers_of(self.model, self.parameters)

    def at(self, numbers: Array) -> Points:
        return replace(self, model=with_numbers(self.model, self.parameters, numbers))

    def partials_p(self, q: Array, v: Array, a: Array) -> Array:
        D = marker_derivatives(self.model, self.markers, q, wrt=self.parameters)
        return D.x_p.reshape(len(q), self.m, len(self.parameters))

    def curvature_p(self, q: Array, v: Array, a: Array, y: Array) -> tuple[Gradient, Array]:
        forces = y.reshape(len(q), len(self.markers), 3)
        _, mixed = contracted_hessian(self.model, self.markers, q, forces, wrt=self.parameters)
        return {"q": mixed}, self._twice(q, v, a, y)

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
