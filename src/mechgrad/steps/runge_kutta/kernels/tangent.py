"""Steps of explicit Runge-Kutta methods, differentiated: what they do to changes of the state, and the transpose.

    y_i = y + h sum_m A_im k_m,    k_i = (N(q_i) v_i, R^T a(q_i, v_i)),    y+ = y + h sum_i B_i k_i,    y = (q, R^T v)

The state between steps changes by (dq, dv), dq a tangent change, n_v numbers. Within a step Euler parameters change by
four numbers, since stages are sums of them (`ball_changes`). No rotation after a step depends on
their length at its start, so normalisation has no derivative that matters.
Accelerations change by F_q dq + F_v dv + f_p. Where states are brought back to the constraints (`CorrectionMatrices`),
they change to X dq + x_p and Y dv + Z dq + y_p. All that is prepared beforehand: here is matrix algebra only.
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.records import refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.steps.runge_kutta.kernels.ball_changes import drop, lift, stretch, to_child, to_parent, turn
from mechgrad.steps.runge_kutta.kernels.blocks import clear_all, copy_into, make_scratch


@inner
def _product(F, x, out, n):
    """out += F x."""
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += F[i * n + j] * x[j]
        out[i] += total


@inner
def _corrected(matrices, line, by_q, by_v, dq, dv, work):
    """(dq, dv) after a correction, in place; by_q, by_v: what parameters do to it."""
    n = dq.size
    for j in range(n):
        work[j], work[n + j] = by_q[j], by_v[j]
    _product(matrices.X[line], dq, work, n)
    _product(matrices.Z[line], dq, work[n:], n)
    _product(matrices.Y[line], dv, work[n:], n)
    for j in range(n):
        dq[j], dv[j] = work[j], work[n + j]


@inner
def _sum(base, K, factors, count, h, out):
    """out = base + h sum_m factors_m K_m."""
    for j in range(out.size):
        out[j] = base[j]
    for m in range(count):
        f = h * factors[m]
        if f != 0.0:
            for j in range(out.size):
                out[j] += f * K[m, j]


@inlined
def _summed(atoms_i, balls, scratch, factors, count, h, q, v):
    """A state that is a sum of stages, at q, v: its change, tangent in scratch.x, velocities in scratch.y_v."""
    _sum(scratch.base_q, scratch.k_q, factors, count, h, scratch.y_q)
    _sum(scratch.base_v, scratch.k_v, factors, count, h, scratch.y_v)
    clear_all(scratch.x)
    drop(atoms_i, q, scratch.y_q, scratch.x, True)
    to_parent(balls, q, v, scratch.x, scratch.y_v)


@spliced
def _start_change(atoms_i, balls, blocks, i, k, scratch, change):
    """The change with which step i starts."""
    clear_all(scratch.base_q)
    lift(atoms_i, blocks.start[i], change.q[k], scratch.base_q, False)
    copy_into(change.v[k], scratch.base_v)
    to_child(balls, blocks.start[i], blocks.start_v[i], change.q[k], scratch.base_v)


@spliced
def _stage_change(atoms_i, balls, blocks, i, m, k, scratch, terms):
    """The change of the derivative of stage m."""
    at, n, x, y_q, y_v, k_q, k_v = (
        blocks.first[i] + m, scratch.x.size, scratch.x, scratch.y_q, scratch.y_v, scratch.k_q[m], scratch.k_v[m],
    )  # fmt: skip
    _summed(atoms_i, balls, scratch, blocks.A[m], m, blocks.h[i], blocks.before[at], blocks.before_v[at])
    clear_all(k_q)
    if blocks.corrected.X.shape[0] > 0:
        _corrected(blocks.corrected, at, terms.stage_q[at, k], terms.stage_v[at, k], x, y_v, scratch.work)
        stretch(atoms_i, blocks.before[at], y_q, k_q, blocks.q[at])
        lift(atoms_i, blocks.q[at], x, k_q, False)
        copy_into(k_q, y_q)
        clear_all(k_q)
    lift(atoms_i, blocks.q[at], y_v, k_q, False)
    turn(atoms_i, blocks.v[at], y_q, k_q, 1.0)
    copy_into(terms.accelerations[at, k], k_v)
    _product(blocks.F_q[at], x, k_v, n)
    _product(blocks.F_v[at], y_v, k_v, n)
    to_child(balls, blocks.q[at], blocks.a[at], x, k_v)


@spliced
def _report_change(atoms_i, balls, blocks, i, o, k, scratch, terms, after):
    """The change of a report within step i."""
    stages = blocks.first[i + 1] - blocks.first[i]
    _summed(atoms_i, balls, scratch, blocks.weights[o], stages, blocks.h[i], blocks.out_q[o], blocks.out_v[o])
    if blocks.corrected_reports.X.shape[0] > 0:
        _corrected(
            blocks.corrected_reports,
            o,
            terms.report_q[o, k],
            terms.report_v[o, k],
            scratch.x,
            scratch.y_v,
            scratch.work,
        )
    put_row(after.report_q[o], k, scratch.x)
    put_row(after.report_v[o], k, scratch.y_v)


@spliced
def _end_change(atoms_i, balls, blocks, i, k, scratch, terms, change, after):
    """The change after step i."""
    _summed(atoms_i, balls, scratch, blocks.B, blocks.B.size, blocks.h[i], blocks.end[i], blocks.end_v[i])
    if blocks.corrected_ends.X.shape[0] > 0:
        _corrected(blocks.corrected_ends, i, terms.end_q[i, k], terms.end_v[i, k], scratch.x, scratch.y_v, scratch.work)
    put_row(change.q, k, scratch.x)
    put_row(change.v, k, scratch.y_v)
    put_row(after.end_q[i], k, scratch.x)
    put_row(after.end_v[i], k, scratch.y_v)


@kernel
def _tangent_march(atoms_i, balls, blocks, scratch, terms, change, after):
    blocks, scratch, terms, change, after = refer(blocks), refer(scratch), refer(terms), refer(change), refer(after)
    for i in range(blocks.h.size):
        for k in range(change.q.shape[0]):
            _start_change(atoms_i, balls, blocks, i, k, scratch, change)
            for m in range(blocks.first[i + 1] - blocks.first[i]):
                _stage_change(atoms_i, balls, blocks, i, m, k, scratch, terms)
            for o in range(blocks.out_first[i], blocks.out_first[i + 1]):
                _report_change(atoms_i, balls, blocks, i, o, k, scratch, terms, after)
            _end_change(atoms_i, balls, blocks, i, k, scratch, terms, change, after)


@wrapper
def tangent_march(atoms_i, balls, blocks, terms, change, after):
    """Changes (`StateChange`, columns np) of the state through N steps, in place; those after each step and of reports
    into `after` (`EndColumns`).

    balls: (count, 2), where they begin in q and v; terms: `StageTerms` by parameters.
    """
    _tangent_march(atoms_i, balls, blocks, make_scratch(blocks), terms, change, after)
