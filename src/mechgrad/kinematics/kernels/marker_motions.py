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

from typing import NamedTuple

import numpy as np

from mechgrad.kernels.jit import allocating, entry, inlined, inner, runtime_int
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.slots import scatter_all, slots
from mechgrad.kernels.vec3 import add, add3, clear, combine, cross, dot, get3, put3, sub, zero3
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
from mechgrad.kinematics.kernels.tables import Markers, Motion, Terms, TreeTables
from mechgrad.model.columns import BEFORE, MARKER, T_COLUMN, T_KIND, T_NODE
from mechgrad.model.tree import C_ATOM, C_PARENT, LAST_COLUMN, PARENT

POINT, VECTOR, SPIN = range(3)
# columns of the marker table; the atom of the ground is n_atoms
M_ATOM, M_KIND = range(2)
# slots of a marker's motion
MOTION = 9


@inlined
def marker_state(markers_i, markers_f, k, frames, scalar):
    """Where marker k is, from the root's position, and how its atom moves: x (u), w, V_v, A_w, A_v; the linear parts
    vanish for a vector."""
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
def marker_motion_block(markers_i, markers_f, frames, motion, first, last, scalar):
    """Position (from the root's), velocity, acceleration of markers first .. last - 1 into MOTION slots each."""
    for k in range(first, last):
        x, w, vel, dw, dv = marker_state(markers_i, markers_f, k, frames, scalar)
        xd = add(vel, cross(w, x))
        xdd = add(add(dv, cross(dw, x)), cross(w, xd))
        if markers_i[k, M_KIND] == SPIN:
            x, xd, xdd = zero3(scalar), w, dw
        put3(motion, k * MOTION, x)
        put3(motion, k * MOTION + 3, xd)
        put3(motion, k * MOTION + 6, xdd)


@inner
def count_from_origin(markers_i, frames, n_atoms, motion, scalar):
    """Positions of points, left by `marker_motion_block`, from the world's origin."""
    origin = get3(frames, n_atoms * FRAME + AT, scalar)
    for k in range(markers_i.shape[0]):
        if markers_i[k, M_KIND] == POINT:
            put3(motion, k * MOTION, sub(get3(motion, k * MOTION, scalar), origin))


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


class ByColumn(NamedTuple):
    """x_q, xd_q, xdd_q, xdd_v of every marker and column on its way to the ground: rows (nt, 3 pairs), or slots."""

    x_q: np.ndarray
    xd_q: np.ndarray
    xdd_q: np.ndarray
    xdd_v: np.ndarray


class ByParameter(NamedTuple):
    """x_p, xd_p, xdd_p of every marker: rows (nt, markers * n_p * 3), or slots."""

    x: np.ndarray
    xd: np.ndarray
    xdd: np.ndarray


@inner
def marker_columns(tree, markers, frames, twists, by_q, scalar):
    """Derivatives by every column on each marker's way to the ground, nearest first, three slots each.

    tree: `TreeTables`; markers: `Markers`; by_q: `ByColumn`, slots.
    """
    atoms_i, columns_i, markers_i, markers_f = tree.atoms_i, tree.columns_i, markers.markers_i, markers.markers_f
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
            put3(by_q.x_q, slot, dx)
            put3(by_q.xd_q, slot, dxd)
            put3(by_q.xdd_q, slot, dxdd)
            put3(by_q.xdd_v, slot, hastened(kind, x, w, vel, s, m, y_w, y_v))
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
def marker_terms(atoms_i, markers, terms, n_p, frames, by_p, scalar):
    """Derivatives by parameters. markers: `Markers`; terms: `Terms`, whose rows list (term, marker) of every term that
    displaces a marker; by_p: `ByParameter`, slots (marker, parameter, 3)."""
    markers_i, markers_f = markers.markers_i, markers.markers_f
    terms_i, terms_f, acts = terms.terms_i, terms.terms_f, terms.rows
    x_p, xd_p, xdd_p = by_p.x, by_p.xd, by_p.xdd
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
def contracted_columns(tree, markers, y, frames, twists, H_q, scalar):
    """(J^T y)_q summed over the markers; slots (n_v, n_v). tree: `TreeTables`; markers: `Markers`."""
    atoms_i, columns_i, markers_i, markers_f = tree.atoms_i, tree.columns_i, markers.markers_i, markers.markers_f
    n_atoms, n_v = atoms_i.shape[0], columns_i.shape[0]
    clear(H_q, 0, n_v * n_v, scalar)
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


@inner
def contracted_terms(tree, markers, terms, n_p, y, frames, twists, H_p, scalar):
    """(J^T y)_p summed over the markers; slots (n_v, n_p). terms: `Terms`, with (term, marker) as rows."""
    atoms_i, columns_i, markers_i, markers_f = tree.atoms_i, tree.columns_i, markers.markers_i, markers.markers_f
    terms_i, terms_f, acts = terms.terms_i, terms.terms_f, terms.rows
    n_atoms, n_v = atoms_i.shape[0], columns_i.shape[0]
    clear(H_p, 0, n_v * n_p, scalar)
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
    samples = Motion(q, v, a)
    slot = Motion(q=slots(n_q, out, scalar), v=slots(n_v, out, scalar), a=slots(n_v, out, scalar))
    frames, twists = slots((n_atoms + 1) * FRAME, out, scalar), slots(n_v * TWIST, out, scalar)
    motion = slots(out.shape[1], out, scalar)
    place_world(frames, n_atoms, 0.0, 0.0, 0.0, scalar)
    for row in range(0, q.shape[0], n):
        if any_not_less(outward_rows(atoms_i, atoms_f, samples, row, slot, frames, twists, scalar), 1.0):
            return row
        marker_motion_block(markers_i, markers_f, frames, motion, runtime_int(0), markers_i.shape[0], scalar)
        count_from_origin(markers_i, frames, n_atoms, motion, scalar)
        scatter(motion, 0, out, row, scalar)
    return -1


@allocating
def motion_derivatives(tree, samples, markers, terms, n_p, by_q, by_p, scalar):
    """Rows of the samples of a motion to rows of the derivatives of every marker.

    Tuples of arrays: tree as in `TreeTables`, samples `Motion`, markers `Markers`, terms `Terms` of n_p parameters,
    by_q `ByColumn`, by_p `ByParameter`. Returns the first row of a block with a bad number, or -1.
    """
    atoms_i, atoms_f, columns_i = tree
    tree, samples = TreeTables(atoms_i, atoms_f, columns_i), Motion(*samples)
    markers, terms = Markers(*markers), Terms(*terms)
    like = by_q[0]
    n_atoms, n_v, n, size, size_p = atoms_i.shape[0], columns_i.shape[0], width(scalar), like.shape[1], by_p[0].shape[1]
    motion = Motion(q=slots(samples.q.shape[1], like, scalar), v=slots(n_v, like, scalar), a=slots(n_v, like, scalar))
    frames, twists = slots((n_atoms + 1) * FRAME, like, scalar), slots(n_v * TWIST, like, scalar)
    slot_q = ByColumn(
        x_q=slots(size, like, scalar), xd_q=slots(size, like, scalar), xdd_q=slots(size, like, scalar),
        xdd_v=slots(size, like, scalar),
    )  # fmt: skip
    slot_p = ByParameter(
        x=slots(size_p, like, scalar), xd=slots(size_p, like, scalar), xdd=slots(size_p, like, scalar)
    )  # fmt: skip
    place_world(frames, n_atoms, 0.0, 0.0, 0.0, scalar)
    for row in range(0, like.shape[0], n):
        if any_not_less(outward_rows(atoms_i, atoms_f, samples, row, motion, frames, twists, scalar), 1.0):
            return row
        marker_columns(tree, markers, frames, twists, slot_q, scalar)
        scatter_all(slot_q, by_q, row, scalar)
        if n_p:
            marker_terms(atoms_i, markers, terms, n_p, frames, slot_p, scalar)
            scatter_all(slot_p, by_p, row, scalar)
    return -1


@allocating
def contracted(tree, q, y, markers, terms, n_p, H_q, H_p, scalar):
    """Rows of q (nt, n_q) and y (nt, markers * 3) to rows of (J^T y)_q (nt, n_v n_v) and (J^T y)_p (nt, n_v n_p).

    Tuples of arrays as in `motion_derivatives`. Returns the first row of a block with a bad number, or -1.
    """
    atoms_i, atoms_f, columns_i = tree
    tree, markers, terms = TreeTables(atoms_i, atoms_f, columns_i), Markers(*markers), Terms(*terms)
    n_atoms, n_v, n = atoms_i.shape[0], columns_i.shape[0], width(scalar)
    q_, zero, y_ = slots(q.shape[1], H_q, scalar), slots(n_v, H_q, scalar), slots(y.shape[1], H_q, scalar)
    frames, twists = slots((n_atoms + 1) * FRAME, H_q, scalar), slots(n_v * TWIST, H_q, scalar)
    hq, hp = slots(H_q.shape[1], H_q, scalar), slots(H_p.shape[1], H_q, scalar)
    clear(zero, 0, n_v, scalar)
    place_world(frames, n_atoms, 0.0, 0.0, 0.0, scalar)
    for row in range(0, q.shape[0], n):
        gather(q, row, q_, 0, scalar)
        gather(y, row, y_, 0, scalar)
        if any_not_less(outward(atoms_i, atoms_f, q_, zero, zero, frames, twists, scalar), 1.0):
            return row
        contracted_columns(tree, markers, y_, frames, twists, hq, scalar)
        contracted_terms(tree, markers, terms, n_p, y_, frames, twists, hp, scalar)
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
def motion_derivatives_lanes(tree, samples, markers, terms, n_p, by_q, by_p):
    """`motion_derivatives` in SIMD lanes."""
    return motion_derivatives(tree, samples, markers, terms, n_p, by_q, by_p, lane_zero())


@entry
def motion_derivatives_one(tree, samples, markers, terms, n_p, by_q, by_p):
    """`motion_derivatives` sample by sample."""
    return motion_derivatives(tree, samples, markers, terms, n_p, by_q, by_p, 0.0)


@entry
def contracted_lanes(tree, q, y, markers, terms, n_p, H_q, H_p):
    """`contracted` in SIMD lanes."""
    return contracted(tree, q, y, markers, terms, n_p, H_q, H_p, lane_zero())


@entry
def contracted_one(tree, q, y, markers, terms, n_p, H_q, H_p):
    """`contracted` sample by sample."""
    return contracted(tree, q, y, markers, terms, n_p, H_q, H_p, 0.0)
