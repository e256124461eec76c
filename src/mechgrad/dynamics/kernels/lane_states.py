"""States of many samples in SIMD lanes, a block at a time.

`states` is any record with the fields of `dynamics.states.States`: q (nt, n_q), v and a (nt, n_v), multipliers lam
(nt, m), t (nt,), all C-contiguous.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import gather, insert, load, store, width
from mechgrad.kernels.records import allocate


class LaneState(NamedTuple):
    """Workspace for the states of one block, slot by slot."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray


def make_lane_state(states, dtype):
    """Workspace for one block of some states."""
    return allocate(LaneState, {name: getattr(states, name).shape[1] * LANES for name in LaneState._fields}, dtype)


@inner
def gather_states(states, row, lanes, scalar):
    """Rows row .. row+L-1 of states into lanes; returns their instants. Past the end the last row repeats."""
    gather(states.q, row, lanes.q, 0, scalar)
    gather(states.v, row, lanes.v, 0, scalar)
    gather(states.a, row, lanes.a, 0, scalar)
    gather(states.lam, row, lanes.lam, 0, scalar)
    now = scalar
    for lane in range(width(scalar)):
        now = insert(now, lane, states.t[min(row + lane, states.t.size - 1)])
    return now


@inlined
def put_multipliers(lam, y, scalar):
    """y of the constraints, the first rows, := lam."""
    for k in range(lam.size // width(scalar)):
        store(y, k, load(lam, k, scalar))
