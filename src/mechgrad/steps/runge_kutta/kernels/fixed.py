"""Explicit Runge-Kutta marches of any mechanism: the whole loop compiled.

    q' = N(q) v        v' = a(q, v, t)            (`dynamics.kernels.accelerations`)

N is the unit matrix but for Euler parameters e of a ball, e' = (0, w) e / 2 with the angular velocity w in parent axes.
Euler parameters are given length one after every step, which no result feels: rotations do not depend on it.

Of a ball the method carries the angular velocity in child axes, u = R(e)^T w with u' = R^T w', so that a body that
spins about one of its own axes has a constant u. With w itself an error of the rotation is one of u times the spin,
which a body near its separatrix blows up: a thousand times the error at the same tolerance. All else (starts, results,
constraints, forces) has w in parent axes.

What a march does about constraints is said by arguments that are None or 1, since a branch on `None` vanishes before
types are looked at: a march compiles only what its kind needs.

With constraints, what the steps leave of their values and rates can be projected away, mass-orthogonally, after every
step; or (Matrix R) every stage takes only its independent coordinates from the method and solves for the others. Which
they are is a `Choice`, which may change between two steps: the state goes on as it is.

Slots of a state y: q (n_q), then v (n_v) with u in place of w. Kernels return how far they came and why they ended.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.accelerations import (
    CHANGE_POINT,
    DEAD_POINT,
    DONE,
    INTERRUPTED,
    saddle_accelerations,
    tree_accelerations,
)
from mechgrad.dynamics.kernels.projection import project_state
from mechgrad.dynamics.kernels.saddle import FELT_AGAIN, FELT_ONCE, log_root_det, nearly_lost, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.host import LANES
from mechgrad.kernels.interrupt import ask, first_asked
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, spliced, wrapper
from mechgrad.kernels.lanes import gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.records import refer
from mechgrad.kernels.rotation import get4, pure_product, put4, rotated, unit
from mechgrad.kernels.vec3 import get3, put3
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.mechanism import N_ALL, N_CONSTRAINTS, N_Q, N_ROWS
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.steps.matrix_r.kernels.choice import HOLDS, NOW, RANK, STEP, spread
from mechgrad.steps.matrix_r.kernels.step import (
    begin_choice,
    choose_again,
    independent,
    look,
    orientation,
    place_chosen,
)

THROWN = 0.01  # beside the largest velocity: a correction that is no correction any more, but another motion


@inner
def rates(atoms_i, q, v, k, at, scalar):
    """q' of all atoms into the slots of k from `at` on."""
    for i in range(atoms_i.shape[0]):
        kind, jq, jv = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e = pure_product(get3(v, jv, scalar), get4(q, jq, scalar))
            put4(k, at + jq, (e[0] * 0.5, e[1] * 0.5, e[2] * 0.5, e[3] * 0.5))
        elif kind != FIXED:
            store(k, at + jq, load(v, jv, scalar))


@inner
def normalise(atoms_i, y, scalar):
    """Euler parameters of length one."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, Q_AT]
            put4(y, j, unit(get4(y, j, scalar)))


@inner
def turn_balls(atoms_i, balls, q, x, at, way, scalar):
    """Vectors of balls in the slots of x from `at` on, in place: from child into parent axes (way 1), or back (-1).

    balls: how many there are, n_q - n_v; without any this is nothing. R(e) = R(e / |e|).
    """
    i = 0
    while balls > 0:
        while atoms_i[i, KIND] != BALL:
            i += 1
        k, j = atoms_i[i, Q_AT], at + atoms_i[i, V_AT]
        i, balls = i + 1, balls - 1
        put3(x, j, rotated(get4(q, k, scalar), get3(x, j, scalar), way))


@inner
def dependent_state(T, w, s, c, q, v, t, z, scalar):
    """Solve for the dependent coordinates; z: room for values and rates of the independent ones, and for the
    orientation of W, which the last solution leaves there."""
    rank = c.counts[RANK]
    free = c.pick.size - rank
    place_chosen(T, w, c, q, v, w.zero, t, scalar)
    for k in range(free):
        z[k], z[free + k] = w.values[c.pick[rank + k]], w.rates[c.pick[rank + k]]
    # quadratic: the next would be rounding
    reason = independent(T, w, s, c, q, v, t, z[:free], z[free : 2 * free], 3e-8, scalar)
    z[z.size - 1] = orientation(s.P, s.pivots_P, T.columns_i.shape[0])
    return reason


@inner
def split(atoms_i, y, n_q, q, v, scalar):
    """q and v of a state."""
    n_v = v.size // width(scalar)
    for j in range(n_q):
        store(q, j, load(y, j, scalar))
    for j in range(n_v):
        store(v, j, load(y, n_q + j, scalar))
    turn_balls(atoms_i, n_q - n_v, q, v, runtime_int(0), 1.0, scalar)


@inner
def joined(atoms_i, q, v, a, n_q, K, stage, scalar):
    """The derivative of a state with accelerations a, into stage `stage` of K."""
    n_v = v.size // width(scalar)
    at = stage * (n_q + n_v)
    rates(atoms_i, q, v, K, at, scalar)
    for j in range(n_v):
        store(K, at + n_q + j, load(a, j, scalar))
    turn_balls(atoms_i, n_q - n_v, q, K, at + n_q, -1.0, scalar)


@spliced
def derivative(T, w, s, c, y, q, v, a, lam, z, t, trees, loops, dependent, K, stage, scalar):
    """y' at y into stage `stage` of K. Returns DONE or a reason to end. c: the `Choice`, where there is one."""
    split(T.atoms_i, y, T.ints[N_Q], q, v, scalar)
    reason = DONE
    if dependent is not None:
        reason = dependent_state(T, w, s, c, q, v, t, z, scalar)
    if trees is not None:
        reason = tree_accelerations(T, w, q, v, scalar * 0.0 + t, a, scalar)
    if loops is not None and reason == DONE:
        reason = saddle_accelerations(T, w, s, q, v, scalar * 0.0 + t, a, lam, scalar)
    joined(T.atoms_i, q, v, a, T.ints[N_Q], K, stage, scalar)
    return reason


@inner
def settle(T, w, s, c, y, q, v, z, t, facing, projected, dependent, scalar):
    """Bring the state y at the end of a step back to the constraints; facing: the orientation of W before."""
    split(T.atoms_i, y, T.ints[N_Q], q, v, scalar)
    reason = DONE
    if projected is not None:
        reason = project_state(T, w, s, q, v, t, scalar)
    if dependent is not None:
        reason = dependent_state(T, w, s, c, q, v, t, z, scalar)
        if reason == DONE and z[z.size - 1].real * facing < 0.0:
            reason = DEAD_POINT
    n_q, n_v = T.ints[N_Q], T.columns_i.shape[0]
    for j in range(n_q):
        store(y, j, load(q, j, scalar))
    for j in range(n_v):
        store(y, n_q + j, load(v, j, scalar))
    turn_balls(T.atoms_i, n_q - n_v, q, y, n_q, -1.0, scalar)
    return reason


class Workspace(NamedTuple):
    """Room of a march: states, derivatives of all stages, what accelerations need."""

    y: np.ndarray
    at: np.ndarray
    new: np.ndarray
    end: np.ndarray
    K: np.ndarray
    F: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    z: np.ndarray


def _make_workspace(T, stages, dtype, n):
    n_q, n_v = int(T.ints[N_Q]), T.columns_i.shape[0]
    m, free = int(T.ints[N_CONSTRAINTS]), int(T.ints[N_ALL] - T.ints[N_ROWS])
    size = (n_q + n_v) * n
    return Workspace(
        np.empty(size, dtype), np.empty(size, dtype), np.empty(size, dtype), np.empty(size, dtype),
        np.empty(stages * size, dtype), np.empty(7 * size, dtype), np.empty(n_q * n, dtype), np.empty(n_v * n, dtype),
        np.empty(n_v * n, dtype), np.zeros(m, dtype), np.ones(2 * free + 1, dtype),
    )  # fmt: skip


@inner
def first_look(T, w, s, c, y, q, v, t, scalar):
    """Measure the choice in the state y that a march begins with."""
    split(T.atoms_i, y, T.ints[N_Q], q, v, scalar)
    begin_choice(T, w, s, c, q, v, t, scalar)


@inner
def look_at(T, w, s, c, y, q, v, t, scalar):
    """`look` at the choice for the step that begins with y."""
    split(T.atoms_i, y, T.ints[N_Q], q, v, scalar)
    return look(T, w, s, c, q, v, t, scalar)


@inner
def choose_at(T, w, s, c, y, q, v, t, scalar):
    """The best choice in the state y, whatever it is now. Returns 1 if it is another one."""
    split(T.atoms_i, y, T.ints[N_Q], q, v, scalar)
    return choose_again(T, w, s, c, q, v, t, np.inf, scalar)


@inner
def thrown(before, y, n_q):
    """How far a correction threw velocities, beside the largest of them."""
    change, speed = 0.0, 0.0
    for j in range(n_q, y.size):
        change = max(change, abs(y[j].real - before[j].real))
        speed = max(speed, abs(y[j].real), abs(before[j].real))
    return change / speed if speed > 0.0 else 0.0


def _fixed(T, w, s, o, ranks, A, B, C, h, t0, every, trees, loops, settles, projected, dependent, Q, V, scalar):
    T, w, s, o = refer(T), refer(w), refer(s), refer(o)
    c = None if dependent is None else refer(dependent)
    begin(T, w, scalar)
    y, at, new, K, q, v, a, lam, z = o.y, o.at, o.new, o.K, o.q, o.v, o.a, o.lam, o.z
    lanes, n_q, n_stages = width(scalar), T.ints[N_Q], B.size
    n = n_q + T.columns_i.shape[0]
    asked = first_asked(n // 2)
    rest = asked
    for row in range(0, Q.shape[1], lanes):
        gather(Q[0], row, y, 0, scalar)
        gather(V[0], row, y, n_q, scalar)
        turn_balls(T.atoms_i, 2 * n_q - n, y, y, n_q, -1.0, scalar)
        step, facing = 0, 0.0
        if dependent is not None:
            first_look(T, w, s, c, y, q, v, t0, scalar)
        for out in range(1, Q.shape[0]):
            for _ in range(every):
                t = t0 + step * h
                reason, again = DONE, False
                rest -= 1
                if rest <= 0:
                    asked = ask(w.listener[0], asked)
                    rest = asked
                    if asked < 0:
                        return out, INTERRUPTED, row
                if dependent is not None and look_at(T, w, s, c, y, q, v, t, scalar):
                    facing, ranks[1], ranks[2] = 0.0, math.nan, math.nan
                while True:
                    for i in range(n_stages):
                        for j in range(n):
                            x = load(y, j, scalar)
                            for m in range(i):
                                if A[i, m] != 0.0:
                                    x = x + load(K, m * n + j, scalar) * (h * A[i, m])
                            store(at, j, x)
                        reason = derivative(
                            T, w, s, c, at, q, v, a, lam, z, t + C[i] * h, trees, loops, dependent, K, i, scalar
                        )
                        if reason != DONE:
                            break
                        if dependent is not None and facing == 0.0:
                            facing = z[z.size - 1].real
                        if loops is not None and settles is None and i == 0:
                            ranks[0], ranks[1], ranks[2] = ranks[1], ranks[2], log_root_det(s.P, v.size + lam.size)
                            if touches_zero(ranks[0], ranks[1], ranks[2]) or nearly_lost(
                                s.P, s.pivots_P, w.J, s.eps, FELT_ONCE, FELT_AGAIN, v.size, lam.size, s.x
                            ):
                                return out, CHANGE_POINT, row
                    if reason == DONE:
                        for j in range(n):
                            x = load(y, j, scalar)
                            for i in range(n_stages):
                                x = x + load(K, i * n + j, scalar) * (h * B[i])
                            store(new, j, x)
                        normalise(T.atoms_i, new, scalar)
                        if settles is not None:
                            for j in range(new.size):
                                at[j] = new[j]
                            reason = settle(
                                T, w, s, c, new, q, v, z, t0 + (step + 1) * h, facing, projected, dependent, scalar
                            )
                    if dependent is not None:
                        held = c.counts[HOLDS] != 0
                        if reason == DONE and not held and thrown(at, new, n_q) > THROWN:
                            reason = DEAD_POINT
                        if reason != DONE and not held and not again:
                            # the best choice may carry the step where that of some time ago did not
                            again = True
                            if choose_at(T, w, s, c, y, q, v, t, scalar):
                                facing, ranks[1], ranks[2] = 0.0, math.nan, math.nan
                                continue
                    break
                if reason != DONE:
                    return out, reason, row
                if dependent is not None:
                    if not c.counts[HOLDS]:
                        c.sizes[NOW] = spread(s, c)
                        # |det W| falls to zero with the rank of the rows, whatever is chosen
                        ranks[0], ranks[1], ranks[2] = ranks[1], ranks[2], 2.0 * log_root_det(s.P, v.size)
                        if touches_zero(ranks[0], ranks[1], ranks[2]):
                            return out, CHANGE_POINT, row
                    c.counts[STEP] += 1
                for j in range(new.size):
                    y[j] = new[j]
                step += 1
            split(T.atoms_i, y, n_q, q, v, scalar)
            scatter(q, 0, Q[out], row, scalar)
            scatter(v, 0, V[out], row, scalar)
    return Q.shape[0], DONE, Q.shape[1]


# `scalar` is 0.0 or 0j: a kernel whose body is the march itself compiles once, not once more for a wrapper
_fixed_one = kernel(_fixed)
_fixed_inlined = inlined(_fixed)


@kernel
def _fixed_lanes(T, w, s, o, ranks, A, B, C, h, t0, every, trees, loops, settles, projected, dependent, Q, V):
    return _fixed_inlined(
        T, w, s, o, ranks, A, B, C, h, t0, every, trees, loops, settles, projected, dependent, Q, V, lane_zero()
    )


def make_march_workspace(T, f, stages, dtype, lanes):
    """All that a march needs; f: (eps, Omega, xi, compliant) of the formulation."""
    solver = make_solver(T, *f[:3], compliant=f[3] != 0.0)
    return T, make_work(T, lanes), solver, _make_workspace(T, stages, dtype, lanes)


@wrapper
def fixed_one(T, f, ranks, A, B, C, h, t0, every, trees, loops, settles, projected, dependent, Q, V):
    """Runge-Kutta with steps h from row 0 of Q, V (n_out, rows, n): every `every`-th state goes to the next row.

    f: (eps, Omega, xi, compliant) of the formulation. trees .. dependent: what a march does about constraints
    (`steps.runge_kutta.step.Kind`), dependent a `Choice`; ranks: as in `steps.newmark.kernels.march`. Returns
    (outputs written, reason, starts that were marched to their end).
    """
    kind = trees, loops, settles, projected, dependent
    room = make_march_workspace(T, f, B.size, Q.dtype, 1)
    found = _fixed_one(*room, ranks, A, B, C, h, t0, every, *kind, Q, V, Q.dtype.type(0.0).item())
    if dependent is not None:
        dependent.last[:] = room[-1].y[: dependent.last.size].real
    return found


@wrapper
def fixed_lanes(T, f, ranks, A, B, C, h, t0, every, trees, loops, settles, projected, dependent, Q, V):
    """`fixed_one` for many motions of an open tree, in SIMD lanes."""
    kind = trees, loops, settles, projected, dependent
    return _fixed_lanes(*make_march_workspace(T, f, B.size, Q.dtype, LANES), ranks, A, B, C, h, t0, every, *kind, Q, V)
