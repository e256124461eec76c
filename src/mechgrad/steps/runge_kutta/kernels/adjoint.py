"""The transpose of explicit Runge-Kutta steps: the passes of `tangent`, each transposed, in the other order."""

from __future__ import annotations

from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.records import refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.steps.runge_kutta.kernels.ball_changes import (
    drop,
    lift,
    stretch_back,
    to_child_back,
    to_parent_back,
    turn,
)
from mechgrad.steps.runge_kutta.kernels.blocks import clear_all, copy_into, make_scratch


@inner
def _transposed(F, x, out, n):
    """out += F^T x."""
    for i in range(n):
        if x[i] != 0.0:
            for j in range(n):
                out[j] += F[i * n + j] * x[i]


@inner
def _corrected_back(matrices, line, dq, dv, work):
    """The transpose of a correction, in place."""
    n = dq.size
    for j in range(2 * n):
        work[j] = 0.0
    _transposed(matrices.X[line], dq, work, n)
    _transposed(matrices.Z[line], dv, work, n)
    _transposed(matrices.Y[line], dv, work[n:], n)
    for j in range(n):
        dq[j], dv[j] = work[j], work[n + j]


@inner
def _sum_back(x, K, factors, count, h, base):
    """The transpose of `_sum`."""
    for j in range(x.size):
        base[j] += x[j]
    for m in range(count):
        f = h * factors[m]
        if f != 0.0:
            for j in range(x.size):
                K[m, j] += f * x[j]


@inlined
def summed_back(atoms_i, balls, scratch, factors, count, h, q, v):
    """The transpose of a state that is a sum of stages: from x, y_v of `scratch` to the stages; adds to y_q first."""
    to_parent_back(balls, q, v, scratch.x, scratch.y_v)
    lift(atoms_i, q, scratch.x, scratch.y_q, True)
    _sum_back(scratch.y_q, scratch.k_q, factors, count, h, scratch.base_q)
    _sum_back(scratch.y_v, scratch.k_v, factors, count, h, scratch.base_v)


@inlined
def end_pulls(i, k, scratch, pulls, adjoint):
    """Gradients by the state after step i, into x, y_v of `scratch`."""
    x, y_v = scratch.x, scratch.y_v
    for j in range(x.size):
        x[j], y_v[j] = adjoint.q[k, j] + pulls.end_q[i, k, j], adjoint.v[k, j] + pulls.end_v[i, k, j]


@inlined
def end_summed_back(atoms_i, balls, blocks, i, scratch):
    """The transpose of the sum of stages after step i; nothing is known of the stages yet."""
    clear_all(scratch.base_q)
    clear_all(scratch.base_v)
    clear_all(scratch.y_q)
    for m in range(scratch.k_q.shape[0]):
        clear_all(scratch.k_q[m])
        clear_all(scratch.k_v[m])
    summed_back(atoms_i, balls, scratch, blocks.B, blocks.B.size, blocks.h[i], blocks.end[i], blocks.end_v[i])


@spliced
def end_back(atoms_i, balls, blocks, i, k, scratch, pulls, adjoint, weights):
    """The transpose of `_end_change`."""
    end_pulls(i, k, scratch, pulls, adjoint)
    if blocks.corrected_ends.X.shape[0] > 0:
        put_row(weights.end_q[k], i, scratch.x)
        put_row(weights.end_v[k], i, scratch.y_v)
        _corrected_back(blocks.corrected_ends, i, scratch.x, scratch.y_v, scratch.work)
    end_summed_back(atoms_i, balls, blocks, i, scratch)


@inlined
def report_summed_back(atoms_i, balls, blocks, i, o, scratch):
    """The transpose of the sum of stages that report o within step i is."""
    stages = blocks.first[i + 1] - blocks.first[i]
    summed_back(atoms_i, balls, scratch, blocks.weights[o], stages, blocks.h[i], blocks.out_q[o], blocks.out_v[o])


@spliced
def report_back(atoms_i, balls, blocks, i, o, k, scratch, pulls, weights):
    """The transpose of `_report_change`."""
    x, y_v = scratch.x, scratch.y_v
    copy_into(pulls.report_q[o, k], x)
    copy_into(pulls.report_v[o, k], y_v)
    clear_all(scratch.y_q)
    if blocks.corrected_reports.X.shape[0] > 0:
        put_row(weights.report_q[k], o, x)
        put_row(weights.report_v[k], o, y_v)
        _corrected_back(blocks.corrected_reports, o, x, y_v, scratch.work)
    report_summed_back(atoms_i, balls, blocks, i, o, scratch)


@spliced
def _stage_back(atoms_i, balls, blocks, i, m, k, scratch, weights):
    """The transpose of `_stage_change`."""
    at, n, x, y_q, y_v, k_q, k_v = (
        blocks.first[i] + m, scratch.x.size, scratch.x, scratch.y_q, scratch.y_v, scratch.k_q[m], scratch.k_v[m],
    )  # fmt: skip
    clear_all(x)
    clear_all(y_v)
    clear_all(y_q)
    to_child_back(balls, blocks.q[at], blocks.a[at], x, k_v)
    put_row(weights.accelerations[k], at, k_v)
    _transposed(blocks.F_q[at], k_v, x, n)
    _transposed(blocks.F_v[at], k_v, y_v, n)
    drop(atoms_i, blocks.q[at], k_q, y_v, False)
    turn(atoms_i, blocks.v[at], k_q, y_q, -1.0)
    if blocks.corrected.X.shape[0] > 0:
        drop(atoms_i, blocks.q[at], y_q, x, False)
        put_row(weights.stage_q[k], at, x)
        put_row(weights.stage_v[k], at, y_v)
        copy_into(y_q, scratch.around)
        clear_all(y_q)
        stretch_back(atoms_i, blocks.before[at], scratch.around, y_q, blocks.q[at])
        _corrected_back(blocks.corrected, at, x, y_v, scratch.work)
    summed_back(atoms_i, balls, scratch, blocks.A[m], m, blocks.h[i], blocks.before[at], blocks.before_v[at])


@spliced
def start_back(atoms_i, balls, blocks, i, k, scratch, adjoint):
    """The transpose of `_start_change`."""
    clear_all(adjoint.q[k])
    to_child_back(balls, blocks.start[i], blocks.start_v[i], adjoint.q[k], scratch.base_v)
    drop(atoms_i, blocks.start[i], scratch.base_q, adjoint.q[k], False)
    put_row(adjoint.v, k, scratch.base_v)


@kernel
def _adjoint_march(atoms_i, balls, blocks, scratch, pulls, adjoint, weights):
    blocks, scratch, pulls, adjoint, weights = (
        refer(blocks),
        refer(scratch),
        refer(pulls),
        refer(adjoint),
        refer(weights),
    )
    for i in range(blocks.h.size - 1, -1, -1):
        for k in range(adjoint.q.shape[0]):
            end_back(atoms_i, balls, blocks, i, k, scratch, pulls, adjoint, weights)
            for o in range(blocks.out_first[i], blocks.out_first[i + 1]):
                report_back(atoms_i, balls, blocks, i, o, k, scratch, pulls, weights)
            for m in range(blocks.first[i + 1] - blocks.first[i] - 1, -1, -1):
                _stage_back(atoms_i, balls, blocks, i, m, k, scratch, weights)
            start_back(atoms_i, balls, blocks, i, k, scratch, adjoint)


@wrapper
def adjoint_march(atoms_i, balls, blocks, pulls, adjoint, weights):
    """The transpose of `tangent_march`, from the last step to the first.

    pulls: gradients by the state after each step and by reports (`EndColumns`, columns no); adjoint: a `StateChange`,
    in place. Out: weights of `StageTerms`, (no, lines, n).
    """
    _adjoint_march(atoms_i, balls, blocks, make_scratch(blocks), pulls, adjoint, weights)
