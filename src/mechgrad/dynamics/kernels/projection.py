"""Bringing a state back to the constraints, mass-orthogonally: the nearest q with value = 0, then the nearest v with
rate = 0, in the metric of the kinetic energy.

    [ M  Gamma^T ; Gamma  -eps ] [ dq; . ] = [ 0; -value ]   repeated,       then once for dv with -rate
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.saddle import ROUNDING, saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.sparse import solve_factored
from mechgrad.dynamics.kernels.state_accelerations import BAD_NUMBER, DONE, NOT_CONVERGED, REFINEMENTS, SINGULAR
from mechgrad.dynamics.kernels.system import mass, place, row_jacobian
from mechgrad.dynamics.kernels.tangent_step import displace
from mechgrad.kernels.jit import inner, runtime_int
from mechgrad.kernels.lanes import any_not_less

# convergence is quadratic: a correction below CLOSE_ENOUGH is the last that matters
POSITION_PASSES, CLOSE_ENOUGH = 10, 3e-8
HELD = 1e-12  # values that count as zero after all passes


@inner
def project_state(mechanism, work, solver, q, v, t, scalar):
    """Correct q and v in place. Returns DONE or a reason to end."""
    n, m, sparse = mechanism.n_v, mechanism.n_constraints, solver.sparse
    size, passes = math.inf, 0
    while size > CLOSE_ENOUGH:
        check = place(mechanism, work, q, v, work.zero, scalar * 0.0 + t, m, scalar)
        if any_not_less(check, 1.0):
            return BAD_NUMBER
        mass(mechanism, work, sparse, q, v, work.zero, solver.M, scalar)
        row_jacobian(mechanism, work, sparse, runtime_int(0), m, scalar)
        if not saddle_factor(sparse, solver.M, work.J, work.J, solver.eps, n, m, solver.P, solver.pivots_P):
            return SINGULAR
        for k in range(m):
            solver.c[k] = -work.values[k] if k < mechanism.n_holonomic else 0.0
        worst = 0.0
        for k in range(m):
            worst = max(worst, abs(solver.c[k]))
        # where rows nearly lose their rank, corrections across them go on without an effect
        if passes == POSITION_PASSES:
            if worst > HELD:
                return NOT_CONVERGED
            break
        passes += 1
        size = _solved(work, solver, n, m)
        displace(mechanism.atoms_i, q, solver.x, solver.work)
        for j in range(q.size):
            q[j] = solver.work[j]
    place(mechanism, work, q, v, work.zero, scalar * 0.0 + t, m, scalar)
    for k in range(m):
        solver.c[k] = -work.rates[k]
    _solved(work, solver, n, m)
    for j in range(n):
        v[j] += solver.x[j]
    return DONE


@inner
def _solved(work, solver, n, m):
    """solver.x := the smallest change that takes the defects in solver.c away; returns its norm."""
    for j in range(n):
        solver.x[j] = 0.0
    for k in range(m):
        solver.x[n + k] = solver.c[k]
    x, c, P, pivots, sparse = solver.x, solver.c, solver.P, solver.pivots_P, solver.sparse
    solve_factored(sparse, P, pivots, x, n + m)
    saddle_refine(sparse, P, pivots, work.J, c, x, n, m, REFINEMENTS, ROUNDING, solver.work)
    size = 0.0
    for j in range(n):
        size += abs(solver.x[j]) ** 2
    return math.sqrt(size)
