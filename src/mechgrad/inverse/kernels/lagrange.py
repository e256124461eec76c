"""Recursive Lagrangian inverse dynamics of trees with 4x4 matrices, and its sensitivities.

Zhakatayev, Rogovchenko and Pätzold (2023), who extend Xiang, Arora and Abdel-Malek (2008, 2009) to trees; corrected as
told in docs/lagrange.md. Links are numbered 1..n as in the papers, 0 is the ground; p is the parent of i, c a child.

    outward   T_i = T_p A_i,   S_i = dT_i/dt,   R_i = d2T_i/dt2
    inward    H_i = J_i R_i^T + sum A_c H_c     E_i = m_i r_i + sum A_c E_c
              F_i = r_f f^T   + sum A_c F_c     G_i = h_i     + sum G_c
    torque    Q_i = tr[T_p B_i (H_i - E_i g^T - F_i)] - G_i . T_p w_i,        w_i = sigma_i (0 0 1 0)^T or 0

F is the papers' 4 x (loads) matrix multiplied by the forces, F V^T: its columns appear in no other way, and one 4x4
matrix then serves any number of loads. The first pass and the meaning of pairs stand in `lagrange_motion`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.inverse.kernels.affine import add_moved, add_moved_vector, clear, inertia_times, times, trace
from mechgrad.inverse.kernels.lagrange_motion import (
    COLUMN,
    ENTRY,
    KIND,
    MASSIVE,
    UP,
    LinkTables,
    M,
    finite,
    local_stacks,
    local_transforms,
    motion_stacks,
    outward,
    outward_sensitivities,
    read_branches,
    stack,
)
from mechgrad.inverse.kernels.wrenches import L_ATOM, L_IN_BODY_AXES, LOAD, LOAD_C, LOAD_F, LOAD_X
from mechgrad.kernels.jit import entry, inner
from mechgrad.model.joints.base import REVOLUTE


# --------------------------------------------------------------------------------------------- second pass: loads
@inner
def turned(T, i, loads_f, k, at, body_axes, c):
    """Component c of a load's vector; T is the transform that turns it if it is given in body axes."""
    if not body_axes:
        return loads_f[k, at + c]
    return T[i, c, 0] * loads_f[k, at] + T[i, c, 1] * loads_f[k, at + 1] + T[i, c, 2] * loads_f[k, at + 2]


@inner
def add_load(T, x, loads_f, k, at, body_axes, F, G, o):
    """F[o] += r_f f^T, G[o] += h."""
    for c in range(3):
        f = turned(T, x, loads_f, k, at + LOAD_F, body_axes, c)
        for r in range(3):
            F[o, r, c] += loads_f[k, at + LOAD_X + r] * f
        F[o, 3, c] += f
        G[o, c] += turned(T, x, loads_f, k, at + LOAD_C, body_axes, c)


@inner
def apply_loads(loads_i, loads_f, row, T, F, G):
    """Own terms of F and G."""
    F[:] = 0.0
    G[:] = 0.0
    k = row if loads_f.shape[0] > 1 else 0
    for load in range(loads_i.shape[0]):
        i = loads_i[load, L_ATOM]
        add_load(T, i, loads_f, k, load * LOAD, loads_i[load, L_IN_BODY_AXES] != 0, F, G, i)


@inner
def apply_load_sensitivities(first, pairs, loads_i, loads_f, row, T_q, F_q, G_q):
    """Own terms of F_q and G_q: a load in body axes turns with its link, f_m = T_m f and h_m = T_m h."""
    F_q[:] = 0.0
    G_q[:] = 0.0
    k = row if loads_f.shape[0] > 1 else 0
    for load in range(loads_i.shape[0]):
        i = loads_i[load, L_ATOM]
        if loads_i[load, L_IN_BODY_AXES]:
            for at in range(first[i], first[i + 1]):
                if pairs[at, M] <= i:
                    add_load(T_q, at, loads_f, k, load * LOAD, True, F_q, G_q, at)


@inner
def inward(child, sibling, links, J, local, R, sums, loaded):
    """H, E, F, G of all links; F and G hold the links' own loads on entry."""
    A = local[0]
    H, E, F, G = sums
    for i in range(child.size - 1, 0, -1):
        for r in range(4):
            E[i, r] = J[i, r, 3]
        if links[i, MASSIVE]:
            inertia_times(J, i, R, i, 1.0, H, i)
        else:
            clear(H, i)
        c = child[i]
        while c > 0:
            add_moved(A, c, 1.0, H, c, H, i)
            add_moved_vector(A, c, 1.0, E, c, E, i)
            if loaded:
                add_moved(A, c, 1.0, F, c, F, i)
                for r in range(3):
                    G[i, r] += G[c, r]
            c = sibling[c]


@inner
def inward_sensitivities(child, sibling, links, first, pairs, J, local, motion_q, sums, sums_q, loaded):
    """H by q_m, v_m, a_m and E, F, G by q_m; F_q and G_q hold the links' own loads on entry.

    m at or before i:   H_i,m = J_i R_i,m^T + sum A_c H_c,m
    m beyond i:         H_i,m = sum (A_c H_c,m + [c = m] B_c H_c),   the same for E and F
    """
    A, B = local[0], local[1]
    T_q, S_q, R_q = motion_q
    H, E, F, _ = sums
    H_q, H_v, H_a, E_q, F_q, G_q = sums_q
    for i in range(child.size - 1, 0, -1):
        for at in range(first[i], first[i + 1]):
            for r in range(4):
                E_q[at, r] = 0.0
            if pairs[at, M] <= i and links[i, MASSIVE]:
                inertia_times(J, i, R_q, at, 1.0, H_q, at)
                inertia_times(J, i, S_q, at, 2.0, H_v, at)
                inertia_times(J, i, T_q, at, 1.0, H_a, at)
            else:
                clear(H_q, at)
                clear(H_v, at)
                clear(H_a, at)
        c = child[i]
        while c > 0:
            for at in range(first[c], first[c + 1]):
                up = pairs[at, UP]
                add_moved(A, c, 1.0, H_q, at, H_q, up)
                add_moved(A, c, 1.0, H_v, at, H_v, up)
                add_moved(A, c, 1.0, H_a, at, H_a, up)
                if pairs[at, M] > i:
                    add_moved_vector(A, c, 1.0, E_q, at, E_q, up)
                if loaded:
                    add_moved(A, c, 1.0, F_q, at, F_q, up)
                    for r in range(3):
                        G_q[up, r] += G_q[at, r]
                if pairs[at, M] == c:
                    add_moved(B, c, 0.0, H, c, H_q, up)
                    add_moved_vector(B, c, 0.0, E, c, E_q, up)
                    if loaded:
                        add_moved(B, c, 0.0, F, c, F_q, up)
            c = sibling[c]


# --------------------------------------------------------------------------------------------- third pass: torques
@inner
def net_sum(H, E, F, g, i, loaded, net):
    """net = H_i - E_i g^T - F_i."""
    for r in range(4):
        for c in range(3):
            net[0, r, c] = H[i, r, c] - E[i, r] * g[c]
            if loaded:
                net[0, r, c] -= F[i, r, c]


@inner
def moment(G, i, T, x, kind, sign):
    """G_i . T w, the couples about a hinge's axis."""
    return sign * (G[i, 0] * T[x, 0, 2] + G[i, 1] * T[x, 1, 2] + G[i, 2] * T[x, 2, 2]) if kind == REVOLUTE else 0.0


@inner
def project(parent, links, sign, g, local, T, sums, loaded, row, scratch, tau):
    """Q_i = tr[T_p B_i (H_i - E_i g^T - F_i)] - G_i . T_p w_i."""
    B = local[1]
    H, E, F, G = sums
    U, net, _ = scratch
    for i in range(1, parent.size):
        j = links[i, COLUMN]
        if j < 0:
            continue
        times(T, parent[i], B, i, U, 0)
        net_sum(H, E, F, g, i, loaded, net)
        Q = trace(U, 0, net, 0)
        if loaded:
            Q -= moment(G, i, T, parent[i], links[i, KIND], sign[i])
        tau[row, j] = Q


class Derivatives(NamedTuple):
    """Results: tau (nt, n_v), tau_q, tau_v, tau_a (nt, nnz), packed."""

    tau: np.ndarray
    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


@inner
def project_sensitivities(parent, tables, local, T, T_q, sums, sums_q, loaded, row, scratch, out):
    """The derivatives of Q_i by q_m, v_m, a_m for every pair.

    Q_i,m = tr[T_p B_i (H_i,m - E_i,m g^T - F_i,m)] + tr[(T_p B_i),m (H_i - E_i g^T - F_i)] - (G_i . T_p w_i),m

    (T_p B_i),m is T_p,m B_i for m before i, T_p C_i for m = i and zero beyond; E_i,m is zero unless m is beyond i.
    tables: `LinkTables`; out: `Derivatives`.
    """
    links, sign, g, first, pairs = tables.links, tables.sign, tables.gravity, tables.first, tables.pairs
    B, C = local[1], local[2]
    H, E, F, G = sums
    H_q, H_v, H_a, E_q, F_q, G_q = sums_q
    U, net, Y = scratch
    for i in range(1, parent.size):
        if links[i, COLUMN] < 0:
            continue
        p = parent[i]
        net_sum(H, E, F, g, i, loaded, net)
        clear(Y, 0)
        add_moved(B, i, 0.0, net, 0, Y, 0)
        times(T, p, C, i, U, 0)
        own = trace(U, 0, net, 0)
        times(T, p, B, i, U, 0)
        for at in range(first[i], first[i + 1]):
            m, up, x = pairs[at, M], pairs[at, UP], pairs[at, ENTRY]
            Q_m = trace(U, 0, H_q, at)
            if m < i:
                Q_m += trace(T_q, up, Y, 0)
            elif m == i:
                Q_m += own
            else:
                for r in range(4):
                    Q_m -= (g[0] * U[0, 0, r] + g[1] * U[0, 1, r] + g[2] * U[0, 2, r]) * E_q[at, r]
            if loaded:
                Q_m -= trace(U, 0, F_q, at) + moment(G_q, at, T, p, links[i, KIND], sign[i])
                if m < i:
                    Q_m -= moment(G, i, T_q, up, links[i, KIND], sign[i])
            out.dq[row, x] = Q_m
            out.dv[row, x] = trace(U, 0, H_v, at)
            out.da[row, x] = trace(U, 0, H_a, at)


# ------------------------------------------------------------------------------------------------------ entries
@entry
def lagrange_torques(tables, samples, loads, tau):
    """Rows of q, v, a to rows of tau (nt, n_v). Returns the first row with a bad number, or -1.

    Tuples of arrays: tables as in `LinkTables`, samples q, v, a (nt, n_v), loads as in `Loads` of
    `kinematics.kernels.tables`.
    """
    phi, psi, links, sign, constant, J, g, _, _ = tables
    q, v, a = samples
    loads_i, loads_f = loads
    parent, child, sibling = read_branches(phi, psi)
    n, loaded = parent.size, loads_i.shape[0] > 0
    local, motion = local_stacks(n, tau), motion_stacks(n, tau)
    sums = stack(n, 4, 3, tau), np.empty((n, 4), tau.dtype), stack(n, 4, 3, tau), np.empty((n, 4), tau.dtype)
    scratch = stack(1, 3, 4, tau), stack(1, 4, 3, tau), stack(1, 4, 3, tau)
    for row in range(q.shape[0]):
        local_transforms(links, sign, constant, q, v, a, row, local)
        outward(parent, local, motion)
        if loaded:
            apply_loads(loads_i, loads_f, row, motion[0], sums[2], sums[3])
        inward(child, sibling, links, J, local, motion[2], sums, loaded)
        project(parent, links, sign, g, local, motion[0], sums, loaded, row, scratch, tau)
        if not (finite(q, row) and finite(v, row) and finite(a, row) and finite(tau, row)):
            return row
    return -1


@entry
def lagrange_derivatives(tables, samples, loads, out):
    """Rows of q, v, a to rows of tau and of its packed derivatives. Returns the first row with a bad number, or -1.

    Tuples of arrays as in `lagrange_torques`; out as in `Derivatives`.
    """
    phi, psi, links, sign, constant, J, g, first, pairs = tables
    q, v, a = samples
    loads_i, loads_f = loads
    tau, tau_q, tau_v, tau_a = out
    tables = LinkTables(phi, psi, links, sign, constant, J, g, first, pairs)
    results = Derivatives(tau, tau_q, tau_v, tau_a)
    parent, child, sibling = read_branches(phi, psi)
    n, n_pairs, loaded = parent.size, pairs.shape[0], loads_i.shape[0] > 0
    n_loaded = n_pairs if loaded else 0
    local, motion = local_stacks(n, tau), motion_stacks(n, tau)
    motion_q = stack(n_pairs, 3, 4, tau), stack(n_pairs, 3, 4, tau), stack(n_pairs, 3, 4, tau)
    sums = stack(n, 4, 3, tau), np.empty((n, 4), tau.dtype), stack(n, 4, 3, tau), np.empty((n, 4), tau.dtype)
    sums_q = (
        stack(n_pairs, 4, 3, tau), stack(n_pairs, 4, 3, tau), stack(n_pairs, 4, 3, tau),
        np.empty((n_pairs, 4), tau.dtype), stack(n_loaded, 4, 3, tau), np.empty((n_loaded, 4), tau.dtype),
    )  # fmt: skip
    scratch = stack(1, 3, 4, tau), stack(1, 4, 3, tau), stack(1, 4, 3, tau)
    for row in range(q.shape[0]):
        local_transforms(links, sign, constant, q, v, a, row, local)
        outward(parent, local, motion)
        outward_sensitivities(parent, first, pairs, local, motion, motion_q)
        if loaded:
            apply_loads(loads_i, loads_f, row, motion[0], sums[2], sums[3])
            apply_load_sensitivities(first, pairs, loads_i, loads_f, row, motion_q[0], sums_q[4], sums_q[5])
        inward(child, sibling, links, J, local, motion[2], sums, loaded)
        inward_sensitivities(child, sibling, links, first, pairs, J, local, motion_q, sums, sums_q, loaded)
        project(parent, links, sign, g, local, motion[0], sums, loaded, row, scratch, tau)
        project_sensitivities(
            parent, tables, local, motion[0], motion_q[0], sums, sums_q, loaded, row, scratch, results
        )
        if not (finite(q, row) and finite(v, row) and finite(a, row) and finite(tau, row)):
            return row
    return -1
