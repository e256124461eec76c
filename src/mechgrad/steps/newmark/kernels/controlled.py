"""Marches with implicit steps that control their error: what a step misses beside its share of the tolerances."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.saddle import log_root_det, next_rank, saddle_factor, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.state_accelerations import (
    CHANGE_POINT,
    DONE,
    INTERRUPTED,
    NOT_CONVERGED,
    SINGULAR,
    TOO_MANY,
    TOO_SMALL,
)
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.dynamics.kernels.tangent_step import displace
from mechgrad.kernels.interrupt import begin_listening, interrupted
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, spliced, wrapper
from mechgrad.kernels.lu import lu_solve
from mechgrad.kernels.records import refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.steps.newmark.kernels.march import rank_nearly_lost
from mechgrad.steps.newmark.kernels.march_states import LEFT, LOOSE, make_workspace
from mechgrad.steps.newmark.kernels.step import implicit_step, largest_turn

# step control: safety, and by how much a step may shrink or grow; never less than that after a rejection
SAFETY, SHRINK, GROW, SHORTER = 0.9, 0.2, 3.0, 0.9
SHORTEST, LAST = 1e-13, 1e-12  # steps beside the times of a march: too short ones; what a last one may add
LEAST = 1e-3  # errors and turns that count as that when a rejected step is made shorter
# squares of singular values of rows, beside their scales: below the first steps are kept as short as folds need, below
# the second they are held
NEAR_FOLD, NEARLY_LOST = 1e-2, 1e-4
LARGEST_TURN = 0.02  # of a joint in a step [rad],
TURNS_AGAIN = 2.0  # and how many times that make a step too long
NEAR_TURN = 0.4  # near folds, beside the root of the tolerance: errors there go with the square of the turn
NEARLY_NOTHING = 1e-13  # beside the scales of rows: keeps factors regular where rows depend on each other

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
    ],
    align=True,
)


class Limits(NamedTuple):
    """When a march ends [s], its tolerances, and how many steps it may take."""

    end: float
    rtol: float
    atol: float
    most: int


@inlined
def _errors(settings, h, h_before, before, after, states):
    """Local errors of a step into states.error_q and error_v; a' and a'' are differences of accelerations.

    The memory of the scheme stands for accelerations at instants shifted by `shift` steps:

        error_q = h^3 a' (shift / 2 + beta - 1/6)
        error_v = h^2 a' (shift + gamma - 1/2)  +  h^3 a'' ((1 - gamma) shift^2 + gamma (1 + shift)^2 - 1/3) / 2
    """
    gamma, shift = settings.gamma, settings.alpha_m - settings.alpha_f
    of_q, of_v = 0.5 * shift + settings.beta - 1.0 / 6.0, shift + gamma - 0.5
    of_bend = 0.5 * ((1.0 - gamma) * shift * shift + gamma * (1.0 + shift) ** 2 - 1.0 / 3.0)
    older, a0, a, error_q, error_v = states.a_older, before.a, after.a, states.error_q, states.error_v
    for j in range(a.size):
        slope = (a[j] - a0[j]) / h
        bend = 2.0 * (slope - (a0[j] - older[j]) / h_before) / (h + h_before) if h_before > 0.0 else 0.0
        error_q[j] = of_q * h**3 * slope
        error_v[j] = of_v * h * h * slope + of_bend * h**3 * bend


@inlined
def _worst(states, before, after, limits):
    """The largest error beside its tolerance."""
    worst, rtol, atol = 0.0, limits.rtol, limits.atol
    error_q, error_v, d, v0, v = states.error_q, states.error_v, states.d, before.v, after.v
    for j in range(v.size):
        worst = max(worst, abs(error_q[j]) / (atol + rtol * max(abs(d[j]), 1.0)))
        worst = max(worst, abs(error_v[j]) / (atol + rtol * max(abs(v0[j]), abs(v[j]))))
    return worst


@inner
def _keep_tangential(solver, e, m):
    """Take from e what constraints will take away: the nearest vector, by the mass matrix, along which they hold.

    Near a configuration where rows lose their rank accelerations across them are rounding divided by little; that is
    no error of the motion."""
    n, x, M = e.size, solver.x, solver.M
    for j in range(n):
        total = 0.0 * e[0]
        for i in range(n):
            total += M[j * n + i] * e[i]
        x[j] = total
    for k in range(m):
        x[n + k] = 0.0
    lu_solve(solver.S, solver.pivots_S, x, n + m)
    for j in range(n):
        e[j] = x[j]


@inner
def _tangential_errors(work, solver, settings, states):
    """Errors along which constraints hold; False where these have no factors."""
    n, m = states.error_q.size, states.lam.size
    for k in range(m):
        solver.eps_newton[k] = NEARLY_NOTHING * settings.scales[k]
    if not saddle_factor(solver.M, work.J, work.J, solver.eps_newton, n, m, solver.S, solver.pivots_S):
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
    _errors(settings, h, now.h_before, before, after, states)
    error = _worst(states, before, after, limits) / share
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
                error = _worst(states, before, after, limits) / share
        elif not near:
            _projected_errors(settings, states, before, after, h)
            error = max(error, _worst(states, before, after, limits) / share)
    return error, turn, held


@inlined
def _may_go_on(work, limits, now):
    """DONE, or the reason why a march ends before its next step."""
    if interrupted(work.listener, work.countdown):
        return INTERRUPTED
    if now.steps + now.rejected >= limits.most:
        return TOO_MANY
    if now.h < SHORTEST * max(abs(now.t), limits.end - now.start):
        return TOO_SMALL
    return DONE


@inlined
def _begin_trial(states, before, after):
    """The first guesses of a step: multipliers and memory as before."""
    for k in range(states.lam.size):
        states.lam[k] = states.lam_before[k]
    for j in range(after.x.size):
        after.x[j] = before.x[j]


@inlined
def _reject(now, h):
    now.h, now.growth, now.rejected = h, 1.0, now.rejected + 1


@inner
def _report_between(mechanism, states, before, after, now, h, t_out, row, samples):
    """The state at an instant of the step that begins now, by cubics through its ends, into a line of the samples."""
    u = (t_out - now.t) / h
    v0, a0, x0, v, a, x, d = before.v, before.a, before.x, after.v, after.a, after.x, states.d
    part, V, A, X, S, lam = states.error_q, samples.v, samples.a, samples.x, samples.solved, states.lam_before
    for j in range(v.size):
        # the step from q0 with its rates, and the velocity with its rates
        rise = d[j] - h * v0[j]
        bend = h * (v[j] - v0[j]) - 2.0 * rise
        part[j] = h * v0[j] * u + (rise - bend) * u * u + bend * u * u * u
        rise = v[j] - v0[j] - h * a0[j]
        bend = h * (a[j] - a0[j]) - 2.0 * rise
        V[row, j] = v0[j] + h * a0[j] * u + (rise - bend) * u * u + bend * u * u * u
        A[row, j] = a0[j] + (a[j] - a0[j]) * u
        X[row, j] = x0[j] + (x[j] - x0[j]) * u
        S[row, j] = X[row, j]
    displace(mechanism.atoms_i, before.q, part, samples.q[row])
    for k in range(lam.size):
        samples.lam[row, k] = lam[k] + (states.lam[k] - lam[k]) * u
    put_row(samples.norms, row, states.norms)
    samples.iterations[row] = now.iterations
    now.iterations = 0


@inlined
def _accept(states, before, now, end, h):
    """Go on from the end of a step."""
    for k in range(states.lam.size):
        states.lam_before[k] = states.lam[k]
    for j in range(before.a.size):
        states.a_older[j] = before.a[j]
    now.t, now.h_before = end, h


@inlined
def _next_length(now, h, error, turn, held):
    """The length of the step after one of length h. Where rows nearly lose their rank, steps stay as they were:
    accelerations across these rows are rounding divided by little, and by the square of the step; the motion is as
    smooth as before."""
    growth = 1.0 if held else now.growth
    longer = h * min(growth, GROW if error == 0.0 else max(1.0 if held else SHRINK, SAFETY * error**-0.5))
    return min(longer, h / turn) if turn > 0.0 else longer


@inlined
def _keep(states, state):
    """Note where a march ended, from which it goes on."""
    start = states.before
    for j in range(state.q.size):
        start.q[j] = state.q[j]
    for j in range(state.v.size):
        start.v[j], start.a[j], start.x[j] = state.v[j], state.a[j], state.x[j]


@kernel
def _march_controlled(mechanism, work, solver, settings, states, ranks, progress, limits, t_out, first, samples):
    mechanism, work, solver, settings = refer(mechanism), refer(work), refer(solver), refer(settings)
    states, limits, samples = refer(states), refer(limits), refer(samples)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    before, after, now = states.before, states.after, progress[0]
    m, out, reason = mechanism.n_constraints, first, DONE
    begin_listening(work.countdown, mechanism.n_v + m)
    while out < t_out.size:
        reason = _may_go_on(work, limits, now)
        if reason != DONE:
            break
        last = now.t + now.h >= limits.end - LAST * (limits.end - now.start)
        h = limits.end - now.t if last else now.h
        _begin_trial(states, before, after)
        reason, passes, _ = implicit_step(
            mechanism, work, solver, settings, states, before, after, h, now.t + h, runtime_int(0), scalar
        )
        now.iterations += passes
        if reason in (NOT_CONVERGED, SINGULAR):
            _reject(now, h * SHRINK)
            continue
        if reason != DONE:
            break
        error, turn, held = _judged(mechanism, work, solver, settings, states, before, after, limits, now, h)
        if (error > 1.0 and not held) or turn > TURNS_AGAIN:
            shorter = h * max(SHRINK, min(SAFETY * max(error, LEAST) ** -0.5, 1.0 / max(turn, LEAST)))
            _reject(now, min(shorter, SHORTER * h))
            continue
        end = limits.end if last else now.t + h
        now.steps += 1
        if settings.watch and m:
            next_rank(ranks, log_root_det(solver.S, mechanism.n_v + m))
            if touches_zero(ranks[0], ranks[1], ranks[2]) or rank_nearly_lost(mechanism, work, solver, settings):
                reason = CHANGE_POINT
                break
        while out < t_out.size and t_out[out] <= end:
            _report_between(mechanism, states, before, after, now, h, t_out[out], out + 1, samples)
            out += 1
        _accept(states, before, now, end, h)
        if not last:
            now.h = _next_length(now, h, error, turn, held)
        now.growth = GROW
        before, after = after, before
    _keep(states, before)
    return out + 1, reason


@wrapper
def controlled_workspace(mechanism, samples, t0, h):
    """What a march with control keeps between its parts; it begins with line 0 of its samples at t0, with a step h."""
    progress = np.zeros(1, PROGRESS)
    progress["start"], progress["t"], progress["h"], progress["growth"] = t0, t0, h, GROW
    return make_work(mechanism), make_solver(mechanism), make_workspace(mechanism, samples), progress


@wrapper
def march_controlled(mechanism, workspace, settings, ranks, limits, t_out, first, samples):
    """Steps whose local error, in proportion to their length, stays within tolerance.

    From line `first` of a `Samples` to those of the instants t_out (sorted; line k + 1 is t_out[k]), by cubic
    interpolation; workspace: `controlled_workspace`, whose `PROGRESS` says where the march stands, and from where it
    goes on; ranks: log s at three steps (`no_ranks`). Returns (lines written in all, reason).
    """
    work, solver, states, progress = workspace
    return _march_controlled(
        mechanism, work, solver, settings, states, ranks, progress, limits, t_out, first, samples
    )  # fmt: skip
