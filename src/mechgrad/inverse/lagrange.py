"""Inverse dynamics by the recursive Lagrangian form with 4x4 matrices, as the literature on motion prediction has it.

An independent second answer to `inverse_dynamics` and `inverse_dynamics_derivatives`, for joints made of hinges and
slides: the recursions of Zhakatayev, Rogovchenko and Pätzold (2023) and Xiang, Arora and Abdel-Malek (2008), corrected
(docs/lagrange.md).

*Choose it for* checking, teaching and comparing with that literature. *Avoid it for* speed, Euler parameters and
derivatives by parameters: the spatial method has all three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.kernels.lagrange import lagrange_derivatives as _derivatives
from mechgrad.inverse.kernels.lagrange import lagrange_torques as _torques
from mechgrad.inverse.kernels.lagrange_motion import lagrange_points as _points
from mechgrad.inverse.links import Links, compile_links
from mechgrad.inverse.loads import Load, LoadTable, compile_loads, loads_are_complex
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.kinematics.batch import Batch, tree_of
from mechgrad.kinematics.trees_only import require_tree
from mechgrad.model.pattern import Pattern
from mechgrad.model.topology import BranchMatrices, parents_from_branches
from mechgrad.model.tree import Tree
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

METHOD = "lagrange"


# ------------------------------------------------------------------------------------------------------- tables
@dataclass(frozen=True, eq=False)
class LinkTables:
    """What the kernels read. Rows are links 1..n in the numbering of the branch matrices; row 0 is the ground.

    Attributes
    ----------
    phi, psi : (branches, 2)
        Branch parent matrix and joint-branch matrix.
    links : (n + 1, 3) int
        Kind, coordinate (-1 if fixed), whether it has mass.
    sign, constant, J : (n + 1,), (n + 1, 3, 4), (n + 1, 4, 4)
        sigma, the constant part of the transform without its last row, the pseudo-inertia int r r^T dm.
    first, pairs : (n + 2,), (n_pairs, 3) int
        Pairs (i, m) stand in rows first[i] to first[i + 1], sorted by m: m, row of (parent of i, m), packed position.
    tree : Tree
        The model's tree with links in place of atoms: where loads and points live.
    """

    phi: Array
    psi: Array
    links: Array
    sign: Array
    constant: Array
    J: Array
    gravity: Array
    first: Array
    pairs: Array
    tree: Tree

    @cached_property
    def _as_complex(self) -> tuple[Array, ...]:
        return tuple(_frozen(x.astype(complex)) for x in (self.constant, self.J, self.gravity))

    def record(self, dtype: type) -> tuple[Array, ...]:
        """All arrays for a kernel (`inverse.kernels.lagrange_motion.LinkTables`), in the batch's type."""
        numbers = (self.constant, self.J, self.gravity) if dtype is float else self._as_complex
        return self.phi, self.psi, self.links, self.sign, *numbers, self.first, self.pairs


def pseudo_inertia(mass: Array, com: Array, inertia: Array) -> Array:
    """J = int r r^T dm in homogeneous coordinates, from mass, centre of mass and inertia about it: (n, 4, 4)."""
    n = mass.size
    J: Array = np.zeros((n, 4, 4), np.result_type(mass, com, inertia))
    half = 0.5 * np.trace(inertia, axis1=1, axis2=2)
    J[:, :3, :3] = half[:, None, None] * np.eye(3) - inertia + mass[:, None, None] * com[:, :, None] * com[:, None, :]
    J[:, :3, 3] = J[:, 3, :3] = mass[:, None] * com
    J[:, 3, 3] = mass
    return J


def on_links(tree: Tree, link: dict[str, int]) -> Tree:
    """The tree as loads see it, with links in place of atoms: bodies have the frames of their links."""
    return replace(tree, body_atom=link, body_tail=dict.fromkeys(link, (np.eye(3), np.zeros(3))))


def _tables(model: Model) -> LinkTables:
    links = compile_links(model, METHOD)
    phi, psi, order = links.branches
    number = np.zeros(links.n + 1, np.int64)  # new number, from 1, of an old link; the ground's is the last
    number[order - 1] = np.arange(1, links.n + 1)
    J = pseudo_inertia(links.mass, links.com, links.inertia)
    massive = np.any(J != 0, axis=(1, 2))
    table = np.column_stack([links.kind, links.column, massive]).astype(np.int64).reshape(-1, 3)
    tree = tree_of(model)
    first, pairs = _pairs(links, links.branches, tree.pattern)
    tree = on_links(tree, {name: int(number[link]) for name, link in links.body.items()})
    table, sign, constant, J = (_led(x[order - 1]) for x in (table, links.sign, links.C[:, :3], J))
    phi, psi, table, sign, constant, J, g, first, pairs = (
        _frozen(x) for x in (phi, psi, table, sign, constant, J, links.gravity, first, pairs)
    )
    return LinkTables(phi, psi, table, sign, constant, J, g, first, pairs, tree)


def _led(x: Array) -> Array:
    """With a row of zeros for the ground in front."""
    return np.concatenate([np.zeros((1, *x.shape[1:]), x.dtype), x])


def _frozen(x: Array) -> Array:
    """A read-only C-contiguous array, never the given one: kernels are compiled for that layout."""
    copy: Array = np.array(x, order="C")
    copy.setflags(write=False)
    return copy


def _pairs(links: Links, branches: BranchMatrices, pattern: Pattern) -> tuple[Array, Array]:
    parent = np.concatenate([[0], parents_from_branches(branches.branch_parent, branches.joint_branch)])
    column = np.concatenate([[-1], links.column[branches.order - 1]])
    related: list[set[int]] = [set() for _ in parent]
    for i in range(1, parent.size):
        on_path = [i]
        while parent[on_path[-1]]:
            on_path.append(int(parent[on_path[-1]]))
        for k in on_path:
            if column[i] >= 0:
                related[k].add(i)
            if column[k] >= 0:
                related[i].add(k)
    first = np.concatenate([[0], np.cumsum([len(ms) for ms in related])])
    row = {pair: at for at, pair in enumerate((i, m) for i, ms in enumerate(related) for m in sorted(ms))}
    pairs = [
        (m, row.get((int(parent[i]), m), -1), pattern.position(column[i], column[m]) if column[i] >= 0 else -1)
        for i, m in row
    ]
    return first.astype(np.int64), np.array(pairs, np.int64).reshape(-1, 3)


# ------------------------------------------------------------------------------------------------------- torques
def lagrange_torques(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
) -> Array:
    """Generalized forces by the recursive Lagrangian form; arguments and result as in `inverse_dynamics`.

        Q_i = tr[T_p B_i H_i] - g . T_p B_i E_i - tr[T_p B_i F_i] - G_i . T_p w_i

    Complex q, v, a or loads are allowed: a complex step through this function is exact.

    >>> lagrange_torques(model, [np.pi / 2])
    array([19.62])
    """
    require_tree(model)
    tables = model.cached("lagrange", _tables)
    batch, loading = _batch(model, tables, q, v, a, loads)
    tau = batch.empty(batch.tree.n_v)
    record = tables.record(batch.dtype)

    def call(part: slice) -> int:
        return _torques(record, batch.rows(part), loading.record(part), tau[part])  # type: ignore[no-any-return]

    batch.sweep(call)
    return tau[0] if batch.single else tau


def lagrange_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
) -> InverseDynamicsDerivatives:
    """Generalized forces and their derivatives by q, v and a; the result is that of `inverse_dynamics_derivatives`.

    There are no derivatives by parameters here: `dp` has no columns.

    >>> lagrange_derivatives(model, [0.0]).dq.dense()
    array([[19.62]])
    """
    require_tree(model)
    tables = model.cached("lagrange", _tables)
    batch, loading = _batch(model, tables, q, v, a, loads)
    pattern, n_v = batch.tree.pattern, batch.tree.n_v
    arrays = batch.empties((n_v, pattern.nnz, pattern.nnz, pattern.nnz, 0))
    record = tables.record(batch.dtype)

    def call(part: slice) -> int:
        return _derivatives(record, batch.rows(part), loading.record(part), batch.parts(arrays[:4], part))  # type: ignore[no-any-return]

    batch.sweep(call)
    if batch.single:
        arrays = [x[0] for x in arrays]
    none = np.zeros(0, np.int64)
    return InverseDynamicsDerivatives(arrays, pattern, Pattern((n_v, 0), none, none.copy()), ())


def _batch(
    model: Model,
    tables: LinkTables,
    q: ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    loads: Sequence[Load] | None,
) -> tuple[Batch, LoadTable]:
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)),
        also_complex=loads_are_complex(loads),
    )  # fmt: skip
    return batch, compile_loads(model, tables.tree, loads, batch.nt, batch.dtype)


# -------------------------------------------------------------------------------------------------------- points
@final
@dataclass(frozen=True, eq=False)
class PointSensitivities:
    """Motion of points and its sensitivities, world axes.

    Attributes
    ----------
    x, xd, xdd : (points, 3) or (nt, points, 3)
        Position T r, velocity S r, acceleration R r.
    x_q, xd_q, xdd_q : (points, 3, n_v) or (nt, points, 3, n_v)
        By the coordinates.
    """

    names: tuple[str, ...]
    x: Array
    xd: Array
    xdd: Array
    x_q: Array
    xd_q: Array
    xdd_q: Array

    @property
    def xd_v(self) -> Array:
        """Velocity by velocities: S_v = T_q."""
        return self.x_q

    @property
    def xdd_v(self) -> Array:
        """Acceleration by velocities: R_v = 2 S_q."""
        return 2.0 * self.xd_q

    @property
    def xdd_a(self) -> Array:
        """Acceleration by accelerations: R_a = T_q."""
        return self.x_q


def point_sensitivities(
    model: Model, markers: Sequence[str], q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
) -> PointSensitivities:
    """Position, velocity and acceleration of points, x = T r, xd = S r, xdd = R r, and their sensitivities.

    Parameters
    ----------
    markers : list of str
        Points of the model, "body.origin", "body.com".
    q, v, a : (n,) or (nt, n)
        v and a are zeros if left out. May be complex.

    >>> point_sensitivities(double_pendulum(), ["tip"], [0.0, 0.0], [1.0, 0.0]).xd
    array([[-2.,  0.,  0.]])
    """
    tables = model.cached("lagrange", _tables)
    batch = Batch(model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)))
    if isinstance(markers, str):
        raise InputError(f"markers is the string {markers!r}; give a list of names: [{markers!r}].")
    places = [_locate(model, tables.tree, name) for name in markers]
    link = _frozen(np.array([i for i, _ in places], np.int64))
    local = _frozen(np.array([r for _, r in places], batch.dtype).reshape(-1, 3))
    size = 3 * len(places)
    values = [batch.empty(size) for _ in range(3)] + [batch.empty(size * model.n_v) for _ in range(3)]
    record = tables.record(batch.dtype)

    def call(part: slice) -> int:
        return _points(record, batch.rows(part), (link, local), batch.parts(values, part))  # type: ignore[no-any-return]

    batch.sweep(call)
    lead = () if batch.single else (batch.nt,)
    shapes = [(*lead, len(places), 3)] * 3 + [(*lead, len(places), 3, model.n_v)] * 3
    return PointSensitivities(tuple(markers), *(x.reshape(shape) for x, shape in zip(values, shapes, strict=True)))


def _locate(model: Model, tree: Tree, name: str) -> tuple[int, Array]:
    """Link of a point and the point's coordinates in it."""
    for point in model.points:
        if point.name == name:
            return tree.body_atom[point.body], np.asarray(point.position)
    body, _, part = name.rpartition(".")
    if body in tree.body_atom and part in ("origin", "com"):
        at_com = part == "com" and body != "ground"
        return tree.body_atom[body], np.asarray(model.body(body).com) if at_com else np.zeros(3)
    known = [p.name for p in model.points] + [f"{b.name}.{part}" for b in model.bodies for part in ("origin", "com")]
    raise unknown_name("point", name, known, f"model {model.name!r}")
