"""Rows that nothing acts on: those whose bodies are out of reach of each other (`dynamics.kernels.near_laws`)."""

from __future__ import annotations

from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.vec3 import clear, dot, get3, sub
from mechgrad.kinematics.kernels.header import marker_at, row_int, row_number
from mechgrad.kinematics.kernels.marker_motions import MOTION
from mechgrad.model.mechanism import R_COUNT, R_DIRECTION, R_RADIUS
from mechgrad.model.primitives.rows import FAR, PLANE, POINT

# slots of an attachment: position, its rate, gradient, its rate; four attachments per row
F_X, F_XD, F_G, F_GD = 0, 3, 6, 9
ATTACHMENT = 12
ATTACHMENTS = 48


@inlined
def world_direction(ints, numbers, k, scalar):
    zero = scalar * 0.0
    return (
        zero + row_number(ints, numbers, k, R_DIRECTION),
        zero + row_number(ints, numbers, k, R_DIRECTION + 1),
        zero + row_number(ints, numbers, k, R_DIRECTION + 2),
    )


@inlined
def left_out_until(ints, numbers, k, kind, motion, rows, attachments, scalar):
    """Leave out the rows that row k (PLANE or POINT) guards, if its two points are further apart than its reach in all
    samples, or if a sphere is beside its hull in all of them. Returns the row that is next, k if none is left out."""
    if kind not in (PLANE, POINT) or row_int(ints, k, R_COUNT) <= 0:
        return k
    m, reach = 1 if kind == PLANE else 0, row_number(ints, numbers, k, R_RADIUS)
    d = get3(motion, marker_at(ints, k, m) * MOTION, scalar)
    d = sub(d, get3(motion, marker_at(ints, k, m + 1) * MOTION, scalar))
    near = any_not_less(reach * reach - dot(d, d), 0.0)
    if near and row_int(ints, k + 3, R_COUNT) > 0:
        near = _touches_grown_hull(ints, numbers, k, kind, d, motion, scalar)
    if near:
        return k
    leave_out(k, k + row_int(ints, k, R_COUNT), rows, attachments, scalar)
    return k + row_int(ints, k, R_COUNT)


@inner
def _touches_grown_hull(ints, numbers, k, kind, d, motion, scalar):
    """Whether sum (p_i / s_i)^m < 1 in a sample, p the parts of d along the axes of a hull, which are those of rows
    k .. k + 2; 1 / s stands in the direction of row k + 3, m in that of row k + 4."""
    order, total = int(row_number(ints, numbers, k + 4, R_DIRECTION).real), scalar * 0.0
    for i in range(3):
        if kind == POINT:
            e = world_direction(ints, numbers, k + i, scalar)
        else:
            e = get3(motion, marker_at(ints, k + i, 0) * MOTION, scalar)
        u = dot(e, d) * row_number(ints, numbers, k + 3, R_DIRECTION + i)
        square = u * u
        power = square
        for _ in range(2, order, 2):
            power = power * square
        total = total + power
    return any_not_less(1.0 - total, 0.0)


@inlined
def leave_out(first, last, rows, attachments, scalar):
    """Rows that nothing acts on: the value of the first is FAR, all else is zero."""
    zero = scalar * 0.0
    if not any_not_less(load(rows.values, first, scalar), 0.5 * FAR):  # else they were left out before
        for k in range(first, last):
            store(rows.values, k, zero)
            store(rows.rates, k, zero)
            store(rows.seconds, k, zero)
            clear(attachments, k * ATTACHMENTS, ATTACHMENTS, scalar)
    store(rows.values, first, zero + FAR)
