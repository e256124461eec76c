"""Entries: generalized forces with their derivatives by q, v, a and by parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.inverse.kernels.inward import DUALS, inward, inward_world_loads
from mechgrad.inverse.kernels.parameter_columns import parameter_terms
from mechgrad.inverse.kernels.wrenches import (
    INERTIA_FLOW,
    LOAD,
    WORLD_LOAD,
    WRENCH,
    any_in_world_axes,
    apply_loads,
    body_wrenches_and_moments,
    collect_world_loads,
    gather_loads,
)
from mechgrad.kernels.jit import allocating, entry
from mechgrad.kernels.lanes import any_not_less, lane_zero, scatter, width
from mechgrad.kernels.slots import slots
from mechgrad.kinematics.kernels.outward import FRAME, RATES, TWIST, column_rates, outward_rows, place_world
from mechgrad.kinematics.kernels.tables import Motion, Terms, TreeTables


class Derivatives(NamedTuple):
    """Results: tau (nt, n_v), tau_q, tau_v, tau_a (nt, nnz) and tau_p (nt, nnz of the parameters' pattern), packed."""

    tau: np.ndarray
    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray
    dp: np.ndarray


class Workspace(NamedTuple):
    """Slots of one block of samples.

    frames : per atom and for the world, FRAME
    twists, column_rates, duals : per column, TWIST, RATES, DUALS
    wrenches, inertia : per atom, WRENCH, INERTIA_FLOW: of its body, then of everything beyond
    loads, world : per load LOAD; per atom WORLD_LOAD of the loads in world axes, empty without any
    """

    frames: np.ndarray
    twists: np.ndarray
    column_rates: np.ndarray
    wrenches: np.ndarray
    inertia: np.ndarray
    duals: np.ndarray
    loads: np.ndarray
    world: np.ndarray


@allocating
def derivatives(tree, pairs, samples, loads, terms, out, scalar):
    """Rows of the samples of a motion to rows of `out`.

    Tuples of arrays: tree as in `TreeTables`, samples `Motion`, loads `Loads`, terms `Terms`, out `Derivatives`; pairs
    (n, 2) int64: packed positions of related columns. Returns the first row of a block with a bad number, or -1.
    """
    atoms_i, atoms_f, columns_i = tree
    loads_i, loads_f = loads
    tree, samples, terms = TreeTables(atoms_i, atoms_f, columns_i), Motion(*samples), Terms(*terms)
    tau, dq, dv, da, dp = out
    n_atoms, n_v, n, nnz = atoms_i.shape[0], columns_i.shape[0], width(scalar), dq.shape[1]
    n_loads, has_world = loads_i.shape[0], any_in_world_axes(loads_i)
    motion = Motion(q=slots(samples.q.shape[1], tau, scalar), v=slots(n_v, tau, scalar), a=slots(n_v, tau, scalar))
    frames, twists = slots((n_atoms + 1) * FRAME, tau, scalar), slots(n_v * TWIST, tau, scalar)
    rates, duals = slots(n_v * RATES, tau, scalar), slots(n_v * DUALS, tau, scalar)
    wrenches, inertia = slots(n_atoms * WRENCH, tau, scalar), slots(n_atoms * INERTIA_FLOW, tau, scalar)
    acting = slots(n_loads * LOAD, tau, scalar)
    world = slots((n_atoms if has_world else 0) * WORLD_LOAD, tau, scalar)
    w = Workspace(
        frames=frames, twists=twists, column_rates=rates, wrenches=wrenches, inertia=inertia, duals=duals,
        loads=acting, world=world,
    )  # fmt: skip
    tau_, dp_ = slots(n_v, tau, scalar), slots(dp.shape[1], tau, scalar)
    dq_, dv_, da_ = slots(nnz, tau, scalar), slots(nnz, tau, scalar), slots(nnz, tau, scalar)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, tau.shape[0], n):
        check = outward_rows(atoms_i, atoms_f, samples, row, motion, frames, twists, scalar)
        column_rates(atoms_i, columns_i, frames, twists, rates, scalar)
        body_wrenches_and_moments(atoms_i, atoms_f, frames, wrenches, inertia, scalar)
        if n_loads:
            gather_loads(loads_f, row, acting, scalar)
            apply_loads(loads_i, acting, frames, wrenches, scalar)
        inward(tree, pairs, w, tau_, dq_, dv_, da_, scalar)
        if has_world:
            collect_world_loads(loads_i, acting, frames, world, n_atoms, scalar)
            inward_world_loads(atoms_i, columns_i, pairs, twists, world, duals, dq_, scalar)
        if any_not_less(check, 1.0):
            return row
        if terms.terms_i.shape[0]:
            parameter_terms(tree, terms, loads_i, w, has_world, dp_, dp.shape[1], scalar)
            scatter(dp_, 0, dp, row, scalar)
        scatter(tau_, 0, tau, row, scalar)
        scatter(dq_, 0, dq, row, scalar)
        scatter(dv_, 0, dv, row, scalar)
        scatter(da_, 0, da, row, scalar)
    return -1


@entry
def derivatives_one(tree, pairs, samples, loads, terms, out):
    """`derivatives` sample by sample."""
    return derivatives(tree, pairs, samples, loads, terms, out, 0.0)


@entry
def derivatives_lanes(tree, pairs, samples, loads, terms, out):
    """`derivatives` in SIMD lanes."""
    return derivatives(tree, pairs, samples, loads, terms, out, lane_zero())


@entry
def derivatives_complex(tree, pairs, samples, loads, terms, out):
    """`derivatives` of complex numbers."""
    return derivatives(tree, pairs, samples, loads, terms, out, 0j)
