"""Accelerations, projections and rank of closed mechanisms by recursive elimination (`loop_elimination`): the passes of
`state_accelerations`, `projection` and `saddle` without a matrix, for single samples, complex numbers and dual lanes.

Velocities are brought back with the metric of the projected configuration itself.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.loop_elimination import GAIN, factor_loops
from mechgrad.dynamics.kernels.loop_solutions import move_atoms, solve_loops, solve_regular, take_row_changes
from mechgrad.dynamics.kernels.projection import CLOSE_ENOUGH, HELD, POSITION_PASSES
from mechgrad.dynamics.kernels.saddle import ROUNDING, WEAK
from mechgrad.dynamics.kernels.state_accelerations import BAD_NUMBER, DONE, NOT_CONVERGED, REFINEMENTS, SINGULAR
from mechgrad.dynamics.kernels.system import forces, place, residual
from mechgrad.inverse.kernels.articulated import ARTICULATED, ELIMINATED, PIVOT
from mechgrad.kernels.elementary import magnitude
from mechgrad.kernels.jit import inner
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.rotation import get4, product, put4
from mechgrad.kernels.vec3 import clear, dot, get3
from mechgrad.kinematics.kernels.outward import columns_of_kind
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT


@inner
def loop_accelerations(mechanism, work, loops, q, v, t, a, lam, scalar):
    """`state_accelerations.saddle_accelerations` by recursive elimination. Returns a reason to end, or DONE."""
    n, m, x = mechanism.n_v, mechanism.n_constraints, loops.x
    check = place(mechanism, work, q, v, work.zero, t, mechanism.n_rows, scalar)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces(mechanism, work, t, scalar)
    clear(work.y, 0, m, scalar)
    residual(mechanism, work, q, v, work.zero, loops.r, scalar)
    if any_not_less(factor_loops(mechanism, work, loops, scalar), 0.5):
        return SINGULAR
    for j in range(n):
        store(x, j, load(loops.r, j, scalar) * -1.0)
    for k in range(m):
        c = load(work.seconds, k, scalar) + load(work.rates, k, scalar) * (2.0 * loops.omega * loops.xi)
        if k < mechanism.n_holonomic:
            c = c + load(work.values, k, scalar) * (loops.omega * loops.omega)
        store(x, n + k, c * -1.0)
    solve_regular(mechanism, work, loops, 0 if loops.compliant else REFINEMENTS, ROUNDING, scalar)
    for j in range(n):
        store(a, j, load(x, j, scalar))
    for k in range(m):
        store(lam, k, load(x, n + k, scalar))
    return DONE


@inner
def displace_by(atoms_i, q, d, scalar):
    """q moved by the tangent step d, in place; balls by a few terms of the exponential: steps are corrections."""
    for i in range(atoms_i.shape[0]):
        kind, k, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            turn = get3(d, j, scalar)
            u = dot(turn, turn) * 0.25  # of half the angle
            c = 1.0 - u * (1.0 - u * (1.0 - u * (1.0 - u * (1.0 / 56.0)) * (1.0 / 30.0)) * (1.0 / 12.0)) * 0.5
            s = 0.5 - u * (1.0 - u * (1.0 - u * (1.0 - u * (1.0 / 72.0)) * (1.0 / 42.0)) * (1.0 / 20.0)) * (1.0 / 12.0)
            put4(q, k, product((c, s * turn[0], s * turn[1], s * turn[2]), get4(q, k, scalar)))
        elif kind != FIXED:
            store(q, k, load(q, k, scalar) + load(d, j, scalar))


@inner
def position_pass(mechanism, work, loops, q, v, t, scalar):
    """loops.x := the mass-orthogonal step that takes values of rows away at q, to first order, and its multipliers.
    Returns a reason to end or DONE, whether values are held, and the square of the step."""
    n, m, x = mechanism.n_v, mechanism.n_constraints, loops.x
    check, held, total = place(mechanism, work, q, v, work.zero, scalar * 0.0 + t, m, scalar), True, scalar * 0.0
    if any_not_less(check, 1.0):
        return BAD_NUMBER, held, total
    if any_not_less(factor_loops(mechanism, work, loops, scalar), 0.5):
        return SINGULAR, held, total
    clear(x, 0, n + m, scalar)
    for k in range(mechanism.n_holonomic):
        value = load(work.values, k, scalar)
        held = held and not any_not_less(magnitude(value), HELD)
        store(x, n + k, value * -1.0)
    solve_regular(mechanism, work, loops, REFINEMENTS, ROUNDING, scalar)
    for j in range(n):
        total = total + load(x, j, scalar) * load(x, j, scalar)
    return DONE, held, total


@inner
def velocity_pass(mechanism, work, loops, q, v, t, scalar):
    """loops.x := the mass-orthogonal change that takes rates of rows away at q, and its multipliers. Returns DONE or a
    reason to end."""
    n, m, x = mechanism.n_v, mechanism.n_constraints, loops.x
    if any_not_less(place(mechanism, work, q, v, work.zero, scalar * 0.0 + t, m, scalar), 1.0):
        return BAD_NUMBER
    if any_not_less(factor_loops(mechanism, work, loops, scalar), 0.5):
        return SINGULAR
    clear(x, 0, n, scalar)
    for k in range(m):
        store(x, n + k, load(work.rates, k, scalar) * -1.0)
    solve_regular(mechanism, work, loops, REFINEMENTS, ROUNDING, scalar)
    return DONE


@inner
def project_loops(mechanism, work, loops, q, v, t, scalar):
    """`projection.project_state` by recursive elimination. Returns DONE or a reason to end."""
    passes, far = 0, True
    while far:
        reason, held, total = position_pass(mechanism, work, loops, q, v, t, scalar)
        if reason != DONE:
            return reason
        if passes == POSITION_PASSES:
            if not held:
                return NOT_CONVERGED
            break
        passes += 1
        far = any_not_less(total, CLOSE_ENOUGH * CLOSE_ENOUGH)
        displace_by(mechanism.atoms_i, q, loops.x, scalar)
    reason = velocity_pass(mechanism, work, loops, q, v, t, scalar)
    for j in range(mechanism.n_v):
        store(v, j, load(v, j, scalar) + load(loops.x, j, scalar))
    return reason


# ---- rank, of single samples: `saddle` says what it means


@inner
def log_rows(mechanism, loops):
    """Half the logarithm of |det (Gamma M^-1 Gamma^T + eps)|, from the pivots of rows in the latest factors."""
    total = 0.0
    for k in range(mechanism.n_constraints):
        total -= math.log(abs(loops.gains[k * GAIN + 6]))
    return 0.5 * total


@inner
def loop_log_root_det(mechanism, loops):
    """`saddle.log_root_det` of the latest factors."""
    atoms_i, total = mechanism.atoms_i, 0.0
    for i in range(atoms_i.shape[0]):
        for c in range(columns_of_kind(atoms_i[i, KIND])):
            total -= math.log(abs(loops.inertias[i * ARTICULATED + c * ELIMINATED + PIVOT]))
    return 0.5 * total + log_rows(mechanism, loops)


@inner
def _left_of(mechanism, work, loops, first):
    """What eps leaves of the defects in loops.c, which take their place, in the 1-norm; of defects that columns make if
    `first`: before."""
    n, m, x, scalar = mechanism.n_v, mechanism.n_constraints, loops.x, loops.x[0] * 0.0
    total = 0.0
    if first:
        for j in range(n):
            x[j] = scalar + math.cos(1.0 + 2.0 * j)
        move_atoms(mechanism, work, loops, x, scalar)
        for k in range(m):
            loops.c[k] = scalar
        take_row_changes(mechanism, work, loops, x, loops.c, scalar)
        for k in range(m):
            total += abs(loops.c[k])
        return total
    for j in range(n):
        x[j] = scalar
    for k in range(m):
        x[n + k] = loops.c[k]
    solve_loops(mechanism, work, loops, x, scalar)
    for k in range(m):
        loops.c[k] = -loops.eps[k] * x[n + k]
        total += abs(loops.c[k])
    return total


@inner
def loops_nearly_lost(mechanism, work, loops, once, again):
    """`saddle.nearly_lost` of the latest factors."""
    before = _left_of(mechanism, work, loops, True)
    first = _left_of(mechanism, work, loops, False)
    second = _left_of(mechanism, work, loops, False)
    return first > once * before and second > again * first


@inner
def weakest_of_loops(mechanism, work, loops):
    """`saddle.weakest` of the latest factors."""
    _left_of(mechanism, work, loops, True)
    first = _left_of(mechanism, work, loops, False)
    second = _left_of(mechanism, work, loops, False)
    share, again = second / first if first > 0.0 else 0.0, 0
    while share > WEAK and again < 3:
        again += 1
        first, second = second, _left_of(mechanism, work, loops, False)
        share = second / first if first > 0.0 else 0.0
    return share
