"""Mass matrix and forward dynamics of open trees, with derivatives.

    a = M(q)^-1 (tau + sum J^T load - h(q, v))

Accelerations come by one of two ways, which agree to rounding. "factor": M is assembled from composite inertias and
factorised along the branches of the tree, without fill-in; column j with d_j columns before it costs about d_j^2.
"recursive": one column after the other is eliminated from 6x6 inertias that bodies pass to their parents; every
column costs the same (`kernels/articulated.py`).

The derivatives of a come from those of the inverse dynamics r(q, v, a, p) = M a + h - sum J^T load at the solution:
a_x = -M^-1 r_x  and  a_tau = M^-1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final
from weakref import WeakKeyDictionary

import numpy as np

from mechgrad.errors import InputError, SingularMassMatrixError
from mechgrad.inverse.kernels import articulated as _articulated
from mechgrad.inverse.kernels import mass as _mass
from mechgrad.inverse.kernels.mass import COLUMNS
from mechgrad.inverse.loads import Load, LoadTable, compile_loads, loads_are_complex, loads_of
from mechgrad.inverse.spatial import inverse_dynamics_derivatives
from mechgrad.kernels.host import LANES
from mechgrad.kernels.small_dense import PIVOT_TOLERANCE
from mechgrad.kinematics.batch import BLOCK, Batch, Kernels, check_out
from mechgrad.kinematics.trees_only import require_tree
from mechgrad.memory import empty, require_memory
from mechgrad.model.columns import column_index
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.pattern import Packed, Pattern
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model
    from mechgrad.model.tree import Tree

MASS = Kernels(_mass.mass_matrix_one, _mass.mass_matrix_lanes, _mass.mass_matrix_complex)
ACCELERATIONS = Kernels(_mass.accelerations_one, _mass.accelerations_lanes, _mass.accelerations_complex)
RECURSIVE = Kernels(_articulated.recursive_one, _articulated.recursive_lanes, _articulated.recursive_complex)
SOLVE = Kernels(_mass.solve_with_mass_one, _mass.solve_with_mass_lanes, _mass.solve_with_mass_complex)

Method = Literal["auto", "factor", "recursive"]


def mass_matrix(model: Model, q: ArrayLike, *, out: Packed | None = None, threads: int = 1) -> Packed:
    """Mass matrix M(q), packed by the tree's pattern (symmetric, both halves stored).

        kinetic energy = v^T M v / 2

    Parameters
    ----------
    q : (n_q,) or (nt, n_q)
    out : Packed, optional
        An earlier result of the same shape, to be overwritten.

    Returns
    -------
    Packed
        `.values` (nt, nnz), `.dense()` (nt, n_v, n_v) [kg m^2, kg m, kg].

    >>> mass_matrix(model, [0.3]).dense()          # m l^2
    array([[2.]])
    """
    batch = Batch(model, (("q", q, model.n_q),))
    tree = batch.tree
    nnz = tree.pattern.nnz
    if out is None:
        values = batch.empty(nnz)
    else:
        shape = (nnz,) if batch.single else (batch.nt, nnz)
        values = check_out(out.values, shape, batch.dtype).reshape(batch.nt, nnz)
    kernel, atoms_f = batch.pick(MASS), batch.atoms_f

    def call(part: slice) -> int:
        return kernel(  # type: ignore[no-any-return]
            tree.atoms_i, atoms_f, tree.columns_i, tree.chain_start, tree.chain_positions, tree.chain_transposed,
            *batch.rows(part), values[part],
        )  # fmt: skip

    batch.sweep(call, threads)
    return out if out is not None else Packed(values[0] if batch.single else values, tree.pattern)


def forward_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, *,
    loads: Sequence[Load] | None = None, method: Method = "auto", out: Array | None = None, threads: int = 1,
) -> Array:  # fmt: skip
    """Accelerations of a tree under given generalized forces, gravity and external loads; `mechanics.accelerations`
    takes every mechanism, and says what the arguments are.

        a = M(q)^-1 (tau + sum J^T load - h(q, v))

    method : "factor" takes factors of the mass matrix, "recursive" eliminates body by body, whose time grows with n_v
    and not faster. Both give the same numbers to rounding; "auto" is elimination.

    Raises
    ------
    SingularMassMatrixError
        If a coordinate moves no inertia, naming it: a massless body at the end of a branch, a slender rod spinning
        about itself.

    >>> forward_dynamics(model, [np.pi / 2])       # released from the horizontal: -g / l
    array([-9.81])
    """
    require_tree(model)
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("tau", tau, model.n_v)),
        also_complex=loads_are_complex(loads),
    )  # fmt: skip
    tree = batch.tree
    note_idle_gravity(model, tree)
    table = compile_loads(model, tree, loads, batch.nt, batch.dtype)
    if out is None:
        a = batch.empty(tree.n_v)
    else:
        shape = (tree.n_v,) if batch.single else (batch.nt, tree.n_v)
        a = check_out(out, shape, batch.dtype).reshape(batch.nt, tree.n_v)
    if method not in ("auto", "factor", "recursive"):
        raise InputError(f'method is {method!r}; it must be "auto", "factor" or "recursive".')
    # Measured (benchmarks/forward_dynamics.py): elimination is quicker for chains from 5 links on (16: 1.3 times, 32: 2
    # times or more), for the human 1.3 times, and for a single state of any tree. In batches of trees with shorter
    # branches factors win by 5 to 15 % with 8 lanes and lose by 20 to 50 % with 4. Not worth an exception; one
    # way for all also keeps batches equal to single states.
    way = _by_factors if method == "factor" else _by_elimination
    batch.sweep(way(model, batch, table, a), threads)
    return a[0] if batch.single else a


def _by_elimination(model: Model, batch: Batch, table: LoadTable, a: Array) -> Callable[[slice], int]:
    """What takes a block of samples and writes its accelerations, body by body."""
    tree, kernel, atoms_f = batch.tree, batch.pick(RECURSIVE), batch.atoms_f

    def eliminate(part: slice) -> int:
        row, column, ratio = kernel(
            tree.atoms_i, atoms_f, *batch.rows(part), table.indices, table.rows(part), a[part]
        )  # fmt: skip
        if column:
            what = f"{ratio:.1e} of the inertia that it is left of"
            raise _vanishing_pivot(model, column - 1, what, part.start + row, batch.single)
        return int(row)

    return eliminate


def _by_factors(model: Model, batch: Batch, table: LoadTable, a: Array) -> Callable[[slice], int]:
    """What takes a block of samples and writes its accelerations, by factors of the mass matrix."""
    tree, kernel, atoms_f = batch.tree, batch.pick(ACCELERATIONS), batch.atoms_f
    require_memory(
        8.0 * (tree.n_v + tree.structure.n_pairs), f"the factors of a mass matrix of {tree.n_v} velocities",
        'method="recursive" needs none.',
    )  # fmt: skip

    def factor(part: slice) -> int:
        row, singular = kernel(
            tree.atoms_i, atoms_f, tree.columns_i, tree.chain_start, tree.column_parent, *batch.rows(part),
            table.indices, table.rows(part), a[part],
        )  # fmt: skip
        if singular:
            raise singular_mass_matrix(model, batch.arrays[0], part.start + row, batch.single)
        return int(row)

    return factor


@final
@dataclass(frozen=True, eq=False)
class MultiplierDerivatives:
    """Multipliers of the constraint rows of a mechanism, and their derivatives.

    Attributes
    ----------
    names : of the m rows
    lam : (m,) or (nt, m)
    dq, dv, dtau : (m, n_v) or (nt, m, n_v)
    dp : (m, np) or (nt, m, np)
    """

    names: tuple[str, ...]
    lam: Array
    dq: Array
    dv: Array
    dtau: Array
    dp: Array


@final
@dataclass(frozen=True, eq=False)
class ForwardDynamicsDerivatives:
    """Accelerations and their derivatives; dense, since every joint depends on every other one through M^-1.

    Attributes
    ----------
    a : (n_v,) or (nt, n_v)
    dq, dv, dtau : (n_v, n_v) or (nt, n_v, n_v)
        a_q (along `model.integrate`), a_v, and a_tau = M^-1.
    dp : (n_v, np) or (nt, n_v, np)
        a_p, one column per entry of `parameters`.
    parameters : tuple of str
    multipliers : MultiplierDerivatives, or None where no constraint acts
    """

    a: Array
    dq: Array
    dv: Array
    dtau: Array
    dp: Array
    parameters: tuple[str, ...]
    multipliers: MultiplierDerivatives | None = None

    def by(self, path: str) -> Array:
        """d a / d parameter: (n_v,) or (nt, n_v)."""
        return np.asarray(self.dp[..., column_index(self.parameters, path)])


def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    wrt: str | Sequence[str] = (),
    loads: Sequence[Load] | None = None,
    threads: int = 1,
) -> ForwardDynamicsDerivatives:
    """Accelerations of a tree and their exact derivatives by q, v, tau and parameters.

        a_q = -M^-1 tau_q,   a_v = -M^-1 tau_v,   a_tau = M^-1,   a_p = -M^-1 tau_p        (tau_x: inverse dynamics
        at a)

    Parameters as in `forward_dynamics` and `inverse_dynamics_derivatives`.

    >>> forward_dynamics_derivatives(model, [0.0]).dq          # -g / l
    array([[-9.81]])
    """
    require_tree(model)
    a = forward_dynamics(model, q, v, tau, loads=loads, threads=threads)
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)), also_complex=np.iscomplexobj(a)
    )  # fmt: skip
    n, nt = model.n_v, batch.nt
    require_memory(
        24.0 * nt * n * n,
        f"the derivatives of {n} accelerations for {'a single state' if nt == 1 else f'{nt} samples'}",
        "Take fewer samples at a time, or products with inverse_dynamics_derivatives, which are sparse.",
    )
    arrays: list[Array] = []
    paths: tuple[str, ...] = ()
    # in blocks: the packed derivatives of one block are all that is needed beside the result
    for lo in range(0, nt, BLOCK):
        part = slice(lo, min(lo + BLOCK, nt))
        r = inverse_dynamics_derivatives(
            model, *batch.rows(part), wrt=wrt, loads=loads_of(loads, part), threads=threads
        )  # fmt: skip
        if not arrays:
            paths = r.parameters
            arrays = [empty((nt, n, m), batch.dtype) for m in (n, n, n, len(paths))]
        minus_one: Array = np.full((part.stop - lo, n), -1.0, batch.dtype)
        forces = (r.dq, r.dv, Packed(minus_one, _diagonal(model)), r.dp)
        for x, source in zip(arrays, forces, strict=True):
            _solve(model, batch, r.da.values, source, x[part].reshape(part.stop - lo, -1), part)
    dq, dv, dtau, dp = (x[0] for x in arrays) if batch.single else arrays
    return ForwardDynamicsDerivatives(a, dq, dv, dtau, dp, paths)


def _diagonal(model: Model) -> Pattern:
    """The pattern of the identity."""
    n = model.n_v
    known: Pattern = model.shared("diagonal", lambda _: Pattern((n, n), np.arange(n), np.arange(n)))
    return known


def _groups(model: Model, tree: Tree, pattern: Pattern) -> tuple[Array, Array, Array, Array]:
    """How columns of a pattern are taken together (`kernels.mass.solve_with_mass`), remembered as long as it lasts."""
    known: WeakKeyDictionary[Pattern, tuple[Array, Array, Array, Array]]
    known = model.shared("groups of columns", lambda _: WeakKeyDictionary())
    found = known.get(pattern)
    if found is None:
        group, width = pattern.cols // COLUMNS, -(-pattern.shape[1] // COLUMNS)
        entries = np.argsort(group, kind="stable")
        slots = (pattern.rows * COLUMNS + pattern.cols % COLUMNS)[entries]
        reaches = np.zeros((pattern.shape[0], width), bool)
        reaches[pattern.rows, group] = True
        for k in range(len(reaches) - 1, -1, -1):
            if tree.column_parent[k] >= 0:
                reaches[tree.column_parent[k]] |= reaches[k]
        first = np.searchsorted(group[entries], np.arange(width + 1))
        found = known[pattern] = first, entries, np.ascontiguousarray(slots), reaches
    return found


def _solve(model: Model, batch: Batch, M: Array, source: Packed, X: Array, part: slice) -> None:
    """X := -M^-1 times packed columns."""
    if X.shape[1] == 0:
        return
    tree, values = batch.tree, source.values.reshape(len(X), source.pattern.nnz)
    row = batch.pick(SOLVE)(
        tree.chain_start, tree.column_parent, tree.chain_positions, _groups(model, tree, source.pattern),
        M.reshape(len(X), -1), values, X,
    )  # fmt: skip
    if row >= 0:
        raise singular_mass_matrix(model, batch.arrays[0], part.start + row, batch.single)


def singular_mass_matrix(model: Model, q: Array, first: int, single: bool) -> SingularMassMatrixError:
    """The error for the block of samples that starts at `first`: names the sample and the coordinate whose pivot
    vanishes."""
    for sample in range(first, min(first + LANES, len(q))):
        M = np.real(mass_matrix(model, np.real(q[sample])).dense())
        column, ratio = _smallest_pivot(M)
        if not ratio > PIVOT_TOLERANCE:
            return _vanishing_pivot(model, column, f"{ratio:.1e} of its diagonal", sample, single)
    return SingularMassMatrixError(f"the mass matrix is singular near sample {first}.")


def _vanishing_pivot(model: Model, column: int, size: str, sample: int, single: bool) -> SingularMassMatrixError:
    where = "" if single else f" at sample {sample}"
    return SingularMassMatrixError(
        f"the mass matrix is singular{where}: with the joints beyond it free, {model.v_names[column]!r} moves "
        f"no inertia (pivot {size}). Give mass or inertia to the bodies it moves, or fix that joint."
    )


def _smallest_pivot(M: Array) -> tuple[int, float]:
    """Column with the smallest pivot of M = L^T D L relative to its diagonal, and that ratio."""
    M = M.copy()
    diagonal = np.diagonal(M).copy()
    ratios = np.zeros(len(M))
    for k in range(len(M) - 1, -1, -1):
        ratios[k] = M[k, k] / diagonal[k] if diagonal[k] > 0 else 0.0
        if not ratios[k] > PIVOT_TOLERANCE:
            return k, float(ratios[k])
        M[:k, :k] -= np.outer(M[:k, k], M[k, :k]) / M[k, k]
    k = int(np.argmin(ratios))
    return k, float(ratios[k])
