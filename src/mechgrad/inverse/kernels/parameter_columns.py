"""Derivatives of the generalized forces by parameters: the terms of `model.columns`, turned into columns.

A frozen joint with twist T (angular part t), carried by a frame that moves with V and A, has Psid = V x T and
Psidd = A x T + V x Psid; with the composites I, B, f, L of everything it displaces,

    tau_i,p = S_i . (2 B Psid + I Psidd + T x* f + L(t))         i on the way to the ground
    tau_j,p = u4_j . Psid + u1_j . Psidd + u5_j . t              j displaced by it

An inertial number changes the wrench of one body by the wrench of (dm, dh, dS). Gravity: tau_j,g = -(u1_j)_v. A
load number changes the wrench by minus the load's own change.
"""

from __future__ import annotations

from mechgrad.inverse.kernels.inward import DUALS, U1, U1V, U4, U5, velocity_operator, world_load_turn
from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    FLOW,
    FORCE,
    INERTIA_FLOW,
    L_ATOM,
    L_IN_BODY_AXES,
    MOMENT,
    MOMENTUM,
    SECOND,
    WRENCH,
    dyad_added,
    inertia_v,
    inertia_w,
    load_in_world,
    rotated_six,
    wrench_of,
)
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.vec3 import add, clear, combine, cross, dot, get3, get6, get9, scale, zero3
from mechgrad.kinematics.kernels.outward import AT, AX, AY, AZ, DV, DW, FRAME, TWIST, V, W, twist_rates
from mechgrad.model.columns import (
    BEFORE,
    BEHIND,
    GRAVITY,
    INERTIAL,
    LOAD_COUPLE,
    LOAD_FORCE,
    T_BEYOND,
    T_END,
    T_KIND,
    T_NODE,
    T_START,
)
from mechgrad.model.tree import BEYOND, PARENT


@inlined
def world_twist(frames, carrier, terms_f, t, scalar):
    """Twist of term t in the world, from its constant numbers in the carrier's frame."""
    o = carrier * FRAME
    x, y, z = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
    s = combine(terms_f[t, 0], terms_f[t, 1], terms_f[t, 2], x, y, z)
    m = combine(terms_f[t, 3], terms_f[t, 4], terms_f[t, 5], x, y, z)
    return s, add(m, cross(get3(frames, o + AT, scalar), s))


@inlined
def inertial_change(frames, i, terms_f, t, scalar):
    """Wrench of the changes (dm, dh, dS) of the mass moments of atom i's body."""
    o = i * FRAME
    x, y, z = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
    p = get3(frames, o + AT, scalar)
    dm = terms_f[t, 0]
    dh = combine(terms_f[t, 1], terms_f[t, 2], terms_f[t, 3], x, y, z)
    local = (terms_f[t, 4], terms_f[t, 5], terms_f[t, 6], terms_f[t, 7], terms_f[t, 8], terms_f[t, 9])
    moved = add(dh, scale(dm, p))
    dS = dyad_added(dyad_added(rotated_six(local, x, y, z), dh, p), p, moved)
    force, moment, _ = wrench_of(
        dm,
        moved,
        dS,
        get3(frames, o + W, scalar),
        get3(frames, o + V, scalar),
        get3(frames, o + DW, scalar),
        get3(frames, o + DV, scalar),
    )
    return force, moment


@inlined
def load_change(kind, k_load, loads_i, loads, frames, terms_f, t, scalar):
    """Change of the wrench that the load's body needs, by the load's force, couple or point."""
    o = loads_i[k_load, L_ATOM] * FRAME
    x, y, z = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
    change = combine(terms_f[t, 0], terms_f[t, 1], terms_f[t, 2], x, y, z)
    if kind != LOAD_FORCE and kind != LOAD_COUPLE:
        force, _, _ = load_in_world(loads_i, loads, k_load, frames, scalar)
        return zero3(scalar), scale(-1.0, cross(change, force))
    if not loads_i[k_load, L_IN_BODY_AXES]:
        zero = 0.0 * scalar
        change = (zero + terms_f[t, 0], zero + terms_f[t, 1], zero + terms_f[t, 2])
    if kind == LOAD_COUPLE:
        return zero3(scalar), scale(-1.0, change)
    _, _, point = load_in_world(loads_i, loads, k_load, frames, scalar)
    return scale(-1.0, change), scale(-1.0, cross(point, change))


@inner
def parameter_terms(tree, terms, loads_i, w, has_world, dp, size, scalar):
    """Add every term to the packed columns dp (`size` slots), after the inward sweep has left its composites
    behind.

    tree: `TreeTables`; terms: `Terms`; w: `inverse.kernels.derivatives.Workspace`.
    """
    atoms_i, atoms_f, terms_i, terms_f, rows = tree.atoms_i, tree.atoms_f, terms.terms_i, terms.terms_f, terms.rows
    frames, twists, wrenches, inertia, duals = w.frames, w.twists, w.wrenches, w.inertia, w.duals
    clear(dp, 0, size, scalar)
    n_atoms = atoms_i.shape[0]
    for t in range(terms_i.shape[0]):
        kind, node = terms_i[t, T_KIND], terms_i[t, T_NODE]
        start, beyond, end = terms_i[t, T_START], terms_i[t, T_BEYOND], terms_i[t, T_END]
        if kind == GRAVITY:
            zero = 0.0 * scalar
            g = (zero + terms_f[t, 0], zero + terms_f[t, 1], zero + terms_f[t, 2])
            for r in range(start, end):
                value = load(dp, rows[r, 1], scalar) - dot(get3(duals, rows[r, 0] * DUALS + U1V, scalar), g)
                store(dp, rows[r, 1], value)
            continue
        force, moment = zero3(scalar), zero3(scalar)
        s, d_w, dd_w, dd_v = force, force, force, force
        if kind in (BEFORE, BEHIND):
            carrier = node
            if kind == BEFORE:
                parent = atoms_i[node, PARENT]
                carrier = parent if parent >= 0 else n_atoms
            s, m = world_twist(frames, carrier, terms_f, t, scalar)
            d_w, _, dd_w, dd_v = twist_rates(frames, carrier, s, m, scalar)
            k = node * INERTIA_FLOW
            F, N = get3(wrenches, node * WRENCH + FORCE, scalar), get3(wrenches, node * WRENCH + MOMENT, scalar)
            h, S = get3(inertia, k + FIRST, scalar), get6(inertia, k + SECOND, scalar)
            P, D = get3(inertia, k + MOMENTUM, scalar), get9(inertia, k + FLOW, scalar)
            mass = atoms_f[node, BEYOND]
            bw, bv = velocity_operator(D[0] + D[4] + D[8], D, P, d_w)
            moment = add(bw, inertia_w(S[0] + S[3] + S[5], S, h, dd_w, dd_v))
            moment = add(moment, add(cross(s, N), cross(m, F)))
            force = add(add(bv, inertia_v(mass, h, dd_w, dd_v)), cross(s, F))
            if has_world:
                lw, lv = world_load_turn(w.world, node, s, scalar)
                moment, force = add(moment, lw), add(force, lv)
        elif kind == INERTIAL:
            force, moment = inertial_change(frames, node, terms_f, t, scalar)
        else:
            force, moment = load_change(kind, node, loads_i, w.loads, frames, terms_f, t, scalar)
        for r in range(start, beyond):
            j = rows[r, 0] * TWIST
            value = dot(get3(twists, j, scalar), moment) + dot(get3(twists, j + 3, scalar), force)
            store(dp, rows[r, 1], load(dp, rows[r, 1], scalar) + value)
        for r in range(beyond, end):
            j = rows[r, 0] * DUALS
            value = dot(get3(duals, j + U4, scalar), d_w)
            value = value + (dot(get3(duals, j + U1, scalar), dd_w) + dot(get3(duals, j + U1V, scalar), dd_v))
            if has_world:
                value = value + dot(get3(duals, j + U5, scalar), s)
            store(dp, rows[r, 1], load(dp, rows[r, 1], scalar) + value)
