"""What a tree's numbers do to s = sum mu . r: inertia, loads, gravity and placements, O(n) per sample.

With the virtual velocities mu every body has a twist U = sum S_j mu_j, and a particle at x the velocity
xu = U_v + U_w x x. Every part of s is a function of x, xd, xdd and xu of material points (or of twists of bodies).
Displacing the rest frame of an atom along a twist S turns all of them with it, but for what the carrier c (the atom
before) gives:

    dx = S(x),   dxu = s x xu + Psiu(x),   dxd = s x xd + Psid(x),   dxdd = s x xdd + 2 Psid_w x xd + Psidd(x)
    Psiu = U_c x S,    Psid = V_c x S,    Psidd = A_c x S + V_c x Psid             (S(x) = S_v + s x x)

so that with the covectors beyond the atom P (by S), K (by Psid), G (by Psidd) and f (by Psiu), summed towards the
ground, and x* the dual cross product,

    ds/dS = P - V_c x* (K - V_c x* G) - A_c x* G - U_c x* f

A body of mass moments m, h, S has P = 0, since int xu . xdd dm turns with it, and K, G, f are

    K = 2 int xd x xu dm = 2 (m V_v x U_v + V_v x (U_w x h) + (V_w x h) x U_v + S (V_w x U_w),  0)
    G = I U,    f = the wrench it needs

Loads in world axes do not turn: P = (f x xu + c x U_w, 0). Gravity is the world's acceleration: ds/dg = -G_v of all.
"""

from __future__ import annotations

from mechgrad.inverse.kernels.virtual import dual_cross
from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    FORCE,
    INERTIA_FLOW,
    L_ATOM,
    L_IN_BODY_AXES,
    LOAD,
    LOAD_C,
    LOAD_F,
    LOAD_X,
    MOMENT,
    SECOND,
    WRENCH,
    inertia_v,
    inertia_w,
    load_in_world,
    pass_down,
)
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load, store
from mechgrad.kernels.vec3 import add, add3, clear, combine, cross, dot, get3, get6, put3, scale, sub, sym_mul
from mechgrad.kinematics.kernels.outward import AT, AX, AY, AZ, DV, DW, FRAME, TWIST, V, W, columns_of_kind
from mechgrad.model.tree import HAS_MASS, KIND, MASS, ORIGIN, PARENT, V_AT

# slots of one atom's virtual twist U; the world's stands after the last atom's
U_W, U_V = 0, 3
VIRTUAL = 6
# slots of the covectors of one atom: P, K and G, angular part first; the world's stand after the last atom's
P_W, P_V, K_W, K_V, G_W, G_V = 0, 3, 6, 9, 12, 15
COVECTORS = 18
# slots of one atom's gradient: by rotation and translation of its rest frame, in the axes of the frame before; by the
# mass moments m, h, S (xx xy xz yy yz zz) of its body in its own frame. Gravity's three stand after the last atom's.
BY_TURN, BY_SHIFT, BY_M, BY_H, BY_S = 0, 3, 6, 7, 10
ATOM_GRADIENT = 16


@inlined
def in_axes(frames, o, x, scalar):
    """Components of x in the axes of the frame at slot o."""
    return (
        dot(get3(frames, o + AX, scalar), x),
        dot(get3(frames, o + AY, scalar), x),
        dot(get3(frames, o + AZ, scalar), x),
    )


@inner
def virtual_twists(atoms_i, twists, mu, virtual, scalar):
    """U of every atom."""
    n_atoms = atoms_i.shape[0]
    clear(virtual, n_atoms * VIRTUAL, VIRTUAL, scalar)
    for i in range(n_atoms):
        parent, first = atoms_i[i, PARENT], atoms_i[i, V_AT]
        o = (parent if parent >= 0 else n_atoms) * VIRTUAL
        w, u = get3(virtual, o + U_W, scalar), get3(virtual, o + U_V, scalar)
        for j in range(first, first + columns_of_kind(atoms_i[i, KIND])):
            value = load(mu, j, scalar)
            w = add(w, scale(value, get3(twists, j * TWIST, scalar)))
            u = add(u, scale(value, get3(twists, j * TWIST + 3, scalar)))
        put3(virtual, i * VIRTUAL + U_W, w)
        put3(virtual, i * VIRTUAL + U_V, u)


@inner
def sum_wrenches(atoms_i, wrenches, scalar):
    """Wrenches of everything beyond each atom."""
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        if atoms_i[i, PARENT] >= 0:
            pass_down(wrenches, i, atoms_i[i, PARENT], WRENCH, scalar)


@inner
def place_inertia(atoms_i, atoms_f, frames, inertia, virtual, covectors, gradient, scalar):
    """Covectors of every body's inertia (put, not added), and its gradients by m, h and S (added; none if `gradient` is
    None).

    The gradient of a massless body by its mass is not zero: it is computed for all atoms.
    """
    n_atoms = atoms_i.shape[0]
    clear(covectors, n_atoms * COVECTORS, COVECTORS, scalar)
    for i in range(n_atoms):
        o, c = i * FRAME, i * COVECTORS
        w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
        uw, uv = get3(virtual, i * VIRTUAL + U_W, scalar), get3(virtual, i * VIRTUAL + U_V, scalar)
        clear(covectors, c, COVECTORS, scalar)
        if atoms_i[i, HAS_MASS]:
            k, mass = i * INERTIA_FLOW, atoms_f[i, MASS]
            h, S = get3(inertia, k + FIRST, scalar), get6(inertia, k + SECOND, scalar)
            drift = add(scale(mass, uv), cross(uw, h))
            flow = add(add(cross(vel, drift), cross(cross(w, h), uv)), sym_mul(S, cross(w, uw)))
            put3(covectors, c + K_W, scale(2.0, flow))
            put3(covectors, c + G_W, inertia_w(S[0] + S[3] + S[5], S, h, uw, uv))
            put3(covectors, c + G_V, inertia_v(mass, h, uw, uv))
        if gradient is not None:
            # int xu . xdd dm about the atom's origin: m xu . xdd + h . (..) + S : (..)
            dw, dv = get3(frames, o + DW, scalar), get3(frames, o + DV, scalar)
            at = get3(frames, o + AT, scalar)
            xu, xd = add(uv, cross(uw, at)), add(vel, cross(w, at))
            xdd = add(add(dv, cross(dw, at)), cross(w, xd))
            by_h = add(add(cross(xu, dw), cross(w, cross(w, xu))), cross(xdd, uw))
            add_moments(
                gradient, i * ATOM_GRADIENT, dot(xu, xdd), in_axes(frames, o, by_h, scalar),
                in_axes(frames, o, w, scalar), in_axes(frames, o, dw, scalar), in_axes(frames, o, uw, scalar), scalar,
            )  # fmt: skip


@inlined
def add_moments(gradient, k, by_m, by_h, w, dw, u, scalar):
    """Add the gradients by m, h and S; w, dw and the virtual u are angular, all in the axes of S.

    The part of S is (u . dw) tr(S) - u^T S dw + w^T S (w x u); products of inertia stand for two entries.
    """
    store(gradient, k + BY_M, load(gradient, k + BY_M, scalar) + by_m)
    add3(gradient, k + BY_H, by_h, scalar)
    n, trace = cross(w, u), dot(u, dw)
    diagonal = (
        trace - u[0] * dw[0] + w[0] * n[0],
        trace - u[1] * dw[1] + w[1] * n[1],
        trace - u[2] * dw[2] + w[2] * n[2],
    )
    xy = w[0] * n[1] + w[1] * n[0] - (u[0] * dw[1] + u[1] * dw[0])
    xz = w[0] * n[2] + w[2] * n[0] - (u[0] * dw[2] + u[2] * dw[0])
    yz = w[1] * n[2] + w[2] * n[1] - (u[1] * dw[2] + u[2] * dw[1])
    add3(gradient, k + BY_S, (diagonal[0], xy, xz), scalar)
    add3(gradient, k + BY_S + 3, (diagonal[1], yz, diagonal[2]), scalar)


@inner
def add_loads(loads_i, loads, frames, virtual, covectors, gradient, scalar):
    """Covectors of the loads, and the gradients by their forces, couples and points (none if `gradient` is None)."""
    for k in range(loads_i.shape[0]):
        force, couple, x = load_in_world(loads_i, loads, k, frames, scalar)
        i = loads_i[k, L_ATOM]
        o = i * FRAME
        uw = get3(virtual, i * VIRTUAL + U_W, scalar)
        xu = add(get3(virtual, i * VIRTUAL + U_V, scalar), cross(uw, x))
        if not loads_i[k, L_IN_BODY_AXES]:
            add3(covectors, i * COVECTORS + P_W, add(cross(force, xu), cross(couple, uw)), scalar)
        if gradient is not None:
            by_force, by_couple = scale(-1.0, xu), scale(-1.0, uw)
            if loads_i[k, L_IN_BODY_AXES]:
                by_force, by_couple = in_axes(frames, o, by_force, scalar), in_axes(frames, o, by_couple, scalar)
            add3(gradient, k * LOAD + LOAD_F, by_force, scalar)
            add3(gradient, k * LOAD + LOAD_C, by_couple, scalar)
            add3(gradient, k * LOAD + LOAD_X, in_axes(frames, o, cross(uw, force), scalar), scalar)


@inlined
def add_twist_covectors(frames, virtual, covectors, atom, vw, vv, aw, av, uw, uv, scalar):
    """Add covectors by the twists V, A and U of an atom's body, for parts of s that are not made of its particles."""
    o, c = atom * FRAME, atom * COVECTORS
    w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
    pw, pv = dual_cross(w, vel, vw, vv)
    tw, tv = dual_cross(get3(frames, o + DW, scalar), get3(frames, o + DV, scalar), aw, av)
    k = atom * VIRTUAL
    xw, xv = dual_cross(get3(virtual, k + U_W, scalar), get3(virtual, k + U_V, scalar), uw, uv)
    add3(covectors, c + P_W, add(add(pw, tw), xw), scalar)
    add3(covectors, c + P_V, add(add(pv, tv), xv), scalar)
    kw, kv = dual_cross(w, vel, aw, av)
    add3(covectors, c + K_W, add(vw, kw), scalar)
    add3(covectors, c + K_V, add(vv, kv), scalar)
    add3(covectors, c + G_W, aw, scalar)
    add3(covectors, c + G_V, av, scalar)


@inner
def add_placements(atoms_i, atoms_f, frames, virtual, wrenches, covectors, gradient, scalar):
    """Sum the covectors towards the ground; gradients by every placement, and by gravity."""
    n_atoms = atoms_i.shape[0]
    for i in range(n_atoms - 1, -1, -1):
        parent = atoms_i[i, PARENT] if atoms_i[i, PARENT] >= 0 else n_atoms
        o, c, u = parent * FRAME, i * COVECTORS, parent * VIRTUAL
        w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
        gw, gv = get3(covectors, c + G_W, scalar), get3(covectors, c + G_V, scalar)
        tw, tv = dual_cross(w, vel, gw, gv)
        tw, tv = dual_cross(
            w, vel, sub(get3(covectors, c + K_W, scalar), tw), sub(get3(covectors, c + K_V, scalar), tv)
        )  # fmt: skip
        moment, force = sub(get3(covectors, c + P_W, scalar), tw), sub(get3(covectors, c + P_V, scalar), tv)
        tw, tv = dual_cross(get3(frames, o + DW, scalar), get3(frames, o + DV, scalar), gw, gv)
        moment, force = sub(moment, tw), sub(force, tv)
        tw, tv = dual_cross(
            get3(virtual, u + U_W, scalar), get3(virtual, u + U_V, scalar),
            get3(wrenches, i * WRENCH + MOMENT, scalar), get3(wrenches, i * WRENCH + FORCE, scalar),
        )  # fmt: skip
        moment, force = sub(moment, tw), sub(force, tv)
        rest = combine(
            atoms_f[i, ORIGIN], atoms_f[i, ORIGIN + 1], atoms_f[i, ORIGIN + 2],
            get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar),
        )  # fmt: skip
        rest = add(get3(frames, o + AT, scalar), rest)
        k = i * ATOM_GRADIENT
        add3(gradient, k + BY_TURN, in_axes(frames, o, add(moment, cross(force, rest)), scalar), scalar)
        add3(gradient, k + BY_SHIFT, in_axes(frames, o, force, scalar), scalar)
        pass_down(covectors, i, parent, COVECTORS, scalar)
    weight = get3(covectors, n_atoms * COVECTORS + G_V, scalar)
    add3(gradient, n_atoms * ATOM_GRADIENT, scale(-1.0, weight), scalar)
