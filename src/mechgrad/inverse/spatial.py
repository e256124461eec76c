"""Inverse dynamics of open trees and its derivatives: the fast method, in world axes and 3-vectors.

    M(q, p) a + h(q, v, p) = tau + sum J^T load

The recursion runs once outward (frames, velocities, accelerations) and once inward (wrenches); one more sweep over
related pairs gives all three derivative matrices. Parameters are frozen joints and mass moments (`model.columns`).
Equations stand with the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.kernels import derivatives as _derivatives
from mechgrad.inverse.kernels import tree_torques as _torques
from mechgrad.inverse.kernels.wrenches import L_ATOM
from mechgrad.inverse.loads import Load, LoadTable, compile_loads, loads_are_complex
from mechgrad.kinematics.batch import Batch, Kernels, check_out
from mechgrad.kinematics.trees_only import require_tree
from mechgrad.model.columns import (
    LOAD_POINT,
    MARKER,
    ParameterColumns,
    column_index,
    expand_paths,
    model_terms,
    parameter_columns,
)
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.pattern import Packed, Pattern
from mechgrad.model.tree import Tree
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

TORQUES = Kernels(_torques.torques_one, _torques.torques_lanes, _torques.torques_complex)
DERIVATIVES = Kernels(_derivatives.derivatives_one, _derivatives.derivatives_lanes, _derivatives.derivatives_complex)


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    loads: Sequence[Load] | None = None,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Generalized forces that produce a motion of a tree under gravity and external loads; `mechanics.torques` takes
    every mechanism, and says what the arguments are.

        tau = M(q) a + h(q, v) - sum J^T load

    A 2 kg bob on a 1 m rod, held horizontally:

    >>> bob = Body("bob", mass=2, com=(0, 0, -1))
    >>> model = Model("pendulum", [bob], [Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
    >>> inverse_dynamics(model, [np.pi / 2])
    array([19.62])
    """
    require_tree(model)
    return torques_of_tree(model, q, v, a, loads, out, threads)


def torques_of_tree(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, loads: Sequence[Load] | None,
    out: Array | None, threads: int,
) -> Array:  # fmt: skip
    """`inverse_dynamics` of a model that is known to be a tree."""
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)),
        also_complex=loads_are_complex(loads),
    )  # fmt: skip
    tree = batch.tree
    note_idle_gravity(model, tree, above=2)  # users call this through `mechanics`
    table = compile_loads(model, tree, loads, batch.nt, batch.dtype)
    if out is None:
        tau = batch.empty(tree.n_v)
    else:
        shape = (tree.n_v,) if batch.single else (batch.nt, tree.n_v)
        tau = check_out(out, shape, batch.dtype).reshape(batch.nt, tree.n_v)
    kernel, atoms_f = batch.pick(TORQUES), batch.atoms_f

    def call(part: slice) -> int:
        return kernel(tree.atoms_i, atoms_f, *batch.rows(part), table.indices, table.rows(part), tau[part])  # type: ignore[no-any-return]

    batch.sweep(call, threads)
    return tau[0] if batch.single else tau


@final
class InverseDynamicsDerivatives:
    """Generalized forces and their derivatives.

    Attributes
    ----------
    tau : (n_v,) or (nt, n_v)
    dq, dv, da : Packed
        tau_q, tau_v, tau_a = M, packed by the tree's pattern. By q means by a step along `model.integrate`, so that
        all three are n_v x n_v, for Euler parameters too.
    dp : Packed
        tau_p, one column per entry of `parameters`.
    parameters : tuple of str
        The paths of the columns of dp.
    """

    # Plain slots and views made on demand: a single state costs some 10 us in all, three dataclasses would be a
    # tenth of it.
    __slots__ = ("_pattern", "_pattern_p", "_values", "parameters")

    def __init__(
        self, values: Sequence[Array], pattern: Pattern, pattern_p: Pattern, parameters: tuple[str, ...]
    ) -> None:
        self._values = tuple(values)
        self._pattern, self._pattern_p, self.parameters = pattern, pattern_p, parameters

    @property
    def tau(self) -> Array:
        """Generalized forces (n_v,) or (nt, n_v)."""
        return self._values[0]

    @property
    def dq(self) -> Packed:
        """tau_q, along `model.integrate`."""
        return Packed(self._values[1], self._pattern)

    @property
    def dv(self) -> Packed:
        """tau_v."""
        return Packed(self._values[2], self._pattern)

    @property
    def da(self) -> Packed:
        """tau_a, the mass matrix."""
        return Packed(self._values[3], self._pattern)

    @property
    def dp(self) -> Packed:
        """tau_p, a column per parameter."""
        return Packed(self._values[4], self._pattern_p)

    def __repr__(self) -> str:
        samples = "one state" if self.tau.ndim == 1 else f"{self.tau.shape[0]} samples"
        return (
            f"InverseDynamicsDerivatives({samples}, n_v={self.tau.shape[-1]}, nnz={self._pattern.nnz}, "
            f"parameters={len(self.parameters)})"
        )

    def by(self, path: str) -> Array:
        """d tau / d parameter, dense: (n_v,) or (nt, n_v)."""
        column = column_index(self.parameters, path)
        chosen = np.flatnonzero(self.dp.pattern.cols == column)
        result = np.zeros_like(self.tau)
        result[..., self.dp.pattern.rows[chosen]] = self.dp.values[..., chosen]
        return result


def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    wrt: str | Sequence[str] = (),
    loads: Sequence[Load] | None = None,
    out: InverseDynamicsDerivatives | None = None,
    threads: int = 1,
) -> InverseDynamicsDerivatives:
    """Generalized forces and their exact derivatives by q, v, a and by any numbers of the model and the loads.

    Parameters
    ----------
    model, q, v, a, loads, threads
        As in `inverse_dynamics`.
    wrt : path or list of paths
        Parameters, e.g. "thigh.mass", "dh.24.a", "knee.axis.x", "gravity.z", "load.0.force.z", a design variable,
        or a pattern such as "*.mass".
    out : InverseDynamicsDerivatives, optional
        An earlier result of the same shape and `wrt`, to be overwritten.

    Returns
    -------
    InverseDynamicsDerivatives
        Packed: `D.dq.values` is (nt, nnz) in the order of `D.dq.pattern.rows, .cols` (row by row). `D.dq.dense()`
        spreads it.

    Examples
    --------
    >>> D = inverse_dynamics_derivatives(model, [0.0], wrt=["bob.mass"])
    >>> D.dq.dense()                      # m g l
    array([[19.62]])
    """
    require_tree(model)
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)),
        also_complex=loads_are_complex(loads),
    )  # fmt: skip
    tree = batch.tree
    note_idle_gravity(model, tree, above=2)  # users call this through `mechanics`
    table = compile_loads(model, tree, loads, batch.nt, batch.dtype)
    columns = columns_for(model, tree, wrt, table)
    arrays = _outputs(batch, columns, out)
    kernel, tables, pairs, terms = batch.pick(DERIVATIVES), batch.tables, tree.pairs, columns.tables

    def call(part: slice) -> int:
        return kernel(  # type: ignore[no-any-return]
            tables, pairs, batch.rows(part), table.record(part), terms, batch.parts(arrays, part)
        )

    batch.sweep(call, threads)
    if out is not None:
        return out
    if batch.single:
        arrays = [x[0] for x in arrays]
    return InverseDynamicsDerivatives(arrays, tree.pattern, columns.pattern, columns.paths)


def _outputs(batch: Batch, columns: ParameterColumns, out: InverseDynamicsDerivatives | None) -> list[Array]:
    """tau and the packed derivatives, (nt, entries) each: new arrays, or those of an earlier result."""
    nnz = batch.tree.pattern.nnz
    shapes = (batch.tree.n_v, nnz, nnz, nnz, columns.pattern.nnz)
    if out is None:
        return batch.empties(shapes)
    if not isinstance(out, InverseDynamicsDerivatives) or out.parameters != columns.paths:
        raise InputError("out must be an earlier result of inverse_dynamics_derivatives with the same wrt.")
    return [
        check_out(x, (n,) if batch.single else (batch.nt, n), batch.dtype).reshape(batch.nt, n)
        for x, n in zip(out._values, shapes, strict=True)
    ]


def columns_for(model: Model, tree: Tree, wrt: str | Sequence[str], table: LoadTable) -> ParameterColumns:
    """Parameter columns for `wrt`, made once per model, list of paths and structure of the loads."""
    key = ("columns", wrt if isinstance(wrt, str) else tuple(wrt), table.structure)
    return model.cached(key, lambda m: _make_columns(m, tree, wrt, table))


def _make_columns(model: Model, tree: Tree, wrt: str | Sequence[str], table: LoadTable) -> ParameterColumns:
    paths = expand_paths(model, wrt, table.paths)
    if paths and tree.dtype is complex:
        raise InputError("parameter derivatives of a model with complex numbers are not defined; give a real model.")
    terms = []
    for path in paths:
        column = table.terms(path) if path in table.paths else model_terms(model, tree, path, table.points)
        # a named point acts here through the loads that use it
        terms.append(
            [
                replace(t, kind=LOAD_POINT, atom=int(table.indices[t.node, L_ATOM])) if t.kind == MARKER else t
                for t in column
            ]
        )
    return parameter_columns(tree, paths, terms)
