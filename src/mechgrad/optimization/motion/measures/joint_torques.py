"""Generalized forces, also under load schedules and under forces in cut joints."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.loads import Load
from mechgrad.inverse.second_order import inverse_dynamics_hessian
from mechgrad.inverse.spatial import inverse_dynamics, inverse_dynamics_derivatives
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.marker_motions import contracted_hessian, marker_body, marker_columns, marker_jacobian
from mechgrad.optimization.motion.measures.base import ModelFunction
from mechgrad.optimization.motion.measures.motion_samples import (
    Curvature,
    CurvatureStructure,
    Gradient,
    Partials,
    Samples,
    Structure,
)
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Course = ArrayLike | Callable[[Array], ArrayLike]


@final
@dataclass(frozen=True, eq=False)
class LoadSchedule:
    """A load that changes along the motion.

    Attributes
    ----------
    body, point, axes : as in `Load`
    force, torque : a constant (3,), or a function of xi = t / T, an array (nt,), that returns (nt, 3)

    >>> gust = LoadSchedule("bob", force=lambda xi: np.outer(np.sin(np.pi * xi), (1.0, 0.0, 0.0)))
    >>> gust.at(np.array([0.0, 0.5])).force
    array([[0., 0., 0.],
           [1., 0., 0.]])
    """

    body: str
    force: Course = (0.0, 0.0, 0.0)
    torque: Course = (0.0, 0.0, 0.0)
    point: ArrayLike | str = (0.0, 0.0, 0.0)
    axes: str = "world"

    def at(self, xi: Array) -> Load:
        """The load at these instants."""
        return Load(self.body, self._course("force", xi), self._course("torque", xi), self.point, self.axes)

    def _course(self, what: str, xi: Array) -> Array:
        course = getattr(self, what)
        values = np.asarray(course(xi) if callable(course) else course, float)
        if values.shape not in ((3,), (xi.size, 3)) or not np.all(np.isfinite(values)):
            raise InputError(
                f"the {what} on {self.body!r} has shape {values.shape}; a schedule must give ({xi.size}, 3) finite "
                f"numbers for {xi.size} instants."
            )
        return values


AnyLoad = Load | LoadSchedule


def loads_at(loads: Sequence[AnyLoad] | None, xi: Array) -> list[Load]:
    """Schedules as loads at these instants."""
    return [load.at(xi) if isinstance(load, LoadSchedule) else load for load in loads or ()]


@final
@dataclass(frozen=True)
class CutForce:
    """The force in a joint that was cut to open a loop: on `point_a` of one body, its opposite on `point_b` of
    another.

    Its components along world `axes` are profiles to be found, behind the coordinates.
    """

    point_a: str
    point_b: str
    axes: str = "xyz"

    def __post_init__(self) -> None:
        if not self.axes or any(axis not in "xyz" for axis in self.axes) or len(set(self.axes)) != len(self.axes):
            raise InputError(f"axes of the cut at {self.point_a!r} are {self.axes!r}; give some of 'xyz', each once.")

    @property
    def names(self) -> tuple[str, ...]:
        """Of its profiles."""
        return tuple(f"force {self.point_a}-{self.point_b}.{axis}" for axis in self.axes)


@final
@dataclass(frozen=True, eq=False)
class Torques(ModelFunction):
    """Generalized forces of all joints under loads, and under forces u in cut joints:

    tau = tau(q, v, a; loads) - sum over cuts of (J_A - J_B)^T E u         E: the world axes of the cut
    """

    model: Model
    loads: Sequence[AnyLoad] | None = None
    cuts: tuple[CutForce, ...] = ()
    parameters: tuple[str, ...] = ()
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(f"tau({name})" for name in self.model.v_names))
        known = [point.name for point in self.model.points]
        for cut in self.cuts:
            for point in (cut.point_a, cut.point_b):
                if point not in known:
                    raise unknown_name("point of a cut", point, known, f"model {self.model.name!r}")
            if cut.point_a == cut.point_b:
                raise InputError(f"a cut at {cut.point_a!r} needs two points, one on each body.")
        names = [name for cut in self.cuts for name in cut.names]
        if len(set(names)) != len(names):
            raise InputError("a cut is given twice.")

    @property
    def key(self) -> Hashable:
        return ("torques", id(self.model), tuple(map(id, self.loads or ())), self.cuts, self.parameters)

    # ------------------------------------------------------------------------------------------------------- cuts
    @cached_property
    def _components(self) -> list[tuple[CutForce, int]]:
        return [(cut, "xyz".index(axis)) for cut in self.cuts for axis in cut.axes]

    @cached_property
    def _markers(self) -> list[str]:
        return [point for cut in self.cuts for point in (cut.point_a, cut.point_b)]

    def _directions(self, u: int) -> Array:
        """Unit force of component u on the markers of the cuts, (markers, 3)."""
        cut, axis = self._components[u]
        y = np.zeros((len(self._markers), 3))
        k = 2 * self.cuts.index(cut)
        y[k, axis], y[k + 1, axis] = 1.0, -1.0
        return y

    def forces_at(self, s: Samples) -> list[Load]:
        """Loads and schedules at the samples, and the forces in cut joints."""
        loads = loads_at(self.loads, s.xi)
        if not self.cuts:
            return loads
        u = s.z[0][:, s.n_v :]
        at = 0
        for cut in self.cuts:
            force = np.zeros((s.nt, 3), u.dtype)
            for axis in cut.axes:
                force[:, "xyz".index(axis)] = u[:, at]
                at += 1
            for point, sign in ((cut.point_a, 1.0), (cut.point_b, -1.0)):
                if (body := marker_body(self.model, point)) != "ground":  # it acts on the ground, and does not move
                    loads.append(Load(body, sign * force, point=point))
        return loads

    def _by_force(self, s: Samples) -> Array:
        """tau_u = -(J_A - J_B)^T E, (nt, n_v, n_u)."""
        J = marker_jacobian(self.model, self._markers, s.q)
        return -np.stack([np.einsum("tmkc,mk->tc", J, self._directions(u)) for u in range(len(self._components))], -1)

    @cached_property
    def _dependence(self) -> tuple[Array, Array]:
        """Rows and columns (behind n_v) of tau_u."""
        n, rows, cols = self.model.n_v, [], []
        for u, (cut, _) in enumerate(self._components):
            one, other = (set(marker_columns(self.model, p)) for p in (cut.point_a, cut.point_b))
            moved = sorted(one | other)
            rows += moved
            cols += [n + u] * len(moved)
        return np.array(rows, int), np.array(cols, int)

    # ----------------------------------------------------------------------------------------------------- motion
    def values(self, s: Samples) -> Array:
        return inverse_dynamics(self.model, s.q, s.v, s.a, loads=self.forces_at(s))

    @cached_property
    def structure(self) -> Structure:
        pattern = tree_of(self.model).pattern
        rows, cols = (
            np.concatenate([pattern.rows, self._dependence[0]]),
            np.concatenate([pattern.cols, self._dependence[1]]),
        )
        motion = np.arange(rows.size) < pattern.nnz
        return Structure(self.m, rows, cols, {"q": np.ones(rows.size, bool), "v": motion, "a": motion})

    def partials(self, s: Samples) -> Partials:
        D = inverse_dynamics_derivatives(self.model, s.q, s.v, s.a, loads=self.forces_at(s))
        by = {"q": D.dq.values, "v": D.dv.values, "a": D.da.values}
        if self.cuts:
            rows, cols = self._dependence
            more = self._by_force(s)[:, rows, cols - self.model.n_v]
            by = {k: np.concatenate([x, more if k == "q" else np.zeros_like(more)], axis=1) for k, x in by.items()}
        return Partials(self.structure, by)

    @cached_property
    def curvature_structure(self) -> CurvatureStructure:
        pattern = tree_of(self.model).pattern
        rows, cols = pattern.rows, pattern.cols
        motion = np.ones(rows.size, bool)
        if self.cuts:
            # once as (q, u), once as (u, q): the block qq is symmetric
            one, other = self._dependence
            rows, cols = np.concatenate([rows, one, other]), np.concatenate([cols, other, one])
            motion = np.arange(rows.size) < pattern.nnz
        pairs = {"qq": np.ones(rows.size, bool)} | dict.fromkeys(("qv", "vv", "qa"), motion)
        return CurvatureStructure(rows, cols, pairs)

    def curvature(self, s: Samples, y: Array) -> tuple[Curvature, Gradient]:
        H = inverse_dynamics_hessian(self.model, s.q, s.v, s.a, y, loads=self.forces_at(s))
        blocks = {"qq": H.qq.values, "qv": H.qv.values, "vv": H.vv.values, "qa": H.qa.values}
        g = {"q": H.q, "v": H.v, "a": H.a}
        if self.cuts:
            rows, cols = self._dependence
            n = self.model.n_v
            by_q = np.stack([self._turned(s, y, u) for u in range(len(self._components))], axis=-1)
            more = by_q[:, rows, cols - n]
            doubled = np.concatenate([more, more], axis=1)
            blocks = {
                k: np.concatenate([x, doubled if k == "qq" else np.zeros_like(doubled)], axis=1)
                for k, x in blocks.items()
            }
            by_force = np.einsum("tcu,tc->tu", self._by_force(s), y)
            g["q"] = np.concatenate([g["q"], by_force], axis=1)
            g["v"], g["a"] = (np.concatenate([g[k], np.zeros_like(by_force)], axis=1) for k in "va")
        return Curvature(self.curvature_structure, blocks), g

    def _turned(self, s: Samples, y: Array, u: int) -> Array:
        """d/dq of y . tau_u, (nt, n_v)."""
        force = np.broadcast_to(self._directions(u), (s.nt, len(self._markers), 3))
        H, _ = contracted_hessian(self.model, self._markers, s.q, force)
        return np.asarray(-np.einsum("tcd,tc->td", H, y))

    # --------------------------------------------------------------------------------------- free numbers of the model
    def partials_p(self, s: Samples) -> Array:
        D = inverse_dynamics_derivatives(self.model, s.q, s.v, s.a, loads=self.forces_at(s), wrt=self.parameters)
        return np.asarray(D.dp.dense())

    def curvature_p(self, s: Samples, y: Array) -> tuple[Gradient, Array]:
        """As `inverse_dynamics_hessian` gives them. By forces in cuts and p: tau_p is linear in the forces."""
        H = inverse_dynamics_hessian(self.model, s.q, s.v, s.a, y, loads=self.forces_at(s), wrt=self.parameters)
        by = {"q": H.qp, "v": H.vp, "a": H.ap}
        if self.cuts:
            by_u = np.stack([self._pulled(s, y, u) for u in range(len(self._components))], axis=1)
            by["q"] = np.concatenate([by["q"], by_u], axis=1)
            by["v"], by["a"] = (np.concatenate([by[k], np.zeros_like(by_u)], axis=1) for k in "va")
        return by, np.sum(H.pp, axis=0)

    def _pulled(self, s: Samples, y: Array, u: int) -> Array:
        """d/du of y . tau_p, (nt, n_p)."""
        ends = []
        for step in (1.0, 0.0):
            z = s.z.copy()
            z[0, :, s.n_v + u] = step
            ends.append(np.einsum("tr,trp->tp", y, self.partials_p(Samples(z, s.n_v, s.xi))))
        return np.asarray(ends[0] - ends[1])
