"""Derivatives of the generalized forces by q, v and a, in one sweep, O(number of related pairs).

For column j let I, B, f be the inertia, velocity operator and wrench of everything beyond it, and (S, Y, Psid,
Psidd) the column's twist and rates (`kinematics.kernels.outward`). The wrench f_b of a body b beyond j changes by

    df_b/da_j = I S_j
    df_b/dv_j = 2 B S_j + I Y_j                                       2 B (w, u) = 2 (tr(D) w - D w,  w x P)
    df_b/dq_j = 2 B Psid_j + I Psidd_j + S_j x* f + L(s_j)            x*: the dual cross product, turns forces

where L(s) puts back what turning took from loads whose axes are fixed in the world (force f at x, couple c):

    L(s) = sum (x x (s x f) + s x c,  s x f) = (tr(K) s - K s + s x c,  s x f),    K = sum f x^T

so that for an ancestor i of j (or j itself), with u1 = I S_j, u2 = df/dv_j, u3 = df/dq_j:

    tau_i,a_j = S_i . u1        tau_i,v_j = S_i . u2        tau_i,q_j = S_i . u3

and transposed, for i a proper ancestor of j (S_j turns with q_i, which cancels the x* term):

    tau_j,a_i = u1 . S_i
    tau_j,v_i = u4 . s_i + u1 . Y_i                        u4 = 2 (tr(D) s_j - D^T s_j + P x m_j)
    tau_j,q_i = u4 . Psid_i + u1 . Psidd_i + u5 . s_i      u5 = tr(K) s_j - K^T s_j + c x s_j + f_L x m_j

Two columns of one ball atom do not turn each other; there S_j . (S_i x* f) stays and is added.
"""

from __future__ import annotations

from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    FLOW,
    FORCE,
    INERTIA_FLOW,
    L_COUPLE,
    L_DYAD,
    L_FORCE,
    MOMENT,
    MOMENTUM,
    SECOND,
    WORLD_LOAD,
    WRENCH,
    inertia_v,
    inertia_w,
    pass_down,
)
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.vec3 import add, cross, dot, get3, get6, get9, mat_mul, mat_tmul, put3, scale, sub
from mechgrad.kinematics.kernels.outward import (
    RATE_D,
    RATE_DD,
    RATE_DDV,
    RATE_Y,
    RATE_YV,
    RATES,
    TWIST,
    columns_of_kind,
)
from mechgrad.model.joints.base import BALL
from mechgrad.model.tree import BEYOND, C_DIAGONAL, C_PAIR, C_PARENT, KIND, PARENT, V_AT

# slots of one column's duals, kept for the parameter columns: u1 (w, v), u4, u5
U1, U1V, U4, U5 = 0, 3, 6, 9
DUALS = 12


@inlined
def velocity_operator(trace, D, P, w):
    """2 B (w, .)"""
    return scale(2.0, sub(scale(trace, w), mat_mul(D, w))), scale(2.0, cross(w, P))


@inlined
def world_load_turn(world, atom, s, scalar):
    """L(s) of the world-axis loads beyond this atom."""
    k = atom * WORLD_LOAD
    K = get9(world, k + L_DYAD, scalar)
    force, couple = get3(world, k + L_FORCE, scalar), get3(world, k + L_COUPLE, scalar)
    trace = K[0] + K[4] + K[8]
    return add(sub(scale(trace, s), mat_mul(K, s)), cross(s, couple)), cross(s, force)


@inlined
def world_load_dual(world, atom, s, m, scalar):
    """u5: S . L(x) = u5 . x for every x."""
    k = atom * WORLD_LOAD
    K = get9(world, k + L_DYAD, scalar)
    force, couple = get3(world, k + L_FORCE, scalar), get3(world, k + L_COUPLE, scalar)
    trace = K[0] + K[4] + K[8]
    return add(sub(scale(trace, s), mat_tmul(K, s)), add(cross(couple, s), cross(force, m)))


@inlined
def column_duals(mass, h, S, P, D, N, F, s, m, rates, r, scalar):
    """u1, u2, u3 (angular and linear parts) and u4 of a column with twist (s, m), whose rates begin at slot r, from the
    mass moments (mass, h, S), their flow (P, D) and the wrench (N, F) of everything beyond it."""
    yw, yv = get3(rates, r + RATE_Y, scalar), get3(rates, r + RATE_YV, scalar)
    ddw, ddv = get3(rates, r + RATE_DD, scalar), get3(rates, r + RATE_DDV, scalar)
    dw = get3(rates, r + RATE_D, scalar)
    trace_S, trace_D = S[0] + S[3] + S[5], D[0] + D[4] + D[8]
    u1w, u1v = inertia_w(trace_S, S, h, s, m), inertia_v(mass, h, s, m)
    bw, bv = velocity_operator(trace_D, D, P, s)
    u2w, u2v = add(bw, inertia_w(trace_S, S, h, yw, yv)), add(bv, inertia_v(mass, h, yw, yv))
    bw, bv = velocity_operator(trace_D, D, P, dw)
    u3w = add(add(bw, inertia_w(trace_S, S, h, ddw, ddv)), add(cross(s, N), cross(m, F)))
    u3v = add(add(bv, inertia_v(mass, h, ddw, ddv)), cross(s, F))
    u4 = scale(2.0, add(sub(scale(trace_D, s), mat_tmul(D, s)), cross(P, m)))
    return u1w, u1v, u2w, u2v, u3w, u3v, u4


@inner
def inward(tree, pairs, w, tau, dq, dv, da, scalar):
    """From the tips to the ground: composites, then row and column of every joint against its ancestors.

    tree : a record with atoms_i, atoms_f, columns_i; pairs (n, 2): packed positions of related columns
    w : a record with twists, column_rates, and wrenches and inertia of bodies, which become those of all beyond; and
        duals, DUALS slots per column, which are left there
    tau, dq, dv, da : slots, n_v and nnz of the pattern
    """
    atoms_i, atoms_f, columns_i = tree.atoms_i, tree.atoms_f, tree.columns_i
    twists, rates, wrenches, inertia, duals = w.twists, w.column_rates, w.wrenches, w.inertia, w.duals
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        k = i * INERTIA_FLOW
        F, N = get3(wrenches, i * WRENCH + FORCE, scalar), get3(wrenches, i * WRENCH + MOMENT, scalar)
        h, S = get3(inertia, k + FIRST, scalar), get6(inertia, k + SECOND, scalar)
        P, D = get3(inertia, k + MOMENTUM, scalar), get9(inertia, k + FLOW, scalar)
        columns = columns_of_kind(atoms_i[i, KIND])
        for j in range(atoms_i[i, V_AT], atoms_i[i, V_AT] + columns):
            s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
            store(tau, j, dot(s, N) + dot(m, F))
            u1w, u1v, u2w, u2v, u3w, u3v, u4 = column_duals(
                atoms_f[i, BEYOND], h, S, P, D, N, F, s, m, rates, j * RATES, scalar
            )
            put3(duals, j * DUALS + U1, u1w)
            put3(duals, j * DUALS + U1V, u1v)
            put3(duals, j * DUALS + U4, u4)
            d = columns_i[j, C_DIAGONAL]
            store(da, d, dot(s, u1w) + dot(m, u1v))
            store(dv, d, dot(s, u2w) + dot(m, u2v))
            store(dq, d, dot(s, u3w) + dot(m, u3v))
            pair, c = columns_i[j, C_PAIR], columns_i[j, C_PARENT]
            while c >= 0:
                up, down = pairs[pair, 0], pairs[pair, 1]
                cs, cm = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
                cr = c * RATES
                cyw, cyv = get3(rates, cr + RATE_Y, scalar), get3(rates, cr + RATE_YV, scalar)
                cddw, cddv = get3(rates, cr + RATE_DD, scalar), get3(rates, cr + RATE_DDV, scalar)
                cdw = get3(rates, cr + RATE_D, scalar)
                mass_entry = dot(cs, u1w) + dot(cm, u1v)
                store(da, up, mass_entry)
                store(da, down, mass_entry)
                store(dv, up, dot(cs, u2w) + dot(cm, u2v))
                store(dq, up, dot(cs, u3w) + dot(cm, u3v))
                store(dv, down, dot(cs, u4) + (dot(cyw, u1w) + dot(cyv, u1v)))
                store(dq, down, dot(cdw, u4) + (dot(cddw, u1w) + dot(cddv, u1v)))
                c = columns_i[c, C_PARENT]
                pair += 1
        if atoms_i[i, KIND] == BALL:
            siblings(atoms_i[i, V_AT], columns_i, pairs, twists, F, N, dq, scalar)
        parent = atoms_i[i, PARENT]
        if parent >= 0:
            pass_down(wrenches, i, parent, WRENCH, scalar)
            pass_down(inertia, i, parent, INERTIA_FLOW, scalar)


@inner
def siblings(first, columns_i, pairs, twists, F, N, dq, scalar):
    """Columns of one ball do not turn each other: add S_j . (S_i x* f) to tau_j,q_i for i before j."""
    for j in range(first + 1, first + 3):
        s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
        pair = columns_i[j, C_PAIR]
        for c in range(j - 1, first - 1, -1):
            cs, cm = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
            term = dot(s, add(cross(cs, N), cross(cm, F))) + dot(m, cross(cs, F))
            down = pairs[pair, 1]
            store(dq, down, load(dq, down, scalar) + term)
            pair += 1


@inner
def inward_world_loads(atoms_i, columns_i, pairs, twists, world, duals, dq, scalar):
    """Add the terms of loads in world axes to the derivatives by q."""
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        columns = columns_of_kind(atoms_i[i, KIND])
        for j in range(atoms_i[i, V_AT], atoms_i[i, V_AT] + columns):
            s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
            lw, lv = world_load_turn(world, i, s, scalar)
            u5 = world_load_dual(world, i, s, m, scalar)
            put3(duals, j * DUALS + U5, u5)
            d = columns_i[j, C_DIAGONAL]
            store(dq, d, load(dq, d, scalar) + (dot(s, lw) + dot(m, lv)))
            pair, c = columns_i[j, C_PAIR], columns_i[j, C_PARENT]
            while c >= 0:
                up, down = pairs[pair, 0], pairs[pair, 1]
                cs, cm = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
                store(dq, up, load(dq, up, scalar) + (dot(cs, lw) + dot(cm, lv)))
                store(dq, down, load(dq, down, scalar) + dot(cs, u5))
                c = columns_i[c, C_PARENT]
                pair += 1
        if atoms_i[i, PARENT] >= 0:
            pass_down(world, i, atoms_i[i, PARENT], WORLD_LOAD, scalar)
