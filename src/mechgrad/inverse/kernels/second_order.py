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
    L_IN_BODY_AXES,
    LOAD,
    MOMENT,
    MOMENTUM,
    SECOND,
    WORLD_LOAD,
    WRENCH,
    apply_loads,
    body_wrenches_and_moments,
    collect_world_loads,
    gather_loads,
    inertia_v,
    inertia_w,
    pass_down,
)
from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.vec3 import (
    add,
    cross,
    dot,
    get3,
    get6,
    get9,
    mat_mul,
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
from mechgrad.model.tree import BEYOND, C_DIAGONAL, C_PAIR, C_PARENT, KIND, PARENT, V_AT


@inner
def gradient_and_hessian(
    atoms_i, atoms_f, columns_i, pairs, twists, screws, wrenches, inertia, sums, has_world, world, turned,
    g_q, g_v, g_a, wanted, qq, qv, vv, qa, scalar,
):  # fmt: skip
    """From the tips to the ground: gradient, and with `wanted` the packed Hessian blocks (row q, column v of qv,
    ...)."""
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        k, j = i * VIRTUAL_SUMS, i * INERTIA_FLOW
        F, N = get3(wrenches, i * WRENCH + FORCE, scalar), get3(wrenches, i * WRENCH + MOMENT, scalar)
        h, S = get3(inertia, j + FIRST, scalar), get6(inertia, j + SECOND, scalar)
        P, D = get3(inertia, j + MOMENTUM, scalar), get9(inertia, j + FLOW, scalar)
        GN, GF, K = get3(sums, k + G_N, scalar), get3(sums, k + G_F, scalar), get3(sums, k + K_, scalar)
        E, Q = get9(sums, k + E_, scalar), get3(sums, k + Q_, scalar)
        mass, trace, trace_D = atoms_f[i, BEYOND], S[0] + S[3] + S[5], D[0] + D[4] + D[8]
        columns = columns_of_kind(atoms_i[i, KIND])
        first = atoms_i[i, V_AT]
        for c in range(first, first + columns):
            s, m = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
            o = c * SCREWS
            dw, dv = get3(screws, o + D_W, scalar), get3(screws, o + D_V, scalar)
            ddw, ddv = get3(screws, o + DD_W, scalar), get3(screws, o + DD_V, scalar)
            zw, zv = get3(screws, o + Z_W, scalar), get3(screws, o + Z_V, scalar)
            ew, ev = get3(screws, o + E_W, scalar), get3(screws, o + E_V, scalar)
            by_q = dot(ew, N) + dot(ev, F) + dot(ddw, GN) + dot(ddv, GF) + dot(dw, K)
            if has_world:
                by_q = by_q + dot(s, get3(turned, i * VIRTUAL_LOAD + LAM, scalar))
            store(g_q, c, by_q)
            store(g_v, c, dot(s, K) + dot(zw, GN) + dot(zv, GF))
            store(g_a, c, dot(s, GN) + dot(m, GF))
            if not wanted:
                continue
            u1w, u1v = inertia_w(trace, S, h, s, m), inertia_v(mass, h, s, m)
            bw, bv = velocity_operator(trace_D, D, P, s)
            u2w, u2v = add(bw, inertia_w(trace, S, h, zw, zv)), add(bv, inertia_v(mass, h, zw, zv))
            bw, bv = velocity_operator(trace_D, D, P, dw)
            xw, xv = dual_cross(s, m, N, F)
            u3w = add(add(bw, inertia_w(trace, S, h, ddw, ddv)), xw)
            u3v = add(add(bv, inertia_v(mass, h, ddw, ddv)), xv)
            xw, xv = dual_cross(s, m, GN, GF)
            p2w, p2v = add(inertia_w(trace, S, h, ew, ev), xw), add(inertia_v(mass, h, ew, ev), xv)
            cw, cv = virtual_dual(E, Q, s)
            p4w, p4v = add(scale(2.0, xw), cw), add(scale(2.0, xv), cv)
            xw, xv = dual_cross(dw, dv, GN, GF)
            cw, cv = virtual_dual(E, Q, dw)
            eta_dual = velocity_dual(D, P, ew, ev)
            p3w = add(add(eta_dual, scale(2.0, xw)), add(cross(s, K), cw))
            p3v = add(scale(2.0, xv), cv)
            lw, lv, turn = zero3(scalar), zero3(scalar), zero3(scalar)
            if has_world:
                lw, lv = world_load_turn(world, i, s, scalar)
                R = get9(turned, i * VIRTUAL_LOAD + R_, scalar)
                # s_d . turn = eta_c . L(s_d) - s_c . R s_d + (s_c . s_d) tr R
                turn = world_load_dual(world, i, ew, ev, scalar)
                turn = add(sub(turn, mat_tmul(R, s)), scale(R[0] + R[4] + R[8], s))
            u3w, u3v = add(u3w, lw), add(u3v, lv)
            # columns of the same atom: this one as the moved column d, each of them as the row c
            dK = add(add(eta_dual, cross(s, K)), virtual_operator(E, Q, dw, dv))
            for r in range(first, first + columns):
                rs, rm = get3(twists, r * TWIST, scalar), get3(twists, r * TWIST + 3, scalar)
                ro = r * SCREWS
                at = own_position(columns_i, pairs, r, c)
                value = dot(get3(screws, ro + E_W, scalar), u3w) + dot(get3(screws, ro + E_V, scalar), u3v)
                value = value + dot(get3(screws, ro + DD_W, scalar), p2w) + dot(get3(screws, ro + DD_V, scalar), p2v)
                value = value + dot(get3(screws, ro + D_W, scalar), dK)
                if has_world:
                    # eta_c . L(s_r) + (s_c . s_r) tr R - s_c . R s_r: the row's s stays, y and x turn
                    value = value + dot(rs, world_load_dual(world, i, ew, ev, scalar))
                    value = value + (R[0] + R[4] + R[8]) * dot(s, rs) - dot(s, mat_mul(R, rs))
                store(qq, at, value)
                at = own_position(columns_i, pairs, c, r)
                rzw, rzv = get3(screws, ro + Z_W, scalar), get3(screws, ro + Z_V, scalar)
                store(qv, at, dot(rs, p3w) + dot(rm, p3v) + dot(rzw, p2w) + dot(rzv, p2v))
                store(qa, at, dot(rs, p2w) + dot(rm, p2v))
                bw, bv = motion_cross(rs, rm, s, m)
                store(vv, at, dot(rs, p4w) + dot(rm, p4v) - (dot(bw, GN) + dot(bv, GF)))
            pair, d = columns_i[c, C_PAIR] + (c - first), columns_i[first, C_PARENT]
            while d >= 0:
                up, down = pairs[pair, 0], pairs[pair, 1]  # (d, c) and (c, d)
                t, n = get3(twists, d * TWIST, scalar), get3(twists, d * TWIST + 3, scalar)
                o = d * SCREWS
                aw, av = get3(screws, o + D_W, scalar), get3(screws, o + D_V, scalar)
                aaw, aav = get3(screws, o + DD_W, scalar), get3(screws, o + DD_V, scalar)
                yw, yv = get3(screws, o + Z_W, scalar), get3(screws, o + Z_V, scalar)
                hw, hv = get3(screws, o + E_W, scalar), get3(screws, o + E_V, scalar)
                value = dot(aw, p3w) + dot(av, p3v) + dot(aaw, p2w) + dot(aav, p2v) + dot(hw, u3w) + dot(hv, u3v)
                if has_world:
                    value = value + dot(t, turn)
                store(qq, up, value)
                store(qq, down, value)
                store(qv, down, dot(t, p3w) + dot(n, p3v) + dot(yw, p2w) + dot(yv, p2v))
                store(qv, up, dot(aw, p4w) + dot(av, p4v) + dot(hw, u2w) + dot(hv, u2v))
                value = dot(t, p4w) + dot(n, p4v)
                store(vv, up, value)
                store(vv, down, value)
                store(qa, down, dot(t, p2w) + dot(n, p2v))
                store(qa, up, dot(hw, u1w) + dot(hv, u1v))
                d = columns_i[d, C_PARENT]
                pair += 1
        parent = atoms_i[i, PARENT]
        if parent >= 0:
            pass_down(wrenches, i, parent, WRENCH, scalar)
            pass_down(inertia, i, parent, INERTIA_FLOW, scalar)
            pass_down(sums, i, parent, VIRTUAL_SUMS, scalar)
            if has_world:
                pass_down(world, i, parent, WORLD_LOAD, scalar)
                pass_down(turned, i, parent, VIRTUAL_LOAD, scalar)


@inlined
def own_position(columns_i, pairs, row, column):
    """Packed position of (row, column), both of one atom."""
    if row == column:
        return columns_i[row, C_DIAGONAL]
    if row > column:
        return pairs[columns_i[row, C_PAIR] + (row - column - 1), 1]
    return pairs[columns_i[column, C_PAIR] + (column - row - 1), 0]


@allocating
def second_order(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, y, loads_i, loads_f, g_q, g_v, g_a, qq, qv, vv, qa, scalar
):  # fmt: skip
    """Rows of q, v, a, y to rows of the gradient (nt, n_v) x 3 and, unless qq is empty, of the Hessian (nt, nnz) x 4.

    Returns the first row of a block with a bad number, or -1.
    """
    n_atoms, n_q, n_v = atoms_i.shape[0], q.shape[1], v.shape[1]
    n, nnz, n_loads = width(scalar), qq.shape[1], loads_i.shape[0]
    wanted = nnz > 0
    has_world = False
    for k in range(n_loads):
        has_world |= loads_i[k, L_IN_BODY_AXES] == 0
    q_, v_, a_ = np.empty(n_q * n, g_q.dtype), np.empty(n_v * n, g_q.dtype), np.empty(n_v * n, g_q.dtype)
    y_, loads = np.empty(n_v * n, g_q.dtype), np.empty(n_loads * LOAD * n, g_q.dtype)
    frames, twists = np.empty((n_atoms + 1) * FRAME * n, g_q.dtype), np.empty(n_v * TWIST * n, g_q.dtype)
    screws, virtual = np.empty(n_v * SCREWS * n, g_q.dtype), np.empty((n_atoms + 1) * VIRTUAL * n, g_q.dtype)
    wrenches, inertia = np.empty(n_atoms * WRENCH * n, g_q.dtype), np.empty(n_atoms * INERTIA_FLOW * n, g_q.dtype)
    sums, loaded = np.empty(n_atoms * VIRTUAL_SUMS * n, g_q.dtype), n_atoms if has_world else 0
    world, turned = np.empty(loaded * WORLD_LOAD * n, g_q.dtype), np.empty(loaded * VIRTUAL_LOAD * n, g_q.dtype)
    gq, gv, ga = np.empty(n_v * n, g_q.dtype), np.empty(n_v * n, g_q.dtype), np.empty(n_v * n, g_q.dtype)
    b_qq, b_qv = np.empty(nnz * n, g_q.dtype), np.empty(nnz * n, g_q.dtype)
    b_vv, b_qa = np.empty(nnz * n, g_q.dtype), np.empty(nnz * n, g_q.dtype)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, q.shape[0], n):
        gather(y, row, y_, 0, scalar)
        check = outward_rows(atoms_i, atoms_f, q, v, a, row, q_, v_, a_, frames, twists, scalar)
        for c in range(n_v):
            value = load(y_, c, scalar)
            check = check + (value - value)
        if any_not_less(check, 1.0):
            return row
        virtual_motion(atoms_i, columns_i, frames, twists, y_, virtual, screws, scalar)
        body_wrenches_and_moments(atoms_i, atoms_f, frames, wrenches, inertia, scalar)
        virtual_sums(atoms_i, atoms_f, inertia, virtual, sums, scalar)
        if n_loads:
            gather_loads(loads_f, row, loads, scalar)
            apply_loads(loads_i, loads, frames, wrenches, scalar)
        if has_world:
            collect_world_loads(loads_i, loads, frames, world, n_atoms, scalar)
            virtual_loads(loads_i, loads, frames, virtual, turned, n_atoms, scalar)
        gradient_and_hessian(
            atoms_i, atoms_f, columns_i, pairs, twists, screws, wrenches, inertia, sums, has_world, world, turned,
            gq, gv, ga, wanted, b_qq, b_qv, b_vv, b_qa, scalar,
        )  # fmt: skip
        scatter(gq, 0, g_q, row, scalar)
        scatter(gv, 0, g_v, row, scalar)
        scatter(ga, 0, g_a, row, scalar)
        if wanted:
            scatter(b_qq, 0, qq, row, scalar)
            scatter(b_qv, 0, qv, row, scalar)
            scatter(b_vv, 0, vv, row, scalar)
            scatter(b_qa, 0, qa, row, scalar)
    return -1


@entry
def second_order_one(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, y, loads_i, loads_f, g_q, g_v, g_a, qq, qv, vv, qa
):  # fmt: skip
    """`second_order` sample by sample."""
    return second_order(
        atoms_i, atoms_f, columns_i, pairs, q, v, a, y, loads_i, loads_f, g_q, g_v, g_a, qq, qv, vv, qa, 0.0
    )  # fmt: skip


@entry
def second_order_lanes(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, y, loads_i, loads_f, g_q, g_v, g_a, qq, qv, vv, qa
):  # fmt: skip
    """`second_order` in SIMD lanes."""
    return second_order(
        atoms_i, atoms_f, columns_i, pairs, q, v, a, y, loads_i, loads_f, g_q, g_v, g_a, qq, qv, vv, qa, lane_zero()
    )  # fmt: skip


@entry
def second_order_complex(
    atoms_i, atoms_f, columns_i, pairs, q, v, a, y, loads_i, loads_f, g_q, g_v, g_a, qq, qv, vv, qa
):  # fmt: skip
    """`second_order` of complex numbers."""
    return second_order(
        atoms_i, atoms_f, columns_i, pairs, q, v, a, y, loads_i, loads_f, g_q, g_v, g_a, qq, qv, vv, qa, 0j
    )  # fmt: skip
