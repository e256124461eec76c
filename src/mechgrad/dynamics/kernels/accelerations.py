"""Accelerations and multipliers of a state: what formulations as ordinary differential equations integrate.

    [ M      Gamma^T ] [ a   ]   [ -h + Q                                                  ]
    [ Gamma  -eps    ] [ lam ] = [ -second|a=0 - 2 Omega xi rate - Omega^2 value           ]

index-1 Lagrange: Omega = 0, the influence of eps taken away by repetition (minimum-norm multipliers where rows
depend on each other); penalty: eps = 1/alpha stays. Velocity-level rows have no value. Without constraints: recursive
elimination, O(n).
"""

from __future__ import annotations

from typing import NamedTuple

from numba.extending import overload

from mechgrad.dynamics.kernels.saddle import saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.system import forces, mass, place, push_coordinates, push_rows, residual
from mechgrad.inverse.kernels.articulated import articulated_accelerations, body_wrenches_and_inertias
from mechgrad.inverse.kernels.wrenches import apply_loads
from mechgrad.kernels.jit import spliced
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.lu import lu_solve
from mechgrad.kernels.vec3 import clear
from mechgrad.kinematics.kernels.rows import row_columns
from mechgrad.model.mechanism import N_CONSTRAINTS, N_HOLONOMIC, N_ROWS

DONE, BAD_NUMBER, SINGULAR, TOO_SMALL, TOO_MANY, NOT_CONVERGED = range(6)
REFINEMENTS = 4


# What an explicit march does about constraints, as types: a march compiles only what its kind needs.
class OpenTree(NamedTuple):
    """There are none."""

    unused: int = 0


class Unprojected(NamedTuple):
    """At the level of accelerations only."""

    unused: int = 0


class Projected(NamedTuple):
    """Positions and velocities are projected after each step."""

    unused: int = 0


class Dependent(NamedTuple):
    """Dependent coordinates are solved for in each stage (Matrix R)."""

    unused: int = 0


def is_kind(numba_type, record):
    """Whether a Numba type is that of a record class."""
    return getattr(numba_type, "instance_class", None) is record


@spliced
def tree_accelerations(T, w, q, v, t, a, like):
    """a of a mechanism without constraints. Returns a reason to end, or DONE."""
    check = place(T, w, q, v, w.zero, t, T.ints[N_CONSTRAINTS], T.ints[N_ROWS], like)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces(T, w, t, like)
    body_wrenches_and_inertias(T.atoms_i, T.atoms_f, w.frames, w.wrenches, w.inertia, like)
    if T.loads_i.shape[0]:
        apply_loads(T.loads_i, w.loads, w.frames, w.wrenches, like)
    push_rows(T.ints, w.feet, w.y, w.wrenches, T.ints[N_CONSTRAINTS], like)
    # what tau and LINEAR rows do, as generalized forces
    clear(w.r, 0, T.columns_i.shape[0], like)
    push_coordinates(T.ints, T.numbers, w.y, w.r, T.ints[N_CONSTRAINTS], like)
    for j in range(T.columns_i.shape[0]):
        store(w.r, j, load(w.r, j, like) * -1.0)
    failed = articulated_accelerations(T.atoms_i, T.atoms_f, w.twists, w.wrenches, w.r, w.inertia, a, like)
    return SINGULAR if any_not_less(failed, 0.5) else DONE


@spliced
def saddle_accelerations(T, w, s, q, v, t, a, lam, like):
    """s: a `Solver` record (`dynamics.kernels.solver`)."""
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    check = place(T, w, q, v, w.zero, t, 0, T.ints[N_ROWS], like)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces(T, w, t, like)
    for k in range(m):
        w.y[k] = 0.0
    residual(T, w, q, v, w.zero, s.r, like)
    mass(T, w, q, v, w.zero, s.M, like)
    row_columns(T.ints, T.numbers, w.twists, w.feet, 0, m, w.J, like)
    if not saddle_factor(s.M, w.J, w.J, s.eps, n, m, s.P, s.pivots_P):
        return SINGULAR
    for j in range(n):
        s.x[j] = -s.r[j]
    for k in range(m):
        c = -w.seconds[k] - 2.0 * s.omega * s.xi * w.rates[k]
        if k < T.ints[N_HOLONOMIC]:
            c -= s.omega * s.omega * w.values[k]
        s.c[k] = c
        s.x[n + k] = c
    lu_solve(s.P, s.pivots_P, s.x, n + m)
    if not s.compliant:
        saddle_refine(s.P, s.pivots_P, w.J, s.c, s.x, n, m, REFINEMENTS, s.work)
    for j in range(n):
        a[j] = s.x[j]
    for k in range(m):
        lam[k] = s.x[n + k]
    return DONE


def accelerations(T, w, s, q, v, t, a, lam, how, like):  # pragma: no cover - replaced by the overload below
    """a (and lam) of any mechanism in one state. Returns a reason to end, or DONE."""
    raise TypeError("accelerations is for kernels")


@overload(accelerations)
def _accelerations(T, w, s, q, v, t, a, lam, how, like):
    if is_kind(how, OpenTree):

        def of_tree(T, w, s, q, v, t, a, lam, how, like):
            return tree_accelerations(T, w, q, v, t, a, like)

        return of_tree

    def of_loops(T, w, s, q, v, t, a, lam, how, like):
        return saddle_accelerations(T, w, s, q, v, t, a, lam, like)

    return of_loops
