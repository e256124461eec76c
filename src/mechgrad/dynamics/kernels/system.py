"""The equations of motion of a mechanism in one state, and their linearisation.

    r(q, v, a, lam, t) = M a + h - Q + Gamma^T lam        Q = tau + loads - Gamma_L^T F  of laws F(g, g', t)
    r_q = inertia + geometric terms + sum_k y_k (change of the gradient of row k)
          + Gamma_L^T (F_g Gamma_L + F_g' Gamma_L,rate)
    r_v = inertia + Gamma_L^T F_g' Gamma_L,           r_a = M

y collects the multipliers of all rows: lam of constraints, F of laws. `place` must come first; the others read what it
left in the work record. `mechanism` and `work` are references to records (`kernels.records`), passes below take arrays.
Numbers are of the kernel's scalar, slot by slot; matrices are dense, row by row.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.dense_matrices import dense_mass, unpack
from mechgrad.dynamics.kernels.law_partials import add_law_partials, damped, law_acts
from mechgrad.dynamics.kernels.laws import apply_laws, law_int
from mechgrad.dynamics.kernels.near_laws import look_around, place_markers, see_all
from mechgrad.dynamics.kernels.pushed_rows import push_coordinates, push_rows, rows_as_loads
from mechgrad.dynamics.kernels.sparse import Sparse, add_sparse_law_partials, put_mass, unpack_entries
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
from mechgrad.inverse.kernels.tree_torques import project
from mechgrad.inverse.kernels.wrenches import (
    LOAD,
    WORLD_LOAD,
    WRENCH,
    apply_loads,
    body_wrenches,
    body_wrenches_and_moments,
    collect_world_loads,
    gather_loads,
)
from mechgrad.kernels.interrupt import listener
from mechgrad.kernels.jit import inner, runtime_int, spliced
from mechgrad.kernels.lanes import store
from mechgrad.kernels.records import allocate
from mechgrad.kernels.vec3 import clear
from mechgrad.kinematics.kernels.left_out_rows import ATTACHMENTS
from mechgrad.kinematics.kernels.marker_motions import MOTION
from mechgrad.kinematics.kernels.outward import FRAME, RATES, TWIST, column_rates, outward, outward_again, place_world
from mechgrad.kinematics.kernels.row_states import (
    add_row_curvature,
    place_rows,
    row_columns,
    row_rate_columns,
)
from mechgrad.kinematics.kernels.sparse_rows import (
    sparse_row_columns,
    sparse_row_curvature,
    sparse_row_rate_columns,
)
from mechgrad.kinematics.kernels.tables import Motion, RowStates
from mechgrad.model.mechanism import (
    HEADER,
    L_FIRST,
    L_ROWS,
    LAW_WIDTH,
    N_ALL,
    N_ATOMS,
    N_COMMON,
    N_GUARDS,
    N_LAWS,
    N_WATCHED,
    Mechanism,
    has_pairs,
)


class Work(NamedTuple):
    """Scratch of one thread: what `place` leaves, and space for the terms. Numbers are slots of the kernel's scalar."""

    frames: np.ndarray  # of atoms and the world, `kinematics.kernels.outward`
    twists: np.ndarray  # of columns
    column_rates: np.ndarray
    motion: np.ndarray  # of markers
    wrenches: np.ndarray  # of atoms
    inertia: np.ndarray
    duals: np.ndarray  # of columns
    world: np.ndarray  # loads of constant direction on atoms
    references: np.ndarray  # motion about centres of mass
    loads: np.ndarray
    values: np.ndarray  # of rows, their rates and second rates
    rates: np.ndarray
    seconds: np.ndarray
    attachments: np.ndarray  # of rows
    y: np.ndarray  # multipliers of all rows
    y_g: np.ndarray  # their partials by values and rates of the rows of their law, (row, row within the law)
    y_gd: np.ndarray
    law_g: np.ndarray  # of one law and one sample: values, rates, forces and their partials
    law_gd: np.ndarray
    law_F: np.ndarray
    law_F_g: np.ndarray
    law_F_gd: np.ndarray
    J: np.ndarray  # (rows, n_v): Gamma, and its twin for the rates
    J_rate: np.ndarray
    chains: np.ndarray  # the mass matrix by chains
    r: np.ndarray
    packed_q: np.ndarray  # partials of r in the pattern of the tree
    packed_v: np.ndarray
    packed_a: np.ndarray
    zero: np.ndarray  # (n_v,) velocities or accelerations of rest
    seen_at: np.ndarray  # of the list of laws that can act (`dynamics.kernels.near_laws`), with its integers
    near_laws: np.ndarray
    near_rows: np.ndarray
    near_markers: np.ndarray
    near_known: np.ndarray
    listener: np.ndarray  # address of what marches call from time to time, and when (`kernels.interrupt`)
    countdown: np.ndarray


@lru_cache(64)
def _work_sizes(
    n_atoms: int,
    n_v: int,
    rows: int,
    most: int,
    markers: int,
    loads: int,
    pattern: int,
    chains: int,
    entries: int,
    watched: int,
    lanes: int,
) -> dict[str, int]:
    """How many numbers each field of a `Work` has; remembered, since sweeps over motions make many."""
    slots = {
        "frames": (n_atoms + 1) * FRAME,
        "twists": n_v * TWIST,
        "column_rates": n_v * RATES,
        "motion": (markers + 1) * MOTION,
        "wrenches": n_atoms * WRENCH,
        "inertia": n_atoms * ARTICULATED,
        "duals": n_v * DUALS,
        "world": n_atoms * WORLD_LOAD,
        "references": (n_atoms + 1) * MOTION_ABOUT,
        "loads": loads * LOAD,
        "values": rows,
        "rates": rows,
        "seconds": rows,
        "attachments": rows * ATTACHMENTS,
        "y": rows,
        "y_g": rows * most,
        "y_gd": rows * most,
        "J": entries,
        "J_rate": entries,
        "chains": chains,
        "r": n_v,
        "packed_q": pattern,
        "packed_v": pattern,
        "packed_a": pattern,
        "zero": n_v,
        "seen_at": 3 * watched + 1,
    }
    of_one_law = {"law_g": most, "law_gd": most, "law_F": most, "law_F_g": most * most, "law_F_gd": most * most}
    return {name: size * lanes for name, size in slots.items()} | of_one_law


def make_work(mechanism: Mechanism, lanes: int = 1, sparse: Sparse | None = None) -> Work:
    """Scratch for a mechanism, in SIMD lanes or not; a kernel begins it (`begin`). sparse: where entries of rows are,
    or None for dense matrices."""
    header, n_v = mechanism.ints[:HEADER].tolist(), mechanism.columns_i.shape[0]
    markers, loads, pattern = mechanism.markers_i.shape[0], mechanism.loads_i.shape[0], mechanism.pattern_rows.size
    matrices = has_pairs(mechanism)
    chains = int(mechanism.chain_start[n_v - 1]) + n_v if n_v and matrices else 0
    entries = header[N_ALL] * n_v * matrices if sparse is None else sparse.row_columns.size
    sizes = _work_sizes(
        header[N_ATOMS], n_v, header[N_ALL], header[LAW_WIDTH], markers, loads, pattern, chains, entries,
        header[N_WATCHED], lanes,
    )  # fmt: skip
    laws, guards, common = header[N_LAWS], header[N_GUARDS], header[N_COMMON]
    integers = {
        "near_laws": laws + 1, "near_rows": 2 * guards + 3, "near_markers": 2 * (common + guards) + 3,
        "near_known": guards + 1, "countdown": 2,
    }  # fmt: skip
    near = {name: np.zeros(size, np.int64) for name, size in integers.items()}
    return allocate(Work, sizes, mechanism.atoms_f.dtype, listener=listener(), **near)


@inner
def begin(mechanism, work, scalar):
    """Place the world and the loads; nothing is known of what is near."""
    n_atoms, atoms_f = mechanism.n_atoms, mechanism.atoms_f
    place_world(work.frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    if mechanism.loads_i.shape[0]:
        gather_loads(mechanism.loads_f, 0, work.loads, scalar)
    see_all(mechanism, work, scalar)


@spliced
def place_rows_of(mechanism, work, q, v, a, t, first, last, scalar):
    """Values, rates and attachments of the rows first .. last - 1 of a state whose frames and markers are placed."""
    state, rows = Motion(q, v, a), RowStates(work.values, work.rates, work.seconds)
    place_rows(
        mechanism.ints, mechanism.numbers, work.near_rows, work.motion, work.frames, state, t, first, last, rows,
        work.attachments, scalar,
    )  # fmt: skip


@inner
def place(mechanism, work, q, v, a, t, last, scalar):
    """Frames, markers and the rows 0 .. last - 1 of a state. Returns 0, or NaN where a number is bad."""
    check = outward(mechanism.atoms_i, mechanism.atoms_f, q, v, a, work.frames, work.twists, scalar)
    if last:
        place_markers(mechanism, work, scalar)
        if last > mechanism.n_constraints:
            look_around(mechanism, work, scalar)
        place_rows_of(mechanism, work, q, v, a, t, runtime_int(0), last, scalar)
    return check


@inner
def place_again(mechanism, work, q, v, a, t, last, scalar):
    """`place` of other velocities and accelerations in the configuration that is placed."""
    outward_again(mechanism.atoms_i, v, a, work.frames, work.twists, scalar)
    place_markers(mechanism, work, scalar)
    if last > mechanism.n_constraints:
        look_around(mechanism, work, scalar)
    place_rows_of(mechanism, work, q, v, a, t, runtime_int(0), last, scalar)


@inner
def place_free(mechanism, work, q, v, a, t, scalar):
    """`place` of all rows, the free ones too."""
    check = place(mechanism, work, q, v, a, scalar * 0.0 + t, mechanism.n_rows, scalar)
    place_rows_of(mechanism, work, q, v, a, scalar * 0.0 + t, mechanism.n_rows, mechanism.n_all, scalar)
    return check


@inner
def row_jacobian(mechanism, work, sparse, first, last, scalar):
    """Gamma of the rows first .. last - 1 of the placed state, into work.J: dense where `sparse` is None, or entries
    (`dynamics.kernels.sparse`)."""
    ints, numbers, twists, attachments = mechanism.ints, mechanism.numbers, work.twists, work.attachments
    done, near_rows = first, work.near_rows
    for stretch in range(near_rows[0]):
        begin, end = max(done, near_rows[1 + 2 * stretch]), min(last, near_rows[2 + 2 * stretch])
        if begin < end:
            _no_columns(mechanism, sparse, done, begin, work.J, scalar)
            if sparse is None:
                row_columns(ints, numbers, twists, attachments, begin, end, work.J, scalar)
            if sparse is not None:
                sparse_row_columns(ints, numbers, twists, attachments, sparse, begin, end, work.J, scalar)
            done = end
    _no_columns(mechanism, sparse, done, last, work.J, scalar)


@inner
def _no_columns(mechanism, sparse, first, last, J, scalar):
    """Zeros in the rows first .. last - 1, which are left out."""
    if sparse is None:
        for k in range(first * mechanism.n_v, last * mechanism.n_v):
            store(J, k, scalar * 0.0)
    if sparse is not None and first < last:
        for k in range(sparse.row_start[first], sparse.row_start[last]):
            store(J, k, scalar * 0.0)


@inner
def row_rate_jacobian(mechanism, work, sparse, first, last, scalar):
    """Its twin for the rates, into work.J_rate."""
    done, near_rows = first, work.near_rows
    for stretch in range(near_rows[0]):
        begin, end = max(done, near_rows[1 + 2 * stretch]), min(last, near_rows[2 + 2 * stretch])
        if begin < end:
            _no_columns(mechanism, sparse, done, begin, work.J_rate, scalar)
            if sparse is None:
                row_rate_columns(
                    mechanism.ints, mechanism.numbers, work.motion, work.frames, work.twists, work.attachments, begin,
                    end, work.J_rate, scalar,
                )  # fmt: skip
            if sparse is not None:
                sparse_row_rate_columns(mechanism, work, sparse, begin, end, work.J_rate, scalar)
            done = end
    _no_columns(mechanism, sparse, done, last, work.J_rate, scalar)


@inner
def forces(mechanism, work, t, scalar):
    """Multipliers y of the rows of laws, with partials."""
    if mechanism.n_laws:
        apply_laws(mechanism.ints, mechanism.numbers, work, t, runtime_int(1), scalar)


@inner
def forces_alone(mechanism, work, t, scalar):
    """Multipliers y of the rows of laws, for those who linearise nothing."""
    if mechanism.n_laws:
        apply_laws(mechanism.ints, mechanism.numbers, work, t, None, scalar)


@inner
def residual(mechanism, work, q, v, a, r, scalar):
    """r of the placed state with the multipliers in work.y."""
    if mechanism.about_com:
        residual_about_com(mechanism, work, q, v, a, r, scalar)
        return
    body_wrenches(mechanism.atoms_i, mechanism.atoms_f, work.frames, work.wrenches, scalar)
    if mechanism.loads_i.shape[0]:
        apply_loads(mechanism.loads_i, work.loads, work.frames, work.wrenches, scalar)
    push_rows(mechanism.ints, work.near_rows, work.attachments, work.y, work.wrenches, runtime_int(0), scalar)
    project(mechanism.atoms_i, work.twists, work.wrenches, r, scalar)
    push_coordinates(mechanism.ints, mechanism.numbers, work.near_rows, work.y, r, runtime_int(0), scalar)


@inner
def residual_about_com(mechanism, work, q, v, a, r, scalar):
    """`residual` with velocities and wrenches about the centres of mass (RTdyn0)."""
    atoms_i, atoms_f, frames, twists = mechanism.atoms_i, mechanism.atoms_f, work.frames, work.twists
    recursion_outward(atoms_i, atoms_f, q, v, a, ABOUT_COM, frames, twists, work.references, scalar)
    clear(work.wrenches, 0, mechanism.n_atoms * WRENCH, scalar)
    if mechanism.loads_i.shape[0]:
        apply_loads(mechanism.loads_i, work.loads, frames, work.wrenches, scalar)
    push_rows(mechanism.ints, work.near_rows, work.attachments, work.y, work.wrenches, runtime_int(0), scalar)
    accumulated_residual(atoms_i, atoms_f, frames, twists, work.references, work.wrenches, r, scalar)
    push_coordinates(mechanism.ints, mechanism.numbers, work.near_rows, work.y, r, runtime_int(0), scalar)


@inner
def mass(mechanism, work, sparse, q, v, a, M, scalar):
    """M of the placed state: dense where `sparse` is None, or entries."""
    atoms_i, atoms_f, columns_i = mechanism.atoms_i, mechanism.atoms_f, mechanism.columns_i
    chain_start, frames, twists, inertia, chains = (
        mechanism.chain_start, work.frames, work.twists, work.inertia, work.chains,
    )  # fmt: skip
    if mechanism.about_com:
        about = work.references
        recursion_outward(atoms_i, atoms_f, q, v, a, ABOUT_COM, frames, twists, about, scalar)
        accumulated_mass(atoms_i, atoms_f, columns_i, chain_start, frames, twists, about, inertia, chains, scalar)
    else:
        mass_by_chains(atoms_i, atoms_f, columns_i, chain_start, frames, twists, inertia, chains, scalar)
    if sparse is None:
        dense_mass(columns_i, chain_start, chains, M, scalar)
    if sparse is not None:
        put_mass(sparse, chains, M, scalar)


@inner
def linearise(mechanism, work, sparse, r, K, C, M, scalar):
    """r and its partials K = r_q, C = r_v, M = r_a of the placed state with the multipliers in work.y; about one
    point, never about centres of mass, since none of them depends on where they are taken. Dense where `sparse` is
    None, or entries."""
    ints, atoms_i, atoms_f, columns_i = mechanism.ints, mechanism.atoms_i, mechanism.atoms_f, mechanism.columns_i
    frames, twists, wrenches, inertia = work.frames, work.twists, work.wrenches, work.inertia
    column_rates(atoms_i, columns_i, frames, twists, work.column_rates, scalar)
    body_wrenches_and_moments(atoms_i, atoms_f, frames, wrenches, inertia, scalar)
    if mechanism.loads_i.shape[0]:
        apply_loads(mechanism.loads_i, work.loads, frames, wrenches, scalar)
    push_rows(ints, work.near_rows, work.attachments, work.y, wrenches, runtime_int(0), scalar)
    inward(mechanism, mechanism.pairs, work, r, work.packed_q, work.packed_v, work.packed_a, scalar)
    push_coordinates(ints, mechanism.numbers, work.near_rows, work.y, r, runtime_int(0), scalar)
    if mechanism.loads_i.shape[0] or mechanism.n_rows:
        collect_world_loads(mechanism.loads_i, work.loads, frames, work.world, mechanism.n_atoms, scalar)
        rows_as_loads(ints, work.near_rows, work.attachments, work.y, work.world, scalar)
        inward_world_loads(atoms_i, columns_i, mechanism.pairs, twists, work.world, work.duals, work.packed_q, scalar)
    rows, cols = mechanism.pattern_rows, mechanism.pattern_cols
    if sparse is None:
        unpack(rows, cols, work.packed_q, work.packed_v, work.packed_a, K, C, M, mechanism.n_v, scalar)
        if mechanism.n_rows:
            add_row_curvature(
                ints, mechanism.numbers, work.near_rows, work.motion, twists, work.attachments, work.y, K, scalar
            )
            law_columns(mechanism, work, sparse, scalar)
            add_law_partials(ints, work.near_laws, work.J, work.J_rate, work.y, work.y_g, work.y_gd, K, C, scalar)
    if sparse is not None:
        entries = sparse.entry_rows.size
        unpack_entries(work.packed_q, work.packed_v, work.packed_a, K, C, M, rows.size, entries, scalar)
        sparse_row_curvature(mechanism, work, sparse, K, scalar)
        law_columns(mechanism, work, sparse, scalar)
        add_sparse_law_partials(
            ints, work.near_laws, sparse, work.J, work.J_rate, work.y, work.y_g, work.y_gd, K, C, scalar
        )


@inner
def law_columns(mechanism, work, sparse, scalar):
    """Gamma of the rows of laws that act, and its twin for the rates."""
    ints, near_laws, y, y_g, y_gd = mechanism.ints, work.near_laws, work.y, work.y_g, work.y_gd
    for near in range(near_laws[0]):
        k = near_laws[1 + near]
        if law_acts(ints, y, y_g, y_gd, k, scalar):
            first, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
            row_jacobian(mechanism, work, sparse, first, first + rows, scalar)
            if damped(ints, y_gd, first, first + rows, scalar):
                row_rate_jacobian(mechanism, work, sparse, first, first + rows, scalar)
