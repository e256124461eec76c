"""Mass matrices of any mechanism: of its tree, and of independent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.system import RANK
from mechgrad.errors import InputError
from mechgrad.inverse.forward import mass_matrix as tree_inertia
from mechgrad.kinematics.batch import Batch
from mechgrad.kinematics.held import Equations, find_quantity
from mechgrad.memory import require_memory
from mechgrad.model.pattern import Packed, Pattern
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def mass_matrix(
    model: Model,
    q: ArrayLike,
    *,
    independent: Sequence[str] | None = None,
    out: Packed | None = None,
    threads: int = 1,
) -> Packed:
    """Mass matrix M(q) of the coordinates of the tree, or of independent ones.

        kinetic energy = v^T M v / 2 = z'^T (R^T M R) z' / 2,        v = R z',   Gamma R = 0

    Parameters
    ----------
    q : (n_q,) or (nt, n_q)
    independent : list of str, optional
        Names whose rates z' stand for all velocities that the constraints allow (at one instant): as many as
        `mobility` counts freedoms, from `independent_coordinates`, or any that `assemble` could hold; for balls also
        names of velocities. Velocities of drivers are not in z': they add to v.
    out : Packed, optional
        An earlier result of the same shape, to be overwritten; not with `independent`.

    Returns
    -------
    Packed
        Without `independent` that of the tree, n_v x n_v, whatever closes its loops: packed by the tree's pattern,
        symmetric, both halves stored. Otherwise R^T M R, full. `.values` (nt, nnz), `.dense()` (nt, n, n)
        [kg m^2, kg m, kg].

    >>> mass_matrix(model, [0.3]).dense()          # m l^2
    array([[2.]])
    """
    if independent is None:
        return tree_inertia(model, q, out=out, threads=threads)
    if out is not None:
        raise InputError("out serves the mass matrix of the tree; leave it out, or independent.")
    if isinstance(independent, str):
        raise InputError(f"independent is the string {independent!r}; give a list of names: [{independent!r}].")
    batch = Batch(model, (("q", q, model.n_q),))
    names = tuple(independent)
    require_memory(
        24.0 * batch.nt * model.n_v**2, f"mass matrices of {model.n_v} velocities for {batch.nt} samples",
        "Take fewer samples at a time.",
    )  # fmt: skip
    M = tree_inertia(model, batch.arrays[0], threads=threads).dense().reshape(batch.nt, model.n_v, model.n_v)
    equations = Equations.of(model, (find_quantity(model, name, rate=True) for name in names), batch.arrays[0])
    R = np.stack([_allowed(equations, x, names) for x in batch.arrays[0]])
    n = len(names)
    values = np.einsum("tji,tjk,tkl->til", R, M, R).reshape(batch.nt, n * n)
    rows, cols = np.divmod(np.arange(n * n, dtype=np.int64), max(n, 1))
    return Packed(values[0] if batch.single else values, Pattern((n, n), rows, cols))


def _allowed(equations: Equations, q: Array, names: tuple[str, ...]) -> Array:
    """R (n_v, n): velocities that the constraints allow, one column per unit rate of a name."""
    model, m = equations.model, equations.n_constraints
    W = equations.at(q.astype(equations.dtype), None, 0.0).J  # functions of time do not enter Gamma
    sizes = np.linalg.norm(W.real, axis=1)
    unit = W.real / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    rank, together = (int(np.linalg.matrix_rank(x, tol=RANK * max(x.shape))) for x in (unit[:m], unit))
    freedoms = model.n_v - rank
    if len(names) != freedoms or together < model.n_v:
        raise InputError(
            f"independent has {len(names)} names ({', '.join(names) or 'none'}), which fix {together - rank} of the "
            f"{freedoms} freedoms of model {model.name!r} here. Give as many names as freedoms, such as those of "
            "mg.kinematics.independent_coordinates(model, q)."
        )
    # rows that depend on others are left out; the rest is regular, and complex steps pass through it
    kept = _independent_rows(unit[:m], rank)
    square = np.concatenate([W[kept], W[m:]])
    return np.asarray(np.linalg.solve(square, np.eye(model.n_v)[:, len(kept) :]))


def _independent_rows(rows: Array, rank: int) -> Array:
    from scipy.linalg import qr

    if not rank:
        return np.zeros(0, np.int64)
    _, _, order = qr(rows.T, mode="economic", pivoting=True)
    return np.sort(order[:rank])
