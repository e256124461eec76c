"""Entries over many states: accelerations and multipliers, and the forces that rows exert on bodies."""

from __future__ import annotations

from mechgrad.dynamics.kernels.accelerations import DONE, saddle_accelerations, tree_accelerations
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.system import begin, forces, linearise, make_work, mass, place, push_rows
from mechgrad.inverse.kernels.wrenches import WRENCH
from mechgrad.kernels.jit import kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.records import refer
from mechgrad.kinematics.kernels.rows import row_columns
from mechgrad.model.mechanism import N_CONSTRAINTS, N_ROWS


@kernel
def _state_accelerations(T, w, s, trees, loops, Q, V, t, A, L):
    T, w, s = refer(T), refer(w), refer(s)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    for i in range(Q.shape[0]):
        reason = DONE
        # branches on None vanish before types are looked at: only one of both is compiled
        if trees is not None:
            reason = tree_accelerations(T, w, Q[i], V[i], scalar + t[i], A[i], scalar)
        if loops is not None:
            reason = saddle_accelerations(T, w, s, Q[i], V[i], scalar + t[i], A[i], L[i], scalar)
        if reason != DONE:
            return i, reason
    return -1, DONE


@wrapper
def state_accelerations(T, f, Q, V, t, A, L):
    """Rows of q, v and instants t to rows of a and lam; f: (eps, Omega, xi, compliant).

    Returns (row, reason) of the first state without a solution, or (-1, DONE).
    """
    s = make_solver(T, *f[:3], compliant=f[3] != 0.0)
    kind = (None, 1) if T.ints[N_CONSTRAINTS] else (1, None)
    return _state_accelerations(T, make_work(T), s, *kind, Q, V, t, A, L)


@kernel
def _row_scales(T, w, s, Q, t, scales):
    T, w, s = refer(T), refer(w), refer(s)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    for i in range(Q.shape[0]):
        place(T, w, Q[i], w.zero, w.zero, scalar + t, m, scalar)
        mass(T, w, Q[i], w.zero, w.zero, s.M, scalar)
        row_columns(T.ints, T.numbers, w.twists, w.attachments, runtime_int(0), m, w.J, scalar)
        for k in range(m):
            total = 0.0
            for j in range(n):
                inertia = abs(s.M[j * n + j])
                if inertia > 0.0:
                    total += abs(w.J[k * n + j]) ** 2 / inertia
            scales[i, k] = total


@wrapper
def row_scales(T, Q, t, scales):
    """Inverse masses that constraint rows feel in rows of q, into rows of `scales`: the sum of Gamma_kj^2 / M_jj, about
    the diagonal of Gamma M^-1 Gamma^T."""
    _row_scales(T, make_work(T), make_solver(T), Q, t, scales)


@kernel
def _row_forces(T, w, Q, V, A, L, t, Y, W):
    T, w = refer(T), refer(w)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    y, wrenches = w.y, w.wrenches
    for i in range(Q.shape[0]):
        place(T, w, Q[i], V[i], A[i], scalar + t[i], T.ints[N_ROWS], scalar)
        forces(T, w, scalar + t[i], scalar)
        for k in range(T.ints[N_CONSTRAINTS]):
            y[k] = L[i, k]
        for k in range(T.ints[N_ROWS]):
            Y[i, k] = y[k]
        for k in range(T.atoms_i.shape[0] * WRENCH):
            wrenches[k] = 0.0
        push_rows(T.ints, w.attachments, y, wrenches, runtime_int(0), scalar)
        for k in range(T.atoms_i.shape[0] * WRENCH):
            W[i, k] = wrenches[k]


@wrapper
def row_forces(T, Q, V, A, L, t, Y, W):
    """Multipliers of all acting rows into rows of Y (nt, n_rows), and what they do to each atom into W (nt, 6 n_atoms):
    moment about the world's origin and force, in the sense in which bodies resist them."""
    _row_forces(T, make_work(T), Q, V, A, L, t, Y, W)


@kernel
def _linearised_states(T, w, Q, V, A, L, t, r, K, C, M):
    T, w = refer(T), refer(w)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    y = w.y
    for i in range(Q.shape[0]):
        check = place(T, w, Q[i], V[i], A[i], scalar + t[i], T.ints[N_ROWS], scalar)
        if any_not_less(check, 1.0):
            return i
        forces(T, w, scalar + t[i], scalar)
        for k in range(T.ints[N_CONSTRAINTS]):
            y[k] = L[i, k]
        linearise(T, w, r[i], K[i], C[i], M[i], scalar)
    return -1


@wrapper
def linearised_states(T, Q, V, A, L, t, r, K, C, M):
    """Residual r and its partials K = r_q, C = r_v, M of rows of states, multipliers given. Returns the first row with
    a bad number, or -1."""
    return _linearised_states(T, make_work(T), Q, V, A, L, t, r, K, C, M)
