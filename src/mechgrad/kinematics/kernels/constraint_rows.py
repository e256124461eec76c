"""Entries: rows of a mechanism over samples, with their Jacobians."""

from __future__ import annotations

import numpy as np

from mechgrad.kernels.jit import allocating, entry
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kinematics.kernels.markers import MOTION, marker_motion_block
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, outward, place_world
from mechgrad.kinematics.kernels.rows import FEET, place_rows, row_columns, row_rate_columns
from mechgrad.model.mechanism import N_ALL


@allocating
def constraint_rows(T, q, v, a, t, first, last, values, rates, seconds, J, J_rate, scalar):
    """Rows first .. last - 1 at samples (q, v, a, t): values, rates, second rates (nt, rows), and Jacobians (nt, rows,
    n_v) of the values (Gamma) and of the rates, by q. All outputs count rows from 0.

    Returns the first sample with a bad number, or -1.
    """
    n_atoms, n_v, rows, dtype = T.atoms_i.shape[0], T.columns_i.shape[0], T.ints[N_ALL], T.atoms_f.dtype
    frames, twists = np.empty((n_atoms + 1) * FRAME, dtype), np.empty(n_v * TWIST, dtype)
    motion, attachments = np.empty((T.markers_i.shape[0] + 1) * MOTION, dtype), np.empty(rows * FEET, dtype)
    place_world(frames, n_atoms, T.atoms_f[n_atoms, 0], T.atoms_f[n_atoms, 1], T.atoms_f[n_atoms, 2], scalar)
    for i in range(q.shape[0]):
        check = outward(T.atoms_i, T.atoms_f, q[i], v[i], a[i], frames, twists, scalar)
        if any_not_less(check, 1.0):
            return i
        marker_motion_block(T.markers_i, T.markers_f, frames, motion, scalar)
        place_rows(
            T.ints,
            T.numbers,
            motion,
            frames,
            q[i],
            v[i],
            a[i],
            scalar * 0.0 + t[i],
            first,
            last,
            values[i],
            rates[i],
            seconds[i],
            attachments,
            scalar,
        )
        row_columns(T.ints, T.numbers, twists, attachments, first, last, J[i], scalar)
        row_rate_columns(T.ints, T.numbers, motion, frames, twists, attachments, first, last, J_rate[i], scalar)
    return -1


@entry
def constraint_rows_one(T, q, v, a, t, first, last, values, rates, seconds, J, J_rate):
    """`constraint_rows` of real numbers."""
    return constraint_rows(T, q, v, a, t, first, last, values, rates, seconds, J, J_rate, 0.0)


@entry
def constraint_rows_complex(T, q, v, a, t, first, last, values, rates, seconds, J, J_rate):
    """`constraint_rows` of complex numbers."""
    return constraint_rows(T, q, v, a, t, first, last, values, rates, seconds, J, J_rate, 0j)
