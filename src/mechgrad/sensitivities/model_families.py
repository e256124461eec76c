"""What a certificate of a model asks, and where: states, and a family of answers with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from mechgrad.inverse.loads import Load
from mechgrad.model.model import Model
from mechgrad.sensitivities.numbers import Numbers, repeated
from mechgrad.typing import Array, FloatArray


class States(NamedTuple):
    """Samples (nt, n) of coordinates, velocities, and accelerations or forces; loads."""

    q: FloatArray
    v: FloatArray
    u: FloatArray
    loads: list[Load]

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.q, self.v, self.u

    @property
    def nt(self) -> int:
        return len(self.q)

    def moved(self, model: Model, which: int, points: Array) -> tuple[Array, Array, Array, list[Load]]:
        """All samples moved by each row of `points`, along q, v or u."""
        parts: list[Array] = [np.tile(x, (len(points), 1)) for x in self.parts]
        by = np.repeat(points, self.nt, axis=0)
        parts[which] = model.integrate(parts[0], by) if which == 0 else parts[which] + by
        return parts[0], parts[1], parts[2], repeated(self.loads, len(points))


class Family(NamedTuple):
    """A question to the model, and what the answer's derivatives are said to be.

    answer : (model, q, v, u, loads) to (nt, m)
    given : "dq", "dv", "da" or "dtau", "dp" to (nt, m, n)
    by_differences : those of `given` that are complex steps themselves, so that only differences can judge them
    """

    title: str
    outputs: tuple[str, ...]
    state: States
    answer: Callable[[Model, Array, Array, Array, list[Load]], Array]
    given: Mapping[str, FloatArray]
    numbers: Numbers
    tolerance: float
    by_differences: frozenset[str] = frozenset()

    def rows(self) -> tuple[str, ...]:
        nt = self.state.nt
        return self.outputs if nt == 1 else tuple(f"{name} @{k}" for k in range(nt) for name in self.outputs)

    def matrix(self, key: str) -> FloatArray:
        """The given derivatives of all samples, below each other."""
        given = self.given[key]
        return given.reshape(-1, given.shape[-1])
