"""The explicit method of order eight with error control: the whole march compiled.

Stages 0 to 11 make a step, 12 is the derivative at its end; 13 to 15 serve the interpolant of order 7, if an accepted
step holds an output. A step is

    choose_length       as long as errors let it be, or as that of another march (held steps, without control)
    take_stages         evaluated stage by stage, and judged when its end is known (`_has_enough`)
    _is_repeated        tried again if its error is too large, or if it is to end elsewhere
    _correct_end        brought back to the constraints
    _report             reported where it holds outputs
    _accept, _go_on     taken

Steps that would cross a switch of a contact end there instead (`switches`), and steps across folds are made by
collocation (`collocation`); marches that need neither compile none of it. What a march knows of itself is a line of
`PROGRESS` (`now`), which these passes read and write.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.saddle import next_rank, touches_zero
from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT, DEAD_POINT, DONE
from mechgrad.dynamics.kernels.system import begin
from mechgrad.kernels.interrupt import begin_listening
from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.records import refer
from mechgrad.steps.independent.kernels.choices import NOW, STEP, spread
from mechgrad.steps.runge_kutta.kernels.adaptive_stages import take_stages
from mechgrad.steps.runge_kutta.kernels.collocation import (
    ASIDE,
    CLOSER,
    HELPED,
    HOPELESS,
    LATEST,
    LEFT,
    TRIES,
    USUAL,
    VISIBLE,
    collocate,
    error_of_collocation,
    fold_between,
    note_fold,
)
from mechgrad.steps.runge_kutta.kernels.estimates import correction, moved
from mechgrad.steps.runge_kutta.kernels.fixed_steps import make_march_workspace
from mechgrad.steps.runge_kutta.kernels.interpolant import interpolant_weights
from mechgrad.steps.runge_kutta.kernels.stages import (
    FACING,
    copy_state,
    correct_state,
    first_look,
    look_at,
    normalise,
    sum_stages,
    turn_balls,
)
from mechgrad.steps.runge_kutta.kernels.step_control import (
    END,
    EXTENDED,
    GROW,
    ORDER,
    PROGRESS,
    SAFETY,
    SHRINK,
    Memory,
    begin_progress,
    choose_length,
    grown,
    is_held,
    may_go_on,
    no_shorter,
    reject,
)
from mechgrad.steps.runge_kutta.kernels.switches import AIMED, MARKS, SEARCH, pass_on

# how far a step may be corrected for the constraints, beside the tolerance: near a dead point of the independent
# coordinates corrections throw the motion on another one
CORRECTION, THROWN = 1000.0, -1
COARSER = 10.0  # how much longer a step may be that crosses, where rounding hides the switch
FALL = np.log(10.0)  # of s between the stages of a step, that only folds have
AT_END = 1e-6  # share of a step: outputs that near to its end


# ---- steps that are tried again


@inlined
def _try_elsewhere(now):
    """After a stage that failed: a shorter step, or one across the fold again, at which a node that fails must be."""
    if not now.collocating:
        reject(now, now.step * SHRINK, True)
        return
    now.rejected += 1
    if now.tries < TRIES:
        now.fold, now.tries = now.when, now.tries + 1
    else:
        now.nearest, now.tries = CLOSER * (now.fold - now.t), 0


@inner
def _crosses_again(stages, task, ranks, now, n, scalar):
    """Judge a step across a fold: whether it is to be made again, elsewhere or not at all."""
    now.end = task.t1 if now.last else now.t + now.step
    collocate(stages.y, stages.K, n, now.step, 1.0, stages.end, scalar)
    error, lowest = error_of_collocation(stages, task, now.step, n, ranks, scalar), fold_between(ranks)
    if lowest < 0.0 or (lowest > LATEST and now.tries >= TRIES):
        now.nearest = 0.0  # rows keep their rank: a usual step, and look again after it
        return True
    beside = abs(now.t + lowest * now.step - now.fold)
    now.fold = now.t + lowest * now.step
    if lowest > LATEST or (error >= 1.0 and now.tries < TRIES and beside > ASIDE * now.step):
        now.tries += 1  # once more, now that it is known better
        return True
    # one that is too long is tried again nearer to the fold, unless that does not help any more: rounding
    if error >= 1.0 and (error < HELPED * now.missed or error * task.rtol > HOPELESS):
        now.nearest, now.missed, now.tries = CLOSER * (now.fold - now.t), error, 0
        return True
    note_fold(now.fold, error, ranks)
    ranks[LEFT] = np.nan  # what fell before rises behind
    now.missed, now.tries, now.error = np.inf, 0, 0.0
    return False


@spliced
def _is_repeated(mechanism, stages, task, memory, now, projected, scalar):
    """Whether the step is tried again, with another length."""
    now.fresh = False
    if now.ahead > 0.0:
        now.step, now.last, now.rejected = now.ahead, False, now.rejected + 1
        return True
    n = mechanism.n_q + mechanism.n_v
    if projected is not None and now.collocating and _crosses_again(stages, task, memory.ranks, now, n, scalar):
        now.rejected += 1
        return True
    if now.error >= 1.0:
        reject(now, now.step * max(SHRINK, SAFETY * now.error ** (-ORDER)), False)
        return True
    return False


@spliced
def _correct_end(mechanism, work, solver, stages, task, now, projected, dependent, scalar):
    """stages.accepted := the end of a step, on the constraints. Returns DONE or a reason why it is none."""
    copy_state(stages.end, stages.accepted)
    normalise(mechanism.atoms_i, stages.accepted, scalar)
    reason = DONE
    if projected is not None or dependent is not None:
        copy_state(stages.accepted, stages.trial)
        facing = stages.orientation[FACING].real
        reason = correct_state(
            mechanism, work, solver, stages, stages.accepted, now.end, facing, projected, dependent, scalar
        )
    if dependent is not None:
        far = correction(stages.trial, stages.accepted, task, mechanism.n_q + mechanism.n_v) > CORRECTION
        if reason == DONE and far and not is_held(task):
            reason = THROWN
        now.measure = spread(solver, stages.choice)
    return reason


@inlined
def _ends_at_output(task, now, reason):
    """Whether the step is tried again so that it ends at the output within it: where rows nearly lose their rank
    accelerations are as good as they can be, and a stage that serves the interpolant alone has no part in the
    estimate."""
    if now.stage != EXTENDED or now.collocating or reason != DONE or is_held(task) or not now.low < now.high - FALL:
        return False
    if not task.t_out[now.out] < now.end - AT_END * now.step:
        return False
    reject(now, task.t_out[now.out] - now.t, True)
    return True


# ---- steps that are taken


@inlined
def _put_state(stages, reports, row, scalar):
    """stages.trial into a line of the reports."""
    n_q = reports.q.shape[1]
    for j in range(n_q):
        reports.q[row, j] = load(stages.trial, j, scalar)
    for j in range(reports.v.shape[1]):
        reports.v[row, j] = load(stages.trial, n_q + j, scalar)


@spliced
def _report(mechanism, work, solver, stages, task, now, projected, dependent, scalar):
    """States at the outputs within a step, on the constraints. Returns how many outputs there are then, and DONE or a
    reason why the step is none: the interpolant of dependent coordinates has no estimate of its own, and is judged by
    how far it is corrected."""
    n, trial, out, reason, reports = mechanism.n_q + mechanism.n_v, stages.trial, now.out, DONE, task.reports
    while out < task.t_out.size and task.t_out[out] <= now.end:
        u = (task.t_out[out] - now.t) / now.step
        if now.collocating:
            collocate(stages.y, stages.K, n, now.step, u, trial, scalar)
        else:
            interpolant_weights(u, task.tableau.B, task.tableau.D, stages.weights)
            sum_stages(stages.y, stages.K, stages.weights, EXTENDED, now.step, trial, n, scalar)
        normalise(mechanism.atoms_i, trial, scalar)
        _put_state(stages, reports, out, scalar)
        if projected is not None or dependent is not None:
            beyond = correct_state(
                mechanism, work, solver, stages, trial, task.t_out[out], 0.0, projected, dependent, scalar
            )
        if dependent is not None and not is_held(task):
            if beyond != DONE:
                reason = beyond
            elif moved(reports.q, reports.v, out, trial, task) > CORRECTION:
                reason = THROWN
        turn_balls(mechanism.atoms_i, mechanism.n_q - mechanism.n_v, trial, trial, mechanism.n_q, 1.0, scalar)
        _put_state(stages, reports, out, scalar)
        out += 1
    return out, reason


@spliced
def _accept(mechanism, stages, now, out, path, projected, dependent, scalar):
    """Take a step: the state goes on from its end, its outputs count."""
    n = mechanism.n_q + mechanism.n_v
    if dependent is not None:
        stages.choice.sizes[NOW] = now.measure
        stages.choice.counts[STEP] += 1
    now.out = out
    if now.steps < path.shape[0]:
        path[now.steps, 0], path[now.steps, 1] = now.t, now.step
        for j in range(n):
            path[now.steps, 2 + j] = load(stages.y, j, scalar)
    copy_state(stages.accepted, stages.y)
    if projected is not None or dependent is not None:
        now.fresh = True
    else:
        for j in range(n):
            store(stages.K, j, load(stages.K, END * n + j, scalar))


@inner
def _pass_switches(mechanism, memory, now, instants):
    """Note the switches that a step crossed; how long a step may be that crosses the next."""
    before = now.switched
    now.switched = pass_on(mechanism.ints, memory.marks, now.steps, now.t, instants, now.switched)
    now.across = now.step <= now.least and (now.across or not now.same)
    if now.across:
        now.grain *= COARSER
    elif now.switched > before or not now.hunting:
        now.grain = 1.0
    now.blurred = now.blurred and now.switched == before


@inner
def _choose_after_switch(now, search):
    """The length of the step after one that may have ended at a switch, or crossed it."""
    factor = grown(now)
    if now.across:
        now.h, now.across = now.usual, False
    elif now.hunting and search[AIMED] != 0.0:
        now.h, now.across = now.least, True
    elif now.hunting:
        now.h = now.usual = now.step * min(factor, 1.0)
    elif not now.last:
        now.h = now.usual = now.step * factor
    now.hunting = False


@spliced
def _go_on(mechanism, task, memory, now, projected, switching):
    """Time goes on after a step that was taken; the length of the next."""
    if switching is not None:
        _pass_switches(mechanism, memory, now, task.reports.instants)
    if projected is not None and not is_held(task) and not now.collocating and memory.ranks[LEFT] < VISIBLE:
        note_fold(now.t, USUAL / task.rtol, memory.ranks)  # a usual step that began where eps shows
    now.t, now.tries = now.end, 0
    if now.missed == np.inf or now.nearest == 0.0:
        now.nearest = np.inf
    now.steps += 1
    if switching is not None:
        _choose_after_switch(now, memory.search)
    else:
        if not now.last and not now.collocating:
            now.h = now.step * grown(now)
    now.growth = GROW


@kernel
def _adaptive(mechanism, work, solver, stages, task, memory, trees, loops, projected, dependent, switching, scalar):
    mechanism, work, solver, stages = refer(mechanism), refer(work), refer(solver), refer(stages)
    task, memory = refer(task), refer(memory)
    begin(mechanism, work, scalar)
    now, ranks = memory.progress[0], memory.ranks
    begin_progress(mechanism, stages, task, now, scalar)
    if dependent is not None:
        first_look(mechanism, work, solver, stages, now.t, scalar)
    begin_listening(work.countdown, mechanism.n_v + mechanism.n_constraints)
    while now.t < task.t1:
        reason = may_go_on(work, task, now)
        if reason != DONE:
            return reason
        if dependent is not None:
            look_at(mechanism, work, solver, stages, now.t, scalar)
        reason = choose_length(stages, task, now)
        if reason != DONE:
            return reason
        reason = take_stages(
            mechanism, work, solver, stages, task, memory, trees, loops, projected, dependent, switching, scalar
        )
        if reason != DONE:
            # far trial states may be meaningless: try a shorter step before giving up
            if no_shorter(task, now):
                return reason
            _try_elsewhere(now)
            continue
        if _is_repeated(mechanism, stages, task, memory, now, projected, scalar):
            continue
        reason, out = _correct_end(mechanism, work, solver, stages, task, now, projected, dependent, scalar), now.out
        if _ends_at_output(task, now, reason):
            continue
        if reason == DONE and (now.stage == EXTENDED or now.collocating):
            out, reason = _report(mechanism, work, solver, stages, task, now, projected, dependent, scalar)
        if (projected is not None or dependent is not None) and reason != DONE:
            # thrown on another motion, or beyond a dead point: a shorter step may end before it, and choose again
            if no_shorter(task, now):
                return DEAD_POINT if reason == THROWN else reason
            reject(now, now.step * SHRINK, True)
            continue
        _accept(mechanism, stages, now, out, task.reports.path, projected, dependent, scalar)
        if loops is not None and projected is None and dependent is None:
            next_rank(ranks, now.log_s)
            if touches_zero(ranks[0], ranks[1], ranks[2]) or now.lost:
                return CHANGE_POINT
        _go_on(mechanism, task, memory, now, projected, switching)
    if switching is not None:
        now.h = max(now.h, now.usual)  # a march may end within a crossing
    return DONE


@wrapper
def adaptive_one(mechanism, numbers, kind, switching, ranks, task):
    """The method of order eight with error control: does a `Task`, and fills its reports.

    numbers, kind, ranks: as in `fixed_one`. switching: 1 if there are contacts, else None.
    Returns (outputs written, reason, steps, rejected, next step, time, switches).
    """
    work, solver, stages, does = make_march_workspace(mechanism, numbers, kind, EXTENDED, task.reports.q.dtype, 1)
    marks = np.zeros((mechanism.n_laws if switching else 0, MARKS))
    memory = Memory(ranks=ranks, marks=marks, search=np.zeros(SEARCH), progress=np.zeros(1, PROGRESS))
    zero = task.reports.q.dtype.type(0.0).item()
    reason = _adaptive(mechanism, work, solver, stages, task, memory, *does, switching, zero)
    if kind.dependent is not None:
        kind.dependent.last[:] = stages.y[: kind.dependent.last.size].real
    now = memory.progress[0]
    return tuple(reason if name is None else now[name].item() for name in _FOUND)


_FOUND = ("out", None, "steps", "rejected", "h", "t", "switched")
