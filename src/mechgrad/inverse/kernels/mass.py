"""Mass matrix by composite inertias, and what needs its factors: accelerations and their derivatives.

    M_ij = S_i . I_j S_j         i = j or an ancestor of j;  I_j: inertia of everything beyond j
    a    = M^-1 (tau - h)        h: the generalized forces at a = 0, loads and weight included

M has the pattern of the tree and factors into L^T D L without fill-in, so that solving costs one pass over the
related pairs.
"""

from __future__ import annotations

import numpy as np

from mechgrad.inverse.kernels.tree_torques import project
from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    INERTIA,
    LOAD,
    SECOND,
    WRENCH,
    apply_loads,
    body_wrenches,
    gather_loads,
    inertia_v,
    inertia_w,
    mass_moments,
    pass_down,
)
from mechgrad.kernels.jit import allocating, entry, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.small_dense import tree_factor, tree_solve
from mechgrad.kernels.vec3 import clear, dot, get3, get6, put3
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, columns_of_kind, outward, place_world
from mechgrad.model.tree import BEYOND, C_PARENT, HAS_MASS, KIND, PARENT, V_AT


@inner
def mass_by_chains(atoms_i, atoms_f, columns_i, start, frames, twists, inertia, M, scalar):
    """Fill M, stored by chains, from the frames and twists of the outward sweep. Slots of `inertia`: INERTIA per
    atom."""
    n_atoms = atoms_i.shape[0]
    for i in range(n_atoms):
        k = i * INERTIA
        if atoms_i[i, HAS_MASS]:
            h, S = mass_moments(atoms_f, i, frames, scalar)
            put3(inertia, k + FIRST, h)
            put3(inertia, k + SECOND, (S[0], S[1], S[2]))
            put3(inertia, k + SECOND + 3, (S[3], S[4], S[5]))
        else:
            clear(inertia, k, INERTIA, scalar)
    for i in range(n_atoms - 1, -1, -1):
        h, S = get3(inertia, i * INERTIA + FIRST, scalar), get6(inertia, i * INERTIA + SECOND, scalar)
        mass, trace = atoms_f[i, BEYOND], S[0] + S[3] + S[5]
        columns = columns_of_kind(atoms_i[i, KIND])
        for j in range(atoms_i[i, V_AT], atoms_i[i, V_AT] + columns):
            s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
            uw, uv = inertia_w(trace, S, h, s, m), inertia_v(mass, h, s, m)
            slot, c = start[j], j
            while c >= 0:
                value = dot(get3(twists, c * TWIST, scalar), uw) + dot(get3(twists, c * TWIST + 3, scalar), uv)
                store(M, slot, value)
                c = columns_i[c, C_PARENT]
                slot += 1
        if atoms_i[i, PARENT] >= 0:
            pass_down(inertia, i, atoms_i[i, PARENT], INERTIA, scalar)


@allocating
def mass_matrix(atoms_i, atoms_f, columns_i, start, positions, pairs_t, q, M, scalar):
    """Rows of q to rows of M (nt, nnz). `pairs_t[k]` is the position of the transposed entry of chain entry k.

    Returns the first row of a block with a bad number, or -1.
    """
    n_atoms, n_q, n_v, nnz = atoms_i.shape[0], q.shape[1], columns_i.shape[0], M.shape[1]
    n = width(scalar)
    q_, zero = np.empty(n_q * n, M.dtype), np.zeros(n_v * n, M.dtype)
    frames = np.empty((n_atoms + 1) * FRAME * n, M.dtype)
    twists = np.empty(n_v * TWIST * n, M.dtype)
    inertia = np.empty(n_atoms * INERTIA * n, M.dtype)
    chains = np.empty(positions.size * n, M.dtype)
    packed = np.empty(nnz * n, M.dtype)
    place_world(frames, n_atoms, 0.0, 0.0, 0.0, scalar)
    for row in range(0, q.shape[0], n):
        gather(q, row, q_, 0, scalar)
        check = outward(atoms_i, atoms_f, q_, zero, zero, frames, twists, scalar)
        if any_not_less(check, 1.0):
            return row
        mass_by_chains(atoms_i, atoms_f, columns_i, start, frames, twists, inertia, chains, scalar)
        for k in range(positions.size):
            value = load(chains, k, scalar)
            store(packed, positions[k], value)
            store(packed, pairs_t[k], value)
        scatter(packed, 0, M, row, scalar)
    return -1


@allocating
def accelerations(atoms_i, atoms_f, columns_i, start, parent, q, v, tau, loads_i, loads_f, a, scalar):
    """Rows of q, v, tau to rows of a (nt, n_v).

    Returns (row, 0) for the first block with a bad number, (row, 1) for one with a singular mass matrix, else (-1,
    0).
    """
    n_atoms, n_q, n_v = atoms_i.shape[0], q.shape[1], v.shape[1]
    n, n_loads = width(scalar), loads_i.shape[0]
    q_, v_, zero = np.empty(n_q * n, a.dtype), np.empty(n_v * n, a.dtype), np.zeros(n_v * n, a.dtype)
    tau_, bias, diagonal = np.empty(n_v * n, a.dtype), np.empty(n_v * n, a.dtype), np.empty(n_v * n, a.dtype)
    frames = np.empty((n_atoms + 1) * FRAME * n, a.dtype)
    twists = np.empty(n_v * TWIST * n, a.dtype)
    wrenches = np.empty(n_atoms * WRENCH * n, a.dtype)
    inertia = np.empty(n_atoms * INERTIA * n, a.dtype)
    loads = np.empty(n_loads * LOAD * n, a.dtype)
    M = np.empty((start[n_v - 1] + n_v if n_v else 0) * n, a.dtype)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, q.shape[0], n):
        gather(q, row, q_, 0, scalar)
        gather(v, row, v_, 0, scalar)
        gather(tau, row, tau_, 0, scalar)
        check = outward(atoms_i, atoms_f, q_, v_, zero, frames, twists, scalar)
        body_wrenches(atoms_i, atoms_f, frames, wrenches, scalar)
        if n_loads:
            gather_loads(loads_f, row, loads, scalar)
            apply_loads(loads_i, loads, frames, wrenches, scalar)
        project(atoms_i, twists, wrenches, bias, scalar)
        for j in range(n_v):
            t = load(tau_, j, scalar)
            check = check + (t - t)
            store(tau_, j, t - load(bias, j, scalar))
        if any_not_less(check, 1.0):
            return row, 0
        mass_by_chains(atoms_i, atoms_f, columns_i, start, frames, twists, inertia, M, scalar)
        if any_not_less(tree_factor(M, start, parent, diagonal, scalar), 0.5):
            return row, 1
        tree_solve(M, start, parent, tau_, 1, scalar)
        scatter(tau_, 0, a, row, scalar)
    return -1, 0


@allocating
def solve_with_mass(start, parent, positions, M, X, scalar):
    """X <- M^-1 X: M (nt, nnz) packed, X (nt, n_v * m) row by row. Returns the first row of a singular block, or
    -1."""
    n_v, n = parent.size, width(scalar)
    m = X.shape[1] // n_v
    packed, chains = np.empty(M.shape[1] * n, X.dtype), np.empty(positions.size * n, X.dtype)
    diagonal, x = np.empty(n_v * n, X.dtype), np.empty(X.shape[1] * n, X.dtype)
    for row in range(0, X.shape[0], n):
        gather(M, row, packed, 0, scalar)
        gather(X, row, x, 0, scalar)
        for k in range(positions.size):
            store(chains, k, load(packed, positions[k], scalar))
        if any_not_less(tree_factor(chains, start, parent, diagonal, scalar), 0.5):
            return row
        tree_solve(chains, start, parent, x, m, scalar)
        scatter(x, 0, X, row, scalar)
    return -1


@entry
def mass_matrix_one(atoms_i, atoms_f, columns_i, start, positions, pairs_t, q, M):
    """`mass_matrix` sample by sample."""
    return mass_matrix(atoms_i, atoms_f, columns_i, start, positions, pairs_t, q, M, 0.0)


@entry
def mass_matrix_lanes(atoms_i, atoms_f, columns_i, start, positions, pairs_t, q, M):
    """`mass_matrix` in SIMD lanes."""
    return mass_matrix(atoms_i, atoms_f, columns_i, start, positions, pairs_t, q, M, lane_zero())


@entry
def mass_matrix_complex(atoms_i, atoms_f, columns_i, start, positions, pairs_t, q, M):
    """`mass_matrix` of complex numbers."""
    return mass_matrix(atoms_i, atoms_f, columns_i, start, positions, pairs_t, q, M, 0j)


@entry
def accelerations_one(atoms_i, atoms_f, columns_i, start, parent, q, v, tau, loads_i, loads_f, a):
    """`accelerations` sample by sample."""
    return accelerations(atoms_i, atoms_f, columns_i, start, parent, q, v, tau, loads_i, loads_f, a, 0.0)


@entry
def accelerations_lanes(atoms_i, atoms_f, columns_i, start, parent, q, v, tau, loads_i, loads_f, a):
    """`accelerations` in SIMD lanes."""
    return accelerations(atoms_i, atoms_f, columns_i, start, parent, q, v, tau, loads_i, loads_f, a, lane_zero())


@entry
def accelerations_complex(atoms_i, atoms_f, columns_i, start, parent, q, v, tau, loads_i, loads_f, a):
    """`accelerations` of complex numbers."""
    return accelerations(atoms_i, atoms_f, columns_i, start, parent, q, v, tau, loads_i, loads_f, a, 0j)


@entry
def solve_with_mass_one(start, parent, positions, M, X):
    """`solve_with_mass` sample by sample."""
    return solve_with_mass(start, parent, positions, M, X, 0.0)


@entry
def solve_with_mass_lanes(start, parent, positions, M, X):
    """`solve_with_mass` in SIMD lanes."""
    return solve_with_mass(start, parent, positions, M, X, lane_zero())


@entry
def solve_with_mass_complex(start, parent, positions, M, X):
    """`solve_with_mass` of complex numbers."""
    return solve_with_mass(start, parent, positions, M, X, 0j)
