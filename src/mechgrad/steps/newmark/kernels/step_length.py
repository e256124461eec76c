"""How long a step is: the control that all implicit marches share, and what they note on their way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import DONE, INTERRUPTED, TOO_MANY, TOO_SMALL
from mechgrad.kernels.interrupt import REST, interrupted
from mechgrad.kernels.jit import inlined, inner, wrapper
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.steps.newmark.kernels.march_states import Samples, report

# step control: safety, and by how much a step may shrink or grow; never less than that after a rejection
SAFETY, SHRINK, GROW, SHORTER = 0.9, 0.2, 3.0, 0.9
SHORTEST, LAST = 1e-13, 1e-12  # steps beside the times of a march: too short ones; what a last one may add
LEAST = 1e-3  # errors and turns that count as that when a rejected step is made shorter

# where a march is; it goes on from call to call
PROGRESS = np.dtype(
    [
        ("start", "f8"),  # time at its start [s]
        ("t", "f8"),  # time now
        ("h", "f8"),  # the next step, and the last one
        ("h_before", "f8"),
        ("growth", "f8"),  # the largest that the next step may have
        ("steps", "i8"),
        ("rejected", "i8"),
        ("iterations", "i8"),  # since the last output
        ("noted", "i8"),  # steps since the call
    ],
    align=True,
)


class Limits(NamedTuple):
    """When a march ends [s], its tolerances, and how many steps it may take."""

    end: float
    rtol: float
    atol: float
    most: int


class Wanted(NamedTuple):
    """What a march reports.

    t_out : instants, sorted;   first : how many of them are done
    path : (lines, 2) time and length of every step since the call; where it is full, the march waits for the next call
    ends : the states before and after the step that instant k lies in: lines 2 k + 2 and 2 k + 3; line 0 is the start
    """

    t_out: np.ndarray
    first: int
    path: np.ndarray
    ends: Samples


@wrapper
def make_progress(t0, h):
    """The record of a march that begins at t0 with a step h."""
    progress = np.zeros(1, PROGRESS)
    progress["start"], progress["t"], progress["h"], progress["growth"] = t0, t0, h, GROW
    return progress


@inlined
def error_factors(settings):
    """What local errors have of h^3 a' in positions, h^2 a' and h^3 a'' in velocities. The memory of the scheme stands
    for accelerations at instants shifted by `shift` steps:

        error_q = h^3 a' (shift / 2 + beta - 1/6)
        error_v = h^2 a' (shift + gamma - 1/2)  +  h^3 a'' ((1 - gamma) shift^2 + gamma (1 + shift)^2 - 1/3) / 2
    """
    gamma, shift = settings.gamma, settings.alpha_m - settings.alpha_f
    of_bend = 0.5 * ((1.0 - gamma) * shift * shift + gamma * (1.0 + shift) ** 2 - 1.0 / 3.0)
    return 0.5 * shift + settings.beta - 1.0 / 6.0, shift + gamma - 0.5, of_bend


@inlined
def put_errors(factors, h, h_before, older, a0, a, error_q, error_v):
    """Local errors of a step from accelerations before it, at both ends; their rates are differences."""
    of_q, of_v, of_bend = factors
    for j in range(a.size):
        slope = (a[j] - a0[j]) / h
        bend = 2.0 * (slope - (a0[j] - older[j]) / h_before) / (h + h_before) if h_before > 0.0 else 0.0
        error_q[j] = of_q * h**3 * slope
        error_v[j] = of_v * h * h * slope + of_bend * h**3 * bend


@inlined
def worst_error(states, before, after, limits):
    """The largest error beside its tolerance."""
    worst, rtol, atol = 0.0, limits.rtol, limits.atol
    error_q, error_v, d, v0, v = states.error_q, states.error_v, states.d, before.v, after.v
    for j in range(v.size):
        worst = max(worst, abs(error_q[j]) / (atol + rtol * max(abs(d[j]), 1.0)))
        worst = max(worst, abs(error_v[j]) / (atol + rtol * max(abs(v0[j]), abs(v[j]))))
    return worst


@inlined
def may_go_on(work, limits, now):
    """DONE, or the reason why a march ends before its next step."""
    if interrupted(work.listener, work.countdown):
        return INTERRUPTED
    if now.steps + now.rejected >= limits.most:
        return TOO_MANY
    if now.h < SHORTEST * max(abs(now.t), limits.end - now.start):
        return TOO_SMALL
    return DONE


@inlined
def waits(work, done, count):
    """DONE, or INTERRUPTED: a march that waits for the next call before all instants are done asks whether it is to
    end, so that whoever wants it to need not strike between two calls."""
    if done == count:
        return DONE
    work.countdown[REST] = 1
    return INTERRUPTED if interrupted(work.listener, work.countdown) else DONE


@inlined
def is_last(now, limits):
    """Whether the next step reaches the end of the march."""
    return now.t + now.h >= limits.end - LAST * (limits.end - now.start)


@inlined
def begin_trial(states, before, after):
    """The first guesses of a step: multipliers and memory as before."""
    for k in range(states.lam.size):
        states.lam[k] = states.lam_before[k]
    for j in range(after.x.size):
        after.x[j] = before.x[j]


@inlined
def reject(now, h):
    """Try a shorter step."""
    now.h, now.growth, now.rejected = h, 1.0, now.rejected + 1


@inlined
def shorter(h, error, turn):
    """The length of a step that was rejected for its error or its turn, each beside what is allowed."""
    found = h * max(SHRINK, min(SAFETY * max(error, LEAST) ** -0.5, 1.0 / max(turn, LEAST)))
    return min(found, SHORTER * h)


@inner
def report_ends(states, before, after, now, k, ends):
    """The states before and after the step that instant k lies in."""
    row = 2 * k + 2
    put_row(ends.q, row, before.q)
    put_row(ends.v, row, before.v)
    put_row(ends.a, row, before.a)
    put_row(ends.lam, row, states.lam_before)
    report(ends, row + 1, states, after)
    ends.iterations[row + 1] = now.iterations
    now.iterations = 0


@inlined
def accept(states, now, path, end, h, older):
    """Go on from the end of a step, and note it; older: accelerations at its start."""
    path[now.noted, 0], path[now.noted, 1] = now.t, h
    now.noted += 1
    for k in range(states.lam.size):
        states.lam_before[k] = states.lam[k]
    for j in range(older.size):
        states.a_older[j] = older[j]
    now.t, now.h_before = end, h


@inlined
def next_length(now, h, error, turn, held):
    """The length of the step after one of length h. Where rows nearly lose their rank, steps stay as they were (held):
    accelerations across these rows are rounding divided by little, and by the square of the step; the motion is as
    smooth as before."""
    growth = 1.0 if held else now.growth
    longer = h * min(growth, GROW if error == 0.0 else max(1.0 if held else SHRINK, SAFETY * error**-0.5))
    return min(longer, h / turn) if turn > 0.0 else longer


@inlined
def keep(states, state):
    """Note where a march ended, from which it goes on."""
    start = states.before
    for j in range(state.q.size):
        start.q[j] = state.q[j]
    for j in range(state.v.size):
        start.v[j], start.a[j], start.x[j] = state.v[j], state.a[j], state.x[j]
