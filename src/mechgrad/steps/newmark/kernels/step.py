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

from mechgrad.dynamics.kernels.laws import law_int
from mechgrad.dynamics.kernels.saddle import saddle_factor, saddle_refine
from mechgrad.dynamics.kernels.sparse import column_of, first_entry, solve_again, solve_factored
from mechgrad.dynamics.kernels.state_accelerations import BAD_NUMBER, DIVERGED, DONE, NOT_CONVERGED, SINGULAR
from mechgrad.dynamics.kernels.system import (
    forces,
    linearise,
    mass,
    place,
    place_again,
    residual,
    residual_about_com,
    row_jacobian,
    row_rate_jacobian,
)
from mechgrad.dynamics.kernels.tangent_step import displace
from mechgrad.kernels.jit import inlined, inner, runtime_int, spliced
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kinematics.kernels.header import constraint_count, moves, row_int, row_terms, term_column
from mechgrad.kinematics.kernels.measures import attachments_of_kind
from mechgrad.kinematics.kernels.row_states import attached_atom
from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE
from mechgrad.model.mechanism import L_FIRST, L_ROWS, R_KIND
from mechgrad.model.primitives.rows import LINEAR
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.steps.newmark.kernels.march_states import LEFT, LOOSE, PROJECTED, RATES, SECONDS, VALUES
from mechgrad.steps.newmark.kernels.scheme import step_factors, update, weights

# A kept Newton matrix is renewed when increments shrink by less than this. With it, or with an approximate one,
# convergence is linear: iteration ends when the increment still to come is far below the tolerance. With an exact new
# matrix it is quadratic: an increment well below the root of the tolerance is the last that matters.
SHRINKS_ENOUGH, LINEAR_TOLERANCE, QUADRATIC_TOLERANCE = 0.05, 1e-4, 1e-3
ROUNDING = 1e-16  # increments below this, beside the coordinates, change nothing
STALLS, NOISE = 0.5, 30.0  # increments that shrink by no more are noise if they are no larger than that
TURNS = 0.5  # share of the largest turn of a step below which singular values of rows are left to the motion
PASSES = 2  # that take the influence of eps away,
WORTH_A_PASS = 10.0  # where it left that many times the tolerance in the constraints
KEPT_PASSES = 3
DEFECT = 1e-14  # of rates and second rates: smaller ones are rounding


# ---- the scheme


@inner
def scheme_state(mechanism, settings, h, before, after, d):
    """q, v, a of the state after a step, and the step d, that its memory x stands for."""
    numbers = settings.beta, settings.gamma, settings.alpha_m, settings.alpha_f
    v0, a0, x0, v, a, x = before.v, before.a, before.x, after.v, after.a, after.x
    for j in range(v.size):
        d[j], v[j], a[j] = update(numbers, h, v0[j], a0[j], x0[j], x[j])
    displace(mechanism.atoms_i, before.q, d, after.q)


@spliced
def memory_of(settings, a, a0, x0, j):
    """Entry j of the memory x after a step from the accelerations a, those before and the memory before."""
    memory = (1.0 - settings.alpha_f) * a[j] + settings.alpha_f * a0[j] - settings.alpha_m * x0[j]
    return memory / (1.0 - settings.alpha_m)


@spliced
def _remember(settings, before, after):
    """The memory after a step from its accelerations."""
    a0, x0, a, x = before.a, before.x, after.a, after.x
    if settings.alpha_m == 0.0 and settings.alpha_f == 0.0:
        for j in range(a.size):
            x[j] = a[j]
    else:
        for j in range(a.size):
            x[j] = memory_of(settings, a, a0, x0, j)


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


@inlined
def _enters_rows(ints, j):
    """Whether a constraint row depends on column j; what none depends on, such as a wheel on its hinge, may turn."""
    for k in range(constraint_count(ints)):
        kind = row_int(ints, k, R_KIND)
        if kind == LINEAR:
            first, last = row_terms(ints, k)
            for c in range(first, last):
                if term_column(ints, c) == j:
                    return True
        else:
            for f in range(attachments_of_kind(kind)):
                if moves(ints, attached_atom(ints, k, f), j):
                    return True
    return False


@inlined
def _largest_turn_of_rows(mechanism, d):
    """`largest_turn` among the coordinates that constraint rows depend on."""
    most, atoms_i, ints = 0.0, mechanism.atoms_i, mechanism.ints
    for i in range(atoms_i.shape[0]):
        kind, j, turn = atoms_i[i, KIND], atoms_i[i, V_AT], 0.0
        if kind == REVOLUTE:
            turn = abs(d[j])
        elif kind == BALL:
            turn = max(abs(d[j]), abs(d[j + 1]), abs(d[j + 2]))
        if turn > most and _enters_rows(ints, j):
            most = turn
    return most


# ---- Newton's iteration


@inner
def _sizes(atoms_i, q):
    """Sizes of the coordinates as their roundings reach the equations: anywhere, and of a mechanism held far away.

    A slide counts no more than a metre in the first: how far away a mechanism stands rounds no length of its own.
    """
    near, far = 0.0, 0.0
    for i in range(atoms_i.shape[0]):
        kind, j = atoms_i[i, KIND], atoms_i[i, Q_AT]
        if kind == REVOLUTE:
            near, far = near + abs(q[j]) ** 2, far + abs(q[j]) ** 2
        elif kind == PRISMATIC:
            near, far = near + min(abs(q[j]) ** 2, 1.0), far + abs(q[j]) ** 2
    return math.sqrt(near), math.sqrt(far)


@inner
def newton_matrix(mechanism, work, solver, settings, state, h, loose, scalar):
    """Factors of the Newton matrix in the placed state; fills solver.r too. Returns False where it is singular."""
    n, m = mechanism.n_v, mechanism.n_constraints
    scale, cv, ca = step_factors(settings, h)
    A, K, C, M, J, J_rate, low = solver.A, solver.K, solver.C, solver.M, work.J, work.J_rate, solver.J
    sparse = solver.sparse
    if settings.exact:
        linearise(mechanism, work, solver.sparse, solver.r, K, C, M, scalar)
        if mechanism.about_com:
            residual_about_com(mechanism, work, state.q, state.v, state.a, solver.r, scalar)
        for i in range(A.size):
            A[i] = scale * (K[i] + cv * C[i] + ca * M[i])
    else:  # always dense (`steps.newmark.step`)
        approximate_matrix(mechanism, work, solver, settings, state, h, scalar)
    row_jacobian(mechanism, work, sparse, runtime_int(0), m, scalar)
    rated = settings.weight_1 != 0.0 or settings.weight_2 != 0.0 or mechanism.n_holonomic < m
    if rated and settings.exact:
        row_rate_jacobian(mechanism, work, sparse, runtime_int(0), m, scalar)
    for k in range(m):
        w0, w1, w2 = weights(settings, mechanism.n_holonomic, k)
        total = w0 + w1 * cv + w2 * ca
        eps = 1.0 / (settings.alpha * scale * total) if settings.compliant else loose * settings.scales[k]
        solver.eps_newton[k] = solver.eps_watch[k] = eps
        for e in range(first_entry(sparse, k, n), first_entry(sparse, k + 1, n)):
            entry = J[e]
            if rated and settings.exact:
                entry = entry + (w1 + 2.0 * w2 * cv) / total * J_rate[e]
            low[e] = entry
    return saddle_factor(sparse, A, J, low, solver.eps_newton, n, m, solver.S, solver.pivots_S)


@inner
def approximate_matrix(mechanism, work, solver, settings, state, h, scalar):
    """The Newton matrix with stiffness and damping of laws alone: derivatives of inertia and gradients left out."""
    n, most, ints, A, K, M = mechanism.n_v, mechanism.law_width, mechanism.ints, solver.A, solver.K, solver.M
    scale, cv, ca = step_factors(settings, h)
    residual(mechanism, work, state.q, state.v, state.a, solver.r, scalar)
    mass(mechanism, work, None, state.q, state.v, state.a, M, scalar)
    for i in range(n * n):
        K[i] = 0.0
    row_jacobian(mechanism, work, None, mechanism.n_constraints, mechanism.n_rows, scalar)
    row_rate_jacobian(mechanism, work, None, mechanism.n_constraints, mechanism.n_rows, scalar)
    J, J_rate, y_g, y_gd = work.J, work.J_rate, work.y_g, work.y_gd
    near_laws = work.near_laws
    for near in range(near_laws[0]):
        k = near_laws[1 + near]
        first, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
        for i in range(first, first + rows):
            for c in range(n):
                slope = 0.0 * scalar
                for j in range(rows):
                    entry = J[(first + j) * n + c]
                    slope += y_g[i * most + j] * entry
                    slope += y_gd[i * most + j] * (J_rate[(first + j) * n + c] + cv * entry)
                for row in range(n):
                    K[row * n + c] += J[i * n + row] * slope
    for i in range(n * n):
        A[i] = scale * (K[i] + ca * M[i])


@inner
def why_singular(r):
    """Reason for a Newton matrix without factors: forces that are no numbers spoil it as well."""
    for j in range(r.size):
        if not abs(r[j]) < math.inf:
            return BAD_NUMBER
    return SINGULAR


@spliced
def _equations(mechanism, work, solver, settings, after, lam, h, t, loose, factored, scalar):
    """Newton's equations in the state after the step: their right-hand side into solver.x, and factors of their matrix,
    unless those of another state serve (`factored`). Returns DONE or a reason to end."""
    check = place(mechanism, work, after.q, after.v, after.a, scalar * 0.0 + t, mechanism.n_rows, scalar)
    if any_not_less(check, 1.0):
        return BAD_NUMBER
    forces(mechanism, work, scalar * 0.0 + t, scalar)
    for k in range(mechanism.n_constraints):
        work.y[k] = lam[k]
    if factored != 0:
        residual(mechanism, work, after.q, after.v, after.a, solver.r, scalar)
    elif not newton_matrix(mechanism, work, solver, settings, after, h, loose, scalar):
        return why_singular(solver.r)
    _right_hand_side(mechanism, work, solver, settings, lam, h)
    return DONE


@inner
def _right_hand_side(mechanism, work, solver, settings, lam, h):
    """Minus the residuals, scaled as the unknowns are, into solver.x."""
    n, m, x, r, c = mechanism.n_v, mechanism.n_constraints, solver.x, solver.r, solver.c
    scale, cv, ca = step_factors(settings, h)
    for j in range(n):
        x[j] = -scale * r[j]
    for k in range(m):
        w0, w1, w2 = weights(settings, mechanism.n_holonomic, k)
        defect = (w0 * work.values[k] + w1 * work.rates[k] + w2 * work.seconds[k]) / (w0 + w1 * cv + w2 * ca)
        x[n + k] = solver.eps_newton[k] * scale * (lam[k] - c[k]) - defect


@inner
def _increment(solver, settings, scale, x, lam):
    """Solve, and add the increments to memory and multipliers. Returns the norm of that of the coordinates, and the
    largest defect that eps leaves in a constraint."""
    n, m, du, eps, c = x.size, lam.size, solver.x, solver.eps_newton, solver.c
    solve_factored(solver.sparse, solver.S, solver.pivots_S, du, n + m)
    size, left = 0.0, 0.0
    for j in range(n):
        size += abs(du[j]) ** 2
        x[j] = x[j] + du[j] / scale
    for k in range(m):
        lam[k] = lam[k] + du[n + k] / scale
        left = max(left, abs(eps[k] * scale * (lam[k] - c[k])))
        if settings.weight_2 != 0.0 and settings.compliant == 0.0:
            c[k] = lam[k]  # convergence is linear anyhow: every iteration takes some of eps away
    return math.sqrt(size), left


@inlined
def _has_converged(atoms_i, settings, size, shrinks, quadratic, moved, q, iterations):
    """Whether an increment is small enough beside the step, or no more than rounding, which going on would not take
    away. shrinks: the increment beside the one before.

    Where a mechanism stands is no reason to end: one that is far away has roundings of its slides in the equations only
    if something there holds it, and then its increments stall."""
    if quadratic:
        converged = size < QUADRATIC_TOLERANCE * math.sqrt(settings.tolerance * moved)
    else:
        converged = size * shrinks < LINEAR_TOLERANCE * settings.tolerance * moved
    if not converged:
        near, far = _sizes(atoms_i, q)
        converged = size * (1.0 if quadratic else shrinks) < ROUNDING * (1.0 + near)
        converged = converged or (iterations > 2 and shrinks > STALLS and size < NOISE * ROUNDING * (1.0 + far))
    return converged


@spliced
def implicit_step(mechanism, work, solver, settings, states, before, after, h, t, factored, scalar):
    """From the state `before` to `after`, at time t; after.x and states.lam enter as first guesses.

    Returns (reason, iterations, 1 if the factors in `solver` serve the next step, else 0). Fills states.norms and
    states.solved.
    """
    lam, c, d = states.lam, solver.c, states.d
    for k in range(lam.size):
        lam[k] = lam[k] * settings.carry
        c[k] = lam[k] * (1.0 - settings.compliant)
    scheme_state(mechanism, settings, h, before, after, d)
    # Rows that lose their rank on the way are passed by steps that turn: singular values below what they turn by are
    # not told from zero, and are left to the motion. Formulations that end there must see it coming.
    loose = 1.0 / settings.alpha
    if not settings.watch:
        loose = max(loose, (TURNS * _largest_turn_of_rows(mechanism, d)) ** 2)
    size_before, converged, fresh, iterations, passes = math.inf, False, False, 0, 0
    while not converged:
        if iterations >= settings.max_iterations:
            return NOT_CONVERGED, iterations, 0
        fresh = settings.exact and factored == 0
        reason = _equations(mechanism, work, solver, settings, after, lam, h, t, loose, factored, scalar)
        if reason != DONE:
            return reason, iterations, 0
        factored = 1 if settings.reuse else 0
        size, left = _increment(solver, settings, settings.beta * h * h, after.x, lam)
        iterations += 1
        scheme_state(mechanism, settings, h, before, after, d)
        moved = min(1.0, _norm(d, d.size))
        if not size < DIVERGED:
            return NOT_CONVERGED, iterations, 0
        shrinks = min(size / size_before, 1.0) if iterations > 1 else 1.0
        quadratic = fresh and settings.weight_2 == 0.0  # the matrix leaves out what positions do to second rates
        converged = _has_converged(mechanism.atoms_i, settings, size, shrinks, quadratic, moved, after.q, iterations)
        # What eps left of the constraints is taken away by another pass, with the multipliers found as those that eps
        # counts from; once or twice, so that directions without rank are left to the motion.
        worth = settings.compliant == 0.0 and left > WORTH_A_PASS * settings.tolerance * moved
        if converged and passes < PASSES and worth:
            converged, passes = False, passes + 1
            for k in range(lam.size):
                c[k] = lam[k]
        # kept factors are renewed where they shrink increments slowly, or took many: near convergence, where increments
        # are rounding, that they do not shrink says nothing
        if iterations > 1 and (shrinks > SHRINKS_ENOUGH if not converged else iterations > KEPT_PASSES):
            factored = 0
        size_before = size
    for j in range(d.size):
        states.solved[j] = after.x[j]
    reason = DONE
    if lam.size:
        # the mass matrix of a fresh linearisation is that of this state but for the last increment: a good metric
        reason = project(mechanism, work, solver, settings, after, states.norms, t, fresh, loose, scalar)
    _remember(settings, before, after)
    return reason, iterations, factored


# ---- projections


@inner
def project(mechanism, work, solver, settings, state, norms, t, has_mass, loose, scalar):
    """Project velocities, then accelerations; note the norms that remain. Returns DONE or SINGULAR.

    has_mass: whether solver.M is about that of the state.
    """
    n, m, q, v, a, J = mechanism.n_v, mechanism.n_constraints, state.q, state.v, state.a, work.J
    place(mechanism, work, q, v, a, scalar * 0.0 + t, m, scalar)
    norms[VALUES] = _norm(work.values, mechanism.n_holonomic)
    norms[RATES], norms[SECONDS] = _norm(work.rates, m), _norm(work.seconds, m)
    norms[PROJECTED], norms[LEFT], norms[LOOSE] = 0.0, 0.0, loose
    largest = max(norms[RATES], norms[SECONDS] if settings.project_accelerations else 0.0)
    if settings.projection == 0.0 or largest <= settings.project_above:
        return DONE
    row_jacobian(mechanism, work, solver.sparse, runtime_int(0), m, scalar)
    if not has_mass:
        mass(mechanism, work, solver.sparse, q, v, a, solver.M, scalar)
    for k in range(m):
        solver.eps_newton[k] = settings.scales[k] * (loose if settings.passes > 0 else 1.0 / settings.projection)
    if not saddle_factor(solver.sparse, solver.M, J, J, solver.eps_newton, n, m, solver.P, solver.pivots_P):
        return SINGULAR
    defect = norms[RATES]
    norms[LEFT] = _left(_nearest(work, solver, settings, work.rates, v, True), defect, settings.enough)
    place_again(mechanism, work, q, v, a, scalar * 0.0 + t, m, scalar)
    norms[RATES], norms[SECONDS], norms[PROJECTED] = _norm(work.rates, m), _norm(work.seconds, m), 1.0
    if settings.project_accelerations:
        defect = norms[SECONDS]
        norms[SECONDS] = _nearest(work, solver, settings, work.seconds, a, False)
        norms[LEFT] = max(norms[LEFT], _left(norms[SECONDS], defect, settings.enough))
    return DONE


@inlined
def _left(after, before, enough):
    """The share of defects that a projection left, or 0 where it left nothing."""
    return after / before if after > max(DEFECT, 2.0 * enough * before) else 0.0


@inner
def _nearest(work, solver, settings, defects, u, first):
    """u := the nearest u without defects; returns the norm of what is left of them. first: with new factors."""
    n, m, x, c, J, sparse = u.size, solver.c.size, solver.x, solver.c, work.J, solver.sparse
    for j in range(n):
        x[j] = 0.0
    for k in range(m):
        c[k] = -defects[k]
        x[n + k] = -defects[k]
    if first:
        solve_factored(sparse, solver.P, solver.pivots_P, x, n + m)
    else:
        solve_again(sparse, solver.P, solver.pivots_P, x, n + m)
    saddle_refine(sparse, solver.P, solver.pivots_P, J, c, x, n, m, settings.passes, settings.enough, solver.work)
    left = 0.0
    for k in range(m):
        rest = -c[k]
        for e in range(first_entry(sparse, k, n), first_entry(sparse, k + 1, n)):
            rest += J[e] * x[column_of(sparse, e, k, n)]
        left += abs(rest) ** 2
    for j in range(n):
        u[j] += x[j]
    return math.sqrt(left)


@inlined
def _norm(x, count):
    total = 0.0
    for k in range(count):
        total += abs(x[k]) ** 2
    return math.sqrt(total)
