"""Inverse dynamics of any mechanism: what actuators must exert where loops, constraints and force elements act too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.inverse.published_methods import SPATIAL, other_method
from mechgrad.inverse.spatial import torques_of_tree
from mechgrad.kinematics.batch import check_out, tree_of
from mechgrad.kinematics.mechanism_record import RowValues
from mechgrad.kinematics.trees_only import has_elements, require_tree
from mechgrad.mechanics.balance import Balance
from mechgrad.mechanics.checked_states import (
    TOLERANCE,
    States,
    check_constraints,
    columns_of,
    require_room,
    system_of,
    unbalanced,
)
from mechgrad.mechanics.named import states_of
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

Given = ArrayLike | Mapping[Any, Any]
"""Arrays of all coordinates, or some coordinates by name."""


@overload
def inverse_dynamics(
    model: Model, q: Given, v: Given | None = None, a: Given | None = None, *, loads: Sequence[Load] | None = None,
    driven: Sequence[str] | None = None, t: ArrayLike = 0.0, guess: ArrayLike | None = None,
    tolerance: float = TOLERANCE, return_multipliers: Literal[False] = False, method: str = "spatial",
    out: Array | None = None, threads: int = 1,
) -> Array: ...  # fmt: skip


@overload
def inverse_dynamics(
    model: Model, q: Given, v: Given | None = None, a: Given | None = None, *, loads: Sequence[Load] | None = None,
    driven: Sequence[str] | None = None, t: ArrayLike = 0.0, guess: ArrayLike | None = None,
    tolerance: float = TOLERANCE, return_multipliers: Literal[True], method: str = "spatial",
    out: Array | None = None, threads: int = 1,
) -> tuple[Array, Array]: ...  # fmt: skip


def inverse_dynamics(
    model: Model, q: Given, v: Given | None = None, a: Given | None = None, *, loads: Sequence[Load] | None = None,
    driven: Sequence[str] | None = None, t: ArrayLike = 0.0, guess: ArrayLike | None = None,
    tolerance: float = TOLERANCE, return_multipliers: bool = False, method: str = "spatial",
    out: Array | None = None, threads: int = 1,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """Generalized forces that produce a motion of any mechanism, under gravity, force elements and external loads.

        trees           tau = M a + h - Q - sum J^T load
        constraints     tau - Gamma^T lam = M a + h - Q - sum J^T load,   tau the shortest that drives do

    Parameters
    ----------
    q : (n_q,) or (nt, n_q)
        Coordinates, in the order of `model.q_names` [rad, m]. Or some by name, {"A": 0.3, ...}, each a number or
        (nt,): what they leave open is assembled, instant by instant, and must be decided by them.
    v, a : (n_v,) or (nt, n_v), optional
        Velocities and accelerations, zeros if left out; they have to meet the constraints, or an AssemblyError says
        where they do not. Or rates and second rates of what q names; those not named are zero.
    loads : list of Load; t : time [s], one or one per state, for drivers and motors
    driven : list of names, optional
        Coordinates with actuators (`model.v_names`, or joints for all of theirs); all of them if left out. With more
        than the mechanism has freedoms, the sum of tau^2 is the smallest possible (N m and N count alike).
    guess : (n_q,); tolerance : float
        Where assembly starts if q names coordinates; what states may miss constraints by, relative to terms of a row.
    return_multipliers : return (tau, lam);  out : where to write tau
    method : "spatial", "lagrange" or "newton-euler"
        The fast recursion, or one of the two of the literature (trees of hinges and slides only, without elements).
    threads : share many samples among threads; 0 takes all cores

    Returns
    -------
    tau : (n_v,) or (nt, n_v) [N m, N]
        What the actuators must exert, positive when it increases the coordinate, 0 where none is. Complex if an input
        is complex: a complex step through this function is exact.
    lam : (m,) or (nt, m)
        Multipliers of the rows of `mg.terms.constraint_terms(model, q).names`; the shortest where they are redundant.

    A 2 kg bob on a 1 m rod, held horizontally; the five-bar linkage at rest, held at A and at the joint after it:

    >>> bob, pin = Body("bob", mass=2, com=(0, 0, -1)), Revolute("pin", "ground", "bob", axis=(0, 1, 0))
    >>> inverse_dynamics(Model("pendulum", [bob], [pin]), [np.pi / 2])
    array([19.62])
    >>> inverse_dynamics(five_bar(), five_bar_start(), driven=["A", "1"]).round(6)
    array([12.2625, 36.7875,  0.    ,  0.    ])
    """
    # torques of a tree: no more than these few looks stand between a user and the kernel
    if driven is None and guess is None and not (return_multipliers or has_elements(model) or is_named(q)):
        if method == SPATIAL:
            return torques_of_tree(model, q, v, a, loads, out, threads)  # type: ignore[arg-type]
        note_idle_gravity(model, tree_of(model))
        tau: Array = other_method(method, out is not None or threads != 1).torques(model, q, v, a, loads=loads)
        return tau
    note_idle_gravity(model, tree_of(model))  # here, since a warning names the line that called this function
    found = _checked_balance(model, (q, v, a), t, loads, driven, guess, tolerance, method, threads)
    tau = found.states.shaped(found.tau)
    if out is not None:
        check_out(out, tau.shape, complex if np.iscomplexobj(tau) else float)[...] = tau
        tau = out
    return (tau, found.states.shaped(found.lam)) if return_multipliers else tau


def is_named(q: Given) -> bool:
    """Whether coordinates are given by name."""
    return type(q) is not np.ndarray and isinstance(q, Mapping)


def refuse_guess(guess: ArrayLike | None) -> None:
    """Raise where a guess is given beside arrays."""
    if guess is not None:
        raise InputError("guess is for coordinates by name, q={'A': 0.3, ...}; arrays q are taken as they are.")


def _checked_balance(
    model: Model, motion: tuple[Given, Given | None, Given | None], t: ArrayLike, loads: Sequence[Load] | None,
    driven: Sequence[str] | None, guess: ArrayLike | None, tolerance: float, method: str, threads: int,
) -> Balanced:  # fmt: skip
    """Torques and multipliers of a user's motion, which only the fast method knows."""
    if not is_named(motion[0]):
        refuse_guess(guess)
    if method != SPATIAL:
        require_tree(model)
        raise InputError(f"method {method!r} knows no driven, named coordinates or multipliers; use method='spatial'.")
    return balanced(model, states_of(model, *motion, t, loads, guess), loads, driven, tolerance, threads)


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
    require_room(states)
    system = system_of(model, states.dtype)
    r, rows = unbalanced(states, system, loads, threads)
    miss = check_constraints(states, system, rows, tolerance)
    gamma = rows.J[:, : system.n_constraints]
    balance = Balance(model, np.ascontiguousarray(gamma.real), columns, miss)
    return Balanced(states, system, rows, balance, *balance.torques(r, gamma), miss)
