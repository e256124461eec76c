"""The equations of motion of a mechanism in one state, and their linearisation.

    r(q, v, a, lam, t) = M a + h - Q + Gamma^T lam        Q = tau + loads - Gamma_L^T F  of laws F(g, g', t)
    r_q = inertia + geometric terms + sum_k y_k (change of the gradient of row k)
          + Gamma_L^T (F_g Gamma_L + F_g' Gamma_L,rate)
    r_v = inertia + Gamma_L^T F_g' Gamma_L,           r_a = M

y collects the multipliers of all rows: lam of constraints, F of laws. `place` must come first; the others read what it
left in the work record. T and w are references to records (`kernels.records`), passes below take arrays. Numbers are
of the kernel's scalar, slot by slot; matrices are dense, row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.laws import apply_laws, law_int
from mechgrad.inverse.kernels.accumulation import (
    ABOUT_COM,
    accumulated_mass,
    accumulated_residual,
    recursion_outward,
)
from mechgrad.inverse.kernels.accumulation import REFERENCE as MOTION_ABOUT
from mechgrad.inverse.kernels.articulated import ARTICULATED
from mechgrad.inverse.kernels.inward import DUALS, inward, inward_world_loads
from mechgrad.inverse.kernels.mass import mass_by_chains
from mechgrad.inverse.kernels.torques import project
from mechgrad.inverse.kernels.wrenches import (
    FORCE,
    L_DYAD,
    L_FORCE,
    LOAD,
    MOMENT,
    WORLD_LOAD,
    WRENCH,
    apply_loads,
    body_wrenches,
    body_wrenches_and_moments,
    collect_world_loads,
    gather_loads,
)
from mechgrad.kernels.elementary import magnitude
from mechgrad.kernels.interrupt import listener
from mechgrad.kernels.jit import inner, runtime_int
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.vec3 import add3, clear, cross, get3, scale
from mechgrad.kinematics.kernels.header import row_int
from mechgrad.kinematics.kernels.markers import MOTION, marker_motion_block
from mechgrad.kinematics.kernels.measures import attachments_of_kind
from mechgrad.kinematics.kernels.outward import FRAME, RATES, TWIST, column_rates, outward, place_world
from mechgrad.kinematics.kernels.rows import (
    F_G,
    F_X,
    FEET,
    FOOT,
    add_row_curvature,
    foot_atom,
    foot_is_point,
    place_rows,
    row_columns,
    row_rate_columns,
)
from mechgrad.kinematics.kernels.tables import Motion, RowStates
from mechgrad.model.mechanism import (
    AT_COORDS,
    AT_FACTORS,
    AT_TAU,
    L_FIRST,
    L_ROWS,
    LAW_WIDTH,
    N_ALL,
    N_ATOMS,
    N_CONSTRAINTS,
    N_LAWS,
    N_ROWS,
    N_V,
    R_COUNT,
    R_FIRST,
    R_KIND,
    REFERENCE,
    Mechanism,
    has_pairs,
)
from mechgrad.model.rows import LINEAR
from mechgrad.model.tree import C_PARENT


class Work(NamedTuple):
    """Scratch of one thread: what `place` leaves, and room for the terms."""

    frames: np.ndarray
    twists: np.ndarray
    column_rates: np.ndarray
    motion: np.ndarray
    wrenches: np.ndarray
    inertia: np.ndarray
    duals: np.ndarray
    world: np.ndarray
    references: np.ndarray
    loads: np.ndarray
    values: np.ndarray  # of rows, their rates and second rates
    rates: np.ndarray
    seconds: np.ndarray
    attachments: np.ndarray
    y: np.ndarray  # multipliers of all rows
    y_g: np.ndarray
    y_gd: np.ndarray
    law_g: np.ndarray
    law_gd: np.ndarray
    law_F: np.ndarray
    law_F_g: np.ndarray
    law_F_gd: np.ndarray
    J: np.ndarray  # (rows, n_v): Gamma, and its twin for the rates
    J_rate: np.ndarray
    chains: np.ndarray
    r: np.ndarray
    packed_q: np.ndarray
    packed_v: np.ndarray
    packed_a: np.ndarray
    zero: np.ndarray
    listener: np.ndarray  # address of what marches call from time to time (`kernels.interrupt`)


def make_work(T: Mechanism, lanes: int = 1) -> Work:
    """Scratch for a mechanism, in SIMD lanes or not; a kernel begins it (`begin`)."""
    n_atoms, n_v, n = T.atoms_i.shape[0], T.columns_i.shape[0], lanes
    rows, nnz, most, dtype = int(T.ints[N_ALL]), T.pattern_rows.size, int(T.ints[LAW_WIDTH]), T.atoms_f.dtype
    chain = int(T.chain_start[n_v - 1]) + n_v if n_v and has_pairs(T) else 0
    return Work(
        np.empty((n_atoms + 1) * FRAME * n, dtype),
        np.empty(n_v * TWIST * n, dtype),
        np.empty(n_v * RATES * n, dtype),
        np.empty((T.markers_i.shape[0] + 1) * MOTION * n, dtype),
        np.empty(n_atoms * WRENCH * n, dtype),
        np.empty(n_atoms * ARTICULATED * n, dtype),
        np.empty(n_v * DUALS * n, dtype),
        np.empty(n_atoms * WORLD_LOAD * n, dtype),
        np.empty((n_atoms + 1) * MOTION_ABOUT * n, dtype),
        np.empty(T.loads_i.shape[0] * LOAD * n, dtype),
        np.zeros(rows * n, dtype),
        np.zeros(rows * n, dtype),
        np.zeros(rows * n, dtype),
        np.zeros(rows * FEET * n, dtype),
        np.zeros(rows * n, dtype),
        np.zeros(rows * most * n, dtype),
        np.zeros(rows * most * n, dtype),
        np.zeros(most, dtype),
        np.zeros(most, dtype),
        np.zeros(most, dtype),
        np.zeros(most * most, dtype),
        np.zeros(most * most, dtype),
        np.zeros(rows * n_v * n, dtype),
        np.zeros(rows * n_v * n, dtype),
        np.empty(chain * n, dtype),
        np.empty(n_v * n, dtype),
        np.empty(nnz * n, dtype),
        np.empty(nnz * n, dtype),
        np.empty(nnz * n, dtype),
        np.zeros(n_v * n, dtype),
        listener(),
    )


@inner
def begin(T, w, scalar):
    """Place the world and the loads."""
    n_atoms = T.atoms_i.shape[0]
    place_world(w.frames, n_atoms, T.atoms_f[n_atoms, 0], T.atoms_f[n_atoms, 1], T.atoms_f[n_atoms, 2], scalar)
    if T.loads_i.shape[0]:
        gather_loads(T.loads_f, 0, w.loads, scalar)


@inner
def place(T, w, q, v, a, t, last, scalar):
    """Frames, markers and the rows 0 .. last - 1 of a state. Returns 0, or NaN where a number is bad."""
    check = outward(T.atoms_i, T.atoms_f, q, v, a, w.frames, w.twists, scalar)
    if last:
        marker_motion_block(T.markers_i, T.markers_f, w.frames, w.motion, scalar)
        state, rows = Motion(q, v, a), RowStates(w.values, w.rates, w.seconds)
        place_rows(T.ints, T.numbers, w.motion, w.frames, state, t, runtime_int(0), last, rows, w.attachments, scalar)
    return check


@inner
def place_free(T, w, q, v, a, t, scalar):
    """`place` of all rows, the free ones too."""
    check = place(T, w, q, v, a, scalar * 0.0 + t, T.ints[N_ROWS], scalar)
    state, rows, time = Motion(q, v, a), RowStates(w.values, w.rates, w.seconds), scalar * 0.0 + t
    place_rows(
        T.ints, T.numbers, w.motion, w.frames, state, time, T.ints[N_ROWS], T.ints[N_ALL], rows, w.attachments, scalar
    )
    return check


@inner
def forces(T, w, t, scalar):
    """Multipliers y of the rows of laws, with partials."""
    if T.ints[N_LAWS]:
        apply_laws(
            T.ints, T.numbers, t, w.values, w.rates, w.y, w.y_g, w.y_gd, w.law_g, w.law_gd, w.law_F, w.law_F_g,
            w.law_F_gd, scalar,
        )  # fmt: skip


@inner
def push_rows(ints, attachments, y, wrenches, first, scalar):
    """Add what the rows from `first` on, times y, do to the wrenches that bodies need."""
    n_atoms = ints[N_ATOMS]
    for k in range(first, ints[N_ROWS]):
        multiplier = load(y, k, scalar)
        for f in range(attachments_of_kind(row_int(ints, k, R_KIND))):
            atom, o = foot_atom(ints, k, f), k * FEET + f * FOOT
            if atom < n_atoms:
                force = scale(multiplier, get3(attachments, o + F_G, scalar))
                add3(wrenches, atom * WRENCH + MOMENT, cross(get3(attachments, o + F_X, scalar), force), scalar)
                if foot_is_point(ints, k, f):
                    add3(wrenches, atom * WRENCH + FORCE, force, scalar)


@inner
def push_coordinates(ints, numbers, y, r, first, scalar):
    """r += y times the factors of LINEAR rows from `first` on, and -= tau."""
    for j in range(ints[N_V]):
        store(r, j, load(r, j, scalar) - numbers[ints[AT_TAU] + j])
    for k in range(first, ints[N_ROWS]):
        if row_int(ints, k, R_KIND) == LINEAR:
            start = row_int(ints, k, R_FIRST)
            for c in range(start, start + row_int(ints, k, R_COUNT)):
                j = ints[ints[AT_COORDS] + 2 * c + 1]
                store(r, j, load(r, j, scalar) + load(y, k, scalar) * numbers[ints[AT_FACTORS] + c])


@inner
def residual(T, w, q, v, a, r, scalar):
    """r of the placed state with the multipliers in w.y."""
    if T.ints[REFERENCE]:
        residual_about_com(T, w, q, v, a, r, scalar)
        return
    body_wrenches(T.atoms_i, T.atoms_f, w.frames, w.wrenches, scalar)
    if T.loads_i.shape[0]:
        apply_loads(T.loads_i, w.loads, w.frames, w.wrenches, scalar)
    push_rows(T.ints, w.attachments, w.y, w.wrenches, runtime_int(0), scalar)
    project(T.atoms_i, w.twists, w.wrenches, r, scalar)
    push_coordinates(T.ints, T.numbers, w.y, r, runtime_int(0), scalar)


@inner
def residual_about_com(T, w, q, v, a, r, scalar):
    """`residual` with velocities and wrenches about the centres of mass (RTdyn0)."""
    recursion_outward(T.atoms_i, T.atoms_f, q, v, a, ABOUT_COM, w.frames, w.twists, w.references, scalar)
    clear(w.wrenches, 0, T.atoms_i.shape[0] * WRENCH, scalar)
    if T.loads_i.shape[0]:
        apply_loads(T.loads_i, w.loads, w.frames, w.wrenches, scalar)
    push_rows(T.ints, w.attachments, w.y, w.wrenches, runtime_int(0), scalar)
    accumulated_residual(T.atoms_i, T.atoms_f, w.frames, w.twists, w.references, w.wrenches, r, scalar)
    push_coordinates(T.ints, T.numbers, w.y, r, runtime_int(0), scalar)


@inner
def mass(T, w, q, v, a, M, scalar):
    """Dense M of the placed state."""
    if T.ints[REFERENCE]:
        recursion_outward(T.atoms_i, T.atoms_f, q, v, a, ABOUT_COM, w.frames, w.twists, w.references, scalar)
        accumulated_mass(
            T.atoms_i,
            T.atoms_f,
            T.columns_i,
            T.chain_start,
            w.frames,
            w.twists,
            w.references,
            w.inertia,
            w.chains,
            scalar,
        )
    else:
        mass_by_chains(
            T.atoms_i, T.atoms_f, T.columns_i, T.chain_start, w.frames, w.twists, w.inertia, w.chains, scalar
        )
    dense_mass(T.columns_i, T.chain_start, w.chains, M, scalar)


@inner
def dense_mass(columns_i, chain_start, chains, M, scalar):
    """M stored by chains, as a dense matrix."""
    n_v = columns_i.shape[0]
    zero = scalar * 0.0
    for i in range(n_v * n_v):
        store(M, i, zero)
    for j in range(n_v):
        slot, c = chain_start[j], j
        while c >= 0:
            value = load(chains, slot, scalar)
            store(M, j * n_v + c, value)
            store(M, c * n_v + j, value)
            c = columns_i[c, C_PARENT]
            slot += 1


@inner
def rows_as_loads(ints, attachments, y, world, scalar):
    """Add the rows, times y, to the loads of constant direction (opposite sign: y resists)."""
    n_atoms = ints[N_ATOMS]
    for k in range(ints[N_ROWS]):
        multiplier = load(y, k, scalar) * -1.0
        for f in range(attachments_of_kind(row_int(ints, k, R_KIND))):
            atom, o = foot_atom(ints, k, f), k * FEET + f * FOOT
            if atom < n_atoms:
                x, force = get3(attachments, o + F_X, scalar), scale(multiplier, get3(attachments, o + F_G, scalar))
                at = atom * WORLD_LOAD
                if foot_is_point(ints, k, f):
                    add3(world, at + L_FORCE, force, scalar)
                add3(world, at + L_DYAD, scale(force[0], x), scalar)
                add3(world, at + L_DYAD + 3, scale(force[1], x), scalar)
                add3(world, at + L_DYAD + 6, scale(force[2], x), scalar)


@inner
def linearise(T, w, r, K, C, M, scalar):
    """r and its partials K = r_q, C = r_v, M = r_a of the placed state with the multipliers in w.y; about the world's
    origin, whatever the reference points, on which none of them depends."""
    column_rates(T.atoms_i, T.columns_i, w.frames, w.twists, w.column_rates, scalar)
    body_wrenches_and_moments(T.atoms_i, T.atoms_f, w.frames, w.wrenches, w.inertia, scalar)
    if T.loads_i.shape[0]:
        apply_loads(T.loads_i, w.loads, w.frames, w.wrenches, scalar)
    push_rows(T.ints, w.attachments, w.y, w.wrenches, runtime_int(0), scalar)
    inward(T, T.pairs, w, r, w.packed_q, w.packed_v, w.packed_a, scalar)
    push_coordinates(T.ints, T.numbers, w.y, r, runtime_int(0), scalar)
    if T.loads_i.shape[0] or T.ints[N_ROWS]:
        collect_world_loads(T.loads_i, w.loads, w.frames, w.world, T.atoms_i.shape[0], scalar)
        rows_as_loads(T.ints, w.attachments, w.y, w.world, scalar)
        inward_world_loads(T.atoms_i, T.columns_i, T.pairs, w.twists, w.world, w.duals, w.packed_q, scalar)
    unpack(T.pattern_rows, T.pattern_cols, w.packed_q, w.packed_v, w.packed_a, K, C, M, T.columns_i.shape[0], scalar)
    if T.ints[N_ROWS]:
        add_row_curvature(T.ints, T.numbers, w.motion, w.twists, w.attachments, w.y, K, scalar)
        law_columns(T, w, scalar)
        add_law_partials(T.ints, w.J, w.J_rate, w.y_g, w.y_gd, K, C, scalar)


@inner
def unpack(rows, cols, packed_q, packed_v, packed_a, K, C, M, n_v, scalar):
    """Packed derivatives as dense matrices."""
    zero = scalar * 0.0
    for i in range(n_v * n_v):
        store(K, i, zero)
        store(C, i, zero)
        store(M, i, zero)
    for e in range(rows.size):
        at = rows[e] * n_v + cols[e]
        store(K, at, load(packed_q, e, scalar))
        store(C, at, load(packed_v, e, scalar))
        store(M, at, load(packed_a, e, scalar))


@inner
def law_columns(T, w, scalar):
    """Gamma of the rows of laws and its twin for the rates."""
    first, last = T.ints[N_CONSTRAINTS], T.ints[N_ROWS]
    if last > first:
        row_columns(T.ints, T.numbers, w.twists, w.attachments, first, last, w.J, scalar)
        if damped(T.ints, w.y_gd, scalar):
            row_rate_columns(
                T.ints, T.numbers, w.motion, w.frames, w.twists, w.attachments, first, last, w.J_rate, scalar
            )


@inner
def damped(ints, y_gd, scalar):
    """Whether any law feels the rate of a row."""
    total = scalar * 0.0
    for k in range(ints[N_CONSTRAINTS] * ints[LAW_WIDTH], ints[N_ROWS] * ints[LAW_WIDTH]):
        total = total + magnitude(load(y_gd, k, scalar))
    return any_not_less(total, 1e-300)


@inner
def add_law_partials(ints, J, J_rate, y_g, y_gd, K, C, scalar):
    """K += Gamma^T (F_g Gamma + F_g' Gamma_rate), C += Gamma^T F_g' Gamma over all laws."""
    n_v, most = ints[N_V], ints[LAW_WIDTH]
    for k in range(ints[N_LAWS]):
        start, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
        for i in range(start, start + rows):
            for c in range(n_v):
                by_q, by_v = scalar * 0.0, scalar * 0.0
                for j in range(rows):
                    g = load(J, (start + j) * n_v + c, scalar)
                    damping = load(y_gd, i * most + j, scalar)
                    by_q = by_q + load(y_g, i * most + j, scalar) * g
                    by_q = by_q + damping * load(J_rate, (start + j) * n_v + c, scalar)
                    by_v = by_v + damping * g
                for row in range(n_v):
                    push = load(J, i * n_v + row, scalar)
                    at = row * n_v + c
                    store(K, at, load(K, at, scalar) + push * by_q)
                    store(C, at, load(C, at, scalar) + push * by_v)
