"""The stages of a step with error control: where they are, what they tell, and when there are enough of them."""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.constrained import log_s, rank_nearly_lost
from mechgrad.dynamics.kernels.state_accelerations import DONE
from mechgrad.kernels.jit import inner, spliced
from mechgrad.kernels.lanes import load, store
from mechgrad.steps.runge_kutta.kernels.collocation import (
    N_NODES,
    NODES,
    begin_collocation,
    collocate,
    fold_ahead,
    is_near,
    length_across,
    no_more_sweeps,
    node_done,
)
from mechgrad.steps.runge_kutta.kernels.estimates import ESTIMATED, error_of_rates, error_of_step
from mechgrad.steps.runge_kutta.kernels.stages import (
    copy_state,
    correct_state,
    derivative,
    normalise,
    note_facing,
    sum_stages,
)
from mechgrad.steps.runge_kutta.kernels.step_control import END, EXTENDED, is_held
from mechgrad.steps.runge_kutta.kernels.switches import begin_search, next_trial, watch, young

# the longest step that may cross a switch, beside the times of the march, and beside tolerance and usual step
CROSSING, CROSSING_TOLERATED = 1e-13, 1e-3
# weight of the error of the mean derivative while a contact with an exponent between 1 and 2 is young: with it,
# derivatives of the motion by parameters are about as accurate as behind contacts with whole exponents. That error
# falls with the step to the power 1.5; it is not asked for below the least tolerance
YOUNG_WEIGHT, YOUNG_POWER, YOUNG_TOLERANCE = 20.0, 16.0 / 3.0, 1e-12
BLUR = 100.0  # steps that may cross: so short that what is left of that error is rounding
END_OF_MARCH = 2e-12  # beside the times of the march: a last step that short may cross


@inner
def _sweeps_done(stages, task, ranks, now, n, scalar):
    """Whether a step across a fold, which may begin with this stage, has made its last sweep over the nodes."""
    if is_held(task):
        return False
    ahead = now.fold - now.t
    if now.stage == 1 and ahead < now.nearest and is_near(ahead, now.step, ranks):
        # known from stage 0 on, which has no length yet
        now.step = min(length_across(now.step, ahead), task.t1 - now.t)
        now.collocating, now.last = True, now.step >= task.t1 - now.t
        begin_collocation(stages.K, n, ranks, scalar)
    return now.collocating and no_more_sweeps(now.stage, ranks)


@inner
def _ends_at_switch(mechanism, stages, task, memory, now, scalar):
    """Whether the step is to be tried with another length (now.ahead), so that it ends at the switch of a contact."""
    n_q, n, span = mechanism.n_q, mechanism.n_q + mechanism.n_v, task.t1 - task.t0
    now.least = now.grain * max(CROSSING * max(abs(now.t), span), CROSSING_TOLERATED * task.rtol * now.usual)
    crosses = now.step <= now.least
    if now.error < 1.0 and not crosses and not now.blurred and young(mechanism.ints, mechanism.numbers, memory.marks):
        tolerance = max(task.rtol, YOUNG_TOLERANCE)
        rates = YOUNG_WEIGHT * error_of_rates(stages.K, task.tableau, tolerance, n_q, n, scalar)
        now.blurred = rates >= 1.0 and now.step <= BLUR * now.least
        if not now.blurred:
            now.error = max(now.error, rates if rates < 1.0 else rates**YOUNG_POWER)
    mixed = not now.same and not crosses and not (now.last and now.step <= END_OF_MARCH * span)
    now.hunting = now.hunting and (now.same or mixed)
    if mixed or (now.hunting and now.error < 1.0):
        if not now.hunting:
            begin_search(mechanism.ints, memory.marks, memory.search)
            now.hunting, now.usual = True, now.h
        # the end was compared last: the margin is its own
        now.ahead = next_trial(now.step, now.margin, mixed, now.margin > 0.0, now.least, memory.search)
    return now.ahead > 0.0


@inner
def _has_enough(mechanism, stages, task, memory, now, switching, scalar):
    """Judge a step whose end is known: whether its stages are enough, or it is none. Steps across folds are judged when
    their sweeps are done."""
    if now.collocating:
        return False
    now.end = now.t + now.step
    if is_held(task):
        if not now.last:
            now.end = task.held[now.steps + 1, 0]
    else:
        now.error = error_of_step(stages, task, now.step, mechanism.n_q + mechanism.n_v, scalar)
        if switching is not None and _ends_at_switch(mechanism, stages, task, memory, now, scalar):
            return True
        if now.error >= 1.0:
            return True
    if now.last:
        now.end = task.t1
    return now.out >= task.t_out.size or task.t_out[now.out] > now.end


@spliced
def _place_trial(mechanism, work, solver, stages, task, now, projected, dependent, scalar):
    """stages.trial := where the derivative of a stage is taken. Returns DONE or a reason to end."""
    n, tableau = mechanism.n_q + mechanism.n_v, task.tableau
    now.slot, now.when = now.stage, now.t + tableau.C[min(now.stage, EXTENDED - 1)] * now.step
    reason = DONE
    if projected is not None and now.collocating:
        now.slot = 1 + (now.stage - 1) % N_NODES
        now.when = now.t + NODES[now.slot - 1] * now.step
        collocate(stages.y, stages.K, n, now.step, NODES[now.slot - 1], stages.trial, scalar)
        normalise(mechanism.atoms_i, stages.trial, scalar)
        reason = correct_state(
            mechanism, work, solver, stages, stages.trial, now.when, 0.0, projected, dependent, scalar
        )
        for j in range(n):
            store(stages.end, j, load(stages.K, now.slot * n + j, scalar))
        return reason
    if now.stage == END:
        sum_stages(stages.y, stages.K, tableau.B, END, now.step, stages.end, n, scalar)
        copy_state(stages.end, stages.trial)
    else:
        sum_stages(stages.y, stages.K, tableau.A[now.stage], now.stage, now.step, stages.trial, n, scalar)
    return reason


@spliced
def _after_stage(mechanism, work, solver, stages, task, memory, now, loops, projected, dependent, switching, scalar):
    """What a stage tells of folds, of the independent coordinates, of rank and of contacts."""
    if projected is not None:
        if now.stage == 0 and not is_held(task):
            now.fold = fold_ahead(mechanism, work, solver, now.t, memory.ranks)
        if now.collocating:
            node_done(mechanism, work, solver, stages, task, now, memory.ranks, scalar)
        elif now.stage >= END and now.out < task.t_out.size and task.t_out[now.out] < now.t + now.step:
            found = log_s(mechanism, solver, solver.loops)
            now.low, now.high = min(now.low, found), max(now.high, found)
    if dependent is not None:
        note_facing(stages)
    if loops is not None and projected is None and dependent is None and now.stage == END:
        now.log_s = log_s(mechanism, solver, solver.loops)
        now.lost = rank_nearly_lost(mechanism, work, solver, solver.loops)
    if switching is not None and now.stage <= END:
        margin, same = watch(
            mechanism.ints, mechanism.numbers, work.values, work.rates, now.stage, memory.marks
        )  # fmt: skip
        now.margin, now.same = margin, now.same and same


@spliced
def take_stages(mechanism, work, solver, stages, task, memory, trees, loops, projected, dependent, switching, scalar):
    """The stages of a step: those that make it, and those of its interpolant if it is good and holds an output. One
    loop: the derivative is compiled where it stands, so it stands once. Returns DONE or a reason to end."""
    now = memory.progress[0]
    now.error, now.end, now.low, now.high = 0.0, now.t, np.inf, -np.inf
    now.same, now.ahead, now.collocating = True, 0.0, False
    now.stage = 0 if now.fresh else 1
    reason, n = DONE, mechanism.n_q + mechanism.n_v
    while now.stage < EXTENDED or now.collocating:
        if projected is not None and switching is None and _sweeps_done(stages, task, memory.ranks, now, n, scalar):
            break
        if now.stage == ESTIMATED and _has_enough(mechanism, stages, task, memory, now, switching, scalar):
            break
        reason = _place_trial(mechanism, work, solver, stages, task, now, projected, dependent, scalar)
        if reason != DONE:
            break
        reason = derivative(mechanism, work, solver, stages, now.when, now.slot, trees, loops, dependent, scalar)
        if reason != DONE:
            break
        _after_stage(
            mechanism, work, solver, stages, task, memory, now, loops, projected, dependent, switching, scalar
        )  # fmt: skip
        now.stage += 1
    return reason
