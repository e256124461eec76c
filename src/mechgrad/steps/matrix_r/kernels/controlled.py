"""Marches with implicit steps of Matrix R that control their error.

The scheme acts on the independent coordinates z: their errors follow from their second rates, and those of all others
from W, at the end of the step:

    W e_q = [ 0; e_z ],        W e_v = [ 0; e_z' ]
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.saddle import forget_ranks, log_root_det, next_rank, touches_zero
from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT, DEAD_POINT, DONE, NOT_CONVERGED, SINGULAR
from mechgrad.dynamics.kernels.system import begin
from mechgrad.kernels.interrupt import begin_listening
from mechgrad.kernels.jit import inner, kernel, runtime_int, spliced, wrapper
from mechgrad.kernels.lu import lu_solve
from mechgrad.kernels.records import refer
from mechgrad.steps.independent.kernels.choices import NOTED, NOW, RANK, STEP
from mechgrad.steps.matrix_r.kernels.march import checked, note_last, renewed
from mechgrad.steps.matrix_r.kernels.step import begin_choice, choose_again, independent_step, look
from mechgrad.steps.newmark.kernels.step_length import (
    GROW,
    SHRINK,
    accept,
    begin_trial,
    error_factors,
    is_last,
    keep,
    may_go_on,
    next_length,
    put_errors,
    reject,
    report_ends,
    shorter,
    waits,
    worst_error,
)

NOTES = 2  # changes of choice in one step, at most


@inner
def _follow(solver, choice, e):
    """Errors of independent coordinates, the first entries of e, become those of all."""
    n, rank, x = e.size, choice.counts[RANK], solver.x
    for k in range(n):
        x[k] = e[k - rank] if k >= rank else 0.0 * e[0]
    lu_solve(solver.P, solver.pivots_P, x, n)
    for j in range(n):
        e[j] = x[j]


@spliced
def _judged(solver, choice, settings, states, before, after, limits, now, h):
    """The error of a step, beside what is allowed."""
    n, free = states.error_q.size, states.error_q.size - choice.counts[RANK]
    factors, older, error_q, error_v = error_factors(settings), states.a_older, states.error_q, states.error_v
    first, second = states.free_before.second, states.free_after.second
    put_errors(factors, h, now.h_before, older, first[:free], second[:free], error_q, error_v)
    if free < n:
        _follow(solver, choice, error_q)
        _follow(solver, choice, error_v)
    return worst_error(states, before, after, limits) * (limits.end - now.start) / h


@spliced
def _tried(mechanism, work, solver, choice, settings, states, before, after, h, now, facing, scalar):
    """A step of length h: (reason, measure of the choice after it)."""
    begin_trial(states, before, after)
    reason, passes, _ = independent_step(
        mechanism, work, solver, choice, settings, states, before, after, h, now.t + h, runtime_int(0), scalar
    )
    now.iterations += passes
    size = choice.sizes[NOW]
    if reason == DONE:
        reason, size = checked(solver, choice, before, after, h, facing)
    return reason, size


@inner
def _chosen_anew(mechanism, work, solver, choice, states, before, ranks, now, scalar):
    """After a change of choice. Returns the orientation of W."""
    now.h_before = 0.0  # second rates before belong to other coordinates
    forget_ranks(ranks)
    return renewed(mechanism, work, solver, choice, states, before, now.t, scalar)


@kernel
def _march_controlled(mechanism, work, solver, choice, settings, states, ranks, progress, limits, wanted):
    mechanism, work, solver, choice = refer(mechanism), refer(work), refer(solver), refer(choice)
    settings, states, limits, wanted = refer(settings), refer(states), refer(limits), refer(wanted)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    before, after, now, t_out, path = states.before, states.after, progress[0], wanted.t_out, wanted.path
    out, reason, fresh, tried = wanted.first, DONE, True, False
    facing = begin_choice(mechanism, work, solver, choice, before.q, before.v, now.t, scalar)
    begin_listening(work.countdown, mechanism.n_v + mechanism.n_constraints)
    while out < t_out.size and now.noted < path.shape[0] and choice.counts[NOTED] + NOTES <= choice.log.shape[0]:
        reason = may_go_on(work, limits, now)
        if reason != DONE:
            break
        if fresh:
            fresh, tried = False, False
            if look(mechanism, work, solver, choice, before.q, before.v, now.t, scalar):
                facing = _chosen_anew(mechanism, work, solver, choice, states, before, ranks, now, scalar)
        last = is_last(now, limits)
        h = limits.end - now.t if last else now.h
        reason, size = _tried(mechanism, work, solver, choice, settings, states, before, after, h, now, facing, scalar)
        if reason in (NOT_CONVERGED, SINGULAR, DEAD_POINT):
            note_last(choice, before.q)
            # the best choice may carry the step where that of some time ago did not
            if not tried and choose_again(mechanism, work, solver, choice, before.q, before.v, now.t, np.inf, scalar):
                facing = _chosen_anew(mechanism, work, solver, choice, states, before, ranks, now, scalar)
            else:
                reject(now, h * SHRINK)
            tried, reason = True, DONE
            continue
        if reason != DONE:
            break
        error = _judged(solver, choice, settings, states, before, after, limits, now, h)
        if error > 1.0:
            reject(now, shorter(h, error, 0.0))
            continue
        next_rank(ranks, 2.0 * log_root_det(None, solver.P, mechanism.n_v))
        if touches_zero(ranks[0], ranks[1], ranks[2]):
            reason = CHANGE_POINT
            break
        end = limits.end if last else now.t + h
        now.steps += 1
        choice.sizes[NOW] = size
        choice.counts[STEP] += 1
        while out < t_out.size and t_out[out] <= end:
            report_ends(states, before, after, now, out, wanted.ends)
            out += 1
        accept(states, now, path, end, h, states.free_before.second[: mechanism.n_v - choice.counts[RANK]])
        if not last:
            now.h = next_length(now, h, error, 0.0, False)
        now.growth = GROW
        fresh = True
        before, after = after, before
    keep(states, before)
    if reason == DONE:
        reason = waits(work, out, t_out.size)
    else:
        note_last(choice, before.q)
    return out, reason


@wrapper
def march_controlled_independent(mechanism, choice, workspace, settings, ranks, limits, wanted):
    """`steps.newmark.kernels.controlled.march_controlled` of Matrix R with a `Choice`, which is changed on the way, and
    waits for room for its changes as for that of its steps."""
    work, solver, states, progress = workspace
    progress["noted"] = 0
    return _march_controlled(
        mechanism, work, solver, choice, settings, states, ranks, progress, limits, wanted
    )  # fmt: skip
