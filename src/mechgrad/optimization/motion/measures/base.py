"""What can be limited, fixed or penalised along a motion: functions of q, v, a and jerk at each sample, with their
derivatives.

A measure is m numbers per sample. It states its values, its sparse first partials, and the curvature of y . values
for multipliers y. A new one is one class; the problem knows nothing else of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.optimization.motion.measures.motion_samples import (
    NO_CURVATURE,
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.tolerances import COMPLEX_STEP
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model

STEP = COMPLEX_STEP
_M = TypeVar("_M", bound="SampleFunction")


def columns_of(model: Model, names: Sequence[str] | str | None) -> Array:
    """Indices of velocities by name; all if None."""
    if names is None:
        return np.arange(model.n_v)
    found = []
    for name in [names] if isinstance(names, str) else names:
        if name not in model.v_names:
            raise unknown_name("joint coordinate", name, model.v_names, f"model {model.name!r}")
        found.append(model.v_names.index(name))
    if not found or len(set(found)) != len(found):
        raise InputError(f"joints is {names!r}; name at least one coordinate, each once.")
    return np.array(found, int)


def numbers_of(model: Model, paths: Sequence[str]) -> Array:
    """Present values of some numbers of a model."""
    return np.array([model.value(path) for path in paths], float)


def with_numbers(model: Model, paths: Sequence[str], numbers: Array) -> Model:
    """The model with other values of these numbers."""
    return model.with_values(dict(zip(paths, numbers.tolist(), strict=True)))


def fourth_order(function: Callable[[Array], Array], p: Array) -> Array:
    """d function / dp, (..., n_p), by central differences of fourth order: 1e-11 or so of smooth functions."""
    columns = []
    for j, number in enumerate(p):
        h = 2e-4 * max(abs(number), 0.1)
        moved = []
        for step in (2, 1, -1, -2):
            at = p.copy()
            at[j] += step * h
            moved.append(function(at))
        columns.append((8 * (moved[1] - moved[2]) - (moved[0] - moved[3])) / (12 * h))
    return np.stack(columns, axis=-1)


class SampleFunction(ABC):
    """m numbers per sample of a motion."""

    names: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    """Free numbers of the model that it depends on."""
    analytic: bool = True
    """Whether derivatives that vanish at random motions vanish everywhere; not so where forces set in."""

    @property
    def m(self) -> int:
        """How many."""
        return len(self.names)

    @property
    def key(self) -> Hashable:
        """Measures with equal keys are the same function and are evaluated once."""
        return (type(self).__name__, id(self))

    @property
    def family(self) -> Hashable | None:
        """Measures of one family can be joined into one that has the rows of all."""
        return None

    def joined(self, others: Sequence[SampleFunction]) -> tuple[SampleFunction, list[Array]]:
        """All `others` of its family, which it is among, as one measure, and the rows of each in it."""
        raise TypeError(f"{type(self).__name__} has no family")

    def on(self, xi: Array) -> SampleFunction:
        """The same measure for samples at these instants: load schedules, contact phases."""
        return self

    # -------------------------------------------------------------------------------------------------- the motion
    @abstractmethod
    def values(self, s: Samples) -> Array:
        """(nt, m)"""

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """Where its partials can differ from zero."""

    @abstractmethod
    def partials(self, s: Samples) -> Partials:
        """First derivatives."""

    @property
    def curvature_structure(self) -> CurvatureStructure:
        """Where second derivatives can differ from zero: nowhere for a linear measure."""
        return NO_CURVATURE

    @abstractmethod
    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        """Second derivatives and gradient of sum y . values, y (nt, m) fixed."""

    # -------------------------------------------------------------------------------------- free numbers of the model
    def freed(self, paths: tuple[str, ...]) -> SampleFunction:
        """The same measure as a function of free numbers of the model, if it is one."""
        return self

    def at(self, numbers: Array) -> SampleFunction:
        """The same measure with these values of its parameters."""
        return self

    def numbers(self) -> Array:
        """Present values of the parameters."""
        return np.zeros(0)

    def partials_p(self, s: Samples) -> Array:
        """By the parameters, (nt, m, n_p)."""
        return np.zeros((s.nt, self.m, 0))

    def curvature_p(self, s: Samples, y: Array) -> tuple[Gradient, Array]:
        """Second derivatives of sum y . values by the motion and the parameters (nt, n, n_p), and by the parameters
        (n_p, n_p). Here: fourth-order differences of the exact first ones."""
        p = self.numbers()
        levels = self.structure.levels
        mixed = {}
        for level in levels:
            mixed[level] = fourth_order(lambda x, level=level: self.at(x).curvature(s, y)[1][level], p)  # type: ignore[misc]
        return mixed, self.second_derivatives(s, y)

    def second_derivatives(self, s: Samples, y: Array) -> Array:
        """Second derivatives of sum y . values by the parameters: fourth-order differences of the exact first
        ones."""
        found = fourth_order(lambda x: np.einsum("tr,trp->p", y, self.at(x).partials_p(s)), self.numbers())
        return np.asarray(found + found.T) / 2


class ModelFunction(SampleFunction):
    """A measure that is a frozen dataclass with fields `model` and `parameters`."""

    model: Model

    def freed(self, paths: tuple[str, ...]) -> SampleFunction:
        return _replaced(self, parameters=paths)

    def at(self, numbers: Array) -> SampleFunction:
        return _replaced(self, model=with_numbers(self.model, self.parameters, numbers))

    def numbers(self) -> Array:
        return numbers_of(self.model, self.parameters)


def _replaced(measure: _M, **changes: Any) -> _M:
    return replace(measure, **changes)  # type: ignore[type-var]
