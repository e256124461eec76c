"""Mass matrix and generalized forces by semi-recursive accumulation, with a choice of reference points.

    M a + h = b^T H,   H_i = M_i V_i' - Q_i + sum over children B_s^T H_s,   M_i^Sigma = M_i + sum B_s^T M_s^Sigma B_s

V_i is the velocity of one material point per body: its centre of mass ("com"), or its point that is at the world's
origin now ("origin"). The results are the same functions; the roundings are not. Centres of mass keep all digits
wherever the mechanism stands, the origin makes every sum a plain addition (docs/reference_points.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from mechgrad.errors import unknown_name
from mechgrad.inverse.kernels import accumulation as _kernels
from mechgrad.kinematics.batch import Batch, Kernels
from mechgrad.model.tree import Reference, about_origin
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

__all__ = ["Reference", "SemiRecursiveTerms", "semi_recursive_terms"]

SEMI_RECURSIVE = Kernels(_kernels.semi_recursive_one, _kernels.semi_recursive_lanes, _kernels.semi_recursive_complex)

REFERENCES: dict[str, int] = {
    "com": _kernels.ABOUT_COM,
    "root": _kernels.ABOUT_ONE_POINT,
    "origin": _kernels.ABOUT_ONE_POINT,
}


@final
@dataclass(frozen=True, slots=True, eq=False)
class SemiRecursiveTerms:
    """What the accumulation gives: the equations of motion `M a + h = tau` of a tree at q, v, a.

    Attributes
    ----------
    M : (n_v, n_v) or (nt, n_v, n_v)
        Mass matrix [kg m^2, kg m, kg].
    residual : (n_v,) or (nt, n_v)
        M a + h: the generalized forces that the motion needs, weight included [N m, N].

    >>> terms = semi_recursive_terms(model, [np.pi / 2])    # a bob of 2 kg on 1 m, held horizontally
    >>> terms.residual                                      # m g l
    array([19.62])
    """

    M: Array
    residual: Array


def semi_recursive_terms(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    reference: Reference = "com",
) -> SemiRecursiveTerms:
    """Mass matrix and M a + h of the bodies of any mechanism, accumulated about chosen reference points.

        M = sum_i R_i^T M_i R_i,      M a + h = sum_i R_i^T (M_i V_i' - Q_i)         V_i = R_i v

    Bodies and tree coordinates alone: force elements and constraints are no part of it (`motion_terms` has all).

    Parameters
    ----------
    q : (n_q,) or (nt, n_q)
    v, a : (n_v,) or (nt, n_v), optional
        Velocities and accelerations; zeros if left out. Without a, `residual` is h.
    reference : "com", "root" or "origin"
        The point whose velocity stands for a body's: its centre of mass, or its material point where the mechanism's
        root is, or at the world's origin. Values agree to rounding; at a distance of d lengths of the mechanism
        "origin" has rounding errors d^2 times as large in M and d times in the residual, the others the same as near
        by.

    Returns
    -------
    SemiRecursiveTerms

    Raises
    ------
    UnknownNameError
        For another reference, naming the known ones.
    InputError
        For numbers that are not finite and arrays of the wrong shape.

    >>> semi_recursive_terms(model, [0.3], reference="origin").M          # m l^2
    array([[2.]])
    """
    if reference not in REFERENCES:
        raise unknown_name("reference", reference, REFERENCES, "semi_recursive_terms")
    batch = Batch(model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)))
    tree, about = batch.tree, REFERENCES[reference]
    values, residual = batch.empties((tree.pattern.nnz, tree.n_v))
    kernel, (atoms_i, atoms_f, columns_i) = batch.pick(SEMI_RECURSIVE), batch.tables
    tables = (atoms_i, about_origin(atoms_f) if reference == "origin" else atoms_f, columns_i)
    chains = (tree.chain_start, tree.chain_positions, tree.chain_transposed)

    def call(part: slice) -> int:
        return kernel(tables, chains, about, batch.rows(part), values[part], residual[part])  # type: ignore[no-any-return]

    batch.sweep(call)
    M = tree.pattern.dense(values)
    return SemiRecursiveTerms(M[0], residual[0]) if batch.single else SemiRecursiveTerms(M, residual)
