"""Jacobians and curvature of rows by the columns that move them alone; the twins of `row_states` for large mechanisms.

Row k has entries row_start[k] .. row_start[k + 1] - 1, one for each column that moves one of its attachments, and
row_columns says which. On the way from attachment f of row k to the ground columns pass the entries walk[..], from
walk_start[4 k + f] on.
"""

from __future__ import annotations

from mechgrad.kernels.elementary import magnitude
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.vec3 import add, cross, dot, get3, scale, sub, zero3
from mechgrad.kinematics.kernels.header import (
    acting_count,
    atom_count,
    column_atom,
    column_parent,
    marker_at,
    moves,
    row_int,
    row_number,
    row_terms,
    term_factor,
)
from mechgrad.kinematics.kernels.left_out_rows import ATTACHMENT, ATTACHMENTS, F_G, F_GD, F_X, F_XD
from mechgrad.kinematics.kernels.marker_motions import MOTION
from mechgrad.kinematics.kernels.measures import attachments_of_kind, profile, variation
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, V, W, twist_rates
from mechgrad.kinematics.kernels.row_states import (
    NOTHING,
    acts_at_a_point,
    attached_atom,
    attached_column,
    attachment_covector,
    column_displacement,
    contact_displacement,
)
from mechgrad.model.mechanism import R_KIND, R_RADIUS
from mechgrad.model.primitives.rows import LINEAR, POINT, SLIP


@inner
def sparse_row_columns(ints, numbers, twists, attachments, sparse, first, last, J, scalar):
    """Gamma of the rows first .. last - 1 into entries of J."""
    row_start, walk_start, walk, term_entries = (
        sparse.row_start, sparse.walk_start, sparse.walk, sparse.term_entries,
    )  # fmt: skip
    n_atoms, zero = atom_count(ints), scalar * 0.0
    for k in range(first, last):
        for e in range(row_start[k], row_start[k + 1]):
            store(J, e, zero)
        kind = row_int(ints, k, R_KIND)
        if kind == LINEAR:
            first_term, last_term = row_terms(ints, k)
            for c in range(first_term, last_term):
                store(J, term_entries[c], zero + term_factor(ints, numbers, c))
            continue
        for f in range(attachments_of_kind(kind)):
            if attached_atom(ints, k, f) == n_atoms:
                continue
            moment, force = attachment_covector(ints, attachments, k, f, scalar)
            j, w = attached_column(ints, k, f), walk_start[4 * k + f]
            while j >= 0:
                s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
                store(J, walk[w], load(J, walk[w], scalar) + (dot(s, moment) + dot(m, force)))
                j, w = column_parent(ints, j), w + 1


@inner
def sparse_row_rate_columns(mechanism, work, sparse, first, last, J, scalar):
    """Derivatives of the rates by q of the rows first .. last - 1 into entries of J."""
    ints, frames, twists, attachments = mechanism.ints, work.frames, work.twists, work.attachments
    row_start, walk_start, walk = sparse.row_start, sparse.walk_start, sparse.walk
    n_atoms, zero = atom_count(ints), scalar * 0.0
    for k in range(first, last):
        for e in range(row_start[k], row_start[k + 1]):
            store(J, e, zero)
        kind = row_int(ints, k, R_KIND)
        for f in range(attachments_of_kind(kind)):
            atom = attached_atom(ints, k, f)
            if atom == n_atoms:
                continue
            o = k * ATTACHMENTS + f * ATTACHMENT
            moment, force = attachment_covector(ints, attachments, k, f, scalar)
            x, xd = get3(attachments, o + F_X, scalar), get3(attachments, o + F_XD, scalar)
            g, gd = get3(attachments, o + F_G, scalar), get3(attachments, o + F_GD, scalar)
            turn, along = add(cross(xd, g), cross(x, gd)), gd
            if kind >= SLIP:  # as in `row_states.row_rate_columns`
                w_, vel = get3(frames, atom * FRAME + W, scalar), get3(frames, atom * FRAME + V, scalar)
                turn, along = add(cross(w_, moment), cross(vel, force)), cross(w_, force)
            elif not acts_at_a_point(ints, k, f):
                along = zero3(scalar)
            j, w = attached_column(ints, k, f), walk_start[4 * k + f]
            while j >= 0:
                s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
                d_w, d_v, _, _ = twist_rates(frames, column_atom(ints, j), s, m, scalar)
                term = dot(d_w, moment) + dot(d_v, force) + dot(s, turn) + dot(m, along)
                store(J, walk[w], load(J, walk[w], scalar) + term)
                j, w = column_parent(ints, j), w + 1
        if kind >= SLIP:
            _wandering_rates(mechanism, work, sparse, k, J, scalar)


@inlined
def _wandering_rates(mechanism, work, sparse, k, J, scalar):
    """Add what a wandering contact point and turning directions do to the rate of a velocity-level row."""
    ints, numbers, frames, attachments = mechanism.ints, mechanism.numbers, work.frames, work.attachments
    oa, ob, o = attached_atom(ints, k, 0) * FRAME, attached_atom(ints, k, 1) * FRAME, k * ATTACHMENTS
    spin = sub(get3(frames, oa + W, scalar), get3(frames, ob + W, scalar))
    c, e = get3(attachments, o + F_X, scalar), get3(attachments, o + F_G, scalar)
    slide = add(sub(get3(frames, oa + V, scalar), get3(frames, ob + V, scalar)), cross(spin, c))
    for at in range(sparse.row_start[k], sparse.row_start[k + 1]):
        j = sparse.row_columns[at]
        dc, de = contact_displacement(ints, numbers, k, j, work.motion, work.twists, scalar)
        store(J, at, load(J, at, scalar) + (dot(de, slide) + dot(e, cross(spin, dc))))


@inlined
def _add_along(ints, twists, sparse, k, f, b, x, shift, g, dg, H, scalar):
    """`row_states._add_along` for column b of row k."""
    if attached_atom(ints, k, f) == atom_count(ints):
        return
    start, count = sparse.row_start[k], sparse.row_start[k + 1] - sparse.row_start[k]
    moment = add(cross(x, dg), cross(shift, g))
    point = acts_at_a_point(ints, k, f)
    i, w = attached_column(ints, k, f), sparse.walk_start[4 * k + f]
    while i >= 0:
        term = dot(get3(twists, i * TWIST, scalar), moment)
        if point:
            term = term + dot(get3(twists, i * TWIST + 3, scalar), dg)
        at = sparse.bent[sparse.bent_start[k] + (sparse.walk[w] - start) * count + b]
        store(H, at, load(H, at, scalar) + term)
        i, w = column_parent(ints, i), w + 1


@inlined
def _contact_curvature(mechanism, work, sparse, k, b, j, factor, H, scalar):
    """A row of velocities: the contact point wanders by dc, the direction turns by de."""
    ints, twists, attachments = mechanism.ints, work.twists, work.attachments
    x = get3(attachments, k * ATTACHMENTS + F_X, scalar)
    g = scale(factor, get3(attachments, k * ATTACHMENTS + F_G, scalar))
    dc, de = contact_displacement(ints, mechanism.numbers, k, j, work.motion, twists, scalar)
    de = scale(factor, de)
    for f in range(2):
        sign = 1.0 - 2.0 * f
        shift = dc
        if moves(ints, attached_atom(ints, k, f), j):  # beyond what a material point at x does
            s = get3(twists, j * TWIST, scalar)
            shift = sub(dc, add(cross(s, x), get3(twists, j * TWIST + 3, scalar)))
        _add_along(ints, twists, sparse, k, f, b, x, shift, scale(sign, g), scale(sign, de), H, scalar)


@inlined
def _gradient_curvature(mechanism, work, sparse, k, b, j, factor, H, scalar):
    """Any other row of points and directions: the gradients turn by their `variation`."""
    ints, numbers, motion, twists = mechanism.ints, mechanism.numbers, work.motion, work.twists
    kind, radius, zero = row_int(ints, k, R_KIND), row_number(ints, numbers, k, R_RADIUS), zero3(scalar)
    m0, m1, m2, m3 = marker_at(ints, k, 0), marker_at(ints, k, 1), marker_at(ints, k, 2), marker_at(ints, k, 3)
    x0, x1 = get3(motion, m0 * MOTION, scalar), get3(motion, m1 * MOTION, scalar)
    x2, x3 = get3(motion, m2 * MOTION, scalar), get3(motion, m3 * MOTION, scalar)
    along = profile(ints, numbers, k, kind, x1, x2, x3, scalar)
    h0, h1, h2, h3 = variation(
        kind, radius, x0, x1, x2, x3, column_displacement(ints, m0, j, motion, twists, scalar),
        column_displacement(ints, m1, j, motion, twists, scalar),
        column_displacement(ints, m2, j, motion, twists, scalar),
        column_displacement(ints, m3, j, motion, twists, scalar), along, scalar,
    )  # fmt: skip
    for f in range(attachments_of_kind(kind)):
        h = h0 if f == 0 else (h1 if f == 1 else (h2 if f == 2 else h3))
        x = get3(work.attachments, k * ATTACHMENTS + f * ATTACHMENT + F_X, scalar)
        _add_along(ints, twists, sparse, k, f, b, x, zero, zero, scale(factor, h), H, scalar)


@inner
def sparse_row_curvature(mechanism, work, sparse, H, scalar):
    """Add to entries of H what the changing gradients of all rows, times their multipliers work.y, do."""
    ints, row_start, row_columns = mechanism.ints, sparse.row_start, sparse.row_columns
    near_rows = work.near_rows
    for stretch in range(near_rows[0]):
        for k in range(near_rows[1 + 2 * stretch], min(acting_count(ints), near_rows[2 + 2 * stretch])):
            kind, factor = row_int(ints, k, R_KIND), load(work.y, k, scalar)
            if kind in (LINEAR, POINT) or not any_not_less(magnitude(factor), NOTHING):  # no change, or nothing acts
                continue
            for b in range(row_start[k + 1] - row_start[k]):
                j = row_columns[row_start[k] + b]
                if kind >= SLIP:
                    _contact_curvature(mechanism, work, sparse, k, b, j, factor, H, scalar)
                else:
                    _gradient_curvature(mechanism, work, sparse, k, b, j, factor, H, scalar)
