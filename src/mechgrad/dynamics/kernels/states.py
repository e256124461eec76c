"""Entries over many states: accelerations and multipliers, and the forces that rows exert on bodies."""

from __future__ import annotations

from mechgrad.dynamics.kernels.constrained import constrained_accelerations
from mechgrad.dynamics.kernels.pushed_rows import push_rows
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.sparse import column_of, diagonal_entry, first_entry
from mechgrad.dynamics.kernels.state_accelerations import DONE, tree_accelerations
from mechgrad.dynamics.kernels.system import begin, forces, linearise, make_work, mass, place, row_jacobian
from mechgrad.inverse.kernels.wrenches import FORCE, MOMENT, WRENCH
from mechgrad.kernels.jit import kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.records import refer
from mechgrad.kernels.vec3 import cross, get3, put3, sub
from mechgrad.kinematics.kernels.outward import AT, FRAME


@kernel
def _state_accelerations(mechanism, work, solver, trees, loops, Q, V, t, A, L):
    mechanism, work, solver = refer(mechanism), refer(work), refer(solver)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    for i in range(Q.shape[0]):
        reason = DONE
        # branches on None vanish before types are looked at: only one of both is compiled
        if trees is not None:
            reason = tree_accelerations(mechanism, work, Q[i], V[i], scalar + t[i], A[i], scalar)
        if loops is not None:
            reason = constrained_accelerations(
                mechanism, work, solver, solver.loops, Q[i], V[i], scalar + t[i], A[i], L[i], scalar
            )
        if reason != DONE:
            return i, reason
    return -1, DONE


@wrapper
def state_accelerations(mechanism, f, Q, V, t, A, L, sparse=None, loops=None):
    """Rows of q, v and instants t to rows of a and lam; f: (eps, Omega, xi, compliant); sparse, loops: records in place
    of dense matrices, or None.

    Returns (row, reason) of the first state without a solution, or (-1, DONE).
    """
    solver = make_solver(mechanism, *f[:3], compliant=f[3] != 0.0, sparse=sparse, loops=loops)
    kind = (None, 1) if mechanism.n_constraints else (1, None)
    return _state_accelerations(mechanism, make_work(mechanism, sparse=sparse), solver, *kind, Q, V, t, A, L)


@kernel
def _row_scales(mechanism, work, solver, Q, t, scales):
    mechanism, work, solver = refer(mechanism), refer(work), refer(solver)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    n, m, sparse = mechanism.n_v, mechanism.n_constraints, solver.sparse
    for i in range(Q.shape[0]):
        place(mechanism, work, Q[i], work.zero, work.zero, scalar + t, m, scalar)
        mass(mechanism, work, sparse, Q[i], work.zero, work.zero, solver.M, scalar)
        row_jacobian(mechanism, work, sparse, runtime_int(0), m, scalar)
        for k in range(m):
            total = 0.0
            for e in range(first_entry(sparse, k, n), first_entry(sparse, k + 1, n)):
                inertia = abs(solver.M[diagonal_entry(sparse, mechanism.columns_i, column_of(sparse, e, k, n))])
                if inertia > 0.0:
                    total += abs(work.J[e]) ** 2 / inertia
            scales[i, k] = total


@wrapper
def row_scales(mechanism, Q, t, scales, sparse=None):
    """Inverse masses that act in constraint rows, in rows of q, into rows of `scales`: the sum of Gamma_kj^2 / M_jj,
    about the diagonal of Gamma M^-1 Gamma^T."""
    work, solver = make_work(mechanism, sparse=sparse), make_solver(mechanism, sparse=sparse)
    _row_scales(mechanism, work, solver, Q, t, scales)


@kernel
def _row_forces(mechanism, work, Q, V, A, L, t, Y, W):
    mechanism, work = refer(mechanism), refer(work)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    y, wrenches = work.y, work.wrenches
    for i in range(Q.shape[0]):
        place(mechanism, work, Q[i], V[i], A[i], scalar + t[i], mechanism.n_rows, scalar)
        forces(mechanism, work, scalar + t[i], scalar)
        for k in range(mechanism.n_constraints):
            y[k] = L[i, k]
        for k in range(mechanism.n_rows):
            Y[i, k] = y[k]
        for k in range(mechanism.n_atoms * WRENCH):
            wrenches[k] = 0.0
        push_rows(mechanism.ints, work.near_rows, work.attachments, y, wrenches, runtime_int(0), scalar)
        for k in range(mechanism.n_atoms):
            o = k * WRENCH
            force = get3(wrenches, o + FORCE, scalar)
            arm = get3(work.frames, k * FRAME + AT, scalar)
            put3(W[i], o + MOMENT, sub(get3(wrenches, o + MOMENT, scalar), cross(arm, force)))
            put3(W[i], o + FORCE, force)


@wrapper
def row_forces(mechanism, Q, V, A, L, t, Y, W):
    """Multipliers of all acting rows into rows of Y (nt, n_rows), and what they do to each atom into W (nt, 6 n_atoms):
    moment about its own origin and force, in the sense in which bodies resist them."""
    _row_forces(mechanism, make_work(mechanism), Q, V, A, L, t, Y, W)


@kernel
def _linearised_states(mechanism, work, Q, V, A, L, t, r, K, C, M):
    mechanism, work = refer(mechanism), refer(work)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    y = work.y
    for i in range(Q.shape[0]):
        check = place(mechanism, work, Q[i], V[i], A[i], scalar + t[i], mechanism.n_rows, scalar)
        if any_not_less(check, 1.0):
            return i
        forces(mechanism, work, scalar + t[i], scalar)
        for k in range(mechanism.n_constraints):
            y[k] = L[i, k]
        linearise(mechanism, work, None, r[i], K[i], C[i], M[i], scalar)
    return -1


@wrapper
def linearised_states(mechanism, Q, V, A, L, t, r, K, C, M):
    """Residual r and its partials K = r_q, C = r_v, M of rows of states, multipliers given. Returns the first row with
    a bad number, or -1."""
    return _linearised_states(mechanism, make_work(mechanism), Q, V, A, L, t, r, K, C, M)
