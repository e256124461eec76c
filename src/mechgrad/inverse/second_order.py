"""Second derivatives of inverse dynamics: gradient and Hessian of y . tau(q, v, a), exact and batched.

An optimizer that moves a mechanism needs the Hessian of its Lagrangian, in which torques appear multiplied by
multipliers y. Contracted like that, all second derivatives cost little more than the first ones, have the same
sparsity, and need no tensors.

    L(q, v, a) = y . tau(q, v, a)        L_q = tau_q^T y  ...        L_qq, L_qv, L_vv, L_qa     (L_va = L_aa = 0)

A design needs the same by numbers p of the model: L_qp, L_vp, L_ap by a complex step through the gradient, exact, and
L_pp by differences of the exact tau_p^T y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.kernels import second_order as _kernels
from mechgrad.inverse.loads import Load, LoadTable, compile_loads, loads_are_complex
from mechgrad.inverse.spatial import inverse_dynamics_derivatives
from mechgrad.kinematics.batch import Batch, Kernels
from mechgrad.kinematics.trees_only import require_tree
from mechgrad.model.columns import STEP, expand_paths
from mechgrad.model.parameters import resolve
from mechgrad.model.pattern import Packed
from mechgrad.model.primitives.fields import table as table_of
from mechgrad.typing import Array, ArrayLike, Number

if TYPE_CHECKING:
    from mechgrad.model.model import Model

SECOND_ORDER = Kernels(_kernels.second_order_one, _kernels.second_order_lanes, _kernels.second_order_complex)
_NO_PAIRS = np.zeros((0, 2), np.int64)
_NO_PAIRS.setflags(write=False)

# f'(x) = sum of w (f(x + k h) - f(x - k h)) / h. Torques are at most quadratic in a number of a body, of a load or of
# gravity, and in a length: there the first formula is exact for any step. The second has order six. Its step is 2^-10
# of a number's scale: truncation is far below rounding, 2^-52 / 2^-10. Steps are powers of two, so that x + k h is not
# rounded.
_OF_QUADRATICS = ((1, 1 / 2),)
_SIXTH_ORDER = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
_LENGTHS = (("origin", "m"), ("child_origin", "m"), ("dh", "m"))  # kinds and units of what displaces without turning
_STEP_BITS = 10


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
    qp, vp, ap : (n_v, n_p) or (nt, n_v, n_p)
        L_qp, L_vp, L_ap, one column per entry of `parameters`; dense, without columns if `wrt` was left out.
    pp : (n_p, n_p) or (nt, n_p, n_p)
        L_pp, symmetric.
    parameters : tuple of str
        The paths that `wrt` chose.
    """

    q: Array
    v: Array
    a: Array
    qq: Packed
    qv: Packed
    vv: Packed
    qa: Packed
    qp: Array
    vp: Array
    ap: Array
    pp: Array
    parameters: tuple[str, ...]

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
    require_tree(model)
    batch = _batch(model, q, v, a, y, loads)
    arrays = _run(batch, compile_loads(model, batch.tree, loads, batch.nt, batch.dtype), 0)
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
    wrt: str | Sequence[str] = (),
) -> InverseDynamicsHessian:
    """Gradient and Hessian of y . tau by (q, v, a), packed by the tree's pattern, and by numbers of the model.

        L_qp = Im L_q(p + i h) / h,  L_vp, L_ap alike        L_pp = d(tau_p^T y) / dp

    Parameters
    ----------
    q, v, a, loads
        As in `inverse_dynamics`; real numbers if there are parameters.
    y : (n_v,) or (nt, n_v)
        The multipliers, held fixed.
    wrt : path or list of paths
        Parameters p, as in `inverse_dynamics_derivatives`: numbers of the model and of the loads, design variables,
        patterns such as "*.mass".

    The mixed blocks are complex steps of h = 1e-30 through `inverse_dynamics_gradient`, exact to rounding. L_pp
    consists of central differences of the exact tau_p. By inertial numbers, loads, gravity and lengths they are exact
    but for rounding; by angles, axes, quaternions and design variables they are of order six and good to about 1e-11 of
    the largest entry, less where axes of one joint are almost parallel. The latter's steps are a thousandth of a
    number's scale: of 1 rad, of the length of an axis or a quaternion, of the value of a variable (at least of a
    hundredth of its `scale`).

    >>> inverse_dynamics_hessian(model, [np.pi / 2], None, None, [1.0]).qq.dense()     # -m g l sin q
    array([[-19.62]])
    >>> H = inverse_dynamics_hessian(model, [0.0], None, None, [1.0], wrt=["bob.mass", "bob.com.z"])
    >>> H.qp                                                                           # of -m g z cos q
    array([[  9.81, -19.62]])
    """
    require_tree(model)
    batch = _batch(model, q, v, a, y, loads)
    table = compile_loads(model, batch.tree, loads, batch.nt, batch.dtype)
    pattern = batch.tree.pattern
    parameters = expand_paths(model, wrt, table.paths) if isinstance(wrt, str) or len(wrt) else ()
    if parameters and batch.dtype is complex:
        raise InputError("second derivatives by parameters are not defined for complex numbers; give real ones.")
    arrays = _run(batch, table, pattern.nnz)
    if parameters:
        by_p = _by_parameters(Stepper(model, loads or (), table.paths), batch, parameters)
    else:
        by_p = [batch.empty(model.n_v, 0)] * 3 + [batch.empty(0, 0)]
    q_, v_, a_, *blocks = (x[0] if batch.single else x for x in arrays)
    qq, qv, vv, qa = (Packed(x, pattern) for x in blocks)
    qp, vp, ap, pp = (x[0] if batch.single else x for x in by_p)
    return InverseDynamicsHessian(q_, v_, a_, qq, qv, vv, qa, qp, vp, ap, pp, parameters)


class Stepper:
    """A model and its loads with one number moved; numbers that variables drive are moved without them."""

    def __init__(self, model: Model, loads: Sequence[Load], load_paths: Sequence[str]) -> None:
        self.model, self.loads = model, loads
        self.load = {path: k // 9 for k, path in enumerate(load_paths)}  # three fields with three axes each

    def by(self, path: str, step: Number) -> tuple[Model, list[Load]]:
        """Model and loads after a step."""
        if path not in self.load:
            return self.model.stepped({path: self.model.value(path) + step}), list(self.loads)
        k, field, axis = self._field(path)
        loads = list(self.loads)
        new: dict[str, Any] = {field: self._vector(k, field) + step * np.eye(3)[axis]}
        loads[k] = replace(loads[k], **new)
        return self.model, loads

    def difference(self, path: str) -> tuple[float, tuple[tuple[int, float], ...]]:
        """Step and formula for a derivative by this number."""
        if path in self.load:
            k, field, _ = self._field(path)
            return _power_of_two(max(1.0, np.max(np.abs(self._vector(k, field))))), _OF_QUADRATICS
        model = self.model
        slot, value = resolve(model.layout, model.groups, path), abs(model.value(path))
        if slot.group not in ("joints", "variables") or (slot.kind, slot.unit) in _LENGTHS:
            return _power_of_two(max(1.0, value)), _OF_QUADRATICS
        return self.smooth_difference(path)

    def smooth_difference(self, path: str) -> tuple[float, tuple[tuple[int, float], ...]]:
        """Step and formula for a derivative by any number of the model that acts smoothly."""
        model = self.model
        slot, value = resolve(model.layout, model.groups, path), abs(model.value(path))
        item: Any = model.groups[slot.group][slot.position] if slot.group in model.groups else model
        if slot.group == "variables":
            scale = max(value, 0.01 * item.scale)
        elif slot.unit == "rad":
            scale = 1.0
        elif (
            slot.group == "joints" and table_of(type(item)).specs[slot.field].nonzero
        ):  # axes, quaternions of any length
            scale = float(np.linalg.norm(getattr(item, slot.field)))
        elif slot.group in ("constraints", "forces"):
            scale = value or 1.0  # such as a slip speed, within which a law bends
        else:
            scale = max(1.0, value)
        return _power_of_two(scale) / 2**_STEP_BITS, _SIXTH_ORDER

    def _field(self, path: str) -> tuple[int, str, int]:
        _, field, axis = path.rsplit(".", 2)
        return self.load[path], field, "xyz".index(axis)

    def _vector(self, k: int, field: str) -> Array:
        given = getattr(self.loads[k], field)
        return np.asarray(self.model.point(given).position if isinstance(given, str) else given)


def _power_of_two(x: float) -> float:
    """The largest one that is not above x."""
    return float(2.0 ** np.floor(np.log2(x)))


def _by_parameters(stepper: Stepper, batch: Batch, paths: tuple[str, ...]) -> list[Array]:
    """L_qp, L_vp, L_ap and L_pp of all samples."""
    q, v, a, y = batch.arrays
    n_p = len(paths)
    mixed = [batch.empty(batch.tree.n_v, n_p) for _ in range(3)]
    pp: Array = np.zeros((batch.nt, n_p, n_p))
    for k, path in enumerate(paths):
        model, loads = stepper.by(path, 1j * STEP)
        for block, gradient in zip(mixed, inverse_dynamics_gradient(model, q, v, a, y, loads=loads), strict=True):
            block[..., k] = gradient.imag / STEP
        h, formula = stepper.difference(path)
        for times, weight in formula:
            for sign in (1, -1):
                model, loads = stepper.by(path, sign * times * h)
                D = inverse_dynamics_derivatives(model, q, v, a, wrt=paths[k:], loads=loads)
                pp[:, k, k:] += sign * weight / h * np.einsum("tip,ti->tp", D.dp.dense(), y)
        pp[:, k:, k] = pp[:, k, k:]
    return [*mixed, pp]


def _batch(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, y: ArrayLike, loads: Sequence[Load] | None
) -> Batch:
    n = model.n_v
    return Batch(
        model, (("q", q, model.n_q), ("v", v, n), ("a", a, n), ("y", y, n)), also_complex=loads_are_complex(loads)
    )  # fmt: skip


def _run(batch: Batch, table: LoadTable, nnz: int) -> list[Array]:
    tree = batch.tree
    arrays = batch.empties([tree.n_v] * 3 + [nnz] * 4)
    kernel, tables = batch.pick(SECOND_ORDER), batch.tables
    pairs = tree.pairs if nnz else _NO_PAIRS  # of Hessians alone

    def call(part: slice) -> int:
        rows = batch.parts(arrays, part)
        return kernel(tables, pairs, batch.rows(part), table.record(part), rows[:3], rows[3:])  # type: ignore[no-any-return]

    batch.sweep(call)
    return arrays
