"""Mass matrix by composite inertias, and what needs its factors: accelerations and their derivatives.

    M_ij = S_i . I_j S_j         i = j or an ancestor of j;  I_j: inertia of everything beyond j
    a    = M^-1 (tau - h)        h: the generalized forces at a = 0, loads and weight included

M has the pattern of the tree and factors into L^T D L without fill-in, so that solving costs one pass over the
related pairs.
"""

from __future__ import annotations

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
from mechgrad.kernels.elementary import reciprocal
from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, scatter_part, store, width
from mechgrad.kernels.slots import slots
from mechgrad.kernels.small_dense import tree_factor, tree_solve
from mechgrad.kernels.vec3 import clear, dot, get3, get6, put3
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, columns_of_kind, outward, place_world
from mechgrad.model.tree import BEYOND, C_PARENT, HAS_MASS, KIND, PARENT, V_AT

COLUMNS = 8  # right-hand sides that go through the factors of a mass matrix together


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
    q_, zero = slots(n_q, M, scalar), slots(n_v, M, scalar)
    frames, twists = slots((n_atoms + 1) * FRAME, M, scalar), slots(n_v * TWIST, M, scalar)
    inertia, chains = slots(n_atoms * INERTIA, M, scalar), slots(positions.size, M, scalar)
    packed = slots(nnz, M, scalar)
    clear(zero, 0, n_v, scalar)
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
    q_, v_, zero = slots(n_q, a, scalar), slots(n_v, a, scalar), slots(n_v, a, scalar)
    tau_, bias, diagonal = slots(n_v, a, scalar), slots(n_v, a, scalar), slots(n_v, a, scalar)
    frames, twists = slots((n_atoms + 1) * FRAME, a, scalar), slots(n_v * TWIST, a, scalar)
    wrenches, inertia = slots(n_atoms * WRENCH, a, scalar), slots(n_atoms * INERTIA, a, scalar)
    loads, M = slots(n_loads * LOAD, a, scalar), slots(start[n_v - 1] + n_v if n_v else 0, a, scalar)
    clear(zero, 0, n_v, scalar)
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


@inlined
def _through_tree(chains, inverse, start, parent, reaches, group, x, scalar):
    """Solve L^T D L Y = X in place for a group of columns, X (n, COLUMNS) in slots; inverse: of the diagonal D."""
    n = parent.size
    for k in range(n - 1, -1, -1):
        if reaches[k, group]:
            i, ki = parent[k], start[k] + 1
            while i >= 0:
                factor, to, at = load(chains, ki, scalar), i * COLUMNS, k * COLUMNS
                for c in range(COLUMNS):
                    store(x, to + c, load(x, to + c, scalar) - factor * load(x, at + c, scalar))
                i = parent[i]
                ki += 1
    for k in range(n):
        scale, at = load(inverse, k, scalar), k * COLUMNS
        for c in range(COLUMNS):
            store(x, at + c, load(x, at + c, scalar) * scale)
        i, ki = parent[k], start[k] + 1
        while i >= 0:
            factor, other = load(chains, ki, scalar), i * COLUMNS
            for c in range(COLUMNS):
                store(x, at + c, load(x, at + c, scalar) - factor * load(x, other + c, scalar))
            i = parent[i]
            ki += 1


@allocating
def solve_with_mass(start, parent, positions, groups, M, B, X, scalar):
    """X := -M^-1 B: M and B (nt, nnz of each) packed, X (nt, n_v * m) row by row. Returns the first row of a singular
    block, or -1.

    groups : columns are taken COLUMNS at a time, which with the factors stay in the nearest cache. first (groups + 1,),
        entries (nnz of B,), slots (nnz of B,): entries first[g] .. first[g + 1] - 1 of B go to these slots of (n_v,
        COLUMNS); reaches (n_v, groups): whether a row has an entry there, or a row beyond it
    """
    first, entries, targets, reaches = groups
    n_v, n = parent.size, width(scalar)
    m = X.shape[1] // n_v
    packed, chains, right = slots(M.shape[1], X, scalar), slots(positions.size, X, scalar), slots(B.shape[1], X, scalar)
    diagonal, x = slots(n_v, X, scalar), slots(n_v * COLUMNS, X, scalar)
    for row in range(0, X.shape[0], n):
        gather(M, row, packed, 0, scalar)
        gather(B, row, right, 0, scalar)
        for k in range(positions.size):
            store(chains, k, load(packed, positions[k], scalar))
        if any_not_less(tree_factor(chains, start, parent, diagonal, scalar), 0.5):
            return row
        for k in range(n_v):
            store(diagonal, k, reciprocal(load(chains, start[k], scalar)))
        for group in range(first.size - 1):
            clear(x, 0, n_v * COLUMNS, scalar)
            for e in range(first[group], first[group + 1]):
                store(x, targets[e], scalar * 0.0 - load(right, entries[e], scalar))
            _through_tree(chains, diagonal, start, parent, reaches, group, x, scalar)
            at = group * COLUMNS
            for k in range(n_v):
                scatter_part(x, k * COLUMNS, min(COLUMNS, m - at), X, row, k * m + at, scalar)
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
def solve_with_mass_one(start, parent, positions, groups, M, B, X):
    """`solve_with_mass` sample by sample."""
    return solve_with_mass(start, parent, positions, groups, M, B, X, 0.0)


@entry
def solve_with_mass_lanes(start, parent, positions, groups, M, B, X):
    """`solve_with_mass` in SIMD lanes."""
    return solve_with_mass(start, parent, positions, groups, M, B, X, lane_zero())


@entry
def solve_with_mass_complex(start, parent, positions, groups, M, B, X):
    """`solve_with_mass` of complex numbers."""
    return solve_with_mass(start, parent, positions, groups, M, B, X, 0j)
