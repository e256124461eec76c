"""Accelerations and projections of closed mechanisms, pulled back by recursive elimination: O(n), without a matrix.

S = [ M  Gamma^T ; Gamma  -eps ] is symmetric, so a weight w on accelerations and multipliers becomes, by one more
elimination without the influence of eps,

    [ mu; nu ] = -S^-1 w,     d(w . (a, lam)) = mu . dr + nu . d(second + 2 Omega xi rate + Omega^2 value)

with a and lam held in r and in second rates: what parameters act with, and by the state two sweeps (`state_gradient`).
A projection repeats q_p+1 = q_p moved by d_p and ends with v+ = v + dv (`loop_states`),

    S(q_p) [ d; s ]  = [ 0; -value(q_p) ]           S(q+) [ dv; s ] = [ 0; -rate(q+, v) ]

Pulls xi on q+ and eta on v+ go back with the residual of the mechanism without forces, M a + Gamma^T s at v = 0:

    [ mu; nu ] = -S(q+)^-1 [ eta; 0 ]          xi  += by q of   mu . r(q+, 0, dv, s) + nu . rate(q+, v+)
                                               eta += by v of                          nu . rate(q+, v+)
    [ mu; nu ] = -S(q_p)^-1 [ D^T xi; 0 ]      xi   = E^T xi + by q of   mu . r(q_p, 0, d, s) + nu . (value + Gamma d)

E and D are those of the tangent step d (`turning`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.loop_elimination import factor_loops
from mechgrad.dynamics.kernels.loop_solutions import solve_regular
from mechgrad.dynamics.kernels.loop_states import displace_by, log_rows, position_pass, velocity_pass
from mechgrad.dynamics.kernels.projection import CLOSE_ENOUGH, POSITION_PASSES
from mechgrad.dynamics.kernels.saddle import ROUNDING
from mechgrad.dynamics.kernels.state_accelerations import DONE, NOT_CONVERGED, REFINEMENTS, SINGULAR
from mechgrad.dynamics.kernels.state_gradient import add_state_gradient, any_pull
from mechgrad.dynamics.kernels.system import Work, begin, make_work, place
from mechgrad.dynamics.kernels.table_gradient import Block, make_block
from mechgrad.dynamics.kernels.turning import carry, spread
from mechgrad.kernels.jit import inner, kernel, wrapper
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.records import refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.kernels.vec3 import clear
from mechgrad.model.mechanism import Mechanism


class Side(NamedTuple):
    """A mechanism with the workspace of its gradients: with its forces, or without."""

    mechanism: Mechanism
    work: Work
    block: Block


class Passes(NamedTuple):
    """Projections of N states, repetition by repetition.

    first : (N + 1,) where those of each begin;   q, d, s, t : (passes, .) where each was made, the step that it found,
        its multipliers, and the instant
    end_q, end_v, dv, dual, end_t : (N, .) the projected states, the change of velocities and its multipliers
    """

    first: np.ndarray
    q: np.ndarray
    d: np.ndarray
    s: np.ndarray
    t: np.ndarray
    end_q: np.ndarray
    end_v: np.ndarray
    dv: np.ndarray
    dual: np.ndarray
    end_t: np.ndarray


class PassWeights(NamedTuple):
    """What parameters act with in projections: residuals mu and rows nu, of repetitions and of velocities, (no, lines,
    .)."""

    mu: np.ndarray
    nu: np.ndarray
    end_mu: np.ndarray
    end_nu: np.ndarray


def make_side(mechanism):
    """With a workspace of its own."""
    return Side(mechanism, make_work(mechanism), make_block(mechanism, 1))


@inner
def _weights(mechanism, work, loops, block, pull):
    """block.mu := mu and loops.x[n:] := nu of a pull (n or n + m) in the placed state. Returns 0, or 1 where it is
    singular."""
    n, m, x = mechanism.n_v, mechanism.n_constraints, loops.x
    failed = factor_loops(mechanism, work, loops, 0.0)
    for j in range(n + m):
        x[j] = -pull[j] if j < pull.size else 0.0
    solve_regular(mechanism, work, loops, REFINEMENTS, ROUNDING, 0.0)
    for j in range(n):
        block.mu[j] = x[j]
    return failed


@inner
def _clear_weights(mechanism, block):
    rows = mechanism.n_all
    clear(block.w0, 0, rows, 0.0)
    clear(block.w1, 0, rows, 0.0)
    clear(block.w2, 0, rows, 0.0)


@inner
def pull_loop_accelerations(mechanism, work, loops, block, states, at, pull, nu, by_q, by_v):
    """by_q, by_v += the gradient of pull . (a, lam) of state `at`; block.mu, nu := what parameters act with. Returns
    DONE or SINGULAR."""
    n, m, scalar = mechanism.n_v, mechanism.n_constraints, 0.0
    clear(nu, 0, m, scalar)
    if not any_pull(pull):
        clear(block.mu, 0, n, scalar)
        return DONE
    q, v, a, t = states.q[at], states.v[at], states.a[at], states.t[at]
    place(mechanism, work, q, v, a, t, mechanism.n_all, scalar)
    if any_not_less(_weights(mechanism, work, loops, block, pull), 0.5):
        return SINGULAR
    _clear_weights(mechanism, block)
    for k in range(m):
        nu[k] = loops.x[n + k]
        work.y[k], block.w2[k] = states.lam[at, k], nu[k]
        block.w1[k] = 2.0 * loops.omega * loops.xi * nu[k]
        if k < mechanism.n_holonomic:
            block.w0[k] = loops.omega * loops.omega * nu[k]
    add_state_gradient(mechanism, work, block, t, by_q, by_v, scalar)
    return DONE


@inner
def _add_residual(side, q, a, s, t, by_q, none):
    """by_q += the gradient of mu . r(q, 0, a, s) + w0 . value, for the weights in the block."""
    mechanism, work, block = side.mechanism, side.work, side.block
    place(mechanism, work, q, work.zero, a, t, mechanism.n_all, 0.0)
    for k in range(mechanism.n_constraints):
        work.y[k] = s[k]
    add_state_gradient(mechanism, work, block, t, by_q, none, 0.0)


@inner
def _add_rates(side, q, v, nu, t, by_q, by_v):
    """by_q, by_v += the gradient of nu . rate(q, v)."""
    mechanism, work, block = side.mechanism, side.work, side.block
    place(mechanism, work, q, v, work.zero, t, mechanism.n_all, 0.0)
    _clear_weights(mechanism, block)
    clear(block.mu, 0, mechanism.n_v, 0.0)
    for k in range(mechanism.n_constraints):
        work.y[k], block.w1[k] = 0.0, nu[k]
    add_state_gradient(mechanism, work, block, t, by_q, by_v, 0.0)


@inner
def pull_projection(side, loops, passes, i, xi, eta, columns, k, weights):
    """Pulls xi, eta (n,) on the projected state i become, in place, such on the state before; side: the mechanism
    without forces; columns: (n, 1) scratch. Objective k takes its weights. Returns DONE or SINGULAR."""
    mechanism, work, block = side.mechanism, side.work, side.block
    n, m, none = mechanism.n_v, mechanism.n_constraints, loops.r
    if not any_pull(xi) and not any_pull(eta):
        return DONE
    q, t = passes.end_q[i], passes.end_t[i]
    place(mechanism, work, q, work.zero, work.zero, t, mechanism.n_all, 0.0)
    if any_not_less(_weights(mechanism, work, loops, block, eta), 0.5):
        return SINGULAR
    put_row(weights.end_mu[k], i, block.mu)
    for row in range(m):
        weights.end_nu[k, i, row] = loops.x[n + row]
    _clear_weights(mechanism, block)
    _add_residual(side, q, passes.dv[i], passes.dual[i], t, xi, none)
    _add_rates(side, q, passes.end_v[i], weights.end_nu[k, i], t, xi, eta)
    for p in range(passes.first[i + 1] - 1, passes.first[i] - 1, -1):
        q, d = passes.q[p], passes.d[p]
        for j in range(n):
            columns[j, 0] = xi[j]
        spread(mechanism.atoms_i, d, columns, -1.0)
        for j in range(n):
            none[j] = columns[j, 0]
            columns[j, 0] = xi[j]
        carry(mechanism.atoms_i, d, columns, -1.0)
        for j in range(n):
            xi[j] = columns[j, 0]
        place(mechanism, work, q, work.zero, work.zero, t, mechanism.n_all, 0.0)
        if any_not_less(_weights(mechanism, work, loops, block, none), 0.5):
            return SINGULAR
        put_row(weights.mu[k], p, block.mu)
        _clear_weights(mechanism, block)
        for row in range(m):
            weights.nu[k, p, row] = loops.x[n + row]
            if row < mechanism.n_holonomic:
                block.w0[row] = loops.x[n + row]
        _add_residual(side, q, d, passes.s[p], t, xi, none)
        _add_rates(side, q, d, weights.nu[k, p], t, xi, none)
    return DONE


# ---- batches


@kernel
def _pulled_loop_accelerations(side, loops, states, pulls, found):
    side, loops, states, found = refer(side), refer(loops), refer(states), refer(found)
    mechanism, work, block = side.mechanism, side.work, side.block
    begin(mechanism, work, 0.0)
    for i in range(states.q.shape[0]):
        for k in range(pulls.shape[0]):
            reason = pull_loop_accelerations(
                mechanism, work, loops, block, states, i, pulls[k, i], found.nu[k, i], found.q[i, k], found.v[i, k]
            )
            if reason != DONE:
                return i
            put_row(found.mu[k], i, block.mu)
    return -1


class PulledLoops(NamedTuple):
    """Gradients by states, q and v (N, no, n_v), and weights of residuals mu (no, N, n_v) and of rows nu (no, N, m)."""

    q: np.ndarray
    v: np.ndarray
    mu: np.ndarray
    nu: np.ndarray


@wrapper
def pulled_loop_accelerations(mechanism, loops, states, pulls, found):
    """Gradients of pulls (no, N, n_v + m) at accelerations and multipliers of N states, into the zeros of a
    `PulledLoops`. Returns the first sample with a singular mass matrix, or -1."""
    return _pulled_loop_accelerations(make_side(mechanism), loops, states, pulls, found)


@kernel
def _solve_loop_lines(mechanism, work, loops, Q, t, X):
    mechanism, work, loops = refer(mechanism), refer(work), refer(loops)
    begin(mechanism, work, 0.0)
    x = loops.x
    for i in range(Q.shape[0]):
        place(mechanism, work, Q[i], work.zero, work.zero, t[i], mechanism.n_constraints, 0.0)
        if any_not_less(factor_loops(mechanism, work, loops, 0.0), 0.5):
            return i
        for k in range(X.shape[1]):
            for j in range(x.size):
                x[j] = X[i, k, j]
            solve_regular(mechanism, work, loops, REFINEMENTS, ROUNDING, 0.0)
            put_row(X[i], k, x)
    return -1


@wrapper
def solve_loop_lines(mechanism, loops, Q, t, X):
    """Lines of X (N, columns, n + m) := S^-1 of them at N configurations, without the influence of eps. Returns the
    first that is singular, or -1."""
    return _solve_loop_lines(mechanism, make_work(mechanism), loops, Q, t, X)


@kernel
def _loop_ranks(mechanism, work, loops, Q, t, log_s):
    mechanism, work, loops = refer(mechanism), refer(work), refer(loops)
    begin(mechanism, work, 0.0)
    for i in range(Q.shape[0]):
        place(mechanism, work, Q[i], work.zero, work.zero, t[i], mechanism.n_constraints, 0.0)
        factor_loops(mechanism, work, loops, 0.0)
        log_s[i] = log_rows(mechanism, loops)


@wrapper
def loop_ranks(mechanism, loops, Q, t, log_s):
    """log s at N configurations into log_s, s^2 = |det (Gamma M^-1 Gamma^T + eps)|."""
    _loop_ranks(mechanism, make_work(mechanism), loops, Q, t, log_s)


@kernel
def _projection_passes(mechanism, work, loops, V, places, passes):
    mechanism, work, loops, passes = refer(mechanism), refer(work), refer(loops), refer(passes)
    begin(mechanism, work, 0.0)
    n, m, x, at, reason = mechanism.n_v, mechanism.n_constraints, loops.x, 0, DONE
    for i in range(V.shape[0]):
        q, v, t = passes.end_q[i], passes.end_v[i], passes.end_t[i]
        passes.first[i], far = at, True
        while far:
            if at - passes.first[i] == POSITION_PASSES:
                return i, at, NOT_CONVERGED
            if at == places:
                return -1, places + 1, DONE
            reason, _, total = position_pass(mechanism, work, loops, q, v, t, 0.0)
            if reason != DONE:
                return i, at, reason
            far = any_not_less(total, CLOSE_ENOUGH * CLOSE_ENOUGH)
            put_row(passes.q, at, q)
            passes.t[at] = t
            for j in range(n):
                passes.d[at, j] = x[j]
            for k in range(m):
                passes.s[at, k] = x[n + k]
            displace_by(mechanism.atoms_i, q, x, 0.0)
            at += 1
        reason = velocity_pass(mechanism, work, loops, q, v, t, 0.0)
        if reason != DONE:
            return i, at, reason
        for j in range(n):
            passes.dv[i, j] = x[j]
            v[j] += x[j]
        for k in range(m):
            passes.dual[i, k] = x[n + k]
    passes.first[V.shape[0]] = at
    return -1, at, DONE


@wrapper
def projection_passes(mechanism, loops, Q, V, t):
    """Project N states, as marches do: (`Passes`, state that could not be, or -1, and the reason)."""
    N, (n_q, n, m) = len(Q), (mechanism.n_q, mechanism.n_v, mechanism.n_constraints)
    places, work = 2 * N, make_work(mechanism)
    while True:
        sizes = {"q": (places, n_q), "d": (places, n), "s": (places, m), "t": places, "dv": (N, n), "dual": (N, m)}
        arrays = {name: np.zeros(size) for name, size in sizes.items()}
        passes = Passes(
            first=np.zeros(N + 1, np.int64), end_q=np.array(Q, order="C"), end_v=np.array(V, order="C"),
            end_t=np.array(t), **arrays,
        )  # fmt: skip
        bad, used, reason = _projection_passes(mechanism, work, loops, V, places, passes)
        if used <= places:
            return passes._replace(**{name: arrays[name][:used] for name in ("q", "d", "s", "t")}), bad, reason
        places *= 2
