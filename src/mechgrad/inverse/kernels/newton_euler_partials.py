"""Newton-Euler recursion in moving link frames, partials by q, v, a of motion, internal forces and generalized forces.

Symbols as in `newton_euler`. Column m is that of link j or of an ancestor, y' = R^T y_p the parent's partial seen by j,
A = w_v = dw_a the axis of m seen by j (zero for a slide), and K the linear map K y = y x u + w x (y x X):

                  ancestor m                        own hinge                     own slide
    A         =   A'                                e                             0
    w_q       =   w_q'                              w' x e                        0
    dw_q      =   dw_q' + w_q' x v e                dw' x e + w_q x v e           0
    dw_v      =   dw_v' + A'   x v e                w' x e                        0
    ddx_q     =   ddx_q' + dw_q x X + K w_q         ddx' x e + dw_q x X + K w_q   dw x e + w x (w x e)
    ddx_v     =   ddx_v' + dw_v x X + K A           dw_v x X + K e                2 w x e
    ddx_a     =   ddx_a' + A x X                    e x X                         e

A vector that is constant in the world, seen by the link as y, has y_q = y x A: weight, and the loads in world axes.
Inward, for every m on one path with j, and x = q_m, v_m or a_m:

    F_x = (F_G - f)_x + sum over children k of R_k F_k,x     [+ R_k (e_k x F_k) if x is the q of hinge k]
    T_x = (T_G + c x F_G - r x f - h)_x + the same sum with T + X x F_x        [+ e x F if x is the q of slide j]

Storage: the columns on the way to link j, the ground's first, form a list that begins with the parent's list; its k-th
entry is pair N_START + k. What lies beyond j is kept once per column and carried from frame to frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.inverse.kernels.newton_euler import (
    ARM,
    DDX,
    DW,
    F_AXIS,
    F_COM,
    F_MASS,
    GRAVITY,
    MOTION,
    N_BEYOND,
    N_COLUMN,
    N_END,
    N_HAS_MASS,
    N_JOINT,
    N_KIND,
    N_LEVEL,
    N_PARENT,
    N_POSITION,
    N_REACTION,
    N_START,
    TURN,
    W,
    apply_loads,
    inertia6,
    inward,
    link_wrenches,
    load_in_link,
    outward,
    place_ground,
    row3,
)
from mechgrad.inverse.kernels.wrenches import (
    FORCE,
    L_ATOM,
    L_IN_BODY_AXES,
    LOAD,
    MOMENT,
    WRENCH,
    any_in_world_axes,
    gather_loads,
)
from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.slots import slots
from mechgrad.kernels.vec3 import (
    add,
    add3,
    clear,
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

# slots of a pair's motion partials
AXIS, W_Q, DW_Q, DW_V, DDX_Q, DDX_V, DDX_A = 0, 3, 6, 9, 12, 15, 18
PAIR = 21
# slots of a pair's wrench partials: (moment, force) by q, by v, by a
BY_Q, BY_V, BY_A = 0, 6, 12
WRENCHES = 18
# slots of the loads in world axes on a link, seen by the link: couple, force, sum f r^T row by row
L_COUPLE, L_FORCE, L_DYAD = 0, 3, 6
WORLD_LOADS = 15


class Links(NamedTuple):
    """Links as the recursion reads them (`inverse.newton_euler`).

    links_i, links_f : (n, INDICES) int64 and (n + 1, NUMBERS), see `newton_euler`
    beyond : columns beyond each link, N_BEYOND to N_END
    positions : packed positions of a link's own column with all related ones, from N_POSITION on
    """

    links_i: np.ndarray
    links_f: np.ndarray
    beyond: np.ndarray
    positions: np.ndarray


@inlined
def centripetal(w, x, u):
    """The matrix K of K y = y x u + w x (y x x), row by row."""
    wx = dot(w, x)
    return (
        wx - x[0] * w[0], u[2] - x[0] * w[1], -u[1] - x[0] * w[2],
        -u[2] - x[1] * w[0], wx - x[1] * w[1], u[0] - x[1] * w[2],
        u[1] - x[2] * w[0], -u[0] - x[2] * w[1], wx - x[2] * w[2],
    )  # fmt: skip


@inlined
def gyroscopic(w, S):
    """The matrix of y -> y x S w + w x S y for symmetric S, row by row."""
    h = sym_mul(S, w)
    c0, c1, c2 = cross(w, (S[0], S[1], S[2])), cross(w, (S[1], S[3], S[4])), cross(w, (S[2], S[4], S[5]))
    return (c0[0], c1[0] + h[2], c2[0] - h[1], c0[1] - h[2], c1[1], c2[1] + h[0], c0[2] + h[1], c1[2] - h[0], c2[2])


@inner
def motion_partials(j, links_i, links_f, v, motion, pairs, scalar):
    """Outward: partials of the motion of link j by the columns on its way to the ground."""
    parent, kind, start = links_i[j, N_PARENT], links_i[j, N_KIND], links_i[j, N_START]
    o, base = j * MOTION, (parent if parent >= 0 else links_i.shape[0]) * MOTION
    R, e = get9(motion, o + TURN, scalar), row3(links_f, j, F_AXIS, scalar)
    w, dw, X = get3(motion, o + W, scalar), get3(motion, o + DW, scalar), get3(motion, o + ARM, scalar)
    turn, slide = zero3(scalar), zero3(scalar)
    if kind == REVOLUTE:
        turn = scale(load(v, links_i[j, N_COLUMN], scalar), e)
    elif kind == PRISMATIC:
        slide = scale(load(v, links_i[j, N_COLUMN], scalar), e)
    K = centripetal(w, X, add(cross(w, X), scale(2.0, slide)))
    own = links_i[j, N_LEVEL] - (0 if kind == FIXED else 1)
    for k in range(own):
        b, s = (links_i[parent, N_START] + k) * PAIR, (start + k) * PAIR
        A, w_q = mat_tmul(R, get3(pairs, b + AXIS, scalar)), mat_tmul(R, get3(pairs, b + W_Q, scalar))
        dw_q = add(mat_tmul(R, get3(pairs, b + DW_Q, scalar)), cross(w_q, turn))
        dw_v = add(mat_tmul(R, get3(pairs, b + DW_V, scalar)), cross(A, turn))
        ddx_q, ddx_v = mat_tmul(R, get3(pairs, b + DDX_Q, scalar)), mat_tmul(R, get3(pairs, b + DDX_V, scalar))
        ddx_a = mat_tmul(R, get3(pairs, b + DDX_A, scalar))
        put3(pairs, s + AXIS, A)
        put3(pairs, s + W_Q, w_q)
        put3(pairs, s + DW_Q, dw_q)
        put3(pairs, s + DW_V, dw_v)
        put3(pairs, s + DDX_Q, add(ddx_q, add(cross(dw_q, X), mat_mul(K, w_q))))
        put3(pairs, s + DDX_V, add(ddx_v, add(cross(dw_v, X), mat_mul(K, A))))
        put3(pairs, s + DDX_A, add(ddx_a, cross(A, X)))
    s = (start + own) * PAIR
    if kind == REVOLUTE:
        w_q = cross(mat_tmul(R, get3(motion, base + W, scalar)), e)
        dw_q = add(cross(mat_tmul(R, get3(motion, base + DW, scalar)), e), cross(w_q, turn))
        ddx_q = cross(mat_tmul(R, get3(motion, base + DDX, scalar)), e)
        put3(pairs, s + AXIS, e)
        put3(pairs, s + W_Q, w_q)
        put3(pairs, s + DW_Q, dw_q)
        put3(pairs, s + DW_V, w_q)
        put3(pairs, s + DDX_Q, add(ddx_q, add(cross(dw_q, X), mat_mul(K, w_q))))
        put3(pairs, s + DDX_V, add(cross(w_q, X), mat_mul(K, e)))
        put3(pairs, s + DDX_A, cross(e, X))
    elif kind == PRISMATIC:
        clear(pairs, s, DDX_Q, scalar)
        drift = cross(w, e)
        put3(pairs, s + DDX_Q, add(cross(dw, e), cross(w, drift)))
        put3(pairs, s + DDX_V, scale(2.0, drift))
        put3(pairs, s + DDX_A, e)


@inner
def collect_world_loads(loads_i, loads, motion, world, n_links, scalar):
    """Per link: sum of forces, couples and f r^T of the loads whose axes do not turn with it, seen by the link."""
    clear(world, 0, n_links * WORLD_LOADS, scalar)
    for k_load in range(loads_i.shape[0]):
        if not loads_i[k_load, L_IN_BODY_AXES]:
            f, couple, r = load_in_link(loads_i, loads, k_load, motion, scalar)
            k = loads_i[k_load, L_ATOM] * WORLD_LOADS
            add3(world, k + L_FORCE, f, scalar)
            add3(world, k + L_COUPLE, couple, scalar)
            for i in range(3):
                add3(world, k + L_DYAD + 3 * i, scale(f[i], r), scalar)


@inner
def wrench_partials(j, links_i, links_f, motion, world, pairs, forces, scalar):
    """Partials of link j's own F_G - f and T_G + c x F_G - r x f - h, the moment about the link's origin."""
    first, o = links_i[j, N_START], j * MOTION
    last = first + links_i[j, N_LEVEL]
    if links_i[j, N_HAS_MASS]:
        m, c = links_f[j, F_MASS], row3(links_f, j, F_COM, scalar)
        inertia = inertia6(links_f, j, scalar)
        w, g = get3(motion, o + W, scalar), get3(motion, o + GRAVITY, scalar)
        K, N = centripetal(w, c, cross(w, c)), gyroscopic(w, inertia)
        for pair in range(first, last):
            b, s = pair * PAIR, pair * WRENCHES
            A, w_q = get3(pairs, b + AXIS, scalar), get3(pairs, b + W_Q, scalar)
            dw_q, dw_v = get3(pairs, b + DW_Q, scalar), get3(pairs, b + DW_V, scalar)
            f_q = add(get3(pairs, b + DDX_Q, scalar), add(cross(dw_q, c), mat_mul(K, w_q)))
            f_q = scale(m, sub(f_q, cross(g, A)))
            f_v = scale(m, add(get3(pairs, b + DDX_V, scalar), add(cross(dw_v, c), mat_mul(K, A))))
            f_a = scale(m, add(get3(pairs, b + DDX_A, scalar), cross(A, c)))
            put3(forces, s + BY_Q + FORCE, f_q)
            put3(forces, s + BY_V + FORCE, f_v)
            put3(forces, s + BY_A + FORCE, f_a)
            put3(forces, s + BY_Q + MOMENT, add(add(sym_mul(inertia, dw_q), mat_mul(N, w_q)), cross(c, f_q)))
            put3(forces, s + BY_V + MOMENT, add(add(sym_mul(inertia, dw_v), mat_mul(N, A)), cross(c, f_v)))
            put3(forces, s + BY_A + MOMENT, add(sym_mul(inertia, A), cross(c, f_a)))
    else:
        clear(forces, first * WRENCHES, (last - first) * WRENCHES, scalar)
    if world.size > 0:
        k = j * WORLD_LOADS
        f, couple, D = (
            get3(world, k + L_FORCE, scalar),
            get3(world, k + L_COUPLE, scalar),
            get9(world, k + L_DYAD, scalar),
        )
        trace = D[0] + D[4] + D[8]
        for pair in range(first, last):
            A = get3(pairs, pair * PAIR + AXIS, scalar)
            s = pair * WRENCHES + BY_Q
            # r x (f x A) = f (r . A) - A (r . f)
            turned = add(cross(couple, A), sub(mat_mul(D, A), scale(trace, A)))
            add3(forces, s + FORCE, scale(-1.0, cross(f, A)), scalar)
            add3(forces, s + MOMENT, scale(-1.0, turned), scalar)


class Packed(NamedTuple):
    """Partials: tau_q, tau_v, tau_a, rows (nt, nnz) or slots, and of reactions, WRENCHES per joint and related column
    (none, if they are not asked for)."""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray
    reactions: np.ndarray


@inner
def emit(forces, s, X, e, is_hinge, at, reaction, out, scalar):
    """Finish a pair: moments about the parent's origin; generalized forces go to place `at` of `out` (`Packed`),
    wrenches to `reaction`, either unless it is negative."""
    for by in (BY_Q, BY_V, BY_A):
        force = get3(forces, s + by + FORCE, scalar)
        moment = add(get3(forces, s + by + MOMENT, scalar), cross(X, force))
        put3(forces, s + by + MOMENT, moment)
        if reaction >= 0:
            put3(out.reactions, reaction * WRENCHES + by + FORCE, force)
            put3(out.reactions, reaction * WRENCHES + by + MOMENT, moment)
    if at >= 0:
        part = MOMENT if is_hinge else FORCE
        store(out.dq, at, dot(e, get3(forces, s + BY_Q + part, scalar)))
        store(out.dv, at, dot(e, get3(forces, s + BY_V + part, scalar)))
        store(out.da, at, dot(e, get3(forces, s + BY_A + part, scalar)))


@inner
def inward_partials(links, motion, wrenches, forces, far, out, keep, scalar):
    """Inward: sum the partials towards the ground and project them into `out`, a `Packed`.

    links: `Links`; wrenches: F and T, as `inward` left them; forces: WRENCHES per pair, as `wrench_partials` left them;
    far: WRENCHES per column, for what lies beyond a link; keep: whether reactions are asked for.
    """
    links_i, links_f, beyond, positions = links.links_i, links.links_f, links.beyond, links.positions
    for j in range(links_i.shape[0] - 1, -1, -1):
        parent, kind, start = links_i[j, N_PARENT], links_i[j, N_KIND], links_i[j, N_START]
        level, column = links_i[j, N_LEVEL], links_i[j, N_COLUMN]
        R, X, e = (
            get9(motion, j * MOTION + TURN, scalar),
            get3(motion, j * MOTION + ARM, scalar),
            row3(links_f, j, F_AXIS, scalar),
        )
        force, moment = get3(wrenches, j * WRENCH + FORCE, scalar), get3(wrenches, j * WRENCH + MOMENT, scalar)
        moves, is_hinge = kind != FIXED, kind == REVOLUTE
        at = links_i[j, N_POSITION]
        reaction = links_i[j, N_REACTION] if keep and links_i[j, N_JOINT] >= 0 else -1
        step = 1 if reaction >= 0 else 0
        if kind == PRISMATIC:
            add3(forces, (start + level - 1) * WRENCHES + BY_Q + MOMENT, cross(e, force), scalar)
        for k in range(level):
            place = positions[at + k] if moves else -1
            emit(forces, (start + k) * WRENCHES, X, e, is_hinge, place, reaction, out, scalar)
            reaction += step
        for k in range(links_i[j, N_BEYOND], links_i[j, N_END]):
            place = positions[at + level + k - links_i[j, N_BEYOND]] if moves else -1
            emit(far, beyond[k] * WRENCHES, X, e, is_hinge, place, reaction, out, scalar)
            reaction += step
        if parent < 0:
            continue
        if moves:
            s = (start + level - 1) * WRENCHES
            if is_hinge:
                add3(forces, s + BY_Q + FORCE, cross(e, force), scalar)
                add3(forces, s + BY_Q + MOMENT, cross(e, moment), scalar)
            for i in range(0, WRENCHES, 3):
                put3(far, column * WRENCHES + i, mat_mul(R, get3(forces, s + i, scalar)))
        for k in range(level - (1 if moves else 0)):
            s, b = (start + k) * WRENCHES, (links_i[parent, N_START] + k) * WRENCHES
            for i in range(0, WRENCHES, 3):
                add3(forces, b + i, mat_mul(R, get3(forces, s + i, scalar)), scalar)
        for k in range(links_i[j, N_BEYOND], links_i[j, N_END]):
            s = beyond[k] * WRENCHES
            for i in range(0, WRENCHES, 3):
                put3(far, s + i, mat_mul(R, get3(far, s + i, scalar)))


@allocating
def derivatives(links, samples, loads, tau, reactions, out, scalar):
    """Rows of the samples of a motion to rows of tau (nt, n_v), of reactions (nt, 6 per joint, or none) and of `out`.

    Tuples of arrays: links as in `Links`, samples `Motion`, loads `Loads`, out `Packed`. Returns the first row of a
    block with a bad number, or -1.
    """
    links_i, links_f, beyond, positions = links
    q, v, a = samples
    loads_i, loads_f = loads
    dq, dv, da, partials = out
    links = Links(links_i, links_f, beyond, positions)
    n_links, n_v, n_loads, nnz = links_i.shape[0], v.shape[1], loads_i.shape[0], dq.shape[1]
    n, keep, n_pairs, has_world = width(scalar), reactions.shape[1] > 0, 0, any_in_world_axes(loads_i)
    for j in range(n_links):
        n_pairs += links_i[j, N_LEVEL]
    q_, v_, a_ = slots(n_v, tau, scalar), slots(n_v, tau, scalar), slots(n_v, tau, scalar)
    tau_, motion = slots(n_v, tau, scalar), slots((n_links + 1) * MOTION, tau, scalar)
    wrenches, acting = slots(n_links * WRENCH, tau, scalar), slots(n_loads * LOAD, tau, scalar)
    world = slots((n_links if has_world else 0) * WORLD_LOADS, tau, scalar)
    pairs, forces = slots(n_pairs * PAIR, tau, scalar), slots(n_pairs * WRENCHES, tau, scalar)
    far, reactions_ = slots(n_v * WRENCHES, tau, scalar), slots(reactions.shape[1], tau, scalar)
    dq_, dv_, da_ = slots(nnz, tau, scalar), slots(nnz, tau, scalar), slots(nnz, tau, scalar)
    partials_ = slots(partials.shape[1], tau, scalar)
    packed = Packed(dq=dq_, dv=dv_, da=da_, reactions=partials_)
    place_ground(motion, n_links, scalar)
    for row in range(0, tau.shape[0], n):
        gather(q, row, q_, 0, scalar)
        gather(v, row, v_, 0, scalar)
        gather(a, row, a_, 0, scalar)
        check = outward(links_i, links_f, q_, v_, a_, motion, scalar)
        link_wrenches(links_i, links_f, motion, wrenches, scalar)
        if n_loads:
            gather_loads(loads_f, row, acting, scalar)
            apply_loads(loads_i, acting, motion, wrenches, scalar)
            if has_world:
                collect_world_loads(loads_i, acting, motion, world, n_links, scalar)
        inward(links_i, links_f, motion, wrenches, tau_, reactions_, keep, scalar)
        for j in range(n_links):  # one after the other while the link's pairs are in the cache
            motion_partials(j, links_i, links_f, v_, motion, pairs, scalar)
            wrench_partials(j, links_i, links_f, motion, world, pairs, forces, scalar)
        inward_partials(links, motion, wrenches, forces, far, packed, keep, scalar)
        if any_not_less(check, 1.0):
            return row
        scatter(tau_, 0, tau, row, scalar)
        scatter(dq_, 0, dq, row, scalar)
        scatter(dv_, 0, dv, row, scalar)
        scatter(da_, 0, da, row, scalar)
        scatter(reactions_, 0, reactions, row, scalar)
        scatter(partials_, 0, partials, row, scalar)
    return -1


@entry
def derivatives_one(links, samples, loads, tau, reactions, out):
    """`derivatives` sample by sample."""
    return derivatives(links, samples, loads, tau, reactions, out, 0.0)


@entry
def derivatives_lanes(links, samples, loads, tau, reactions, out):
    """`derivatives` in SIMD lanes."""
    return derivatives(links, samples, loads, tau, reactions, out, lane_zero())


@entry
def derivatives_complex(links, samples, loads, tau, reactions, out):
    """`derivatives` of complex numbers."""
    return derivatives(links, samples, loads, tau, reactions, out, 0j)
