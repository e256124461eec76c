"""One implicit step of any formulation with multipliers: scheme, Newton iteration, projections.

Scheme (Newmark family in the form of Arnold and Bruels; x is an acceleration-like memory, x = a for Newmark):

    (1 - am) x1 + am x0 = (1 - af) a1 + af a0
    d  = h v0 + h^2 ((1/2 - beta) x0 + beta x1),    q1 = q0 moved by d,    v1 = v0 + h ((1 - gamma) x0 + gamma x1)

so that with the unknown u = beta h^2 x1:  dv/du = gamma / (beta h) = cv,  da/du = (1 - am) / ((1 - af) beta h^2) = ca.

Equations at the new time, and Newton's iteration on them (scaled by beta h^2):

    r(q, v, a) + Gamma^T lam = 0                 [ bh2 (r_q + cv r_v + ca M)   Gamma^T ] [ du          ]
    w0 value + w1 rate + w2 second = eps (lam - c)[ Gamma + ..                  -eps    ] [ bh2 dlam    ] = - residuals

ALI3-P solves for the value (w0 = 1), index-1 Lagrange for the second rate (w2 = 1), penalty for all three; rows that
have no value are solved for their rate. Penalty keeps lam / alpha (c = 0, eps = 1 / alpha). The others count from the
multipliers before (c = lam, once or twice anew), so that eps leaves nothing where rows have rank; it is as large as
singular values that a step cannot tell from zero. Factors are kept while they serve.

Projections, mass-orthogonal: the nearest v with rate = 0, then the nearest a with second = 0.

    [ M  Gamma^T ; Gamma  -1/p ] [ dv; . ] = [ 0; -rate ]
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.accelerations import BAD_NUMBER, DONE, NOT_CONVERGED, SINGULAR
from mechgrad.dynamics.kernels.laws import law_int
from mechgrad.dynamics.kernels.motion import displace
from mechgrad.dynamics.kernels.saddle import saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.system import forces, linearise, mass, place, residual, residual_about_com
from mechgrad.kernels.jit import inlined, inner, runtime_int, spliced
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.lu import lu_solve
from mechgrad.kinematics.kernels.rows import row_columns, row_rate_columns
from mechgrad.model.joints.base import BALL, REVOLUTE
from mechgrad.model.mechanism import L_FIRST, L_ROWS, LAW_WIDTH, N_CONSTRAINTS, N_HOLONOMIC, N_LAWS, N_ROWS, REFERENCE
from mechgrad.model.tree import KIND, V_AT

# A kept Newton matrix is renewed when increments shrink by less than this. With it, or with an approximate one,
# convergence is linear: iteration ends when the increment still to come is far below the tolerance. With an exact new
# matrix it is quadratic: an increment well below the root of the tolerance is the last that matters.
SHRINKS_ENOUGH, LINEAR_TOLERANCE, QUADRATIC_TOLERANCE = 0.05, 1e-4, 1e-3
ROUNDING = 1e-16  # increments below this, beside the coordinates, change nothing
STALLS, NOISE = 0.5, 30.0  # increments that shrink by no more are noise if they are no larger than that
TURNS = 0.5  # share of the largest turn of a step below which singular values of rows are left to the motion
PASSES = 2  # that take the influence of eps away
KEPT_PASSES = 3
DEFECT = 1e-14  # of rates and second rates: smaller ones are rounding


@inlined
def weights(ints, p, k):
    """What row k is solved for: weights of value, rate and second rate."""
    if k < ints[N_HOLONOMIC]:
        return p.weight_0, p.weight_1, p.weight_2
    return 0.0, (1.0 if p.weight_2 == 0.0 else p.weight_1), p.weight_2


@inlined
def largest_turn(atoms_i, d):
    """The largest rotation among the coordinates of a step [rad]."""
    most = 0.0
    for i in range(atoms_i.shape[0]):
        kind, j = atoms_i[i, KIND], atoms_i[i, V_AT]
        if kind == REVOLUTE:
            most = max(most, abs(d[j]))
        elif kind == BALL:
            most = max(most, abs(d[j]), abs(d[j + 1]), abs(d[j + 2]))
    return most


@inner
def scheme_state(T, p, h, q0, v0, a0, x0, x, q, v, a, d):
    """q, v, a and the step d that the memory x at the new time stands for."""
    n = v.size
    for j in range(n):
        d[j] = h * v0[j] + h * h * ((0.5 - p.beta) * x0[j] + p.beta * x[j])
        v[j] = v0[j] + h * ((1.0 - p.gamma) * x0[j] + p.gamma * x[j])
        a[j] = ((1.0 - p.alpha_m) * x[j] + p.alpha_m * x0[j] - p.alpha_f * a0[j]) / (1.0 - p.alpha_f)
    displace(T.atoms_i, q0, d, q)


@inner
def newton_matrix(T, w, s, p, h, q, v, a, loose, scalar):
    """Factors of the Newton matrix in the placed state; fills s.r too. Returns False where it is singular."""
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    scale = p.beta * h * h
    cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
    A, K, C, M, J, J_rate, low = s.A, s.K, s.C, s.M, w.J, w.J_rate, s.J
    if p.exact:
        linearise(T, w, s.r, s.K, s.C, s.M, scalar)
        if T.ints[REFERENCE]:
            residual_about_com(T, w, q, v, a, s.r, scalar)
        for i in range(n * n):
            A[i] = scale * (K[i] + cv * C[i] + ca * M[i])
    else:
        approximate_matrix(T, w, s, scale, cv, ca, q, v, a, scalar)
    row_columns(T.ints, T.numbers, w.twists, w.attachments, runtime_int(0), m, w.J, scalar)
    rated = p.weight_1 != 0.0 or p.weight_2 != 0.0 or T.ints[N_HOLONOMIC] < m
    if rated and p.exact:
        row_rate_columns(
            T.ints, T.numbers, w.motion, w.frames, w.twists, w.attachments, runtime_int(0), m, w.J_rate, scalar
        )
    for k in range(m):
        w0, w1, w2 = weights(T.ints, p, k)
        total = w0 + w1 * cv + w2 * ca
        s.eps_newton[k] = 1.0 / (p.alpha * scale * total) if p.compliant else loose * p.scales[k]
        s.eps_watch[k] = s.eps_newton[k]
        for j in range(n):
            entry = J[k * n + j]
            if rated and p.exact:
                entry = entry + (w1 + 2.0 * w2 * cv) / total * J_rate[k * n + j]
            low[k * n + j] = entry
    return saddle_factor(s.A, w.J, s.J, s.eps_newton, n, m, s.S, s.pivots_S)


@inner
def why_singular(r):
    """Reason for a Newton matrix without factors: forces that are no numbers spoil it as well."""
    for j in range(r.size):
        if not abs(r[j]) < math.inf:
            return BAD_NUMBER
    return SINGULAR


@inner
def approximate_matrix(T, w, s, scale, cv, ca, q, v, a, scalar):
    """The Newton matrix with stiffness and damping of laws alone: derivatives of inertia and gradients left out."""
    n, most = T.columns_i.shape[0], T.ints[LAW_WIDTH]
    residual(T, w, q, v, a, s.r, scalar)
    mass(T, w, q, v, a, s.M, scalar)
    for i in range(n * n):
        s.K[i] = 0.0
    row_columns(T.ints, T.numbers, w.twists, w.attachments, T.ints[N_CONSTRAINTS], T.ints[N_ROWS], w.J, scalar)
    row_rate_columns(
        T.ints,
        T.numbers,
        w.motion,
        w.frames,
        w.twists,
        w.attachments,
        T.ints[N_CONSTRAINTS],
        T.ints[N_ROWS],
        w.J_rate,
        scalar,
    )
    for k in range(T.ints[N_LAWS]):
        first, rows = law_int(T.ints, k, L_FIRST), law_int(T.ints, k, L_ROWS)
        for i in range(first, first + rows):
            for c in range(n):
                slope = 0.0 * scalar
                for j in range(rows):
                    gamma = w.J[(first + j) * n + c]
                    slope += w.y_g[i * most + j] * gamma
                    slope += w.y_gd[i * most + j] * (w.J_rate[(first + j) * n + c] + cv * gamma)
                for row in range(n):
                    s.K[row * n + c] += w.J[i * n + row] * slope
    for i in range(n * n):
        s.A[i] = scale * (s.K[i] + ca * s.M[i])


@spliced
def implicit_step(T, w, s, p, h, t, q0, v0, a0, x0, q, v, a, x, lam, d, solved, norms, factored, scalar):
    """From (q0, v0, a0, x0) to q, v, a, x, lam at time t; x and lam enter as first guesses.

    Returns (reason, iterations, 1 if the factors in s serve the next step, else 0). norms: of constraint values, rates
    and second rates afterwards, 1 where the step was projected, the share of defects that this left, and eps beside the
    scales of rows; solved: x as Newton left it, before projections.
    """
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    scale = p.beta * h * h
    cv, ca = p.gamma / (p.beta * h), (1.0 - p.alpha_m) / ((1.0 - p.alpha_f) * scale)
    for k in range(m):
        lam[k] = lam[k] * p.carry
        s.c[k] = lam[k] * (1.0 - p.compliant)
    scheme_state(T, p, h, q0, v0, a0, x0, x, q, v, a, d)
    # Rows that lose their rank on the way are passed by steps that turn: singular values below what they turn by are
    # not told from zero, and are left to the motion. Formulations that end there must see it coming.
    loose = 1.0 / p.alpha if p.watch else max(1.0 / p.alpha, (TURNS * largest_turn(T.atoms_i, d)) ** 2)
    before, converged, quadratic, fresh, iterations, passes = math.inf, False, False, False, 0, 0
    while not converged:
        if iterations >= p.max_iterations:
            return NOT_CONVERGED, iterations, 0
        check = place(T, w, q, v, a, scalar * 0.0 + t, T.ints[N_ROWS], scalar)
        if any_not_less(check, 1.0):
            return BAD_NUMBER, iterations, 0
        forces(T, w, scalar * 0.0 + t, scalar)
        for k in range(m):
            w.y[k] = lam[k]
        fresh = p.exact and factored == 0
        quadratic = fresh and p.weight_2 == 0.0  # what positions do to second rates is left out of the matrix
        if factored != 0:
            residual(T, w, q, v, a, s.r, scalar)
        else:
            if not newton_matrix(T, w, s, p, h, q, v, a, loose, scalar):
                return why_singular(s.r), iterations, 0
            factored = 1 if p.reuse else 0
        for j in range(n):
            s.x[j] = -scale * s.r[j]
        for k in range(m):
            w0, w1, w2 = weights(T.ints, p, k)
            defect = (w0 * w.values[k] + w1 * w.rates[k] + w2 * w.seconds[k]) / (w0 + w1 * cv + w2 * ca)
            s.x[n + k] = s.eps_newton[k] * scale * (lam[k] - s.c[k]) - defect
        lu_solve(s.S, s.pivots_S, s.x, n + m)
        size, left = 0.0, 0.0
        for j in range(n):
            size += abs(s.x[j]) ** 2
            x[j] = x[j] + s.x[j] / scale
        for k in range(m):
            lam[k] = lam[k] + s.x[n + k] / scale
            left = max(left, abs(s.eps_newton[k] * scale * (lam[k] - s.c[k])))
            if p.weight_2 != 0.0 and p.compliant == 0.0:
                s.c[k] = lam[k]  # convergence is linear anyhow: every iteration takes some of eps away
        size = math.sqrt(size)
        iterations += 1
        scheme_state(T, p, h, q0, v0, a0, x0, x, q, v, a, d)
        moved = min(1.0, _norm(d, n))
        if not size < 1.0e12:
            return NOT_CONVERGED, iterations, 0
        shrinks = min(size / before, 1.0) if iterations > 1 else 1.0
        if quadratic:
            converged = size < QUADRATIC_TOLERANCE * math.sqrt(p.tolerance * moved)
        else:
            converged = size * shrinks < LINEAR_TOLERANCE * p.tolerance * moved
        if not converged:
            # what rounding leaves is not taken away by going on
            floor = ROUNDING * (1.0 + _norm(q, q.size))
            converged = size * (1.0 if quadratic else shrinks) < floor
            converged = converged or (iterations > 2 and shrinks > STALLS and size < NOISE * floor)
        # What eps left of the constraints is taken away by another pass, with the multipliers found as those that eps
        # counts from; once or twice, so that directions without rank are left to the motion.
        if converged and p.compliant == 0.0 and passes < PASSES and left > 10.0 * p.tolerance * moved:
            converged, passes = False, passes + 1
            for k in range(m):
                s.c[k] = lam[k]
        # kept factors are renewed where they shrink increments slowly, or took many: near convergence, where increments
        # are rounding, that they do not shrink says nothing
        if iterations > 1 and (shrinks > SHRINKS_ENOUGH if not converged else iterations > KEPT_PASSES):
            factored = 0
        before = size
    for j in range(n):
        solved[j] = x[j]
    reason = DONE
    if m:
        # the mass matrix of a fresh linearisation is that of this state but for the last increment: a good metric
        reason = project(T, w, s, p, t, q, v, a, norms, fresh, loose, scalar)
    if p.alpha_m == 0.0 and p.alpha_f == 0.0:
        for j in range(n):
            x[j] = a[j]
    else:
        for j in range(n):
            x[j] = ((1.0 - p.alpha_f) * a[j] + p.alpha_f * a0[j] - p.alpha_m * x0[j]) / (1.0 - p.alpha_m)
    return reason, iterations, factored


@inner
def project(T, w, s, p, t, q, v, a, norms, has_mass, loose, scalar):
    """Project velocities, then accelerations; note the norms that remain. Returns DONE or SINGULAR."""
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    place(T, w, q, v, a, scalar * 0.0 + t, m, scalar)
    norms[0] = _norm(w.values, T.ints[N_HOLONOMIC])
    norms[1], norms[2], norms[3], norms[4], norms[5] = _norm(w.rates, m), _norm(w.seconds, m), 0.0, 0.0, loose
    if p.projection == 0.0 or max(norms[1], norms[2] if p.project_accelerations else 0.0) <= p.project_above:
        return DONE
    row_columns(T.ints, T.numbers, w.twists, w.attachments, runtime_int(0), m, w.J, scalar)
    if not has_mass:
        mass(T, w, q, v, a, s.M, scalar)
    for k in range(m):
        s.eps_newton[k] = p.scales[k] * (loose if p.passes > 0 else 1.0 / p.projection)
    if not saddle_factor(s.M, w.J, w.J, s.eps_newton, n, m, s.P, s.pivots_P):
        return SINGULAR
    before = norms[1]
    norms[4] = _left(_nearest(T, w, s, p, w.rates, v), before, p.enough)
    place(T, w, q, v, a, scalar * 0.0 + t, m, scalar)
    norms[1], norms[2], norms[3] = _norm(w.rates, m), _norm(w.seconds, m), 1.0
    if p.project_accelerations:
        before = norms[2]
        norms[2] = _nearest(T, w, s, p, w.seconds, a)
        norms[4] = max(norms[4], _left(norms[2], before, p.enough))
    return DONE


@inlined
def _left(after, before, enough):
    """The share of defects that a projection left, or 0 where it left nothing."""
    return after / before if after > max(DEFECT, 2.0 * enough * before) else 0.0


@inner
def _nearest(T, w, s, p, defects, u):
    """u := the nearest u without defects; returns the norm of what is left of them."""
    n, m = T.columns_i.shape[0], T.ints[N_CONSTRAINTS]
    for j in range(n):
        s.x[j] = 0.0
    for k in range(m):
        s.c[k] = -defects[k]
        s.x[n + k] = -defects[k]
    lu_solve(s.P, s.pivots_P, s.x, n + m)
    saddle_refine(s.P, s.pivots_P, w.J, s.c, s.x, n, m, p.passes, p.enough, s.work)
    left = 0.0
    for k in range(m):
        rest = -s.c[k]
        for j in range(n):
            rest += w.J[k * n + j] * s.x[j]
        left += abs(rest) ** 2
    for j in range(n):
        u[j] += s.x[j]
    return math.sqrt(left)


@inlined
def _norm(x, count):
    total = 0.0
    for k in range(count):
        total += abs(x[k]) ** 2
    return math.sqrt(total)
