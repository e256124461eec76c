"""Gradient and Hessian of weighted generalized forces of any mechanism: what the Lagrangian of an optimizer needs.

    L(q, v, a) = y . (M a + h - Q + Gamma^T lam - sum J^T load)          y and the multipliers lam held

Trees of bodies alone take the packed kernels of `inverse.second_order`. Force elements and constraints add their own
part: its gradient is analytic (`motion_terms`), its second derivatives are complex steps through that, exact to
rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.dynamics.kernels.states import linearised_states
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load, compile_loads, loads_are_complex
from mechgrad.inverse.second_order import InverseDynamicsHessian, Stepper
from mechgrad.inverse.second_order import inverse_dynamics_gradient as tree_gradient
from mechgrad.inverse.second_order import inverse_dynamics_hessian as tree_hessian
from mechgrad.kinematics.batch import Batch, tree_of
from mechgrad.kinematics.mechanism_record import elements_of, row_report
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.mechanics.accelerations import instants
from mechgrad.memory import require_memory
from mechgrad.model.columns import STEP, expand_paths
from mechgrad.model.pattern import Packed, Pattern
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def inverse_dynamics_gradient(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, y: ArrayLike, *,
    loads: Sequence[Load] | None = None, multipliers: ArrayLike | None = None, t: ArrayLike = 0.0,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Gradient of y . tau by q, v and a of any mechanism: (tau_q^T y, tau_v^T y, M y).

        tau = M a + h - Q + Gamma^T lam - sum J^T load          lam: `multipliers`, held as y is

    Shapes as in `inverse_dynamics`; y like v. Of trees of bodies alone in O(n), without the Jacobians. Complex inputs
    give complex outputs, so that a complex step through it is exact; laws in Python take real ones.

    >>> inverse_dynamics_gradient(model, [0.0], None, None, [1.0])[0]
    array([19.62])
    """
    if not has_elements(model):
        _refuse_multipliers(model, multipliers)
        return tree_gradient(model, q, v, a, y, loads=loads)
    at = _At(model, q, v, a, y, multipliers, t, loads)
    g = [x + dx for x, dx in zip(at.gradient(at.system()), at.of_loads_gradient(), strict=True)]
    return at.shaped(g[0]), at.shaped(g[1]), at.shaped(g[2])


def inverse_dynamics_hessian(
    model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, y: ArrayLike, *,
    loads: Sequence[Load] | None = None, wrt: str | Sequence[str] = (), multipliers: ArrayLike | None = None,
    t: ArrayLike = 0.0,
) -> InverseDynamicsHessian:  # fmt: skip
    """Gradient and Hessian of y . tau by (q, v, a) of any mechanism, and by numbers of the model and the loads.

        L_qp = Im L_q(p + i h) / h,  L_vp, L_ap alike        L_pp = d(tau_p^T y) / dp

    Parameters
    ----------
    q, v, a, loads, t
        As in `inverse_dynamics`; real numbers where there are parameters or elements.
    y : (n_v,) or (nt, n_v);   multipliers : (m,) or (nt, m)
        Weights of the generalized forces, and multipliers lam of the constraint rows (of models that have some): held.
    wrt : path or list of paths
        Parameters p, as in `inverse_dynamics_derivatives`.

    Returns
    -------
    InverseDynamicsHessian
        Of a tree packed by its pattern; with force elements or constraints the pattern is full, q, v and a need not
        meet the constraints.

    All is exact to rounding but L_pp, central differences of the exact tau_p: by inertial numbers, loads, gravity and
    lengths exact for trees, by angles, axes, quaternions, variables and numbers of elements of order six, good to about
    1e-11 of the largest entry. Steps are a thousandth of a number's scale.

    >>> inverse_dynamics_hessian(model, [np.pi / 2], None, None, [1.0]).qq.dense()     # -m g l sin q
    array([[-19.62]])
    >>> H = inverse_dynamics_hessian(model, [0.0], None, None, [1.0], wrt=["bob.mass", "bob.com.z"])
    >>> H.qp                                                                           # of -m g z cos q
    array([[  9.81, -19.62]])
    """
    if not has_elements(model):
        _refuse_multipliers(model, multipliers)
        return tree_hessian(model, q, v, a, y, loads=loads, wrt=wrt)
    return _At(model, q, v, a, y, multipliers, t, loads).hessian(wrt)


def _refuse_multipliers(model: Model, multipliers: ArrayLike | None) -> None:
    if multipliers is not None:
        raise InputError(f"model {model.name!r} has no constraints and no multipliers; leave them out.")


class _At:
    """States of a mechanism with elements, weights and multipliers."""

    def __init__(
        self, model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, y: ArrayLike,
        multipliers: ArrayLike | None, t: ArrayLike, loads: Sequence[Load] | None,
    ) -> None:  # fmt: skip
        n = model.n_v
        self.rows = row_report(model).kept
        m = len(self.rows)
        if m and multipliers is None:
            raise InputError(
                f"model {model.name!r} has {m} constraint row(s), and their multipliers are part of what acts: give "
                "multipliers=lam, those of inverse_dynamics(..., return_multipliers=True) for example."
            )
        lam = np.zeros(m) if multipliers is None else multipliers
        self.batch = Batch(
            model, (("q", q, model.n_q), ("v", v, n), ("a", a, n), ("y", y, n), ("multipliers", lam, m)),
            also_complex=loads_are_complex(loads) or elements_of(model).dtype is complex,
        )  # fmt: skip
        self.model, self.loads, self.t = model, loads, instants(t, self.batch.nt)
        if elements_of(model).user and self.batch.dtype is complex:
            raise InputError(f"model {model.name!r} has laws in Python, whose partials take real numbers.")
        arrays: list[Array] = [np.array(x, self.batch.dtype, order="C") for x in self.batch.arrays]
        self.q, self.v, self.a, self.y, self.lam = arrays
        require_memory(
            8.0 * self.batch.nt * 14 * n * n, f"second derivatives of {n} forces for {self.batch.nt} samples",
            "Take fewer samples at a time.",
        )  # fmt: skip
        self.tree = model.cached("open tree", lambda m: m.open_tree())

    def shaped(self, x: Array) -> Array:
        """Without the leading axis for a single state."""
        return x[0] if self.batch.single else x

    def system(self, model: Model | None = None, dtype: type | None = None) -> System:
        """The record of the model, or of one with other numbers: the same rows act."""
        return System(model or self.model, rows=self.rows, dtype=dtype or self.batch.dtype)

    def linearised(self, system: System, q: Array, v: Array) -> list[Array]:
        """r, r_q, r_v and M without loads, at other q and v."""
        nt, n, dtype = self.batch.nt, self.model.n_v, system.dtype
        r: Array = np.zeros((nt, n), dtype)
        parts: list[Array] = [np.zeros((nt, n * n), dtype) for _ in range(3)]
        arrays: list[Array] = [np.array(x, dtype, order="C") for x in (q, v, self.a, self.lam)]
        bad = linearised_states(system.T, *arrays, self.t.copy(), r, *parts)
        system.users.raise_pending()
        if bad >= 0:
            raise InputError(f"state {bad} holds a number that is not finite, or the forces on it do.")
        return [r, *(x.reshape(nt, n, n) for x in parts)]

    def gradient(self, system: System, q: Array | None = None, v: Array | None = None) -> list[Array]:
        """L_q, L_v, L_a (nt, n) without loads."""
        found = self.linearised(system, self.q if q is None else q, self.v if v is None else v)[1:]
        return [np.einsum("tij,ti->tj", x, self.y) for x in found]

    def of_loads_gradient(self) -> list[Array]:
        """What loads add to the gradient."""
        if not self.loads:
            return [np.zeros_like(self.y)] * 3
        given = (self.tree, self.q, self.v, self.a, self.y)
        return [x - y for x, y in zip(tree_gradient(*given, loads=self.loads), tree_gradient(*given), strict=True)]

    def hessian(self, wrt: str | Sequence[str]) -> InverseDynamicsHessian:
        """All blocks, by complex steps through the gradient."""
        if self.batch.dtype is complex:
            raise InputError(
                "second derivatives of mechanisms with elements take real numbers; this motion is complex."
            )
        if elements_of(self.model).user:
            raise InputError(
                f"model {self.model.name!r} has laws in Python, whose second derivatives nobody states. Take "
                "differences of mg.terms.inverse_dynamics_gradient, or write the law as one of mg.forces."
            )
        g = self.gradient(self.system())
        n, nt = self.model.n_v, self.batch.nt
        qq, qv, vv, qa = (np.zeros((nt, n, n)) for _ in range(4))
        twin = self.system(dtype=complex)
        for j in range(n):
            step = 1j * STEP * np.tile(np.eye(n)[j], (nt, 1))
            moved = np.asarray(self.model.integrate(self.q + 0j, step))
            by_q = [x.imag / STEP for x in self.gradient(twin, q=moved)]
            qq[:, :, j], qv[:, j], qa[:, j] = by_q
            vv[:, :, j] = self.gradient(twin, v=self.v + step)[1].imag / STEP
        by_p, paths = self._by_parameters(wrt)
        blocks = [qq, qv, vv, qa]
        if self.loads:
            g, blocks, by_p = self._with_loads(g, blocks, by_p, paths)
        rows, cols = np.divmod(np.arange(n * n), n)
        pattern = Pattern((n, n), rows, cols)
        q_, v_, a_ = (self.shaped(x) for x in g)
        p_qq, p_qv, p_vv, p_qa = (Packed(self.shaped(x.reshape(nt, n * n)), pattern) for x in blocks)
        qp, vp, ap, pp = (self.shaped(x) for x in by_p)
        return InverseDynamicsHessian(q_, v_, a_, p_qq, p_qv, p_vv, p_qa, qp, vp, ap, pp, paths)

    def _with_loads(
        self, g: list[Array], blocks: list[Array], by_p: list[FloatArray], paths: tuple[str, ...]
    ) -> tuple[list[Array], list[Array], list[FloatArray]]:
        """What loads add: all that a tree has more with them than without. Their own numbers act there alone."""
        given = (self.tree, self.q, self.v, self.a, self.y)
        of_loads = compile_loads(self.model, tree_of(self.model), self.loads, self.batch.nt, float).paths
        inner = [k for k, path in enumerate(paths) if path not in of_loads]
        loaded, bare = (
            tree_hessian(*given, loads=self.loads, wrt=paths),
            tree_hessian(*given, wrt=[paths[k] for k in inner]),
        )
        g = [x + getattr(loaded, name) - getattr(bare, name) for name, x in zip("qva", g, strict=True)]
        blocks = [
            x + getattr(loaded, name).dense() - getattr(bare, name).dense()
            for name, x in zip(("qq", "qv", "vv", "qa"), blocks, strict=True)
        ]
        found = []
        for name, x in zip(("qp", "vp", "ap"), by_p[:3], strict=True):
            more = getattr(loaded, name).copy()
            more[:, :, inner] -= getattr(bare, name)
            found.append(x + more)
        pp = loaded.pp.copy()
        pp[np.ix_(range(len(pp)), inner, inner)] -= bare.pp
        return g, blocks, [*found, by_p[3] + pp]

    def _by_parameters(self, wrt: str | Sequence[str]) -> tuple[list[FloatArray], tuple[str, ...]]:
        """L_qp, L_vp, L_ap and L_pp without loads, and the paths; zeros for numbers of loads."""
        of_loads = compile_loads(self.model, tree_of(self.model), self.loads, self.batch.nt, float).paths
        paths = expand_paths(self.model, wrt, of_loads)
        n, nt, count = self.model.n_v, self.batch.nt, len(paths)
        mixed, pp = [np.zeros((nt, n, count)) for _ in range(3)], np.zeros((nt, count, count))
        stepper = Stepper(self.model, (), ())
        inner = [k for k, path in enumerate(paths) if path not in of_loads]
        for k in inner:
            moved, _ = stepper.by(paths[k], 1j * STEP)
            for block, x in zip(mixed, self.gradient(self.system(moved, complex)), strict=True):
                block[:, :, k] = x.imag / STEP
            h, formula = stepper.smooth_difference(paths[k])
            for times, weight in formula:
                for sign in (1, -1):
                    there = Stepper(stepper.by(paths[k], sign * times * h)[0], (), ())
                    for j in (j for j in inner if j >= k):
                        pp[:, k, j] += sign * weight / h * self._first(there.by(paths[j], 1j * STEP)[0])
            pp[:, k:, k] = pp[:, k, k:]
        return [*mixed, pp], paths

    def _first(self, model: Model) -> FloatArray:
        """y . r_p (nt,) where the model carries an imaginary step."""
        r = self.linearised(self.system(model, complex), self.q, self.v)[0]
        return np.asarray(np.einsum("ti,ti->t", r.imag, self.y) / STEP)
