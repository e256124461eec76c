"""Records of implicit marches: the states before and after a step, the workspace around them, and what is reported."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import inlined
from mechgrad.kernels.records import allocate
from mechgrad.kernels.right_hand_sides import put_row

# norms of a step: of constraint values, rates and second rates afterwards; 1 where it was projected; the share of
# defects that this left; eps beside the scales of rows
VALUES, RATES, SECONDS, PROJECTED, LEFT, LOOSE = range(6)
NORMS = 6


class State(NamedTuple):
    """One state: configuration, velocities, accelerations, and the memory x of the scheme; or a change of all these."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    x: np.ndarray


class FreeState(NamedTuple):
    """Independent coordinates of Matrix R, their rates and second rates; at most as many as rows are offered."""

    z: np.ndarray
    rate: np.ndarray
    second: np.ndarray


class Workspace(NamedTuple):
    """Workspace of a march. `before` and `after` change places with every step."""

    before: State
    after: State
    lam: np.ndarray  # (m,) multipliers, and those before the step
    lam_before: np.ndarray
    d: np.ndarray  # (n_v,) the tangent step from one configuration to the other
    solved: np.ndarray  # (n_v,) the memory as Newton's iteration left it, before projections, and those before
    solved_before: np.ndarray
    solved_older: np.ndarray
    norms: np.ndarray
    accelerations: np.ndarray  # (n_v,) new ones, of fixed-point iteration
    a_older: np.ndarray  # (n_v,) for error control: accelerations before those of `before`, and errors of q and v
    error_q: np.ndarray
    error_v: np.ndarray
    free_before: FreeState
    free_after: FreeState


class Samples(NamedTuple):
    """Reported states, one line per instant: q, v, a, memory x, multipliers, the memory as Newton's iteration left it
    before projections, norms, and how many iterations the steps up to there took."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    x: np.ndarray
    lam: np.ndarray
    solved: np.ndarray
    norms: np.ndarray
    iterations: np.ndarray


class Pace(NamedTuple):
    """How a march goes: steps h from time t0 on, `every` of them from one line of its samples to the next; or steps of
    another march, held (k, 2): time and length of each. These begin with the first guesses of a march that controls
    its error, so that they are the same to the last bit."""

    h: float
    t0: float
    every: int
    held: np.ndarray


NOT_HELD = np.empty((0, 2))


def make_workspace(mechanism, samples):
    """Workspace of a march that begins with line 0 of its samples."""
    n, free, dtype = samples.v.shape[1], mechanism.n_all - mechanism.n_rows, samples.q.dtype
    lam, x = samples.lam[0], samples.x[0]

    def start():
        return State(**{name: getattr(samples, name)[0].copy() for name in State._fields})

    return allocate(
        Workspace,
        dict.fromkeys(("d", "accelerations", "a_older", "error_q", "error_v"), n),
        dtype,
        before=start(),
        after=start(),
        lam=lam.copy(),
        lam_before=lam.copy(),
        solved=x.copy(),
        solved_before=x.copy(),
        solved_older=x.copy(),
        norms=np.zeros(NORMS),
        free_before=allocate(FreeState, dict.fromkeys(FreeState._fields, free), dtype),
        free_after=allocate(FreeState, dict.fromkeys(FreeState._fields, free), dtype),
    )


@inlined
def guess(states, x, step):
    """First guess of the memory x after the next step, extrapolated from the last three that Newton's iteration found
    (before projections, which would disturb it); shifts them by one. step: how many are to be known."""
    solved, before, older = states.solved, states.solved_before, states.solved_older
    for j in range(x.size):
        if step > 3:
            x[j] = 3.0 * (solved[j] - before[j]) + older[j]
        elif step > 2:
            x[j] = 2.0 * solved[j] - before[j]
        else:
            x[j] = solved[j]
        older[j] = before[j]
        before[j] = solved[j]


@inlined
def first_guess(pace, states, before, x, step):
    """`guess`; or, of a step that is held, the memory before."""
    if pace.held.size:
        for j in range(x.size):
            x[j] = before.x[j]
    else:
        guess(states, x, step)


@inlined
def pace_of(pace, step, end):
    """When a step, counted from 1, begins and ends, and its length; end: of the step before."""
    if pace.held.size:
        t, h = pace.held[step - 1, 0], pace.held[step - 1, 1]
        return t, t + h, h
    return end, pace.t0 + step * pace.h, pace.h


@inlined
def report(samples, row, states, state):
    """A state, and what the step to it left, into a line of the samples."""
    put_row(samples.q, row, state.q)
    put_row(samples.v, row, state.v)
    put_row(samples.a, row, state.a)
    put_row(samples.x, row, state.x)
    put_row(samples.lam, row, states.lam)
    put_row(samples.solved, row, states.solved)
    put_row(samples.norms, row, states.norms)
