"""Any measure of `mechgrad.measures` as a function of samples, for limits and costs.

Values, first derivatives and curvature are the measure's own; what vanishes for a mechanism is pruned as always.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.measures.base import Measure, StateSamples
from mechgrad.optimization.motion.measures.base import ModelFunction
from mechgrad.optimization.motion.measures.motion_samples import (
    PAIRS,
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
class _Still:
    """A mechanism with what parameters ask of any motion: a model, a system, no start of its own."""

    start = None
    forced = False

    def __init__(self, model: Model) -> None:
        self.model, self.system = model, System(model)
        self.tau, self.loads = self.system.tau, self.system.loads
        self.q, self.v, self.t = model.neutral()[None], np.zeros((1, model.n_v)), np.zeros(1)


@final
@dataclass(frozen=True, eq=False)
class Measured(ModelFunction):
    """The numbers of a measure at every sample.

    >>> Measured(model, mg.measures.PointPosition("bob.com")).names
    ('PointPosition(bob.com)[0]', 'PointPosition(bob.com)[1]', 'PointPosition(bob.com)[2]')
    """

    model: Model
    measure: Measure
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        measure, label = self.measure, self.measure.label
        if measure.depends_on_forces or measure.depends_on_time or "lam" in measure.uses.split():
            raise InputError(
                f"{label}: in a motion problem forces follow from the motion, and times may be unknown; of measures of "
                "forces and of time it knows mg.measures.Multiplier, Effort and JointReaction. Limit one of these, "
                "torques (TorqueLimits), or a measure of the motion itself."
            )
        still = np.zeros((1, self.model.n_v))
        shape = np.shape(measure.values(self._states(self.model.neutral()[None], still, still)))[1:]
        size = int(np.prod(shape))
        names = tuple(f"{label}[{k}]" for k in range(size)) if shape else (label,)
        object.__setattr__(self, "names", names)

    def _states(self, q: Array, v: Array, a: Array) -> StateSamples:
        """States to be measured; forces and times are none of their business."""
        nt, system = len(q), self._case.system
        states = States(q, v, a, np.zeros((nt, system.n_constraints)), np.zeros(nt))
        return StateSamples(self.model, states, system.tau, system.loads, system.names, "trapezoid")

    def _at(self, s: Samples) -> StateSamples:
        return self._states(s.q, s.v, s.a)

    @cached_property
    def _case(self) -> _Still:
        return _Still(self.model)

    @cached_property
    def _numbers(self) -> Parameters:
        return Parameters(cast(Any, self._case), list(self.parameters), needed=False)

    @cached_property
    def _levels(self) -> tuple[str, ...]:
        return tuple(level for level in "qva" if level in self.measure.uses.split())

    @property
    def key(self) -> Hashable:
        return ("measured", id(self.model), self.measure, self.parameters)

    def values(self, s: Samples) -> Array:
        return np.asarray(self.measure.values(self._at(s))).reshape(s.nt, -1)

    @cached_property
    def structure(self) -> Structure:
        n = self.model.n_v
        every = np.ones(self.m * n, bool)
        rows, cols = np.repeat(np.arange(self.m), n), np.tile(np.arange(n), self.m)
        return Structure(self.m, rows, cols, dict.fromkeys(self._levels, every))

    def partials(self, s: Samples) -> Partials:
        each = np.broadcast_to(np.eye(self.m), (s.nt, self.m, self.m))
        return Partials(self.structure, {level: g.reshape(s.nt, -1) for level, g in self._gradients(s, each).items()})

    def _gradients(self, s: Samples, weights: Array) -> dict[str, Array]:
        """By level, (nt, k, n_v), of weights (nt, k, m)."""
        found = self.measure.gradients(self._at(s), self._numbers, np.ascontiguousarray(weights))
        zero = np.zeros((s.nt, weights.shape[1], self.model.n_v))
        return {level: zero if (g := getattr(found, level)) is None else g for level in self._levels}

    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        n = self.model.n_v
        pairs = [pair for pair in PAIRS if pair[0] in self._levels and pair[1] in self._levels]
        rows, cols = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
        return CurvatureStructure(rows, cols, dict.fromkeys(pairs, np.ones(n * n, bool)))

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        n = self.model.n_v
        found = self.measure.curvature(self._at(s), self._numbers, y)
        blocks = {}
        for pair in self.curvature_structure.pairs:
            block = getattr(found, pair)
            blocks[pair] = np.zeros((s.nt, n * n)) if block is None else block.reshape(s.nt, -1)
        g = {}
        for level, part in self._gradients(s, y[:, None, :]).items():
            g[level] = np.zeros((s.nt, s.z.shape[2]))
            g[level][:, :n] = part[:, 0]
        return Curvature(self.curvature_structure, blocks), g

    def partials_p(self, s: Samples) -> Array:
        found = self.measure.partials(self._at(s), self._numbers).p
        return np.zeros((s.nt, self.m, len(self.parameters))) if found is None else found
