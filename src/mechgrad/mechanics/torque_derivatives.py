"""Exact derivatives of inverse dynamics of any mechanism.

Trees with force elements: by q, v, a and parameters. With constraints, along them: by independent coordinates z, their
rates and second rates, and parameters. What balances a state solves

    D mu - Gamma^T lam = r,    Gamma mu = 0,    tau = D mu                (`mechanics.balance`)

so that along any change of (q, v, a, p)

    D dmu - Gamma^T dlam = r_q dq + r_v dv + M da + r_p dp + (dGamma)^T lam,    Gamma dmu = -(dGamma) mu

and dq, dv, da follow dz, dz', dz'' and dp by `mechanics.following`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.dynamics.terms import constraint_terms, motion_terms
from mechgrad.errors import AssemblyError, InputError
from mechgrad.inverse.loads import Load, compile_loads, named_point
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.inverse.spatial import inverse_dynamics_derivatives as tree_derivatives
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.mechanism import row_report
from mechgrad.kinematics.open_trees import has_elements, require_tree
from mechgrad.mechanics.balance import Freedoms
from mechgrad.mechanics.following import Motions
from mechgrad.mechanics.named import states_of
from mechgrad.mechanics.states import TOLERANCE, States, unbalanced
from mechgrad.mechanics.torques import Balanced, Given, balanced
from mechgrad.model.columns import STEP, column_index, expand_paths
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.pattern import Pattern
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True, eq=False, repr=False)
class ConstrainedDerivatives:
    """Generalized forces of a mechanism with constraints, and their derivatives along these.

        dtau = dz . d(z) + dzd . d(z') + dzdd . d(z'') + dp . d(p)          all other coordinates follow

    Attributes
    ----------
    tau : (n_v,) or (nt, n_v) [N m, N]
    multipliers : (m,) or (nt, m)
    dz : (.., n_v, f)
        By the independent coordinates; for one of a ball, by a small rotation in parent axes.
    dzd, dzdd : (.., n_v, g)
        By their rates and second rates; `dzdd` is what inertia the drives feel.
    dp : (.., n_v, n_p)
        By parameters, z, z' and z'' held: loops close again and all else follows.
    independent : tuple of str
        The f coordinates z (`model.v_names`).
    independent_rates : tuple of str
        The g of them whose rates are free: all, unless constraints at velocity level (rolling) leave fewer.
    parameters : tuple of str
        The paths of the columns of dp.

    >>> D = inverse_dynamics_derivatives(five_bar(), five_bar_start(), driven=["A", "1"], independent=["A", "1"])
    >>> D
    ConstrainedDerivatives(one state, n_v=4, by A, 1 and their rates, parameters=0)
    >>> D.dzdd.shape
    (4, 2)
    """

    tau: FloatArray
    multipliers: FloatArray
    dz: FloatArray
    dzd: FloatArray
    dzdd: FloatArray
    dp: FloatArray
    independent: tuple[str, ...]
    independent_rates: tuple[str, ...]
    parameters: tuple[str, ...]

    def by(self, path: str) -> FloatArray:
        """d tau / d parameter: (n_v,) or (nt, n_v)."""
        return self.dp[..., column_index(self.parameters, path)]

    def __repr__(self) -> str:
        samples = "one state" if self.tau.ndim == 1 else f"{self.tau.shape[0]} samples"
        names = ", ".join([*self.independent[:6], "..."] if len(self.independent) > 6 else self.independent)
        return (
            f"ConstrainedDerivatives({samples}, n_v={self.tau.shape[-1]}, by {names or 'nothing'} and their rates, "
            f"parameters={len(self.parameters)})"
        )


def inverse_dynamics_derivatives(
    model: Model,
    q: Given,
    v: Given | None = None,
    a: Given | None = None,
    *,
    wrt: str | Sequence[str] = (),
    loads: Sequence[Load] | None = None,
    driven: Sequence[str] | None = None,
    independent: Sequence[str] | None = None,
    t: ArrayLike = 0.0,
    guess: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    method: str = "spatial",
    out: InverseDynamicsDerivatives | None = None,
    threads: int = 1,
) -> Any:
    """Generalized forces of any mechanism and their exact derivatives by its motion and by any numbers of the model and
    the loads.

    Parameters
    ----------
    model, q, v, a, loads, driven, t, guess, tolerance, method, threads
        As in `inverse_dynamics`; the methods of the literature give no columns for `wrt`.
    wrt : path or list of paths
        Parameters, e.g. "thigh.mass", "dh.24.a", "knee.axis.x", "gravity.z", "load.0.force.z", a design variable,
        or a pattern such as "*.mass".
    independent : list of names, optional
        Of a model with constraints: as many coordinates as are free, to differentiate by; those that q names, or a well
        conditioned choice for all states if left out.
    out : InverseDynamicsDerivatives, optional
        Of a tree without elements: an earlier result of the same shape and `wrt`, to be overwritten.

    Returns
    -------
    InverseDynamicsDerivatives
        Of a tree, packed: `D.dq.values` is (nt, nnz) in the order of `D.dq.pattern.rows, .cols` (row by row).
        `D.dq.dense()` spreads it. Force elements may relate everything to everything: with them the pattern is full.
    mechgrad.mechanics.torque_derivatives.ConstrainedDerivatives
        Of a mechanism with constraints: `D.dz`, `D.dzd`, `D.dzdd`, `D.dp`, dense, by independent coordinates, their
        rates, their second rates and parameters; all other coordinates follow.

    Examples
    --------
    >>> D = inverse_dynamics_derivatives(model, [0.0], wrt=["bob.mass"])
    >>> D.dq.dense()                      # m g l
    array([[19.62]])
    >>> linkage = inverse_dynamics_derivatives(five_bar(), five_bar_start(), driven=["A", "1"], wrt=["S2.stiffness"])
    >>> linkage.dz.shape, linkage.by("S2.stiffness").round(9) + 0.0           # unstretched springs exert nothing
    ((4, 2), array([0., 0., 0., 0.]))
    """
    note_idle_gravity(model, tree_of(model))
    named = not isinstance(q, np.ndarray) and isinstance(q, Mapping)
    if not named and driven is None and not has_elements(model):
        if guess is not None or independent is not None:
            raise InputError("guess and independent are for mechanisms with constraints; this model is a tree.")
        return tree_derivatives(model, q, v, a, wrt=wrt, loads=loads, method=method, out=out, threads=threads)  # type: ignore[arg-type]
    if method != "spatial":
        require_tree(model)
        raise InputError(f"method {method!r} knows no driven or named coordinates; use method='spatial'.")
    if out is not None:
        raise InputError("out serves trees without constraints and force elements; leave it out here.")
    if guess is not None and not named:
        raise InputError("guess is for coordinates by name, q={'A': 0.3, ...}; arrays q are taken as they are.")
    states = states_of(model, q, v, a, t, loads, guess)
    if states.dtype is complex:
        raise InputError("derivatives of a model or motion with complex numbers are not defined; give real ones.")
    if not len(states.q):
        raise InputError("q holds no states; give one at least.")
    found = balanced(model, states, loads, driven, tolerance, threads)
    paths = _paths(model, wrt, loads, len(states.q))
    terms = _Terms(found, loads, paths)
    if not found.system.n_constraints:
        if independent is not None:
            raise InputError(f"model {model.name!r} has no constraints: all of its coordinates are independent.")
        return _of_tree(found, terms, paths)
    if named and independent is None and all(name in model.q_names for name in q):  # type: ignore[operator,union-attr]
        independent = [*q]  # type: ignore[misc]
    return _along_constraints(found, terms, paths, independent)


def _paths(model: Model, wrt: str | Sequence[str], loads: Sequence[Load] | None, nt: int) -> tuple[str, ...]:
    table = compile_loads(model, tree_of(model), loads, nt, float)
    return expand_paths(model, wrt, table.paths)


class _Terms:
    """Partials of r + Gamma^T lam, lam held: by q, v, a (nt, n, n) and by parameters (nt, n, n_p); partials of the rows
    by parameters (nt, m, n_p), and those of Gamma mu, mu held: by q (nt, m, n) and parameters."""

    def __init__(self, found: Balanced, loads: Sequence[Load] | None, paths: tuple[str, ...]) -> None:
        states, system, lam, mu = found.states, found.system, found.lam, found.mu
        model, q, v, a, t = states.model, states.q, states.v, states.a, states.t
        motion = motion_terms(model, q, v, a, lam, t=t)
        self.q, self.v, self.a = motion.r_q, motion.r_v, motion.M
        if loads:
            # what loads do alone: without gravity, at rest
            tree = model.open_tree()._moved({f"gravity.{axis}": 0.0 for axis in "xyz"})
            self.q = self.q + tree_derivatives(tree, q, loads=loads).dq.dense()
        m = system.n_constraints
        nt, n, count = len(q), model.n_v, len(paths)
        self.turned_q = system.constraints(q, mu, None, t).J_rate - system.constraints(q, None, None, t).J_rate
        self.p, self.turned_p = np.zeros((nt, n, count)), np.zeros((nt, m, count))
        self.rows_p = (np.zeros((nt, m, count)), np.zeros((nt, m, count)), np.zeros((nt, m, count)))
        load_paths = compile_loads(model, tree_of(model), loads, nt, float).paths
        twin = States(model, q + 0j, v + 0j, a + 0j, t, states.single)
        for k, path in enumerate(paths):
            moved, pushed = _stepped(model, loads or (), load_paths, path)
            other = System(moved, rows=system.rows, dtype=complex)
            r, rows = unbalanced(twin, other, pushed)
            turned = rows.J[:, :m].imag / STEP
            self.p[:, :, k] = r.imag / STEP + np.einsum("tmn,tm->tn", turned, lam)
            self.turned_p[:, :, k] = np.einsum("tmn,tn->tm", turned, mu)
            for part, x in zip(self.rows_p, (rows.values, rows.rates, rows.seconds), strict=True):
                part[:, :, k] = x[:, :m].imag / STEP


def _stepped(model: Model, loads: Sequence[Load], load_paths: Sequence[str], path: str) -> tuple[Model, list[Load]]:
    """Model and loads with an imaginary step along one number."""
    new = list(loads)
    if path in load_paths:
        k = load_paths.index(path) // 9  # three fields with three axes each
        _, field, axis = path.rsplit(".", 2)
        given: Any = getattr(new[k], field)
        vector = np.asarray(named_point(model, given)[1] if isinstance(given, str) else given)
        change: dict[str, Any] = {field: vector + 1j * STEP * np.eye(3)["xyz".index(axis)]}
        new[k] = replace(new[k], **change)
        return model, new
    moved = model._moved({path: model.value(path) + 1j * STEP})
    try:
        row_report(moved)
    except AssemblyError as error:
        raise AssemblyError(f"{path!r} cannot change: {error}") from error
    return moved, new


def _of_tree(found: Balanced, terms: _Terms, paths: tuple[str, ...]) -> InverseDynamicsDerivatives:
    """Of a tree with force elements: every coordinate may feel every other."""
    n, states = found.states.model.n_v, found.states

    def full(columns: int) -> Pattern:
        rows, cols = np.divmod(np.arange(n * columns), max(columns, 1))
        return Pattern((n, columns), rows, cols)

    values = [found.tau, *(np.ascontiguousarray(x).reshape(len(x), -1) for x in (terms.q, terms.v, terms.a, terms.p))]
    return InverseDynamicsDerivatives([states.shaped(x) for x in values], full(n), full(len(paths)), paths)


def _along_constraints(
    found: Balanced, terms: _Terms, paths: tuple[str, ...], independent: Sequence[str] | None
) -> ConstrainedDerivatives:
    """By independent coordinates, their rates and second rates, and parameters."""
    states, system, balance = found.states, found.system, found.balance
    model = states.model
    velocities = balance.freedoms
    holonomic = system.n_holonomic == system.n_constraints
    positions = velocities if holonomic else Freedoms(balance.gamma[:, : system.n_holonomic], found.miss)
    for counts in (positions.counts, velocities.counts):
        if np.ptp(counts):
            k = int(np.argmax(counts != counts[0]))
            raise InputError(
                f"state {k} of model {model.name!r} has {counts[k]} independent coordinate(s) and state 0 has "
                f"{counts[0]}: one of them is singular, where motions may branch. Differentiate the others."
            )
    rows = constraint_terms(model, states.q, states.v, states.a, t=states.t)
    along = Motions(model, rows, positions, velocities, independent, terms.rows_p, paths)
    zero = np.zeros_like
    changes = (
        (along.q_z, along.v_z, along.a_z),
        (zero(along.v_zd), along.v_zd, along.a_zd),
        (zero(along.a_zdd), zero(along.a_zdd), along.a_zdd),
        (along.q_p, along.v_p, along.a_p),
    )
    blocks: list[Array] = []
    for k, (dq, dv, da) in enumerate(changes):
        b = terms.q @ dq + terms.v @ dv + terms.a @ da
        c = -(terms.turned_q @ dq)
        if k == 3:
            b, c = b + terms.p, c - terms.turned_p
        blocks.append(states.shaped(balance.acting(balance.solve(b, c)[0])))
    names = tuple(model.v_names[j] for j in along.z)
    rates = tuple(model.v_names[j] for j in along.z_rate)
    dz, dzd, dzdd, dp = blocks
    return ConstrainedDerivatives(
        states.shaped(found.tau), states.shaped(found.lam), dz, dzd, dzdd, dp, names, rates, paths
    )
