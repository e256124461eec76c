"""Entries: rows of a mechanism over samples, with their Jacobians."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import allocating, entry, runtime_int
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.slots import slots
from mechgrad.kinematics.kernels.header import row_count
from mechgrad.kinematics.kernels.left_out_rows import ATTACHMENTS
from mechgrad.kinematics.kernels.marker_motions import MOTION, marker_motion_block
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, outward, place_world
from mechgrad.kinematics.kernels.row_states import (
    place_rows,
    row_columns,
    row_rate_columns,
)
from mechgrad.kinematics.kernels.tables import Motion, RowStates


class RowSamples(NamedTuple):
    """Results, rows counted from 0: values, rates, second rates (nt, rows), and Jacobians (nt, rows * n_v) of the
    values (Gamma) and of the rates, by q; (nt, 0) where nobody asks for these."""

    values: np.ndarray
    rates: np.ndarray
    seconds: np.ndarray
    J: np.ndarray
    J_rate: np.ndarray


@allocating
def constraint_rows(T, samples, t, first, last, out, scalar):
    """Rows first .. last - 1 at samples of a motion and times t (nt,) to rows of `out`.

    T: `Mechanism`; tuples of arrays: samples q, v, a (nt, n), out as in `RowSamples`. Returns the first sample with a
    bad number, or -1.
    """
    q, v, a = samples
    values, rates, seconds, J, J_rate = out
    n_atoms, n_v, like = T.atoms_i.shape[0], T.columns_i.shape[0], T.atoms_f
    frames, twists = slots((n_atoms + 1) * FRAME, like, scalar), slots(n_v * TWIST, like, scalar)
    motion = slots((T.markers_i.shape[0] + 1) * MOTION, like, scalar)
    attachments = slots(row_count(T.ints) * ATTACHMENTS, like, scalar)
    every = np.zeros(3, np.int64)  # one stretch with all rows
    every[0], every[2] = 1, row_count(T.ints)
    place_world(frames, n_atoms, T.atoms_f[n_atoms, 0], T.atoms_f[n_atoms, 1], T.atoms_f[n_atoms, 2], scalar)
    for i in range(q.shape[0]):
        state = Motion(q=q[i], v=v[i], a=a[i])
        check = outward(T.atoms_i, T.atoms_f, state.q, state.v, state.a, frames, twists, scalar)
        if any_not_less(check, 1.0):
            return i
        marker_motion_block(T.markers_i, T.markers_f, frames, motion, runtime_int(0), T.markers_i.shape[0], scalar)
        rows = RowStates(values=values[i], rates=rates[i], seconds=seconds[i])
        time = scalar * 0.0 + t[i]
        place_rows(T.ints, T.numbers, every, motion, frames, state, time, first, last, rows, attachments, scalar)
        if J.shape[1]:
            row_columns(T.ints, T.numbers, twists, attachments, first, last, J[i], scalar)
            row_rate_columns(T.ints, T.numbers, motion, frames, twists, attachments, first, last, J_rate[i], scalar)
    return -1


@entry
def constraint_rows_one(T, samples, t, first, last, out):
    """`constraint_rows` of real numbers."""
    return constraint_rows(T, samples, t, first, last, out, 0.0)


@entry
def constraint_rows_complex(T, samples, t, first, last, out):
    """`constraint_rows` of complex numbers."""
    return constraint_rows(T, samples, t, first, last, out, 0j)
