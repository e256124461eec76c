"""The transpose of the implicit step: the passes of `tangent`, each transposed, in the other order."""

from __future__ import annotations

from mechgrad.dynamics.kernels.sparse import column_of, first_entry
from mechgrad.dynamics.kernels.sparse_columns import add_rows_transposed, add_square_transposed, solve_refined
from mechgrad.dynamics.kernels.turning import carry, spread
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, spliced, wrapper
from mechgrad.kernels.records import refer
from mechgrad.steps.newmark.kernels.blocks import both_factors, copy_columns, make_scratch


@inlined
def _move(source, x, m):
    """x := [ source; 0 ], and nothing is left of the source."""
    n = source.shape[0]
    for j in range(n):
        for k in range(x.shape[1]):
            x[j, k], source[j, k] = source[j, k], 0.0
    for r in range(m):
        for k in range(x.shape[1]):
            x[n + r, k] = 0.0


@inner
def _keep(x, n, m, first, second, i):
    """Note minus the two halves of x in line i of (no, N, .) arrays."""
    for k in range(first.shape[0]):
        for j in range(n):
            first[k, i, j] = -x[j, k]
        for r in range(m):
            second[k, i, r] = -x[n + r, k]


@inner
def _add_weighted_transposed(sparse, Gamma, w2, m, n, X, out):
    """out -= (w2 Gamma)^T X[n:]."""
    for r in range(m):
        for e in range(first_entry(sparse, r, n), first_entry(sparse, r + 1, n)):
            f, j = w2[r] * Gamma[e], column_of(sparse, e, r, n)
            if f != 0.0:
                for k in range(X.shape[1]):
                    out[j, k] -= f * X[n + r, k]


@inlined
def pass_on_back(settings, scratch, pulls, adjoint, i):
    """The transpose of `pass_on`: gradients by q, v, a after the step, and, so far, of a and x before."""
    alpha_m, alpha_f, q, v, a = settings.alpha_m, settings.alpha_f, scratch.q, scratch.v, scratch.a
    yq, yv, ya, yx, GQ, GV, GA = adjoint.q, adjoint.v, adjoint.a, adjoint.x, pulls.q, pulls.v, pulls.a
    for j in range(q.shape[0]):
        for k in range(q.shape[1]):
            q[j, k], v[j, k] = yq[j, k] + GQ[i, j, k], yv[j, k] + GV[i, j, k]
            a[j, k] = ya[j, k] + GA[i, j, k] + (1.0 - alpha_f) / (1.0 - alpha_m) * yx[j, k]
            ya[j, k] = alpha_f / (1.0 - alpha_m) * yx[j, k]
            yx[j, k] *= -alpha_m / (1.0 - alpha_m)


@spliced
def _project_accelerations_back(numbers, blocks, i, scratch, weights):
    """The transpose of `_project_acceleration_changes`."""
    n, m, x, passes = blocks.d.shape[1], blocks.w2.size, scratch.x, numbers.passes_projection
    _move(scratch.a, x, m)
    solve_refined(
        scratch.sparse, scratch.P, scratch.pivots_P, blocks.Gamma[i], x, n, m, runtime_int(1), passes, scratch
    )
    _keep(x, n, m, weights.acceleration_impulse, weights.second, i)
    add_square_transposed(scratch.sparse, blocks.M[i], n, x, scratch.a, 1.0)
    add_square_transposed(scratch.sparse, blocks.K3[i], n, x, scratch.q, -1.0)
    add_rows_transposed(scratch.sparse, blocks.second_q[i], m, n, x, scratch.q, -1.0)
    add_rows_transposed(scratch.sparse, blocks.second_v[i], m, n, x, scratch.v, -1.0)


@spliced
def _project_velocities_back(numbers, blocks, i, scratch, weights):
    """The transpose of `_project_velocity_changes`."""
    n, m, x, passes = blocks.d.shape[1], blocks.w2.size, scratch.x, numbers.passes_projection
    _move(scratch.v, x, m)
    solve_refined(
        scratch.sparse, scratch.P, scratch.pivots_P, blocks.Gamma[i], x, n, m, runtime_int(1), passes, scratch
    )
    _keep(x, n, m, weights.velocity_impulse, weights.rate, i)
    add_square_transposed(scratch.sparse, blocks.M[i], n, x, scratch.v, 1.0)
    add_square_transposed(scratch.sparse, blocks.K2[i], n, x, scratch.q, -1.0)
    add_rows_transposed(scratch.sparse, blocks.rate_q[i], m, n, x, scratch.q, -1.0)


@spliced
def _newton_back(atoms_i, numbers, blocks, i, scratch, by_lam, weights):
    """The transpose of `_newton_changes`; by_lam: gradients by multipliers."""
    n, m, scale, cv, ca, total = (
        blocks.d.shape[1], blocks.w2.size, numbers.scale[i], numbers.cv[i], numbers.ca[i], blocks.total[i],
    )  # fmt: skip
    x, q, v, a, d = scratch.x, scratch.q, scratch.v, scratch.a, scratch.d
    copy_columns(q, d)
    spread(atoms_i, blocks.d[i], d, -1.0)
    for j in range(n):
        for k in range(x.shape[1]):
            x[j, k] = d[j, k] + cv * v[j, k] + ca * a[j, k]
    for r in range(m):
        for k in range(x.shape[1]):
            x[n + r, k] = by_lam[i, r, k] / scale
    solve_refined(
        scratch.sparse, scratch.S, scratch.pivots_S, blocks.Gamma[i], x, n, m, runtime_int(1), numbers.passes, scratch
    )
    for j in range(n):
        for k in range(x.shape[1]):
            x[j, k] *= scale
    for r in range(m):
        for k in range(x.shape[1]):
            x[n + r, k] /= total[r]
    _keep(x, n, m, weights.residual, weights.constraint, i)
    add_square_transposed(scratch.sparse, blocks.K[i], n, x, q, -1.0)
    add_rows_transposed(scratch.sparse, blocks.c_q[i], m, n, x, q, -1.0)
    add_square_transposed(scratch.sparse, blocks.C[i], n, x, v, -1.0)
    add_rows_transposed(scratch.sparse, blocks.c_v[i], m, n, x, v, -1.0)
    add_square_transposed(scratch.sparse, blocks.M[i], n, x, a, -1.0)
    _add_weighted_transposed(scratch.sparse, blocks.Gamma[i], blocks.w2, m, n, x, a)


@spliced
def scheme_back(atoms_i, settings, numbers, blocks, i, scratch, adjoint):
    """The transpose of `scheme_changes`."""
    beta, gamma, alpha_m, alpha_f, h = settings.beta, settings.gamma, settings.alpha_m, settings.alpha_f, numbers.h[i]
    yq, yv, ya, yx, q, v, a, d = adjoint.q, adjoint.v, adjoint.a, adjoint.x, scratch.q, scratch.v, scratch.a, scratch.d
    copy_columns(q, d)
    carry(atoms_i, blocks.d[i], q, -1.0)
    spread(atoms_i, blocks.d[i], d, -1.0)
    for j in range(q.shape[0]):
        for k in range(q.shape[1]):
            yq[j, k] = q[j, k]
            yv[j, k] = h * d[j, k] + v[j, k]
            yx[j, k] += h * h * (0.5 - beta) * d[j, k] + h * (1.0 - gamma) * v[j, k]
            yx[j, k] += alpha_m / (1.0 - alpha_f) * a[j, k]
            ya[j, k] -= alpha_f / (1.0 - alpha_f) * a[j, k]


@kernel
def _adjoint_steps(atoms_i, settings, numbers, blocks, scratch, pulls, adjoint, weights, rank):
    settings, numbers, blocks, scratch = refer(settings), refer(numbers), refer(blocks), refer(scratch)
    pulls, adjoint, weights = refer(pulls), refer(adjoint), refer(weights)
    for i in range(blocks.d.shape[0] - 1, -1, -1):
        if not both_factors(atoms_i, numbers, blocks, i, scratch, rank):
            return i
        pass_on_back(settings, scratch, pulls, adjoint, i)
        if blocks.w2.size > 0 and blocks.projected[i]:
            if settings.project_accelerations:
                _project_accelerations_back(numbers, blocks, i, scratch, weights)
            _project_velocities_back(numbers, blocks, i, scratch, weights)
        _newton_back(atoms_i, numbers, blocks, i, scratch, pulls.lam, weights)
        scheme_back(atoms_i, settings, numbers, blocks, i, scratch, adjoint)
    return -1


@wrapper
def adjoint_steps(atoms_i, settings, numbers, blocks, pulls, adjoint, weights, rank, sparse=None):
    """The transpose of `tangent_steps`, from the last step to the first.

    pulls: gradients by the state after each step (N, n or m, no), no best `padded`; adjoint: a `State` of (n, no)
    arrays, adjoints of state and memory, in place, those after the last step on entry. Out, for as many objectives as
    they have room for: weights of `StepTerms`, (objectives, N, .); rank and sparse as there. Returns the first step
    with a singular matrix, or -1.
    """
    scratch = make_scratch(blocks, adjoint.q.shape[1], sparse)
    return _adjoint_steps(atoms_i, settings, numbers, blocks, scratch, pulls, adjoint, weights, rank)
