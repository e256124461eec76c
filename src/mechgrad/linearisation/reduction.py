"""Partials of a mechanism, in the coordinates that constraints leave independent.

z: f displacements, u: g <= f of their rates (rolling leaves fewer rates than places free). All others follow,

    dq = N_q z,         Gamma_h N_q = 0                                  Gamma_h: rows at position level
    dv = V z + N_v u,   Gamma N_v = 0,   Gamma V = -rate_q N_q
    da = N_v u' + P z + D u,             Gamma P = -(second_q N_q + second_v V),   Gamma D = -second_v N_v

and what is left of the equations of motion, with tau' the change of forces and inputs,

    mass u' + damping u + stiffness z = N_v^T tau'
    mass = N_v^T M N_v,    damping = N_v^T (C N_v + M D),    stiffness = N_v^T (K N_q + C V + M P)

Everything here is rational in the partials, so that complex ones carry slopes through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from mechgrad.dynamics.system import RANK
from mechgrad.errors import InputError, SingularMassMatrixError
from mechgrad.kinematics.assembly import RANK as ROW_RANK
from mechgrad.linearisation.partials import Partials
from mechgrad.mechanics.balance import Freedoms
from mechgrad.mechanics.following import REGULAR, choose
from mechgrad.model.model import Model
from mechgrad.simulation.starts.base import coordinate_names
from mechgrad.typing import Array, FloatArray, IntArray


@dataclass(frozen=True)
class Columns:
    """What is independent: columns of v of displacements and of rates.

    holonomic : how many of the m constraint rows, which come first, hold positions
    """

    positions: IntArray
    rates: IntArray
    holonomic: int


@dataclass(frozen=True)
class Following:
    """How everything follows z and u, (n_v, f or g): dq = q_z z, dv = v_z z + v_u u, da = v_u u' + a_z z + a_u u."""

    q_z: Array
    v_z: Array
    v_u: Array
    a_z: Array
    a_u: Array


@dataclass(frozen=True)
class Reduced:
    """The equations of small motions, x = (z, u): x' = A x, and mass u' + damping u + stiffness z = 0."""

    mass: Array
    damping: Array
    stiffness: Array
    A: Array
    following: Following


def sizes(at: Partials, columns: Columns, found: Reduced, force: float) -> tuple[FloatArray, FloatArray]:
    """What the terms of A are made of, without signs, (n, n), and the same for whole rows, (n,): an entry that is much
    smaller is rounding. force: the largest in the mechanism."""
    size, follow, m = np.abs, found.following, len(at.gamma)
    q, v, u = size(follow.q_z), size(follow.v_z), size(follow.v_u)
    back = size(solve_rows(at.gamma, columns.rates, np.eye(m), np.zeros((len(columns.rates), m))))
    v = v + back @ (size(at.rate_q) @ q)
    a_z = back @ (size(at.second_q) @ q + size(at.second_v) @ v)
    a_u = back @ (size(at.second_v) @ u)
    forces = np.hstack([size(at.K) @ q + size(at.C) @ v + size(at.M) @ a_z, size(at.C) @ u + size(at.M) @ a_u])
    inverse = size(np.linalg.inv(found.mass))
    below = inverse @ (u.T @ forces)
    above = np.hstack([v + size(at.turning) @ q, u])[columns.positions]
    entries = np.vstack([above, below])
    rows = entries.max(axis=1, initial=0.0)
    rows[len(above) :] = np.maximum(rows[len(above) :], inverse @ u.sum(axis=0) * force)
    return entries, rows


def chosen_columns(
    model: Model, gamma: FloatArray, holonomic: int, independent: Sequence[str] | None, rates: Sequence[str] | None
) -> Columns:
    """As named, or as well conditioned as they can be found; gamma: rows that do not depend on each other."""
    nothing = np.zeros(1)
    at_q, at_v = (Freedoms(rows[None], nothing) for rows in (gamma[:holonomic], gamma))
    positions = choose(model, at_q.R, _of_velocities(model, independent))
    if len(gamma) == holonomic and rates is None:
        chosen = positions
    else:
        chosen = choose(model, at_v.R, _of_velocities(model, rates), None if rates is not None else positions)
    columns = Columns(positions, chosen, holonomic)
    for what, R, picked in (("independent", at_q.R[0], positions), ("rates", at_v.R[0], chosen)):
        if len(picked) and np.linalg.svd(R[picked], compute_uv=False)[-1] < REGULAR:
            raise InputError(
                f"{what} names {', '.join(model.v_names[j] for j in picked)}, which do not decide all others in this "
                f"state of model {model.name!r}. Name others, or leave it out."
            )
    if stray := [j for j in chosen if j not in positions]:
        raise InputError(
            f"rates names {model.v_names[stray[0]]!r}, which is not among the independent coordinates "
            f"{', '.join(model.v_names[j] for j in positions)}. Name it there, too."
        )
    return columns


def _of_velocities(model: Model, names: Sequence[str] | None) -> list[str] | None:
    """Names of coordinates, "root.x", as those of their velocities, "root.vx"; others as they are."""
    if names is None:
        return None
    if isinstance(names, str):
        raise InputError(f"independent and rates take lists of names: [{names!r}].")
    known = dict(zip(coordinate_names(model)[0], model.v_names, strict=True))
    return [known.get(name, name) for name in names]


def independent_rows(gamma: FloatArray, holonomic: int) -> IntArray:
    """Rows that do not depend on each other, as many as there can be, those of positions first; ascending."""
    size = np.linalg.norm(gamma, axis=1)
    unit = gamma / np.where(size > 0.0, size, 1.0)[:, None]
    first = _pivots(unit[:holonomic])
    held = unit[first]
    rest = unit[holonomic:]
    if len(held) and len(rest):
        basis = np.linalg.qr(held.T)[0]
        rest = rest - (rest @ basis) @ basis.T
    more = holonomic + _pivots(rest, 1.0)
    return np.sort(np.concatenate([first, more])).astype(np.int64)


def _pivots(rows: FloatArray, size: float | None = None) -> IntArray:
    """Rows among these that do not depend on each other."""
    if not rows.size:
        return np.zeros(0, np.int64)
    _, R, order = qr(rows.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > max(RANK, ROW_RANK) * (diagonal[0] if size is None else size)))
    return np.sort(order[:rank])


def solve_rows(gamma: Array, columns: IntArray, above: Array, below: Array) -> Array:
    """x with Gamma x = above and x of the columns = below."""
    n, m = gamma.shape[1], len(gamma)
    W: Array = np.zeros((n, n), gamma.dtype)
    W[:m] = gamma
    W[m:][np.arange(n - m), columns] = 1.0
    return np.asarray(np.linalg.solve(W, np.concatenate([above, below])))


def reduced(at: Partials, columns: Columns, name: str) -> Reduced:
    """The equations of small motions; name: of the model, for messages."""
    dtype, h, m = at.K.dtype, columns.holonomic, len(at.gamma)
    f, g = len(columns.positions), len(columns.rates)
    zero = np.zeros
    q_z = solve_rows(at.gamma[:h], columns.positions, zero((h, f), dtype), np.eye(f, dtype=dtype))
    v_u = solve_rows(at.gamma, columns.rates, zero((m, g), dtype), np.eye(g, dtype=dtype))
    v_z = solve_rows(at.gamma, columns.rates, -(at.rate_q @ q_z), zero((g, f), dtype))
    a_z = solve_rows(at.gamma, columns.rates, -(at.second_q @ q_z + at.second_v @ v_z), zero((g, f), dtype))
    a_u = solve_rows(at.gamma, columns.rates, -(at.second_v @ v_u), zero((g, g), dtype))
    mass = v_u.T @ at.M @ v_u
    damping = v_u.T @ (at.C @ v_u + at.M @ a_u)
    stiffness = v_u.T @ (at.K @ q_z + at.C @ v_z + at.M @ a_z)
    sizes = np.linalg.svd(mass.real, compute_uv=False)
    if g and not sizes[-1] > 1e-13 * sizes[0]:
        raise SingularMassMatrixError(
            f"the mass matrix of model {name!r} in its independent coordinates is singular: one of them moves no "
            "inertia. Give mass or inertia to what it moves."
        )
    A = zero((f + g, f + g), dtype)
    A[:f, :f] = (v_z + at.turning @ q_z)[columns.positions]
    A[:f, f:] = v_u[columns.positions]
    A[f:, :f] = 0.0 - np.linalg.solve(mass, stiffness)  # no negative zeros
    A[f:, f:] = 0.0 - np.linalg.solve(mass, damping)
    return Reduced(mass, damping, stiffness, A, Following(q_z, v_z, v_u, a_z, a_u))
