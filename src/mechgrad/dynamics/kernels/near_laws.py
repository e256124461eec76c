"""The broad phase: which laws can act at all, so that what is far from each other costs nothing.

Laws whose first row guards them (`model.primitives.rows`) are zero beyond its reach. A list holds those within

    |x_a - x_b| < reach + skin

and is good for as long as no watched point has gone further than skin / 2 since it was made, each sample by itself:
a pair that is not in it is then still further apart than its reach. Passes visit the laws, rows and markers of the list
alone; within it each state decides by the reach itself. So the list leaves out what is exactly zero, whatever states
came before: motions are the same to the last bit, and gradients to rounding.

    near_laws      count, then laws in their order
    near_rows      count, then (first, last) of stretches of rows: those of constraints, of these laws, and free ones
    near_markers   count, then (first, last) of stretches of markers
    near_known     whether there is a list, then of each guard whether its law is in it
    seen_at        watched points where the list was made, then the square of skin / 2
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.laws import let_go
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.vec3 import dot, get3, put3, sub
from mechgrad.kinematics.kernels.header import row_number
from mechgrad.kinematics.kernels.left_out_rows import leave_out
from mechgrad.kinematics.kernels.marker_motions import MOTION, marker_motion_block
from mechgrad.kinematics.kernels.tables import RowStates
from mechgrad.model.mechanism import (
    AT_COMMON,
    AT_GUARDS,
    AT_WATCHED,
    G_A,
    G_B,
    G_FIRST,
    G_LAST,
    G_LAW,
    G_MARKER,
    G_MARKER_END,
    GUARD,
    LAW_WIDTH,
    R_RADIUS,
)

SKIN = 0.5  # part of the mean reach: measured with chains that swing and with an anchor, flat from 0.2 to 1


@inlined
def _guard(ints, g, what):
    return ints[ints[AT_GUARDS] + g * GUARD + what]


@inner
def see_all(mechanism, work, scalar):
    """No list yet: every law, row and marker is looked at."""
    ints, near_laws, near_rows, near_markers = mechanism.ints, work.near_laws, work.near_rows, work.near_markers
    near_laws[0] = mechanism.n_laws
    for k in range(mechanism.n_laws):
        near_laws[1 + k] = k
    near_rows[0], near_rows[1], near_rows[2] = 1, 0, mechanism.n_all
    near_markers[0], near_markers[1], near_markers[2] = 1, 0, mechanism.markers_i.shape[0]
    work.near_known[0] = 0
    count, total = mechanism.n_guards, scalar * 0.0
    for g in range(count):
        work.near_known[1 + g] = 1
        total = total + row_number(ints, mechanism.numbers, _guard(ints, g, G_FIRST), R_RADIUS)
    half = total * (0.5 * SKIN / max(count, 1))
    store(work.seen_at, 3 * mechanism.n_watched, half * half)


@inlined
def _watched(ints, b):
    return ints[ints[AT_WATCHED] + b]


@inner
def _have_gone(mechanism, work, scalar):
    """Whether a watched point is further from where the list was made than half of the skin, in any sample."""
    ints, motion, seen_at = mechanism.ints, work.motion, work.seen_at
    limit = load(seen_at, 3 * mechanism.n_watched, scalar)
    for b in range(mechanism.n_watched):
        d = sub(get3(motion, _watched(ints, b) * MOTION, scalar), get3(seen_at, 3 * b, scalar))
        if any_not_less(dot(d, d) - limit, 0.0):
            return True
    return False


@inner
def _put_lists(mechanism, work):
    """Laws, stretches of rows and stretches of markers that are near, by the flags of the guards."""
    ints, known, near_laws, near_rows, near_markers = (
        mechanism.ints, work.near_known, work.near_laws, work.near_rows, work.near_markers,
    )  # fmt: skip
    law, row, laws, rows, markers, common = 0, 0, 0, 0, 0, 0
    for g in range(mechanism.n_guards + 1):
        last = g == mechanism.n_guards
        near = not last and known[1 + g] != 0
        own, own_end = mechanism.n_markers, mechanism.n_markers
        if near:
            own, own_end = _guard(ints, g, G_MARKER), _guard(ints, g, G_MARKER_END)
        # in the order of all markers, so that sums over them are the same with and without a list
        while common < mechanism.n_common and (last or near) and ints[ints[AT_COMMON] + 2 * common] <= own:
            near_markers[1 + 2 * markers] = ints[ints[AT_COMMON] + 2 * common]
            near_markers[2 + 2 * markers] = ints[ints[AT_COMMON] + 2 * common + 1]
            markers, common = markers + 1, common + 1
        if near:
            if own < own_end:
                near_markers[1 + 2 * markers], near_markers[2 + 2 * markers] = own, own_end
                markers += 1
            continue
        far, first = mechanism.n_laws, mechanism.n_all
        if not last:
            far, first = _guard(ints, g, G_LAW), _guard(ints, g, G_FIRST)
        for k in range(law, far):
            near_laws[1 + laws] = k
            laws += 1
        if row < first:
            near_rows[1 + 2 * rows], near_rows[2 + 2 * rows] = row, first
            rows += 1
        if not last:
            law, row = far + 1, _guard(ints, g, G_LAST)
    near_laws[0], near_rows[0], near_markers[0] = laws, rows, markers


@inner
def look_around(mechanism, work, scalar):
    """Make the list anew if there is none, or where something has gone too far; its markers are placed."""
    if mechanism.n_guards == 0 or mechanism.n_laws == 0:
        return
    ints, numbers, motion = mechanism.ints, mechanism.numbers, work.motion
    known, seen_at = work.near_known, work.seen_at
    if known[0] != 0 and not _have_gone(mechanism, work, scalar):
        return
    for b in range(mechanism.n_watched):
        put3(seen_at, 3 * b, get3(motion, _watched(ints, b) * MOTION, scalar))
    half = load(seen_at, 3 * mechanism.n_watched, scalar)
    rows = RowStates(work.values, work.rates, work.seconds)
    for g in range(mechanism.n_guards):
        first, last = _guard(ints, g, G_FIRST), _guard(ints, g, G_LAST)
        d = get3(motion, _guard(ints, g, G_A) * MOTION, scalar)
        d = sub(d, get3(motion, _guard(ints, g, G_B) * MOTION, scalar))
        # |d| < reach + skin wherever |d|^2 < 2 (reach^2 + skin^2), which asks for no root and lets a little more in
        reach = scalar * 0.0 + row_number(ints, numbers, first, R_RADIUS)
        near = any_not_less((reach * reach + half * 4.0) * 2.0 - dot(d, d), 0.0)
        if not near and known[1 + g] != 0:
            leave_out(first, last, rows, work.attachments, scalar)
            let_go(work.y, work.y_g, work.y_gd, first, last - first, ints[LAW_WIDTH], scalar)
        known[1 + g] = 1 if near else 0
    known[0] = 1
    _put_lists(mechanism, work)
    place_markers(mechanism, work, scalar)


@inner
def place_markers(mechanism, work, scalar):
    """Motion of the markers of all near stretches."""
    near_markers = work.near_markers
    for k in range(near_markers[0]):
        marker_motion_block(
            mechanism.markers_i, mechanism.markers_f, work.frames, work.motion, near_markers[1 + 2 * k],
            near_markers[2 + 2 * k], scalar,
        )  # fmt: skip
