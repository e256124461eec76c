"""Marches with implicit steps, fixed or controlled, of any formulation: the whole loop compiled."""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.accelerations import DONE, NOT_CONVERGED, SINGULAR, TOO_MANY, TOO_SMALL
from mechgrad.dynamics.kernels.fixed_point import fixed_point_step
from mechgrad.dynamics.kernels.implicit import implicit_step
from mechgrad.dynamics.kernels.matrix_r import independent_step
from mechgrad.dynamics.kernels.motion import displace
from mechgrad.dynamics.kernels.solver import make_solver
from mechgrad.dynamics.kernels.system import make_work
from mechgrad.kernels.jit import entry, inlined
from mechgrad.model.mechanism import N_ALL, N_ROWS

# step control: safety, and by how much a step may shrink or grow
SAFETY, SHRINK, GROW = 0.9, 0.2, 3.0


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


@entry
def march(T, p, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    """Steps h from the states in row 0 of Q, V, A, X, L; every `every`-th state goes to the next row, and with it S,
    the memory as Newton's iteration left it before projections.

    t0: time of row 0. norms: of values, rates, second rates; last, whether the step ended with a projection (1 or 0).
    Returns (rows written, reason, time).
    """
    like = T.atoms_f[0, 0] * 0.0
    w, s = make_work(T, like), make_solver(T, 0.0, 0.0, 0.0, False)
    q0, v0, a0, x0, lam = Q[0].copy(), V[0].copy(), A[0].copy(), X[0].copy(), L[0].copy()
    q, v, a, x, d = q0.copy(), v0.copy(), a0.copy(), x0.copy(), v0.copy()
    solved, before, older, here = x0.copy(), x0.copy(), x0.copy(), np.zeros(4)
    factored, step = T.ints[N_ALL] * 0, 0  # not a literal, which would compile the step twice
    for out in range(1, Q.shape[0]):
        count = 0
        for _ in range(every):
            step += 1
            guess(x, solved, before, older, step)
            reason, passes, factored = implicit_step(
                T, w, s, p, h, t0 + step * h, q0, v0, a0, x0, q, v, a, x, lam, d, solved, here, factored, like
            )
            if reason != DONE:
                return out, reason, t0 + step * h
            count += passes
            q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        Q[out], V[out], A[out], X[out], L[out], S[out] = q0, v0, a0, x0, lam, solved
        norms[out] = here
        iterations[out] = count
    return Q.shape[0], DONE, t0 + step * h


@entry
def march_independent(T, p, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    """`march` of the Matrix R formulation; X holds the memory of the independent coordinates in its first columns."""
    like = T.atoms_f[0, 0] * 0.0
    w, s = make_work(T, like), make_solver(T, 0.0, 0.0, 0.0, False)
    q0, v0, a0, x0, lam = Q[0].copy(), V[0].copy(), A[0].copy(), X[0].copy(), L[0].copy()
    q, v, a, x, d = q0.copy(), v0.copy(), a0.copy(), x0.copy(), v0.copy()
    z = np.empty(6 * (T.ints[N_ALL] - T.ints[N_ROWS]), Q.dtype)
    solved, before, older, here = x0.copy(), x0.copy(), x0.copy(), np.zeros(4)
    factored, step = T.ints[N_ALL] * 0, 0  # not a literal, which would compile the step twice
    for out in range(1, Q.shape[0]):
        count = 0
        for _ in range(every):
            step += 1
            guess(x, solved, before, older, step)
            reason, passes, factored = independent_step(
                T, w, s, p, h, t0 + step * h, q0, v0, a0, x0, q, v, a, x, lam, d, z, solved, here, factored, like
            )
            if reason != DONE:
                return out, reason, t0 + step * h
            count += passes
            q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        Q[out], V[out], A[out], X[out], L[out], S[out] = q0, v0, a0, x0, lam, solved
        norms[out] = here
        iterations[out] = count
    return Q.shape[0], DONE, t0 + step * h


@entry
def march_controlled(T, p, h, t0, t1, rtol, atol, most, t_out, Q, V, A, X, L, S, norms, iterations):
    """Steps whose local error, h^2 (a1 - a0) / 12 and its counterpart of the velocities, stays within tolerance.

    From row 0 of Q, V, A, X, L to rows 1, 2, .. at the instants t_out (sorted), by cubic interpolation.
    Returns (rows written, reason, time, steps, rejected, next step).
    """
    like = T.atoms_f[0, 0] * 0.0
    w, s = make_work(T, like), make_solver(T, 0.0, 0.0, 0.0, False)
    n = V.shape[1]
    q0, v0, a0, x0, lam = Q[0].copy(), V[0].copy(), A[0].copy(), X[0].copy(), L[0].copy()
    q, v, a, x, d, lam1 = q0.copy(), v0.copy(), a0.copy(), x0.copy(), v0.copy(), lam.copy()
    part = v0.copy()
    here = np.zeros(4)
    t, out, steps, rejected, growth = t0, 0, 0, 0, GROW
    fresh = T.ints[N_ALL] * 0
    while out < t_out.size:
        if steps + rejected >= most:
            return out + 1, TOO_MANY, t, steps, rejected, h
        if h < 1e-13 * max(abs(t), t1 - t0):
            return out + 1, TOO_SMALL, t, steps, rejected, h
        last = t + h >= t1 - 1e-12 * (t1 - t0)
        step = t1 - t if last else h
        lam1[:] = lam
        x[:] = x0
        reason, passes, _ = implicit_step(
            T, w, s, p, step, t + step, q0, v0, a0, x0, q, v, a, x, lam1, d, part, here, fresh, like
        )
        if reason != DONE:
            if reason != NOT_CONVERGED and reason != SINGULAR:
                return out + 1, reason, t, steps, rejected, h
            h, growth, rejected = step * SHRINK, 1.0, rejected + 1
            continue
        error = 0.0
        for j in range(n):
            change = step * step * abs(a[j] - a0[j]) / 12.0
            error = max(error, change / (atol + rtol * max(abs(d[j]), 1.0)))
            error = max(error, change / (atol + rtol * max(abs(v0[j]), abs(v[j]))))
        if error > 1.0:
            h, growth, rejected = step * max(SHRINK, SAFETY * error ** (-1.0 / 3.0)), 1.0, rejected + 1
            continue
        end = t1 if last else t + step
        steps += 1
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
            norms[out + 1] = here
            iterations[out + 1] = passes
            out += 1
        lam[:] = lam1
        q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        t = end
        if not last:
            h = step * min(growth, GROW if error == 0.0 else max(SHRINK, SAFETY * error ** (-1.0 / 3.0)))
        growth = GROW
    return out + 1, DONE, t, steps, rejected, h


@entry
def march_fixed_point(T, p, how, h, t0, every, Q, V, A, X, L, S, norms, iterations):
    """`march` by fixed-point iteration on the accelerations, for mechanisms without constraints."""
    like = T.atoms_f[0, 0] * 0.0
    w, s = make_work(T, like), make_solver(T, 0.0, 0.0, 0.0, False)
    q0, v0, a0, x0, lam = Q[0].copy(), V[0].copy(), A[0].copy(), X[0].copy(), L[0].copy()
    q, v, a, x, d, new = q0.copy(), v0.copy(), a0.copy(), x0.copy(), v0.copy(), a0.copy()
    solved, before, older, step = x0.copy(), x0.copy(), x0.copy(), 0
    for out in range(1, Q.shape[0]):
        count = 0
        for _ in range(every):
            step += 1
            guess(x, solved, before, older, step)
            reason, passes = fixed_point_step(
                T, w, s, p, h, t0 + step * h, q0, v0, a0, x0, q, v, a, x, lam, d, new, solved, how, like
            )
            if reason != DONE:
                return out, reason, t0 + step * h
            count += passes
            q0, q, v0, v, a0, a, x0, x = q, q0, v, v0, a, a0, x, x0
        Q[out], V[out], A[out], X[out], L[out], S[out] = q0, v0, a0, x0, lam, solved
        iterations[out] = count
    return Q.shape[0], DONE, t0 + step * h
