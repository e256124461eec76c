"""Accelerations, projections and ranks of mechanisms with constraints, by saddle matrices (dense or sparse) or by
recursive elimination: solver.loops is a record `Loops`, or None for matrices. Branches on None vanish before types are
looked at, so that a march compiles one of both."""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.loop_solutions import solve_loops, take_row_changes
from mechgrad.dynamics.kernels.loop_states import (
    loop_accelerations,
    loop_log_root_det,
    loops_nearly_lost,
    project_loops,
    weakest_of_loops,
)
from mechgrad.dynamics.kernels.projection import project_state
from mechgrad.dynamics.kernels.saddle import (
    ROUNDING,
    SHARE_AGAIN,
    SHARE_ONCE,
    log_root_det,
    nearly_lost,
    saddle_refine,
    weakest,
)
from mechgrad.dynamics.kernels.state_accelerations import saddle_accelerations
from mechgrad.kernels.jit import inner

SHRINKS = 0.5  # what a repetition leaves of a defect that is no rounding, at most


@inner
def constrained_accelerations(mechanism, work, solver, loops, q, v, t, a, lam, scalar):
    """a and lam of a mechanism with constraints. Returns a reason to end, or DONE."""
    if loops is None:
        reason = saddle_accelerations(mechanism, work, solver, q, v, t, a, lam, scalar)
    if loops is not None:
        reason = loop_accelerations(mechanism, work, loops, q, v, t, a, lam, scalar)
    return reason


@inner
def project(mechanism, work, solver, loops, q, v, t, scalar):
    """Bring q and v back to the constraints, in place. Returns DONE or a reason to end."""
    if loops is None:
        reason = project_state(mechanism, work, solver, q, v, t, scalar)
    if loops is not None:
        reason = project_loops(mechanism, work, loops, q, v, t, scalar)
    return reason


@inner
def log_s(mechanism, solver, loops):
    """`saddle.log_root_det` of the factors that the latest accelerations left."""
    if loops is None:
        found = log_root_det(solver.sparse, solver.P, mechanism.n_v + mechanism.n_constraints)
    if loops is not None:
        found = loop_log_root_det(mechanism, loops)
    return found


@inner
def rank_nearly_lost(mechanism, work, solver, loops):
    """`saddle.nearly_lost` there."""
    if loops is None:
        found = nearly_lost(
            solver.sparse, solver.P, solver.pivots_P, work.J, solver.eps, SHARE_ONCE, SHARE_AGAIN, mechanism.n_v,
            mechanism.n_constraints, solver.x,
        )  # fmt: skip
    if loops is not None:
        found = loops_nearly_lost(mechanism, work, loops, SHARE_ONCE, SHARE_AGAIN)
    return found


@inner
def weakest_share(mechanism, work, solver, loops):
    """`saddle.weakest` there."""
    if loops is None:
        found = weakest(
            solver.sparse, solver.P, solver.pivots_P, work.J, solver.eps, mechanism.n_v, mechanism.n_constraints,
            solver.x,
        )  # fmt: skip
    if loops is not None:
        found = weakest_of_loops(mechanism, work, loops)
    return found


@inner
def refine_accelerations(mechanism, work, solver, loops, passes, a):
    """Take the influence of eps from the latest accelerations as far as `passes` more repetitions can; a := these."""
    n, m = mechanism.n_v, mechanism.n_constraints
    if loops is None:
        saddle_refine(
            solver.sparse, solver.P, solver.pivots_P, work.J, solver.c, solver.x, n, m, passes, ROUNDING, solver.work
        )
        for j in range(n):
            a[j] = solver.x[j]
    if loops is not None:
        _refine_loops(mechanism, work, loops, passes)
        for j in range(n):
            a[j] = loops.x[j]


@inner
def _refine_loops(mechanism, work, loops, passes):
    """As long as what is left of rows, loops.c, shrinks."""
    n, m, x, y, c, scalar = mechanism.n_v, mechanism.n_constraints, loops.x, loops.y, loops.c, loops.x[0] * 0.0
    before = math.inf
    for _ in range(passes):
        left = 0.0
        for k in range(m):
            left = max(left, abs(c[k]))
        if not 0.0 < left < SHRINKS * before:
            break
        before = left
        for j in range(n):
            y[j] = scalar
        for k in range(m):
            y[n + k] = c[k]
        solve_loops(mechanism, work, loops, y, scalar)
        for j in range(n + m):
            x[j] += y[j]
        take_row_changes(mechanism, work, loops, y, c, scalar)
