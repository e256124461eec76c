"""Wrenches in joints: what the parent exerts on the child, as `joint_reactions(..., axes="child")` reports it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.inverse.probes import Probed, probed
from mechgrad.model.columns import STEP
from mechgrad.model.joints.base import inverted
from mechgrad.optimization.motion.measures.base import ModelFunction, SampleFunction, with_numbers
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad
from mechgrad.optimization.motion.measures.motion_samples import (
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.optimization.motion.measures.probed_samples import (
    Acting,
    forces_of,
    narrowed,
    original_columns,
    widened,
)
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False)
class Reactions(ModelFunction):
    """Couple [N m] and force [N] that a joint transmits, six numbers per joint, child's axes, about its point there.

        y = A(p) w(q, v, a, lam, t, p)

    w are generalized forces of six frozen coordinates put into the joint (`probed`), which gives their first and second
    derivatives. A is the unit matrix for joints of the tree; of a joint that is cut it turns the sign round and shifts
    w from the child's origin to the joint's point.

    In a problem the multipliers of loops, force elements, and time act as in its torques (`acting`).
    """

    model: Model
    joints: tuple[str, ...]
    loads: Sequence[AnyLoad] | None = None
    parameters: tuple[str, ...] = ()
    acting: Acting = field(default_factory=Acting)
    probes: Probed | None = None
    inner: SampleFunction | None = None  # generalized forces of the probed model
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.probes is None:
            object.__setattr__(self, "probes", probed(self.model, self.joints))
        if self.inner is None:
            object.__setattr__(self, "inner", forces_of(self._probed, self.acting, self.loads))
        parts = [f"{what}.{axis}" for what in ("couple", "force") for axis in "xyz"]
        object.__setattr__(self, "names", tuple(f"{joint} {part}" for joint in self.joints for part in parts))

    @property
    def key(self) -> Hashable:
        return ("reactions", id(self.model), self.joints, self._forces.key)

    @property
    def analytic(self) -> bool:  # type: ignore[override]
        return self._forces.analytic

    def freed(self, paths: tuple[str, ...]) -> Reactions:
        return replace(self, parameters=paths, inner=self._forces.freed(paths))

    def at(self, numbers: Array) -> Reactions:
        model = with_numbers(self.model, self.parameters, numbers)
        return replace(self, model=model, inner=self._forces.at(numbers))

    @property
    def _probed(self) -> Probed:
        assert self.probes is not None  # made above
        return self.probes

    @property
    def _forces(self) -> SampleFunction:
        assert self.inner is not None  # made above
        return self.inner

    @cached_property
    def _rows(self) -> Array:
        return np.concatenate([self._probed.probes[joint] for joint in self.joints])

    # ------------------------------------------------------------------------------------------- from probes to joints
    @property
    def _shifted(self) -> bool:
        return any(joint in self.model.cut for joint in self.joints)

    def _shift(self, model: Model) -> Array:
        """A (m, m), complex while a complex step travels through the model."""
        blocks = np.zeros((self.m, self.m), complex)
        for k, name in enumerate(self.joints):
            block, sign = blocks[6 * k : 6 * k + 6, 6 * k : 6 * k + 6], 1.0
            if name in model.cut:
                sign = -1.0
                # -(m - d x f), d the joint's point on its child
                block[:3, 3:] = np.cross(inverted(model.joint(name).tail())[1], np.eye(3)).T
            np.fill_diagonal(block, sign)
        return blocks

    @cached_property
    def _A(self) -> Array:
        return self._shift(self.model).real

    def values(self, s: Samples) -> Array:
        w = self._forces.values(widened(self._probed, s))[:, self._rows]
        return np.asarray(w @ self._A.T) if self._shifted else w

    # ---------------------------------------------------------------------------------------------------- first order
    @cached_property
    def _kept(self) -> tuple[Array, Structure]:
        """Entries of the probed model's derivatives that are by the motion, and the pattern of w."""
        inner, place = self._forces.structure, np.full(self._forces.m, -1)
        place[self._rows] = np.arange(self.m)
        rows, cols = place[inner.rows], narrowed(self._probed, inner.cols)
        kept = np.flatnonzero((rows >= 0) & (cols >= 0))
        levels = {level: mask[..., kept] for level, mask in inner.levels.items()}
        return kept, Structure(self.m, rows[kept], cols[kept], levels)

    @cached_property
    def structure(self) -> Structure:
        plain = self._kept[1]
        if not self._shifted:
            return plain
        width = 1 + int(plain.cols.max(initial=-1))
        # whatever the joint's point is: couples depend on all forces
        depends = np.kron(np.eye(len(self.joints)), np.kron([[1, 1], [0, 1]], np.ones((3, 3)))) > 0
        masks = {}
        for level, mask in plain.levels.items():
            dense = np.zeros((self.m, width), bool)
            dense[plain.rows, plain.cols] = mask
            masks[level] = depends @ dense
        rows, cols = np.nonzero(np.any([*masks.values()], axis=0))
        return Structure(self.m, rows, cols, {level: mask[rows, cols] for level, mask in masks.items()})

    def partials(self, s: Samples) -> Partials:
        kept, plain = self._kept
        given = self._forces.partials(widened(self._probed, s)).by
        found = Partials(plain, {level: values[:, kept] for level, values in given.items()})
        if not self._shifted:
            return found
        structure, width = self.structure, s.z.shape[2]
        by = {
            level: (self._A @ found.dense(level, width))[:, structure.rows, structure.cols]
            for level in structure.levels
        }
        return Partials(structure, by)

    # --------------------------------------------------------------------------------------------------- second order
    @cached_property
    def _kept_pairs(self) -> tuple[Array, CurvatureStructure]:
        inner = self._forces.curvature_structure
        rows, cols = narrowed(self._probed, inner.rows), narrowed(self._probed, inner.cols)
        depends = np.unique(self.structure.cols)  # others act elsewhere in the mechanism
        kept = np.flatnonzero(np.isin(rows, depends) & np.isin(cols, depends))
        pairs = {pair: mask[..., kept] for pair, mask in inner.pairs.items()}
        return kept, CurvatureStructure(rows[kept], cols[kept], pairs)

    @property
    def curvature_structure(self) -> CurvatureStructure:
        return self._kept_pairs[1]

    def _weights(self, y: Array) -> Array:
        """Weights of the probed model's forces."""
        full = np.zeros((len(y), self._forces.m))
        full[:, self._rows] = y @ self._A if self._shifted else y
        return full

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        kept, structure = self._kept_pairs
        inner, g = self._forces.curvature(widened(self._probed, s), self._weights(y))
        blocks = {pair: values[:, kept] for pair, values in inner.blocks.items()}
        return Curvature(structure, blocks), {level: self._narrow(x, s) for level, x in g.items()}

    def _narrow(self, x: Array, s: Samples) -> Array:
        """By the motion alone, (nt, columns, ...): of all profiles, or of the coordinates."""
        width = s.z.shape[2] if x.shape[1] > self._probed.model.n_v else self._probed.columns.size
        return np.asarray(x[:, original_columns(self._probed, width)])

    # -------------------------------------------------------------------------------------- free numbers of the model
    def partials_p(self, s: Samples) -> Array:
        wide = widened(self._probed, s)
        found = self._forces.partials_p(wide)[:, self._rows]
        if not self._shifted:
            return np.asarray(found)
        found, w = self._A @ found, self._forces.values(wide)[:, self._rows]
        for k, path in enumerate(self.parameters):
            moved = self.model.stepped({path: self.model.value(path) + 1j * STEP})
            found[:, :, k] += w @ (self._shift(moved).imag / STEP).T
        return np.asarray(found)

    def curvature_p(self, s: Samples, y: Array) -> tuple[Gradient, Array]:
        if self._shifted:  # A moves with the numbers, too: differences of exact derivatives
            return super().curvature_p(s, y)
        mixed, second = self._forces.curvature_p(widened(self._probed, s), self._weights(y))
        return {level: self._narrow(x, s) for level, x in mixed.items()}, second
