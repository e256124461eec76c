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

from mechgrad.dynamics.kernels.system import begin, forces, make_work, place, push_rows
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
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, store, width
from mechgrad.kernels.records import refer
from mechgrad.model.mechanism import AT_TAU, N_ALL, N_CONSTRAINTS, N_V
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
def _gather_instants(t, row, scratch, scalar):
    """Instants of the samples row .. row+L-1; past the end the last one repeats."""
    for lane in range(width(scalar)):
        scratch[lane] = t[min(row + lane, t.size - 1)]
    return load(scratch, 0, scalar)


@inner
def _put_multipliers(ints, lam, y, scalar):
    for k in range(ints[N_CONSTRAINTS]):
        store(y, k, load(lam, k, scalar))


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


class _Room(NamedTuple):
    """Scratch of a block of samples, and the totals of every objective."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    instants: np.ndarray
    mu: np.ndarray
    w0: np.ndarray
    w1: np.ndarray
    w2: np.ndarray
    rates_u: np.ndarray
    virtual: np.ndarray
    covectors: np.ndarray
    xu: np.ndarray
    by_marker: np.ndarray
    atoms: np.ndarray
    markers: np.ndarray
    loads: np.ndarray
    numbers: np.ndarray


@kernel
def _table_gradients(T, w, x, Q, V, A, L, t, MU, W0, W1, W2, G_atoms, G_markers, G_loads, G_numbers):
    scalar = lane_zero()
    T, w, x = refer(T), refer(w), refer(x)
    begin(T, w, scalar)
    n, objectives, nt, rows = width(scalar), MU.shape[0], Q.shape[0], T.ints[N_ALL]
    q, v, a, mu, instants = x.q, x.v, x.a, x.mu, x.instants
    w0, w1, w2, rates_u, xu = x.w0, x.w1, x.w2, x.rates_u, x.xu
    virtual, covectors, by_marker = x.virtual, x.covectors, x.by_marker
    atoms, markers, loads, numbers = x.atoms, x.markers, x.loads, x.numbers
    for row in range(0, nt, n):
        gather(Q, row, q, 0, scalar)
        gather(V, row, v, 0, scalar)
        gather(A, row, a, 0, scalar)
        gather(L, row, x.lam, 0, scalar)
        instant = _gather_instants(t, row, instants, scalar)
        if any_not_less(place(T, w, q, v, a, instant, rows, scalar), 1.0):
            return row
        forces(T, w, instant, scalar)
        _put_multipliers(T.ints, x.lam, w.y, scalar)
        body_wrenches_and_moments(T.atoms_i, T.atoms_f, w.frames, w.wrenches, w.inertia, scalar)
        apply_loads(T.loads_i, w.loads, w.frames, w.wrenches, scalar)
        push_rows(T.ints, w.attachments, w.y, w.wrenches, runtime_int(0), scalar)
        sum_wrenches(T.atoms_i, w.wrenches, scalar)
        for o in range(objectives):
            _gather_weights(MU, o, row, mu, scalar)
            virtual_twists(T.atoms_i, w.twists, mu, virtual, scalar)
            place_inertia(T.atoms_i, T.atoms_f, w.frames, w.inertia, virtual, covectors, atoms[o], scalar)
            add_loads(T.loads_i, w.loads, w.frames, virtual, covectors, loads[o], scalar)
            _add_tau(T.ints, mu, numbers[o], scalar)
            if rows:
                _gather_weights(W0, o, row, w0, scalar)
                _gather_weights(W1, o, row, w1, scalar)
                _gather_weights(W2, o, row, w2, scalar)
                virtual_markers(T.ints, w.motion, virtual, xu, scalar)
                add_law_weights(
                    T.ints, T.numbers, w.attachments, virtual, xu, mu, w.y_g, w.y_gd, rates_u, w0, w1, scalar
                )  # fmt: skip
                add_law_numbers(T.ints, T.numbers, instant, w.values, w.rates, rates_u, numbers[o], scalar)
                add_rows(
                    T.ints,
                    T.numbers,
                    q,
                    v,
                    a,
                    mu,
                    instant,
                    w.frames,
                    w.motion,
                    w.attachments,
                    w.y,
                    virtual,
                    xu,
                    w0,
                    w1,
                    w2,
                    by_marker,
                    covectors,
                    numbers[o],
                    scalar,
                )
                add_markers(T.ints, w.frames, w.motion, virtual, xu, by_marker, covectors, markers[o], scalar)
            add_placements(T.atoms_i, T.atoms_f, w.frames, virtual, w.wrenches, covectors, atoms[o], scalar)
    for o in range(objectives):
        _add_atoms(T.atoms_f, atoms[o], G_atoms[o], n)
        _add_totals(markers[o], G_markers[o].reshape(-1), n)
        _add_totals(loads[o], G_loads[o, 0], n)
        _add_totals(numbers[o], G_numbers[o], n)
    return -1


@wrapper
def table_gradients(T, Q, V, A, L, t, MU, W0, W1, W2, G_atoms, G_markers, G_loads, G_numbers):
    """Add ds_o/d(table) to the outputs, which have the shapes of T.atoms_f, T.markers_f, T.loads_f and T.numbers behind
    an axis of objectives.

    Q (nt, n_q), V, A (nt, n_v), L (nt, n_constraints), t (nt,): states, multipliers and instants; MU (no, nt, n_v), W0,
    W1, W2 (no, nt, all rows): weights. The sum of masses BEYOND is part of the effect of MASS and gets nothing itself;
    of a function only the piece that is active at a sample feels it. Loads are constant: one row.

    Returns the first sample of a block with a bad number, or -1; the outputs then hold nothing new.
    """
    n, objectives = LANES, MU.shape[0]
    n_atoms, n_v, n_markers, rows = T.atoms_i.shape[0], T.columns_i.shape[0], T.markers_i.shape[0], int(T.ints[N_ALL])
    q, v, a = np.empty(Q.shape[1] * n), np.empty(n_v * n), np.empty(n_v * n)
    lam, instants, mu = np.empty(L.shape[1] * n), np.empty(n), np.empty(n_v * n)
    w0, w1, w2, rates_u = np.empty(rows * n), np.empty(rows * n), np.empty(rows * n), np.zeros(rows * n)
    virtual, covectors = np.empty((n_atoms + 1) * VIRTUAL * n), np.empty((n_atoms + 1) * COVECTORS * n)
    xu, by_marker = np.empty(n_markers * 3 * n), np.empty(n_markers * MARKER_COVECTORS * n)
    atoms = np.zeros((objectives, (n_atoms * ATOM_GRADIENT + 3) * n))
    markers, loads = np.zeros((objectives, n_markers * 3 * n)), np.zeros((objectives, T.loads_f.shape[1] * n))
    numbers = np.zeros((objectives, T.numbers.size * n))
    room = _Room(
        q, v, a, lam, instants, mu, w0, w1, w2, rates_u, virtual, covectors, xu, by_marker, atoms, markers, loads,
        numbers,
    )  # fmt: skip
    w = make_work(T, LANES)
    return _table_gradients(T, w, room, Q, V, A, L, t, MU, W0, W1, W2, G_atoms, G_markers, G_loads, G_numbers)
