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
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.dynamics.terms import constraint_terms, motion_terms
from mechgrad.errors import AssemblyError, InputError
from mechgrad.inverse.loads import Load, compile_loads, named_point
from mechgrad.inverse.published_methods import SPATIAL, other_method
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.inverse.spatial import inverse_dynamics_derivatives as tree_derivatives
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.kinematics.trees_only import has_elements, require_tree
from mechgrad.mechanics.balance import Freedoms
from mechgrad.mechanics.checked_states import TOLERANCE, States, unbalanced
from mechgrad.mechanics.following import Motions
from mechgrad.mechanics.named import states_of
from mechgrad.mechanics.torques import Balanced, Given, balanced, is_named, refuse_guess
from mechgrad.model.columns import STEP, column_index, expand_paths
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.model.pattern import Pattern
from mechgrad.typing import ArrayLike, FloatArray

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
        By their rates and second rates; `dzdd` is the inertia that the drives move.
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
    model: Model, q: Given, v: Given | None = None, a: Given | None = None, *, wrt: str | Sequence[str] = (),
    loads: Sequence[Load] | None = None, driven: Sequence[str] | None = None, independent: Sequence[str] | None = None,
    t: ArrayLike = 0.0, guess: ArrayLike | None = None, tolerance: float = TOLERANCE, method: str = SPATIAL,
    out: InverseDynamicsDerivatives | None = None, threads: int = 1,
) -> Any:  # fmt: skip
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

    >>> D = inverse_dynamics_derivatives(model, [0.0], wrt=["bob.mass"])
    >>> D.dq.dense()                      # m g l
    array([[19.62]])
    >>> linkage = inverse_dynamics_derivatives(five_bar(), five_bar_start(), driven=["A", "1"], wrt=["S2.stiffness"])
    >>> linkage.dz.shape, linkage.by("S2.stiffness").round(9) + 0.0           # unstretched springs exert nothing
    ((4, 2), array([0., 0., 0., 0.]))
    """
    note_idle_gravity(model, tree_of(model))
    if driven is None and not is_named(q) and not has_elements(model):
        if guess is not None or independent is not None:
            raise InputError("guess and independent are for mechanisms with constraints; this model is a tree.")
        if method == SPATIAL:
            return tree_derivatives(model, q, v, a, wrt=wrt, loads=loads, out=out, threads=threads)  # type: ignore[arg-type]
        extras = out is not None or threads != 1 or len(wrt) > 0
        return other_method(method, extras).derivatives(model, q, v, a, loads=loads)
    if method != SPATIAL:
        require_tree(model)
        raise InputError(f"method {method!r} knows no driven or named coordinates; use method='spatial'.")
    if out is not None:
        raise InputError("out serves trees without constraints and force elements; leave it out here.")
    found, paths = real_balance(model, (q, v, a), t, wrt, loads, driven, guess, tolerance, threads)
    terms = Terms(found, loads, paths)
    if not found.system.n_constraints:
        refuse_independent(model, independent)
        return _of_tree(found, terms, paths)
    return _along_constraints(found, terms, paths, independent_names(model, q, independent))


def real_balance(
    model: Model, motion: tuple[Given, Given | None, Given | None], t: ArrayLike, wrt: str | Sequence[str],
    loads: Sequence[Load] | None, driven: Sequence[str] | None, guess: ArrayLike | None, tolerance: float,
    threads: int = 1,
) -> tuple[Balanced, tuple[str, ...]]:  # fmt: skip
    """What balances a user's states, which must be real, and the paths that `wrt` names."""
    if not is_named(motion[0]):
        refuse_guess(guess)
    states = states_of(model, *motion, t, loads, guess)
    if states.dtype is complex:
        raise InputError("derivatives of a model or motion with complex numbers are not defined; give real ones.")
    if not len(states.q):
        raise InputError("q holds no states; give one at least.")
    table = compile_loads(model, tree_of(model), loads, len(states.q), float)
    return balanced(model, states, loads, driven, tolerance, threads), expand_paths(model, wrt, table.paths)


def refuse_independent(model: Model, independent: Sequence[str] | None) -> None:
    """Raise where independent coordinates are named and nothing depends on them."""
    if independent is not None:
        raise InputError(f"model {model.name!r} has no constraints: all of its coordinates are independent.")


def independent_names(model: Model, q: Given, independent: Sequence[str] | None) -> Sequence[str] | None:
    """What to differentiate by: as given, or what q names where these are coordinates."""
    if independent is None and isinstance(q, Mapping) and all(name in model.q_names for name in q):
        return [*q]
    return independent


class Terms:
    """Partials of r + Gamma^T lam, lam held: by q, v, a (nt, n, n) and by parameters (nt, n, n_p); partials of the rows
    by parameters (nt, m, n_p), and those of Gamma mu and of Gamma u, mu and u = Gamma^+ lam held: by q (nt, m, n) and
    parameters."""

    def __init__(self, found: Balanced, loads: Sequence[Load] | None, paths: tuple[str, ...]) -> None:
        states, system, lam, mu = found.states, found.system, found.lam, found.mu
        model, q, v, a, t = states.model, states.q, states.v, states.a, states.t
        motion = motion_terms(model, q, v, a, lam, t=t)
        self.q, self.v, self.a = motion.r_q, motion.r_v, motion.M
        if loads:
            # what loads do alone: without gravity, at rest
            tree = model.open_tree().stepped({f"gravity.{axis}": 0.0 for axis in "xyz"})
            self.q = self.q + tree_derivatives(tree, q, loads=loads).dq.dense()
        m = system.n_constraints
        nt, n, count = len(q), model.n_v, len(paths)
        u = np.einsum("tnm,tm->tn", found.balance.freedoms.inverse, lam)
        still = system.constraints(q, None, None, t).J_rate
        self.turned_q, self.shortest_q = (system.constraints(q, x, None, t).J_rate - still for x in (mu, u))
        self.p, self.turned_p, self.shortest_p = (np.zeros((nt, size, count)) for size in (n, m, m))
        self.rows_p = (np.zeros((nt, m, count)), np.zeros((nt, m, count)), np.zeros((nt, m, count)))
        load_paths = compile_loads(model, tree_of(model), loads, nt, float).paths
        twin = States(model, q + 0j, v + 0j, a + 0j, t, states.single)
        for k, path in enumerate(paths):
            moved, loaded = stepped(model, loads or (), load_paths, path)
            other = System(moved, rows=system.rows, dtype=complex)
            r, rows = unbalanced(twin, other, loaded)
            turned = rows.J[:, :m].imag / STEP
            self.p[:, :, k] = r.imag / STEP + np.einsum("tmn,tm->tn", turned, lam)
            self.turned_p[:, :, k] = np.einsum("tmn,tn->tm", turned, mu)
            self.shortest_p[:, :, k] = np.einsum("tmn,tn->tm", turned, u)
            for part, x in zip(self.rows_p, (rows.values, rows.rates, rows.seconds), strict=True):
                part[:, :, k] = x[:, :m].imag / STEP


def stepped(model: Model, loads: Sequence[Load], load_paths: Sequence[str], path: str) -> tuple[Model, list[Load]]:
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
    moved = model.stepped({path: model.value(path) + 1j * STEP})
    try:
        row_report(moved)
    except AssemblyError as error:
        raise AssemblyError(f"{path!r} cannot change: {error}") from error
    return moved, new


def _of_tree(found: Balanced, terms: Terms, paths: tuple[str, ...]) -> InverseDynamicsDerivatives:
    """Of a tree with force elements: every coordinate may depend on every other."""
    n, states = found.states.model.n_v, found.states
    values = [found.tau, *(np.ascontiguousarray(x).reshape(len(x), -1) for x in (terms.q, terms.v, terms.a, terms.p))]
    return InverseDynamicsDerivatives(
        [states.shaped(x) for x in values], full_pattern(n, n), full_pattern(n, len(paths)), paths
    )


def full_pattern(rows: int, columns: int) -> Pattern:
    """The pattern of a matrix without zeros."""
    return Pattern((rows, columns), *np.divmod(np.arange(rows * columns), max(columns, 1)))


class Change(NamedTuple):
    """How q, v, a, lam and tau change with some numbers, (nt, .., k) each."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    lam: FloatArray
    tau: FloatArray


class Along(NamedTuple):
    """Independent coordinates, those of them with independent rates, and changes with them, with their rates, second
    rates and parameters."""

    independent: tuple[str, ...]
    independent_rates: tuple[str, ...]
    changes: tuple[Change, Change, Change, Change]


def along_constraints(
    found: Balanced, terms: Terms, paths: tuple[str, ...], independent: Sequence[str] | None
) -> Along:  # fmt: skip
    """How motion, multipliers and torques follow independent coordinates z, z', z'' and parameters."""
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
    directions = (
        (along.q_z, along.v_z, along.a_z),
        (zero(along.v_zd), along.v_zd, along.a_zd),
        (zero(along.a_zdd), zero(along.a_zdd), along.a_zdd),
        (along.q_p, along.v_p, along.a_p),
    )
    z, zd, zdd, p = (_followed(found, terms, *d, by_p=k == 3) for k, d in enumerate(directions))
    names, rates = (tuple(model.v_names[j] for j in columns) for columns in (along.z, along.z_rate))
    return Along(names, rates, (z, zd, zdd, p))


def _followed(
    found: Balanced, terms: Terms, dq: FloatArray, dv: FloatArray, da: FloatArray, by_p: bool
) -> Change:  # fmt: skip
    """Multipliers and torques along changes of the motion."""
    balance = found.balance
    b = terms.q @ dq + terms.v @ dv + terms.a @ da
    c = -(terms.turned_q @ dq)
    turned = terms.shortest_q @ dq
    if by_p:
        b, c, turned = b + terms.p, c - terms.turned_p, turned + terms.shortest_p
    dmu, dlam = balance.solve(b, c)
    # the shortest lam stays in the range of Gamma, which turns where rows depend on each other
    dlam = dlam + turned - balance.gamma @ (balance.freedoms.inverse @ turned)
    return Change(dq, dv, da, dlam, balance.acting(dmu))


def _along_constraints(
    found: Balanced, terms: Terms, paths: tuple[str, ...], independent: Sequence[str] | None
) -> ConstrainedDerivatives:
    """By independent coordinates, their rates and second rates, and parameters."""
    shaped, along = found.states.shaped, along_constraints(found, terms, paths, independent)
    dz, dzd, dzdd, dp = (shaped(change.tau) for change in along.changes)
    return ConstrainedDerivatives(
        shaped(found.tau), shaped(found.lam), dz, dzd, dzdd, dp, along.independent, along.independent_rates, paths
    )
