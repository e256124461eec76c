"""Positions and velocities of points."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kinematics.marker_motions import (
    MarkerDerivatives,
    contracted_hessian,
    marker_body,
    marker_columns,
    marker_derivatives,
    marker_motion,
)
from mechgrad.optimization.motion.measures.ball_points import joints_of, velocity_curvature
from mechgrad.optimization.motion.measures.base import ModelFunction, SampleFunction
from mechgrad.optimization.motion.measures.motion_samples import (
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


class _Marked(ModelFunction):
    """Three numbers per marker; derivatives along the chain of joints that carries it."""

    model: Model
    markers: Sequence[str]

    @property
    def family(self) -> Hashable:
        return (type(self).__name__, id(self.model))

    def joined(self, others: Sequence[SampleFunction]) -> tuple[SampleFunction, list[Array]]:
        given = [list(m.markers) for m in others if isinstance(m, _Marked)]
        every = list(dict.fromkeys(name for names in given for name in names))
        rows = [np.concatenate([3 * every.index(name) + np.arange(3) for name in names]) for names in given]
        return replace(self, markers=tuple(every)), rows  # type: ignore[type-var]

    def _derivatives(self, s: Samples) -> MarkerDerivatives:
        return s.remember((self, "derivatives"), lambda: marker_derivatives(self.model, self.markers, s.q, s.v))

    @cached_property
    def _chains(self) -> list[Array]:
        return [np.array(marker_columns(self.model, name), int) for name in self.markers]

    @cached_property
    def _places(self) -> tuple[Array, Array]:
        rows = [np.repeat(3 * k + np.arange(3), chain.size) for k, chain in enumerate(self._chains)]
        cols = [np.tile(chain, 3) for chain in self._chains]
        return np.concatenate([*rows, []]).astype(int), np.concatenate([*cols, []]).astype(int)

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        related = np.zeros((self.model.n_v, self.model.n_v), bool)
        for chain in self._chains:
            related[np.ix_(chain, chain)] = True
        rows, cols = np.nonzero(related)
        return rows, cols

    def _packed(self, J: Array) -> Array:
        """(nt, markers, 3, n_v) in the pattern."""
        rows, cols = self._places
        return np.asarray(J.reshape(len(J), -1, J.shape[-1])[:, rows, cols])


def _check(model: Model, markers: Sequence[str]) -> None:
    if isinstance(markers, str):
        raise InputError(f"markers is the string {markers!r}; give a list of names: [{markers!r}].")
    if not markers:
        raise InputError("markers is empty; name at least one point.")
    for name in markers:
        marker_columns(model, name)
        if name.endswith(".spin"):
            raise InputError(f"{name!r} is an angular velocity; name a point.")


@final
@dataclass(frozen=True, eq=False)
class Points(_Marked):
    """World positions of points, three numbers each [m]."""

    model: Model
    markers: Sequence[str]
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        _check(self.model, self.markers)
        object.__setattr__(self, "names", tuple(f"{name}.{axis}" for name in self.markers for axis in "xyz"))

    @property
    def key(self) -> Hashable:
        return ("points", id(self.model), tuple(self.markers), self.parameters)

    def values(self, s: Samples) -> Array:
        return marker_motion(self.model, self.markers, s.q).position.reshape(s.nt, -1)

    @cached_property
    def structure(self) -> Structure:
        rows, cols = self._places
        return Structure(self.m, rows, cols, {"q": np.ones(rows.size, bool)})

    def partials(self, s: Samples) -> Partials:
        return Partials(self.structure, {"q": self._packed(self._derivatives(s).x_q)})

    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        rows, cols = self._pairs
        return CurvatureStructure(rows, cols, {"qq": np.ones(rows.size, bool)})

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        forces = y.reshape(s.nt, len(self.markers), 3)
        H, _ = contracted_hessian(self.model, self.markers, s.q, forces)
        J = self._derivatives(s).x_q
        rows, cols = self._pairs
        return Curvature(self.curvature_structure, {"qq": H[:, rows, cols]}), {
            "q": np.einsum("tmkc,tmk->tc", J, forces)
        }

    def partials_p(self, s: Samples) -> Array:
        D = marker_derivatives(self.model, self.markers, s.q, wrt=self.parameters)
        return D.x_p.reshape(s.nt, self.m, len(self.parameters))

    def curvature_p(self, s: Samples, y: Array) -> tuple[Gradient, Array]:
        forces = y.reshape(s.nt, len(self.markers), 3)
        _, mixed = contracted_hessian(self.model, self.markers, s.q, forces, wrt=self.parameters)
        return {"q": mixed}, self.second_derivatives(s, y)


@final
@dataclass(frozen=True, eq=False)
class PointVelocities(_Marked):
    """World velocities of points, three numbers each [m/s]:  J(q) v.

    With joint axes w_i (zero for a slide), columns J_i of the point's Jacobian and l, m in the order from the ground,
    the third derivatives of a position are w_l x (w_m x J_i), whence for y . J v and l before m

        L_lm = y . ( W_l x (w_l x J_m) + w_l x ((W_m - W_l) x J_m) + w_l x (w_m x V_m) )

    where W_l = sum of v_i w_i up to l, V_m = sum of v_i J_i beyond m.
    """

    model: Model
    markers: Sequence[str]
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        _check(self.model, self.markers)
        object.__setattr__(self, "names", tuple(f"velocity of {name}.{x}" for name in self.markers for x in "xyz"))

    @property
    def key(self) -> Hashable:
        return ("point velocities", id(self.model), tuple(self.markers), self.parameters)

    def values(self, s: Samples) -> Array:
        return marker_motion(self.model, self.markers, s.q, s.v).velocity.reshape(s.nt, -1)

    @cached_property
    def structure(self) -> Structure:
        rows, cols = self._places
        return Structure(self.m, rows, cols, dict.fromkeys("qv", np.ones(rows.size, bool)))

    def partials(self, s: Samples) -> Partials:
        D = self._derivatives(s)
        return Partials(self.structure, {"q": self._packed(D.xd_q), "v": self._packed(D.x_q)})

    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        rows, cols = self._pairs
        return CurvatureStructure(rows, cols, dict.fromkeys(("qq", "qv"), np.ones(rows.size, bool)))

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        forces = y.reshape(s.nt, len(self.markers), 3)
        H, _ = contracted_hessian(self.model, self.markers, s.q, forces)
        H = H.swapaxes(1, 2)  # by q_i and v_j; symmetric but for balls
        balls = self.model.layout.ball_v
        D = self._derivatives(s)
        rows, cols = self._pairs
        qq = np.zeros_like(H)
        axes = self._axes(s.q)
        for k, chain in enumerate(self._chains):
            given = axes[:, k][:, :, chain], D.x_q[:, k][:, :, chain], s.v[:, chain], forces[:, k]
            curvature = velocity_curvature(*given, joints_of(chain, balls)) if balls.size else _third(*given)
            qq[:, chain[:, None], chain] += curvature
        g = {"q": np.einsum("tmkc,tmk->tc", D.xd_q, forces), "v": np.einsum("tmkc,tmk->tc", D.x_q, forces)}
        return Curvature(self.curvature_structure, {"qq": qq[:, rows, cols], "qv": H[:, rows, cols]}), g

    def _axes(self, q: Array) -> Array:
        """World axes of the hinges that carry the markers, (nt, markers, 3, n_v)."""
        spins = [f"{marker_body(self.model, name)}.spin" for name in self.markers]
        return marker_derivatives(self.model, spins, q).x_q

    def partials_p(self, s: Samples) -> Array:
        D = marker_derivatives(self.model, self.markers, s.q, s.v, wrt=self.parameters)
        return D.xd_p.reshape(s.nt, self.m, len(self.parameters))


def _third(w: Array, J: Array, v: Array, y: Array) -> Array:
    """L_lm of the class docstring for one marker: w, J (nt, 3, c), v (nt, c), y (nt, 3)."""
    w, J = w.swapaxes(1, 2), J.swapaxes(1, 2)
    W = np.cumsum(v[..., None] * w, axis=1)
    VJ = v[..., None] * J
    V = np.sum(VJ, axis=1, keepdims=True) - np.cumsum(VJ, axis=1)
    w_l, W_l = w[:, :, None], W[:, :, None]
    J_m, W_m = J[:, None], W[:, None]
    inner = np.cross(W_m - W_l, J_m) + np.cross(w, V)[:, None]
    total = np.cross(W_l, np.cross(w_l, J_m)) + np.cross(w_l, inner)
    upper = np.triu(np.einsum("tlmk,tk->tlm", total, y))
    return np.asarray(upper + np.triu(upper, 1).swapaxes(1, 2))
