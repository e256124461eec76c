"""Marches with implicit steps of Matrix R: the whole loop compiled."""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.saddle import forget_ranks, log_root_det, next_rank, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT, DEAD_POINT, DONE, INTERRUPTED
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.interrupt import begin_listening, interrupted
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, wrapper
from mechgrad.kernels.records import refer
from mechgrad.steps.independent.kernels.choices import HOLDS, LIMIT, NAMED, NOW, RANK, STEP, spread
from mechgrad.steps.matrix_r.kernels.step import (
    begin_choice,
    choose_again,
    factor_W,
    independent_step,
    look,
    orientation,
    place_chosen,
)
from mechgrad.steps.newmark.kernels.march_states import NOT_HELD, Pace, first_guess, make_workspace, pace_of, report

LEAP = 0.5  # beside the largest velocity: what accelerations may leave unexplained near a dead point


@inner
def _leaps(before, after, h):
    """Whether velocities change by far more than accelerations account for: thrown back from a dead point."""
    v0, a0, v, a = before.v, before.a, after.v, after.a
    change, speed = 0.0, 0.0
    for j in range(v.size):
        change = max(change, abs(v[j].real - v0[j].real - 0.5 * h * (a0[j].real + a[j].real)))
        speed = max(speed, abs(v0[j].real), abs(v[j].real))
    return change > LEAP * speed


@inner
def renewed(mechanism, work, solver, choice, states, state, t, scalar):
    """After a change of choice: the memory of coordinates that were chosen anew is their second rate. Returns the
    orientation of W."""
    place_chosen(mechanism, work, choice, state.q, state.v, state.a, t, scalar)
    if not choice.counts[NAMED]:
        rank = choice.counts[RANK]
        for k in range(choice.pick.size - rank):
            state.x[k] = work.seconds[choice.pick[rank + k]]
            states.solved[k] = state.x[k]
    factor_W(mechanism, work, solver, choice, scalar)
    return orientation(solver.P, solver.pivots_P, choice.pick.size)


@inner
def checked(solver, choice, before, after, h, facing):
    """DONE, or DEAD_POINT where the independent coordinates ceased to determine the motion in a step; and the measure
    of the choice after it. facing: the orientation of W before."""
    size = choice.sizes[NOW]
    if not choice.counts[HOLDS]:
        size = spread(solver, choice)
        if size > choice.sizes[LIMIT] and _leaps(before, after, h):
            return DEAD_POINT, size
    if orientation(solver.P, solver.pivots_P, choice.pick.size) * facing < 0.0:
        return DEAD_POINT, size
    return DONE, size


@inlined
def note_last(choice, q):
    """Where a march ended that could not go on."""
    for j in range(q.size):
        choice.last[j] = q[j].real


@kernel
def _march_independent(mechanism, work, solver, choice, settings, states, ranks, pace, samples):
    mechanism, work, solver, choice = refer(mechanism), refer(work), refer(solver), refer(choice)
    settings, states, pace, samples = refer(settings), refer(states), refer(pace), refer(samples)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    before, after, counts = states.before, states.after, choice.counts
    # known: steps since the coordinates were chosen
    factored, step, known = runtime_int(0), runtime_int(0), runtime_int(0)
    facing = begin_choice(mechanism, work, solver, choice, before.q, before.v, pace.t0, scalar)
    end = pace.t0
    begin_listening(work.countdown, mechanism.n_v + mechanism.n_constraints)
    for out in range(1, samples.q.shape[0]):
        count = 0
        for _ in range(pace.every):
            t = end
            if interrupted(work.listener, work.countdown):
                return out, INTERRUPTED, t
            changed = look(mechanism, work, solver, choice, before.q, before.v, t, scalar)
            step += 1
            t, end, h = pace_of(pace, step, end)
            tried = False
            if pace.held.size:
                factored = 0
            while True:
                if changed:
                    facing = renewed(mechanism, work, solver, choice, states, before, t, scalar)
                    known, factored = 0, 0
                    forget_ranks(ranks)
                known += 1
                first_guess(pace, states, before, after.x, known)
                reason, passes, factored = independent_step(
                    mechanism, work, solver, choice, settings, states, before, after, h, end, factored, scalar
                )
                size = choice.sizes[NOW]
                if reason == DONE:
                    reason, size = checked(solver, choice, before, after, h, facing)
                if reason == DONE or tried or counts[HOLDS]:
                    break
                # the best choice may carry the step where that of some time ago did not
                tried = True
                changed = choose_again(mechanism, work, solver, choice, before.q, before.v, t, np.inf, scalar)
                if not changed:
                    break
            if reason != DONE:
                note_last(choice, before.q)
                return out, reason, end
            if not counts[HOLDS]:
                next_rank(ranks, 2.0 * log_root_det(None, solver.P, mechanism.n_v))
                if touches_zero(ranks[0], ranks[1], ranks[2]):
                    return out, CHANGE_POINT, t
            choice.sizes[NOW] = size
            counts[STEP] += 1
            count += passes
            before, after = after, before
        report(samples, out, states, before)
        samples.iterations[out] = count
    return samples.q.shape[0], DONE, end


@wrapper
def march_independent(mechanism, choice, settings, ranks, h, t0, every, samples):
    """`steps.newmark.kernels.march.march` of the Matrix R formulation with a `Choice`, which is changed on the way; x
    of the samples holds the memory of the independent coordinates in its first columns, ranks log |det W|."""
    return _marched(mechanism, choice, settings, ranks, Pace(float(h), float(t0), every, NOT_HELD), samples)


@wrapper
def march_independent_held(mechanism, choice, settings, ranks, held, samples):
    """`march_independent` by the steps of another march, time and length of each (k, 2), and every state reported."""
    return _marched(mechanism, choice, settings, ranks, Pace(0.0, float(held[0, 0]), 1, held), samples)


def _marched(mechanism, choice, settings, ranks, pace, samples):
    work, solver, states = make_work(mechanism), make_solver(mechanism), make_workspace(mechanism, samples)
    return _march_independent(mechanism, work, solver, choice, settings, states, ranks, pace, samples)
