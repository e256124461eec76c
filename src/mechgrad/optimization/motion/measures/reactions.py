"""Wrenches in joints: what the parent exerts on the child, as `joint_reactions(..., axes="child")` reports it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.inverse.probes import Probed, probed
from mechgrad.inverse.second_order import inverse_dynamics_hessian
from mechgrad.inverse.spatial import inverse_dynamics, inverse_dynamics_derivatives
from mechgrad.kinematics.batch import tree_of
from mechgrad.optimization.motion.measures.base import ModelMeasure, with_numbers
from mechgrad.optimization.motion.measures.torques import AnyLoad, loads_at
from mechgrad.optimization.motion.samples import (
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False)
class Reactions(ModelMeasure):
    """Couple [N m] and force [N] that a joint transmits, six numbers per joint, child's axes.

    They are generalized forces of six frozen coordinates put into the joint (`probed`), which gives their first and
    second derivatives.
    """

    model: Model
    joints: tuple[str, ...]
    loads: Sequence[AnyLoad] | None = None
    parameters: tuple[str, ...] = ()
    probes: Probed | None = None
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.probes is None:
            object.__setattr__(self, "probes", probed(self.model, self.joints))
        parts = [f"{what}.{axis}" for what in ("couple", "force") for axis in "xyz"]
        object.__setattr__(self, "names", tuple(f"{joint} {part}" for joint in self.joints for part in parts))

    @property
    def key(self) -> Hashable:
        return ("reactions", id(self.model), self.joints, tuple(map(id, self.loads or ())), self.parameters)

    def at(self, numbers: Array) -> Reactions:
        model = with_numbers(self.model, self.parameters, numbers)
        values = dict(zip(self.parameters, numbers.tolist(), strict=True))
        return replace(self, model=model, probes=self._probed.at(values))

    @property
    def _probed(self) -> Probed:
        assert self.probes is not None  # made above
        return self.probes

    @cached_property
    def _rows(self) -> Array:
        return np.concatenate([self._probed.probes[joint] for joint in self.joints])

    def _motion(self, s: Samples) -> tuple[Array, Array, Array, list]:  # type: ignore[type-arg]
        p = self._probed
        loads = loads_at(self.loads, s.xi)
        return p.widen_q(s.q), p.widen(s.v), p.widen(s.a), loads

    def values(self, s: Samples) -> Array:
        q, v, a, loads = self._motion(s)
        return np.asarray(inverse_dynamics(self._probed.model, q, v, a, loads=loads)[:, self._rows])

    @cached_property
    def _narrow(self) -> Array:
        """Columns of the probed model as columns of the original, -1 for probes."""
        back = np.full(self._probed.model.n_v, -1)
        back[self._probed.columns] = np.arange(self.model.n_v)
        return back

    @cached_property
    def _kept(self) -> Array:
        pattern = tree_of(self._probed.model).pattern
        return np.flatnonzero(np.isin(pattern.rows, self._rows) & (self._narrow[pattern.cols] >= 0))

    @cached_property
    def structure(self) -> Structure:
        pattern = tree_of(self._probed.model).pattern
        place = np.full(self._probed.model.n_v, -1)
        place[self._rows] = np.arange(self.m)
        rows, cols = place[pattern.rows[self._kept]], self._narrow[pattern.cols[self._kept]]
        return Structure(self.m, rows, cols, dict.fromkeys("qva", np.ones(rows.size, bool)))

    def partials(self, s: Samples) -> Partials:
        q, v, a, loads = self._motion(s)
        D = inverse_dynamics_derivatives(self._probed.model, q, v, a, loads=loads)
        by = {level: x.values[:, self._kept] for level, x in (("q", D.dq), ("v", D.dv), ("a", D.da))}
        return Partials(self.structure, by)

    @cached_property
    def _kept_pairs(self) -> Array:
        pattern = tree_of(self._probed.model).pattern
        return np.flatnonzero((self._narrow[pattern.rows] >= 0) & (self._narrow[pattern.cols] >= 0))

    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        pattern = tree_of(self._probed.model).pattern
        rows, cols = self._narrow[pattern.rows[self._kept_pairs]], self._narrow[pattern.cols[self._kept_pairs]]
        return CurvatureStructure(rows, cols, dict.fromkeys(("qq", "qv", "vv", "qa"), np.ones(rows.size, bool)))

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        q, v, a, loads = self._motion(s)
        full = np.zeros((s.nt, self._probed.model.n_v))
        full[:, self._rows] = y
        H = inverse_dynamics_hessian(self._probed.model, q, v, a, full, loads=loads)
        blocks = {k: x.values[:, self._kept_pairs] for k, x in (("qq", H.qq), ("qv", H.qv), ("vv", H.vv), ("qa", H.qa))}
        columns = self._probed.columns
        return Curvature(self.curvature_structure, blocks), {
            "q": H.q[:, columns],
            "v": H.v[:, columns],
            "a": H.a[:, columns],
        }

    def partials_p(self, s: Samples) -> Array:
        q, v, a, loads = self._motion(s)
        D = inverse_dynamics_derivatives(self._probed.model, q, v, a, loads=loads, wrt=self.parameters)
        return np.asarray(D.dp.dense()[:, self._rows])
