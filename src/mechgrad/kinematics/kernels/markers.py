"""Motion of markers and its derivatives. A marker is a point, a vector, or the spin (angular velocity) of an atom.

    point   x          xd = V_v + w x x      xdd = A_v + A_w x x + w x xd
    vector  u          ud = w x u            udd = A_w x u + w x ud            (a point without the linear parts)
    spin    -          w                     A_w

With the twist (s, m) and rates of a column (`kinematics.kernels.outward`), a displacement along it changes

    dx  = m + s x x
    dV  = (Psid_w + s x w,  Psid_v + s x V_v + m x w)
    dA  = (Psidd_w + s x A_w + Psid_w x w,  Psidd_v + s x A_v + m x A_w + Psid_w x V_v + Psid_v x w)

and the point's derivatives follow by the product rule. The Jacobian's column is e_c = m + s x x (point), s x u
(vector), s (spin); its own change with another column d of the chain is s_near x e_far (points, vectors), near and
far as seen from the ground; the columns of one ball atom do not turn each other, there it is s_c x e_d. A spin's
column turns only with columns before it.
"""

from __future__ import annotations

import numpy as np

from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.vec3 import add, add3, clear, combine, cross, dot, get3, put3, zero3
from mechgrad.kinematics.kernels.outward import (
    AT,
    AX,
    AY,
    AZ,
    DV,
    DW,
    FRAME,
    TWIST,
    V,
    W,
    outward,
    outward_rows,
    place_world,
    twist_rates,
)
from mechgrad.model.columns import BEFORE, MARKER, T_COLUMN, T_KIND, T_NODE
from mechgrad.model.tree import C_ATOM, C_PARENT, LAST_COLUMN, PARENT

POINT, VECTOR, SPIN = range(3)
# columns of the marker table; the atom of the ground is n_atoms
M_ATOM, M_KIND = range(2)
# slots of a marker's motion
MOTION = 9


@inlined
def marker_state(markers_i, markers_f, k, frames, scalar):
    """Where marker k is and how its atom moves: x (u), w, V_v, A_w, A_v; the linear parts vanish for a vector."""
    o = markers_i[k, M_ATOM] * FRAME
    x = combine(
        markers_f[k, 0], markers_f[k, 1], markers_f[k, 2],
        get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar),
    )  # fmt: skip
    w, dw = get3(frames, o + W, scalar), get3(frames, o + DW, scalar)
    if markers_i[k, M_KIND] == POINT:
        x = add(x, get3(frames, o + AT, scalar))
        return x, w, get3(frames, o + V, scalar), dw, get3(frames, o + DV, scalar)
    return x, w, zero3(scalar), dw, zero3(scalar)


@inner
def marker_motion_block(markers_i, markers_f, frames, motion, scalar):
    """Position, velocity, acceleration of every marker into MOTION slots each."""
    for k in range(markers_i.shape[0]):
        x, w, vel, dw, dv = marker_state(markers_i, markers_f, k, frames, scalar)
        xd = add(vel, cross(w, x))
        xdd = add(add(dv, cross(dw, x)), cross(w, xd))
        if markers_i[k, M_KIND] == SPIN:
            x, xd, xdd = zero3(scalar), w, dw
        put3(motion, k * MOTION, x)
        put3(motion, k * MOTION + 3, xd)
        put3(motion, k * MOTION + 6, xdd)


@inlined
def displaced(kind, x, w, vel, dw, dv, s, m, d_w, d_v, dd_w, dd_v):
    """Changes of x, xd, xdd of a marker with the displacement along a twist (s, m) with these rates."""
    change_w = add(d_w, cross(s, w))
    change_dw = add(add(dd_w, cross(s, dw)), cross(d_w, w))
    if kind == SPIN:
        return s, change_w, change_dw
    dx, change_x, change_xx = cross(s, x), cross(change_w, x), cross(change_dw, x)
    if kind == POINT:
        dx = add(dx, m)
        change_x = add(change_x, add(d_v, add(cross(s, vel), cross(m, w))))
        change_xx = add(change_xx, add(dd_v, add(cross(s, dv), cross(m, dw))))
        change_xx = add(change_xx, add(cross(d_w, vel), cross(d_v, w)))
    xd = add(vel, cross(w, x))
    dxd = add(change_x, cross(w, dx))
    dxdd = add(add(change_xx, cross(dw, dx)), add(cross(change_w, xd), cross(w, dxd)))
    return dx, dxd, dxdd


@inlined
def hastened(kind, x, w, vel, s, m, y_w, y_v):
    """Change of xdd with the velocity of a column with twist (s, m) and Y = (y_w, y_v)."""
    change = add(y_w, cross(s, w))
    if kind == SPIN:
        return change
    e, result = cross(s, x), cross(change, x)
    if kind == POINT:
        e = add(e, m)
        result = add(result, add(y_v, add(cross(s, vel), cross(m, w))))
    return add(result, add(cross(s, add(vel, cross(w, x))), cross(w, e)))


@inner
def marker_columns(atoms_i, columns_i, markers_i, markers_f, frames, twists, x_q, xd_q, xdd_q, xdd_v, scalar):
    """Derivatives by every column on each marker's way to the ground, nearest first, three slots each."""
    n_atoms = atoms_i.shape[0]
    slot = 0
    for k in range(markers_i.shape[0]):
        atom, kind = markers_i[k, M_ATOM], markers_i[k, M_KIND]
        if atom == n_atoms:
            continue
        x, w, vel, dw, dv = marker_state(markers_i, markers_f, k, frames, scalar)
        c = atoms_i[atom, LAST_COLUMN]
        while c >= 0:
            s, m = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
            own = columns_i[c, C_ATOM]
            d_w, d_v, dd_w, dd_v = twist_rates(frames, own, s, m, scalar)
            dx, dxd, dxdd = displaced(kind, x, w, vel, dw, dv, s, m, d_w, d_v, dd_w, dd_v)
            parent = atoms_i[own, PARENT]
            o = (parent if parent >= 0 else n_atoms) * FRAME
            pw, pv = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
            y_w, y_v = add(d_w, cross(pw, s)), add(d_v, add(cross(pw, m), cross(pv, s)))
            put3(x_q, slot, dx)
            put3(xd_q, slot, dxd)
            put3(xdd_q, slot, dxdd)
            put3(xdd_v, slot, hastened(kind, x, w, vel, s, m, y_w, y_v))
            c = columns_i[c, C_PARENT]
            slot += 3


@inlined
def term_twist(atoms_i, terms_i, terms_f, t, frames, scalar):
    """Carrier and world twist of a geometric term."""
    n_atoms = atoms_i.shape[0]
    carrier = terms_i[t, T_NODE]
    if terms_i[t, T_KIND] == BEFORE:
        parent = atoms_i[carrier, PARENT]
        carrier = parent if parent >= 0 else n_atoms
    o = carrier * FRAME
    x, y, z = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
    s = combine(terms_f[t, 0], terms_f[t, 1], terms_f[t, 2], x, y, z)
    m = combine(terms_f[t, 3], terms_f[t, 4], terms_f[t, 5], x, y, z)
    return carrier, s, add(m, cross(get3(frames, o + AT, scalar), s))


@inner
def marker_terms(atoms_i, markers_i, markers_f, terms_i, terms_f, acts, n_p, frames, x_p, xd_p, xdd_p, scalar):
    """Derivatives by parameters; `acts` lists (term, marker) of every term that displaces a marker. Slots: (marker,
    parameter, 3)."""
    size = markers_i.shape[0] * n_p * 3
    clear(x_p, 0, size, scalar)
    clear(xd_p, 0, size, scalar)
    clear(xdd_p, 0, size, scalar)
    for r in range(acts.shape[0]):
        t, k = acts[r, 0], acts[r, 1]
        slot = (k * n_p + terms_i[t, T_COLUMN]) * 3
        x, w, vel, dw, dv = marker_state(markers_i, markers_f, k, frames, scalar)
        if terms_i[t, T_KIND] == MARKER:
            o = markers_i[k, M_ATOM] * FRAME
            dx = combine(
                terms_f[t, 0], terms_f[t, 1], terms_f[t, 2],
                get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar),
            )  # fmt: skip
            dxd = cross(w, dx)
            dxdd = add(cross(dw, dx), cross(w, dxd))
        else:
            carrier, s, m = term_twist(atoms_i, terms_i, terms_f, t, frames, scalar)
            d_w, d_v, dd_w, dd_v = twist_rates(frames, carrier, s, m, scalar)
            dx, dxd, dxdd = displaced(markers_i[k, M_KIND], x, w, vel, dw, dv, s, m, d_w, d_v, dd_w, dd_v)
        add3(x_p, slot, dx, scalar)
        add3(xd_p, slot, dxd, scalar)
        add3(xdd_p, slot, dxdd, scalar)


@inlined
def jacobian_column(kind, x, s, m):
    """e: change of the marker with its column (s, m)."""
    if kind == SPIN:
        return s
    e = cross(s, x)
    if kind == POINT:
        e = add(e, m)
    return e


@inner
def contracted_block(
    atoms_i, columns_i, markers_i, markers_f, terms_i, terms_f, acts, n_p, y, frames, twists, H_q, H_p, scalar
):  # fmt: skip
    """(J^T y)_q and (J^T y)_p summed over the markers; slots (n_v, n_v) and (n_v, n_p)."""
    n_atoms, n_v = atoms_i.shape[0], columns_i.shape[0]
    clear(H_q, 0, n_v * n_v, scalar)
    clear(H_p, 0, n_v * n_p, scalar)
    for k in range(markers_i.shape[0]):
        atom, kind = markers_i[k, M_ATOM], markers_i[k, M_KIND]
        if atom == n_atoms:
            continue
        x, _, _, _, _ = marker_state(markers_i, markers_f, k, frames, scalar)
        yk = get3(y, 3 * k, scalar)
        last = atoms_i[atom, LAST_COLUMN]
        c = last
        while c >= 0:
            s, m = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
            e = jacobian_column(kind, x, s, m)
            d = last
            while d >= 0:
                ds, dm = get3(twists, d * TWIST, scalar), get3(twists, d * TWIST + 3, scalar)
                before = columns_i[d, C_ATOM] < columns_i[c, C_ATOM]
                if before or kind != SPIN:
                    far = e if before else jacobian_column(kind, x, ds, dm)
                    value = dot(yk, cross(ds if before else s, far))
                    store(H_q, c * n_v + d, load(H_q, c * n_v + d, scalar) + value)
                d = columns_i[d, C_PARENT]
            c = columns_i[c, C_PARENT]
    for r in range(acts.shape[0]):
        t, k = acts[r, 0], acts[r, 1]
        atom, kind, column = markers_i[k, M_ATOM], markers_i[k, M_KIND], terms_i[t, T_COLUMN]
        if atom == n_atoms:
            continue
        x, _, _, _, _ = marker_state(markers_i, markers_f, k, frames, scalar)
        yk = get3(y, 3 * k, scalar)
        node, term_kind = terms_i[t, T_NODE], terms_i[t, T_KIND]
        ps, pe = zero3(scalar), zero3(scalar)
        if term_kind == MARKER:
            o = atom * FRAME
            pe = combine(
                terms_f[t, 0], terms_f[t, 1], terms_f[t, 2],
                get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar),
            )  # fmt: skip
        else:
            _, ps, pm = term_twist(atoms_i, terms_i, terms_f, t, frames, scalar)
            pe = jacobian_column(kind, x, ps, pm)
        c = atoms_i[atom, LAST_COLUMN]
        while c >= 0:
            s, m = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
            own = columns_i[c, C_ATOM]
            before = term_kind != MARKER and (node <= own if term_kind == BEFORE else node < own)
            if before or kind != SPIN:
                far = jacobian_column(kind, x, s, m) if before else pe
                value = dot(yk, cross(ps if before else s, far))
                store(H_p, c * n_p + column, load(H_p, c * n_p + column, scalar) + value)
            c = columns_i[c, C_PARENT]


@allocating
def motions(atoms_i, atoms_f, q, v, a, markers_i, markers_f, out, scalar):
    """Rows of q, v, a to rows of out (nt, markers * 9). Returns the first row of a block with a bad number, or -1."""
    n_atoms, n_q, n_v, n = atoms_i.shape[0], q.shape[1], v.shape[1], width(scalar)
    q_, v_, a_ = np.empty(n_q * n, out.dtype), np.empty(n_v * n, out.dtype), np.empty(n_v * n, out.dtype)
    frames, twists = np.empty((n_atoms + 1) * FRAME * n, out.dtype), np.empty(n_v * TWIST * n, out.dtype)
    motion = np.empty(out.shape[1] * n, out.dtype)
    place_world(frames, n_atoms, 0.0, 0.0, 0.0, scalar)
    for row in range(0, q.shape[0], n):
        if any_not_less(outward_rows(atoms_i, atoms_f, q, v, a, row, q_, v_, a_, frames, twists, scalar), 1.0):
            return row
        marker_motion_block(markers_i, markers_f, frames, motion, scalar)
        scatter(motion, 0, out, row, scalar)
    return -1


@allocating
def motion_derivatives(
    atoms_i, atoms_f, columns_i, q, v, a, markers_i, markers_f, terms_i, terms_f, acts, n_p,
    x_q, xd_q, xdd_q, xdd_v, x_p, xd_p, xdd_p, scalar,
):  # fmt: skip
    """Rows of q, v, a to rows of the derivatives of every marker. Returns the first row of a block with a bad
    number, or -1."""
    n_atoms, n_q, n_v, n = atoms_i.shape[0], q.shape[1], v.shape[1], width(scalar)
    q_, v_, a_ = np.empty(n_q * n, x_q.dtype), np.empty(n_v * n, x_q.dtype), np.empty(n_v * n, x_q.dtype)
    frames, twists = np.empty((n_atoms + 1) * FRAME * n, x_q.dtype), np.empty(n_v * TWIST * n, x_q.dtype)
    size, size_p = x_q.shape[1] * n, x_p.shape[1] * n
    b0, b1, b2, b3 = (
        np.empty(size, x_q.dtype),
        np.empty(size, x_q.dtype),
        np.empty(size, x_q.dtype),
        np.empty(size, x_q.dtype),
    )
    p0, p1, p2 = np.empty(size_p, x_q.dtype), np.empty(size_p, x_q.dtype), np.empty(size_p, x_q.dtype)
    place_world(frames, n_atoms, 0.0, 0.0, 0.0, scalar)
    for row in range(0, q.shape[0], n):
        if any_not_less(outward_rows(atoms_i, atoms_f, q, v, a, row, q_, v_, a_, frames, twists, scalar), 1.0):
            return row
        marker_columns(atoms_i, columns_i, markers_i, markers_f, frames, twists, b0, b1, b2, b3, scalar)
        scatter(b0, 0, x_q, row, scalar)
        scatter(b1, 0, xd_q, row, scalar)
        scatter(b2, 0, xdd_q, row, scalar)
        scatter(b3, 0, xdd_v, row, scalar)
        if n_p:
            marker_terms(atoms_i, markers_i, markers_f, terms_i, terms_f, acts, n_p, frames, p0, p1, p2, scalar)
            scatter(p0, 0, x_p, row, scalar)
            scatter(p1, 0, xd_p, row, scalar)
            scatter(p2, 0, xdd_p, row, scalar)
    return -1


@allocating
def contracted(
    atoms_i, atoms_f, columns_i, q, markers_i, markers_f, terms_i, terms_f, acts, n_p, y, H_q, H_p, scalar
):  # fmt: skip
    """Rows of q and y (nt, markers * 3) to rows of (J^T y)_q and (J^T y)_p. Returns the first row of a block with a
    bad number, or -1."""
    n_atoms, n_q, n_v, n = atoms_i.shape[0], q.shape[1], columns_i.shape[0], width(scalar)
    q_, zero, y_ = np.empty(n_q * n, H_q.dtype), np.zeros(n_v * n, H_q.dtype), np.empty(y.shape[1] * n, H_q.dtype)
    frames, twists = np.empty((n_atoms + 1) * FRAME * n, H_q.dtype), np.empty(n_v * TWIST * n, H_q.dtype)
    hq, hp = np.empty(H_q.shape[1] * n, H_q.dtype), np.empty(H_p.shape[1] * n, H_q.dtype)
    place_world(frames, n_atoms, 0.0, 0.0, 0.0, scalar)
    for row in range(0, q.shape[0], n):
        gather(q, row, q_, 0, scalar)
        gather(y, row, y_, 0, scalar)
        if any_not_less(outward(atoms_i, atoms_f, q_, zero, zero, frames, twists, scalar), 1.0):
            return row
        contracted_block(
            atoms_i, columns_i, markers_i, markers_f, terms_i, terms_f, acts, n_p, y_, frames, twists, hq, hp, scalar
        )  # fmt: skip
        scatter(hq, 0, H_q, row, scalar)
        scatter(hp, 0, H_p, row, scalar)
    return -1


@entry
def motions_lanes(atoms_i, atoms_f, q, v, a, markers_i, markers_f, out):
    """`motions` in SIMD lanes."""
    return motions(atoms_i, atoms_f, q, v, a, markers_i, markers_f, out, lane_zero())


@entry
def motions_one(atoms_i, atoms_f, q, v, a, markers_i, markers_f, out):
    """`motions` sample by sample."""
    return motions(atoms_i, atoms_f, q, v, a, markers_i, markers_f, out, 0.0)


@entry
def motions_complex(atoms_i, atoms_f, q, v, a, markers_i, markers_f, out):
    """`motions` of complex numbers."""
    return motions(atoms_i, atoms_f, q, v, a, markers_i, markers_f, out, 0j)


@entry
def motion_derivatives_lanes(
    atoms_i, atoms_f, columns_i, q, v, a, markers_i, markers_f, terms_i, terms_f, acts, n_p,
    x_q, xd_q, xdd_q, xdd_v, x_p, xd_p, xdd_p,
):  # fmt: skip
    """`motion_derivatives` in SIMD lanes."""
    return motion_derivatives(
        atoms_i, atoms_f, columns_i, q, v, a, markers_i, markers_f, terms_i, terms_f, acts, n_p,
        x_q, xd_q, xdd_q, xdd_v, x_p, xd_p, xdd_p, lane_zero(),
    )  # fmt: skip


@entry
def motion_derivatives_one(
    atoms_i, atoms_f, columns_i, q, v, a, markers_i, markers_f, terms_i, terms_f, acts, n_p,
    x_q, xd_q, xdd_q, xdd_v, x_p, xd_p, xdd_p,
):  # fmt: skip
    """`motion_derivatives` sample by sample."""
    return motion_derivatives(
        atoms_i, atoms_f, columns_i, q, v, a, markers_i, markers_f, terms_i, terms_f, acts, n_p,
        x_q, xd_q, xdd_q, xdd_v, x_p, xd_p, xdd_p, 0.0,
    )  # fmt: skip


@entry
def contracted_lanes(
    atoms_i, atoms_f, columns_i, q, markers_i, markers_f, terms_i, terms_f, acts, n_p, y, H_q, H_p
):  # fmt: skip
    """`contracted` in SIMD lanes."""
    return contracted(
        atoms_i, atoms_f, columns_i, q, markers_i, markers_f, terms_i, terms_f, acts, n_p, y, H_q, H_p, lane_zero()
    )  # fmt: skip


@entry
def contracted_one(
    atoms_i, atoms_f, columns_i, q, markers_i, markers_f, terms_i, terms_f, acts, n_p, y, H_q, H_p
):  # fmt: skip
    """`contracted` sample by sample."""
    return contracted(
        atoms_i, atoms_f, columns_i, q, markers_i, markers_f, terms_i, terms_f, acts, n_p, y, H_q, H_p, 0.0
    )  # fmt: skip
