"""Values and rates of constraint rows: closures of cut joints, constraint elements.

    value(q, t)        rate = Gamma v + rate_t(t)

Gamma and the rates' derivatives by q are analytic; second derivatives are complex steps through them, exact.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.kinematics.mechanism_record import RowValues, elements_of, evaluate_rows
from mechgrad.model.columns import STEP
from mechgrad.optimization.motion.measures.base import ModelFunction
from mechgrad.optimization.motion.measures.element_forces import Dependence, dependence_with
from mechgrad.optimization.motion.measures.motion_samples import (
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.optimization.motion.measures.times import Times
from mechgrad.typing import Array, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False)
class ConstraintRows(ModelFunction):
    """Values (`level` "value") or rates of some constraint rows, in the units of these.

    `rows` are positions among all constraint rows of the model, ascending; those at velocity level have rates alone.
    """

    model: Model
    rows: IntArray
    level: str = "value"
    times: Times = field(default_factory=Times)
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = elements_of(self.model).row_names
        of = "" if self.level == "value" else "rate of "
        object.__setattr__(self, "names", tuple(f"{of}{names[k]}" for k in self.rows))

    @property
    def key(self) -> Hashable:
        return ("rows", id(self.model), tuple(self.rows.tolist()), self.level, self.times, self.parameters)

    @cached_property
    def _real(self) -> System:
        return System(self.model, rows=self.rows)

    @cached_property
    def _complex(self) -> System:
        return System(self.model, rows=self.rows, dtype=complex)

    @cached_property
    def _dependence(self) -> Dependence:
        return dependence_with(self.model, self.rows, self.parameters)

    def _evaluated(self, system: System, s: Samples) -> RowValues:
        return evaluate_rows(system.T, s.q, s.v, None, self.times.at(s), 0, self.m)

    def _pick(self, found: RowValues) -> Array:
        return found.values if self.level == "value" else found.rates

    def values(self, s: Samples) -> Array:
        complex_ = any(np.iscomplexobj(x) for x in (s.q, s.z))
        return self._pick(self._evaluated(self._complex if complex_ else self._real, s))

    # ---------------------------------------------------------------------------------------------------- first order
    @property
    def _timed(self) -> bool:
        return self.times.column >= 0

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        rows, cols = np.nonzero(self._dependence.rows[: self.m])
        if self._timed:
            rows = np.concatenate([rows, np.arange(self.m)])
            cols = np.concatenate([cols, np.full(self.m, self.times.column)])
        return rows, cols

    @cached_property
    def structure(self) -> Structure:
        rows, cols = self._places
        levels = {"q": np.ones(rows.size, bool)}
        if self.level == "rate":
            levels["v"] = cols < self.model.n_v
        return Structure(self.m, rows, cols, levels)

    def partials(self, s: Samples) -> Partials:
        found = s.remember((self, "rows"), lambda: self._evaluated(self._real, s))
        rows, cols = self._places
        plain = cols < self.model.n_v
        by_q = np.zeros((s.nt, rows.size))
        J = found.J if self.level == "value" else found.J_rate
        by_q[:, plain] = J[:, rows[plain], cols[plain]]
        if self._timed:
            by_q[:, ~plain] = self._by_time(s)[:, rows[~plain]]
        by = {"q": by_q}
        if self.level == "rate":
            by["v"] = np.zeros_like(by_q)
            by["v"][:, plain] = found.J[:, rows[plain], cols[plain]]
        return Partials(self.structure, by)

    def _by_time(self, s: Samples, order: int = 1) -> Array:
        """Derivatives of the values by time alone, (nt, m): rates and second rates at rest."""
        rest = evaluate_rows(self._real.T, s.q, None, None, self.times.at(s), 0, self.m)
        return rest.rates if order == 1 else rest.seconds

    # --------------------------------------------------------------------------------------------------- second order
    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        rows, cols = np.nonzero(self._dependence.bent & np.outer(self._dependence.turned, self._dependence.turned))
        count = rows.size
        if self._timed:
            rows, cols = np.append(rows, self.times.column), np.append(cols, self.times.column)
        pairs = {"qq": np.ones(rows.size, bool)}
        if self.level == "rate":
            pairs["qv"] = np.arange(rows.size) < count
        return CurvatureStructure(rows, cols, pairs)

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        found = s.remember((self, "rows"), lambda: self._evaluated(self._real, s))
        n, width = self.model.n_v, s.z.shape[2]
        pairs = self.curvature_structure.pairs
        dense = {pair: np.zeros((s.nt, width, width)) for pair in pairs}
        g = {level: np.zeros((s.nt, width)) for level in self.structure.levels}
        J = found.J if self.level == "value" else found.J_rate
        g["q"][:, :n] = np.einsum("tmn,tm->tn", J, y)
        if self.level == "rate":
            g["v"][:, :n] = np.einsum("tmn,tm->tn", found.J, y)
        chosen = np.flatnonzero(self._dependence.turned)
        if chosen.size:
            steps = np.repeat(1j * STEP * np.eye(n)[chosen], s.nt, axis=0)
            q, v, w = (np.tile(x, (chosen.size, 1)) for x in (s.q, s.v, y))
            moved = np.asarray(self.model.integrate(q + 0j, steps))
            there = evaluate_rows(self._complex.T, moved, v, None, np.tile(self.times.at(s), chosen.size), 0, self.m)
            for pair, rows in (("qq", there.J if self.level == "value" else there.J_rate), ("qv", there.J)):
                if pair in dense:
                    slopes = np.einsum("tmn,tm->tn", rows.imag / STEP, w).reshape(chosen.size, s.nt, n)
                    for k, j in enumerate(chosen):
                        if pair == "qq":
                            dense[pair][:, :n, j] = slopes[k]
                        else:
                            dense[pair][:, j, :n] = slopes[k]
        if self._timed:
            g["q"][:, self.times.column] = np.sum(y * self._by_time(s), axis=1)
            dense["qq"][:, self.times.column, self.times.column] = np.sum(y * self._by_time(s, 2), axis=1)
        structure = self.curvature_structure
        blocks = {pair: x[:, structure.rows, structure.cols] for pair, x in dense.items()}
        return Curvature(structure, blocks), g

    # -------------------------------------------------------------------------------------- free numbers of the model
    def partials_p(self, s: Samples) -> Array:
        out = np.zeros((s.nt, self.m, len(self.parameters)))
        for k, path in enumerate(self.parameters):
            model = self.model.stepped({path: self.model.value(path) + 1j * STEP})
            system = System(model, rows=self.rows, dtype=complex)
            out[:, :, k] = self._pick(self._evaluated(system, s)).imag / STEP
        return out
