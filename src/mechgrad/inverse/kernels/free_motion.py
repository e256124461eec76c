"""How the atoms of a tree move while no coordinate accelerates: what recursive elimination begins with.

Frames are those of `kinematics.kernels.outward`, in world axes, but for linear accelerations, which are those of the
atom's own origin: nothing is taken about a distant point, and linear velocities have no part in them. For atom i at the
step d from the origin of atom p before it, with the velocity v of a coordinate about or along s (a ball: all three),

    hinge, ball    W_i = W_p + s v    DW_i = DW_p + W_p x s v    DV_i = DV_p + DW_p x d + W_p x (W_p x d)
    slide          W_i = W_p          DW_i = DW_p                DV_i = DV_p + DW_p x d + W_p x (W_p x d + 2 s v)

Linear velocities V, about the root as in `outward`, are made where markers ask for them. Of a column's twist there is
the axis alone: its first half for hinges and balls, its second for slides.
"""

from __future__ import annotations

from mechgrad.kernels.elementary import sincos
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load
from mechgrad.kernels.rotation import get4, no_rotation, turn_quaternion, turn_z
from mechgrad.kernels.vec3 import add, combine, cross, get3, plus_cross, put3, scale
from mechgrad.kinematics.kernels.outward import AT, AX, AY, AZ, DV, DW, FRAME, TWIST, V, W, apart, root_position
from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE
from mechgrad.model.tree import ABOUT, KIND, ORIGIN, PARENT, Q_AT, V_AT, X, Y, Z


@inlined
def _turned(q, v, atoms_i, i, axes, w, dw, twists, scalar):
    """Axes, W and DW beyond a hinge or a ball, what W gains, and a zero, NaN for bad numbers; twists are put."""
    x, y, z = axes
    j, k = atoms_i[i, V_AT], atoms_i[i, Q_AT]
    if atoms_i[i, KIND] == REVOLUTE:
        q0, v0 = load(q, k, scalar), load(v, j, scalar)
        check, spin = (q0 - q0) + (v0 - v0), scale(v0, z)
        put3(twists, j * TWIST, z)
        sine, cosine = sincos(q0)
        x, y = turn_z(sine, cosine, x, y)
    else:
        e, u = get4(q, k, scalar), get3(v, j, scalar)
        check = no_rotation(e) + ((u[0] - u[0]) + (u[1] - u[1]) + (u[2] - u[2]))
        spin = combine(u[0], u[1], u[2], x, y, z)
        put3(twists, j * TWIST, x)
        put3(twists, j * TWIST + TWIST, y)
        put3(twists, j * TWIST + 2 * TWIST, z)
        x, y, z = turn_quaternion(e, x, y, z)
    return (x, y, z), add(w, spin), plus_cross(dw, w, spin), spin, check


@inner
def free_motion(atoms_i, atoms_f, q, v, with_rates, frames, twists, scalar):
    """Fill frames and axes of twists from the slots q, v; linear velocities if `with_rates`. Returns 0, or NaN where a
    number of q, v is not finite or all four Euler parameters of a joint are zero."""
    n_atoms = atoms_i.shape[0]
    check = scalar * 0.0
    if atoms_f[n_atoms, ABOUT].real != 0.0:
        put3(frames, n_atoms * FRAME + AT, scale(-1.0, root_position(atoms_i, atoms_f, q, scalar)))
    for i in range(n_atoms):
        parent, kind = atoms_i[i, PARENT], atoms_i[i, KIND]
        o, p = i * FRAME, (parent if parent >= 0 else n_atoms) * FRAME
        bx, by, bz = get3(frames, p + AX, scalar), get3(frames, p + AY, scalar), get3(frames, p + AZ, scalar)
        w, dw, dv = get3(frames, p + W, scalar), get3(frames, p + DW, scalar), get3(frames, p + DV, scalar)
        axes = (
            combine(atoms_f[i, X], atoms_f[i, X + 1], atoms_f[i, X + 2], bx, by, bz),
            combine(atoms_f[i, Y], atoms_f[i, Y + 1], atoms_f[i, Y + 2], bx, by, bz),
            combine(atoms_f[i, Z], atoms_f[i, Z + 1], atoms_f[i, Z + 2], bx, by, bz),
        )
        at = get3(frames, p + AT, scalar)
        if apart(atoms_i, atoms_f, i):
            d = combine(atoms_f[i, ORIGIN], atoms_f[i, ORIGIN + 1], atoms_f[i, ORIGIN + 2], bx, by, bz)
            if kind == PRISMATIC:
                d = add(d, scale(load(q, atoms_i[i, Q_AT], scalar), axes[2]))
            at, dv = add(at, d), plus_cross(plus_cross(dv, dw, d), w, cross(w, d))
        if with_rates:
            put3(frames, o + V, get3(frames, p + V, scalar))
        if kind == PRISMATIC:
            q0, v0 = load(q, atoms_i[i, Q_AT], scalar), load(v, atoms_i[i, V_AT], scalar)
            check = check + ((q0 - q0) + (v0 - v0))
            put3(twists, atoms_i[i, V_AT] * TWIST + 3, axes[2])
            slip = scale(v0, axes[2])
            dv = plus_cross(dv, w, scale(2.0, slip))
            if with_rates:
                put3(frames, o + V, add(get3(frames, p + V, scalar), slip))
        elif kind in (REVOLUTE, BALL):
            axes, w, dw, spin, bad = _turned(q, v, atoms_i, i, axes, w, dw, twists, scalar)
            check = check + bad
            if with_rates:
                put3(frames, o + V, plus_cross(get3(frames, p + V, scalar), at, spin))
        put3(frames, o + AX, axes[0])
        put3(frames, o + AY, axes[1])
        put3(frames, o + AZ, axes[2])
        put3(frames, o + AT, at)
        put3(frames, o + W, w)
        put3(frames, o + DW, dw)
        put3(frames, o + DV, dv)
    return check
