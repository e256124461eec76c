"""Rows of constraints and laws in a state: values, rates, Jacobians and curvature.

What rows are is said in `model.primitives.rows`.

Every row acts on a few *attachments*: its markers, or the two bodies in contact. An attachment is a covector
(x cross g, g) of the atom that carries it (only its first half for a direction), so that with the twists S = (s, m) of
the columns beyond the ground

    Gamma_c  = sum over attachments that c moves of   s . (x cross g) + m . g
    rate     = sum over attachments of                V_w . (x cross g) + V_v . g
    rate_q,c = Psid_c . (x cross g, g) + S_c . (xdot cross g + x cross gdot, gdot)          for holonomic rows
    second   = Gamma a + sum over attachments of      g . xddot|a=0 + gdot . xdot

The generalized force of multipliers y is Gamma^T y. Its derivative by q has a geometric part, that of forces y g of
constant direction at material points (`inverse.kernels.inward`), and the part added here: the change of g, and of x
where a contact point wanders.
"""

from __future__ import annotations

from mechgrad.kernels.elementary import magnitude, reciprocal
from mechgrad.kernels.jit import inlined, inner, runtime_int
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.vec3 import add, cross, dot, get3, put3, scale, sub, zero3
from mechgrad.kinematics.kernels.header import (
    MARKER_ATOM,
    MARKER_COLUMN,
    MARKER_KIND,
    acting_count,
    atom_count,
    column_atom,
    column_parent,
    marker_at,
    marker_int,
    moves,
    row_int,
    row_number,
    row_terms,
    term_column,
    term_coordinate,
    term_factor,
    velocity_count,
)
from mechgrad.kinematics.kernels.left_out_rows import (
    ATTACHMENT,
    ATTACHMENTS,
    F_G,
    F_GD,
    F_X,
    F_XD,
    left_out_until,
    world_direction,
)
from mechgrad.kinematics.kernels.marker_motions import MOTION
from mechgrad.kinematics.kernels.marker_motions import POINT as IS_POINT
from mechgrad.kinematics.kernels.measures import (
    attachments_of_kind,
    contact,
    contact_variation,
    evaluate,
    gradient,
    profile,
    variation,
    whole_turns,
)
from mechgrad.kinematics.kernels.outward import DV, DW, FRAME, TWIST, V, W, twist_rates
from mechgrad.model.mechanism import (
    R_CONSTANT,
    R_FUNCTION,
    R_KIND,
    R_MARKER,
    R_RADIUS,
)
from mechgrad.model.primitives.rows import ANGLE, DISTANCE, LINEAR, POINT, SLIP

NOTHING = 1e-300  # size of a multiplier below which there is none


@inlined
def attached_atom(ints, k, f):
    """The atom that attachment f of row k is on."""
    return marker_int(ints, row_int(ints, k, R_MARKER + f), MARKER_ATOM)


@inlined
def attached_column(ints, k, f):
    """The last column on the way to attachment f of row k."""
    return marker_int(ints, row_int(ints, k, R_MARKER + f), MARKER_COLUMN)


@inlined
def acts_at_a_point(ints, k, f):
    """Whether attachment f of row k is a point, or a direction that is turned."""
    marker = row_int(ints, k, R_MARKER + f)
    return row_int(ints, k, R_KIND) >= SLIP or marker_int(ints, marker, MARKER_KIND) == IS_POINT


@inlined
def attachment_covector(ints, attachments, k, f, scalar):
    """(x cross g, g) of an attachment; the second half vanishes for a direction."""
    o = k * ATTACHMENTS + f * ATTACHMENT
    x, g = get3(attachments, o + F_X, scalar), get3(attachments, o + F_G, scalar)
    moment = cross(x, g)
    if acts_at_a_point(ints, k, f):
        return moment, g
    return moment, zero3(scalar)


@inlined
def _put_attachment(attachments, o, x, xd, g, gd):
    put3(attachments, o + F_X, x)
    put3(attachments, o + F_XD, xd)
    put3(attachments, o + F_G, g)
    put3(attachments, o + F_GD, gd)


@inlined
def _moving_contact(ints, k, motion, frames, c, cd, e, ed, scalar):
    """Rate of a velocity-level row and the part of its second rate that accelerations at hand give."""
    oa, ob = attached_atom(ints, k, 0) * FRAME, attached_atom(ints, k, 1) * FRAME
    spin = sub(get3(frames, oa + W, scalar), get3(frames, ob + W, scalar))
    slide = add(sub(get3(frames, oa + V, scalar), get3(frames, ob + V, scalar)), cross(spin, c))
    turn = sub(get3(frames, oa + DW, scalar), get3(frames, ob + DW, scalar))
    acceleration = add(sub(get3(frames, oa + DV, scalar), get3(frames, ob + DV, scalar)), cross(turn, c))
    return dot(e, slide), dot(ed, slide) + dot(e, add(acceleration, cross(spin, cd)))


@inlined
def _linear_row(ints, numbers, k, state, scalar):
    """Value, rate and second rate of a weighted sum of coordinates."""
    value, rate, second = scalar * 0.0, scalar * 0.0, scalar * 0.0
    first, last = row_terms(ints, k)
    for c in range(first, last):
        factor, j = term_factor(ints, numbers, c), term_column(ints, c)
        value = value + load(state.q, term_coordinate(ints, c), scalar) * factor
        rate = rate + load(state.v, j, scalar) * factor
        second = second + load(state.a, j, scalar) * factor
    return value, rate, second


@inlined
def _point_row(ints, k, motion, e, attachments, o, scalar):
    """Value, rate and second rate of the commonest row of joints, one coordinate of the distance of two points."""
    o0, o1, zero, back = marker_at(ints, k, 0) * MOTION, marker_at(ints, k, 1) * MOTION, zero3(scalar), scale(-1.0, e)
    x0, d0, x1, d1 = (
        get3(motion, o0, scalar),
        get3(motion, o0 + 3, scalar),
        get3(motion, o1, scalar),
        get3(motion, o1 + 3, scalar),
    )
    _put_attachment(attachments, o, x0, d0, e, zero)
    _put_attachment(attachments, o + ATTACHMENT, x1, d1, back, zero)
    second = sub(get3(motion, o0 + 6, scalar), get3(motion, o1 + 6, scalar))
    return dot(e, sub(x0, x1)), dot(e, sub(d0, d1)), dot(e, second)


@inner
def place_rows(ints, numbers, near_rows, motion, frames, state, t, first, last, rows, attachments, scalar):
    """Values, rates, second rates and attachments of the rows first .. last - 1, but those between stretches near_rows:
    motion, frames of markers and atoms are of the state (`Motion`); second rates belong to accelerations and a."""
    for stretch in range(near_rows[0]):
        following, end = max(first, near_rows[1 + 2 * stretch]), min(last, near_rows[2 + 2 * stretch])
        while following < end:
            k, following = following, following + 1
            kind, radius, o = row_int(ints, k, R_KIND), row_number(ints, numbers, k, R_RADIUS), k * ATTACHMENTS
            beyond = left_out_until(ints, numbers, k, kind, motion, rows, attachments, scalar)
            if beyond > k:
                following = beyond
                continue
            value, rate, second = scalar * 0.0, scalar * 0.0, scalar * 0.0
            if kind == LINEAR:
                value, rate, second = _linear_row(ints, numbers, k, state, scalar)
            elif kind == POINT:
                e = world_direction(ints, numbers, k, scalar)
                value, rate, second = _point_row(ints, k, motion, e, attachments, o, scalar)
            else:
                o0, o1 = marker_at(ints, k, 0) * MOTION, marker_at(ints, k, 1) * MOTION
                o2, o3 = marker_at(ints, k, 2) * MOTION, marker_at(ints, k, 3) * MOTION
                x0, x1, x2 = get3(motion, o0, scalar), get3(motion, o1, scalar), get3(motion, o2, scalar)
                d0, d1, d2 = get3(motion, o0 + 3, scalar), get3(motion, o1 + 3, scalar), get3(motion, o2 + 3, scalar)
                if kind >= SLIP:
                    c, e = contact(kind, radius, x0, x1, x2)
                    cd, ed = contact_variation(kind, radius, x1, x2, d0, d1, d2)
                    rate, second = _moving_contact(ints, k, motion, frames, c, cd, e, ed, scalar)
                    _put_attachment(attachments, o, c, cd, e, ed)
                    _put_attachment(attachments, o + ATTACHMENT, c, cd, scale(-1.0, e), scale(-1.0, ed))
                else:
                    x3, d3 = get3(motion, o3, scalar), get3(motion, o3 + 3, scalar)
                    e = world_direction(ints, numbers, k, scalar)
                    along = profile(ints, numbers, k, kind, x1, x2, x3, scalar)
                    value, g0, g1, g2, g3 = gradient(kind, radius, e, x0, x1, x2, x3, along, scalar)
                    h0, h1, h2, h3 = variation(kind, radius, x0, x1, x2, x3, d0, d1, d2, d3, along, scalar)
                    rate = dot(g0, d0) + dot(g1, d1)
                    second = dot(g0, get3(motion, o0 + 6, scalar)) + dot(g1, get3(motion, o1 + 6, scalar))
                    second = second + dot(h0, d0) + dot(h1, d1)
                    _put_attachment(attachments, o, x0, d0, g0, h0)
                    _put_attachment(attachments, o + ATTACHMENT, x1, d1, g1, h1)
                    count = attachments_of_kind(kind)
                    if count > 2:
                        rate = rate + dot(g2, d2)
                        second = second + dot(g2, get3(motion, o2 + 6, scalar)) + dot(h2, d2)
                        _put_attachment(attachments, o + 2 * ATTACHMENT, x2, d2, g2, h2)
                    if count > 3:
                        rate = rate + dot(g3, d3)
                        second = second + dot(g3, get3(motion, o3 + 6, scalar)) + dot(h3, d3)
                        _put_attachment(attachments, o + 3 * ATTACHMENT, x3, d3, g3, h3)
            value = value - row_number(ints, numbers, k, R_CONSTANT)
            if row_int(ints, k, R_FUNCTION) >= 0:
                f, fd, fdd = evaluate(ints, numbers, row_int(ints, k, R_FUNCTION), scalar * 0.0 + t, scalar)
                value, rate, second = value - f, rate - fd, second - fdd
            if kind == ANGLE:
                value = value - whole_turns(value)
            store(rows.values, k, value)
            store(rows.rates, k, rate)
            store(rows.seconds, k, second)


@inner
def row_columns(ints, numbers, twists, attachments, first, last, J, scalar):
    """Gamma of the rows first .. last - 1 into slots (row, column) of J, counted from row 0."""
    n_v, n_atoms = velocity_count(ints), atom_count(ints)
    zero = scalar * 0.0
    for k in range(first, last):
        for j in range(n_v):
            store(J, k * n_v + j, zero)
        kind = row_int(ints, k, R_KIND)
        if kind == LINEAR:
            first_term, last_term = row_terms(ints, k)
            for c in range(first_term, last_term):
                store(J, k * n_v + term_column(ints, c), zero + term_factor(ints, numbers, c))
            continue
        for f in range(attachments_of_kind(kind)):
            atom = attached_atom(ints, k, f)
            if atom == n_atoms:
                continue
            moment, force = attachment_covector(ints, attachments, k, f, scalar)
            j = attached_column(ints, k, f)
            while j >= 0:
                s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
                store(J, k * n_v + j, load(J, k * n_v + j, scalar) + (dot(s, moment) + dot(m, force)))
                j = column_parent(ints, j)


@inlined
def column_displacement(ints, marker, j, motion, twists, scalar):
    """How marker `marker` moves with column j."""
    atom = marker_int(ints, marker, MARKER_ATOM)
    if not moves(ints, atom, j):
        return zero3(scalar)
    s = get3(twists, j * TWIST, scalar)
    dx = cross(s, get3(motion, marker * MOTION, scalar))
    if marker_int(ints, marker, MARKER_KIND) == IS_POINT:
        return add(dx, get3(twists, j * TWIST + 3, scalar))
    return dx


@inner
def row_rate_columns(ints, numbers, motion, frames, twists, attachments, first, last, J, scalar):
    """Derivatives of the rates by q, the twins of `row_columns`; for plain coordinates the rate of Gamma."""
    n_v, n_atoms = velocity_count(ints), atom_count(ints)
    zero = scalar * 0.0
    for k in range(first, last):
        for j in range(n_v):
            store(J, k * n_v + j, zero)
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
            if kind >= SLIP:
                # the attachment is not a material point: its rate has how the body's velocity changes there
                w, vel = get3(frames, atom * FRAME + W, scalar), get3(frames, atom * FRAME + V, scalar)
                turn, along = add(cross(w, moment), cross(vel, force)), cross(w, force)
            elif not acts_at_a_point(ints, k, f):
                along = zero3(scalar)
            j = attached_column(ints, k, f)
            while j >= 0:
                s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
                d_w, d_v, _, _ = twist_rates(frames, column_atom(ints, j), s, m, scalar)
                term = dot(d_w, moment) + dot(d_v, force) + dot(s, turn) + dot(m, along)
                store(J, k * n_v + j, load(J, k * n_v + j, scalar) + term)
                j = column_parent(ints, j)
        if kind >= SLIP:
            _wandering_rates(ints, numbers, motion, frames, twists, attachments, k, J, scalar)


@inlined
def _wandering_rates(ints, numbers, motion, frames, twists, attachments, k, J, scalar):
    """Add what a wandering contact point and turning directions do to the rate of a velocity-level row."""
    n_v = velocity_count(ints)
    oa, ob, o = attached_atom(ints, k, 0) * FRAME, attached_atom(ints, k, 1) * FRAME, k * ATTACHMENTS
    spin = sub(get3(frames, oa + W, scalar), get3(frames, ob + W, scalar))
    c, e = get3(attachments, o + F_X, scalar), get3(attachments, o + F_G, scalar)
    slide = add(sub(get3(frames, oa + V, scalar), get3(frames, ob + V, scalar)), cross(spin, c))
    for j in range(n_v):
        dc, de = contact_displacement(ints, numbers, k, j, motion, twists, scalar)
        store(J, k * n_v + j, load(J, k * n_v + j, scalar) + (dot(de, slide) + dot(e, cross(spin, dc))))


@inlined
def contact_displacement(ints, numbers, k, j, motion, twists, scalar):
    """Changes of contact point and direction of a velocity-level row with column j."""
    a, b, c = marker_at(ints, k, 0), marker_at(ints, k, 1), marker_at(ints, k, 2)
    return contact_variation(
        row_int(ints, k, R_KIND),
        row_number(ints, numbers, k, R_RADIUS),
        get3(motion, b * MOTION, scalar),
        get3(motion, c * MOTION, scalar),
        column_displacement(ints, a, j, motion, twists, scalar),
        column_displacement(ints, b, j, motion, twists, scalar),
        column_displacement(ints, c, j, motion, twists, scalar),
    )


@inlined
def _add_along(ints, twists, k, f, j, x, shift, g, dg, H, scalar):
    """H[i, j] += s_i . (x cross dg + shift cross g) + m_i . dg over the columns i of an attachment."""
    atom, n_v = attached_atom(ints, k, f), velocity_count(ints)
    if atom == atom_count(ints):
        return
    moment = add(cross(x, dg), cross(shift, g))
    point = acts_at_a_point(ints, k, f)
    i = attached_column(ints, k, f)
    while i >= 0:
        term = dot(get3(twists, i * TWIST, scalar), moment)
        if point:
            term = term + dot(get3(twists, i * TWIST + 3, scalar), dg)
        store(H, i * n_v + j, load(H, i * n_v + j, scalar) + term)
        i = column_parent(ints, i)


@inlined
def _distance_curvature(ints, motion, twists, attachments, k, factor, H, scalar):
    """The commonest row: its direction u turns by (dx - u (u . dx)) / length."""
    a, b, o, zero = marker_at(ints, k, 0), marker_at(ints, k, 1), k * ATTACHMENTS, zero3(scalar)
    u = get3(attachments, o + F_G, scalar)
    x0, x1 = get3(attachments, o + F_X, scalar), get3(attachments, o + ATTACHMENT + F_X, scalar)
    tension = factor * reciprocal(dot(u, sub(x0, x1)))
    for j in range(velocity_count(ints)):
        if moves(ints, marker_int(ints, a, MARKER_ATOM), j) or moves(ints, marker_int(ints, b, MARKER_ATOM), j):
            dx = column_displacement(ints, a, j, motion, twists, scalar)
            dx = sub(dx, column_displacement(ints, b, j, motion, twists, scalar))
            turn = scale(tension, sub(dx, scale(dot(u, dx), u)))
            _add_along(ints, twists, k, runtime_int(0), j, x0, zero, zero, turn, H, scalar)
            _add_along(ints, twists, k, runtime_int(1), j, x1, zero, zero, scale(-1.0, turn), H, scalar)


@inlined
def _contact_curvature(ints, numbers, motion, twists, attachments, k, factor, H, scalar):
    """A row of velocities: the contact point c wanders by dc, the direction e turns by de."""
    x, g = (
        get3(attachments, k * ATTACHMENTS + F_X, scalar),
        scale(factor, get3(attachments, k * ATTACHMENTS + F_G, scalar)),
    )
    for j in range(velocity_count(ints)):
        dc, de = contact_displacement(ints, numbers, k, j, motion, twists, scalar)
        de = scale(factor, de)
        for f in range(2):
            sign = 1.0 - 2.0 * f
            shift = dc
            if moves(ints, attached_atom(ints, k, f), j):  # beyond what a material point at x does
                s = get3(twists, j * TWIST, scalar)
                shift = sub(dc, add(cross(s, x), get3(twists, j * TWIST + 3, scalar)))
            _add_along(ints, twists, k, f, j, x, shift, scale(sign, g), scale(sign, de), H, scalar)


@inlined
def _gradient_curvature(ints, numbers, motion, twists, attachments, k, factor, H, scalar):
    """Any other row of points and directions: the gradients g turn by their `variation`."""
    kind, radius, zero = row_int(ints, k, R_KIND), row_number(ints, numbers, k, R_RADIUS), zero3(scalar)
    a, b, c, d = marker_at(ints, k, 0), marker_at(ints, k, 1), marker_at(ints, k, 2), marker_at(ints, k, 3)
    x0, x1 = get3(motion, a * MOTION, scalar), get3(motion, b * MOTION, scalar)
    x2, x3 = get3(motion, c * MOTION, scalar), get3(motion, d * MOTION, scalar)
    along = profile(ints, numbers, k, kind, x1, x2, x3, scalar)
    for j in range(velocity_count(ints)):
        h0, h1, h2, h3 = variation(
            kind, radius, x0, x1, x2, x3, column_displacement(ints, a, j, motion, twists, scalar),
            column_displacement(ints, b, j, motion, twists, scalar),
            column_displacement(ints, c, j, motion, twists, scalar),
            column_displacement(ints, d, j, motion, twists, scalar), along, scalar,
        )  # fmt: skip
        for f in range(attachments_of_kind(kind)):
            h = h0 if f == 0 else (h1 if f == 1 else (h2 if f == 2 else h3))
            x = get3(attachments, k * ATTACHMENTS + f * ATTACHMENT + F_X, scalar)
            _add_along(ints, twists, k, f, j, x, zero, zero, scale(factor, h), H, scalar)


@inner
def add_row_curvature(ints, numbers, near_rows, motion, twists, attachments, y, H, scalar):
    """Add to H (n_v, n_v) what the changing gradients of all rows, times their multipliers y, do to Gamma^T y."""
    for stretch in range(near_rows[0]):
        end = min(acting_count(ints), near_rows[2 + 2 * stretch])
        for k in range(near_rows[1 + 2 * stretch], end):
            _row_curvature(ints, numbers, motion, twists, attachments, y, k, H, scalar)


@inlined
def _row_curvature(ints, numbers, motion, twists, attachments, y, k, H, scalar):
    """What the changing gradient of row k adds."""
    kind, factor = row_int(ints, k, R_KIND), load(y, k, scalar)
    if kind in (LINEAR, POINT) or not any_not_less(magnitude(factor), NOTHING):  # no change, or nothing acts
        return
    if kind == DISTANCE:
        _distance_curvature(ints, motion, twists, attachments, k, factor, H, scalar)
    elif kind >= SLIP:
        _contact_curvature(ints, numbers, motion, twists, attachments, k, factor, H, scalar)
    else:
        _gradient_curvature(ints, numbers, motion, twists, attachments, k, factor, H, scalar)
