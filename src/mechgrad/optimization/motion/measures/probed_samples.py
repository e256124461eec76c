"""Samples of a mechanism as samples of its probed model (`inverse.probes`), and columns of one as columns of the other.

Profiles behind the coordinates (forces in cuts, multipliers, time) stand behind those of the probed model, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.inverse.probes import Probed
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.element_forces import ElementForces
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad, CutForce, Torques
from mechgrad.optimization.motion.measures.motion_samples import Samples
from mechgrad.optimization.motion.measures.sums import Sum
from mechgrad.optimization.motion.measures.times import Times
from mechgrad.typing import Array, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False)
class Acting:
    """What acts in a mechanism besides its drives and loads: forces in hand-made cuts, rows with multipliers, time.

    first : column of the first multiplier's profile
    """

    cuts: tuple[CutForce, ...] = ()
    rows: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    first: int = 0
    times: Times = field(default_factory=Times)

    def moved(self, by: int) -> Acting:
        """The same with so many coordinates more in front of the other profiles."""
        column = self.times.column
        return replace(self, first=self.first + by, times=replace(self.times, column=column + by * (column >= 0)))

    def forces(self, model: Model, loads: Sequence[AnyLoad] | None) -> SampleFunction:
        """Generalized forces of a mechanism under all of that."""
        if not has_elements(model):
            return Torques(model, loads, self.cuts)
        tree = model.cached("open tree", lambda m: m.open_tree())
        return Sum((Torques(tree, loads, self.cuts), ElementForces(model, self.rows, self.first, self.times)))


def forces_of(probes: Probed, acting: Acting, loads: Sequence[AnyLoad] | None) -> SampleFunction:
    """Generalized forces of a probed model, with the wrenches among them."""
    return acting.moved(probes.model.n_v - probes.columns.size).forces(probes.model, loads)


def widened(probes: Probed, s: Samples) -> Samples:
    """Samples with the probes at rest; made once."""

    def make() -> Samples:
        n = probes.columns.size
        z = np.zeros((*s.z.shape[:2], s.z.shape[2] + probes.model.n_v - n), s.z.dtype)
        z[:, :, probes.columns] = s.z[:, :, :n]
        z[:, :, probes.model.n_v :] = s.z[:, :, n:]
        q = None if s.configuration is None else probes.widen_q(s.configuration)
        return Samples(z, probes.model.n_v, s.xi, q)

    return s.remember(("widened", tuple(probes.probes), probes.model.n_v), make)


def narrowed(probes: Probed, cols: Array) -> Array:
    """Columns of the probed model's profiles as columns of the original's, -1 for probes."""
    n, wide = probes.columns.size, probes.model.n_v
    back = np.full(wide, -1)
    back[probes.columns] = np.arange(n)
    return np.where(cols < wide, back[np.minimum(cols, wide - 1)], cols - wide + n)


def original_columns(probes: Probed, width: int) -> Array:
    """Where each of `width` profiles of the original stands among those of the probed model."""
    n, wide = probes.columns.size, probes.model.n_v
    return np.concatenate([probes.columns, wide + np.arange(width - n)])
