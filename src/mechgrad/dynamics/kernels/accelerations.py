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

from mechgrad.dynamics.kernels.laws import apply_laws
from mechgrad.dynamics.kernels.saddle import saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.system import forces, mass, place, push_coordinates, push_rows, residual
from mechgrad.inverse.kernels.articulated import articulated_accelerations, body_wrenches_and_inertias
from mechgrad.inverse.kernels.wrenches import apply_loads
from mechgrad.kernels.jit import inlined, spliced
from mechgrad.kernels.lanes import any_not_less, load, store, width
from mechgrad.kernels.lu import lu_solve
from mechgrad.kernels.vec3 import clear
from mechgrad.kinematics.kernels.markers import marker_motion_block
from mechgrad.kinematics.kernels.outward import outward
from mechgrad.kinematics.kernels.rows import place_rows, row_columns
from mechgrad.model.mechanism import N_CONSTRAINTS, N_HOLONOMIC, N_LAWS, N_ROWS

DONE, BAD_NUMBER, SINGULAR, TOO_SMALL, TOO_MANY, NOT_CONVERGED = range(6)
REFINEMENTS = 4


# What is known of constraints, as types: a kernel compiles only what its kind needs.
class OpenTree(NamedTuple):
    """There are none."""

    unused: int = 0


class Unprojected(NamedTuple):
    """There are some, at the level of accelerations."""

    unused: int = 0


def is_kind(numba_type, record):
    """Whether a Numba type is that of a record class."""
    return getattr(numba_type, "instance_class", None) is record


@inlined
def tree_pass(
    ints, numbers, atoms_i, atoms_f, markers_i, markers_f, loads_i, frames, twists, motion, wrenches, inertia, loads,
    values, rates, seconds, feet, y, y_g, y_gd, law_g, law_gd, law_F, law_F_g, law_F_gd, r, zero, q, v, t, a, like,
):  # fmt: skip
    """a of a mechanism without constraints. Returns a reason to end, or DONE.

    The arrays of records one by one: calls that take records count references, which takes longer than the work.
    """
    first, last, n_v = ints[N_CONSTRAINTS], ints[N_ROWS], v.size // width(like)
    check = outward(atoms_i, atoms_f, q, v, zero, frames, twists, like)
    if last > first:
        marker_motion_block(markers_i, markers_f, frames, motion, like)
        place_rows(
            ints, numbers, motion, frames, q, v, zero, t, first, last, values, rates, seconds, feet, like
        )  # fmt: skip
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    if ints[N_LAWS]:
        apply_laws(
            ints, numbers, t, values, rates, y, y_g, y_gd, law_g, law_gd, law_F, law_F_g, law_F_gd, like
        )  # fmt: skip
    body_wrenches_and_inertias(atoms_i, atoms_f, frames, wrenches, inertia, like)
    if loads_i.shape[0]:
        apply_loads(loads_i, loads, frames, wrenches, like)
    push_rows(ints, feet, y, wrenches, first, like)
    # what tau and LINEAR rows do, as generalized forces
    clear(r, 0, n_v, like)
    push_coordinates(ints, numbers, y, r, first, like)
    for j in range(n_v):
        store(r, j, load(r, j, like) * -1.0)
    failed = articulated_accelerations(atoms_i, atoms_f, twists, wrenches, r, inertia, a, like)
    return SINGULAR if any_not_less(failed, 0.5) else DONE


@spliced
def tree_accelerations(T, w, q, v, t, a, like):
    """`tree_pass` from the records; one call and nothing else, so that references to them need no counting."""
    return tree_pass(
        T.ints, T.numbers, T.atoms_i, T.atoms_f, T.markers_i, T.markers_f, T.loads_i, w.frames, w.twists, w.motion,
        w.wrenches, w.inertia, w.loads, w.values, w.rates, w.seconds, w.feet, w.y, w.y_g, w.y_gd, w.law_g, w.law_gd,
        w.law_F, w.law_F_g, w.law_F_gd, w.r, w.zero, q, v, t, a, like,
    )  # fmt: skip


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
