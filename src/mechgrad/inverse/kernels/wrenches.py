"""What each body needs to move as it does: inertia force minus external loads, in world axes, about the point from
which positions in frames count (`kinematics.kernels.outward`: where the mechanism's root is).

A body enters by three moments of its mass, which add up over bodies without any shift because all are taken about one
fixed point in one set of axes (x runs over the body):

    m = int dm,   h = int x dm,   S = int x x^T dm
    I (w, u) = (tr(S) w - S w + h x u,  m u + w x h)               spatial inertia times a motion vector

    force  F = m A_v + A_w x h + w x P,           P = m V_v + w x h          [N]
    moment N = (I A)_w + w x (I V)_w + V_v x P                              [N m]

Derivatives also need D = int xdot x^T dm, which gives the operator B of the velocity terms (see `inward`).

External loads are what the environment does to the body; they are subtracted. A load holds a force f, a couple c,
both in world or in body axes, and the point x_f (in the atom's frame) where the force acts:

    F -= f,      N -= x_f x f + c
"""

from __future__ import annotations

from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import load, put_sample, width
from mechgrad.kernels.vec3 import (
    add,
    add3,
    clear,
    combine,
    cross,
    get3,
    put3,
    scale,
    sub,
    sym_mul,
)
from mechgrad.kinematics.kernels.outward import AT, AX, AY, AZ, DV, DW, FRAME, V, W
from mechgrad.model.tree import COM, HAS_MASS, MASS, MOMENTS

# slots of a wrench: couple (moment about that point) first, then force, as everywhere
MOMENT, FORCE = 0, 3
WRENCH = 6
# slots of the mass moments of an atom: h, S; derivatives add P and D
FIRST, SECOND = 0, 3
INERTIA = 9
MOMENTUM, FLOW = 9, 12
INERTIA_FLOW = 21
# slots of the world-axis loads on an atom: couple, force, sum f x^T
L_COUPLE, L_FORCE, L_DYAD = 0, 3, 6
WORLD_LOAD = 15
# columns of the load tables
L_ATOM, L_IN_BODY_AXES = range(2)
LOAD_C, LOAD_F, LOAD_X = 0, 3, 6
LOAD = 9


@inlined
def inertia_w(trace, S, h, w, u):
    """Angular part of I (w, u)."""
    return add(sub(scale(trace, w), sym_mul(S, w)), cross(h, u))


@inlined
def inertia_v(m, h, w, u):
    """Linear part of I (w, u)."""
    return add(scale(m, u), cross(w, h))


@inlined
def rotated_six(S, x, y, z):
    """R S R^T for symmetric S given in the axes x, y, z."""
    t0, t1, t2 = (
        combine(S[0], S[1], S[2], x, y, z),
        combine(S[1], S[3], S[4], x, y, z),
        combine(S[2], S[4], S[5], x, y, z),
    )
    return (
        t0[0] * x[0] + t1[0] * y[0] + t2[0] * z[0],
        t0[0] * x[1] + t1[0] * y[1] + t2[0] * z[1],
        t0[0] * x[2] + t1[0] * y[2] + t2[0] * z[2],
        t0[1] * x[1] + t1[1] * y[1] + t2[1] * z[1],
        t0[1] * x[2] + t1[1] * y[2] + t2[1] * z[2],
        t0[2] * x[2] + t1[2] * y[2] + t2[2] * z[2],
    )


@inlined
def dyad_added(S, a, b):
    """Upper triangle of S + a b^T (a b^T symmetric, or its counterpart added by a second call)."""
    return (
        S[0] + a[0] * b[0],
        S[1] + a[0] * b[1],
        S[2] + a[0] * b[2],
        S[3] + a[1] * b[1],
        S[4] + a[1] * b[2],
        S[5] + a[2] * b[2],
    )


@inlined
def centroidal_moments(atoms_f, i, frames, scalar):
    """Second moments of atom i's body about its centre of mass, in world axes."""
    o, k = i * FRAME, MOMENTS
    local = (
        atoms_f[i, k],
        atoms_f[i, k + 1],
        atoms_f[i, k + 2],
        atoms_f[i, k + 3],
        atoms_f[i, k + 4],
        atoms_f[i, k + 5],
    )
    return rotated_six(local, get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar))


@inlined
def centre_of_mass(atoms_f, i, frames, scalar):
    """From atom i's origin to the centre of mass of its body, in world axes."""
    o = i * FRAME
    x, y, z = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
    return combine(atoms_f[i, COM], atoms_f[i, COM + 1], atoms_f[i, COM + 2], x, y, z)


@inlined
def mass_moments(atoms_f, i, frames, scalar):
    """h and S of atom i's body in the world."""
    com = add(get3(frames, i * FRAME + AT, scalar), centre_of_mass(atoms_f, i, frames, scalar))
    h = scale(atoms_f[i, MASS], com)
    return h, dyad_added(centroidal_moments(atoms_f, i, frames, scalar), h, com)


@inlined
def wrench_of(m, h, S, w, vel, dw, dv):
    """Force, moment and linear momentum of mass moments m, h, S moving with V = (w, vel), A = (dw, dv)."""
    trace = S[0] + S[3] + S[5]
    momentum = inertia_v(m, h, w, vel)
    force = add(inertia_v(m, h, dw, dv), cross(w, momentum))
    moment = add(
        inertia_w(trace, S, h, dw, dv),
        add(cross(w, inertia_w(trace, S, h, w, vel)), cross(vel, momentum)),
    )
    return force, moment, momentum


@inlined
def put_flow(inertia, slot, w, u, h, S):
    """int (velocity) x^T dm of a body that moves with (w, u): w x S + u h^T, row by row. The columns of S turn, u
    carries h."""
    c0 = add(cross(w, (S[0], S[1], S[2])), scale(h[0], u))
    c1 = add(cross(w, (S[1], S[3], S[4])), scale(h[1], u))
    c2 = add(cross(w, (S[2], S[4], S[5])), scale(h[2], u))
    put3(inertia, slot, (c0[0], c1[0], c2[0]))
    put3(inertia, slot + 3, (c0[1], c1[1], c2[1]))
    put3(inertia, slot + 6, (c0[2], c1[2], c2[2]))


@inner
def body_wrenches(atoms_i, atoms_f, frames, wrenches, scalar):
    """Inertia force and moment of every atom's body, weight included."""
    for i in range(atoms_i.shape[0]):
        if atoms_i[i, HAS_MASS]:
            h, S = mass_moments(atoms_f, i, frames, scalar)
            o = i * FRAME
            force, moment, _ = wrench_of(
                atoms_f[i, MASS],
                h,
                S,
                get3(frames, o + W, scalar),
                get3(frames, o + V, scalar),
                get3(frames, o + DW, scalar),
                get3(frames, o + DV, scalar),
            )
            put3(wrenches, i * WRENCH + FORCE, force)
            put3(wrenches, i * WRENCH + MOMENT, moment)
        else:
            clear(wrenches, i * WRENCH, WRENCH, scalar)


@inner
def body_wrenches_and_moments(atoms_i, atoms_f, frames, wrenches, inertia, scalar):
    """Wrenches, and the moments h, S, P, D of every atom's body that their derivatives need."""
    for i in range(atoms_i.shape[0]):
        k = i * INERTIA_FLOW
        if atoms_i[i, HAS_MASS]:
            h, S = mass_moments(atoms_f, i, frames, scalar)
            o = i * FRAME
            w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
            dw, dv = get3(frames, o + DW, scalar), get3(frames, o + DV, scalar)
            force, moment, momentum = wrench_of(atoms_f[i, MASS], h, S, w, vel, dw, dv)
            put3(wrenches, i * WRENCH + FORCE, force)
            put3(wrenches, i * WRENCH + MOMENT, moment)
            put3(inertia, k + FIRST, h)
            put3(inertia, k + SECOND, (S[0], S[1], S[2]))
            put3(inertia, k + SECOND + 3, (S[3], S[4], S[5]))
            put3(inertia, k + MOMENTUM, momentum)
            put_flow(inertia, k + FLOW, w, vel, h, S)
        else:
            clear(wrenches, i * WRENCH, WRENCH, scalar)
            clear(inertia, k, INERTIA_FLOW, scalar)


@inlined
def load_in_world(loads_i, loads, k_load, frames, scalar):
    """Force, couple and point of one load in world axes; `loads` holds LOAD slots per load."""
    o = loads_i[k_load, L_ATOM] * FRAME
    x, y, z = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
    k = k_load * LOAD
    force, couple = get3(loads, k + LOAD_F, scalar), get3(loads, k + LOAD_C, scalar)
    point = add(
        get3(frames, o + AT, scalar),
        combine(
            load(loads, k + LOAD_X, scalar),
            load(loads, k + LOAD_X + 1, scalar),
            load(loads, k + LOAD_X + 2, scalar),
            x,
            y,
            z,
        ),
    )
    if loads_i[k_load, L_IN_BODY_AXES]:
        force = combine(force[0], force[1], force[2], x, y, z)
        couple = combine(couple[0], couple[1], couple[2], x, y, z)
    return force, couple, point


@inlined
def any_in_world_axes(loads_i):
    """Whether there is a load whose axes do not turn with its body."""
    found = False
    for k in range(loads_i.shape[0]):
        found |= loads_i[k, L_IN_BODY_AXES] == 0
    return found


@inner
def gather_loads(loads_f, row, loads, scalar):
    """Load numbers of the samples row .. row+L-1 into slots; a table with one row serves all samples."""
    rows, count = loads_f.shape
    for lane in range(width(scalar)):
        r = min(row + lane, rows - 1)
        for k in range(count):
            put_sample(loads, k, lane, loads_f[r, k], scalar)


@inner
def apply_loads(loads_i, loads, frames, wrenches, scalar):
    """Subtract every load from the wrench its body needs."""
    for k_load in range(loads_i.shape[0]):
        force, couple, point = load_in_world(loads_i, loads, k_load, frames, scalar)
        k = loads_i[k_load, L_ATOM] * WRENCH
        add3(wrenches, k + FORCE, scale(-1.0, force), scalar)
        add3(wrenches, k + MOMENT, scale(-1.0, add(cross(point, force), couple)), scalar)


@inner
def collect_world_loads(loads_i, loads, frames, world, n_atoms, scalar):
    """Per atom: sum of forces, couples and f x^T of the loads in world axes (their axes do not turn with the
    body)."""
    clear(world, 0, n_atoms * WORLD_LOAD, scalar)
    for k_load in range(loads_i.shape[0]):
        if not loads_i[k_load, L_IN_BODY_AXES]:
            f, couple, x = load_in_world(loads_i, loads, k_load, frames, scalar)
            k = loads_i[k_load, L_ATOM] * WORLD_LOAD
            add3(world, k + L_FORCE, f, scalar)
            add3(world, k + L_COUPLE, couple, scalar)
            add3(world, k + L_DYAD, scale(f[0], x), scalar)
            add3(world, k + L_DYAD + 3, scale(f[1], x), scalar)
            add3(world, k + L_DYAD + 6, scale(f[2], x), scalar)


@inlined
def pass_down(values, child, parent, size, scalar):
    """values[parent] += values[child], `size` slots each."""
    for k in range(0, size, 3):
        add3(values, parent * size + k, get3(values, child * size + k, scalar), scalar)
