"""Independent coordinates: the position problem, and an implicit step of the Matrix R formulation.

z (the free rows: joint coordinates or coordinates of points) are as many as the degrees of freedom. With
W = [Gamma; B], Gamma of the constraints and B of the free rows, square and regular:

    position        W dq = [ -value; z - z(q) ]            repeated
    velocity        W v  = [ f'; z' ]                       rates of constraints vanish, those of free rows are z'
    acceleration    W a  = [ c; z'' - B' v ]
    motion          W^T [ lam; mu ] = -r(q, v, a),    mu = -R^T r = 0,    R = W^-1 [ 0; 1 ]

Which rows make W is a `Choice`, which `choose_again` changes on the way.

The Newmark family (`steps.newmark.kernels.step`) acts on z; its Newton matrix is bh2 R^T (r_q + cv r_v + ca M) R, exact
or approximate.
"""

from __future__ import annotations

import math

from mechgrad.dynamics.kernels.state_accelerations import BAD_NUMBER, DIVERGED, DONE, NOT_CONVERGED, SINGULAR
from mechgrad.dynamics.kernels.system import forces, linearise, place, place_rows_of, residual, row_jacobian
from mechgrad.dynamics.kernels.tangent_step import displace
from mechgrad.kernels.jit import inlined, inner, runtime_int, spliced
from mechgrad.kernels.lanes import any_not_less
from mechgrad.kernels.lu import lu_factor, lu_solve, lu_solve_transposed
from mechgrad.kinematics.kernels.header import row_int
from mechgrad.kinematics.kernels.measures import whole_turns
from mechgrad.model.mechanism import R_KIND
from mechgrad.model.primitives.rows import ANGLE
from mechgrad.steps.independent.kernels.choices import (
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
from mechgrad.steps.newmark.kernels.march_states import RATES, SECONDS, VALUES
from mechgrad.steps.newmark.kernels.scheme import step_factors
from mechgrad.steps.newmark.kernels.step import (
    LINEAR_TOLERANCE,
    SHRINKS_ENOUGH,
    approximate_matrix,
    why_singular,
)

POSITION_PASSES = 30


# ---- W and the position problem


@inner
def place_chosen(mechanism, work, choice, q, v, a, t, scalar):
    """`place` of all rows that act and of the free ones that are chosen."""
    check = place(mechanism, work, q, v, a, scalar * 0.0 + t, mechanism.n_rows, scalar)
    for k in range(choice.counts[RANK], choice.pick.size):
        row = choice.pick[k]
        place_rows_of(mechanism, work, q, v, a, scalar * 0.0 + t, row, row + 1, scalar)
    return check


@inner
def factor_W(mechanism, work, solver, choice, scalar):
    """Factors of W = [Gamma; B] in the placed state, into solver.P; all rows of Gamma and those of B into work.J."""
    n, pick, J, P = mechanism.n_v, choice.pick, work.J, solver.P
    row_jacobian(mechanism, work, None, runtime_int(0), mechanism.n_constraints, scalar)
    for k in range(n):
        row = pick[k]
        if k >= choice.counts[RANK]:
            row_jacobian(mechanism, work, None, row, row + 1, scalar)
        for j in range(n):
            P[k * n + j] = J[row * n + j]
    return lu_factor(P, solver.pivots_P, n)


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
def independent(mechanism, work, solver, choice, q, v, t, z, rate, tolerance, scalar):
    """Correct q and v in place so that constraints hold and the free rows are z, with these rates. Returns a reason."""
    n, rank, pick, x = mechanism.n_v, choice.counts[RANK], choice.pick, solver.x
    for _ in range(POSITION_PASSES):
        check = place_chosen(mechanism, work, choice, q, v, work.zero, t, scalar)
        if any_not_less(check, 1.0):
            return BAD_NUMBER
        if not factor_W(mechanism, work, solver, choice, scalar):
            return SINGULAR
        for k in range(rank):
            x[k] = -work.values[pick[k]]
        for k in range(rank, n):
            x[k] = z[k - rank] - work.values[pick[k]]
            if row_int(mechanism.ints, pick[k], R_KIND) == ANGLE:
                x[k] -= whole_turns(x[k])  # angles are told to a full turn, z goes on
        lu_solve(solver.P, solver.pivots_P, x, n)
        size = 0.0
        for j in range(n):
            size += abs(x[j]) ** 2
        displace(mechanism.atoms_i, q, x, solver.work)
        for j in range(q.size):
            q[j] = solver.work[j]
        if math.sqrt(size) < tolerance:
            return correct_velocities(mechanism, work, solver, choice, q, v, t, rate, scalar)
        if not size < DIVERGED:
            break
    return NOT_CONVERGED


@inner
def correct_velocities(mechanism, work, solver, choice, q, v, t, rate, scalar):
    """v := the velocities with rates of constraints 0 and of the free rows `rate`, at q. Returns a reason."""
    n, rank, pick, x = mechanism.n_v, choice.counts[RANK], choice.pick, solver.x
    place_chosen(mechanism, work, choice, q, work.zero, work.zero, t, scalar)  # rates at v = 0: what time alone does
    if not factor_W(mechanism, work, solver, choice, scalar):
        return SINGULAR
    for k in range(rank):
        x[k] = -work.rates[pick[k]]
    for k in range(rank, n):
        x[k] = rate[k - rank] - work.rates[pick[k]]
    lu_solve(solver.P, solver.pivots_P, x, n)
    for j in range(n):
        v[j] = x[j]
    return DONE


# ---- what is chosen


@inner
def begin_choice(mechanism, work, solver, choice, q, v, t, scalar):
    """Measure the choice in the state that a march begins with. Returns the orientation of W."""
    place_chosen(mechanism, work, choice, q, v, work.zero, t, scalar)
    if not factor_W(mechanism, work, solver, choice, scalar):
        return 0.0
    choice.sizes[NOW] = spread(solver, choice)
    if not choice.sizes[LIMIT] > 0.0:
        choice.sizes[LIMIT] = max(LEAST_LIMIT, GROWTH * choice.sizes[NOW])
    return orientation(solver.P, solver.pivots_P, choice.pick.size)


@inner
def choose_again(mechanism, work, solver, choice, q, v, t, better, scalar):
    """Take the best rows in this state, if the measure becomes smaller than `better` times what it is. Returns 1 if
    others are chosen now, else 0."""
    before, changed = choice.sizes[NOW], 0
    place_chosen(mechanism, work, choice, q, v, work.zero, t, scalar)
    factor_W(mechanism, work, solver, choice, scalar)
    if best_rows(mechanism, work, choice):
        for j in range(choice.pick.size):
            if choice.pick[j] != choice.other[j]:
                changed = 1
    if changed:
        swap(choice)
        size = spread(solver, choice) if factor_W(mechanism, work, solver, choice, scalar) else math.inf
        if size < better * before:
            choice.sizes[NOW] = size
            choice.sizes[LIMIT] = max(LEAST_LIMIT, GROWTH * size)
            note(choice, t)
            return 1
        swap(choice)
    choice.sizes[LIMIT] = max(LEAST_LIMIT, GROWTH * before)
    return 0


@inner
def look(mechanism, work, solver, choice, q, v, t, scalar):
    """What is to be chosen for the step that begins with this state: others where W gets badly conditioned, or those
    that are held for this step. Returns 1 if others are chosen now, else 0."""
    changed = 0
    if choice.counts[HOLDS]:
        while choice.counts[NEXT] < choice.held.shape[0] and choice.held[choice.counts[NEXT], 0] <= choice.counts[STEP]:
            for j in range(choice.pick.size):
                choice.pick[j] = choice.held[choice.counts[NEXT], 1 + j]
            choice.counts[NEXT] += 1
            changed = 1
    elif choice.sizes[NOW] > choice.sizes[LIMIT]:
        changed = choose_again(mechanism, work, solver, choice, q, v, t, BETTER, scalar)
    return changed


# ---- a step


@inner
def _free_state(mechanism, work, choice, state, t, free, scalar):
    """Values, rates and second rates of the free rows that are chosen, in a state."""
    rank = choice.counts[RANK]
    place_chosen(mechanism, work, choice, state.q, state.v, state.a, t, scalar)
    for k in range(choice.pick.size - rank):
        row = choice.pick[rank + k]
        free.z[k], free.rate[k], free.second[k] = work.values[row], work.rates[row], work.seconds[row]


@inlined
def _first_configuration(mechanism, before, after, d, h):
    """after.q := where constant accelerations lead, from which the position problem starts."""
    for j in range(d.size):
        d[j] = h * before.v[j] + 0.5 * h * h * before.a[j]
    displace(mechanism.atoms_i, before.q, d, after.q)


@inlined
def _free_scheme(settings, h, count, before, x0, after, x):
    """Independent coordinates after a step, that their memory x stands for; x0: that before."""
    beta, gamma, alpha_m, alpha_f = settings.beta, settings.gamma, settings.alpha_m, settings.alpha_f
    z0, rate0, second0, z, rate, second = before.z, before.rate, before.second, after.z, after.rate, after.second
    for k in range(count):
        z[k] = z0[k] + h * rate0[k] + h * h * ((0.5 - beta) * x0[k] + beta * x[k])
        rate[k] = rate0[k] + h * ((1.0 - gamma) * x0[k] + gamma * x[k])
        second[k] = ((1.0 - alpha_m) * x[k] + alpha_m * x0[k] - alpha_f * second0[k]) / (1.0 - alpha_f)


@spliced
def _accelerate(mechanism, work, solver, choice, after, t, second, scalar):
    """Accelerations from the factors of W at q; second rates at a = 0 are what velocities and time do. Leaves the state
    placed, with its forces."""
    n, rank, pick, x = mechanism.n_v, choice.counts[RANK], choice.pick, solver.x
    place_chosen(mechanism, work, choice, after.q, after.v, work.zero, t, scalar)
    for k in range(rank):
        x[k] = -work.seconds[pick[k]]
    for k in range(rank, n):
        x[k] = second[k - rank] - work.seconds[pick[k]]
    lu_solve(solver.P, solver.pivots_P, x, n)
    for j in range(n):
        after.a[j] = x[j]
    place_chosen(mechanism, work, choice, after.q, after.v, after.a, t, scalar)
    forces(mechanism, work, scalar * 0.0 + t, scalar)


@spliced
def _balance(mechanism, work, solver, choice, after, lam, scale, scalar):
    """W^T [ lam; mu ] = -r: multipliers, and scale mu, the residual of the motion, into solver.work."""
    n, rank, pick, x = mechanism.n_v, choice.counts[RANK], choice.pick, solver.x
    for k in range(lam.size):
        work.y[k] = 0.0
    residual(mechanism, work, after.q, after.v, after.a, solver.r, scalar)
    for j in range(n):
        x[j] = -solver.r[j]
    lu_solve_transposed(solver.P, solver.pivots_P, x, n)
    for k in range(lam.size):
        lam[k] = 0.0 * scalar
    for k in range(rank):
        lam[pick[k]] = x[k]
    for k in range(n - rank):
        solver.work[k] = scale * x[rank + k]


@inner
def _free_increment(solver, x, scale, count):
    """Solve, and add the increments to the memory; returns their norm."""
    lu_solve(solver.S, solver.pivots_S, solver.work, count)
    size = 0.0
    for k in range(count):
        size += abs(solver.work[k]) ** 2
        x[k] = x[k] + solver.work[k] / scale
    return math.sqrt(size)


@inlined
def _note_norms(mechanism, work, norms):
    """Norms of constraint values, rates and second rates."""
    norms[VALUES] = norms[RATES] = norms[SECONDS] = 0.0
    for k in range(mechanism.n_constraints):
        norms[RATES] += abs(work.rates[k]) ** 2
        norms[SECONDS] += abs(work.seconds[k]) ** 2
        if k < mechanism.n_holonomic:
            norms[VALUES] += abs(work.values[k]) ** 2
    for i in range(3):
        norms[i] = math.sqrt(norms[i])


@spliced
def independent_step(mechanism, work, solver, choice, settings, states, before, after, h, t, factored, scalar):
    """As `implicit_step`, for Matrix R; memories of z are in the first slots of before.x and after.x."""
    free, lam, scale = mechanism.n_v - choice.counts[RANK], states.lam, settings.beta * h * h
    free_before, free_after = states.free_before, states.free_after
    _free_state(mechanism, work, choice, before, t - h, free_before, scalar)
    _first_configuration(mechanism, before, after, states.d, h)
    size_before, converged, iterations = math.inf, False, 0
    while True:
        _free_scheme(settings, h, free, free_before, before.x, free_after, after.x)
        z, rate, tolerance = free_after.z, free_after.rate, settings.tolerance
        reason = independent(
            mechanism, work, solver, choice, after.q, after.v, t, z, rate, tolerance, scalar
        )  # fmt: skip
        if reason != DONE:
            return reason, iterations, 0
        _accelerate(mechanism, work, solver, choice, after, t, free_after.second, scalar)
        _balance(mechanism, work, solver, choice, after, lam, scale, scalar)
        if converged:  # only now are q, v, a and lam those of the last x
            break
        if iterations >= settings.max_iterations:
            return NOT_CONVERGED, iterations, 0
        if factored == 0:
            for k in range(lam.size):
                work.y[k] = lam[k]
            if not _reduced_matrix(mechanism, work, solver, choice, settings, after, h, scalar):
                return why_singular(solver.r), iterations, 0
            factored = 1 if settings.reuse else 0
        size = _free_increment(solver, after.x, scale, free)
        iterations += 1
        if not size < DIVERGED:
            return NOT_CONVERGED, iterations, 0
        # the matrix leaves out how R turns: convergence is linear
        shrinks = min(size / size_before, 1.0) if iterations > 1 else 1.0
        converged = size * shrinks < LINEAR_TOLERANCE * settings.tolerance
        if iterations > 1 and shrinks > SHRINKS_ENOUGH:
            factored = 0
        size_before = size
    for k in range(states.solved.size):
        states.solved[k] = after.x[k]
    _note_norms(mechanism, work, states.norms)
    return DONE, iterations, factored


@inner
def _reduced_matrix(mechanism, work, solver, choice, settings, state, h, scalar):
    """Factors of bh2 R^T (r_q + cv r_v + ca M) R into solver.S; R is kept in solver.C."""
    n, rank, A, C, x = mechanism.n_v, choice.counts[RANK], solver.A, solver.C, solver.x
    free = n - rank
    scale, cv, ca = step_factors(settings, h)
    if settings.exact:
        linearise(mechanism, work, None, solver.r, solver.K, C, solver.M, scalar)
        for i in range(n * n):
            A[i] = scale * (solver.K[i] + cv * C[i] + ca * solver.M[i])
    else:
        approximate_matrix(mechanism, work, solver, settings, state, h, scalar)
    for k in range(free):  # columns of R as rows of C
        for j in range(n):
            x[j] = 0.0
        x[rank + k] = 1.0
        lu_solve(solver.P, solver.pivots_P, x, n)
        for j in range(n):
            C[k * n + j] = x[j]
    for k in range(free):
        for j in range(n):
            total = 0.0 * scalar
            for i in range(n):
                total += A[j * n + i] * C[k * n + i]
            x[j] = total
        for i in range(free):
            total = 0.0 * scalar
            for j in range(n):
                total += C[i * n + j] * x[j]
            solver.S[i * free + k] = total
    return lu_factor(solver.S, solver.pivots_S, free)
