"""Inverse dynamics of any mechanism: what actuators must exert where loops, constraints and force elements act too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.spatial import inverse_dynamics as tree_torques
from mechgrad.kinematics.batch import check_out, tree_of
from mechgrad.kinematics.mechanism import RowValues
from mechgrad.kinematics.open_trees import has_elements, require_tree
from mechgrad.mechanics.balance import Balance
from mechgrad.mechanics.named import states_of
from mechgrad.mechanics.states import TOLERANCE, States, check_constraints, columns_of, system_of, unbalanced
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Given = ArrayLike | Mapping[Any, Any]
"""Arrays of all coordinates, or some coordinates by name."""


@overload
def inverse_dynamics(
    model: Model,
    q: Given,
    v: Given | None = None,
    a: Given | None = None,
    *,
    loads: Sequence[Load] | None = None,
    driven: Sequence[str] | None = None,
    t: ArrayLike = 0.0,
    guess: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    return_multipliers: Literal[False] = False,
    method: str = "spatial",
    out: Array | None = None,
    threads: int = 1,
) -> Array: ...


@overload
def inverse_dynamics(
    model: Model,
    q: Given,
    v: Given | None = None,
    a: Given | None = None,
    *,
    loads: Sequence[Load] | None = None,
    driven: Sequence[str] | None = None,
    t: ArrayLike = 0.0,
    guess: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    return_multipliers: Literal[True],
    method: str = "spatial",
    out: Array | None = None,
    threads: int = 1,
) -> tuple[Array, Array]: ...


def inverse_dynamics(
    model: Model,
    q: Given,
    v: Given | None = None,
    a: Given | None = None,
    *,
    loads: Sequence[Load] | None = None,
    driven: Sequence[str] | None = None,
    t: ArrayLike = 0.0,
    guess: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    return_multipliers: bool = False,
    method: str = "spatial",
    out: Array | None = None,
    threads: int = 1,
) -> Array | tuple[Array, Array]:
    """Generalized forces that produce a motion of any mechanism, under gravity, force elements and external loads.

        trees           tau = M a + h - Q - sum J^T load
        constraints     tau - Gamma^T lam = M a + h - Q - sum J^T load,   tau the shortest that drives do

    Parameters
    ----------
    model : Model
    q : (n_q,) or (nt, n_q)
        Coordinates, in the order of `model.q_names` [rad, m]. Or some by name, {"A": 0.3, ...}, each a number or
        (nt,): what they leave open is assembled, instant by instant, and must be decided by them. Names are those of
        `assemble`.
    v, a : (n_v,) or (nt, n_v), optional
        Velocities and accelerations, zeros if left out; they have to meet the constraints. Or rates and second rates of
        what q names; those not named are zero.
    loads : list of Load, optional
        Forces and couples of the environment on any number of bodies.
    driven : list of names, optional
        Coordinates with actuators (`model.v_names`, or joints for all of theirs); all of them if left out. If there are
        more than the mechanism has freedoms, the sum of tau^2 is the smallest possible (N m and N count alike).
    t : time [s], one or one per state, for drivers and motors
    guess : (n_q,), optional
        Where assembly starts if q names coordinates; it decides how the mechanism is put together.
    tolerance : float
        What states may miss their constraints by, relative to the terms of a row, at least 1.
    return_multipliers : bool
        Return (tau, lam).
    method : "spatial", "lagrange" or "newton-euler"
        The fast recursion, or one of the two of the literature (trees of hinges and slides only, without force
        elements, `out` and `threads`).
    out : (n_v,) or (nt, n_v), optional
        Where to write tau.
    threads : int
        Share blocks of samples among threads; 0 takes all cores. One thread is best below some thousand samples.

    Returns
    -------
    tau : (n_v,) or (nt, n_v)
        What the actuators must exert, positive when it increases the coordinate, 0 where none is [N m, N]. Complex if
        an input is complex: a complex step through this function is exact. If q, v, a are arrays, they are held.
    lam : (m,) or (nt, m), with `return_multipliers`
        Multipliers of the constraint rows, those of `constraint_terms(model, q).names`; the shortest where rows depend
        on each other [N, N m].

    Raises
    ------
    AssemblyError
        If a state misses a constraint, its rate or second rate.
    InputError
        If some freedom is driven by nothing.

    Examples
    --------
    A 2 kg bob on a 1 m rod, held horizontally, and with a spring of 5 N m/rad in its pin:

    >>> bob = Body("bob", mass=2, com=(0, 0, -1))
    >>> pin = Revolute("pin", "ground", "bob", axis=(0, 1, 0))
    >>> inverse_dynamics(Model("pendulum", [bob], [pin]), [np.pi / 2])
    array([19.62])
    >>> sprung = Model("sprung", [bob], [pin], forces=[mg.forces.JointSpring("spring", "pin", 5.0)])
    >>> inverse_dynamics(sprung, [np.pi / 2]).round(4)
    array([27.474])

    The five-bar linkage at rest, held at A and at the joint after it:

    >>> inverse_dynamics(five_bar(), five_bar_start(), driven=["A", "1"]).round(6)
    array([12.2625, 36.7875,  0.    ,  0.    ])
    """
    note_idle_gravity(model, tree_of(model))
    named = not isinstance(q, np.ndarray) and isinstance(q, Mapping)
    if not (named or return_multipliers) and driven is None and not has_elements(model):
        _refuse_guess(guess)
        return tree_torques(model, q, v, a, loads=loads, method=method, out=out, threads=threads)  # type: ignore[arg-type]
    if method != "spatial":
        require_tree(model)
        raise InputError(f"method {method!r} knows no driven, named coordinates or multipliers; use method='spatial'.")
    if not named:
        _refuse_guess(guess)
    found = balanced(model, states_of(model, q, v, a, t, loads, guess), loads, driven, tolerance, threads)
    states = found.states
    tau = states.shaped(found.tau)
    if out is not None:
        check_out(out, tau.shape, complex if np.iscomplexobj(tau) else float)[...] = tau
        tau = out
    return (tau, states.shaped(found.lam)) if return_multipliers else tau


def _refuse_guess(guess: ArrayLike | None) -> None:
    if guess is not None:
        raise InputError("guess is for coordinates by name, q={'A': 0.3, ...}; arrays q are taken as they are.")


class Balanced(NamedTuple):
    """States with what balances them: tau, lam, mu (see `mechanics.balance`), and all rows of the mechanism there."""

    states: States
    system: System
    rows: RowValues
    balance: Balance
    tau: Array
    lam: Array
    mu: Array
    miss: Array


def balanced(
    model: Model,
    states: States,
    loads: Sequence[Load] | None,
    driven: Sequence[str] | None,
    tolerance: float,
    threads: int = 1,
) -> Balanced:
    """Torques and multipliers at states; raise where these miss constraints or some freedom is not driven."""
    columns = columns_of(model, driven, "driven")
    system = system_of(model, states.dtype)
    r, rows = unbalanced(states, system, loads, threads)
    miss = check_constraints(states, system, rows, tolerance)
    gamma = rows.J[:, : system.n_constraints]
    balance = Balance(model, np.ascontiguousarray(gamma.real), columns, miss)
    return Balanced(states, system, rows, balance, *balance.torques(r, gamma), miss)
