"""From the ground to the tips: frames, spatial velocities and accelerations of all atoms, twists of all columns.

World axes throughout; spatial vectors are taken about the world's origin, angular part first. For atom i beyond
atom p with columns j (twist S_j = (s, x_J x s) of a rotation about s through x_J, or (0, s) of a translation along
s):

    V_i = V_p + sum_j S_j v_j                                  [rad/s, m/s]
    A_i = A_p + sum_j (S_j a_j + (V_p x S_j) v_j)              [rad/s^2, m/s^2]

The axes s are fixed in atom p's frame, for ball atoms too: their velocity is the relative angular velocity in those
axes. Spatial accelerations add up like velocities; a point's acceleration is A_v + A_w x x + w x (V_v + w x x).

How a body b beyond column c changes with q_c (a displacement along S_c; J the body behind c's atom, S_c fixed in p):

    dV_b/dq_c = S_c x V_b + Psid_c                   Psid_c  = V_J x S_c
    dA_b/dq_c = S_c x A_b + Psid_c x V_b + Psidd_c   Psidd_c = A_J x S_c + V_J x Psid_c
    dA_b/dv_c = S_c x V_b + Y_c                      Y_c     = V_p x S_c + V_J x S_c
    dV_b/dv_c = dA_b/da_c = S_c
"""

from __future__ import annotations

from mechgrad.kernels.elementary import reciprocal, sincos
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import gather, load
from mechgrad.kernels.rotation import turn_quaternion, turn_z
from mechgrad.kernels.vec3 import add, combine, cross, get3, put3, scale, zero3
from mechgrad.model.joints.base import BALL, FIXED, PRISMATIC, REVOLUTE
from mechgrad.model.tree import (
    C_ATOM,
    KIND,
    ORIGIN,
    PARENT,
    Q_AT,
    V_AT,
    X,
    Y,
    Z,
)

# slots of one atom's frame: axes, origin, spatial velocity and acceleration; the world's frame stands after the
# last atom's
AX, AY, AZ, AT, W, V, DW, DV = 0, 3, 6, 9, 12, 15, 18, 21
FRAME = 24
# slots of one column's twist
TWIST = 6
# slots of one column's rates: Y (w, v), Psidd (w, v), Psid (w); the linear part of Psid is never needed
RATE_Y, RATE_YV, RATE_DD, RATE_DDV, RATE_D = 0, 3, 6, 9, 12
RATES = 15


@inlined
def columns_of_kind(kind):
    """How many columns an atom has."""
    return 3 if kind == BALL else (0 if kind == FIXED else 1)


@inlined
def place_world(frames, n_atoms, gx, gy, gz, scalar):
    """The world's frame at rest, accelerating against gravity (gx, gy, gz): weight enters as inertia."""
    o = n_atoms * FRAME
    one, zero = scalar * 0.0 + 1.0, scalar * 0.0
    put3(frames, o + AX, (one, zero, zero))
    put3(frames, o + AY, (zero, one, zero))
    put3(frames, o + AZ, (zero, zero, one))
    for part in (AT, W, V, DW):
        put3(frames, o + part, (zero, zero, zero))
    put3(frames, o + DV, (zero - gx, zero - gy, zero - gz))


@inner
def outward(atoms_i, atoms_f, q, v, a, frames, twists, scalar):
    """Fill frames and twists from the slots q, v, a. Returns 0, or NaN where a number of q, v, a is not finite or
    all four Euler parameters of a joint are zero."""
    n_atoms = atoms_i.shape[0]
    check = scalar * 0.0
    for i in range(n_atoms):
        parent = atoms_i[i, PARENT]
        o = (parent if parent >= 0 else n_atoms) * FRAME
        bx, by, bz = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
        w, vel, dw, dv = (
            get3(frames, o + W, scalar),
            get3(frames, o + V, scalar),
            get3(frames, o + DW, scalar),
            get3(frames, o + DV, scalar),
        )
        ax = combine(atoms_f[i, X], atoms_f[i, X + 1], atoms_f[i, X + 2], bx, by, bz)
        ay = combine(atoms_f[i, Y], atoms_f[i, Y + 1], atoms_f[i, Y + 2], bx, by, bz)
        az = combine(atoms_f[i, Z], atoms_f[i, Z + 1], atoms_f[i, Z + 2], bx, by, bz)
        at = combine(atoms_f[i, ORIGIN], atoms_f[i, ORIGIN + 1], atoms_f[i, ORIGIN + 2], bx, by, bz)
        at = add(get3(frames, o + AT, scalar), at)
        kind, j, k = atoms_i[i, KIND], atoms_i[i, V_AT], atoms_i[i, Q_AT]
        if kind == REVOLUTE:
            q0, v0, a0 = load(q, k, scalar), load(v, j, scalar), load(a, j, scalar)
            check = check + ((q0 - q0) + (v0 - v0) + (a0 - a0))
            sine, cosine = sincos(q0)
            ax, ay = turn_z(sine, cosine, ax, ay)
            moment = cross(at, az)
            put3(twists, j * TWIST, az)
            put3(twists, j * TWIST + 3, moment)
            rate_w = cross(w, az)
            rate_v = add(cross(w, moment), cross(vel, az))
            w, vel = add(w, scale(v0, az)), add(vel, scale(v0, moment))
            dw = add(add(dw, scale(a0, az)), scale(v0, rate_w))
            dv = add(add(dv, scale(a0, moment)), scale(v0, rate_v))
        elif kind == PRISMATIC:
            q0, v0, a0 = load(q, k, scalar), load(v, j, scalar), load(a, j, scalar)
            check = check + ((q0 - q0) + (v0 - v0) + (a0 - a0))
            at = add(at, scale(q0, az))
            put3(twists, j * TWIST, zero3(scalar))
            put3(twists, j * TWIST + 3, az)
            rate_v = cross(w, az)
            vel = add(vel, scale(v0, az))
            dv = add(add(dv, scale(a0, az)), scale(v0, rate_v))
        elif kind == BALL:
            e0, e1, e2, e3 = load(q, k, scalar), load(q, k + 1, scalar), load(q, k + 2, scalar), load(q, k + 3, scalar)
            v0, v1, v2 = get3(v, j, scalar)
            a0, a1, a2 = get3(a, j, scalar)
            square = e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3
            length = reciprocal(square)  # infinite if all are zero: also a bad number
            check = check + ((square - square) + (length - length))
            check = check + ((v0 - v0) + (v1 - v1) + (v2 - v2) + (a0 - a0) + (a1 - a1) + (a2 - a2))
            spin, change = combine(v0, v1, v2, ax, ay, az), combine(a0, a1, a2, ax, ay, az)
            put3(twists, j * TWIST, ax)
            put3(twists, j * TWIST + 3, cross(at, ax))
            put3(twists, j * TWIST + 6, ay)
            put3(twists, j * TWIST + 9, cross(at, ay))
            put3(twists, j * TWIST + 12, az)
            put3(twists, j * TWIST + 15, cross(at, az))
            moment = cross(at, spin)
            rate_w = cross(w, spin)
            rate_v = add(cross(w, moment), cross(vel, spin))
            w, vel = add(w, spin), add(vel, moment)
            dw = add(add(dw, change), rate_w)
            dv = add(add(dv, cross(at, change)), rate_v)
            ax, ay, az = turn_quaternion(e0, e1, e2, e3, ax, ay, az)
        o = i * FRAME
        put3(frames, o + AX, ax)
        put3(frames, o + AY, ay)
        put3(frames, o + AZ, az)
        put3(frames, o + AT, at)
        put3(frames, o + W, w)
        put3(frames, o + V, vel)
        put3(frames, o + DW, dw)
        put3(frames, o + DV, dv)
    return check


@inner
def outward_rows(atoms_i, atoms_f, q, v, a, row, q_, v_, a_, frames, twists, scalar):
    """`outward` for rows row .. row+L-1 of the arrays q, v, a; q_, v_, a_ are their slots."""
    gather(q, row, q_, 0, scalar)
    gather(v, row, v_, 0, scalar)
    gather(a, row, a_, 0, scalar)
    return outward(atoms_i, atoms_f, q_, v_, a_, frames, twists, scalar)


@inlined
def twist_rates(frames, atom, s, m, scalar):
    """Psid = V x S and Psidd = A x S + V x Psid of a twist S = (s, m) carried by this atom (n_atoms: the world)."""
    o = atom * FRAME
    w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
    dw, dv = get3(frames, o + DW, scalar), get3(frames, o + DV, scalar)
    d_w = cross(w, s)
    d_v = add(cross(w, m), cross(vel, s))
    dd_w = add(cross(dw, s), cross(w, d_w))
    dd_v = add(add(cross(dw, m), cross(dv, s)), add(cross(w, d_v), cross(vel, d_w)))
    return d_w, d_v, dd_w, dd_v


@inner
def column_rates(atoms_i, columns_i, frames, twists, rates, scalar):
    """Y, Psid and Psidd of every column."""
    n_atoms = atoms_i.shape[0]
    for j in range(columns_i.shape[0]):
        atom = columns_i[j, C_ATOM]
        s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
        d_w, d_v, dd_w, dd_v = twist_rates(frames, atom, s, m, scalar)
        parent = atoms_i[atom, PARENT]
        o = (parent if parent >= 0 else n_atoms) * FRAME
        w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
        r = j * RATES
        put3(rates, r + RATE_Y, add(d_w, cross(w, s)))
        put3(rates, r + RATE_YV, add(d_v, add(cross(w, m), cross(vel, s))))
        put3(rates, r + RATE_DD, dd_w)
        put3(rates, r + RATE_DDV, dd_v)
        put3(rates, r + RATE_D, d_w)
