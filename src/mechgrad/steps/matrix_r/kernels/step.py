"""Independent coordinates: the position problem, and an implicit step of the Matrix R formulation.

z (the free rows: joint coordinates or coordinates of points) are as many as the degrees of freedom. With
W = [Gamma; B], Gamma of the constraints and B of the free rows, square and regular:

    position        W dq = [ -value; z - z(q) ]            repeated
    velocity        W v  = [ f'; z' ]                       rates of constraints vanish, those of free rows are z'
    acceleration    W a  = [ c; z'' - B' v ]
    motion          W^T [ lam; mu ] = -r(q, v, a),    mu = -R^T r = 0,    R = W^-1 [ 0; 1 ]

Which rows make W is a `Choice`, which `choose_again` changes on the way.

The Newmark family of `implicit` acts on z; its Newton matrix is bh2 R^T (r_q + cv r_v + ca M) R, exact or approximate.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.accelerations import BAD_NUMBER, DONE, NOT_CONVERGED, SINGULAR
from mechgrad.dynamics.kernels.motion import displace
from mechgrad.dynamics.kernels.system import forces, linearise, place, residual
from mechgrad.kernels.jit import inner, runtime_int, spliced
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.lu import lu_factor, lu_solve, lu_solve_transposed
from mechgrad.kinematics.kernels.rows import place_rows, row_columns
from mechgrad.kinematics.kernels.tables import Motion, RowStates
from mechgrad.model.mechanism import N_CONSTRAINTS, N_HOLONOMIC, N_ROWS
from mechgrad.steps.matrix_r.kernels.choice import (
    BETTER,
    GROWTH,
    HOLDS,
    LEAST_LIMIT,
    LIMIT,
    NEXT,
    NOW,
    RANK,
    STEP,
    best_rows,
    note,
    spread,
    swap,
)
from mechgrad.steps.newmark.kernels.step import LINEAR_TOLERANCE, SHRINKS_ENOUGH, approximate_matrix, why_singular

POSITION_PASSES = 30


@inner
def place_chosen(T, w, c, q, v, a, t, scalar):
    """`place` of all rows that act and of the free ones that are chosen."""
    check = place(T, w, q, v, a, scalar * 0.0 + t, T.ints[N_ROWS], scalar)
    state, rows, time = Motion(q, v, a), RowStates(w.values, w.rates, w.seconds), scalar * 0.0 + t
    for k in range(c.counts[RANK], c.pick.size):
        row = c.pick[k]
        place_rows(T.ints, T.numbers, w.motion, w.frames, state, time, row, row + 1, rows, w.attachments, scalar)
    return check


@inner
def factor_W(T, w, s, c, scalar):
    """Factors of W = [Gamma; B] in the placed state, into s.P; all rows of Gamma and those of B into w.J."""
    n, pick, J, P = T.columns_i.shape[0], c.pick, w.J, s.P
    row_columns(T.ints, T.numbers, w.twists, w.attachments, runtime_int(0), T.ints[N_CONSTRAINTS], J, scalar)
    for k in range(n):
        row = pick[k]
        if k >= c.counts[RANK]:
            row_columns(T.ints, T.numbers, w.twists, w.attachments, row, row + 1, J, scalar)
        for j in range(n):
            P[k * n + j] = J[row * n + j]
    return lu_factor(s.P, s.pivots_P, n)


@inner
def orientation(P, pivots, n):
    """The sign of the determinant of W, from its factors: where it changes, the independent coordinates ceased to
    determine the motion on the way."""
    sign = 1.0
    for k in range(n):
        if (P[k * n + k].real < 0.0) != (pivots[k] != k):
            sign = -sign
    return sign


@inner
def independent(T, w, s, c, q, v, t, z, zd, tolerance, scalar):
    """Correct q and v in place so that constraints hold and the free rows are z, with rates zd. Returns a reason."""
    n, rank, pick = T.columns_i.shape[0], c.counts[RANK], c.pick
    for _ in range(POSITION_PASSES):
        check = place_chosen(T, w, c, q, v, w.zero, t, scalar)
        if any_not_less(check, 1.0):
            return BAD_NUMBER
        if not factor_W(T, w, s, c, scalar):
            return SINGULAR
        for k in range(rank):
            s.x[k] = -w.values[pick[k]]
        for k in range(rank, n):
            s.x[k] = z[k - rank] - w.values[pick[k]]
        lu_solve(s.P, s.pivots_P, s.x, n)
        size = 0.0
        for j in range(n):
            size += abs(s.x[j]) ** 2
        displace(T.atoms_i, q, s.x, s.work)
        for j in range(q.size):
            q[j] = s.work[j]
        if math.sqrt(size) < tolerance:
            return correct_velocities(T, w, s, c, q, v, t, zd, scalar)
        if not size < 1.0e12:
            break
    return NOT_CONVERGED


@inner
def correct_velocities(T, w, s, c, q, v, t, zd, scalar):
    """v := the velocities with rates of constraints 0 and of the free rows zd, at q. Returns a reason."""
    n, rank, pick = T.columns_i.shape[0], c.counts[RANK], c.pick
    place_chosen(T, w, c, q, w.zero, w.zero, t, scalar)  # rates at v = 0: what time alone does
    if not factor_W(T, w, s, c, scalar):
        return SINGULAR
    for k in range(rank):
        s.x[k] = -w.rates[pick[k]]
    for k in range(rank, n):
        s.x[k] = zd[k - rank] - w.rates[pick[k]]
    lu_solve(s.P, s.pivots_P, s.x, n)
    for j in range(n):
        v[j] = s.x[j]
    return DONE


@inner
def free_state(T, w, c, q, v, a, t, z, zd, zdd, scalar):
    """Values, rates and second rates of the free rows that are chosen."""
    place_chosen(T, w, c, q, v, a, t, scalar)
    for k in range(z.size):
        row = c.pick[c.counts[RANK] + k]
        z[k], zd[k], zdd[k] = w.values[row], w.rates[row], w.seconds[row]


@inner
def begin_choice(T, w, s, c, q, v, t, scalar):
    """Measure the choice in the state that a march begins with. Returns the orientation of W."""
    place_chosen(T, w, c, q, v, w.zero, t, scalar)
    if not factor_W(T, w, s, c, scalar):
        return 0.0
    c.sizes[NOW] = spread(s, c)
    if not c.sizes[LIMIT] > 0.0:
        c.sizes[LIMIT] = max(LEAST_LIMIT, GROWTH * c.sizes[NOW])
    return orientation(s.P, s.pivots_P, c.pick.size)


@inner
def choose_again(T, w, s, c, q, v, t, better, scalar):
    """Take the best rows in this state, if the measure becomes smaller than `better` times what it is. Returns 1 if
    others are chosen now, else 0."""
    before, changed = c.sizes[NOW], 0
    place_chosen(T, w, c, q, v, w.zero, t, scalar)
    factor_W(T, w, s, c, scalar)
    if best_rows(T, w, c):
        for j in range(c.pick.size):
            if c.pick[j] != c.other[j]:
                changed = 1
    if changed:
        swap(c)
        size = spread(s, c) if factor_W(T, w, s, c, scalar) else math.inf
        if size < better * before:
            c.sizes[NOW] = size
            c.sizes[LIMIT] = max(LEAST_LIMIT, GROWTH * size)
            note(c, t)
            return 1
        swap(c)
    c.sizes[LIMIT] = max(LEAST_LIMIT, GROWTH * before)
    return 0


@inner
def look(T, w, s, c, q, v, t, scalar):
    """What is to be chosen for the step that begins with this state: others where W gets badly conditioned, or those
    that are held for this step. Returns 1 if others are chosen now, else 0."""
    changed = 0
    if c.counts[HOLDS]:
        while c.counts[NEXT] < c.held.shape[0] and c.held[c.counts[NEXT], 0] <= c.counts[STEP]:
            for j in range(c.pick.size):
                c.pick[j] = c.held[c.counts[NEXT], 1 + j]
            c.counts[NEXT] += 1
            changed = 1
    elif c.sizes[NOW] > c.sizes[LIMIT]:
        changed = choose_again(T, w, s, c, q, v, t, BETTER, scalar)
    return changed


@spliced
def independent_step(T, w, s, c, p, h, t, q0, v0, a0, x0, q, v, a, x, lam, d, z, solved, norms, factored, scalar):
    """As `implicit_step`, for Matrix R. z: room for 6 x (free rows). x0, x: memory of z in their first slots."""
    n, m, rank, pick = T.columns_i.shape[0], T.ints[N_CONSTRAINTS], c.counts[RANK], c.pick
    free = n - rank
    z0, zd0, zdd0 = z[:free], z[free : 2 * free], z[2 * free : 3 * free]
    z1, zd1, zdd1 = z[3 * free : 4 * free], z[4 * free : 5 * free], z[5 * free : 6 * free]
    scale = p.beta * h * h
    cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
    free_state(T, w, c, q0, v0, a0, t - h, z0, zd0, zdd0, scalar)
    for j in range(n):
        d[j] = h * v0[j] + 0.5 * h * h * a0[j]
    displace(T.atoms_i, q0, d, q)
    before, converged, iterations = math.inf, False, 0
    while True:
        for k in range(free):
            z1[k] = z0[k] + h * zd0[k] + h * h * ((0.5 - p.beta) * x0[k] + p.beta * x[k])
            zd1[k] = zd0[k] + h * ((1.0 - p.gamma) * x0[k] + p.gamma * x[k])
            zdd1[k] = ((1.0 - p.alpha_m) * x[k] + p.alpha_m * x0[k] - p.alpha_f * zdd0[k]) / (1.0 - p.alpha_f)
        reason = independent(T, w, s, c, q, v, t, z1, zd1, p.tolerance, scalar)
        if reason != DONE:
            return reason, iterations, 0
        # accelerations from the factors of W at q; second rates at a = 0 are what velocities and time do
        place_chosen(T, w, c, q, v, w.zero, t, scalar)
        for k in range(rank):
            s.x[k] = -w.seconds[pick[k]]
        for k in range(free):
            s.x[rank + k] = zdd1[k] - w.seconds[pick[rank + k]]
        lu_solve(s.P, s.pivots_P, s.x, n)
        for j in range(n):
            a[j] = s.x[j]
        place_chosen(T, w, c, q, v, a, t, scalar)
        forces(T, w, scalar * 0.0 + t, scalar)
        for k in range(m):
            w.y[k] = 0.0
        residual(T, w, q, v, a, s.r, scalar)
        for j in range(n):
            s.x[j] = -s.r[j]
        lu_solve_transposed(s.P, s.pivots_P, s.x, n)
        for k in range(m):
            lam[k] = 0.0 * scalar
        for k in range(rank):
            lam[pick[k]] = s.x[k]
        for k in range(free):
            s.work[k] = scale * s.x[rank + k]
        if converged:  # only now are q, v, a and lam those of the last x
            break
        if iterations >= p.max_iterations:
            return NOT_CONVERGED, iterations, 0
        if factored == 0:
            for k in range(m):
                w.y[k] = lam[k]
            if not _reduced_matrix(T, w, s, c, p, scale, cv, ca, q, v, a, scalar):
                return why_singular(s.r), iterations, 0
            factored = 1 if p.reuse else 0
        lu_solve(s.S, s.pivots_S, s.work, free)
        size = 0.0
        for k in range(free):
            size += abs(s.work[k]) ** 2
            x[k] = x[k] + s.work[k] / scale
        size = math.sqrt(size)
        iterations += 1
        if not size < 1.0e12:
            return NOT_CONVERGED, iterations, 0
        # the matrix leaves out how R turns: convergence is linear
        shrinks = min(size / before, 1.0) if iterations > 1 else 1.0
        converged = size * shrinks < LINEAR_TOLERANCE * p.tolerance
        if iterations > 1 and shrinks > SHRINKS_ENOUGH:
            factored = 0
        before = size
    for k in range(x.size):
        solved[k] = x[k]
    norms[0] = norms[1] = norms[2] = 0.0
    for k in range(m):
        norms[1] += abs(w.rates[k]) ** 2
        norms[2] += abs(w.seconds[k]) ** 2
        if k < T.ints[N_HOLONOMIC]:
            norms[0] += abs(w.values[k]) ** 2
    for i in range(3):
        norms[i] = math.sqrt(norms[i])
    return DONE, iterations, factored


@inner
def _reduced_matrix(T, w, s, c, p, scale, cv, ca, q, v, a, scalar):
    """Factors of bh2 R^T (r_q + cv r_v + ca M) R into s.S; R is kept in s.C."""
    n, rank = T.columns_i.shape[0], c.counts[RANK]
    free = n - rank
    if p.exact:
        linearise(T, w, s.r, s.K, s.C, s.M, scalar)
        for i in range(n * n):
            s.A[i] = scale * (s.K[i] + cv * s.C[i] + ca * s.M[i])
    else:
        approximate_matrix(T, w, s, scale, cv, ca, q, v, a, scalar)
    for k in range(free):  # columns of R as rows of s.C
        for j in range(n):
            s.x[j] = 0.0
        s.x[rank + k] = 1.0
        lu_solve(s.P, s.pivots_P, s.x, n)
        for j in range(n):
            s.C[k * n + j] = s.x[j]
    for k in range(free):
        for j in range(n):
            total = 0.0 * scalar
            for i in range(n):
                total += s.A[j * n + i] * s.C[k * n + i]
            s.x[j] = total
        for i in range(free):
            total = 0.0 * scalar
            for j in range(n):
                total += s.C[i * n + j] * s.x[j]
            s.S[i * free + k] = total
    return lu_factor(s.S, s.pivots_S, free)
