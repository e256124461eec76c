"""Marches with implicit steps that control their error: what a step misses beside its share of the tolerances."""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.accelerations import (
    CHANGE_POINT,
    DONE,
    INTERRUPTED,
    NOT_CONVERGED,
    SINGULAR,
    TOO_MANY,
    TOO_SMALL,
)
from mechgrad.dynamics.kernels.motion import displace
from mechgrad.dynamics.kernels.saddle import log_root_det, nearly_lost, saddle_factor, touches_zero
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.columns import put_row
from mechgrad.kernels.interrupt import ask, first_asked
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, wrapper
from mechgrad.kernels.lu import lu_solve
from mechgrad.kernels.records import refer
from mechgrad.model.mechanism import N_CONSTRAINTS
from mechgrad.steps.newmark.kernels.march import felt_again, felt_once, make_workspace
from mechgrad.steps.newmark.kernels.step import implicit_step, largest_turn

# step control: safety, and by how much a step may shrink or grow
SAFETY, SHRINK, GROW = 0.9, 0.2, 3.0
# squares of singular values of rows, beside their scales: below the first steps are kept as short as folds need, below
# the second they are held
NEAR_FOLD, NEARLY_LOST = 1e-2, 1e-4
LARGEST_TURN = 0.02  # of a joint in a step [rad]
NEAR_TURN = 0.4  # near folds, beside the root of the tolerance: errors there go with the square of the turn
NEARLY_NOTHING = 1e-13  # beside the scales of rows: keeps factors regular where rows depend on each other


@inlined
def _errors(p, step, before, a0, a, a_before, e_q, e_v):
    """Local errors of a step into e_q and e_v; a' and a'' are differences of accelerations.

    The memory of the scheme stands for accelerations at instants shifted by `shift` steps:

        e_q = h^3 a' (shift / 2 + beta - 1/6)
        e_v = h^2 a' (shift + gamma - 1/2)  +  h^3 a'' ((1 - gamma) shift^2 + gamma (1 + shift)^2 - 1/3) / 2
    """
    shift = p.alpha_m - p.alpha_f
    of_q, of_v = 0.5 * shift + p.beta - 1.0 / 6.0, shift + p.gamma - 0.5
    of_bend = 0.5 * ((1.0 - p.gamma) * shift * shift + p.gamma * (1.0 + shift) ** 2 - 1.0 / 3.0)
    for j in range(a.size):
        slope = (a[j] - a0[j]) / step
        bend = 2.0 * (slope - (a0[j] - a_before[j]) / before) / (step + before) if before > 0.0 else 0.0
        e_q[j] = of_q * step**3 * slope
        e_v[j] = of_v * step * step * slope + of_bend * step**3 * bend


@inlined
def _worst(e_q, e_v, v0, v, d, rtol, atol):
    """The largest error beside its tolerance."""
    worst = 0.0
    for j in range(v.size):
        worst = max(worst, abs(e_q[j]) / (atol + rtol * max(abs(d[j]), 1.0)))
        worst = max(worst, abs(e_v[j]) / (atol + rtol * max(abs(v0[j]), abs(v[j]))))
    return worst


@inner
def _keep_tangential(T, w, s, e):
    """Take from e what constraints will take away: the nearest vector, by the mass matrix, along which they hold.

    Near a configuration where rows lose their rank accelerations across them are rounding divided by little; that is
    no error of the motion."""
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    for j in range(n):
        total = 0.0 * e[0]
        for i in range(n):
            total += s.M[j * n + i] * e[i]
        s.x[j] = total
    for k in range(m):
        s.x[n + k] = 0.0
    lu_solve(s.S, s.pivots_S, s.x, n + m)
    for j in range(n):
        e[j] = s.x[j]


@kernel
def _march_controlled(T, w, s, p, o, c, t1, rtol, atol, most, t_out, first, Q, V, A, X, L, S, norms, iterations):
    T, w, s, p, o = refer(T), refer(w), refer(s), refer(p), refer(o)
    scalar = T.atoms_f[0, 0] * 0.0
    begin(T, w, scalar)
    q0, v0, a0, x0, q, v, a, x = o.q0, o.v0, o.a0, o.x0, o.q, o.v, o.a, o.x
    d, part, lam, lam1, solved = o.d, o.spare, o.lam, o.lam1, o.solved
    t0, t, h, before, steps, rejected, growth, count = c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
    n, out, reason = V.shape[1], first, DONE
    older, ended, here = c[8], c[9], c[10]  # log s at the last three steps
    asked = first_asked(n + lam.size)
    rest = asked
    while out < t_out.size:
        rest -= 1
        if rest <= 0:
            asked = ask(w.listener[0], asked)
            rest = asked
            if asked < 0:
                reason = INTERRUPTED
                break
        if steps + rejected >= most:
            reason = TOO_MANY
            break
        if h < 1e-13 * max(abs(t), t1 - t0):
            reason = TOO_SMALL
            break
        last = t + h >= t1 - 1e-12 * (t1 - t0)
        step = t1 - t if last else h
        for k in range(lam.size):
            lam1[k] = lam[k]
        for j in range(x.size):
            x[j] = x0[j]
        reason, passes, _ = implicit_step(
            T, w, s, p, step, t + step, q0, v0, a0, x0, q, v, a, x, lam1, d, solved, o.norms, runtime_int(0), scalar
        )
        count += passes
        if reason != DONE:
            if reason != NOT_CONVERGED and reason != SINGULAR:
                break
            reason = DONE
            h, growth, rejected = step * SHRINK, 1.0, rejected + 1
            continue
        share = step / (t1 - t0)
        _errors(p, step, before, a0, a, o.before, part, o.older)
        error = _worst(part, o.older, v0, v, d, rtol, atol) / share
        held, turn = False, 0.0
        if p.projection != 0.0 and lam.size:
            # every pass of a projection leaves the share eps / (eps + s^2) of a defect
            least = o.norms[5] * (o.norms[4] ** (-1.0 / (p.passes + 1)) - 1.0) if o.norms[4] > 0.0 else 1.0
            near, held = least < NEAR_FOLD, least < NEARLY_LOST
            turn = largest_turn(T.atoms_i, d) / (
                min(LARGEST_TURN, NEAR_TURN * math.sqrt(rtol + atol)) if near else LARGEST_TURN
            )
            if near and error > 1.0:
                for k in range(lam.size):
                    s.eps_newton[k] = NEARLY_NOTHING * p.scales[k]
                if saddle_factor(s.M, w.J, w.J, s.eps_newton, n, lam.size, s.S, s.pivots_S):
                    _keep_tangential(T, w, s, part)
                    _keep_tangential(T, w, s, o.older)
                    error = _worst(part, o.older, v0, v, d, rtol, atol) / share
            elif not near:
                # what the projection takes from velocities is the change of accelerations across the rows, whatever
                # these are at both ends of the step: h^2 a' / 6
                for j in range(n):
                    part[j] = 0.5 * step * (v[j] - v0[j] - step * ((1.0 - p.gamma) * x0[j] + p.gamma * solved[j]))
                    o.older[j] = 0.0
                error = max(error, _worst(part, o.older, v0, v, d, rtol, atol) / share)
        if (error > 1.0 and not held) or turn > 2.0:
            h = step * max(SHRINK, min(SAFETY * max(error, 1e-3) ** -0.5, 1.0 / max(turn, 1e-3)))
            h, growth, rejected = min(h, 0.9 * step), 1.0, rejected + 1
            continue
        end = t1 if last else t + step
        steps += 1
        if p.watch and lam.size:
            older, ended, here = ended, here, log_root_det(s.S, n + lam.size)
            if touches_zero(older, ended, here) or nearly_lost(
                s.S, s.pivots_S, s.J, s.eps_watch, felt_once(p), felt_again(T, w, p, s), n, lam.size, s.x
            ):
                reason = CHANGE_POINT
                break
        while out < t_out.size and t_out[out] <= end:
            u = (t_out[out] - t) / step
            for j in range(n):
                # cubics through both ends: the step from q0 with its rates, and the velocity with its rates
                rise = d[j] - step * v0[j]
                bend = step * (v[j] - v0[j]) - 2.0 * rise
                part[j] = step * v0[j] * u + (rise - bend) * u * u + bend * u * u * u
                rise = v[j] - v0[j] - step * a0[j]
                bend = step * (a[j] - a0[j]) - 2.0 * rise
                V[out + 1, j] = v0[j] + step * a0[j] * u + (rise - bend) * u * u + bend * u * u * u
                A[out + 1, j] = a0[j] + (a[j] - a0[j]) * u
                X[out + 1, j] = x0[j] + (x[j] - x0[j]) * u
                S[out + 1, j] = X[out + 1, j]
            displace(T.atoms_i, q0, part, Q[out + 1])
            for k in range(lam.size):
                L[out + 1, k] = lam[k] + (lam1[k] - lam[k]) * u
            put_row(norms, out + 1, o.norms)
            iterations[out + 1] = int(count)
            count = 0.0
            out += 1
        for k in range(lam.size):
            lam[k] = lam1[k]
        for j in range(n):
            o.before[j] = a0[j]
        before = step
        q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        t = end
        if not last:
            # where rows nearly lose their rank, steps stay as they were: accelerations across these rows are rounding
            # divided by little, and by the square of the step; the motion is as smooth as before
            growth = 1.0 if held else growth
            h = step * min(growth, GROW if error == 0.0 else max(1.0 if held else SHRINK, SAFETY * error**-0.5))
            h = min(h, step / turn) if turn > 0.0 else h
        growth = GROW
    c[1], c[2], c[3], c[4], c[5], c[6], c[7] = t, h, before, steps, rejected, growth, count
    c[8], c[9], c[10] = older, ended, here
    for j in range(o.q0.size):
        o.q0[j] = q0[j]
    for j in range(n):
        o.v0[j], o.a0[j], o.x0[j] = v0[j], a0[j], x0[j]
    return out + 1, reason


@wrapper
def controlled_workspace(T, Q, V, A, X, L):
    """What a march with control keeps between its parts; it begins with row 0."""
    return make_work(T), make_solver(T), make_workspace(T, Q, V, A, X, L)


@wrapper
def march_controlled(T, room, p, c, t1, rtol, atol, most, t_out, first, Q, V, A, X, L, S, norms, iterations):
    """Steps whose local error, in proportion to their length, stays within tolerance.

    From row `first` of Q, V, A, X, L to those of the instants t_out (sorted; row k + 1 is t_out[k]), by cubic
    interpolation; room: `controlled_room`. c: time at the start, time, step, step before, steps, rejected, largest
    growth, iterations since the last output, log s at three steps (`touches_zero`); goes on where it stands. Returns
    (rows written in all, reason).
    """
    w, s, o = room
    return _march_controlled(T, w, s, p, o, c, t1, rtol, atol, most, t_out, first, Q, V, A, X, L, S, norms, iterations)
