"""What the numbers of rows and markers do to s, and the covectors that rows put on the bodies.

A holonomic row with gradients g_m, their rates h_m and second derivatives g_mn contributes, with xu the virtual
velocities of its markers and y its multiplier,

    W0 value + W1 sum g_m . xd_m + W2 sum (g_m . xdd_m + h_m . xd_m) + y sum g_m . xu_m

of which the covectors by each marker's motion are

    by xu     y g_m                    by xd     W1 g_m + 2 W2 h_m
    by xdd    W2 g_m                   by x      W0 g_m + sum_n g_mn (W1 xd_n + W2 xdd_n + y xu_n) + W2 t_m

(t_m: `table_gradient_measures`). They are summed per marker, then passed to the bodies and to the local coordinates

    ds/dlocal = by_x + by_xd x w + by_xdd x A_w + (by_xdd x w) x w + by_xu x U_w              in the atom's axes

A velocity-level row acts through twists of its two bodies and through the motion of its contact point and direction.
The weights of the rows of laws must hold what the laws add (`table_gradient_laws`).
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.table_gradient_functions import add_function
from mechgrad.dynamics.kernels.table_gradient_measures import contact_adjoint, profile_third, third_variation
from mechgrad.dynamics.kernels.table_gradient_tree import (
    COVECTORS,
    G_V,
    G_W,
    K_V,
    K_W,
    P_V,
    P_W,
    U_V,
    U_W,
    VIRTUAL,
    add_twist_covectors,
    in_axes,
)
from mechgrad.kernels.elementary import reciprocal, square_root
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.vec3 import add, add3, clear, cross, dot, get3, put3, scale, sub, zero3
from mechgrad.kinematics.kernels.header import marker_at, marker_int, row_int, row_number
from mechgrad.kinematics.kernels.left_out_rows import ATTACHMENT, ATTACHMENTS, F_G, F_GD, F_X, F_XD
from mechgrad.kinematics.kernels.marker_motions import MOTION
from mechgrad.kinematics.kernels.marker_motions import POINT as IS_POINT
from mechgrad.kinematics.kernels.measures import attachments_of_kind, profile, variation
from mechgrad.kinematics.kernels.outward import DV, DW, FRAME, V, W
from mechgrad.kinematics.kernels.row_states import (
    attached_atom,
)
from mechgrad.model.mechanism import (
    AT_COORDS,
    AT_FACTORS,
    AT_ROW_NUMBERS,
    R_CONSTANT,
    R_COUNT,
    R_DIRECTION,
    R_FIRST,
    R_FUNCTION,
    R_KIND,
    R_MARKER,
    R_RADIUS,
    ROW_NUMBERS,
)
from mechgrad.model.primitives.rows import CIRCLE, LINEAR, POINT, PROFILE, SLIP

# slots of one marker's covectors: by x, xd, xdd and the virtual velocity xu
BY_X, BY_XD, BY_XDD, BY_XU = 0, 3, 6, 9
MARKER_COVECTORS = 12


@inlined
def add_to(values, slot, x, scalar):
    """values[slot] += x"""
    store(values, slot, load(values, slot, scalar) + x)


@inner
def virtual_markers(ints, near_markers, motion, virtual, xu, scalar):
    """Virtual velocity of every near marker, three slots each."""
    for stretch in range(near_markers[0]):
        for k in range(near_markers[1 + 2 * stretch], near_markers[2 + 2 * stretch]):
            o = marker_int(ints, k, 0) * VIRTUAL
            moved = cross(get3(virtual, o + U_W, scalar), get3(motion, k * MOTION, scalar))
            if marker_int(ints, k, 1) == IS_POINT:
                moved = add(moved, get3(virtual, o + U_V, scalar))
            put3(xu, 3 * k, moved)


@inlined
def relative_virtual(ints, virtual, k, scalar):
    """U of the first body of a velocity-level row beyond that of the second."""
    a, b = attached_atom(ints, k, 0) * VIRTUAL, attached_atom(ints, k, 1) * VIRTUAL
    return (
        sub(get3(virtual, a + U_W, scalar), get3(virtual, b + U_W, scalar)),
        sub(get3(virtual, a + U_V, scalar), get3(virtual, b + U_V, scalar)),
    )


@inner
def virtual_rate(mechanism, work, block, k, scalar):
    """Gamma mu of row k."""
    ints, numbers, attachments = mechanism.ints, mechanism.numbers, work.attachments
    virtual, xu, mu = block.virtual, block.xu, block.mu
    kind, total = row_int(ints, k, R_KIND), scalar * 0.0
    if kind == LINEAR:
        for c in range(row_int(ints, k, R_FIRST), row_int(ints, k, R_FIRST) + row_int(ints, k, R_COUNT)):
            total = total + load(mu, ints[ints[AT_COORDS] + 2 * c + 1], scalar) * numbers[ints[AT_FACTORS] + c]
    elif kind >= SLIP:
        w, u = relative_virtual(ints, virtual, k, scalar)
        total = dot(
            get3(attachments, k * ATTACHMENTS + F_G, scalar),
            add(u, cross(w, get3(attachments, k * ATTACHMENTS + F_X, scalar))),
        )
    else:
        for f in range(attachments_of_kind(kind)):
            g = get3(attachments, k * ATTACHMENTS + f * ATTACHMENT + F_G, scalar)
            total = total + dot(g, get3(xu, 3 * row_int(ints, k, R_MARKER + f), scalar))
    return total


@inner
def add_rows(mechanism, work, lanes, block, t, gradient, scalar):
    """Covectors of all rows by the motion of markers (block.by_marker) and bodies, and the gradient by the rows'
    numbers, unless that is None; lanes: the states."""
    clear(block.by_marker, 0, mechanism.n_markers * MARKER_COVECTORS, scalar)
    for stretch in range(work.near_rows[0]):
        for k in range(work.near_rows[1 + 2 * stretch], work.near_rows[2 + 2 * stretch]):
            _add_row(mechanism, work, lanes, block, t, k, gradient, scalar)


@inlined
def _add_row(mechanism, work, lanes, block, t, k, gradient, scalar):
    """Covectors of row k, and the gradient by its numbers."""
    ints, numbers = mechanism.ints, mechanism.numbers
    kind, at = row_int(ints, k, R_KIND), ints[AT_ROW_NUMBERS] + k * ROW_NUMBERS
    w0, w1, w2 = load(block.w0, k, scalar), load(block.w1, k, scalar), load(block.w2, k, scalar)
    y = load(work.y, k, scalar)
    if gradient is not None:
        add_to(gradient, at + R_CONSTANT, w0 * -1.0, scalar)
        if row_int(ints, k, R_FUNCTION) >= 0:
            function = row_int(ints, k, R_FUNCTION)
            add_function(ints, numbers, function, t, w0 * -1.0, w1 * -1.0, w2 * -1.0, gradient, scalar)
        if kind == LINEAR:
            _linear_row(ints, lanes, block.mu, k, w0, w1, w2, y, gradient, scalar)
    if kind == LINEAR:
        return  # of coordinates, not of markers
    if kind >= SLIP:
        _contact_row(mechanism, work, block, k, w1, w2, y, gradient, scalar)
    elif kind == POINT:
        _point_row(ints, work, block, k, w0, w1, w2, y, gradient, scalar)
    else:
        _curved_row(mechanism, work, block, k, w0, w1, w2, y, gradient, scalar)


@inlined
def _linear_row(ints, lanes, mu, k, w0, w1, w2, y, gradient, scalar):
    """The gradient by the factors of a row of coordinates, sum of factor q."""
    q, v, a = lanes.q, lanes.v, lanes.a
    for c in range(row_int(ints, k, R_FIRST), row_int(ints, k, R_FIRST) + row_int(ints, k, R_COUNT)):
        i, j = ints[ints[AT_COORDS] + 2 * c], ints[ints[AT_COORDS] + 2 * c + 1]
        by_factor = w0 * load(q, i, scalar) + w1 * load(v, j, scalar) + w2 * load(a, j, scalar)
        add_to(gradient, ints[AT_FACTORS] + c, by_factor + y * load(mu, j, scalar), scalar)


@inlined
def _add_attachment(by_marker, marker, attachments, o, bend, w0, w1, w2, y, scalar):
    """Covectors of one attachment; bend is the part of by_x that curvature makes."""
    g, k = get3(attachments, o + F_G, scalar), marker * MARKER_COVECTORS
    add3(by_marker, k + BY_X, add(scale(w0, g), bend), scalar)
    add3(by_marker, k + BY_XD, add(scale(w1, g), scale(w2 * 2.0, get3(attachments, o + F_GD, scalar))), scalar)
    add3(by_marker, k + BY_XDD, scale(w2, g), scalar)
    add3(by_marker, k + BY_XU, scale(y, g), scalar)


@inlined
def _point_row(ints, work, block, k, w0, w1, w2, y, gradient, scalar):
    """The commonest row, without curvature: direction . (x0 - x1)."""
    motion, attachments, xu, by_marker = work.motion, work.attachments, block.xu, block.by_marker
    a, b, o = marker_at(ints, k, 0), marker_at(ints, k, 1), k * ATTACHMENTS
    if gradient is not None:
        total = sub(get3(motion, a * MOTION, scalar), get3(motion, b * MOTION, scalar))
        total = add(
            scale(w0, total), scale(w1, sub(get3(motion, a * MOTION + 3, scalar), get3(motion, b * MOTION + 3, scalar)))
        )
        total = add(total, scale(w2, sub(get3(motion, a * MOTION + 6, scalar), get3(motion, b * MOTION + 6, scalar))))
        total = add(total, scale(y, sub(get3(xu, 3 * a, scalar), get3(xu, 3 * b, scalar))))
        add3(gradient, ints[AT_ROW_NUMBERS] + k * ROW_NUMBERS + R_DIRECTION, total, scalar)
    straight = zero3(scalar)
    _add_attachment(by_marker, a, attachments, o, straight, w0, w1, w2, y, scalar)
    _add_attachment(by_marker, b, attachments, o + ATTACHMENT, straight, w0, w1, w2, y, scalar)


@inlined
def _moved(motion, xu, marker, w1, w2, y, scalar):
    """W1 xd + W2 xdd + y xu of a marker."""
    total = add(
        scale(w1, get3(motion, marker * MOTION + 3, scalar)), scale(w2, get3(motion, marker * MOTION + 6, scalar))
    )
    return add(total, scale(y, get3(xu, 3 * marker, scalar)))


@inlined
def _curved_row(mechanism, work, block, k, w0, w1, w2, y, gradient, scalar):
    """Any other holonomic row; of CIRCLE also the gradient by its radius, of PROFILE by its function."""
    ints, numbers, motion, attachments = mechanism.ints, mechanism.numbers, work.motion, work.attachments
    xu, by_marker = block.xu, block.by_marker
    kind, radius, o = row_int(ints, k, R_KIND), row_number(ints, numbers, k, R_RADIUS), k * ATTACHMENTS
    a, b, c, d = marker_at(ints, k, 0), marker_at(ints, k, 1), marker_at(ints, k, 2), marker_at(ints, k, 3)
    x0, x1 = get3(motion, a * MOTION, scalar), get3(motion, b * MOTION, scalar)
    x2, x3 = get3(motion, c * MOTION, scalar), get3(motion, d * MOTION, scalar)
    d0, d1 = get3(motion, a * MOTION + 3, scalar), get3(motion, b * MOTION + 3, scalar)
    d2, d3 = get3(motion, c * MOTION + 3, scalar), get3(motion, d * MOTION + 3, scalar)
    along = profile(ints, numbers, k, kind, x1, x2, x3, scalar)
    h0, h1, h2, h3 = variation(
        kind, radius, x0, x1, x2, x3,
        _moved(motion, xu, a, w1, w2, y, scalar), _moved(motion, xu, b, w1, w2, y, scalar),
        _moved(motion, xu, c, w1, w2, y, scalar), _moved(motion, xu, d, w1, w2, y, scalar), along, scalar,
    )  # fmt: skip
    third = profile_third(ints, numbers, k, kind, x1, x2, x3, scalar)
    t0, t1, t2, t3 = third_variation(kind, radius, x0, x1, x2, x3, d0, d1, d2, d3, (along[1], along[2], third), scalar)
    count = attachments_of_kind(kind)
    _add_attachment(by_marker, a, attachments, o, add(h0, scale(w2, t0)), w0, w1, w2, y, scalar)
    _add_attachment(by_marker, b, attachments, o + ATTACHMENT, add(h1, scale(w2, t1)), w0, w1, w2, y, scalar)
    if count > 2:
        _add_attachment(by_marker, c, attachments, o + 2 * ATTACHMENT, add(h2, scale(w2, t2)), w0, w1, w2, y, scalar)
    if count > 3:
        _add_attachment(by_marker, d, attachments, o + 3 * ATTACHMENT, add(h3, scale(w2, t3)), w0, w1, w2, y, scalar)
    if gradient is not None and kind == PROFILE:  # - p(s), s = x1 . (x2 - x3)
        u, v, w = b * MOTION, c * MOTION, d * MOTION
        h, hd = sub(x2, x3), sub(d2, d3)
        hdd = sub(get3(motion, v + 6, scalar), get3(motion, w + 6, scalar))
        hu = sub(get3(xu, 3 * c, scalar), get3(xu, 3 * d, scalar))
        way_d = dot(d1, h) + dot(x1, hd)
        way_dd = dot(get3(motion, u + 6, scalar), h) + dot(d1, hd) * 2.0 + dot(x1, hdd)
        way_u = dot(get3(xu, 3 * b, scalar), h) + dot(x1, hu)
        by_rate = w1 * way_d + w2 * way_dd + y * way_u
        add_function(
            ints, numbers, row_int(ints, k, R_FIRST), dot(x1, h), w0 * -1.0, by_rate * -1.0, w2 * way_d * way_d * -1.0,
            gradient, scalar,
        )  # fmt: skip
    if gradient is not None and kind == CIRCLE:  # - radius sqrt(1 - k^2), k = x2 . x3
        u, e = c * MOTION, d * MOTION
        lean = dot(x2, x3)
        lean_d = dot(d2, x3) + dot(x2, d3)
        lean_dd = dot(get3(motion, u + 6, scalar), x3) + dot(x2, get3(motion, e + 6, scalar)) + dot(d2, d3) * 2.0
        lean_u = dot(get3(xu, 3 * c, scalar), x3) + dot(x2, get3(xu, 3 * d, scalar))
        root = square_root(1.0 - lean * lean)
        inverse = reciprocal(root)
        by_radius = (w1 * lean_d + w2 * lean_dd + y * lean_u) * lean * inverse - w0 * root
        by_radius = by_radius + w2 * lean_d * lean_d * inverse * inverse * inverse
        add_to(gradient, ints[AT_ROW_NUMBERS] + k * ROW_NUMBERS + R_RADIUS, by_radius, scalar)


@inlined
def _contact_row(mechanism, work, block, k, w1, w2, y, gradient, scalar):
    """W1 e . slide + W2 (ed . slide + e . (acceleration + spin x cd)) + y e . slide of U;
    slide, acceleration, spin: relative motion of the two bodies at c."""
    ints, numbers, frames, motion = mechanism.ints, mechanism.numbers, work.frames, work.motion
    attachments, virtual, by_marker, covectors = work.attachments, block.virtual, block.by_marker, block.covectors
    o, first, second = k * ATTACHMENTS, attached_atom(ints, k, 0), attached_atom(ints, k, 1)
    c, cd = get3(attachments, o + F_X, scalar), get3(attachments, o + F_XD, scalar)
    e, ed = get3(attachments, o + F_G, scalar), get3(attachments, o + F_GD, scalar)
    oa, ob = first * FRAME, second * FRAME
    spin = sub(get3(frames, oa + W, scalar), get3(frames, ob + W, scalar))
    slide = add(sub(get3(frames, oa + V, scalar), get3(frames, ob + V, scalar)), cross(spin, c))
    turn = sub(get3(frames, oa + DW, scalar), get3(frames, ob + DW, scalar))
    acceleration = add(sub(get3(frames, oa + DV, scalar), get3(frames, ob + DV, scalar)), cross(turn, c))
    spin_u, slide_u = relative_virtual(ints, virtual, k, scalar)
    slide_u = add(slide_u, cross(spin_u, c))

    by_slide, by_push, by_slide_u = add(scale(w1, e), scale(w2, ed)), scale(w2, e), scale(y, e)
    moment, push_moment = add(cross(c, by_slide), cross(cd, by_push)), cross(c, by_push)
    moment_u, back = cross(c, by_slide_u), -1.0
    add_twist_covectors(
        frames, virtual, covectors, first, moment, by_slide, push_moment, by_push, moment_u, by_slide_u, scalar
    )  # fmt: skip
    add_twist_covectors(
        frames, virtual, covectors, second, scale(back, moment), scale(back, by_slide), scale(back, push_moment),
        scale(back, by_push), scale(back, moment_u), scale(back, by_slide_u), scalar,
    )  # fmt: skip

    by_e = add(add(scale(w1, slide), scale(w2, add(acceleration, cross(spin, cd)))), scale(y, slide_u))
    by_c = add(add(cross(by_slide, spin), cross(by_push, turn)), cross(by_slide_u, spin_u))
    by_cd, by_ed = cross(by_push, spin), scale(w2, slide)
    m0, m1, m2 = marker_at(ints, k, 0), marker_at(ints, k, 1), marker_at(ints, k, 2)
    by_n, by_u, by_dn, by_du, by_radius = contact_adjoint(
        row_int(ints, k, R_KIND), row_number(ints, numbers, k, R_RADIUS),
        get3(motion, m1 * MOTION, scalar), get3(motion, m2 * MOTION, scalar),
        get3(motion, m1 * MOTION + 3, scalar), get3(motion, m2 * MOTION + 3, scalar), by_c, by_e, by_cd, by_ed, scalar,
    )  # fmt: skip
    add3(by_marker, m0 * MARKER_COVECTORS + BY_X, by_c, scalar)
    add3(by_marker, m0 * MARKER_COVECTORS + BY_XD, by_cd, scalar)
    add3(by_marker, m1 * MARKER_COVECTORS + BY_X, by_n, scalar)
    add3(by_marker, m1 * MARKER_COVECTORS + BY_XD, by_dn, scalar)
    add3(by_marker, m2 * MARKER_COVECTORS + BY_X, by_u, scalar)
    add3(by_marker, m2 * MARKER_COVECTORS + BY_XD, by_du, scalar)
    if gradient is not None:
        add_to(gradient, ints[AT_ROW_NUMBERS] + k * ROW_NUMBERS + R_RADIUS, by_radius, scalar)


@inner
def add_markers(ints, work, virtual, xu, by_marker, covectors, gradient, scalar):
    """Pass the covectors of markers to the bodies that carry them; gradients by their local coordinates, unless
    `gradient` is None."""
    frames, motion, near_markers = work.frames, work.motion, work.near_markers
    for stretch in range(near_markers[0]):
        for k in range(near_markers[1 + 2 * stretch], near_markers[2 + 2 * stretch]):
            _add_marker(ints, frames, motion, virtual, xu, by_marker, covectors, gradient, k, scalar)


@inlined
def _add_marker(ints, frames, motion, virtual, xu, by_marker, covectors, gradient, k, scalar):
    """Pass on the covectors of marker k."""
    atom, m, b = marker_int(ints, k, 0), k * MOTION, k * MARKER_COVECTORS
    o, c = atom * FRAME, atom * COVECTORS
    x, xd, xdd = get3(motion, m, scalar), get3(motion, m + 3, scalar), get3(motion, m + 6, scalar)
    by_x, by_xd = get3(by_marker, b + BY_X, scalar), get3(by_marker, b + BY_XD, scalar)
    by_xdd, by_xu = get3(by_marker, b + BY_XDD, scalar), get3(by_marker, b + BY_XU, scalar)
    turned = add(add(cross(x, by_x), cross(xd, by_xd)), add(cross(xdd, by_xdd), cross(get3(xu, 3 * k, scalar), by_xu)))
    add3(covectors, c + P_W, turned, scalar)
    add3(covectors, c + K_W, add(cross(x, by_xd), scale(2.0, cross(xd, by_xdd))), scalar)
    add3(covectors, c + G_W, cross(x, by_xdd), scalar)
    if marker_int(ints, k, 1) == IS_POINT:
        add3(covectors, c + P_V, by_x, scalar)
        add3(covectors, c + K_V, by_xd, scalar)
        add3(covectors, c + G_V, by_xdd, scalar)
    if gradient is not None:
        w, dw = get3(frames, o + W, scalar), get3(frames, o + DW, scalar)
        by_local = add(add(by_x, cross(by_xu, get3(virtual, atom * VIRTUAL + U_W, scalar))), cross(by_xdd, dw))
        by_local = add(by_local, cross(add(by_xd, cross(by_xdd, w)), w))
        add3(gradient, 3 * k, in_axes(frames, o, by_local, scalar), scalar)
