"""What a joint transmits: the wrench of everything beyond it, and its derivatives by q, v, a and parameters.

With F, N the composite force and moment (world axes, about the point from which positions count) beyond joint k, x_k
its point on the child's side and R the axes it is asked for in, the parent exerts on the child

    m_k = R^T (N - x_k x F),      f_k = R^T F                                   [N m], [N]; actuator forces included

Its change with column c is that of the wrench beyond k, which is, for a column on the way to the ground (or of the
joint itself),

    by a: I_k S_c      by v: 2 B_k S_c + I_k Y_c      by q: 2 B_k Psid_c + I_k Psidd_c + S_c x* f_k + L_k(s_c)

with the composites of joint k; for a column beyond k the same with the composites of c. The point moves and the
axes turn with the columns that carry them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.inverse.kernels.inward import velocity_operator, world_load_turn
from mechgrad.inverse.kernels.parameter_columns import inertial_change, load_change, world_twist
from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    FLOW,
    FORCE,
    INERTIA_FLOW,
    LOAD,
    MOMENT,
    MOMENTUM,
    SECOND,
    WORLD_LOAD,
    WRENCH,
    any_in_world_axes,
    apply_loads,
    body_wrenches,
    body_wrenches_and_moments,
    collect_world_loads,
    gather_loads,
    inertia_v,
    inertia_w,
    pass_down,
)
from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, lane_zero, load, scatter, store, width
from mechgrad.kernels.slots import slots
from mechgrad.kernels.vec3 import add, clear, combine, cross, dot, get3, get6, get9, put3, scale, sub, zero3
from mechgrad.kinematics.kernels.outward import (
    AT,
    AX,
    AY,
    AZ,
    FRAME,
    RATE_Y,
    RATE_YV,
    RATES,
    TWIST,
    column_rates,
    outward_rows,
    place_world,
    twist_rates,
)
from mechgrad.kinematics.kernels.tables import Motion, TreeTables
from mechgrad.model.columns import BEFORE, BEHIND, GRAVITY, INERTIAL, T_KIND, T_NODE
from mechgrad.model.tree import BEYOND, C_ATOM, PARENT

# columns of the table of joints: the atom whose wrench is wanted (the joint's last), and the atom whose axes are
# used (n_atoms: world)
R_ATOM, R_AXES = range(2)
# columns of the table of pairs: joint, column, whether the column is beyond the joint, whether it carries the axes
# where the six numbers go: first slot, distance between them
P_JOINT, P_COLUMN, P_BEYOND, P_TURNS, P_SLOT, P_STRIDE = range(6)
# columns of the table of actions: joint, term, whether it acts beyond the joint, whether it moves the point,
# whether it turns the axes
A_JOINT, A_TERM, A_BEYOND, A_MOVES, A_TURNS, A_SLOT, A_STRIDE = range(7)
# slots of a reaction: couple, force; they are those of a wrench (MOMENT, FORCE)
REACTION = 6


@inlined
def axes_of(joints_i, tails, k, frames, scalar):
    """The three axes a reaction is given in: those of an atom, turned by a constant rotation (rows of tails: R,
    column by column)."""
    o = joints_i[k, R_AXES] * FRAME
    x, y, z = get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar)
    return (
        combine(tails[k, 0], tails[k, 1], tails[k, 2], x, y, z),
        combine(tails[k, 3], tails[k, 4], tails[k, 5], x, y, z),
        combine(tails[k, 6], tails[k, 7], tails[k, 8], x, y, z),
    )


@inlined
def in_axes(ax, ay, az, u):
    """Components of u in these axes."""
    return dot(ax, u), dot(ay, u), dot(az, u)


@inner
def reaction_values(joints_i, tails, frames, wrenches, out, scalar):
    """Moment and force of every joint, after the wrenches have been summed towards the ground."""
    for k in range(joints_i.shape[0]):
        i = joints_i[k, R_ATOM]
        F, N = get3(wrenches, i * WRENCH + FORCE, scalar), get3(wrenches, i * WRENCH + MOMENT, scalar)
        ax, ay, az = axes_of(joints_i, tails, k, frames, scalar)
        put3(out, k * REACTION + FORCE, in_axes(ax, ay, az, F))
        put3(out, k * REACTION + MOMENT, in_axes(ax, ay, az, sub(N, cross(get3(frames, i * FRAME + AT, scalar), F))))


@inlined
def changed(ax, ay, az, x, F, N, dF, dN, dx, s):
    """Change of (R^T F, R^T (N - x x F)) with dF, dN, the motion dx of the point and the turn s of the axes."""
    force = sub(dF, cross(s, F))
    moment = sub(sub(dN, add(cross(dx, F), cross(x, dF))), cross(s, sub(N, cross(x, F))))
    return in_axes(ax, ay, az, force), in_axes(ax, ay, az, moment)


@inlined
def add_strided(out, slot, stride, force, moment, scalar):
    """Add the six numbers to slots `stride` apart: a column of a matrix stored row by row."""
    for part in range(3):
        at = slot + (MOMENT + part) * stride
        store(out, at, load(out, at, scalar) + moment[part])
        at = slot + (FORCE + part) * stride
        store(out, at, load(out, at, scalar) + force[part])


@inlined
def wrench_by_velocity(mass, h, S, P, D, s, m, yw, yv):
    """2 B (s, m) + I Y"""
    bw, bv = velocity_operator(D[0] + D[4] + D[8], D, P, s)
    trace = S[0] + S[3] + S[5]
    return add(bw, inertia_w(trace, S, h, yw, yv)), add(bv, inertia_v(mass, h, yw, yv))


@inlined
def wrench_by_displacement(mass, h, S, P, D, F, N, s, m, d_w, dd_w, dd_v):
    """2 B Psid + I Psidd + (s, m) x* f, without the world-axis loads."""
    bw, bv = velocity_operator(D[0] + D[4] + D[8], D, P, d_w)
    trace = S[0] + S[3] + S[5]
    w = add(add(bw, inertia_w(trace, S, h, dd_w, dd_v)), add(cross(s, N), cross(m, F)))
    return w, add(add(bv, inertia_v(mass, h, dd_w, dd_v)), cross(s, F))


class JointTables(NamedTuple):
    """Whose wrenches are wanted, in which axes, and what they depend on.

    joints_i, tails : (joints, 2) int64, (joints, 9): see R_ATOM; the constant rotation of the axes, column by column
    pairs, actions : (n, 6) and (n, 7) int64: joint and column, joint and term, see P_JOINT and A_JOINT
    """

    joints_i: np.ndarray
    tails: np.ndarray
    pairs: np.ndarray
    actions: np.ndarray


class ReactionDerivatives(NamedTuple):
    """Results: reactions (nt, joints * 6), and their packed derivatives by q, v, a and by parameters."""

    values: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray
    by_a: np.ndarray
    by_p: np.ndarray


class Workspace(NamedTuple):
    """Slots of one block of samples: frames per atom, twists and column_rates per column; wrenches and inertia of all
    beyond each atom; loads per load, and world, those in world axes beyond each atom (empty without any)."""

    frames: np.ndarray
    twists: np.ndarray
    column_rates: np.ndarray
    wrenches: np.ndarray
    inertia: np.ndarray
    loads: np.ndarray
    world: np.ndarray


@inner
def reaction_columns(joints, tree, w, has_world, by_q, by_v, by_a, scalar):
    """Derivatives by every related column. joints: `JointTables`; tree: `TreeTables`; w: `Workspace`."""
    joints_i, tails, pairs, atoms_f, columns_i = (
        joints.joints_i, joints.tails, joints.pairs, tree.atoms_f, tree.columns_i
    )  # fmt: skip
    frames, twists, rates, wrenches, inertia = w.frames, w.twists, w.column_rates, w.wrenches, w.inertia
    zero = zero3(scalar)
    for out in (by_q, by_v, by_a):
        clear(out, 0, REACTION * pairs.shape[0], scalar)
    for r in range(pairs.shape[0]):
        k, c = pairs[r, P_JOINT], pairs[r, P_COLUMN]
        i = joints_i[k, R_ATOM]
        own = columns_i[c, C_ATOM]
        node = own if pairs[r, P_BEYOND] else i  # whose composites are displaced
        j = node * INERTIA_FLOW
        mass, h, S = atoms_f[node, BEYOND], get3(inertia, j + FIRST, scalar), get6(inertia, j + SECOND, scalar)
        P, D = get3(inertia, j + MOMENTUM, scalar), get9(inertia, j + FLOW, scalar)
        F, N = get3(wrenches, node * WRENCH + FORCE, scalar), get3(wrenches, node * WRENCH + MOMENT, scalar)
        s, m = get3(twists, c * TWIST, scalar), get3(twists, c * TWIST + 3, scalar)
        d_w, _, dd_w, dd_v = twist_rates(frames, own, s, m, scalar)
        yw, yv = get3(rates, c * RATES + RATE_Y, scalar), get3(rates, c * RATES + RATE_YV, scalar)
        q_w, q_v = wrench_by_displacement(mass, h, S, P, D, F, N, s, m, d_w, dd_w, dd_v)
        if has_world:
            lw, lv = world_load_turn(w.world, node, s, scalar)
            q_w, q_v = add(q_w, lw), add(q_v, lv)
        v_w, v_v = wrench_by_velocity(mass, h, S, P, D, s, m, yw, yv)
        trace = S[0] + S[3] + S[5]
        a_w, a_v = inertia_w(trace, S, h, s, m), inertia_v(mass, h, s, m)
        x = get3(frames, i * FRAME + AT, scalar)
        F, N = get3(wrenches, i * WRENCH + FORCE, scalar), get3(wrenches, i * WRENCH + MOMENT, scalar)
        ax, ay, az = axes_of(joints_i, tails, k, frames, scalar)
        dx = zero if pairs[r, P_BEYOND] else add(m, cross(s, x))
        turn = s if pairs[r, P_TURNS] else zero
        slot, stride = pairs[r, P_SLOT], pairs[r, P_STRIDE]
        force, moment = changed(ax, ay, az, x, F, N, q_v, q_w, dx, turn)
        add_strided(by_q, slot, stride, force, moment, scalar)
        force, moment = changed(ax, ay, az, x, F, N, v_v, v_w, zero, zero)
        add_strided(by_v, slot, stride, force, moment, scalar)
        force, moment = changed(ax, ay, az, x, F, N, a_v, a_w, zero, zero)
        add_strided(by_a, slot, stride, force, moment, scalar)


@inner
def reaction_terms(joints, tree, terms, loads_i, w, has_world, by_p, size, scalar):
    """Derivatives by parameters, `size` slots. terms: terms_i and terms_f of `Terms`; the rest as above."""
    joints_i, tails, actions, atoms_i, atoms_f = (
        joints.joints_i, joints.tails, joints.actions, tree.atoms_i, tree.atoms_f
    )  # fmt: skip
    terms_i, terms_f = terms
    frames, wrenches, inertia = w.frames, w.wrenches, w.inertia
    n_atoms = atoms_i.shape[0]
    clear(by_p, 0, size, scalar)
    for r in range(actions.shape[0]):
        k, t = actions[r, A_JOINT], actions[r, A_TERM]
        kind, at = terms_i[t, T_KIND], terms_i[t, T_NODE]
        i = joints_i[k, R_ATOM]
        s, dx = zero3(scalar), zero3(scalar)
        x = get3(frames, i * FRAME + AT, scalar)
        dF, dN = zero3(scalar), zero3(scalar)
        if kind in (BEFORE, BEHIND):
            carrier = at
            if kind == BEFORE:
                parent = atoms_i[at, PARENT]
                carrier = parent if parent >= 0 else n_atoms
            node = at if actions[r, A_BEYOND] else i
            j = node * INERTIA_FLOW
            mass, h, S = atoms_f[node, BEYOND], get3(inertia, j + FIRST, scalar), get6(inertia, j + SECOND, scalar)
            P, D = get3(inertia, j + MOMENTUM, scalar), get9(inertia, j + FLOW, scalar)
            F, N = get3(wrenches, node * WRENCH + FORCE, scalar), get3(wrenches, node * WRENCH + MOMENT, scalar)
            s, m = world_twist(frames, carrier, terms_f, t, scalar)
            d_w, _, dd_w, dd_v = twist_rates(frames, carrier, s, m, scalar)
            dN, dF = wrench_by_displacement(mass, h, S, P, D, F, N, s, m, d_w, dd_w, dd_v)
            if has_world:
                lw, lv = world_load_turn(w.world, node, s, scalar)
                dN, dF = add(dN, lw), add(dF, lv)
            if actions[r, A_MOVES]:
                dx = add(m, cross(s, x))
            if not actions[r, A_TURNS]:
                s = zero3(scalar)
        elif kind == INERTIAL:
            dF, dN = inertial_change(frames, at, terms_f, t, scalar)
        elif kind == GRAVITY:
            zero = 0.0 * scalar
            g = (zero + terms_f[t, 0], zero + terms_f[t, 1], zero + terms_f[t, 2])
            h = get3(inertia, i * INERTIA_FLOW + FIRST, scalar)
            dF, dN = scale(-1.0 * atoms_f[i, BEYOND], g), scale(-1.0, cross(h, g))
        else:
            dF, dN = load_change(kind, at, loads_i, w.loads, frames, terms_f, t, scalar)
        F, N = get3(wrenches, i * WRENCH + FORCE, scalar), get3(wrenches, i * WRENCH + MOMENT, scalar)
        ax, ay, az = axes_of(joints_i, tails, k, frames, scalar)
        force, moment = changed(ax, ay, az, x, F, N, dF, dN, dx, s)
        add_strided(by_p, actions[r, A_SLOT], actions[r, A_STRIDE], force, moment, scalar)


@allocating
def reactions(atoms_i, atoms_f, q, v, a, loads_i, loads_f, joints_i, tails, out, scalar):
    """Rows of q, v, a to rows of out (nt, joints * 6). Returns the first row of a block with a bad number, or -1."""
    n_atoms, n_q, n_v = atoms_i.shape[0], q.shape[1], v.shape[1]
    n, n_loads = width(scalar), loads_i.shape[0]
    samples = Motion(q, v, a)
    motion = Motion(q=slots(n_q, out, scalar), v=slots(n_v, out, scalar), a=slots(n_v, out, scalar))
    frames, twists = slots((n_atoms + 1) * FRAME, out, scalar), slots(n_v * TWIST, out, scalar)
    wrenches, loads = slots(n_atoms * WRENCH, out, scalar), slots(n_loads * LOAD, out, scalar)
    out_ = slots(out.shape[1], out, scalar)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, q.shape[0], n):
        if any_not_less(outward_rows(atoms_i, atoms_f, samples, row, motion, frames, twists, scalar), 1.0):
            return row
        body_wrenches(atoms_i, atoms_f, frames, wrenches, scalar)
        if n_loads:
            gather_loads(loads_f, row, loads, scalar)
            apply_loads(loads_i, loads, frames, wrenches, scalar)
        for i in range(n_atoms - 1, -1, -1):
            if atoms_i[i, PARENT] >= 0:
                pass_down(wrenches, i, atoms_i[i, PARENT], WRENCH, scalar)
        reaction_values(joints_i, tails, frames, wrenches, out_, scalar)
        scatter(out_, 0, out, row, scalar)
    return -1


@allocating
def reaction_derivatives(tree, samples, loads, terms, joints, out, scalar):
    """Rows of the samples of a motion to rows of the reactions and their derivatives.

    Tuples of arrays: tree as in `TreeTables`, samples `Motion`, loads `Loads`, terms (terms_i, terms_f) of `Terms`,
    joints `JointTables`, out `ReactionDerivatives`. Returns the first row of a block with a bad number, or -1.
    """
    atoms_i, atoms_f, columns_i = tree
    loads_i, loads_f = loads
    values, by_q, by_v, by_a, by_p = out
    tree, samples, joints = TreeTables(atoms_i, atoms_f, columns_i), Motion(*samples), JointTables(*joints)
    n_atoms, n_v, n = atoms_i.shape[0], columns_i.shape[0], width(scalar)
    n_loads, has_world, size = loads_i.shape[0], any_in_world_axes(loads_i), by_q.shape[1]
    q_slots = slots(samples.q.shape[1], values, scalar)
    motion = Motion(q=q_slots, v=slots(n_v, values, scalar), a=slots(n_v, values, scalar))
    frames, twists = slots((n_atoms + 1) * FRAME, values, scalar), slots(n_v * TWIST, values, scalar)
    rates, wrenches = slots(n_v * RATES, values, scalar), slots(n_atoms * WRENCH, values, scalar)
    inertia, acting = slots(n_atoms * INERTIA_FLOW, values, scalar), slots(n_loads * LOAD, values, scalar)
    world = slots((n_atoms if has_world else 0) * WORLD_LOAD, values, scalar)
    w = Workspace(
        frames=frames, twists=twists, column_rates=rates, wrenches=wrenches, inertia=inertia, loads=acting, world=world
    )  # fmt: skip
    values_, bp = slots(values.shape[1], values, scalar), slots(by_p.shape[1], values, scalar)
    bq, bv, ba = slots(size, values, scalar), slots(size, values, scalar), slots(size, values, scalar)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, values.shape[0], n):
        if any_not_less(outward_rows(atoms_i, atoms_f, samples, row, motion, frames, twists, scalar), 1.0):
            return row
        column_rates(atoms_i, columns_i, frames, twists, rates, scalar)
        body_wrenches_and_moments(atoms_i, atoms_f, frames, wrenches, inertia, scalar)
        if n_loads:
            gather_loads(loads_f, row, acting, scalar)
            apply_loads(loads_i, acting, frames, wrenches, scalar)
        for i in range(n_atoms - 1, -1, -1):
            if atoms_i[i, PARENT] >= 0:
                pass_down(wrenches, i, atoms_i[i, PARENT], WRENCH, scalar)
                pass_down(inertia, i, atoms_i[i, PARENT], INERTIA_FLOW, scalar)
        if has_world:
            collect_world_loads(loads_i, acting, frames, world, n_atoms, scalar)
            for i in range(n_atoms - 1, -1, -1):
                if atoms_i[i, PARENT] >= 0:
                    pass_down(world, i, atoms_i[i, PARENT], WORLD_LOAD, scalar)
        reaction_values(joints.joints_i, joints.tails, frames, wrenches, values_, scalar)
        reaction_columns(joints, tree, w, has_world, bq, bv, ba, scalar)
        if by_p.shape[1]:
            reaction_terms(joints, tree, terms, loads_i, w, has_world, bp, by_p.shape[1], scalar)
            scatter(bp, 0, by_p, row, scalar)
        scatter(values_, 0, values, row, scalar)
        scatter(bq, 0, by_q, row, scalar)
        scatter(bv, 0, by_v, row, scalar)
        scatter(ba, 0, by_a, row, scalar)
    return -1


@entry
def reactions_one(atoms_i, atoms_f, q, v, a, loads_i, loads_f, joints_i, tails, out):
    """`reactions` sample by sample."""
    return reactions(atoms_i, atoms_f, q, v, a, loads_i, loads_f, joints_i, tails, out, 0.0)


@entry
def reactions_lanes(atoms_i, atoms_f, q, v, a, loads_i, loads_f, joints_i, tails, out):
    """`reactions` in SIMD lanes."""
    return reactions(atoms_i, atoms_f, q, v, a, loads_i, loads_f, joints_i, tails, out, lane_zero())


@entry
def reactions_complex(atoms_i, atoms_f, q, v, a, loads_i, loads_f, joints_i, tails, out):
    """`reactions` of complex numbers."""
    return reactions(atoms_i, atoms_f, q, v, a, loads_i, loads_f, joints_i, tails, out, 0j)


@entry
def reaction_derivatives_one(tree, samples, loads, terms, joints, out):
    """`reaction_derivatives` sample by sample."""
    return reaction_derivatives(tree, samples, loads, terms, joints, out, 0.0)


@entry
def reaction_derivatives_lanes(tree, samples, loads, terms, joints, out):
    """`reaction_derivatives` in SIMD lanes."""
    return reaction_derivatives(tree, samples, loads, terms, joints, out, lane_zero())
