"""Second derivatives of inverse dynamics: gradient and Hessian of y . tau(q, v, a), exact and batched.

An optimizer that moves a mechanism needs the Hessian of its Lagrangian, in which torques appear multiplied by
multipliers y. Contracted like that, all second derivatives cost little more than the first ones, have the same
sparsity, and need no tensors.

    L(q, v, a) = y . tau(q, v, a)        L_q = tau_q^T y  ...        L_qq, L_qv, L_vv, L_qa     (L_va = L_aa = 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.inverse.kernels import second_order as _kernels
from mechgrad.inverse.loads import Load, compile_loads, loads_are_complex
from mechgrad.kinematics.batch import Batch, Kernels
from mechgrad.model.pattern import Packed
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

SECOND_ORDER = Kernels(_kernels.second_order_one, _kernels.second_order_lanes, _kernels.second_order_complex)


@final
@dataclass(frozen=True, eq=False)
class InverseDynamicsHessian:
    """Gradient and Hessian of L = y . tau.

    Attributes
    ----------
    q, v, a : (n_v,) or (nt, n_v)
        L_q (along `model.integrate`), L_v and L_a = M y.
    qq, qv, vv, qa : Packed
        L_qq, L_qv, L_vv, L_qa in the tree's pattern: entry (i, j) of qv is by q_i and v_j. The blocks va and aa
        vanish, vq and aq are the transposes. qq and vv are symmetric but for the coordinates of one Euler-parameter
        joint among each other, where entry (i, j) of qq is the derivative along j of L_q[i].
    """

    q: Array
    v: Array
    a: Array
    qq: Packed
    qv: Packed
    vv: Packed
    qa: Packed

    def dense(self) -> Array:
        """The Hessian by (q, v, a) as one symmetric matrix (3 n_v, 3 n_v) per sample."""
        qq, qv, vv, qa = (x.dense() for x in (self.qq, self.qv, self.vv, self.qa))
        zero = np.zeros_like(qq)
        vq, aq = np.swapaxes(qv, -1, -2), np.swapaxes(qa, -1, -2)
        return np.block([[qq, qv, qa], [vq, vv, zero], [aq, zero, zero]])


def inverse_dynamics_gradient(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    y: ArrayLike,
    *,
    loads: Sequence[Load] | None = None,
) -> tuple[Array, Array, Array]:
    """Gradient of y . tau by q, v and a in O(n), without the Jacobians: (tau_q^T y, tau_v^T y, M y).

    Shapes as in `inverse_dynamics`; y like v. Complex inputs give complex outputs, so that a complex step through
    it is exact.

    >>> inverse_dynamics_gradient(model, [0.0], None, None, [1.0])[0]
    array([19.62])
    """
    batch = _batch(model, q, v, a, y, loads)
    arrays = _run(model, batch, loads, 0)
    g = [x[0] if batch.single else x for x in arrays[:3]]
    return g[0], g[1], g[2]


def inverse_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    y: ArrayLike,
    *,
    loads: Sequence[Load] | None = None,
) -> InverseDynamicsHessian:
    """Gradient and Hessian of y . tau by (q, v, a), packed by the tree's pattern.

    Parameters
    ----------
    q, v, a, loads
        As in `inverse_dynamics`.
    y : (n_v,) or (nt, n_v)
        The multipliers, held fixed.

    >>> inverse_dynamics_hessian(model, [np.pi / 2], None, None, [1.0]).qq.dense()     # -m g l sin q
    array([[-19.62]])
    """
    batch = _batch(model, q, v, a, y, loads)
    pattern = batch.tree.pattern
    q_, v_, a_, *blocks = (x[0] if batch.single else x for x in _run(model, batch, loads, pattern.nnz))
    qq, qv, vv, qa = (Packed(x, pattern) for x in blocks)
    return InverseDynamicsHessian(q_, v_, a_, qq, qv, vv, qa)


def _batch(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, y: ArrayLike, loads: Sequence[Load] | None
) -> Batch:
    n = model.n_v
    return Batch(
        model, (("q", q, model.n_q), ("v", v, n), ("a", a, n), ("y", y, n)), also_complex=loads_are_complex(loads)
    )  # fmt: skip


def _run(model: Model, batch: Batch, loads: Sequence[Load] | None, nnz: int) -> list[Array]:
    tree = batch.tree
    table = compile_loads(model, tree, loads, batch.nt, batch.dtype)
    arrays = batch.empties([tree.n_v] * 3 + [nnz] * 4)
    kernel, atoms_f = batch.pick(SECOND_ORDER), batch.atoms_f

    def call(part: slice) -> int:
        return kernel(  # type: ignore[no-any-return]
            tree.atoms_i, atoms_f, tree.columns_i, tree.pairs, *batch.rows(part), table.indices, table.rows(part),
            *(x[part] for x in arrays),
        )  # fmt: skip

    batch.sweep(call)
    return arrays
