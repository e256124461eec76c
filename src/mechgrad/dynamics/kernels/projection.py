"""Bringing a state back to the constraints, mass-orthogonally: the nearest q with value = 0, then the nearest v with
rate = 0, in the metric of the kinetic energy.

    [ M  Gamma^T ; Gamma  -eps ] [ dq; . ] = [ 0; -value ]   repeated,       then once for dv with -rate
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.accelerations import BAD_NUMBER, DONE, NOT_CONVERGED, REFINEMENTS, SINGULAR
from mechgrad.dynamics.kernels.motion import displace
from mechgrad.dynamics.kernels.saddle import ROUNDING, saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.system import mass, place
from mechgrad.kernels.jit import inner, runtime_int
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.lu import lu_solve
from mechgrad.kinematics.kernels.rows import row_columns
from mechgrad.model.mechanism import N_CONSTRAINTS, N_HOLONOMIC

# convergence is quadratic: a correction below CLOSE_ENOUGH is the last that matters
POSITION_PASSES, CLOSE_ENOUGH = 10, 3e-8
HELD = 1e-12  # values that count as zero after all passes


@inner
def project_state(T, w, s, q, v, t, scalar):
    """Correct q and v in place. Returns DONE or a reason to end."""
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    size, passes = math.inf, 0
    while size > CLOSE_ENOUGH:
        check = place(T, w, q, v, w.zero, scalar * 0.0 + t, m, scalar)
        if any_not_less(check, 1.0):
            return BAD_NUMBER
        mass(T, w, q, v, w.zero, s.M, scalar)
        row_columns(T.ints, T.numbers, w.twists, w.attachments, runtime_int(0), m, w.J, scalar)
        if not saddle_factor(s.M, w.J, w.J, s.eps, n, m, s.P, s.pivots_P):
            return SINGULAR
        for k in range(m):
            s.c[k] = -w.values[k] if k < T.ints[N_HOLONOMIC] else 0.0
        worst = 0.0
        for k in range(m):
            worst = max(worst, abs(s.c[k]))
        # where rows nearly lose their rank, corrections across them go on without an effect
        if passes == POSITION_PASSES:
            if worst > HELD:
                return NOT_CONVERGED
            break
        passes += 1
        size = _solved(w, s, n, m)
        displace(T.atoms_i, q, s.x, s.work)
        for j in range(q.size):
            q[j] = s.work[j]
    place(T, w, q, v, w.zero, scalar * 0.0 + t, m, scalar)
    for k in range(m):
        s.c[k] = -w.rates[k]
    _solved(w, s, n, m)
    for j in range(n):
        v[j] += s.x[j]
    return DONE


@inner
def _solved(w, s, n, m):
    """s.x := the smallest change that takes the defects in s.c away; returns its norm."""
    for j in range(n):
        s.x[j] = 0.0
    for k in range(m):
        s.x[n + k] = s.c[k]
    lu_solve(s.P, s.pivots_P, s.x, n + m)
    saddle_refine(s.P, s.pivots_P, w.J, s.c, s.x, n, m, REFINEMENTS, ROUNDING, s.work)
    size = 0.0
    for j in range(n):
        size += abs(s.x[j]) ** 2
    return math.sqrt(size)
