"""Accelerations of any mechanism under given forces: forward dynamics.

    M a + h + Gamma^T lam = Q,        second rate of every constraint = 0

Q: generalized forces tau, force elements and loads; lam: multipliers of closures, constraints and drivers. Trees of
bodies alone take the way of `inverse.forward`, for many samples at a time in lanes; with force elements bodies are
eliminated one by one, with constraints one linear system is solved (`dynamics.kernels.state_accelerations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import BAD_NUMBER, DONE
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError, SingularMassMatrixError
from mechgrad.inverse.forward import Method, singular_mass_matrix
from mechgrad.inverse.forward import forward_dynamics as tree_accelerations
from mechgrad.inverse.loads import Load, compile_loads, loads_are_complex, loads_of, loads_vary
from mechgrad.kinematics.batch import Batch, check_out, tree_of
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.memory import require_memory
from mechgrad.model.idle_gravity import note_idle_gravity
from mechgrad.typing import Array, ArrayLike, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@overload
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    t: ArrayLike = 0.0,
    loads: Sequence[Load] | None = None,
    method: Method = "auto",
    return_multipliers: Literal[False] = False,
    out: Array | None = None,
    threads: int = 1,
) -> Array: ...


@overload
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    t: ArrayLike = 0.0,
    loads: Sequence[Load] | None = None,
    method: Method = "auto",
    return_multipliers: Literal[True],
    out: Array | None = None,
    threads: int = 1,
) -> tuple[Array, Array]: ...


def forward_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, *, t: ArrayLike = 0.0,
    loads: Sequence[Load] | None = None, method: Method = "auto", return_multipliers: bool = False,
    out: Array | None = None, threads: int = 1,
) -> Array | tuple[Array, Array]:  # fmt: skip
    """Accelerations of any mechanism under gravity, its force elements, generalized forces and external loads.

        M a + h + Gamma^T lam = tau + force elements + sum J^T load,       second rate of every constraint = 0

    Parameters
    ----------
    q : (n_q,) or (nt, n_q)
        Coordinates of the tree, which need not close the loops to rounding.
    v, tau : (n_v,) or (nt, n_v), optional
        Velocities and generalized forces; zeros if left out.
    t : float or (nt,)
        Time [s], for drivers, motors and other functions of it.
    loads : list of Load, optional
        External loads, constant or one row per sample.
    method : "auto", "factor" or "recursive"
        Of trees: factors of the mass matrix (without force elements), or elimination body by body, whose time grows
        with n_v and not faster. Both give the same numbers to rounding; "auto" is elimination. Constraints leave no
        choice.
    return_multipliers : bool
        Return (a, lam).
    out : array of the result's shape, optional
        Where a is written.
    threads : int
        For many samples of a tree without elements; other mechanisms take one.

    Returns
    -------
    a : (n_v,) or (nt, n_v) [rad/s^2, m/s^2]
    lam : (m,) or (nt, m), if asked for
        One per constraint row that acts, in the order of `constraint_terms(...).names`; those of minimum norm where
        rows depend on each other. On the mechanism acts -Gamma^T lam.

    Raises
    ------
    SingularMassMatrixError
        If a coordinate moves no inertia and nothing holds it: a massless body at the end of a branch, a slender rod
        spinning about itself. Of trees, the message names it.

    >>> forward_dynamics(model, [np.pi / 2])       # released from the horizontal: -g / l
    array([-9.81])
    >>> forward_dynamics(model, [0.5], return_multipliers=True)[1].shape
    (0,)
    """
    note_idle_gravity(model, tree_of(model))  # here, since a warning names the line that called this function
    if not has_elements(model):
        a = tree_accelerations(model, q, v, tau, loads=loads, method=method, out=out, threads=threads)
        return (a, np.zeros((*a.shape[:-1], 0), a.dtype)) if return_multipliers else a
    if method not in ("auto", "factor", "recursive"):
        raise InputError(f'method is {method!r}; it must be "auto", "factor" or "recursive".')
    a, lam = mechanism_accelerations(model, q, v, tau, t=t, loads=loads, method=method)
    if out is not None:
        out = check_out(out, a.shape, a.dtype.type)
        out[...] = a
        a = out
    return (a, lam) if return_multipliers else a


def mechanism_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    tau: ArrayLike | None,
    *,
    t: ArrayLike,
    loads: Sequence[Load] | None,
    method: Method = "auto",
    rows: IntArray | None = None,
) -> tuple[Array, Array]:
    """a and lam of a mechanism with elements; samples with forces of their own go one by one, each under its record.

    rows : positions of the constraint rows that act, where they are known; otherwise the model is asked
    """
    batch = Batch(
        model, (("q", q, model.n_q), ("v", v, model.n_v), ("tau", tau, model.n_v)),
        also_complex=loads_are_complex(loads),
    )  # fmt: skip
    a, lam = _solved(model, batch, instants(t, batch.nt), loads, method, rows)
    return (a[0], lam[0]) if batch.single else (a, lam)


def _solved(
    model: Model, batch: Batch, t: FloatArray, loads: Sequence[Load] | None, method: Method, rows: IntArray | None
) -> tuple[Array, Array]:
    q, v, tau = batch.arrays
    tau_varies = tau.strides[0] != 0  # one for all samples is broadcast
    one_by_one = batch.nt > 1 and (tau_varies or loads_vary(loads))
    first = loads_of(loads, slice(0, 1)) if one_by_one else loads
    system = System(model, tau[0], first, dtype=complex if batch.dtype is complex else None, rows=rows)
    require_memory(
        (16.0 if batch.dtype is complex else 8.0) * batch.nt * (model.n_v + system.n_constraints) * (1 + one_by_one),
        f"accelerations of {model.n_v} coordinates and {system.n_constraints} multipliers for {batch.nt} samples",
        "Take fewer samples at a time.",
    )  # fmt: skip
    if method == "factor" or (method == "recursive" and system.n_constraints):
        raise InputError(
            f"method is {method!r}; model {model.name!r} has "
            + (
                "constraints, which leave no choice"
                if system.n_constraints
                else "force elements, which it does not take"
            )
            + '. Leave it out, or give "auto".'
        )
    if not one_by_one:
        a, lam, row, reason = system.accelerations(q, v, t)
        _check(model, system, batch, row, reason)
        return a, lam
    table = compile_loads(model, batch.tree, loads, batch.nt, system.dtype)
    found: list[list[Array]] = []
    for k in range(batch.nt):
        part = slice(k, k + 1)
        record = system.under(tau[k], table.rows(part))
        a, lam, _, reason = system.accelerations(q[part], v[part], t[part], record=record)
        _check(model, system, batch, k, reason)
        found.append([a, lam])
    return np.concatenate([a for a, _ in found]), np.concatenate([lam for _, lam in found])


def _check(model: Model, system: System, batch: Batch, row: int, reason: int) -> None:
    """Raise where a state has no accelerations."""
    if reason == DONE:
        return
    if reason == BAD_NUMBER:
        batch.complain(row)
    if not system.n_constraints:
        raise singular_mass_matrix(model, batch.arrays[0][: row + 1], row, batch.single)
    where = "the state" if batch.single else f"sample {row}"
    raise SingularMassMatrixError(
        f"{where} of model {model.name!r} has no unique accelerations: some coordinate moves no inertia, and the "
        "constraints do not hold it. Give mass or inertia to the bodies it moves; mg.mobility(model, q) tells what is "
        "free."
    )


def instants(t: ArrayLike, nt: int) -> FloatArray:
    """One time per sample."""
    times = np.asarray(t, float)
    if times.shape not in ((), (1,), (nt,)):
        raise InputError(f"t has shape {times.shape}; give one instant, or {nt}, one per sample.")
    return np.array(np.broadcast_to(times, (nt,)))
