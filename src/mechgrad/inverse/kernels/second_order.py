"""Second derivatives of the generalized forces, contracted: gradient and Hessian of L = y . tau(q, v, a), exact.

With the virtual motion of y (`inverse.kernels.virtual`) the gradient is

    L_q = eta . F + Psidd . G + Psid_w . K + s . Lam      L_v = s . K + Z . G      L_a = S . G

(Lam: what turning takes from loads in world axes, see below). Moving column d before c turns everything beyond it,
which scalars do not see, and adds to all bodies there dV = W, dA = W x V + U, dY = T with

    by q_d: (W, U, T) = (Psid, Psidd, eta)_d      by v_d: (S, Z, 0)_d      by a_d: (0, S, 0)_d

so that with six vectors per column c every second derivative is a handful of dot products per pair:

    u1 = I S      u2 = 2 B S + I Z      u3 = 2 B Psid + I Psidd + S x* F + L(s)
    p2 = I eta + S x* G
    p3 = 2 B^T eta + 2 Psid x* G + s x K + C(Psid)
    p4 = 2 S x* G + C(s)

    L_qc,qd = Psid_d . p3 + Psidd_d . p2 + eta_d . u3         L_qc,vd = S_d . p3 + Z_d . p2       L_qc,ad = S_d . p2
    L_qd,vc = Psid_d . p4 + eta_d . u2                        L_vc,vd = S_d . p4                  L_qd,ac = eta_d . u1

Columns of one atom do not turn each other: there

    L_qc,qd = eta_c . u3_d + Psidd_c . p2_d + Psid_c . (2 B^T eta + s x K + C^T(Psid))_d

and L_vc,vd loses (S_d x S_c) . G. For Euler parameters "by q" is along the tangent, and entry (c, d) is the
derivative along d of L_qc.

Loads in world axes (force f and couple c at x, virtual velocity y_x) add to L_qc,qd

    eta_c . L(s_d) - s_c . R s_d + (s_c . s_d) tr R       R = sum (f y_x^T + c Y_w^T),   Lam = sum (f x y_x + c x Y_w)
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mechgrad.inverse.kernels.inward import velocity_operator, world_load_dual, world_load_turn
from mechgrad.inverse.kernels.virtual import (
    D_V,
    D_W,
    DD_V,
    DD_W,
    E_,
    E_V,
    E_W,
    G_F,
    G_N,
    K_,
    LAM,
    Q_,
    R_,
    SCREWS,
    VIRTUAL,
    VIRTUAL_LOAD,
    VIRTUAL_SUMS,
    Z_V,
    Z_W,
    dual_cross,
    motion_cross,
    velocity_dual,
    virtual_dual,
    virtual_loads,
    virtual_motion,
    virtual_operator,
    virtual_sums,
)
from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    FLOW,
    FORCE,
    INERTIA_FLOW,
    LOAD,
    MOMENT,
    MOMENTUM,
    SECOND,
    WORLD_LOAD,
    WRENCH,
    any_in_world_axes,
    apply_loads,
    body_wrenches_and_moments,
    collect_world_loads,
    gather_loads,
    inertia_v,
    inertia_w,
    pass_down,
)
from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, store, width
from mechgrad.kernels.slots import scatter_all, slots
from mechgrad.kernels.vec3 import (
    add,
    cross,
    dot,
    get3,
    get6,
    get9,
    mat_tmul,
    scale,
    sub,
    zero3,
)
from mechgrad.kinematics.kernels.outward import (
    FRAME,
    TWIST,
    columns_of_kind,
    outward_rows,
    place_world,
)
from mechgrad.kinematics.kernels.tables import Motion, TreeTables
from mechgrad.model.tree import BEYOND, C_DIAGONAL, C_PAIR, C_PARENT, KIND, PARENT, V_AT

Scalar: TypeAlias = Any  # of the kernel, in registers
Vector: TypeAlias = Any  # a tuple of them


class Gradient(NamedTuple):
    """L_q, L_v, L_a: rows (nt, n_v), or the slots of one block."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


class Hessian(NamedTuple):
    """Packed L_qq, L_qv, L_vv, L_qa: rows (nt, nnz), or the slots of one block; (row q, column v) of qv."""

    qq: np.ndarray
    qv: np.ndarray
    vv: np.ndarray
    qa: np.ndarray


class Workspace(NamedTuple):
    """Slots of one block of samples, as the passes before leave them.

    twists, screws : per column, TWIST and SCREWS
    wrenches, inertia, sums : per atom, WRENCH, INERTIA_FLOW and VIRTUAL_SUMS: of its body, then of all beyond
    world, turned : per atom, WORLD_LOAD and VIRTUAL_LOAD of loads in world axes; empty without any
    """

    twists: np.ndarray
    screws: np.ndarray
    wrenches: np.ndarray
    inertia: np.ndarray
    sums: np.ndarray
    world: np.ndarray
    turned: np.ndarray


class Composite(NamedTuple):
    """What lies beyond an atom: wrench (N, F), mass moments (mass, h, S), their flow (P, D), and G, K, E, Q."""

    N: Vector
    F: Vector
    mass: Scalar
    h: Vector
    S: Vector
    trace_S: Scalar
    P: Vector
    D: Vector
    trace_D: Scalar
    G_N: Vector
    G_F: Vector
    K: Vector
    E: Vector
    Q: Vector


class Screws(NamedTuple):
    """Twist S = (s, m) of a column, and its Psid, Psidd, Z and eta: angular and linear parts."""

    s: Vector
    m: Vector
    d_w: Vector
    d_v: Vector
    dd_w: Vector
    dd_v: Vector
    z_w: Vector
    z_v: Vector
    e_w: Vector
    e_v: Vector


class Duals(NamedTuple):
    """The vectors u1, u2, u3, p2, p3, p4 of a column; `own`: what stands for p3 between columns of one atom."""

    u1_w: Vector
    u1_v: Vector
    u2_w: Vector
    u2_v: Vector
    u3_w: Vector
    u3_v: Vector
    p2_w: Vector
    p2_v: Vector
    p3_w: Vector
    p3_v: Vector
    p4_w: Vector
    p4_v: Vector
    own: Vector


@inlined
def composite(atoms_f, w, i, scalar):
    """Everything beyond atom i, from slots that hold the sums already."""
    k, j = i * VIRTUAL_SUMS, i * INERTIA_FLOW
    S, D = get6(w.inertia, j + SECOND, scalar), get9(w.inertia, j + FLOW, scalar)
    return Composite(
        N=get3(w.wrenches, i * WRENCH + MOMENT, scalar),
        F=get3(w.wrenches, i * WRENCH + FORCE, scalar),
        mass=atoms_f[i, BEYOND],
        h=get3(w.inertia, j + FIRST, scalar),
        S=S,
        trace_S=S[0] + S[3] + S[5],
        P=get3(w.inertia, j + MOMENTUM, scalar),
        D=D,
        trace_D=D[0] + D[4] + D[8],
        G_N=get3(w.sums, k + G_N, scalar),
        G_F=get3(w.sums, k + G_F, scalar),
        K=get3(w.sums, k + K_, scalar),
        E=get9(w.sums, k + E_, scalar),
        Q=get3(w.sums, k + Q_, scalar),
    )


@inlined
def screws_of(twists, screws, c, scalar):
    """Twist and screws of column c."""
    o = c * SCREWS
    return Screws(
        s=get3(twists, c * TWIST, scalar),
        m=get3(twists, c * TWIST + 3, scalar),
        d_w=get3(screws, o + D_W, scalar),
        d_v=get3(screws, o + D_V, scalar),
        dd_w=get3(screws, o + DD_W, scalar),
        dd_v=get3(screws, o + DD_V, scalar),
        z_w=get3(screws, o + Z_W, scalar),
        z_v=get3(screws, o + Z_V, scalar),
        e_w=get3(screws, o + E_W, scalar),
        e_v=get3(screws, o + E_V, scalar),
    )


@inlined
def duals_of(b, x, l_w, l_v):
    """The six vectors of a column with screws x and the composite b beyond it; (l_w, l_v): L(s), see above."""
    u1_w, u1_v = inertia_w(b.trace_S, b.S, b.h, x.s, x.m), inertia_v(b.mass, b.h, x.s, x.m)
    b_w, b_v = velocity_operator(b.trace_D, b.D, b.P, x.s)
    u2_w = add(b_w, inertia_w(b.trace_S, b.S, b.h, x.z_w, x.z_v))
    u2_v = add(b_v, inertia_v(b.mass, b.h, x.z_w, x.z_v))
    b_w, b_v = velocity_operator(b.trace_D, b.D, b.P, x.d_w)
    x_w, x_v = dual_cross(x.s, x.m, b.N, b.F)
    u3_w = add(add(add(b_w, inertia_w(b.trace_S, b.S, b.h, x.dd_w, x.dd_v)), x_w), l_w)
    u3_v = add(add(add(b_v, inertia_v(b.mass, b.h, x.dd_w, x.dd_v)), x_v), l_v)
    x_w, x_v = dual_cross(x.s, x.m, b.G_N, b.G_F)
    p2_w = add(inertia_w(b.trace_S, b.S, b.h, x.e_w, x.e_v), x_w)
    p2_v = add(inertia_v(b.mass, b.h, x.e_w, x.e_v), x_v)
    c_w, c_v = virtual_dual(b.E, b.Q, x.s)
    p4_w, p4_v = add(scale(2.0, x_w), c_w), add(scale(2.0, x_v), c_v)
    x_w, x_v = dual_cross(x.d_w, x.d_v, b.G_N, b.G_F)
    c_w, c_v = virtual_dual(b.E, b.Q, x.d_w)
    eta_dual, s_K = velocity_dual(b.D, b.P, x.e_w, x.e_v), cross(x.s, b.K)
    p3_w, p3_v = add(add(eta_dual, scale(2.0, x_w)), add(s_K, c_w)), add(scale(2.0, x_v), c_v)
    own = add(add(eta_dual, s_K), virtual_operator(b.E, b.Q, x.d_w, x.d_v))
    return Duals(u1_w, u1_v, u2_w, u2_v, u3_w, u3_v, p2_w, p2_v, p3_w, p3_v, p4_w, p4_v, own)


@inlined
def own_entries(b, x, d, y):
    """L_qr,qc, L_qc,vr, L_vc,vr and L_qc,ar of column c with screws x and duals d, and a column r of the same atom with
    screws y; without loads in world axes."""
    qq = dot(y.e_w, d.u3_w) + dot(y.e_v, d.u3_v)
    qq = qq + dot(y.dd_w, d.p2_w) + dot(y.dd_v, d.p2_v)
    qq = qq + dot(y.d_w, d.own)
    qv = dot(y.s, d.p3_w) + dot(y.m, d.p3_v) + dot(y.z_w, d.p2_w) + dot(y.z_v, d.p2_v)
    x_w, x_v = motion_cross(y.s, y.m, x.s, x.m)
    vv = dot(y.s, d.p4_w) + dot(y.m, d.p4_v) - (dot(x_w, b.G_N) + dot(x_v, b.G_F))
    return qq, qv, vv, dot(y.s, d.p2_w) + dot(y.m, d.p2_v)


@inlined
def put_pair(hessian, up, down, qq, y, d):
    """Entries of column c with duals d and a column before it with screws y; up, down: packed positions of (before, c)
    and (c, before); qq: what loads in world axes add."""
    value = dot(y.d_w, d.p3_w) + dot(y.d_v, d.p3_v) + dot(y.dd_w, d.p2_w) + dot(y.dd_v, d.p2_v)
    value = value + dot(y.e_w, d.u3_w) + dot(y.e_v, d.u3_v) + qq
    store(hessian.qq, up, value)
    store(hessian.qq, down, value)
    store(hessian.qv, down, dot(y.s, d.p3_w) + dot(y.m, d.p3_v) + dot(y.z_w, d.p2_w) + dot(y.z_v, d.p2_v))
    store(hessian.qv, up, dot(y.d_w, d.p4_w) + dot(y.d_v, d.p4_v) + dot(y.e_w, d.u2_w) + dot(y.e_v, d.u2_v))
    value = dot(y.s, d.p4_w) + dot(y.m, d.p4_v)
    store(hessian.vv, up, value)
    store(hessian.vv, down, value)
    store(hessian.qa, down, dot(y.s, d.p2_w) + dot(y.m, d.p2_v))
    store(hessian.qa, up, dot(y.e_w, d.u1_w) + dot(y.e_v, d.u1_v))


@inner
def gradient_and_hessian(tree, pairs, w, has_world, gradient, wanted, hessian, scalar):
    """From the tips to the ground: `Gradient`, and with `wanted` the packed `Hessian`.

    tree: `TreeTables`; pairs (n, 2): packed positions of related columns; w: `Workspace`, whose sums are used up.
    """
    atoms_i, columns_i, zero = tree.atoms_i, tree.columns_i, 0.0 * scalar
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        b = composite(tree.atoms_f, w, i, scalar)
        first = atoms_i[i, V_AT]
        last = first + columns_of_kind(atoms_i[i, KIND])
        for c in range(first, last):
            x = screws_of(w.twists, w.screws, c, scalar)
            by_q = dot(x.e_w, b.N) + dot(x.e_v, b.F) + dot(x.dd_w, b.G_N) + dot(x.dd_v, b.G_F) + dot(x.d_w, b.K)
            if has_world:
                by_q = by_q + dot(x.s, get3(w.turned, i * VIRTUAL_LOAD + LAM, scalar))
            store(gradient.q, c, by_q)
            store(gradient.v, c, dot(x.s, b.K) + dot(x.z_w, b.G_N) + dot(x.z_v, b.G_F))
            store(gradient.a, c, dot(x.s, b.G_N) + dot(x.m, b.G_F))
            if not wanted:
                continue
            l_w, l_v, turn = zero3(scalar), zero3(scalar), zero3(scalar)
            if has_world:
                l_w, l_v = world_load_turn(w.world, i, x.s, scalar)
                R = get9(w.turned, i * VIRTUAL_LOAD + R_, scalar)
                # s_d . turn = eta_c . L(s_d) - s_c . R s_d + (s_c . s_d) tr R, also for columns d of the same atom
                turn = sub(world_load_dual(w.world, i, x.e_w, x.e_v, scalar), mat_tmul(R, x.s))
                turn = add(turn, scale(R[0] + R[4] + R[8], x.s))
            d = duals_of(b, x, l_w, l_v)
            for r in range(first, last):
                y = screws_of(w.twists, w.screws, r, scalar)
                qq, qv, vv, qa = own_entries(b, x, d, y)
                store(hessian.qq, own_position(columns_i, pairs, r, c), qq + (dot(y.s, turn) if has_world else zero))
                at = own_position(columns_i, pairs, c, r)
                store(hessian.qv, at, qv)
                store(hessian.vv, at, vv)
                store(hessian.qa, at, qa)
            pair, r = columns_i[c, C_PAIR] + (c - first), columns_i[first, C_PARENT]
            while r >= 0:
                y = screws_of(w.twists, w.screws, r, scalar)
                put_pair(hessian, pairs[pair, 0], pairs[pair, 1], dot(y.s, turn) if has_world else zero, y, d)
                r = columns_i[r, C_PARENT]
                pair += 1
        if atoms_i[i, PARENT] >= 0:
            hand_down(w, has_world, i, atoms_i[i, PARENT], scalar)


@inlined
def hand_down(w, has_world, i, parent, scalar):
    """Add all sums of atom i to those of its parent."""
    pass_down(w.wrenches, i, parent, WRENCH, scalar)
    pass_down(w.inertia, i, parent, INERTIA_FLOW, scalar)
    pass_down(w.sums, i, parent, VIRTUAL_SUMS, scalar)
    if has_world:
        pass_down(w.world, i, parent, WORLD_LOAD, scalar)
        pass_down(w.turned, i, parent, VIRTUAL_LOAD, scalar)


@inlined
def own_position(columns_i, pairs, row, column):
    """Packed position of (row, column), both of one atom."""
    if row == column:
        return columns_i[row, C_DIAGONAL]
    if row > column:
        return pairs[columns_i[row, C_PAIR] + (row - column - 1), 1]
    return pairs[columns_i[column, C_PAIR] + (column - row - 1), 0]


@allocating
def second_order(tree, pairs, states, loads, gradient, hessian, scalar):
    """Rows of the motion to rows of the gradient and, unless its arrays are empty, of the Hessian.

    tree, loads, gradient, hessian: tuples of arrays as in `TreeTables`, `Loads`, `Gradient`, `Hessian`; states: q
    (nt, n_q), v, a and y (nt, n_v). Returns the first row of a block with a bad number, or -1.
    """
    atoms_i, atoms_f, columns_i = tree
    q, v, a, y = states
    samples = Motion(q, v, a)
    loads_i, loads_f = loads
    like = gradient[0]
    n_atoms, n_v, n = atoms_i.shape[0], columns_i.shape[0], width(scalar)
    nnz, n_loads, has_world = hessian[0].shape[1], loads_i.shape[0], any_in_world_axes(loads_i)
    frames, virtual = slots((n_atoms + 1) * FRAME, like, scalar), slots((n_atoms + 1) * VIRTUAL, like, scalar)
    motion = Motion(q=slots(q.shape[1], like, scalar), v=slots(n_v, like, scalar), a=slots(n_v, like, scalar))
    y_, load_slots = slots(n_v, like, scalar), slots(n_loads * LOAD, like, scalar)
    loaded = n_atoms if has_world else 0
    w = Workspace(
        twists=slots(n_v * TWIST, like, scalar),
        screws=slots(n_v * SCREWS, like, scalar),
        wrenches=slots(n_atoms * WRENCH, like, scalar),
        inertia=slots(n_atoms * INERTIA_FLOW, like, scalar),
        sums=slots(n_atoms * VIRTUAL_SUMS, like, scalar),
        world=slots(loaded * WORLD_LOAD, like, scalar),
        turned=slots(loaded * VIRTUAL_LOAD, like, scalar),
    )
    g = Gradient(q=slots(n_v, like, scalar), v=slots(n_v, like, scalar), a=slots(n_v, like, scalar))
    h = Hessian(
        qq=slots(nnz, like, scalar), qv=slots(nnz, like, scalar), vv=slots(nnz, like, scalar),
        qa=slots(nnz, like, scalar),
    )  # fmt: skip
    tables = TreeTables(atoms_i, atoms_f, columns_i)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, q.shape[0], n):
        gather(y, row, y_, 0, scalar)
        check = outward_rows(atoms_i, atoms_f, samples, row, motion, frames, w.twists, scalar)
        for c in range(n_v):
            value = load(y_, c, scalar)
            check = check + (value - value)
        if any_not_less(check, 1.0):
            return row
        virtual_motion(atoms_i, columns_i, frames, w.twists, y_, virtual, w.screws, scalar)
        body_wrenches_and_moments(atoms_i, atoms_f, frames, w.wrenches, w.inertia, scalar)
        virtual_sums(atoms_i, atoms_f, w.inertia, virtual, w.sums, scalar)
        if n_loads:
            gather_loads(loads_f, row, load_slots, scalar)
            apply_loads(loads_i, load_slots, frames, w.wrenches, scalar)
        if has_world:
            collect_world_loads(loads_i, load_slots, frames, w.world, n_atoms, scalar)
            virtual_loads(loads_i, load_slots, frames, virtual, w.turned, n_atoms, scalar)
        gradient_and_hessian(tables, pairs, w, has_world, g, nnz > 0, h, scalar)
        scatter_all(g, gradient, row, scalar)
        if nnz:
            scatter_all(h, hessian, row, scalar)
    return -1


@entry
def second_order_one(tree, pairs, states, loads, gradient, hessian):
    """`second_order` sample by sample."""
    return second_order(tree, pairs, states, loads, gradient, hessian, 0.0)


@entry
def second_order_lanes(tree, pairs, states, loads, gradient, hessian):
    """`second_order` in SIMD lanes."""
    return second_order(tree, pairs, states, loads, gradient, hessian, lane_zero())


@entry
def second_order_complex(tree, pairs, states, loads, gradient, hessian):
    """`second_order` of complex numbers."""
    return second_order(tree, pairs, states, loads, gradient, hessian, 0j)
