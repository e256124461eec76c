"""Entries: generalized forces with their derivatives by q, v, a and by parameters."""

from __future__ import annotations

import numpy as np

from mechgrad.inverse.kernels.inward import DUALS, inward, inward_world_loads
from mechgrad.inverse.kernels.parameters import parameter_terms
from mechgrad.inverse.kernels.wrenches import (
    INERTIA_FLOW,
    L_IN_BODY_AXES,
    LOAD,
    WORLD_LOAD,
    WRENCH,
    apply_loads,
    body_wrenches_and_moments,
    collect_world_loads,
    gather_loads,
)
from mechgrad.kernels.jit import allocating, entry
from mechgrad.kernels.lanes import any_not_less, lane_zero, scatter, width
from mechgrad.kinematics.kernels.outward import FRAME, RATES, TWIST, column_rates, outward_rows, place_world


@allocating
def derivatives(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, loads_i, loads_f, terms_i, terms_f, rows, tau, dq, dv, da, dp, scalar
):  # fmt: skip
    """Rows of q, v, a to rows of tau, dq, dv, da (nt, nnz) and dp (nt, nnz of the parameters' pattern).

    Returns the first row of a block with a bad number, or -1.
    """
    n_atoms, n_q, n_v = atoms_i.shape[0], q.shape[1], v.shape[1]
    n, nnz, n_loads = width(scalar), dq.shape[1], loads_i.shape[0]
    has_world = False
    for k_load in range(n_loads):
        has_world |= loads_i[k_load, L_IN_BODY_AXES] == 0
    q_, v_, a_ = np.empty(n_q * n, tau.dtype), np.empty(n_v * n, tau.dtype), np.empty(n_v * n, tau.dtype)
    tau_ = np.empty(n_v * n, tau.dtype)
    frames = np.empty((n_atoms + 1) * FRAME * n, tau.dtype)
    twists = np.empty(n_v * TWIST * n, tau.dtype)
    rates = np.empty(n_v * RATES * n, tau.dtype)
    wrenches = np.empty(n_atoms * WRENCH * n, tau.dtype)
    inertia = np.empty(n_atoms * INERTIA_FLOW * n, tau.dtype)
    duals = np.empty(n_v * DUALS * n, tau.dtype)
    loads = np.empty(n_loads * LOAD * n, tau.dtype)
    world = np.empty((n_atoms if has_world else 0) * WORLD_LOAD * n, tau.dtype)
    dq_, dv_, da_ = np.empty(nnz * n, tau.dtype), np.empty(nnz * n, tau.dtype), np.empty(nnz * n, tau.dtype)
    dp_ = np.empty(dp.shape[1] * n, tau.dtype)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, q.shape[0], n):
        check = outward_rows(atoms_i, atoms_f, q, v, a, row, q_, v_, a_, frames, twists, scalar)
        column_rates(atoms_i, columns_i, frames, twists, rates, scalar)
        body_wrenches_and_moments(atoms_i, atoms_f, frames, wrenches, inertia, scalar)
        if n_loads:
            gather_loads(loads_f, row, loads, scalar)
            apply_loads(loads_i, loads, frames, wrenches, scalar)
        inward(atoms_i, atoms_f, columns_i, pairs, twists, rates, wrenches, inertia, duals, tau_, dq_, dv_, da_, scalar)
        if has_world:
            collect_world_loads(loads_i, loads, frames, world, n_atoms, scalar)
            inward_world_loads(atoms_i, columns_i, pairs, twists, world, duals, dq_, scalar)
        if any_not_less(check, 1.0):
            return row
        if terms_i.shape[0]:
            parameter_terms(
                atoms_i, atoms_f, terms_i, terms_f, rows, loads_i, loads, has_world, frames, twists, wrenches, inertia,
                world, duals, dp_, dp.shape[1], scalar,
            )  # fmt: skip
            scatter(dp_, 0, dp, row, scalar)
        scatter(tau_, 0, tau, row, scalar)
        scatter(dq_, 0, dq, row, scalar)
        scatter(dv_, 0, dv, row, scalar)
        scatter(da_, 0, da, row, scalar)
    return -1


@entry
def derivatives_one(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, loads_i, loads_f, terms_i, terms_f, rows, tau, dq, dv, da, dp
):  # fmt: skip
    """`derivatives` sample by sample."""
    return derivatives(
        atoms_i, atoms_f, columns_i, pairs, q, v, a, loads_i, loads_f, terms_i, terms_f, rows, tau, dq, dv, da, dp, 0.0
    )  # fmt: skip


@entry
def derivatives_lanes(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, loads_i, loads_f, terms_i, terms_f, rows, tau, dq, dv, da, dp
):  # fmt: skip
    """`derivatives` in SIMD lanes."""
    return derivatives(
        atoms_i, atoms_f, columns_i, pairs, q, v, a, loads_i, loads_f, terms_i, terms_f, rows, tau, dq, dv, da, dp,
        lane_zero(),
    )  # fmt: skip


@entry
def derivatives_complex(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, loads_i, loads_f, terms_i, terms_f, rows, tau, dq, dv, da, dp
):  # fmt: skip
    """`derivatives` of complex numbers."""
    return derivatives(
        atoms_i, atoms_f, columns_i, pairs, q, v, a, loads_i, loads_f, terms_i, terms_f, rows, tau, dq, dv, da, dp, 0j
    )  # fmt: skip
