"""From the ground to the tips: frames, spatial velocities and accelerations of all atoms, twists of all columns.

World axes throughout; spatial vectors are taken about one point at rest, angular part first. That point is where the
root of the mechanism is now (`root_position`): positions in frames count from it, so that digits do not depend on where
a mechanism stands, and no formula knows, since none depends on the point. The frame of the world stands at minus that
point. (With atoms_f[n_atoms, ABOUT] = 0 it is the world's origin.) For atom i beyond atom p with columns j (twist
S_j = (s, x_J x s) of a rotation about s through x_J, or (0, s) of a translation along s):

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

from mechgrad.kernels.elementary import sincos
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import gather, load
from mechgrad.kernels.rotation import get4, no_rotation, turn_quaternion, turn_z
from mechgrad.kernels.vec3 import add, combine, cross, get3, put3, scale, zero3
from mechgrad.model.joints.base import BALL, FIXED, PRISMATIC, REVOLUTE
from mechgrad.model.tree import (
    ABOUT,
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

# slots of one atom's frame: axes, origin from the root's position, spatial velocity and acceleration; the world's frame
# stands after the last atom's
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
def apart(atoms_i, atoms_f, i):
    """Whether an atom's origin is another one than that before it."""
    return (
        atoms_i[i, KIND] == PRISMATIC
        or atoms_f[i, ORIGIN] != 0.0
        or atoms_f[i, ORIGIN + 1] != 0.0
        or atoms_f[i, ORIGIN + 2] != 0.0
    )


@inlined
def place_world(frames, n_atoms, gx, gy, gz, scalar):
    """The world's frame at rest, accelerating against gravity (gx, gy, gz): weight enters as inertia. Where it stands
    is up to `outward`."""
    o = n_atoms * FRAME
    one, zero = scalar * 0.0 + 1.0, scalar * 0.0
    put3(frames, o + AX, (one, zero, zero))
    put3(frames, o + AY, (zero, one, zero))
    put3(frames, o + AZ, (zero, zero, one))
    for part in (AT, W, V, DW):
        put3(frames, o + part, (zero, zero, zero))
    put3(frames, o + DV, (zero - gx, zero - gy, zero - gz))


@inner
def root_position(atoms_i, atoms_f, q, scalar):
    """Where the first joint that turns stands in the world, behind the slides and fixed frames that carry it."""
    zero, one = scalar * 0.0, scalar * 0.0 + 1.0
    x, y, z, at = (one, zero, zero), (zero, one, zero), (zero, zero, one), (zero, zero, zero)
    i, n_atoms = 0, atoms_i.shape[0]
    while i < n_atoms and atoms_i[i, PARENT] == i - 1:
        at = add(at, combine(atoms_f[i, ORIGIN], atoms_f[i, ORIGIN + 1], atoms_f[i, ORIGIN + 2], x, y, z))
        kind = atoms_i[i, KIND]
        if kind not in (PRISMATIC, FIXED):
            break
        x, y, z = (
            combine(atoms_f[i, X], atoms_f[i, X + 1], atoms_f[i, X + 2], x, y, z),
            combine(atoms_f[i, Y], atoms_f[i, Y + 1], atoms_f[i, Y + 2], x, y, z),
            combine(atoms_f[i, Z], atoms_f[i, Z + 1], atoms_f[i, Z + 2], x, y, z),
        )
        if kind == PRISMATIC:
            at = add(at, scale(load(q, atoms_i[i, Q_AT], scalar), z))
        i += 1
    return at


@inlined
def _hinge(q0, v0, a0, axes, at, V, A, j, twists):
    """Axes, V and A beyond a revolute atom of column j; its twist (z, x_J x z) is put."""
    (x, y, z), (w, vel), (dw, dv) = axes, V, A
    sine, cosine = sincos(q0)
    x, y = turn_z(sine, cosine, x, y)
    moment = cross(at, z)
    put3(twists, j * TWIST, z)
    put3(twists, j * TWIST + 3, moment)
    rate_w, rate_v = cross(w, z), add(cross(w, moment), cross(vel, z))
    V = add(w, scale(v0, z)), add(vel, scale(v0, moment))
    A = (
        add(add(dw, scale(a0, z)), scale(v0, rate_w)),
        add(add(dv, scale(a0, moment)), scale(v0, rate_v)),
    )
    return (x, y, z), V, A


@inlined
def _slide(q0, v0, a0, z, at, V, A, j, twists, scalar):
    """Origin, V and A beyond a prismatic atom of column j; its twist (0, z) is put."""
    (w, vel), (dw, dv) = V, A
    put3(twists, j * TWIST, zero3(scalar))
    put3(twists, j * TWIST + 3, z)
    dv = add(add(dv, scale(a0, z)), scale(v0, cross(w, z)))
    return add(at, scale(q0, z)), (w, add(vel, scale(v0, z))), (dw, dv)


@inlined
def _ball(e, v, a, axes, at, V, A, j, twists):
    """Axes, V and A beyond a ball atom of columns j .. j + 2; their twists, about the axes before it, are put."""
    (x, y, z), (w, vel), (dw, dv) = axes, V, A
    spin, change = combine(v[0], v[1], v[2], x, y, z), combine(a[0], a[1], a[2], x, y, z)
    put3(twists, j * TWIST, x)
    put3(twists, j * TWIST + 3, cross(at, x))
    put3(twists, j * TWIST + 6, y)
    put3(twists, j * TWIST + 9, cross(at, y))
    put3(twists, j * TWIST + 12, z)
    put3(twists, j * TWIST + 15, cross(at, z))
    moment = cross(at, spin)
    rate_w, rate_v = cross(w, spin), add(cross(w, moment), cross(vel, spin))
    A = add(add(dw, change), rate_w), add(add(dv, cross(at, change)), rate_v)
    return turn_quaternion(e, x, y, z), (add(w, spin), add(vel, moment)), A


@inner
def outward(atoms_i, atoms_f, q, v, a, frames, twists, scalar):
    """Fill frames and twists from the slots q, v, a. Returns 0, or NaN where a number of q, v, a is not finite or
    all four Euler parameters of a joint are zero."""
    n_atoms = atoms_i.shape[0]
    check = scalar * 0.0
    if atoms_f[n_atoms, ABOUT].real != 0.0:
        put3(frames, n_atoms * FRAME + AT, scale(-1.0, root_position(atoms_i, atoms_f, q, scalar)))
    for i in range(n_atoms):
        parent = atoms_i[i, PARENT]
        o = (parent if parent >= 0 else n_atoms) * FRAME
        bx, by, bz = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
        V_i = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
        A_i = get3(frames, o + DW, scalar), get3(frames, o + DV, scalar)
        axes = (
            combine(atoms_f[i, X], atoms_f[i, X + 1], atoms_f[i, X + 2], bx, by, bz),
            combine(atoms_f[i, Y], atoms_f[i, Y + 1], atoms_f[i, Y + 2], bx, by, bz),
            combine(atoms_f[i, Z], atoms_f[i, Z + 1], atoms_f[i, Z + 2], bx, by, bz),
        )
        at = combine(atoms_f[i, ORIGIN], atoms_f[i, ORIGIN + 1], atoms_f[i, ORIGIN + 2], bx, by, bz)
        at = add(get3(frames, o + AT, scalar), at)
        kind, j, k = atoms_i[i, KIND], atoms_i[i, V_AT], atoms_i[i, Q_AT]
        if kind in (REVOLUTE, PRISMATIC):
            q0, v0, a0 = load(q, k, scalar), load(v, j, scalar), load(a, j, scalar)
            check = check + ((q0 - q0) + (v0 - v0) + (a0 - a0))
            if kind == REVOLUTE:
                axes, V_i, A_i = _hinge(q0, v0, a0, axes, at, V_i, A_i, j, twists)
            else:
                at, V_i, A_i = _slide(q0, v0, a0, axes[2], at, V_i, A_i, j, twists, scalar)
        elif kind == BALL:
            e = get4(q, k, scalar)
            v3, a3 = get3(v, j, scalar), get3(a, j, scalar)
            check = check + (no_rotation(e) + ((v3[0] - v3[0]) + (v3[1] - v3[1]) + (v3[2] - v3[2])))
            check = check + ((a3[0] - a3[0]) + (a3[1] - a3[1]) + (a3[2] - a3[2]))
            axes, V_i, A_i = _ball(e, v3, a3, axes, at, V_i, A_i, j, twists)
        o = i * FRAME
        put3(frames, o + AX, axes[0])
        put3(frames, o + AY, axes[1])
        put3(frames, o + AZ, axes[2])
        put3(frames, o + AT, at)
        put3(frames, o + W, V_i[0])
        put3(frames, o + V, V_i[1])
        put3(frames, o + DW, A_i[0])
        put3(frames, o + DV, A_i[1])
    return check


@inner
def outward_again(atoms_i, v, a, frames, twists, scalar):
    """Velocities and accelerations of the atoms that `outward` has placed, for other v and a: nothing turns again."""
    n_atoms = atoms_i.shape[0]
    for i in range(n_atoms):
        parent, first = atoms_i[i, PARENT], atoms_i[i, V_AT]
        o = (parent if parent >= 0 else n_atoms) * FRAME
        w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
        dw, dv = get3(frames, o + DW, scalar), get3(frames, o + DV, scalar)
        spin, slide, rate_w, rate_v = zero3(scalar), zero3(scalar), zero3(scalar), zero3(scalar)
        for j in range(first, first + columns_of_kind(atoms_i[i, KIND])):
            s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
            v_j, a_j = load(v, j, scalar), load(a, j, scalar)
            spin, slide = add(spin, scale(v_j, s)), add(slide, scale(v_j, m))
            rate_w, rate_v = add(rate_w, scale(a_j, s)), add(rate_v, scale(a_j, m))
        rate_w = add(rate_w, cross(w, spin))
        rate_v = add(rate_v, add(cross(w, slide), cross(vel, spin)))
        o = i * FRAME
        put3(frames, o + W, add(w, spin))
        put3(frames, o + V, add(vel, slide))
        put3(frames, o + DW, add(dw, rate_w))
        put3(frames, o + DV, add(dv, rate_v))


@inner
def outward_rows(atoms_i, atoms_f, samples, row, motion, frames, twists, scalar):
    """`outward` for rows row .. row+L-1 of the samples of a `Motion`; `motion`: slots for one block of them."""
    gather(samples.q, row, motion.q, 0, scalar)
    gather(samples.v, row, motion.v, 0, scalar)
    gather(samples.a, row, motion.a, 0, scalar)
    return outward(atoms_i, atoms_f, motion.q, motion.v, motion.a, frames, twists, scalar)


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
