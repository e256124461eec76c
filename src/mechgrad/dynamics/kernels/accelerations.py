"""Accelerations and multipliers of a state: what formulations as ordinary differential equations integrate.

    [ M      Gamma^T ] [ a   ]   [ -h + Q                                                  ]
    [ Gamma  -eps    ] [ lam ] = [ -second|a=0 - 2 Omega xi rate - Omega^2 value           ]

index-1 Lagrange: Omega = 0, the influence of eps taken away by repetition (minimum-norm multipliers where rows
depend on each other); penalty: eps = 1/alpha stays. Velocity-level rows have no value. Without constraints: recursive
elimination, O(n).
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.saddle import ROUNDING, saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.system import forces, mass, place, push_coordinates, push_rows, residual
from mechgrad.inverse.kernels.articulated import articulated_accelerations, body_wrenches_and_inertias
from mechgrad.inverse.kernels.wrenches import apply_loads
from mechgrad.kernels.jit import inner, runtime_int, spliced
from mechgrad.kernels.lanes import any_not_less, load, store, width
from mechgrad.kernels.lu import lu_solve
from mechgrad.kernels.vec3 import clear
from mechgrad.kinematics.kernels.markers import marker_motion_block
from mechgrad.kinematics.kernels.outward import outward
from mechgrad.kinematics.kernels.rows import place_rows, row_columns
from mechgrad.kinematics.kernels.tables import Motion, RowStates
from mechgrad.model.mechanism import N_CONSTRAINTS, N_HOLONOMIC, N_ROWS

# reasons to end
DONE, BAD_NUMBER, SINGULAR, TOO_SMALL, TOO_MANY, NOT_CONVERGED, DEAD_POINT, STUCK, CHANGE_POINT, INTERRUPTED = range(10)
REFINEMENTS = 4


@inner
def tree_accelerations(T, w, q, v, t, a, scalar):
    """a of a mechanism without constraints. Returns a reason to end, or DONE."""
    ints, atoms_i, atoms_f = T.ints, T.atoms_i, T.atoms_f
    first, last, n_v = ints[N_CONSTRAINTS], ints[N_ROWS], v.size // width(scalar)
    check = outward(atoms_i, atoms_f, q, v, w.zero, w.frames, w.twists, scalar)
    if last > first:
        marker_motion_block(T.markers_i, T.markers_f, w.frames, w.motion, scalar)
        state, rows = Motion(q, v, w.zero), RowStates(w.values, w.rates, w.seconds)
        place_rows(ints, T.numbers, w.motion, w.frames, state, t, first, last, rows, w.attachments, scalar)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces(T, w, t, scalar)
    body_wrenches_and_inertias(atoms_i, atoms_f, w.frames, w.wrenches, w.inertia, scalar)
    if T.loads_i.shape[0]:
        apply_loads(T.loads_i, w.loads, w.frames, w.wrenches, scalar)
    push_rows(ints, w.attachments, w.y, w.wrenches, first, scalar)
    # what tau and LINEAR rows do, as generalized forces
    r = w.r
    clear(r, 0, n_v, scalar)
    push_coordinates(ints, T.numbers, w.y, r, first, scalar)
    for j in range(n_v):
        store(r, j, load(r, j, scalar) * -1.0)
    failed = articulated_accelerations(atoms_i, atoms_f, w.twists, w.wrenches, r, w.inertia, a, scalar)
    return SINGULAR if any_not_less(failed, 0.5) else DONE


@spliced
def saddle_accelerations(T, w, s, q, v, t, a, lam, scalar):
    """s: a `Solver` record (`dynamics.kernels.solver`)."""
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    check = place(T, w, q, v, w.zero, t, T.ints[N_ROWS], scalar)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces(T, w, t, scalar)
    for k in range(m):
        w.y[k] = 0.0
    residual(T, w, q, v, w.zero, s.r, scalar)
    mass(T, w, q, v, w.zero, s.M, scalar)
    row_columns(T.ints, T.numbers, w.twists, w.attachments, runtime_int(0), m, w.J, scalar)
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
        saddle_refine(s.P, s.pivots_P, w.J, s.c, s.x, n, m, REFINEMENTS, ROUNDING, s.work)
    for j in range(n):
        a[j] = s.x[j]
    for k in range(m):
        lam[k] = s.x[n + k]
    return DONE
