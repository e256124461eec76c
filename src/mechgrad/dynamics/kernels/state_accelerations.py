"""Accelerations and multipliers of a state: what formulations as ordinary differential equations integrate.

    [ M      Gamma^T ] [ a   ]   [ -h + Q                                                  ]
    [ Gamma  -eps    ] [ lam ] = [ -second|a=0 - 2 Omega xi rate - Omega^2 value           ]

index-1 Lagrange: Omega = 0, the influence of eps taken away by repetition (minimum-norm multipliers where rows
depend on each other); penalty: eps = 1/alpha stays. Velocity-level rows have no value. Without constraints: recursive
elimination, O(n).
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.near_laws import look_around, place_markers
from mechgrad.dynamics.kernels.pushed_rows import push_coordinates, push_rows
from mechgrad.dynamics.kernels.saddle import ROUNDING, saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.sparse import lost_digits, solve_factored
from mechgrad.dynamics.kernels.system import (
    forces_alone,
    mass,
    place,
    place_rows_of,
    residual,
    row_jacobian,
)
from mechgrad.inverse.kernels.articulated import articulated_accelerations
from mechgrad.inverse.kernels.free_motion import free_motion
from mechgrad.inverse.kernels.wrenches import WRENCH, apply_loads
from mechgrad.kernels.jit import inner, runtime_int, spliced
from mechgrad.kernels.lanes import any_not_less, load, store, width
from mechgrad.kernels.vec3 import clear

# reasons to end
DONE, BAD_NUMBER, SINGULAR, TOO_SMALL, TOO_MANY, NOT_CONVERGED, DEAD_POINT, STUCK, CHANGE_POINT, INTERRUPTED = range(10)
TOO_FEW_DIGITS = 10  # of sparse factors: dense ones with pivoting take their place
REFINEMENTS = 4
DIVERGED = 1e12  # size of an increment from which no iteration comes back


@inner
def tree_accelerations(mechanism, work, q, v, t, a, scalar):
    """a of a mechanism without constraints. Returns a reason to end, or DONE. Rows get values and rates; their
    second rates, which no law reads, are not those of any motion."""
    ints, atoms_i, atoms_f = mechanism.ints, mechanism.atoms_i, mechanism.atoms_f
    first, last, n_v = mechanism.n_constraints, mechanism.n_rows, v.size // width(scalar)
    check = free_motion(atoms_i, atoms_f, q, v, last > first, work.frames, work.twists, scalar)
    if last > first:
        place_markers(mechanism, work, scalar)
        look_around(mechanism, work, scalar)
        place_rows_of(mechanism, work, q, v, work.zero, t, first, last, scalar)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces_alone(mechanism, work, t, scalar)
    loaded = mechanism.loads_i.shape[0] > 0 or last > first
    if loaded:
        clear(work.wrenches, 0, mechanism.n_atoms * WRENCH, scalar)
        apply_loads(mechanism.loads_i, work.loads, work.frames, work.wrenches, scalar)
        push_rows(ints, work.near_rows, work.attachments, work.y, work.wrenches, first, scalar)
    # what tau and LINEAR rows do, as generalized forces
    r = work.r
    clear(r, 0, n_v, scalar)
    push_coordinates(ints, mechanism.numbers, work.near_rows, work.y, r, first, scalar)
    for j in range(n_v):
        store(r, j, load(r, j, scalar) * -1.0)
    failed = articulated_accelerations(
        atoms_i, atoms_f, work.frames, work.twists, loaded, True, work.wrenches, r, work.inertia, a, scalar
    )
    return SINGULAR if any_not_less(failed, 0.5) else DONE


@spliced
def saddle_accelerations(mechanism, work, solver, q, v, t, a, lam, scalar):
    """a and lam of a mechanism with constraints; solver: a `Solver` record (`dynamics.kernels.solver`). Returns a
    reason to end, or DONE."""
    n, m, sparse = mechanism.n_v, mechanism.n_constraints, solver.sparse
    check = place(mechanism, work, q, v, work.zero, t, mechanism.n_rows, scalar)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces_alone(mechanism, work, t, scalar)
    for k in range(m):
        work.y[k] = 0.0
    residual(mechanism, work, q, v, work.zero, solver.r, scalar)
    mass(mechanism, work, sparse, q, v, work.zero, solver.M, scalar)
    row_jacobian(mechanism, work, sparse, runtime_int(0), m, scalar)
    if not saddle_factor(sparse, solver.M, work.J, work.J, solver.eps, n, m, solver.P, solver.pivots_P):
        return SINGULAR
    for j in range(n):
        solver.x[j] = -solver.r[j]
    for k in range(m):
        c = -work.seconds[k] - 2.0 * solver.omega * solver.xi * work.rates[k]
        if k < mechanism.n_holonomic:
            c -= solver.omega * solver.omega * work.values[k]
        solver.c[k] = c
        solver.x[n + k] = c
    x, c, P, pivots = solver.x, solver.c, solver.P, solver.pivots_P
    solve_factored(sparse, P, pivots, x, n + m)
    if not solver.compliant:
        saddle_refine(sparse, P, pivots, work.J, c, x, n, m, REFINEMENTS, ROUNDING, solver.work)
    for j in range(n):
        a[j] = solver.x[j]
    for k in range(m):
        lam[k] = solver.x[n + k]
    return TOO_FEW_DIGITS if lost_digits(sparse) else DONE
