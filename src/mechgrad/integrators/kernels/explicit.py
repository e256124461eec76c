"""Explicit Runge-Kutta marches of open trees: the whole loop compiled.

    q' = N(q) v        v' = a(q, v) = M^-1 (tau + sum J^T load - h), by recursive elimination

N is the unit matrix but for Euler parameters e of a ball, e' = (0, w) e / 2 with the angular velocity w in parent axes.
Euler parameters are given length one after every step, which no result feels: rotations do not depend on it.

Slots of a state y: q (n_q), then v (n_v). Kernels return how far they came and why they ended.
"""

from __future__ import annotations

import numpy as np

from mechgrad.inverse.kernels.articulated import ARTICULATED, state_accelerations
from mechgrad.inverse.kernels.wrenches import LOAD, WRENCH, gather_loads
from mechgrad.kernels.jit import entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, place_world
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT

DONE, BAD_NUMBER, SINGULAR, TOO_SMALL, TOO_MANY = 0, 1, 2, 3, 4
# step control of the adaptive method: safety, and by how much a step may shrink or grow
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0


@inner
def rates(atoms_i, q, v, k, at, like):
    """q' of all atoms into the slots of k from `at` on."""
    for i in range(atoms_i.shape[0]):
        kind, jq, jv = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            e0, e1, e2, e3 = load(q, jq, like), load(q, jq + 1, like), load(q, jq + 2, like), load(q, jq + 3, like)
            w1, w2, w3 = load(v, jv, like), load(v, jv + 1, like), load(v, jv + 2, like)
            store(k, at + jq, (w1 * e1 + w2 * e2 + w3 * e3) * -0.5)
            store(k, at + jq + 1, (e0 * w1 + w2 * e3 - w3 * e2) * 0.5)
            store(k, at + jq + 2, (e0 * w2 + w3 * e1 - w1 * e3) * 0.5)
            store(k, at + jq + 3, (e0 * w3 + w1 * e2 - w2 * e1) * 0.5)
        elif kind != FIXED:
            store(k, at + jq, load(v, jv, like))


@inner
def normalise(atoms_i, y, like):
    """Euler parameters of length one."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, KIND] == BALL:
            j = atoms_i[i, Q_AT]
            e0, e1, e2, e3 = load(y, j, like), load(y, j + 1, like), load(y, j + 2, like), load(y, j + 3, like)
            f = 1.5 - (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3) * 0.5  # 1 / length, near one
            store(y, j, e0 * f)
            store(y, j + 1, e1 * f)
            store(y, j + 2, e2 * f)
            store(y, j + 3, e3 * f)


@inner
def derivative(
    atoms_i, atoms_f, tau, loads_i, loads, y, q, v, zero, frames, twists, wrenches, inertias, a, K, stage, like
):
    """y' at y into stage `stage` of K. Returns 0, or a reason to end."""
    n_q, n_v = q.size // width(like), v.size // width(like)
    n = n_q + n_v
    for j in range(n_q):
        store(q, j, load(y, j, like))
    for j in range(n_v):
        store(v, j, load(y, n_q + j, like))
    check, failed = state_accelerations(
        atoms_i, atoms_f, q, v, zero, tau, loads_i, loads, frames, twists, wrenches, inertias, a, like
    )
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    if any_not_less(failed, 0.5):
        return SINGULAR
    rates(atoms_i, q, v, K, stage * n, like)
    for j in range(n_v):
        store(K, stage * n + n_q + j, load(a, j, like))
    return DONE


@inlined
def fixed_steps(atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, h, every, Q, V, like):
    """Runge-Kutta with steps h from rows of (q0, v0): every `every`-th state goes to Q, V (n_out, rows, n).

    Returns (outputs written, reason).
    """
    n_atoms, n_q, n_v, lanes = atoms_i.shape[0], q0.shape[1], v0.shape[1], width(like)
    n, s, n_loads = n_q + n_v, B.size, loads_i.shape[0]
    y, at, K = np.empty(n * lanes, Q.dtype), np.empty(n * lanes, Q.dtype), np.empty(s * n * lanes, Q.dtype)
    q, v, zero = np.empty(n_q * lanes, Q.dtype), np.empty(n_v * lanes, Q.dtype), np.zeros(n_v * lanes, Q.dtype)
    tau, a = np.empty(n_v * lanes, Q.dtype), np.empty(n_v * lanes, Q.dtype)
    frames = np.empty((n_atoms + 1) * FRAME * lanes, Q.dtype)
    twists, wrenches = np.empty(n_v * TWIST * lanes, Q.dtype), np.empty(n_atoms * WRENCH * lanes, Q.dtype)
    inertias, loads = np.empty(n_atoms * ARTICULATED * lanes, Q.dtype), np.empty(n_loads * LOAD * lanes, Q.dtype)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], like)
    for row in range(0, q0.shape[0], lanes):
        gather(q0, row, y, 0, like)
        gather(v0, row, y, n_q, like)
        gather(tau0, row, tau, 0, like)
        if n_loads:
            gather_loads(loads_f, 0, loads, like)
        for out in range(Q.shape[0]):
            if out > 0:
                for _ in range(every):
                    for i in range(s):
                        for j in range(n):
                            x = load(y, j, like)
                            for m in range(i):
                                if A[i, m] != 0.0:
                                    x = x + load(K, m * n + j, like) * (h * A[i, m])
                            store(at, j, x)
                        reason = derivative(
                            atoms_i,
                            atoms_f,
                            tau,
                            loads_i,
                            loads,
                            at,
                            q,
                            v,
                            zero,
                            frames,
                            twists,
                            wrenches,
                            inertias,
                            a,
                            K,
                            i,
                            like,
                        )
                        if reason != DONE:
                            return out, reason
                    for j in range(n):
                        x = load(y, j, like)
                        for i in range(s):
                            x = x + load(K, i * n + j, like) * (h * B[i])
                        store(y, j, x)
                    normalise(atoms_i, y, like)
            scatter(y, 0, Q[out], row, like)
            scatter(y, n_q, V[out], row, like)
    return Q.shape[0], DONE


@inlined
def _stage(y, K, A, i, stages, n, h, at, like):
    """y + h sum_m A_im K_m."""
    for j in range(n):
        x = load(y, j, like)
        for m in range(stages):
            if A[i, m] != 0.0:
                x = x + load(K, m * n + j, like) * (h * A[i, m])
        store(at, j, x)


@inlined
def adaptive_steps(
    atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, D, E3, E5, t0, t1, h, rtol, atol,
    most, t_out, Q, V, like,
):  # fmt: skip
    """The method of order 8 from (q0, v0) at t0 to t1 with error control; states at the instants t_out (sorted).

    Returns (outputs written, reason, steps, rejected, next step, time).
    """
    n_atoms, n_q, n_v = atoms_i.shape[0], q0.shape[1], v0.shape[1]
    n, n_loads = n_q + n_v, loads_i.shape[0]
    dtype = Q.dtype
    y, new, at = np.empty(n, dtype), np.empty(n, dtype), np.empty(n, dtype)
    K, F = np.empty(16 * n, dtype), np.empty(7 * n, dtype)
    q, v, zero = np.empty(n_q, dtype), np.empty(n_v, dtype), np.zeros(n_v, dtype)
    tau, a = np.empty(n_v, dtype), np.empty(n_v, dtype)
    frames = np.empty((n_atoms + 1) * FRAME, dtype)
    twists, wrenches = np.empty(n_v * TWIST, dtype), np.empty(n_atoms * WRENCH, dtype)
    inertias, loads = np.empty(n_atoms * ARTICULATED, dtype), np.empty(n_loads * LOAD, dtype)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], like)
    gather(q0, 0, y, 0, like)
    gather(v0, 0, y, n_q, like)
    gather(tau0, 0, tau, 0, like)
    if n_loads:
        gather_loads(loads_f, 0, loads, like)
    t, out, steps, rejected = t0, 0, 0, 0
    fresh, growth = True, GROW  # whether the first derivative must be computed; no growth right after a rejection
    while t < t1:
        if steps + rejected >= most:
            return out, TOO_MANY, steps, rejected, h, t
        if h < 1e-14 * max(abs(t), t1 - t0):
            return out, TOO_SMALL, steps, rejected, h, t
        last = t + h >= t1 - 1e-12 * (t1 - t0)
        step = t1 - t if last else h
        bad = DONE
        for i in range(0 if fresh else 1, 13):  # the thirteenth stage is the derivative at the end
            if i < 12:
                _stage(y, K, A, i, i, n, step, at, like)
            else:
                for j in range(n):
                    x = load(y, j, like)
                    for m in range(12):
                        if B[m] != 0.0:
                            x = x + load(K, m * n + j, like) * (step * B[m])
                    store(new, j, x)
                    store(at, j, x)
            bad = derivative(
                atoms_i, atoms_f, tau, loads_i, loads, at, q, v, zero, frames, twists, wrenches, inertias, a, K, i, like
            )
            if bad != DONE:
                break
        if bad != DONE:
            # far trial states may be meaningless: try a shorter step before giving up
            if bad == SINGULAR or step <= 1e-10 * (t1 - t0):
                return out, bad, steps, rejected, h, t
            h, growth, rejected = step * SHRINK, 1.0, rejected + 1
            continue
        fresh = False
        five, three = 0.0, 0.0
        for j in range(n):
            x5, x3 = like * 0.0, like * 0.0
            for m in range(13):
                k = load(K, m * n + j, like)
                x5 = x5 + k * E5[m]
                x3 = x3 + k * E3[m]
            size = atol + rtol * max(abs(load(y, j, like)), abs(load(new, j, like)))
            five += (abs(x5) / size) ** 2
            three += (abs(x3) / size) ** 2
        scale = five + 0.01 * three
        error = abs(step) * five / np.sqrt(scale * n) if scale > 0.0 else 0.0
        if error >= 1.0:
            h, growth, rejected = step * max(SHRINK, SAFETY * error ** (-0.125)), 1.0, rejected + 1
            continue
        end = t1 if last else t + step
        if out < t_out.size and t_out[out] <= end:
            # interpolant of order 7: three more derivatives
            for i in range(13, 16):
                _stage(y, K, A, i, i, n, step, at, like)
                bad = derivative(
                    atoms_i,
                    atoms_f,
                    tau,
                    loads_i,
                    loads,
                    at,
                    q,
                    v,
                    zero,
                    frames,
                    twists,
                    wrenches,
                    inertias,
                    a,
                    K,
                    i,
                    like,
                )
                if bad != DONE:
                    return out, bad, steps, rejected, h, t
            for j in range(n):
                change = load(new, j, like) - load(y, j, like)
                first, final = load(K, j, like), load(K, 12 * n + j, like)
                store(F, j, change)
                store(F, n + j, first * step - change)
                store(F, 2 * n + j, change * 2.0 - (first + final) * step)
                for m in range(4):
                    x = like * 0.0
                    for i in range(16):
                        if D[m, i] != 0.0:
                            x = x + load(K, i * n + j, like) * (step * D[m, i])
                    store(F, (3 + m) * n + j, x)
            while out < t_out.size and t_out[out] <= end:
                u = (t_out[out] - t) / step
                for j in range(n):
                    x = like * 0.0
                    for i in range(6, -1, -1):
                        x = (x + load(F, i * n + j, like)) * (u if (6 - i) % 2 == 0 else 1.0 - u)
                    store(at, j, x + load(y, j, like))
                normalise(atoms_i, at, like)
                for j in range(n_q):
                    Q[out, j] = load(at, j, like)
                for j in range(n_v):
                    V[out, j] = load(at, n_q + j, like)
                out += 1
        for j in range(n):
            store(y, j, load(new, j, like))
        normalise(atoms_i, y, like)
        for j in range(n):
            store(K, j, load(K, 12 * n + j, like))
        t = end
        steps += 1
        factor = GROW if error == 0.0 else min(growth, max(SHRINK, SAFETY * error ** (-0.125)))
        if not last:
            h = step * factor
        growth = GROW
    return out, DONE, steps, rejected, h, t


@entry
def fixed_one(atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, h, every, Q, V):
    """One motion."""
    return fixed_steps(atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, h, every, Q, V, 0.0)


@entry
def fixed_lanes(atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, h, every, Q, V):
    """Many motions, in SIMD lanes."""
    return fixed_steps(atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, h, every, Q, V, lane_zero())


@entry
def fixed_complex(atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, h, every, Q, V):
    """One motion of complex numbers."""
    return fixed_steps(atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, h, every, Q, V, 0j)


@entry
def adaptive_one(
    atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, D, E3, E5, t0, t1, h, rtol, atol,
    most, t_out, Q, V,
):  # fmt: skip
    """One motion with error control."""
    return adaptive_steps(
        atoms_i, atoms_f, q0, v0, tau0, loads_i, loads_f, A, B, D, E3, E5, t0, t1, h, rtol,
        atol, most, t_out, Q, V, 0.0,
    )  # fmt: skip
