"""Marches with implicit steps of one length, of any formulation: the whole loop compiled."""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.saddle import SHARE_ONCE, log_root_det, nearly_lost, next_rank, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.sparse import column_of, first_entry, lost_digits
from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT, DONE, INTERRUPTED, TOO_FEW_DIGITS
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.interrupt import begin_listening, interrupted
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, spliced, wrapper
from mechgrad.kernels.records import refer
from mechgrad.kinematics.kernels.header import column_atom
from mechgrad.model.joints.base import BALL, REVOLUTE
from mechgrad.model.tree import KIND, V_AT
from mechgrad.steps.newmark.kernels.fixed_point import fixed_point_step
from mechgrad.steps.newmark.kernels.march_states import NOT_HELD, Pace, first_guess, make_workspace, pace_of, report
from mechgrad.steps.newmark.kernels.step import implicit_step

SHARP = math.log(8.0)  # a fall of s in one step that only folds have
NEAR = 1e-4  # squares of singular values, beside the scales of rows, that count as nearly lost
BESIDE = 10.0  # s^2 beside the turn that violations amount to: less, and they may hide a fold
WATCHED_SHARE = 0.01  # of what eps leaves elsewhere: factors of a step see a fold that far off


@inlined
def share_once(settings):
    """What `nearly_lost` compares with first: nothing where constraints yield, since such marches are watched only if
    no rows depend on each other."""
    return 0.0 if settings.compliant else WATCHED_SHARE * SHARE_ONCE


@inner
def _turn_of_violations(mechanism, work, sparse):
    """By how far joints would have to turn to close what constraints leave open [rad]."""
    n, most, lever, atoms_i = mechanism.n_v, 0.0, 0.0, mechanism.atoms_i
    for k in range(mechanism.n_holonomic):
        most = max(most, abs(work.values[k]))
        for e in range(first_entry(sparse, k, n), first_entry(sparse, k + 1, n)):
            j = column_of(sparse, e, k, n)
            i = column_atom(mechanism.ints, j)
            if (atoms_i[i, KIND] == REVOLUTE or atoms_i[i, KIND] == BALL) and j == atoms_i[i, V_AT]:
                lever = max(lever, abs(work.J[e]))
    return most / lever if most < lever else 0.0


@inner
def share_again(mechanism, work, solver, settings):
    """What `nearly_lost` compares with, so that it sees squared singular values s^2, beside their scales, below NEAR.

    At a fold a link is an angle y from its line, s ~ y, and constraints that are open by a turn y^2 / 2 let it pass
    beside: what is that near counts too.
    """
    share, near = 0.0, max(NEAR, BESIDE * _turn_of_violations(mechanism, work, solver.sparse))
    for k in range(settings.scales.size):
        share = max(share, abs(solver.eps_watch[k]) / settings.scales[k])
    return share / (near + share)


@spliced
def rank_nearly_lost(mechanism, work, solver, settings):
    """Whether rows hardly hold some direction in the state after a step."""
    once, again = share_once(settings), share_again(mechanism, work, solver, settings)
    n, m = mechanism.n_v, mechanism.n_constraints
    J, eps = solver.J, solver.eps_watch
    return nearly_lost(solver.sparse, solver.S, solver.pivots_S, J, eps, once, again, n, m, solver.x)


@spliced
def _meets_fold(mechanism, work, solver, settings, ranks, even):
    """Whether rows lost their rank in one of the last steps, if that matters; ranks: log s there (`touches_zero`);
    even: whether steps have one length."""
    if not settings.watch or not mechanism.n_constraints:
        return False
    next_rank(ranks, log_root_det(solver.sparse, solver.S, mechanism.n_v + mechanism.n_constraints))
    # a step that ends on the fold itself, where the motion may stay, is known by its fall
    if (even and ranks[0] - ranks[1] > SHARP) or touches_zero(ranks[0], ranks[1], ranks[2]):
        return True
    return rank_nearly_lost(mechanism, work, solver, settings)


@kernel
def _march(mechanism, work, solver, settings, states, ranks, pace, newton, fixed_point, samples):
    mechanism, work, solver, settings = refer(mechanism), refer(work), refer(solver), refer(settings)
    states, pace, samples = refer(states), refer(pace), refer(samples)
    scalar = mechanism.atoms_f[0, 0] * 0.0
    begin(mechanism, work, scalar)
    before, after = states.before, states.after
    even, end = pace.held.size == 0, pace.t0
    factored, step = runtime_int(0), runtime_int(0)
    begin_listening(work.countdown, mechanism.n_v + mechanism.n_constraints)
    for out in range(1, samples.q.shape[0]):
        count = 0
        for _ in range(pace.every):
            if interrupted(work.listener, work.countdown):
                return out, INTERRUPTED, end
            step += 1
            now, end, h = pace_of(pace, step, end)
            first_guess(pace, states, before, after.x, step)
            if not even:
                factored = 0
            # branches on None vanish before types are looked at: only one of both is compiled
            if fixed_point is not None:
                reason, passes = fixed_point_step(mechanism, work, settings, states, before, after, h, end, scalar)
            if newton is not None:
                reason, passes, factored = implicit_step(
                    mechanism, work, solver, settings, states, before, after, h, end, factored, scalar
                )
            if lost_digits(solver.sparse):
                return out, TOO_FEW_DIGITS, now
            if reason != DONE:
                return out, reason, end
            if newton is not None and _meets_fold(mechanism, work, solver, settings, ranks, even):
                return out, CHANGE_POINT, now
            count += passes
            before, after = after, before
        report(samples, out, states, before)
        samples.iterations[out] = count
    return samples.q.shape[0], DONE, end


def _marched(mechanism, settings, ranks, pace, way, samples, sparse=None):
    work, solver = make_work(mechanism, sparse=sparse), make_solver(mechanism, sparse=sparse)
    states = make_workspace(mechanism, samples)
    return _march(mechanism, work, solver, settings, states, ranks, pace, *way, samples)


@wrapper
def march(mechanism, settings, ranks, h, t0, every, samples, sparse=None):
    """Steps h from line 0 of a `Samples`; every `every`-th state goes to the next line.

    ranks: log s at the last three steps (`touches_zero`), goes on from call to call; `no_ranks` to begin with. t0: time
    of line 0. sparse: where entries of matrices are (`dynamics.elimination`), or None: they are dense. Returns (lines
    written, reason, time).
    """
    return _marched(mechanism, settings, ranks, Pace(float(h), float(t0), every, NOT_HELD), (1, None), samples, sparse)


@wrapper
def march_fixed_point(mechanism, settings, ranks, h, t0, every, samples):
    """`march` by fixed-point iteration on the accelerations, for mechanisms without constraints (and ranks)."""
    return _marched(mechanism, settings, ranks, Pace(float(h), float(t0), every, NOT_HELD), (None, 1), samples)


@wrapper
def march_held(mechanism, settings, ranks, held, samples, sparse=None):
    """`march` by the steps of another one, time and length of each (k, 2); the state after each goes to the next
    line."""
    return _marched(mechanism, settings, ranks, Pace(0.0, float(held[0, 0]), 1, held), (1, None), samples, sparse)


@wrapper
def march_held_fixed_point(mechanism, settings, ranks, held, samples):
    """`march_held` by fixed-point iteration."""
    return _marched(mechanism, settings, ranks, Pace(0.0, float(held[0, 0]), 1, held), (None, 1), samples)
