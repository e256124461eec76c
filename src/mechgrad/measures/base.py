"""What every measure is: numbers of a state, with their derivatives.

A measure y(q, v, a, lam, p, t) states its values. Everything else has a default that is exact or says how exact it is:
partials and gradients by complex steps through the values, curvature by differences of the gradients. A measure that
knows better states it itself.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from mechgrad.dynamics.samples import StateSamples as StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.model.columns import STEP
from mechgrad.model.primitives.attached import check_reference, places
from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.model.primitives.rows import MEASURE_TYPES
from mechgrad.typing import Array, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

SHORT = 2e-3  # step of differences, relative to coordinates of at least 0.1: errors of order 1e-11
LEVELS = ("q", "v", "a")


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


class Curvature(NamedTuple):
    """Second derivatives of a sum of weighted values in every state, (nt, n_v, n_v); None stands for zero.

    Entry [t, i, j] of `qv` is the derivative of the gradient's q_i by v_j; by q along `model.integrate`, as always.
    """

    qq: FloatArray | None = None
    qv: FloatArray | None = None
    qa: FloatArray | None = None
    vv: FloatArray | None = None
    va: FloatArray | None = None
    aa: FloatArray | None = None


@dataclass(frozen=True)
class Measure:
    """Numbers of a state. A new one states `values`, and what it depends on.

    uses : which of "q", "v", "a", "lam" it depends on
    depends_on_forces : whether it depends on tau and loads, too
    depends_on_time : whether it depends on time besides
    unit : of its numbers, "1" for pure ones, "" where it cannot be said; where only a model knows, `columns` does
    parts : names of its numbers, where it has several
    name : what plots, starts and drawings call it; its class and fields if left out

    A measure that force laws may read and push against, that drivers may move and `assemble` may hold, states the row
    of `model.primitives.rows` that it is, too:  row(where) -> Row.
    """

    uses: ClassVar[str] = "q v a"
    depends_on_forces: ClassVar[bool] = False
    depends_on_time: ClassVar[bool] = False
    unit: ClassVar[str] = ""
    parts: ClassVar[tuple[str, ...]] = ()

    name: str = field(default="", kw_only=True, repr=False)

    def __init_subclass__(cls) -> None:
        if ABC not in cls.__bases__ and not cls.__name__.startswith("_"):
            MEASURE_TYPES.setdefault(cls.__name__, cls)

    @property
    def label(self) -> str:
        """Its name, or its class and fields: 'Distance(P1, P2)'."""
        given = (getattr(self, f.name) for f in fields(self) if f.name != "name")
        return self.name or f"{type(self).__name__}({', '.join(map(str, given))})"

    def columns(self, model: Model) -> tuple[tuple[str, str], ...]:
        """Name and unit of each of its numbers, (("x", "m"), ("y", "m"), ("z", "m")); a single one needs no name."""
        return tuple((part, self.unit) for part in self.parts) or (("", self.unit),)

    def check_model(self, model: NamedParts, what: str) -> None:
        """Raise unless the model has every marker and coordinate that is named here."""
        place_of = places(model)
        for f in fields(self):
            if "refers" in f.metadata:
                check_reference(model, place_of, f.metadata["refers"], getattr(self, f.name), f"{what}: {f.name}")

    def values(self, at: StateSamples) -> Array:
        """(nt, ...) in all states; complex-safe: no abs, norm or conj."""
        raise TypeError(f"{type(self).__name__} states no values")  # pragma: no cover - every measure does

    def depends_on(self, at: StateSamples, parameters: MotionParameters) -> Sequence[int]:
        """Positions of the parameters it may depend on explicitly."""
        return parameters.in_model

    def gradients(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Gradients:
        """Gradients of  sum_i weights_i . values_i,  weights (nt, k, size); what costs less than all partials states
        it itself."""
        found = self.partials(at, parameters)
        q, v, a, lam = (None if part is None else product(weights, part) for part in found[:4])
        by_p = None if found.p is None else np.tensordot(weights, found.p, ([0, 2], [0, 1]))
        return Gradients(q, v, a, lam, by_p)

    def partials(self, at: StateSamples, parameters: MotionParameters) -> Partials:
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
        if self.depends_on_forces:
            depends_on += [k for k in parameters.acting if k not in parameters.in_model and parameters.on_motion(k)]
        by_p = self.by_parameters(at, parameters, depends_on)
        return Partials(along("q", n), along("v", n), along("a", n), by_lam, by_p)

    def by_parameters(
        self, at: StateSamples, parameters: MotionParameters, depends_on: Sequence[int]
    ) -> FloatArray | None:
        """Derivatives by some of the parameters, by complex steps, (nt, size, np); None if there are none."""
        if not depends_on:
            return None
        nt, size = len(at.states.t), int(np.prod(np.shape(self.values(at))[1:]))
        by_p, q = np.zeros((nt, size, len(parameters))), at.states.q + 0j
        for k in depends_on:
            tau, loads = parameters.moved_forces(k) if self.depends_on_forces else (at.tau, at.loads)
            model = parameters.moved(k) if k in parameters.in_model else at.model
            moved = at._replace(model=model, tau=tau, loads=loads, states=at.states._replace(q=q))
            by_p[:, :, k] = np.asarray(self.values(moved)).imag.reshape(nt, -1) / STEP
        return by_p

    def curvature(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Curvature:
        """Second derivatives of  sum weights . values  in every state, weights (nt, size), by q, v and a.

        Here: central differences of fourth order of the exact gradients, 1e-11 or so for smooth measures.
        """
        own = [level for level in LEVELS if level in self.uses.split()]
        nt, n = len(at.states.t), at.model.n_v

        def gradients(level: str, j: int, steps: FloatArray) -> dict[str, FloatArray]:
            x = getattr(at.states, level)
            d = steps[:, None] * np.eye(n)[j]
            moved = at.model.integrate(x, d) if level == "q" else x + d
            here = at._replace(states=at.states._replace(**{level: np.asarray(moved)}))
            found = self.gradients(here, parameters, weights[:, None, :])
            return {name: np.zeros((nt, n)) if (g := getattr(found, name)) is None else g[:, 0] for name in own}

        blocks = {a + b: np.zeros((nt, n, n)) for i, a in enumerate(own) for b in own[i:]}
        for level in own:
            for j in range(n):
                size = np.full(nt, 0.1)
                if level != "q":
                    size = np.maximum(size, np.abs(getattr(at.states, level)[:, j]))
                h = SHORT * size
                far, near, back, behind = (gradients(level, j, k * h) for k in (2, 1, -1, -2))
                for name in own[: own.index(level) + 1]:
                    change = 8 * (near[name] - back[name]) - (far[name] - behind[name])
                    blocks[name + level][:, :, j] = change / (12 * h)[:, None]
        return Curvature(**blocks)


def product(weights: FloatArray, part: FloatArray) -> FloatArray:
    """(nt, k, size) times (nt, size, n); sums over the few components are quicker than small matrix products."""
    if weights.shape[2] > 12:
        return np.asarray(weights @ part)
    total = weights[:, :, :1] * part[:, :1, :]
    for s in range(1, weights.shape[2]):
        total += weights[:, :, s : s + 1] * part[:, s : s + 1, :]
    return np.asarray(total)
