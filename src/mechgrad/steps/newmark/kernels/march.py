"""Marches with implicit steps, fixed or controlled, of any formulation: the whole loop compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.accelerations import CHANGE_POINT, DONE, INTERRUPTED
from mechgrad.dynamics.kernels.saddle import FELT_ONCE, log_root_det, nearly_lost, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.columns import put_row
from mechgrad.kernels.interrupt import ask, first_asked
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, wrapper
from mechgrad.kernels.records import refer
from mechgrad.model.joints.base import BALL, REVOLUTE
from mechgrad.model.mechanism import N_ALL, N_HOLONOMIC, N_ROWS
from mechgrad.model.tree import KIND, V_AT
from mechgrad.steps.newmark.kernels.fixed_point import fixed_point_step
from mechgrad.steps.newmark.kernels.step import implicit_step

SHARP = math.log(8.0)  # a fall of s in one step that only folds have
NEAR = 1e-4  # squares of singular values, beside the scales of rows, that count as nearly lost
BESIDE = 10.0  # s^2 beside the turn that violations amount to: less, and they may hide a fold


@inlined
def guess(x, solved, before, older, step):
    """First guess of the memory x at the next instant, extrapolated from the last three that Newton's iteration found
    (before projections, which would disturb it); shifts them by one."""
    for j in range(x.size):
        if step > 3:
            x[j] = 3.0 * (solved[j] - before[j]) + older[j]
        elif step > 2:
            x[j] = 2.0 * solved[j] - before[j]
        else:
            x[j] = solved[j]
        older[j] = before[j]
        before[j] = solved[j]


@inlined
def felt_once(p):
    """What `nearly_lost` compares with first: nothing where constraints yield, since such marches are watched only if
    no rows depend on each other."""
    return 0.0 if p.compliant else 0.01 * FELT_ONCE


@inner
def _turn_of_violations(T, w):
    """By how far joints would have to turn to close what constraints leave open [rad]."""
    n, most, lever = T.columns_i.shape[0], 0.0, 0.0
    for k in range(T.ints[N_HOLONOMIC]):
        most = max(most, abs(w.values[k]))
        for i in range(T.atoms_i.shape[0]):
            if T.atoms_i[i, KIND] == REVOLUTE or T.atoms_i[i, KIND] == BALL:
                lever = max(lever, abs(w.J[k * n + T.atoms_i[i, V_AT]]))
    return most / lever if most < lever else 0.0


@inner
def felt_again(T, w, p, s):
    """What `nearly_lost` compares with, so that it sees squared singular values s^2, beside their scales, below NEAR.

    At a fold a link is an angle y from its line, s ~ y, and constraints that are open by a turn y^2 / 2 let it pass
    beside: what is that near counts too.
    """
    share, near = 0.0, max(NEAR, BESIDE * _turn_of_violations(T, w))
    for k in range(p.scales.size):
        share = max(share, abs(s.eps_watch[k]) / p.scales[k])
    return share / (near + share)


class Workspace(NamedTuple):
    """Room of a march: states before and after a step, and what guesses remember; see `march` for the letters."""

    q0: np.ndarray
    v0: np.ndarray
    a0: np.ndarray
    x0: np.ndarray
    lam: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    x: np.ndarray
    d: np.ndarray
    solved: np.ndarray
    before: np.ndarray
    older: np.ndarray
    norms: np.ndarray
    spare: np.ndarray  # (n_v,)
    lam1: np.ndarray
    z: np.ndarray  # of the independent coordinates: six vectors


def make_workspace(T, Q, V, A, X, L):
    """Room that holds the state in row 0."""
    q, v, a, x, lam = Q[0], V[0], A[0], X[0], L[0]
    z = np.empty(6 * int(T.ints[N_ALL] - T.ints[N_ROWS]), Q.dtype)  # at most: some of these rows are chosen
    return Workspace(
        q.copy(), v.copy(), a.copy(), x.copy(), lam.copy(), q.copy(), v.copy(), a.copy(), x.copy(), v.copy(), x.copy(),
        x.copy(), x.copy(), np.zeros(6), v.copy(), lam.copy(), z,
    )  # fmt: skip


@inlined
def report(out, o, q, v, a, x, Q, V, A, X, L, S, norms):
    """The state after a step into row `out`."""
    put_row(Q, out, q)
    put_row(V, out, v)
    put_row(A, out, a)
    put_row(X, out, x)
    put_row(L, out, o.lam)
    put_row(S, out, o.solved)
    put_row(norms, out, o.norms)


@kernel
def _march(T, w, s, p, o, ranks, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    T, w, s, p, o = refer(T), refer(w), refer(s), refer(p), refer(o)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    q0, v0, a0, x0, q, v, a, x = o.q0, o.v0, o.a0, o.x0, o.q, o.v, o.a, o.x
    factored, step, n, m = runtime_int(0), runtime_int(0), o.v.size, o.lam.size
    asked = first_asked(n + m)
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
            step += 1
            guess(x, o.solved, o.before, o.older, step)
            reason, passes, factored = implicit_step(
                T,
                w,
                s,
                p,
                h,
                t0 + step * h,
                q0,
                v0,
                a0,
                x0,
                q,
                v,
                a,
                x,
                o.lam,
                o.d,
                o.solved,
                o.norms,
                factored,
                scalar,
            )
            if reason != DONE:
                return out, reason, t0 + step * h
            if p.watch and m:
                ranks[0], ranks[1], ranks[2] = ranks[1], ranks[2], log_root_det(s.S, n + m)
                # a step that ends on the fold itself, where the motion may stay, is known by its fall
                if (
                    ranks[0] - ranks[1] > SHARP
                    or touches_zero(ranks[0], ranks[1], ranks[2])
                    or nearly_lost(s.S, s.pivots_S, s.J, s.eps_watch, felt_once(p), felt_again(T, w, p, s), n, m, s.x)
                ):
                    return out, CHANGE_POINT, t0 + (step - 1) * h
            count += passes
            q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        report(out, o, q0, v0, a0, x0, Q, V, A, X, L, S, norms)
        iterations[out] = count
    return Q.shape[0], DONE, t0 + step * h


@wrapper
def march(T, p, ranks, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    """Steps h from the states in row 0 of Q, V, A, X, L; every `every`-th state goes to the next row, and with it S,
    the memory as Newton's iteration left it before projections.

    ranks: log s at the last three steps (`touches_zero`), goes on from call to call; `no_ranks` to begin with. t0: time
    of row 0. norms: as `implicit_step` leaves them. Returns (rows written, reason, time).
    """
    w, s, o = make_work(T), make_solver(T), make_workspace(T, Q, V, A, X, L)
    return _march(T, w, s, p, o, ranks, h, t0, every, Q, V, A, X, L, S, norms, iterations)


@kernel
def _march_fixed_point(T, w, p, o, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    T, w, p, o = refer(T), refer(w), refer(p), refer(o)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    q0, v0, a0, x0, q, v, a, x = o.q0, o.v0, o.a0, o.x0, o.q, o.v, o.a, o.x
    step = runtime_int(0)
    asked = first_asked(o.v.size)
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
            step += 1
            guess(x, o.solved, o.before, o.older, step)
            reason, passes = fixed_point_step(
                T, w, p, h, t0 + step * h, q0, v0, a0, x0, q, v, a, x, o.d, o.spare, o.solved, scalar
            )
            if reason != DONE:
                return out, reason, t0 + step * h
            count += passes
            q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        report(out, o, q0, v0, a0, x0, Q, V, A, X, L, S, norms)
        iterations[out] = count
    return Q.shape[0], DONE, t0 + step * h


@wrapper
def march_fixed_point(T, p, ranks, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    """`march` by fixed-point iteration on the accelerations, for mechanisms without constraints (and ranks)."""
    w, o = make_work(T), make_workspace(T, Q, V, A, X, L)
    return _march_fixed_point(T, w, p, o, h, t0, every, Q, V, A, X, L, S, norms, iterations)
