"""Marches with implicit steps that control their error: what a step misses beside its share of the tolerances."""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.saddle import log_root_det, next_rank, saddle_factor, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.sparse import lost_digits, put_product, solve_factored
from mechgrad.dynamics.kernels.state_accelerations import (
    CHANGE_POINT,
    DONE,
    NOT_CONVERGED,
    SINGULAR,
    TOO_FEW_DIGITS,
)
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.interrupt import begin_listening
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, spliced, wrapper
from mechgrad.kernels.records import refer
from mechgrad.steps.newmark.kernels.fixed_point import fixed_point_step
from mechgrad.steps.newmark.kernels.march import rank_nearly_lost
from mechgrad.steps.newmark.kernels.march_states import LEFT, LOOSE, make_workspace
from mechgrad.steps.newmark.kernels.step import implicit_step, largest_turn
from mechgrad.steps.newmark.kernels.step_length import (
    GROW,
    SHRINK,
    accept,
    begin_trial,
    error_factors,
    is_last,
    keep,
    make_progress,
    may_go_on,
    next_length,
    put_errors,
    reject,
    report_ends,
    shorter,
    waits,
    worst_error,
)

# squares of singular values of rows, beside their scales: below the first steps are kept as short as folds need, below
# the second they are held
NEAR_FOLD, NEARLY_LOST = 1e-2, 1e-4
LARGEST_TURN = 0.02  # of a joint in a step [rad],
TURNS_AGAIN = 2.0  # and how many times that make a step too long
NEAR_TURN = 0.4  # near folds, beside the root of the tolerance: errors there go with the square of the turn
NEARLY_NOTHING = 1e-13  # beside the scales of rows: keeps factors regular where rows depend on each other


@inner
def _keep_tangential(solver, e, m):
    """Take from e what constraints will take away: the nearest vector, by the mass matrix, along which they hold.

    Near a configuration where rows lose their rank accelerations across them are rounding divided by little; that is
    no error of the motion."""
    n, x = e.size, solver.x
    put_product(solver.sparse, solver.M, e, x)
    for k in range(m):
        x[n + k] = 0.0
    solve_factored(solver.sparse, solver.S, solver.pivots_S, x, n + m)
    for j in range(n):
        e[j] = x[j]


@inner
def _tangential_errors(work, solver, settings, states):
    """Errors along which constraints hold; False where these have no factors."""
    n, m = states.error_q.size, states.lam.size
    for k in range(m):
        solver.eps_newton[k] = NEARLY_NOTHING * settings.scales[k]
    if not saddle_factor(solver.sparse, solver.M, work.J, work.J, solver.eps_newton, n, m, solver.S, solver.pivots_S):
        return False
    _keep_tangential(solver, states.error_q, m)
    _keep_tangential(solver, states.error_v, m)
    return True


@inlined
def _projected_errors(settings, states, before, after, h):
    """What the projection takes from velocities is the change of accelerations across the rows, whatever these are at
    both ends of the step: h^2 a' / 6."""
    gamma, x0, solved, v0, v = settings.gamma, before.x, states.solved, before.v, after.v
    for j in range(v.size):
        states.error_q[j] = 0.5 * h * (v[j] - v0[j] - h * ((1.0 - gamma) * x0[j] + gamma * solved[j]))
        states.error_v[j] = 0.0


@spliced
def _judged(mechanism, work, solver, settings, states, before, after, limits, now, h):
    """The error of a step and its turn, each beside what is allowed, and whether its length is to be held."""
    share = h / (limits.end - now.start)
    factors, older, error_q, error_v = error_factors(settings), states.a_older, states.error_q, states.error_v
    put_errors(factors, h, now.h_before, older, before.a, after.a, error_q, error_v)
    error = worst_error(states, before, after, limits) / share
    held, turn = False, 0.0
    if settings.projection != 0.0 and states.lam.size:
        # every pass of a projection leaves the share eps / (eps + s^2) of a defect
        left, loose = states.norms[LEFT], states.norms[LOOSE]
        least = loose * (left ** (-1.0 / (settings.passes + 1)) - 1.0) if left > 0.0 else 1.0
        near, held = least < NEAR_FOLD, least < NEARLY_LOST
        allowed = min(LARGEST_TURN, NEAR_TURN * math.sqrt(limits.rtol + limits.atol)) if near else LARGEST_TURN
        turn = largest_turn(mechanism.atoms_i, states.d) / allowed
        if near and error > 1.0:
            if _tangential_errors(work, solver, settings, states):
                error = worst_error(states, before, after, limits) / share
        elif not near:
            _projected_errors(settings, states, before, after, h)
            error = max(error, worst_error(states, before, after, limits) / share)
    return error, turn, held


@spliced
def _noticed(mechanism, work, solver, settings, ranks):
    """Whether rows lose their rank at the end of a step, if that matters."""
    if not settings.watch or not mechanism.n_constraints:
        return False
    next_rank(ranks, log_root_det(solver.sparse, solver.S, mechanism.n_v + mechanism.n_constraints))
    return touches_zero(ranks[0], ranks[1], ranks[2]) or rank_nearly_lost(mechanism, work, solver, settings)


@kernel
def _march_controlled(mechanism, work, solver, settings, states, ranks, progress, limits, newton, fixed_point, wanted):
    mechanism, work, solver, settings = refer(mechanism), refer(work), refer(solver), refer(settings)
    states, limits, wanted = refer(states), refer(limits), refer(wanted)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    before, after, now, t_out, path = states.before, states.after, progress[0], wanted.t_out, wanted.path
    out, reason = wanted.first, DONE
    begin_listening(work.countdown, mechanism.n_v + mechanism.n_constraints)
    while out < t_out.size and now.noted < path.shape[0]:
        reason = may_go_on(work, limits, now)
        if reason != DONE:
            break
        last = is_last(now, limits)
        h = limits.end - now.t if last else now.h
        begin_trial(states, before, after)
        # branches on None vanish before types are looked at: only one of both is compiled
        if fixed_point is not None:
            reason, passes = fixed_point_step(mechanism, work, settings, states, before, after, h, now.t + h, scalar)
        if newton is not None:
            reason, passes, _ = implicit_step(
                mechanism, work, solver, settings, states, before, after, h, now.t + h, runtime_int(0), scalar
            )
        now.iterations += passes
        if lost_digits(solver.sparse):
            reason = TOO_FEW_DIGITS
            break
        if reason in (NOT_CONVERGED, SINGULAR):
            reject(now, h * SHRINK)
            continue
        if reason != DONE:
            break
        error, turn, held = _judged(mechanism, work, solver, settings, states, before, after, limits, now, h)
        if (error > 1.0 and not held) or turn > TURNS_AGAIN:
            reject(now, shorter(h, error, turn))
            continue
        if lost_digits(solver.sparse):
            reason = TOO_FEW_DIGITS
            break
        end = limits.end if last else now.t + h
        now.steps += 1
        if newton is not None and _noticed(mechanism, work, solver, settings, ranks):
            reason = CHANGE_POINT
            break
        while out < t_out.size and t_out[out] <= end:
            report_ends(states, before, after, now, out, wanted.ends)
            out += 1
        accept(states, now, path, end, h, before.a)
        if not last:
            now.h = next_length(now, h, error, turn, held)
        now.growth = GROW
        before, after = after, before
    keep(states, before)
    if reason == DONE:
        reason = waits(work, out, t_out.size)
    return out, reason


@wrapper
def controlled_workspace(mechanism, samples, t0, h, sparse=None):
    """What a march with control keeps between its calls; it begins with line 0 of its samples at t0, with a step h.

    sparse: where entries of matrices are (`dynamics.elimination`), or None: they are dense
    """
    work, solver = make_work(mechanism, sparse=sparse), make_solver(mechanism, sparse=sparse)
    return work, solver, make_workspace(mechanism, samples), make_progress(t0, h)


@wrapper
def march_controlled(mechanism, workspace, settings, ranks, limits, wanted):
    """Steps whose local error, in proportion to their length, stays within tolerance.

    workspace: `controlled_workspace`, whose `PROGRESS` says where the march stands, and from where it goes on; wanted:
    what it reports, from wanted.first on; ranks: log s at three steps (`no_ranks`). Returns (instants done, reason),
    TOO_FEW_DIGITS where sparse factors lost them.
    """
    return _called(mechanism, workspace, settings, ranks, limits, (1, None), wanted)


@wrapper
def march_controlled_fixed_point(mechanism, workspace, settings, ranks, limits, wanted):
    """`march_controlled` by fixed-point iteration on the accelerations, for mechanisms without constraints."""
    return _called(mechanism, workspace, settings, ranks, limits, (None, 1), wanted)


def _called(mechanism, workspace, settings, ranks, limits, way, wanted):
    work, solver, states, progress = workspace
    progress["noted"] = 0
    return _march_controlled(mechanism, work, solver, settings, states, ranks, progress, limits, *way, wanted)
