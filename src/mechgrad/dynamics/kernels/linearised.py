"""Entries over many states, in SIMD lanes: the equations of motion and the constraint rows, linearised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.lane_states import gather_states, make_lane_state, put_multipliers
from mechgrad.dynamics.kernels.sparse import Sparse
from mechgrad.dynamics.kernels.system import (
    begin,
    forces,
    linearise,
    make_work,
    place_free,
    row_jacobian,
    row_rate_jacobian,
)
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less, lane_zero, scatter, width
from mechgrad.kernels.records import allocate, refer
from mechgrad.kernels.workspaces import borrow, give_back


class LaneMatrices(NamedTuple):
    """Workspace for the residual and its partials in one block of samples."""

    r: np.ndarray
    K: np.ndarray
    C: np.ndarray
    M: np.ndarray
    sparse: Sparse | None


@kernel
def _linearised(mechanism, work, lanes, matrices, states, out, moving):
    scalar = lane_zero()
    mechanism, work, lanes, matrices = refer(mechanism), refer(work), refer(lanes), refer(matrices)
    states, out = refer(states), refer(out)
    sparse = matrices.sparse
    begin(mechanism, work, scalar)
    for row in range(0, states.q.shape[0], width(scalar)):
        now = gather_states(states, row, lanes, scalar)
        check = place_free(mechanism, work, lanes.q, lanes.v, lanes.a, now, scalar)
        if any_not_less(check, 1.0):
            return row
        forces(mechanism, work, now, scalar)
        put_multipliers(lanes.lam, work.y, scalar)
        linearise(mechanism, work, sparse, matrices.r, matrices.K, matrices.C, matrices.M, scalar)
        row_jacobian(mechanism, work, sparse, runtime_int(0), mechanism.n_all, scalar)
        scatter(matrices.K, 0, out.K, row, scalar)
        scatter(matrices.C, 0, out.C, row, scalar)
        scatter(matrices.M, 0, out.M, row, scalar)
        scatter(work.J, 0, out.J, row, scalar)
        if moving:
            row_rate_jacobian(mechanism, work, sparse, runtime_int(0), mechanism.n_all, scalar)
            scatter(work.J_rate, 0, out.J_rate, row, scalar)
    return -1


@wrapper
def linearised_lanes(mechanism, states, out, moving, sparse=None):
    """K = r_q, C = r_v, M = r_a (nt, n_v n_v), and Gamma and the rates by q of all rows J, J_rate (nt, rows n_v), into
    the fields of `out` with these names, at `states` (`lane_states`).

    sparse: where entries of matrices are (`dynamics.kernels.sparse`); they then take the place of dense matrices. Where
    `moving` is False, J_rate is left alone. Returns the first sample of a block with a bad number, or -1.
    """

    def make():
        n = mechanism.n_v
        square = n * n if sparse is None else sparse.entry_rows.size
        sizes = {"r": n * LANES, **dict.fromkeys("KCM", square * LANES)}
        matrices = allocate(LaneMatrices, sizes, float, sparse=sparse)
        return make_work(mechanism, LANES, sparse), make_lane_state(states, float), matrices

    kind = "linearised" if sparse is None else "entries", mechanism.loads_i.shape[0], states.lam.shape[1]
    workspace = borrow(mechanism, kind, make)
    bad = _linearised(mechanism, *workspace, states, out, moving)
    if bad < 0:
        give_back(mechanism, kind, workspace)
    return bad
