"""Entries over many states: accelerations and multipliers, and the forces that rows exert on bodies."""

from __future__ import annotations

from mechgrad.dynamics.kernels.accelerations import DONE, accelerations
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.system import forces, linearise, make_work, place, push_rows
from mechgrad.inverse.kernels.wrenches import WRENCH
from mechgrad.kernels.jit import entry
from mechgrad.kernels.lanes import any_not_less
from mechgrad.model.mechanism import N_CONSTRAINTS, N_ROWS


@entry
def state_accelerations(T, f, how, Q, V, t, A, L):
    """Rows of q, v and instants t to rows of a and lam; f: (eps, Omega, xi, compliant); how: `OpenTree`, or any
    other record where there are constraints.

    Returns (row, reason) of the first state without a solution, or (-1, DONE).
    """
    like = T.atoms_f[0, 0] * 0.0
    w, s = make_work(T, like), make_solver(T, f[0], f[1], f[2], f[3] != 0.0)
    for i in range(Q.shape[0]):
        reason = accelerations(T, w, s, Q[i], V[i], like + t[i], A[i], L[i], how, like)
        if reason != DONE:
            return i, reason
    return -1, DONE


@entry
def row_forces(T, Q, V, A, L, t, Y, W):
    """Multipliers of all acting rows into rows of Y (nt, n_rows), and what they do to each atom into W (nt, 6 n_atoms):
    force and moment about the world's origin, in the sense in which bodies resist them."""
    like = T.atoms_f[0, 0] * 0.0
    w = make_work(T, like)
    for i in range(Q.shape[0]):
        place(T, w, Q[i], V[i], A[i], like + t[i], 0, T.ints[N_ROWS], like)
        forces(T, w, like + t[i], like)
        for k in range(T.ints[N_CONSTRAINTS]):
            w.y[k] = L[i, k]
        for k in range(T.ints[N_ROWS]):
            Y[i, k] = w.y[k]
        for k in range(T.atoms_i.shape[0] * WRENCH):
            w.wrenches[k] = 0.0
        push_rows(T.ints, w.feet, w.y, w.wrenches, 0, like)
        for k in range(T.atoms_i.shape[0] * WRENCH):
            W[i, k] = w.wrenches[k]


@entry
def linearised_states(T, Q, V, A, L, t, r, K, C, M):
    """Residual r and its partials K = r_q, C = r_v, M of rows of states, multipliers given. Returns the first row with
    a bad number, or -1."""
    like = T.atoms_f[0, 0] * 0.0
    w = make_work(T, like)
    for i in range(Q.shape[0]):
        check = place(T, w, Q[i], V[i], A[i], like + t[i], 0, T.ints[N_ROWS], like)
        if any_not_less(check, 1.0):
            return i
        forces(T, w, like + t[i], like)
        for k in range(T.ints[N_CONSTRAINTS]):
            w.y[k] = L[i, k]
        linearise(T, w, Q[i], V[i], A[i], r[i], K[i], C[i], M[i], like)
    return -1
