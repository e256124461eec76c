"""Explicit Runge-Kutta marches with steps of one length: the whole loop compiled, for one motion or many in SIMD lanes.

A step evaluates its stages, adds them up, and brings the sum back to the constraints (`stages`). With dependent
coordinates a step that fails, or throws the motion on another one, is tried once more with the best choice of
independent coordinates. Kernels return how far they came and why they ended.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.constrained import log_s, rank_nearly_lost
from mechgrad.dynamics.kernels.saddle import forget_ranks, log_root_det, next_rank, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT, DEAD_POINT, DONE, INTERRUPTED
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.host import LANES
from mechgrad.kernels.interrupt import begin_listening, interrupted
from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.lanes import gather, lane_zero, scatter, width
from mechgrad.kernels.records import refer
from mechgrad.steps.butcher_tableau import Tableau
from mechgrad.steps.independent.kernels.choices import HOLDS, NOW, STEP, spread
from mechgrad.steps.runge_kutta.kernels.stages import (
    FACING,
    choose_at,
    copy_state,
    correct_state,
    derivative,
    first_look,
    look_at,
    make_stages,
    normalise,
    note_facing,
    split,
    sum_stages,
    turn_balls,
)

THROWN = 0.01  # beside the largest velocity: a correction that is no correction any more, but another motion


class UniformSteps(NamedTuple):
    """Steps of a method of length h [s] from t0 on; every `every`-th state is reported."""

    tableau: Tableau
    h: float
    t0: float
    every: int


class Reports(NamedTuple):
    """Reported states of many motions: q (instants, motions, n_q), v (instants, motions, n_v)."""

    q: np.ndarray
    v: np.ndarray


@inlined
def begin_motions(mechanism, stages, reports, row, scalar):
    """stages.y := the states with which the motions row .. row+L-1 start."""
    n_q, y = mechanism.n_q, stages.y
    gather(reports.q[0], row, y, 0, scalar)
    gather(reports.v[0], row, y, n_q, scalar)
    turn_balls(mechanism.atoms_i, n_q - mechanism.n_v, y, y, n_q, -1.0, scalar)


@inlined
def report_motions(mechanism, stages, reports, out, row, scalar):
    """stages.y into line `out` of the motions row .. row+L-1."""
    split(mechanism, stages.y, stages, scalar)
    scatter(stages.q, 0, reports.q[out], row, scalar)
    scatter(stages.v, 0, reports.v[out], row, scalar)


@inner
def thrown(before, y, n_q):
    """How far a correction threw velocities, beside the largest of them."""
    change, speed = 0.0, 0.0
    for j in range(n_q, y.size):
        change = max(change, abs(y[j].real - before[j].real))
        speed = max(speed, abs(y[j].real), abs(before[j].real))
    return change / speed if speed > 0.0 else 0.0


@inner
def rank_is_lost(mechanism, work, solver, ranks):
    """Whether rows lose their rank where a step starts, by the factors that its first accelerations left."""
    next_rank(ranks, log_s(mechanism, solver, solver.loops))
    return touches_zero(ranks[0], ranks[1], ranks[2]) or rank_nearly_lost(mechanism, work, solver, solver.loops)


@spliced
def _take_stages(mechanism, work, solver, stages, steps, ranks, t, trees, loops, projected, dependent, scalar):
    """Derivatives of all stages of a step. Returns DONE or a reason to end."""
    n, h, reason, tableau = mechanism.n_q + mechanism.n_v, steps.h, DONE, steps.tableau
    for i in range(tableau.B.size):
        sum_stages(stages.y, stages.K, tableau.A[i], i, h, stages.trial, n, scalar)
        reason = derivative(mechanism, work, solver, stages, t + tableau.C[i] * h, i, trees, loops, dependent, scalar)
        if reason != DONE:
            break
        if dependent is not None:
            note_facing(stages)
        if loops is not None and projected is None and dependent is None and i == 0 and rank_is_lost(
            mechanism, work, solver, ranks
        ):  # fmt: skip
            reason = CHANGE_POINT
            break
    return reason


@spliced
def _end_step(mechanism, work, solver, stages, steps, t, projected, dependent, scalar):
    """The end of a step, at t, on the constraints. Returns DONE or a reason to end."""
    n, tableau = mechanism.n_q + mechanism.n_v, steps.tableau
    sum_stages(stages.y, stages.K, tableau.B, tableau.B.size, steps.h, stages.end, n, scalar)
    normalise(mechanism.atoms_i, stages.end, scalar)
    reason = DONE
    if projected is not None or dependent is not None:
        copy_state(stages.end, stages.trial)
        facing = stages.orientation[FACING].real
        reason = correct_state(mechanism, work, solver, stages, stages.end, t, facing, projected, dependent, scalar)
    if dependent is not None and reason == DONE and not stages.choice.counts[HOLDS]:
        far = thrown(stages.trial, stages.end, mechanism.n_q) > THROWN
        reason = DEAD_POINT if far else DONE
    return reason


@inner
def _note_choice(solver, choice, ranks):
    """Measure the choice after a step. Returns whether rows lost their rank: |det W| falls to zero with it, whatever is
    chosen."""
    if not choice.counts[HOLDS]:
        choice.sizes[NOW] = spread(solver, choice)
        next_rank(ranks, 2.0 * log_root_det(None, solver.P, choice.pick.size))
        if touches_zero(ranks[0], ranks[1], ranks[2]):
            return True
    choice.counts[STEP] += 1
    return False


def _fixed(mechanism, work, solver, stages, steps, ranks, trees, loops, projected, dependent, reports, scalar):
    mechanism, work, solver, stages = refer(mechanism), refer(work), refer(solver), refer(stages)
    steps, reports = refer(steps), refer(reports)
    begin(mechanism, work, scalar)
    h, t0, outputs, motions = steps.h, steps.t0, reports.q.shape[0], reports.q.shape[1]
    begin_listening(work.countdown, (mechanism.n_q + mechanism.n_v) // 2)
    for row in range(0, motions, width(scalar)):
        begin_motions(mechanism, stages, reports, row, scalar)
        step = 0
        if dependent is not None:
            first_look(mechanism, work, solver, stages, t0, scalar)
        for out in range(1, outputs):
            for _ in range(steps.every):
                t, end = t0 + step * h, t0 + (step + 1) * h
                if interrupted(work.listener, work.countdown):
                    return out, INTERRUPTED, row
                again = False
                if dependent is not None and look_at(mechanism, work, solver, stages, t, scalar):
                    forget_ranks(ranks)
                while True:
                    reason = _take_stages(
                        mechanism, work, solver, stages, steps, ranks, t, trees, loops, projected, dependent, scalar
                    )
                    if reason == DONE:
                        reason = _end_step(mechanism, work, solver, stages, steps, end, projected, dependent, scalar)
                    if dependent is not None and reason != DONE and not again and not stages.choice.counts[HOLDS]:
                        # the best choice may carry the step where that of some time ago did not
                        again = True
                        if choose_at(mechanism, work, solver, stages, t, scalar):
                            forget_ranks(ranks)
                            continue
                    break
                if reason != DONE:
                    return out, reason, row
                if dependent is not None and _note_choice(solver, stages.choice, ranks):
                    return out, CHANGE_POINT, row
                copy_state(stages.end, stages.y)
                step += 1
            report_motions(mechanism, stages, reports, out, row, scalar)
    return outputs, DONE, motions


# `scalar` is 0.0 or 0j: a kernel whose body is the march itself compiles once, not once more for a wrapper
_fixed_one = kernel(_fixed)
_fixed_inlined = inlined(_fixed)


@kernel
def _fixed_lanes(mechanism, work, solver, stages, steps, ranks, trees, loops, projected, dependent, reports):
    return _fixed_inlined(
        mechanism, work, solver, stages, steps, ranks, trees, loops, projected, dependent, reports, lane_zero()
    )


def make_march_workspace(mechanism, numbers, kind, stages, dtype, lanes):
    """All that a march needs, and what it does about constraints: (trees, loops, projected, dependent).

    numbers: (eps, Omega, xi, compliant) of the formulation; kind: a record with the fields trees, loops and projected,
    each 1 or None, dependent, a `Choice` or None, sparse, a `Sparse` or None, and recursion, a `Loops` or None.
    """
    solver = make_solver(
        mechanism, *numbers[:3], compliant=numbers[3] != 0.0, sparse=kind.sparse, loops=kind.recursion
    )  # fmt: skip
    scratch = make_stages(mechanism, stages, dtype, lanes, kind.dependent)
    does = kind.trees, kind.loops, kind.projected, None if kind.dependent is None else 1
    return make_work(mechanism, lanes, kind.sparse), solver, scratch, does


@wrapper
def fixed_one(mechanism, numbers, kind, tableau, ranks, h, t0, every, Q, V):
    """Runge-Kutta with steps h from line 0 of Q, V (n_out, motions, n): every `every`-th state goes to the next line.

    numbers, kind: as in `make_march_workspace`; tableau: a `Tableau`; ranks: as in `steps.newmark.kernels.march`.
    Returns (outputs written, reason, starts that were marched to their end).
    """
    work, solver, stages, does = make_march_workspace(mechanism, numbers, kind, tableau.B.size, Q.dtype, 1)
    steps, zero = UniformSteps(tableau, float(h), float(t0), every), Q.dtype.type(0.0).item()
    found = _fixed_one(mechanism, work, solver, stages, steps, ranks, *does, Reports(Q, V), zero)
    if kind.dependent is not None:
        kind.dependent.last[:] = stages.y[: kind.dependent.last.size].real
    return found


@wrapper
def fixed_lanes(mechanism, numbers, kind, tableau, ranks, h, t0, every, Q, V):
    """`fixed_one` for many motions of an open tree, in SIMD lanes."""
    work, solver, stages, does = make_march_workspace(mechanism, numbers, kind, tableau.B.size, Q.dtype, LANES)
    steps = UniformSteps(tableau, float(h), float(t0), every)
    return _fixed_lanes(mechanism, work, solver, stages, steps, ranks, *does, Reports(Q, V))
