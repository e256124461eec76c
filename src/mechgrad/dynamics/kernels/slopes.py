"""Residual and rows over many states, each with its slope along one direction, in dual lanes.

    r(x) = M a + h - Q + Gamma^T lam,   g(x), g'(x), g''(x)        x = (q, v, a, lam, every number of the mechanism)

Arguments are complex, x + 1e-30j dx, and so are results: r + 1e-30j r_x dx. Unlike a complex step this runs in SIMD
lanes: products of two slopes are dropped instead of computed.

The passes are those of `system`, called with plain arrays: copies of whole records, which spliced glue makes, count
references in every block, and that took a fifth of the time.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.laws import apply_laws
from mechgrad.dynamics.kernels.system import push_coordinates, push_rows
from mechgrad.inverse.kernels.accumulation import ABOUT_COM, accumulated_residual, recursion_outward
from mechgrad.inverse.kernels.accumulation import REFERENCE as MOTION_ABOUT
from mechgrad.inverse.kernels.torques import project
from mechgrad.inverse.kernels.wrenches import LOAD, WRENCH, apply_loads, body_wrenches, gather_loads
from mechgrad.kernels.dual_lanes import dual_zero
from mechgrad.kernels.jit import entry, inlined
from mechgrad.kernels.lanes import any_not_less, extract, gather, insert, scatter, width
from mechgrad.kernels.vec3 import clear
from mechgrad.kinematics.kernels.markers import MOTION, marker_motion_block
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, outward_rows, place_world
from mechgrad.kinematics.kernels.rows import FEET, place_rows
from mechgrad.model.mechanism import LAW_WIDTH, N_ALL, N_LAWS, REFERENCE


@inlined
def _instants(t, row, like):
    """The scalar of the times row .. row+L-1; past the end the last one repeats."""
    now = like
    for lane in range(width(like)):
        now = insert(now, lane, complex(t[min(row + lane, t.size - 1)], 0.0))
    return now


@inlined
def _first_bad(check, row, like):
    """The first of the samples row .. row+L-1 whose checksum is not 0."""
    for lane in range(width(like)):
        if any_not_less(extract(check, lane), 1.0):
            return row + lane
    return -1


@entry
def slopes(T, Q, V, A, L, t, r, values, rates, seconds):
    """Residuals r (nt, n_v), and values, rates and second rates (nt, N_ALL) of all rows, at states Q, V, A with
    multipliers L (nt, n_constraints) of the constraints at times t (nt,).

    Real parts are values, imaginary parts slopes along the direction that the imaginary parts of T, Q, V, A and L
    give; these are to be of the size 1e-30, since laws and functions take them for complex steps. Left out is r if it
    has no rows. Returns the first sample with a bad number, or -1.
    """
    like = dual_zero()
    atoms_i, atoms_f, markers_i, markers_f = T.atoms_i, T.atoms_f, T.markers_i, T.markers_f
    loads_i, ints, numbers, dtype = T.loads_i, T.ints, T.numbers, T.atoms_f.dtype
    n, n_atoms, n_v, n_loads, rows, most = (
        width(like), atoms_i.shape[0], V.shape[1], loads_i.shape[0], ints[N_ALL], ints[LAW_WIDTH],
    )  # fmt: skip
    q_, v_, a_ = np.empty(Q.shape[1] * n, dtype), np.empty(n_v * n, dtype), np.empty(n_v * n, dtype)
    frames, twists = np.empty((n_atoms + 1) * FRAME * n, dtype), np.empty(n_v * TWIST * n, dtype)
    motion, feet = np.empty((markers_i.shape[0] + 1) * MOTION * n, dtype), np.empty(rows * FEET * n, dtype)
    wrenches, references = np.empty(n_atoms * WRENCH * n, dtype), np.empty((n_atoms + 1) * MOTION_ABOUT * n, dtype)
    loads, r_, y = np.empty(n_loads * LOAD * n, dtype), np.empty(n_v * n, dtype), np.empty(rows * n, dtype)
    values_, rates_, seconds_ = np.empty(rows * n, dtype), np.empty(rows * n, dtype), np.empty(rows * n, dtype)
    y_g, y_gd = np.empty(rows * most * n, dtype), np.empty(rows * most * n, dtype)
    law_g, law_gd, law_F = np.empty(most, dtype), np.empty(most, dtype), np.empty(most, dtype)
    law_F_g, law_F_gd = np.empty(most * most, dtype), np.empty(most * most, dtype)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], like)
    gather_loads(T.loads_f, 0, loads, like)
    for row in range(0, Q.shape[0], n):
        check = outward_rows(atoms_i, atoms_f, Q, V, A, row, q_, v_, a_, frames, twists, like)
        if any_not_less(check, 1.0):
            return _first_bad(check, row, like)
        now = _instants(t, row, like)
        if rows:
            marker_motion_block(markers_i, markers_f, frames, motion, like)
            place_rows(
                ints, numbers, motion, frames, q_, v_, a_, now, 0, rows, values_, rates_, seconds_, feet, like
            )  # fmt: skip
            scatter(values_, 0, values, row, like)
            scatter(rates_, 0, rates, row, like)
            scatter(seconds_, 0, seconds, row, like)
        if r.shape[0] == 0:
            continue
        gather(L, row, y, 0, like)
        if ints[N_LAWS]:
            apply_laws(
                ints, numbers, now, values_, rates_, y, y_g, y_gd, law_g, law_gd, law_F, law_F_g, law_F_gd, like
            )  # fmt: skip
        about_com = ints[REFERENCE] != 0
        if about_com:
            recursion_outward(atoms_i, atoms_f, q_, v_, a_, ABOUT_COM, frames, twists, references, like)
            clear(wrenches, 0, n_atoms * WRENCH, like)
        else:
            body_wrenches(atoms_i, atoms_f, frames, wrenches, like)
        apply_loads(loads_i, loads, frames, wrenches, like)
        push_rows(ints, feet, y, wrenches, 0, like)
        if about_com:
            accumulated_residual(atoms_i, atoms_f, frames, twists, references, wrenches, r_, like)
        else:
            project(atoms_i, twists, wrenches, r_, like)
        push_coordinates(ints, numbers, y, r_, 0, like)
        scatter(r_, 0, r, row, like)
    return -1
