"""The implicit step (`step`), differentiated: what it does to changes of the state before (tangent), and its transpose.

Stage 1, Newton's equations, with u = beta h^2 dx1, the changes that the state before leaves behind marked 0:

    d(q) = dq0 + D u,   d(v*) = dv0 + cv u,   d(a*) = da0 + ca u
    [ bh2 (K D + cv C + ca M)                Gamma^T ] [ u        ]   [ -bh2 (K dq0 + C dv0 + M da0 + r_p)     ]
    [ (c_q D + cv c_v + ca c_a) / total      -eps    ] [ bh2 dlam ] = [ -(c_q dq0 + c_v dv0 + c_a da0 + c_p) / total ]

c = w0 value + w1 rate + w2 second is the constraint that is solved. Stages 2 and 3, the projections:

    [ M  Gamma^T ; Gamma  -1/p ] [ dv; dsig ] = [ M d(v*) - K2 dq - s_p;  -rate_q dq - rate_p              ]
    [ M  Gamma^T ; Gamma  -1/p ] [ da; dkap ] = [ M d(a*) - K3 dq - k_p;  -second_q dq - second_v dv - second_p ]

K2 = (M (v - v*) + Gamma^T sig)_q, s_p its twin by parameters, K3 and k_p likewise with a and kap. The influence of eps
is taken away by repetition where rows depend on each other; elsewhere there is none. What mechanics says of all steps
is linearised beforehand (`linearised`, `slopes`): here is matrix algebra only. Adjoints run the same stages backwards,
transposed, pass by pass.
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.sparse import column_of, first_entry
from mechgrad.dynamics.kernels.sparse_columns import add_rows, add_square, solve_refined
from mechgrad.dynamics.kernels.turning import carry, spread
from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.records import refer
from mechgrad.steps.newmark.kernels.blocks import both_factors, copy_columns, make_scratch


@inlined
def _add(source, target):
    for j in range(target.shape[0]):
        for k in range(target.shape[1]):
            target[j, k] += source[j, k]


@inlined
def _put_minus(upper, lower, x):
    """x := -[ upper; lower ]."""
    n = upper.shape[0]
    for j in range(n):
        for k in range(x.shape[1]):
            x[j, k] = -upper[j, k]
    for r in range(lower.shape[0]):
        for k in range(x.shape[1]):
            x[n + r, k] = -lower[r, k]


@inner
def _add_weighted(sparse, Gamma, w2, m, n, X, out, factor):
    """out[n:] += factor w2 Gamma X."""
    for r in range(m):
        for e in range(first_entry(sparse, r, n), first_entry(sparse, r + 1, n)):
            a, j = factor * w2[r] * Gamma[e], column_of(sparse, e, r, n)
            if a != 0.0:
                for k in range(X.shape[1]):
                    out[n + r, k] += a * X[j, k]


@spliced
def scheme_changes(atoms_i, settings, numbers, blocks, i, scratch, change):
    """What the state before leaves behind: dq0, dv0, da0 into the columns of q, v, a."""
    beta, gamma, alpha_m, alpha_f, h = settings.beta, settings.gamma, settings.alpha_m, settings.alpha_f, numbers.h[i]
    dq, dv, da, dx, q, v, a, d = change.q, change.v, change.a, change.x, scratch.q, scratch.v, scratch.a, scratch.d
    for j in range(q.shape[0]):
        for k in range(q.shape[1]):
            q[j, k] = dq[j, k]
            d[j, k] = h * dv[j, k] + h * h * (0.5 - beta) * dx[j, k]
            v[j, k] = dv[j, k] + h * (1.0 - gamma) * dx[j, k]
            a[j, k] = (alpha_m * dx[j, k] - alpha_f * da[j, k]) / (1.0 - alpha_f)
    carry(atoms_i, blocks.d[i], q, 1.0)
    spread(atoms_i, blocks.d[i], d, 1.0)
    _add(d, q)


@spliced
def _newton_changes(atoms_i, numbers, blocks, i, scratch, terms, lam):
    """Stage 1: changes of q, v, a by Newton's equations; those of multipliers into lam."""
    n, m, scale, cv, ca, total = (
        blocks.d.shape[1], blocks.w2.size, numbers.scale[i], numbers.cv[i], numbers.ca[i], blocks.total[i],
    )  # fmt: skip
    x, q, v, a, d, r_p, c_p = scratch.x, scratch.q, scratch.v, scratch.a, scratch.d, terms.residual, terms.constraint
    for j in range(n):
        for k in range(x.shape[1]):
            x[j, k] = -scale * r_p[i, j, k]
    add_square(scratch.sparse, blocks.K[i], n, q, x, -scale)
    add_square(scratch.sparse, blocks.C[i], n, v, x, -scale)
    add_square(scratch.sparse, blocks.M[i], n, a, x, -scale)
    for r in range(m):
        for k in range(x.shape[1]):
            x[n + r, k] = -c_p[i, r, k]
    add_rows(scratch.sparse, blocks.c_q[i], m, n, q, x, -1.0)
    add_rows(scratch.sparse, blocks.c_v[i], m, n, v, x, -1.0)
    _add_weighted(scratch.sparse, blocks.Gamma[i], blocks.w2, m, n, a, x, -1.0)
    for r in range(m):
        for k in range(x.shape[1]):
            x[n + r, k] /= total[r]
    solve_refined(scratch.sparse, scratch.S, scratch.pivots_S, scratch.low, x, n, m, None, numbers.passes, scratch)
    for r in range(m):
        for k in range(x.shape[1]):
            lam[i, r, k] = x[n + r, k] / scale
    for j in range(n):
        for k in range(x.shape[1]):
            d[j, k] = x[j, k]
            v[j, k] += cv * x[j, k]
            a[j, k] += ca * x[j, k]
    spread(atoms_i, blocks.d[i], d, 1.0)
    _add(d, q)


@spliced
def _project_velocity_changes(numbers, blocks, i, scratch, terms):
    """Stage 2: changes of velocities by the projection."""
    n, m, x, passes = blocks.d.shape[1], blocks.w2.size, scratch.x, numbers.passes_projection
    _put_minus(terms.velocity_impulse[i], terms.rate[i], x)
    add_square(scratch.sparse, blocks.M[i], n, scratch.v, x, 1.0)
    add_square(scratch.sparse, blocks.K2[i], n, scratch.q, x, -1.0)
    add_rows(scratch.sparse, blocks.rate_q[i], m, n, scratch.q, x, -1.0)
    solve_refined(scratch.sparse, scratch.P, scratch.pivots_P, blocks.Gamma[i], x, n, m, None, passes, scratch)
    copy_columns(x, scratch.v)


@spliced
def _project_acceleration_changes(numbers, blocks, i, scratch, terms):
    """Stage 3: changes of accelerations by the projection."""
    n, m, x, passes = blocks.d.shape[1], blocks.w2.size, scratch.x, numbers.passes_projection
    _put_minus(terms.acceleration_impulse[i], terms.second[i], x)
    add_square(scratch.sparse, blocks.M[i], n, scratch.a, x, 1.0)
    add_square(scratch.sparse, blocks.K3[i], n, scratch.q, x, -1.0)
    add_rows(scratch.sparse, blocks.second_q[i], m, n, scratch.q, x, -1.0)
    add_rows(scratch.sparse, blocks.second_v[i], m, n, scratch.v, x, -1.0)
    solve_refined(scratch.sparse, scratch.P, scratch.pivots_P, blocks.Gamma[i], x, n, m, None, passes, scratch)
    copy_columns(x, scratch.a)


@inlined
def pass_on(settings, scratch, change, after, i):
    """Changes of state and memory after a step, in place and into line i of `after`."""
    alpha_m, alpha_f, q, v, a = settings.alpha_m, settings.alpha_f, scratch.q, scratch.v, scratch.a
    dq, dv, da, dx, DQ, DV, DA = change.q, change.v, change.a, change.x, after.q, after.v, after.a
    for j in range(q.shape[0]):
        for k in range(q.shape[1]):
            memory = (1.0 - alpha_f) * a[j, k] + alpha_f * da[j, k] - alpha_m * dx[j, k]
            dx[j, k] = memory / (1.0 - alpha_m)
            dq[j, k], dv[j, k], da[j, k] = q[j, k], v[j, k], a[j, k]
            DQ[i, j, k], DV[i, j, k], DA[i, j, k] = q[j, k], v[j, k], a[j, k]


@kernel
def _tangent_steps(atoms_i, settings, numbers, blocks, scratch, terms, change, after, rank):
    settings, numbers, blocks, scratch = refer(settings), refer(numbers), refer(blocks), refer(scratch)
    terms, change, after = refer(terms), refer(change), refer(after)
    for i in range(blocks.d.shape[0]):
        if not both_factors(atoms_i, numbers, blocks, i, scratch, rank):
            return i
        scheme_changes(atoms_i, settings, numbers, blocks, i, scratch, change)
        _newton_changes(atoms_i, numbers, blocks, i, scratch, terms, after.lam)
        if blocks.w2.size > 0 and blocks.projected[i]:
            _project_velocity_changes(numbers, blocks, i, scratch, terms)
            if settings.project_accelerations:
                _project_acceleration_changes(numbers, blocks, i, scratch, terms)
        pass_on(settings, scratch, change, after, i)
    return -1


@wrapper
def tangent_steps(atoms_i, settings, numbers, blocks, terms, change, after, rank, sparse=None):
    """Changes of state and memory (a `State` of (n, np) arrays) through N steps, in place; those of the states after
    each step into `after`.

    terms: (N, n or m, np), np best `padded`. rank: (N,), how far constraints are from losing theirs (`steps.rank`).
    sparse: where entries of the blocks are, or None for dense ones. Returns the first step with a singular matrix,
    or -1.
    """
    scratch = make_scratch(blocks, change.q.shape[1], sparse)
    return _tangent_steps(atoms_i, settings, numbers, blocks, scratch, terms, change, after, rank)
