"""Newton-Euler recursion in moving link frames, values: every vector of link j has its components in frame j.

The recursion of Barman (2020) for serial chains, with signs corrected, on trees. Link j hangs on link p by a hinge or a
slide of axis e (constant in frame j). X is the way from p's origin to j's, c the centre of mass from j's origin, and
y' = R^T y_p is a vector of p seen by j:

    w   = w' + v e              dw = dw' + a e + w' x v e                  hinge (a slide and a fixed link: w', dw')
    ddx = ddx' + dw x X + w x u + a e_s,       u = w x X + 2 v e_s         e_s = e for a slide, else 0
    F_G = m (ddx + dw x c + w x (w x c) - R_0j^T g)                        inertia and weight [N]
    T_G = I dw + w x I w                                                   I about the centre of mass

    F = F_G - f + sum over children R_k F_k                                what p exerts on j [N]
    T = T_G + c x F_G - r x f - h + sum over children R_k T_k + X x F      its moment about p's origin [N m]
    tau = e . T (hinge) or e . F (slide)                                   f at r, couple h: loads on j, in frame j
"""

from __future__ import annotations

from mechgrad.inverse.kernels.wrenches import (
    FORCE,
    L_ATOM,
    L_IN_BODY_AXES,
    LOAD,
    LOAD_C,
    LOAD_F,
    LOAD_X,
    MOMENT,
    WRENCH,
    gather_loads,
)
from mechgrad.kernels.elementary import sincos
from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.slots import slots
from mechgrad.kernels.vec3 import (
    add,
    add3,
    clear,
    combine,
    cross,
    dot,
    get3,
    get9,
    mat_mul,
    mat_tmul,
    put3,
    scale,
    sub,
    sym_mul,
    zero3,
)
from mechgrad.model.joints.base import FIXED, PRISMATIC, REVOLUTE

# columns of links_i: parent link, kind, coordinate, joint of which it is the last link; the rest is for the partials
N_PARENT, N_KIND, N_COLUMN, N_HAS_MASS, N_JOINT, N_LEVEL, N_START, N_BEYOND, N_END, N_POSITION, N_REACTION = range(11)
INDICES = 11
# columns of links_f: sign, rows of the rotation at rest, axis, arm, mass, centre of mass, inertia (xx xy xz yy yz zz);
# one more row holds gravity in its first three numbers
F_SIGN, F_TURN, F_AXIS, F_ARM, F_MASS, F_COM, F_INERTIA = 0, 1, 10, 13, 16, 17, 20
NUMBERS = 26
# slots of a link's motion: R (frame j to p) and R_0j row by row, w, dw, ddx, X, gravity seen by the link
TURN, WORLD, W, DW, DDX, ARM, GRAVITY = 0, 9, 18, 21, 24, 27, 30
MOTION = 33


@inlined
def row3(A, i, k, scalar):
    """A[i, k:k+3] in the kernel's scalar."""
    return A[i, k] + scalar, A[i, k + 1] + scalar, A[i, k + 2] + scalar


@inlined
def inertia6(links_f, j, scalar):
    """Inertia of link j about its centre of mass."""
    k = F_INERTIA
    return (*row3(links_f, j, k, scalar), *row3(links_f, j, k + 3, scalar))


@inner
def place_ground(motion, n, scalar):
    """The ground's frame, after the last link's: at rest."""
    o = n * MOTION
    clear(motion, o, MOTION, scalar)
    for k in range(3):
        store(motion, o + WORLD + 4 * k, scalar * 0.0 + 1.0)


@inner
def outward(links_i, links_f, q, v, a, motion, scalar):
    """Fill the links' motion from the slots q, v, a. Returns 0, or NaN where one of them is not finite."""
    n = links_i.shape[0]
    check = scalar * 0.0
    for j in range(n):
        parent, kind = links_i[j, N_PARENT], links_i[j, N_KIND]
        o, s = (parent if parent >= 0 else n) * MOTION, j * MOTION
        r0, r1, r2 = (
            row3(links_f, j, F_TURN, scalar),
            row3(links_f, j, F_TURN + 3, scalar),
            row3(links_f, j, F_TURN + 6, scalar),
        )
        e, X = row3(links_f, j, F_AXIS, scalar), row3(links_f, j, F_ARM, scalar)
        turn, gain, slide, push = zero3(scalar), zero3(scalar), zero3(scalar), zero3(scalar)
        if kind != FIXED:
            k = links_i[j, N_COLUMN]
            q0, v0, a0 = load(q, k, scalar), load(v, k, scalar), load(a, k, scalar)
            check = check + ((q0 - q0) + (v0 - v0) + (a0 - a0))
            if kind == REVOLUTE:
                sine, cosine = sincos(links_f[j, F_SIGN] * q0)
                r0, r1 = sub(scale(cosine, r0), scale(sine, r1)), add(scale(sine, r0), scale(cosine, r1))
                turn, gain = scale(v0, e), scale(a0, e)
            else:
                X = add(X, scale(q0, e))
                slide, push = scale(v0, e), scale(a0, e)
        R = (*r0, *r1, *r2)
        w, dw = mat_tmul(R, get3(motion, o + W, scalar)), mat_tmul(R, get3(motion, o + DW, scalar))
        dw = add(dw, add(gain, cross(w, turn)))
        w = add(w, turn)
        u = add(cross(w, X), scale(2.0, slide))
        ddx = add(mat_tmul(R, get3(motion, o + DDX, scalar)), add(add(cross(dw, X), cross(w, u)), push))
        w0 = mat_tmul(R, get3(motion, o + WORLD, scalar))
        w1 = mat_tmul(R, get3(motion, o + WORLD + 3, scalar))
        w2 = mat_tmul(R, get3(motion, o + WORLD + 6, scalar))
        put3(motion, s + TURN, r0)
        put3(motion, s + TURN + 3, r1)
        put3(motion, s + TURN + 6, r2)
        put3(motion, s + WORLD, w0)
        put3(motion, s + WORLD + 3, w1)
        put3(motion, s + WORLD + 6, w2)
        put3(motion, s + W, w)
        put3(motion, s + DW, dw)
        put3(motion, s + DDX, ddx)
        put3(motion, s + ARM, X)
        put3(motion, s + GRAVITY, combine(links_f[n, 0], links_f[n, 1], links_f[n, 2], w0, w1, w2))
    return check


@inner
def link_wrenches(links_i, links_f, motion, wrenches, scalar):
    """Per link F_G, and its moment T_G + c x F_G about the link's own origin."""
    for j in range(links_i.shape[0]):
        if not links_i[j, N_HAS_MASS]:
            clear(wrenches, j * WRENCH, WRENCH, scalar)
            continue
        o = j * MOTION
        c, inertia = row3(links_f, j, F_COM, scalar), inertia6(links_f, j, scalar)
        w, dw = get3(motion, o + W, scalar), get3(motion, o + DW, scalar)
        ddx = add(get3(motion, o + DDX, scalar), add(cross(dw, c), cross(w, cross(w, c))))
        force = scale(links_f[j, F_MASS], sub(ddx, get3(motion, o + GRAVITY, scalar)))
        moment = add(sym_mul(inertia, dw), cross(w, sym_mul(inertia, w)))
        put3(wrenches, j * WRENCH + FORCE, force)
        put3(wrenches, j * WRENCH + MOMENT, add(moment, cross(c, force)))


@inlined
def load_in_link(loads_i, loads, k_load, motion, scalar):
    """Force, couple and point of one load in its link's frame."""
    k = k_load * LOAD
    force, couple = get3(loads, k + LOAD_F, scalar), get3(loads, k + LOAD_C, scalar)
    if not loads_i[k_load, L_IN_BODY_AXES]:
        R = get9(motion, loads_i[k_load, L_ATOM] * MOTION + WORLD, scalar)
        force, couple = mat_tmul(R, force), mat_tmul(R, couple)
    return force, couple, get3(loads, k + LOAD_X, scalar)


@inner
def apply_loads(loads_i, loads, motion, wrenches, scalar):
    """Subtract every load from what its link needs."""
    for k_load in range(loads_i.shape[0]):
        force, couple, point = load_in_link(loads_i, loads, k_load, motion, scalar)
        k = loads_i[k_load, L_ATOM] * WRENCH
        add3(wrenches, k + FORCE, scale(-1.0, force), scalar)
        add3(wrenches, k + MOMENT, scale(-1.0, add(cross(point, force), couple)), scalar)


@inner
def inward(links_i, links_f, motion, wrenches, tau, reactions, with_reactions, scalar):
    """Turn wrenches into what each link's parent exerts on it, about the parent's origin; project on the axes."""
    for j in range(links_i.shape[0] - 1, -1, -1):
        k, kind, parent = j * WRENCH, links_i[j, N_KIND], links_i[j, N_PARENT]
        force = get3(wrenches, k + FORCE, scalar)
        moment = add(get3(wrenches, k + MOMENT, scalar), cross(get3(motion, j * MOTION + ARM, scalar), force))
        put3(wrenches, k + MOMENT, moment)
        if kind == REVOLUTE:
            store(tau, links_i[j, N_COLUMN], dot(row3(links_f, j, F_AXIS, scalar), moment))
        elif kind == PRISMATIC:
            store(tau, links_i[j, N_COLUMN], dot(row3(links_f, j, F_AXIS, scalar), force))
        if with_reactions and links_i[j, N_JOINT] >= 0:
            put3(reactions, links_i[j, N_JOINT] * WRENCH + FORCE, force)
            put3(reactions, links_i[j, N_JOINT] * WRENCH + MOMENT, moment)
        if parent >= 0:
            R = get9(motion, j * MOTION + TURN, scalar)
            add3(wrenches, parent * WRENCH + FORCE, mat_mul(R, force), scalar)
            add3(wrenches, parent * WRENCH + MOMENT, mat_mul(R, moment), scalar)


@allocating
def torques(links_i, links_f, q, v, a, loads_i, loads_f, tau, reactions, scalar):
    """Rows of q, v, a to rows of tau (nt, n_v) and of reactions (nt, 6 per joint, or none).

    Returns the first row of a block with a bad number, or -1.
    """
    n_links, n_v, n_loads = links_i.shape[0], v.shape[1], loads_i.shape[0]
    n = width(scalar)
    q_, v_, a_ = slots(n_v, tau, scalar), slots(n_v, tau, scalar), slots(n_v, tau, scalar)
    tau_, motion = slots(n_v, tau, scalar), slots((n_links + 1) * MOTION, tau, scalar)
    wrenches, loads = slots(n_links * WRENCH, tau, scalar), slots(n_loads * LOAD, tau, scalar)
    reactions_ = slots(reactions.shape[1], tau, scalar)
    place_ground(motion, n_links, scalar)
    for row in range(0, q.shape[0], n):
        gather(q, row, q_, 0, scalar)
        gather(v, row, v_, 0, scalar)
        gather(a, row, a_, 0, scalar)
        check = outward(links_i, links_f, q_, v_, a_, motion, scalar)
        link_wrenches(links_i, links_f, motion, wrenches, scalar)
        if n_loads:
            gather_loads(loads_f, row, loads, scalar)
            apply_loads(loads_i, loads, motion, wrenches, scalar)
        inward(links_i, links_f, motion, wrenches, tau_, reactions_, reactions.shape[1] > 0, scalar)
        if any_not_less(check, 1.0):
            return row
        scatter(tau_, 0, tau, row, scalar)
        scatter(reactions_, 0, reactions, row, scalar)
    return -1


@entry
def torques_one(links_i, links_f, q, v, a, loads_i, loads_f, tau, reactions):
    """`torques` sample by sample."""
    return torques(links_i, links_f, q, v, a, loads_i, loads_f, tau, reactions, 0.0)


@entry
def torques_lanes(links_i, links_f, q, v, a, loads_i, loads_f, tau, reactions):
    """`torques` in SIMD lanes."""
    return torques(links_i, links_f, q, v, a, loads_i, loads_f, tau, reactions, lane_zero())


@entry
def torques_complex(links_i, links_f, q, v, a, loads_i, loads_f, tau, reactions):
    """`torques` of complex numbers."""
    return torques(links_i, links_f, q, v, a, loads_i, loads_f, tau, reactions, 0j)
