"""What a march with error control is to do, what it knows of itself on its way, and how long its steps are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import DONE, INTERRUPTED, STUCK, TOO_MANY, TOO_SMALL
from mechgrad.kernels.interrupt import interrupted
from mechgrad.kernels.jit import inlined, inner
from mechgrad.steps.runge_kutta.kernels.stages import turn_balls

# step control: safety, by how much a step may shrink or grow, and how errors fall with its length
SAFETY, SHRINK, GROW, ORDER = 0.9, 0.2, 10.0, 0.125
# steps beside the times of a march: too short ones; what a last one may add; too short to be tried again, shorter yet
SHORTEST, LAST, NO_SHORTER = 1e-14, 1e-12, 1e-10
# so many steps that do not come further than so much of the time are no progress: the rest would take millions
PATIENCE, PACE = 5000, 5e-6
END, EXTENDED = 12, 16  # the stage at the end of a step, and all of them

PROGRESS = np.dtype(
    [
        ("t", "f8"),  # time now [s]
        ("h", "f8"),  # usual length of the next step, and the largest factor by which it may grow
        ("growth", "f8"),
        ("steps", "i8"),  # taken, and tried in vain; outputs written
        ("rejected", "i8"),
        ("out", "i8"),
        ("seen", "f8"),  # time, and trials, when progress was last looked at
        ("since", "i8"),
        # the step that is tried: its length, its end, whether it is the last, its error beside the tolerance
        ("step", "f8"),
        ("end", "f8"),
        ("last", "?"),
        ("error", "f8"),
        ("fresh", "?"),  # whether its first derivative must be computed
        ("stage", "i8"),  # number of a stage, where its derivative stands, and its time
        ("slot", "i8"),
        ("when", "f8"),
        ("measure", "f8"),  # of the choice of independent coordinates at its end
        # log s: at the end of the step, whether rank is nearly lost there; the least and the largest of the interpolant
        ("log_s", "f8"),
        ("lost", "?"),
        ("low", "f8"),
        ("high", "f8"),
        # steps across folds: whether this is one; when the next fold will be reached, how near one must be to be
        # crossed, the error of the last attempt, and how many there were at this step
        ("collocating", "?"),
        ("fold", "f8"),
        ("nearest", "f8"),
        ("missed", "f8"),
        ("tries", "i8"),
        # looking for a switch of a contact: whether; the step that was usual before; margin and sides of a trial; the
        # next one; the longest step that may cross, which grows (grain) while rounding hides on which side a contact is
        ("hunting", "?"),
        ("usual", "f8"),
        ("margin", "f8"),
        ("same", "?"),
        ("ahead", "f8"),
        ("least", "f8"),
        ("grain", "f8"),
        ("across", "?"),  # whether the step is to cross a switch that the one before ended at
        ("blurred", "?"),  # whether rounding hides the error of the mean derivative
        ("switched", "i8"),  # switches so far
    ],
    align=True,
)


class ExtendedTableau(NamedTuple):
    """Coefficients of a `Tableau` with an interpolant (D) and two error estimates (E3, E5)."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    E3: np.ndarray
    E5: np.ndarray


class AdaptiveReports(NamedTuple):
    """What a march reports: q, v at the outputs; path: (steps, 2 + n), time, length and start of every step that was
    taken; instants: (k,) those of switches; both as far as there is scratch."""

    q: np.ndarray
    v: np.ndarray
    path: np.ndarray
    instants: np.ndarray


class Task(NamedTuple):
    """What a march with error control is to do."""

    t0: float  # from when to when [s], with which first step
    t1: float
    h: float
    rtol: float
    atol: float
    most: int  # steps
    tableau: ExtendedTableau
    held: np.ndarray  # (steps, 2): time and length of every step that is to be taken, without control, or (0, 2); with
    # n more columns the real part of the state before each step is put there
    t_out: np.ndarray  # instants of outputs, sorted
    q0: np.ndarray  # the start
    v0: np.ndarray
    reports: AdaptiveReports


class Memory(NamedTuple):
    """What a march knows of ranks (`no_ranks`), of contacts and of a search for a switch (`switches`), of itself."""

    ranks: np.ndarray
    marks: np.ndarray
    search: np.ndarray
    progress: np.ndarray


@inner
def begin_progress(mechanism, stages, task, now, scalar):
    """The state and the numbers that a march begins with."""
    n_q, n_v, y = mechanism.n_q, mechanism.n_v, stages.y
    for j in range(n_q):
        y[j] = task.q0[j]
    for j in range(n_v):
        y[n_q + j] = task.v0[j]
    turn_balls(mechanism.atoms_i, n_q - n_v, y, y, n_q, -1.0, scalar)
    now.t, now.seen, now.since = task.t0, task.t0, 0
    now.h, now.step, now.usual, now.growth, now.fresh = task.h, task.h, task.h, GROW, True
    now.fold, now.nearest, now.missed, now.log_s, now.grain = np.inf, np.inf, np.inf, np.nan, 1.0


@inlined
def is_held(task):
    """Whether steps are those of another march."""
    return task.held.shape[0] > 0


@inlined
def may_go_on(work, task, now):
    """DONE, or the reason why a march ends before its next step."""
    if interrupted(work.listener, work.countdown):
        return INTERRUPTED
    trials = now.steps + now.rejected
    if trials >= task.most:
        return TOO_MANY
    if trials >= now.since + PATIENCE:
        if not is_held(task) and now.t - now.seen < PACE * max(abs(now.t), task.t1 - task.t0):
            return STUCK
        now.seen, now.since = now.t, trials
    return DONE


@inlined
def choose_length(stages, task, now):
    """The length of the step that is tried next. Returns DONE or TOO_SMALL."""
    held, y = task.held, stages.y
    if is_held(task):
        now.last, now.step = now.steps + 1 >= held.shape[0], held[now.steps, 1]
        for j in range(held.shape[1] - 2):
            y[j] = y[j] + (held[now.steps, 2 + j] - y[j].real)
        # a derivative that belongs to the state before this correction would make stiff motions unstable
        now.fresh = now.fresh or held.shape[1] > 2
    elif not now.hunting:
        if now.h < SHORTEST * max(abs(now.t), task.t1 - task.t0):
            return TOO_SMALL
        now.last = now.t + now.h >= task.t1 - LAST * (task.t1 - task.t0)
        now.step = task.t1 - now.t if now.last else now.h
    return DONE


@inlined
def no_shorter(task, now):
    """Whether a step that failed is not tried again."""
    return is_held(task) or now.step <= NO_SHORTER * (task.t1 - task.t0)


@inlined
def reject(now, h, fresh):
    """Try again with a step h; fresh: whether its first derivative must be computed."""
    now.h, now.growth, now.rejected, now.fresh, now.hunting = h, 1.0, now.rejected + 1, fresh, False


@inlined
def grown(now):
    """By how much the next step is longer than the one that was taken."""
    if now.error == 0.0:
        return GROW
    return min(now.growth, max(SHRINK, SAFETY * now.error ** (-ORDER)))
