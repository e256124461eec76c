"""Marches with implicit steps of Matrix R: the whole loop compiled."""

from __future__ import annotations

import math

import numpy as np

from mechgrad.dynamics.kernels.accelerations import CHANGE_POINT, DEAD_POINT, DONE, INTERRUPTED
from mechgrad.dynamics.kernels.saddle import log_root_det, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.interrupt import ask, first_asked
from mechgrad.kernels.jit import inner, kernel, runtime_int, wrapper
from mechgrad.kernels.records import refer
from mechgrad.steps.matrix_r.kernels.choice import HOLDS, LIMIT, NAMED, NOW, RANK, STEP, spread
from mechgrad.steps.matrix_r.kernels.step import (
    begin_choice,
    choose_again,
    factor_W,
    independent_step,
    look,
    orientation,
    place_chosen,
)
from mechgrad.steps.newmark.kernels.march import guess, make_workspace, report

LEAP = 0.5  # beside the largest velocity: what accelerations may leave unexplained near a dead point


@inner
def _leaps(v0, a0, v, a, h):
    """Whether velocities change by far more than accelerations account for: thrown back from a dead point."""
    change, speed = 0.0, 0.0
    for j in range(v.size):
        change = max(change, abs(v[j].real - v0[j].real - 0.5 * h * (a0[j].real + a[j].real)))
        speed = max(speed, abs(v0[j].real), abs(v[j].real))
    return change > LEAP * speed


@inner
def _renewed(T, w, s, c, q0, v0, a0, x0, solved, t, scalar):
    """After a change of choice: the memory of coordinates that were chosen anew is their second rate. Returns the
    orientation of W."""
    place_chosen(T, w, c, q0, v0, a0, t, scalar)
    if not c.counts[NAMED]:
        for k in range(c.pick.size - c.counts[RANK]):
            x0[k] = w.seconds[c.pick[c.counts[RANK] + k]]
            solved[k] = x0[k]
    factor_W(T, w, s, c, scalar)
    return orientation(s.P, s.pivots_P, v0.size)


@kernel
def _march_independent(T, w, s, c, p, o, ranks, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    T, w, s, c, p, o = refer(T), refer(w), refer(s), refer(c), refer(p), refer(o)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    q0, v0, a0, x0, q, v, a, x = o.q0, o.v0, o.a0, o.x0, o.q, o.v, o.a, o.x
    factored, step, known = (
        runtime_int(0),
        runtime_int(0),
        runtime_int(0),
    )  # known: steps since the coordinates were chosen
    facing = begin_choice(T, w, s, c, q0, v0, t0, scalar)
    asked = first_asked(o.v.size + o.lam.size)
    rest = asked
    for out in range(1, Q.shape[0]):
        count = 0
        for _ in range(every):
            rest -= 1
            if rest <= 0:
                asked = ask(w.listener[0], asked)
                rest = asked
                if asked < 0:
                    return out, INTERRUPTED, t0 + step * h
            changed = look(T, w, s, c, q0, v0, t0 + step * h, scalar)
            step += 1
            tried = False
            while True:
                if changed:
                    facing = _renewed(T, w, s, c, q0, v0, a0, x0, o.solved, t0 + (step - 1) * h, scalar)
                    known, factored, ranks[1], ranks[2] = 0, 0, math.nan, math.nan
                known += 1
                guess(x, o.solved, o.before, o.older, known)
                reason, passes, factored = independent_step(
                    T, w, s, c, p, h, t0 + step * h, q0, v0, a0, x0, q, v, a, x, o.lam, o.d, o.z, o.solved, o.norms,
                    factored, scalar,
                )  # fmt: skip
                size = c.sizes[NOW]
                if reason == DONE and not c.counts[HOLDS]:
                    size = spread(s, c)
                    if size > c.sizes[LIMIT] and _leaps(v0, a0, v, a, h):
                        reason = DEAD_POINT
                if reason == DONE and orientation(s.P, s.pivots_P, v0.size) * facing < 0.0:
                    reason = DEAD_POINT
                if reason == DONE or tried or c.counts[HOLDS]:
                    break
                # the best choice may carry the step where that of some time ago did not
                tried = True
                changed = choose_again(T, w, s, c, q0, v0, t0 + (step - 1) * h, np.inf, scalar)
                if not changed:
                    break
            if reason != DONE:
                for j in range(q0.size):
                    c.last[j] = q0[j].real
                return out, reason, t0 + step * h
            if not c.counts[HOLDS]:
                ranks[0], ranks[1], ranks[2] = ranks[1], ranks[2], 2.0 * log_root_det(s.P, v0.size)
                if touches_zero(ranks[0], ranks[1], ranks[2]):
                    return out, CHANGE_POINT, t0 + (step - 1) * h
            c.sizes[NOW] = size
            c.counts[STEP] += 1
            count += passes
            q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        report(out, o, q0, v0, a0, x0, Q, V, A, X, L, S, norms)
        iterations[out] = count
    return Q.shape[0], DONE, t0 + step * h


@wrapper
def march_independent(T, c, p, ranks, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    """`march` of the Matrix R formulation with the `Choice` c, which is changed on the way; X holds the memory of the
    independent coordinates in its first columns, ranks log |det W|."""
    w, s, o = make_work(T), make_solver(T), make_workspace(T, Q, V, A, X, L)
    return _march_independent(T, w, s, c, p, o, ranks, h, t0, every, Q, V, A, X, L, S, norms, iterations)
