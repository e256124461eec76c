"""Motion of points, vectors and bodies over batches, with every first derivative and the contracted second ones.

A *marker* is named by a string: a Point or Vector of the model, or a body's own "name.origin" (a point), "name.com"
(a point), "name.spin" (its angular velocity).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.kinematics.batch import Batch, Kernels, tree_of
from mechgrad.kinematics.kernels import marker_motions as _kernels
from mechgrad.kinematics.kernels.marker_motions import MOTION, POINT, SPIN, VECTOR
from mechgrad.model.columns import (
    BEFORE,
    BEHIND,
    MARKER,
    T_KIND,
    T_NODE,
    ParameterColumns,
    expand_paths,
    model_terms,
    parameter_columns,
)
from mechgrad.model.limits import LARGEST, too_large
from mechgrad.model.tree import LAST_COLUMN, PARENT, Tree
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Kept = TypeVar("Kept")
MOTIONS = Kernels(_kernels.motions_one, _kernels.motions_lanes, _kernels.motions_complex)


@dataclass(frozen=True, eq=False)
class _Table:
    """Markers as kernels read them."""

    names: tuple[str, ...]
    indices: Array
    local: Array


def _locate(model: Model, tree: Tree, name: str) -> tuple[str, int, Array]:
    """Body, kind and local coordinates of a marker."""
    for point in model.points:
        if point.name == name:
            return point.body, POINT, point.position
    for vector in model.vectors:
        if vector.name == name:
            return vector.body, VECTOR, vector.direction
    body, _, part = name.rpartition(".")
    if body in tree.body_atom and part in ("origin", "com", "spin"):
        if part == "com" and body != "ground":
            return body, POINT, model.body(body).com
        return body, SPIN if part == "spin" else POINT, np.zeros(3)
    known = [p.name for p in model.points] + [u.name for u in model.vectors]
    known += [f"{b.name}.{part}" for b in model.bodies for part in ("origin", "com", "spin")]
    raise unknown_name("marker", name, known, f"model {model.name!r}")


MOST_TABLES = 32  # that a model remembers


def _remembered(model: Model, key: Hashable, make: Callable[[], Kept]) -> Kept:
    """Tables of markers of a model, read-only; several measures ask for the same ones."""
    known: dict[Hashable, Any] = model.cached("marker tables", lambda _: {})
    found: Kept | None = known.get(key)
    if found is None:
        found = make()
        if len(known) >= MOST_TABLES:
            known.clear()
        known[key] = found
    return found


def _table(model: Model, tree: Tree, markers: Sequence[str], dtype: type) -> _Table:
    if isinstance(markers, str):
        raise InputError(f"markers is the string {markers!r}; give a list of names: [{markers!r}].")
    key = ("markers", tuple(markers), dtype)
    return _remembered(model, key, lambda: _made_table(model, tree, markers, dtype))


def _made_table(model: Model, tree: Tree, markers: Sequence[str], dtype: type) -> _Table:
    rows, local = [], []
    for name in markers:
        body, kind, x = _locate(model, tree, name)
        axes, origin = tree.body_tail[body]
        atom = tree.body_atom[body]
        rows.append((tree.n_atoms if atom < 0 else atom, kind))
        local.append(axes @ x + (origin if kind == POINT else 0.0))
    indices = np.array(rows, np.int64).reshape(-1, 2)
    numbers: Array = np.array(local, dtype).reshape(-1, 3)
    if not np.abs(numbers[indices[:, 1] == POINT]).max(initial=0.0) <= LARGEST:
        raise too_large(model, *model.points)
    for array in (indices, numbers):
        array.setflags(write=False)
    return _Table(tuple(markers), indices, numbers)


@final
@dataclass(frozen=True, eq=False)
class MarkerMotion:
    """Motion of markers, world axes, (markers, 3) or (nt, markers, 3) each.

    Attributes
    ----------
    position : the point [m] or vector; zero for a spin, which has none
    velocity : its rate [m/s]; the angular velocity for a spin [rad/s]
    acceleration : its second rate; with a = 0 this is the term Jdot v
    """

    names: tuple[str, ...]
    position: Array
    velocity: Array
    acceleration: Array


def marker_motion(
    model: Model, markers: Sequence[str], q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
) -> MarkerMotion:
    """Position, velocity and acceleration of points, vectors and spins.

    Parameters
    ----------
    markers : list of str
        Points and vectors of the model, "body.origin", "body.com", "body.spin".
    q, v, a : (n,) or (nt, n)
        v and a are zeros if left out.

    >>> marker_motion(double_pendulum(), ["tip"], [0.0, 0.0], [1.0, 0.0]).velocity
    array([[-2.,  0.,  0.]])
    """
    batch = Batch(model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)))
    table = _table(model, batch.tree, markers, batch.dtype)
    out = batch.empty(len(table.names) * MOTION)
    kernel, atoms_f = batch.pick(MOTIONS), batch.atoms_f

    def call(part: slice) -> int:
        return kernel(batch.tree.atoms_i, atoms_f, *batch.rows(part), table.indices, table.local, out[part])  # type: ignore[no-any-return]

    batch.sweep(call)
    x = out.reshape(batch.nt, len(table.names), 3, 3)
    x = x[0] if batch.single else x
    return MarkerMotion(table.names, x[..., 0, :], x[..., 1, :], x[..., 2, :])


@final
@dataclass(frozen=True, eq=False)
class MarkerDerivatives:
    """Derivatives of marker motion. Shapes (markers, 3, n_v) or (nt, markers, 3, n_v); by parameters (..., 3, np).

    Attributes
    ----------
    x_q : Jacobian J of the position by q (along `model.integrate`); also xd_v and xdd_a. For a spin: of its
    velocity by v.
    xd_q : velocity by q, the rate of the Jacobian for plain coordinates
    xdd_q, xdd_v : acceleration by q and by v; with a = 0 these are the partials of Jdot v
    x_p, xd_p, xdd_p : by parameters
    """

    names: tuple[str, ...]
    x_q: Array
    xd_q: Array
    xdd_q: Array
    xdd_v: Array
    x_p: Array
    xd_p: Array
    xdd_p: Array
    parameters: tuple[str, ...]


def marker_body(model: Model, name: str) -> str:
    """The body that carries a marker.

    >>> marker_body(double_pendulum(), "tip")
    'lower'
    """
    return _locate(model, tree_of(model), name)[0]


def marker_columns(model: Model, name: str) -> list[int]:
    """Velocities that move a marker, from the ground outward.

    >>> marker_columns(double_pendulum(), "tip")
    [0, 1]
    """
    tree = tree_of(model)
    return sorted(_chain(tree, _table(model, tree, [name], tree.dtype), 0))


def marker_jacobian(model: Model, markers: Sequence[str], q: ArrayLike) -> Array:
    """J = dx/dq (along `model.integrate`), so that xdot = J v: (markers, 3, n_v) or (nt, markers, 3, n_v).

    >>> marker_jacobian(double_pendulum(), ["tip"], [0.0, 0.0])[0, 0]
    array([-2., -1.])
    """
    return marker_derivatives(model, markers, q).x_q


def marker_derivatives(
    model: Model,
    markers: Sequence[str],
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    wrt: str | Sequence[str] = (),
) -> MarkerDerivatives:
    """All first derivatives of the motion of markers, by q, v, a and by geometric parameters (`wrt` as in inverse
    dynamics)."""
    batch = Batch(model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)))
    _real_only(batch, "marker_derivatives")
    tree = batch.tree
    table = _table(model, tree, markers, float)
    columns, acts = _columns(model, tree, table, wrt)
    paths = [(k, c) for k in range(len(table.names)) for c in _chain(tree, table, k)]
    n_p, count = len(columns.paths), len(table.names)
    by_q = [batch.empty(3 * len(paths)) for _ in range(4)]
    by_p = [batch.empty(3 * count * n_p) for _ in range(3)]
    kernel = _kernels.motion_derivatives_one if batch.nt == 1 else _kernels.motion_derivatives_lanes

    def call(part: slice) -> int:
        return kernel(  # type: ignore[no-any-return]
            batch.tables, batch.rows(part), (table.indices, table.local), (columns.terms_i, columns.terms_f, acts), n_p,
            batch.parts(by_q, part), batch.parts(by_p, part),
        )  # fmt: skip

    batch.sweep(call)
    where = np.array(paths, np.int64).reshape(-1, 2)
    dense = []
    for x in by_q:
        full = np.zeros((batch.nt, count, 3, tree.n_v))
        full[:, where[:, 0], :, where[:, 1]] = x.reshape(batch.nt, -1, 3).swapaxes(0, 1)
        dense.append(full)
    dense += [np.ascontiguousarray(x.reshape(batch.nt, count, n_p, 3).swapaxes(2, 3)) for x in by_p]
    if batch.single:
        dense = [x[0] for x in dense]
    x_q, xd_q, xdd_q, xdd_v, x_p, xd_p, xdd_p = dense
    return MarkerDerivatives(table.names, x_q, xd_q, xdd_q, xdd_v, x_p, xd_p, xdd_p, columns.paths)


def contracted_hessian(
    model: Model, markers: Sequence[str], q: ArrayLike, y: ArrayLike, *, wrt: str | Sequence[str] = ()
) -> tuple[Array, Array]:
    """Derivatives of the generalized force J^T y of forces y that stay fixed: sum over markers, exact.

        (J^T y)_q  (n_v, n_v)      and      (J^T y)_p  (n_v, np)

    These are the geometric stiffness of loads and the only second derivative that constraints and forces need. Row
    c, column d is d(J^T y)_c / dq_d; symmetric for plain coordinates.

    Parameters
    ----------
    y : (markers, 3) or (nt, markers, 3)
        World axes: forces at points; for vectors and spins whatever is dual to them.
    wrt : geometric parameters, optional

    Returns
    -------
    (J^T y)_q, (J^T y)_p : (n_v, n_v), (n_v, np), with a leading nt for many samples

    >>> contracted_hessian(double_pendulum(), ["tip"], [0.0, 0.0], [[0.0, 0.0, -1.0]])[0]
    array([[-2., -1.],
           [-1., -1.]])
    """
    y = np.asarray(y)
    count = len(markers)
    if y.shape[-2:] != (count, 3) or y.ndim not in (2, 3):
        raise InputError(f"y has shape {y.shape}; it must be ({count}, 3) or (nt, {count}, 3): one vector per marker.")
    batch = Batch(model, (("q", q, model.n_q), ("y", y.reshape(*y.shape[:-2], 3 * count), 3 * count)))
    _real_only(batch, "contracted_hessian")
    tree = batch.tree
    table = _table(model, tree, markers, float)
    columns, acts = _columns(model, tree, table, wrt)
    n_p = len(columns.paths)
    H_q, H_p = batch.empty(tree.n_v**2), batch.empty(tree.n_v * n_p)
    kernel = _kernels.contracted_one if batch.nt == 1 else _kernels.contracted_lanes

    def call(part: slice) -> int:
        q_, y_ = batch.rows(part)
        return kernel(  # type: ignore[no-any-return]
            batch.tables, q_, y_, (table.indices, table.local), (columns.terms_i, columns.terms_f, acts), n_p,
            H_q[part], H_p[part],
        )  # fmt: skip

    batch.sweep(call)
    result = H_q.reshape(batch.nt, tree.n_v, tree.n_v), H_p.reshape(batch.nt, tree.n_v, n_p)
    return (result[0][0], result[1][0]) if batch.single else result


def _real_only(batch: Batch, what: str) -> None:
    if batch.dtype is complex:
        raise InputError(f"{what} takes real numbers; take a complex step through marker_motion instead.")


def _chain(tree: Tree, table: _Table, k: int) -> list[int]:
    atom = int(table.indices[k, 0])
    return [] if atom == tree.n_atoms else tree.path(int(tree.atoms_i[atom, LAST_COLUMN]))


def _columns(model: Model, tree: Tree, table: _Table, wrt: str | Sequence[str]) -> tuple[ParameterColumns, Array]:
    """Parameter terms, and the list (term, marker) of who displaces whom."""
    paths = expand_paths(model, wrt)
    return _remembered(model, ("columns", table.names, paths), lambda: _made_columns(model, tree, table, paths))


def _made_columns(model: Model, tree: Tree, table: _Table, paths: Sequence[str]) -> tuple[ParameterColumns, Array]:
    terms = [model_terms(model, tree, p, table.names) for p in paths]
    columns = parameter_columns(tree, paths, terms)
    above = [_atoms_above(tree, int(atom)) for atom in table.indices[:, 0]]
    acts = [
        (t, k)
        for t, (kind, node) in enumerate(columns.terms_i[:, [T_KIND, T_NODE]])
        for k in range(len(table.names))
        if (kind == MARKER and node == k) or (kind in (BEFORE, BEHIND) and node in above[k])
    ]
    table_acts = np.array(acts, np.int64).reshape(-1, 2)
    table_acts.setflags(write=False)
    return columns, table_acts


def _atoms_above(tree: Tree, atom: int) -> set[int]:
    found: set[int] = set()
    if atom == tree.n_atoms:
        return found
    while atom >= 0:
        found.add(atom)
        atom = int(tree.atoms_i[atom, PARENT])
    return found
