"""What every measure is: numbers of a state, with their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.inverse.loads import Load
from mechgrad.model.columns import STEP
from mechgrad.model.model import Model
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.typing import Array, FloatArray


class StateSamples(NamedTuple):
    """States in which something is measured; complex numbers travel through model and states.

    names : of the constraint rows that the multipliers belong to
    rule : the quadrature that suits how the states were made
    """

    model: Model
    states: States
    tau: Array
    loads: tuple[Load, ...]
    names: tuple[str, ...]
    rule: str

    def rows(self, which: slice) -> StateSamples:
        """Some of them."""
        return self._replace(states=self.states.rows(which))

    def system(self) -> System:
        """The mechanism of these states, with all its rows."""
        q, v, a, lam, _ = self.states
        dtype = complex if any(np.iscomplexobj(x) for x in (q, v, a, lam)) else None
        return System(self.model, self.tau, self.loads, dtype=dtype)


class Partials(NamedTuple):
    """Derivatives of the flattened values: by q, v, a (nt, size, n_v), multipliers (nt, size, m), parameters (nt, size,
    np); None stands for zero."""

    q: FloatArray | None = None
    v: FloatArray | None = None
    a: FloatArray | None = None
    lam: FloatArray | None = None
    p: FloatArray | None = None


class Gradients(NamedTuple):
    """Gradients of sums over time of weighted values: by q, v, a (nt, k, n_v), multipliers (nt, k, m), parameters (k,
    np); None stands for zero."""

    q: FloatArray | None = None
    v: FloatArray | None = None
    a: FloatArray | None = None
    lam: FloatArray | None = None
    p: FloatArray | None = None


@dataclass(frozen=True)
class Measure:
    """Numbers of a state. A new one states `values`, and what it depends on.

    uses : which of "q", "v", "a", "lam" it depends on
    feels_forces : whether it depends on tau and loads, too
    """

    uses: ClassVar[str] = "q v a"
    feels_forces: ClassVar[bool] = False

    def values(self, at: StateSamples) -> Array:
        """(nt, ...) in all states; complex-safe: no abs, norm or conj."""
        raise TypeError(f"{type(self).__name__} states no values")  # pragma: no cover - every measure does

    def depends_on(self, at: StateSamples, parameters: Parameters) -> Sequence[int]:
        """Positions of the parameters it may depend on explicitly."""
        return parameters.in_model

    def gradients(self, at: StateSamples, parameters: Parameters, weights: FloatArray) -> Gradients:
        """Gradients of  sum_i weights_i . values_i,  weights (nt, k, size); what costs less than all partials states
        it itself."""
        found = self.partials(at, parameters)
        q, v, a, lam = (None if part is None else product(weights, part) for part in found[:4])
        by_p = None if found.p is None else np.tensordot(weights, found.p, ([0, 2], [0, 1]))
        return Gradients(q, v, a, lam, by_p)

    def partials(self, at: StateSamples, parameters: Parameters) -> Partials:
        """Derivatives by complex steps, exact to rounding."""
        model, n = at.model, at.model.n_v
        nt = len(at.states.t)

        def slope(samples: StateSamples) -> FloatArray:
            return np.asarray(self.values(samples)).imag.reshape(nt, -1) / STEP

        def along(name: str, width: int) -> FloatArray | None:
            if name not in self.uses.split() or not width:
                return None
            columns = []
            for j in range(width):
                step = np.tile(1j * STEP * np.eye(width)[j], (nt, 1))
                x = getattr(at.states, name)
                moved = model.integrate(x + 0j, step) if name == "q" else x + step
                columns.append(slope(at._replace(states=at.states._replace(**{name: np.asarray(moved)}))))
            return np.stack(columns, axis=2)

        by_lam = along("lam", at.states.lam.shape[1])
        depends_on = list(self.depends_on(at, parameters))
        if self.feels_forces:
            depends_on += [k for k in parameters.acting if k not in parameters.in_model and parameters.on_motion(k)]
        by_p = self.by_parameters(at, parameters, depends_on)
        return Partials(along("q", n), along("v", n), along("a", n), by_lam, by_p)

    def by_parameters(self, at: StateSamples, parameters: Parameters, depends_on: Sequence[int]) -> FloatArray | None:
        """Derivatives by some of the parameters, by complex steps, (nt, size, np); None if there are none."""
        if not depends_on:
            return None
        nt, size = len(at.states.t), int(np.prod(np.shape(self.values(at))[1:]))
        by_p, q = np.zeros((nt, size, len(parameters))), at.states.q + 0j
        for k in depends_on:
            tau, loads = parameters.moved_forces(k) if self.feels_forces else (at.tau, at.loads)
            model = parameters.moved(k) if k in parameters.in_model else at.model
            moved = at._replace(model=model, tau=tau, loads=loads, states=at.states._replace(q=q))
            by_p[:, :, k] = np.asarray(self.values(moved)).imag.reshape(nt, -1) / STEP
        return by_p


def product(weights: FloatArray, part: FloatArray) -> FloatArray:
    """(nt, k, size) times (nt, size, n); sums over the few components are quicker than small matrix products."""
    if weights.shape[2] > 12:
        return np.asarray(weights @ part)
    total = weights[:, :, :1] * part[:, :1, :]
    for s in range(1, weights.shape[2]):
        total += weights[:, :, s : s + 1] * part[:, s : s + 1, :]
    return np.asarray(total)
