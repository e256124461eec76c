"""The virtual motion of multipliers: y as velocities, and the sums over bodies that second derivatives need.

With Y_b = sum_c S_c y_c, the twist y gives body b, L = y . tau = sum_b Y_b . f_b is the virtual power of the wrenches.
To Y belongs eta_c = Y_J x S_c as Psid_c = V_J x S_c belongs to V; Z_c = V_p x S_c + V_J x S_c. Over everything beyond
a column

    F = sum f_b      G = sum I_b Y_b      K = sum 2 B_b^T Y_b
    E = sum int (Y_b x) x^T dm            Q = sum int Y_b x dm            (Y x: the virtual velocity of a particle at x)

    C(x) = 2 (E x - tr(E) x,  Q x x):     W . C(x) = sum Y . 2 B[W] x     for every change W of velocities
"""

from __future__ import annotations

from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    FLOW,
    INERTIA_FLOW,
    L_ATOM,
    L_IN_BODY_AXES,
    MOMENTUM,
    SECOND,
    inertia_v,
    inertia_w,
    load_in_world,
    put_flow,
)
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load
from mechgrad.kernels.vec3 import add, add3, clear, cross, get3, get6, get9, mat_mul, mat_tmul, put3, scale, sub
from mechgrad.kinematics.kernels.outward import FRAME, TWIST, V, W, columns_of_kind, twist_rates
from mechgrad.model.tree import HAS_MASS, KIND, MASS, PARENT, V_AT

# slots of one column: Psid (w, v), Psidd (w, v), Z (w, v), eta (w, v)
D_W, D_V, DD_W, DD_V, Z_W, Z_V, E_W, E_V = 0, 3, 6, 9, 12, 15, 18, 21
SCREWS = 24
# slots of one atom: Y (w, v); then summed towards the ground: G (moment, force), K, E, Q
Y_W, Y_V = 0, 3
VIRTUAL = 6
G_N, G_F, K_, E_, Q_ = 0, 3, 6, 9, 18
VIRTUAL_SUMS = 21
# slots of the world-axis loads of an atom against Y: R, Lam
R_, LAM = 0, 9
VIRTUAL_LOAD = 12


@inlined
def dual_cross(s, m, N, F):
    """(s, m) x* (N, F)"""
    return add(cross(s, N), cross(m, F)), cross(s, F)


@inlined
def motion_cross(s, m, w, u):
    """(s, m) x (w, u)"""
    return cross(s, w), add(cross(s, u), cross(m, w))


@inlined
def velocity_dual(D, P, w, u):
    """2 B^T (w, u), angular; its linear part vanishes"""
    return scale(2.0, add(sub(scale(D[0] + D[4] + D[8], w), mat_tmul(D, w)), cross(P, u)))


@inlined
def virtual_dual(E, Q, x):
    """C(x): W . C(x) = Y . 2 B[W] x, summed over bodies"""
    return scale(2.0, sub(mat_mul(E, x), scale(E[0] + E[4] + E[8], x))), scale(2.0, cross(Q, x))


@inlined
def virtual_operator(E, Q, w, u):
    """C^T(W), angular: x . C^T(W) = W . C(x)"""
    return scale(2.0, add(sub(mat_tmul(E, w), scale(E[0] + E[4] + E[8], w)), cross(u, Q)))


@inner
def virtual_motion(atoms_i, columns_i, frames, twists, y, virtual, screws, scalar):
    """Y of every atom; Psid, Psidd, Z and eta of every column."""
    n_atoms = atoms_i.shape[0]
    clear(virtual, n_atoms * VIRTUAL, VIRTUAL, scalar)
    for i in range(n_atoms):
        parent = atoms_i[i, PARENT]
        p = parent if parent >= 0 else n_atoms
        yw, yv = get3(virtual, p * VIRTUAL + Y_W, scalar), get3(virtual, p * VIRTUAL + Y_V, scalar)
        columns = columns_of_kind(atoms_i[i, KIND])
        first = atoms_i[i, V_AT]
        for c in range(first, first + columns):
            value = load(y, c, scalar)
            yw = add(yw, scale(value, get3(twists, c * TWIST, scalar)))
            yv = add(yv, scale(value, get3(twists, c * TWIST + 3, scalar)))
        put3(virtual, i * VIRTUAL + Y_W, yw)
        put3(virtual, i * VIRTUAL + Y_V, yv)
        pw, pv = get3(frames, p * FRAME + W, scalar), get3(frames, p * FRAME + V, scalar)
        for c in range(first, first + columns):
            s, m = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
            d_w, d_v, dd_w, dd_v = twist_rates(frames, i, s, m, scalar)
            r_w, r_v = motion_cross(pw, pv, s, m)
            e_w, e_v = motion_cross(yw, yv, s, m)
            k = c * SCREWS
            put3(screws, k + D_W, d_w)
            put3(screws, k + D_V, d_v)
            put3(screws, k + DD_W, dd_w)
            put3(screws, k + DD_V, dd_v)
            put3(screws, k + Z_W, add(d_w, r_w))
            put3(screws, k + Z_V, add(d_v, r_v))
            put3(screws, k + E_W, e_w)
            put3(screws, k + E_V, e_v)


@inner
def virtual_sums(atoms_i, atoms_f, inertia, virtual, sums, scalar):
    """G, K, E, Q of every atom's body (before they are summed towards the ground)."""
    for i in range(atoms_i.shape[0]):
        k = i * VIRTUAL_SUMS
        if not atoms_i[i, HAS_MASS]:
            clear(sums, k, VIRTUAL_SUMS, scalar)
            continue
        j = i * INERTIA_FLOW
        h, S = get3(inertia, j + FIRST, scalar), get6(inertia, j + SECOND, scalar)
        P, D = get3(inertia, j + MOMENTUM, scalar), get9(inertia, j + FLOW, scalar)
        w, u = get3(virtual, i * VIRTUAL + Y_W, scalar), get3(virtual, i * VIRTUAL + Y_V, scalar)
        mass = atoms_f[i, MASS]
        put3(sums, k + G_N, inertia_w(S[0] + S[3] + S[5], S, h, w, u))
        momentum = inertia_v(mass, h, w, u)
        put3(sums, k + G_F, momentum)
        put3(sums, k + K_, velocity_dual(D, P, w, u))
        put_flow(sums, k + E_, w, u, h, S)
        put3(sums, k + Q_, momentum)


@inner
def virtual_loads(loads_i, loads, frames, virtual, out, n_atoms, scalar):
    """R and Lam of the world-axis loads of every atom."""
    clear(out, 0, n_atoms * VIRTUAL_LOAD, scalar)
    for k_load in range(loads_i.shape[0]):
        if not loads_i[k_load, L_IN_BODY_AXES]:
            i = loads_i[k_load, L_ATOM]
            f, c, x = load_in_world(loads_i, loads, k_load, frames, scalar)
            w, u = get3(virtual, i * VIRTUAL + Y_W, scalar), get3(virtual, i * VIRTUAL + Y_V, scalar)
            y_x = add(u, cross(w, x))
            k = i * VIRTUAL_LOAD
            add3(out, k + R_, add(scale(f[0], y_x), scale(c[0], w)), scalar)
            add3(out, k + R_ + 3, add(scale(f[1], y_x), scale(c[1], w)), scalar)
            add3(out, k + R_ + 6, add(scale(f[2], y_x), scale(c[2], w)), scalar)
            add3(out, k + LAM, add(cross(f, y_x), cross(c, w)), scalar)
