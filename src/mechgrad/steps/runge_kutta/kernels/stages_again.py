"""Stages of steps that were taken, by the sums and derivatives of the march itself (`stages`), for many steps at once.

Accelerations in between are not taken here, but in lanes, for the stages of all steps together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import kernel, wrapper
from mechgrad.steps.runge_kutta.kernels.stages import joined, split, sum_stages


class Atoms(NamedTuple):
    """What states of a mechanism are made of: its atoms, and how many coordinates and velocities they have."""

    atoms_i: np.ndarray
    n_q: int
    n_v: int


class KnownSteps(NamedTuple):
    """Steps: states y (N, n) where they start, as steps carry them, lengths h (N,), and derivatives K (N, stages * n)
    of their stages; trial (n,) is scratch."""

    y: np.ndarray
    h: np.ndarray
    K: np.ndarray
    trial: np.ndarray


class StageStates(NamedTuple):
    """Coordinates, velocities (parent axes) and accelerations of one stage of some steps, (rows, n_q or n_v)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


class StageRow(NamedTuple):
    """One of them, and where the derivatives of its step stand."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    K: np.ndarray


@kernel
def _note_derivatives(atoms, steps, rows, stage, known):
    for r in range(rows.size):
        joined(atoms, StageRow(known.q[r], known.v[r], known.a[r], steps.K[rows[r]]), stage, 0.0)


@kernel
def _sum_of_stages(atoms, steps, rows, factors, count, sums):
    n = atoms.n_q + atoms.n_v
    for r in range(rows.size):
        s, line = rows[r], r if factors.shape[0] > 1 else 0
        sum_stages(steps.y[s], steps.K[s], factors[line], count, steps.h[s], steps.trial, n, 0.0)
        split(atoms, steps.trial, StageRow(sums.q[r], sums.v[r], sums.a[r], steps.K[s]), 0.0)


@wrapper
def note_derivatives(atoms, steps, rows, stage, known):
    """The derivatives of a stage of the steps `rows`, at the states `known` (`StageStates`, a line per row), into K."""
    _note_derivatives(atoms, steps, rows, stage, known)


@wrapper
def sum_of_stages(atoms, steps, rows, factors, count, sums):
    """States y + h sum_m factors_m K_m of the steps `rows`, over the first `count` stages, into sums.q and sums.v;
    factors: (1, stages) for all rows, or a line for each."""
    _sum_of_stages(atoms, steps, rows, factors, count, sums)
