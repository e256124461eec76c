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
from mechgrad.steps.runge_kutta.kernels.blocks import clear_all, copy_into, make_room


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
def summed_back(atoms_i, balls, room, factors, count, h, q, v):
    """The transpose of a state that is a sum of stages: from room.x, room.y_v to the stages; adds to room.y_q first."""
    to_parent_back(balls, q, v, room.x, room.y_v)
    lift(atoms_i, q, room.x, room.y_q, True)
    _sum_back(room.y_q, room.k_q, factors, count, h, room.base_q)
    _sum_back(room.y_v, room.k_v, factors, count, h, room.base_v)


@spliced
def end_back(atoms_i, balls, blocks, i, k, room, pulls, adjoint, weights):
    """The transpose of `_end_change`; nothing is known of the stages yet."""
    x, y_v = room.x, room.y_v
    for j in range(x.size):
        x[j], y_v[j] = adjoint.q[k, j] + pulls.end_q[i, k, j], adjoint.v[k, j] + pulls.end_v[i, k, j]
    if blocks.settled.X.shape[0] > 0:
        put_row(weights.end_q[k], i, x)
        put_row(weights.end_v[k], i, y_v)
        _corrected_back(blocks.settled, i, x, y_v, room.work)
    clear_all(room.base_q)
    clear_all(room.base_v)
    clear_all(room.y_q)
    for m in range(room.k_q.shape[0]):
        clear_all(room.k_q[m])
        clear_all(room.k_v[m])
    summed_back(atoms_i, balls, room, blocks.B, blocks.B.size, blocks.h[i], blocks.end[i], blocks.end_v[i])


@spliced
def report_back(atoms_i, balls, blocks, i, o, k, room, pulls, weights):
    """The transpose of `_report_change`."""
    stages, x, y_v = blocks.first[i + 1] - blocks.first[i], room.x, room.y_v
    copy_into(pulls.report_q[o, k], x)
    copy_into(pulls.report_v[o, k], y_v)
    clear_all(room.y_q)
    if blocks.out_settled.X.shape[0] > 0:
        put_row(weights.report_q[k], o, x)
        put_row(weights.report_v[k], o, y_v)
        _corrected_back(blocks.out_settled, o, x, y_v, room.work)
    summed_back(atoms_i, balls, room, blocks.weights[o], stages, blocks.h[i], blocks.out_q[o], blocks.out_v[o])


@spliced
def _stage_back(atoms_i, balls, blocks, i, m, k, room, weights):
    """The transpose of `_stage_change`."""
    at, n, x, y_q, y_v, k_q, k_v = (
        blocks.first[i] + m, room.x.size, room.x, room.y_q, room.y_v, room.k_q[m], room.k_v[m],
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
        copy_into(y_q, room.around)
        clear_all(y_q)
        stretch_back(atoms_i, blocks.before[at], room.around, y_q, blocks.q[at])
        _corrected_back(blocks.corrected, at, x, y_v, room.work)
    summed_back(atoms_i, balls, room, blocks.A[m], m, blocks.h[i], blocks.before[at], blocks.before_v[at])


@spliced
def start_back(atoms_i, balls, blocks, i, k, room, adjoint):
    """The transpose of `_start_change`."""
    clear_all(adjoint.q[k])
    to_child_back(balls, blocks.start[i], blocks.start_v[i], adjoint.q[k], room.base_v)
    drop(atoms_i, blocks.start[i], room.base_q, adjoint.q[k], False)
    put_row(adjoint.v, k, room.base_v)


@kernel
def _adjoint_march(atoms_i, balls, blocks, room, pulls, adjoint, weights):
    blocks, room, pulls, adjoint, weights = refer(blocks), refer(room), refer(pulls), refer(adjoint), refer(weights)
    for i in range(blocks.h.size - 1, -1, -1):
        for k in range(adjoint.q.shape[0]):
            end_back(atoms_i, balls, blocks, i, k, room, pulls, adjoint, weights)
            for o in range(blocks.out_first[i], blocks.out_first[i + 1]):
                report_back(atoms_i, balls, blocks, i, o, k, room, pulls, weights)
            for m in range(blocks.first[i + 1] - blocks.first[i] - 1, -1, -1):
                _stage_back(atoms_i, balls, blocks, i, m, k, room, weights)
            start_back(atoms_i, balls, blocks, i, k, room, adjoint)


@wrapper
def adjoint_march(atoms_i, balls, blocks, pulls, adjoint, weights):
    """The transpose of `tangent_march`, from the last step to the first.

    pulls: gradients by the state after each step and by reports (`EndColumns`, columns no); adjoint: a `StateChange`,
    in place. Out: weights of `StageTerms`, (no, lines, n).
    """
    _adjoint_march(atoms_i, balls, blocks, make_room(blocks), pulls, adjoint, weights)
