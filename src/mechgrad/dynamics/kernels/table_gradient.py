"""Gradient of the equations of motion and of all rows by every number of a mechanism, O(n) per sample, in SIMD lanes.

    s_o = sum_i  mu_oi . r(q_i, v_i, a_i, lam_i, t_i)  +  sum_k (W0_oik value_k + W1_oik rate_k + W2_oik second_k)

for each objective o, i running over samples and k over all rows; r is the residual of `dynamics.kernels.system`. One
sweep outward (virtual velocities), one inward (covectors): `table_gradient_tree` has the formulas of bodies and
placements, `table_gradient_rows` those of rows and markers, `table_gradient_laws` those of laws.

A placement can move only so that its axes stay orthonormal: with the gradient (tau, phi) by a rotation and a
translation of the frame, in the axes of the frame before, the gradient by its numbers is stated as

    tau x X / 2,   tau x Y / 2,   tau x Z / 2,   phi

whose product with a change of (X, Y, Z, origin) is right for every change that an orthonormal frame can make.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.lane_states import gather_states, make_lane_state, put_multipliers
from mechgrad.dynamics.kernels.pushed_rows import push_rows
from mechgrad.dynamics.kernels.system import begin, forces, make_work, place
from mechgrad.dynamics.kernels.table_gradient_laws import add_law_numbers, add_law_weights
from mechgrad.dynamics.kernels.table_gradient_rows import MARKER_COVECTORS, add_markers, add_rows, virtual_markers
from mechgrad.dynamics.kernels.table_gradient_tree import (
    ATOM_GRADIENT,
    BY_H,
    BY_M,
    BY_S,
    BY_SHIFT,
    BY_TURN,
    COVECTORS,
    VIRTUAL,
    add_loads,
    add_placements,
    place_inertia,
    sum_wrenches,
    virtual_twists,
)
from mechgrad.inverse.kernels.wrenches import apply_loads, body_wrenches_and_moments
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, spliced, wrapper
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, store, width
from mechgrad.kernels.records import allocate, refer
from mechgrad.kernels.workspaces import borrow, give_back
from mechgrad.model.mechanism import AT_TAU, N_V
from mechgrad.model.tree import COM, MASS, MOMENTS, ORIGIN, X, Y, Z


@inner
def _gather_weights(source, objective, row, scratch, scalar):
    """Rows row .. row+L-1 of source[objective] into slots; lanes past the last sample are zero and do not count."""
    nt, m, n = source.shape[1], source.shape[2], width(scalar)
    if row + n <= nt:
        gather(source[objective], row, scratch, 0, scalar)
        return
    for lane in range(n):
        for j in range(m):
            scratch[j * n + lane] = source[objective, row + lane, j] if row + lane < nt else 0.0


@inner
def _add_tau(ints, mu, gradient, scalar):
    """r holds -tau."""
    for j in range(ints[N_V]):
        at = ints[AT_TAU] + j
        store(gradient, at, load(gradient, at, scalar) - load(mu, j, scalar))


@inlined
def _total(gradient, slot, n):
    """A slot, summed over its lanes."""
    total = gradient[slot * n]
    for lane in range(1, n):
        total += gradient[slot * n + lane]
    return total


@inner
def _add_totals(gradient, out, n):
    for k in range(out.size):
        out[k] += _total(gradient, k, n)


@inner
def _add_atoms(atoms_f, gradient, out, n):
    """Gradients by placements and mass moments, as gradients by the numbers of `Tree.atoms_f`.

    h = m c and S = moments + m c c^T about the atom's origin.
    """
    n_atoms = atoms_f.shape[0] - 1
    for i in range(n_atoms):
        o = i * ATOM_GRADIENT
        t0, t1, t2 = (
            _total(gradient, o + BY_TURN, n),
            _total(gradient, o + BY_TURN + 1, n),
            _total(gradient, o + BY_TURN + 2, n),
        )
        for axis in (X, Y, Z):
            x, y, z = atoms_f[i, axis], atoms_f[i, axis + 1], atoms_f[i, axis + 2]
            out[i, axis] += 0.5 * (t1 * z - t2 * y)
            out[i, axis + 1] += 0.5 * (t2 * x - t0 * z)
            out[i, axis + 2] += 0.5 * (t0 * y - t1 * x)
        for k in range(3):
            out[i, ORIGIN + k] += _total(gradient, o + BY_SHIFT + k, n)
        m, c0, c1, c2 = atoms_f[i, MASS], atoms_f[i, COM], atoms_f[i, COM + 1], atoms_f[i, COM + 2]
        h0, h1, h2 = (
            _total(gradient, o + BY_H, n),
            _total(gradient, o + BY_H + 1, n),
            _total(gradient, o + BY_H + 2, n),
        )
        xx, xy, xz = _total(gradient, o + BY_S, n), _total(gradient, o + BY_S + 1, n), _total(gradient, o + BY_S + 2, n)
        yy, yz, zz = (
            _total(gradient, o + BY_S + 3, n),
            _total(gradient, o + BY_S + 4, n),
            _total(gradient, o + BY_S + 5, n),
        )
        s0, s1, s2 = (
            2.0 * xx * c0 + xy * c1 + xz * c2,
            xy * c0 + 2.0 * yy * c1 + yz * c2,
            xz * c0 + yz * c1 + 2.0 * zz * c2,
        )
        spread = 0.5 * (s0 * c0 + s1 * c1 + s2 * c2)
        out[i, MASS] += _total(gradient, o + BY_M, n) + h0 * c0 + h1 * c1 + h2 * c2 + spread
        out[i, COM] += m * (h0 + s0)
        out[i, COM + 1] += m * (h1 + s1)
        out[i, COM + 2] += m * (h2 + s2)
        for k in range(6):
            out[i, MOMENTS + k] += _total(gradient, o + BY_S + k, n)
    for k in range(3):
        out[n_atoms, k] += _total(gradient, n_atoms * ATOM_GRADIENT + k, n)


class Block(NamedTuple):
    """Scratch of one objective in a block of samples, slot by slot."""

    mu: np.ndarray  # weights of residuals, and of values, rates and second rates of rows
    w0: np.ndarray
    w1: np.ndarray
    w2: np.ndarray
    rates_u: np.ndarray  # Gamma mu of the rows of laws
    virtual: np.ndarray  # twists of atoms that mu stands for, and velocities of markers
    xu: np.ndarray
    covectors: np.ndarray  # of atoms, and of markers
    by_marker: np.ndarray


def make_block(mechanism, lanes):
    """Workspace for one objective, in SIMD lanes or not."""
    n_atoms, n_v, rows, n_markers = mechanism.n_atoms, mechanism.n_v, mechanism.n_all, mechanism.markers_i.shape[0]
    slots = {
        "mu": n_v, "w0": rows, "w1": rows, "w2": rows, "rates_u": rows, "virtual": (n_atoms + 1) * VIRTUAL,
        "xu": n_markers * 3, "covectors": (n_atoms + 1) * COVECTORS, "by_marker": n_markers * MARKER_COVECTORS,
    }  # fmt: skip
    return allocate(Block, {name: size * lanes for name, size in slots.items()}, float)


class RowWeights(NamedTuple):
    """Weights of residuals (no, nt, n_v), and of values, rates and second rates of all rows (no, nt, rows)."""

    mu: np.ndarray
    w0: np.ndarray
    w1: np.ndarray
    w2: np.ndarray


class Totals(NamedTuple):
    """Gradients by the tables of a mechanism: (objectives, slots) in lanes, or in the shapes of the tables."""

    atoms: np.ndarray
    markers: np.ndarray
    loads: np.ndarray
    numbers: np.ndarray


@spliced
def _place_forces(mechanism, work, lam, instant, scalar):
    """Wrenches of everything beyond each atom in the placed state, under laws, loads and multipliers."""
    forces(mechanism, work, instant, scalar)
    put_multipliers(lam, work.y, scalar)
    body_wrenches_and_moments(
        mechanism.atoms_i, mechanism.atoms_f, work.frames, work.wrenches, work.inertia, scalar
    )  # fmt: skip
    apply_loads(mechanism.loads_i, work.loads, work.frames, work.wrenches, scalar)
    push_rows(mechanism.ints, work.near_rows, work.attachments, work.y, work.wrenches, runtime_int(0), scalar)
    sum_wrenches(mechanism.atoms_i, work.wrenches, scalar)


@spliced
def _add_bodies(mechanism, work, block, totals, o, scalar):
    """Covectors of bodies and loads, virtual twists given; gradients by their numbers."""
    virtual, covectors, frames = block.virtual, block.covectors, work.frames
    place_inertia(
        mechanism.atoms_i, mechanism.atoms_f, frames, work.inertia, virtual, covectors, totals.atoms[o], scalar
    )  # fmt: skip
    add_loads(mechanism.loads_i, work.loads, frames, virtual, covectors, totals.loads[o], scalar)
    _add_tau(mechanism.ints, block.mu, totals.numbers[o], scalar)


@spliced
def _add_all_rows(mechanism, work, lanes, block, totals, o, instant, scalar):
    """Covectors of rows, laws and markers; gradients by their numbers."""
    numbers = totals.numbers[o]
    virtual_markers(mechanism.ints, work.near_markers, work.motion, block.virtual, block.xu, scalar)
    add_law_weights(mechanism, work, block, scalar)
    add_law_numbers(
        mechanism.ints, mechanism.numbers, work.near_laws, instant, work.values, work.rates, block.rates_u, numbers,
        scalar,
    )  # fmt: skip
    add_rows(mechanism, work, lanes, block, instant, numbers, scalar)
    add_markers(
        mechanism.ints, work, block.virtual, block.xu, block.by_marker, block.covectors, totals.markers[o], scalar

    )  # fmt: skip


@kernel
def _table_gradients(mechanism, work, lanes, block, totals, states, weights, gradients):
    scalar = lane_zero()
    mechanism, work, lanes, block = refer(mechanism), refer(work), refer(lanes), refer(block)
    totals, states, weights, gradients = refer(totals), refer(states), refer(weights), refer(gradients)
    begin(mechanism, work, scalar)
    n, objectives, rows = width(scalar), weights.mu.shape[0], mechanism.n_all
    for row in range(0, states.q.shape[0], n):
        instant = gather_states(states, row, lanes, scalar)
        if any_not_less(place(mechanism, work, lanes.q, lanes.v, lanes.a, instant, rows, scalar), 1.0):
            return row
        _place_forces(mechanism, work, lanes.lam, instant, scalar)
        for o in range(objectives):
            _gather_weights(weights.mu, o, row, block.mu, scalar)
            virtual_twists(mechanism.atoms_i, work.twists, block.mu, block.virtual, scalar)
            _add_bodies(mechanism, work, block, totals, o, scalar)
            if rows:
                _gather_weights(weights.w0, o, row, block.w0, scalar)
                _gather_weights(weights.w1, o, row, block.w1, scalar)
                _gather_weights(weights.w2, o, row, block.w2, scalar)
                _add_all_rows(mechanism, work, lanes, block, totals, o, instant, scalar)
            add_placements(
                mechanism.atoms_i, mechanism.atoms_f, work.frames, block.virtual, work.wrenches, block.covectors,
                totals.atoms[o], scalar,
            )  # fmt: skip
    for o in range(objectives):
        _add_atoms(mechanism.atoms_f, totals.atoms[o], gradients.atoms[o], n)
        _add_totals(totals.markers[o], gradients.markers[o].reshape(-1), n)
        _add_totals(totals.loads[o], gradients.loads[o, 0], n)
        _add_totals(totals.numbers[o], gradients.numbers[o], n)
    return -1


@wrapper
def table_gradients(mechanism, states, weights, gradients):
    """Add ds_o/d(table) to `gradients`, a `Totals` of arrays with the shapes of atoms_f, markers_f, loads_f and numbers
    behind an axis of objectives.

    states: as in `lane_states`; weights: a `RowWeights`. The sum of masses BEYOND is part of the effect of MASS and
    gets nothing itself; of a function only the piece that is active at a sample has it. Loads are constant: one row.

    Returns the first sample of a block with a bad number, or -1; the outputs then hold nothing new.
    """
    objectives = weights.mu.shape[0]

    def make():
        tables = {
            "atoms": mechanism.n_atoms * ATOM_GRADIENT + 3, "markers": mechanism.markers_i.shape[0] * 3,
            "loads": mechanism.loads_f.shape[1], "numbers": mechanism.numbers.size,
        }  # fmt: skip
        totals = allocate(Totals, {name: (objectives, size * LANES) for name, size in tables.items()}, float)
        return make_work(mechanism, LANES), make_lane_state(states, float), make_block(mechanism, LANES), totals

    kind = "table gradients", mechanism.loads_i.shape[0], states.lam.shape[1], objectives
    workspace = borrow(mechanism, kind, make)
    for total in workspace[-1]:
        total.fill(0.0)
    bad = _table_gradients(mechanism, *workspace, states, weights, gradients)
    if bad < 0:
        give_back(mechanism, kind, workspace)
    return bad
