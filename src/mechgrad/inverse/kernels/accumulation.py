"""Semi-recursive accumulation with a reference point per atom: velocities outward, inertias and forces inward.

The motion of atom i is that of one of its material points, r_i, with the angular velocity. From atom h to atom i
beyond it, with x_J the joint's point, s_j the axes of its columns (fixed in h) and t' the rate of a slide:

    step = r_i - r_h,   arm = r_i - x_J,   w_rel = sum_j s_j v_j,   t' = s v
    V_i  = B_i V_h + b_i v                 r_i'  = r_h' + w_h x step + w_rel x arm + t'
    V_i' = B_i V_h' + b_i a + d_i          r_i'' = r_h'' + w_h' x step + (sum_j s_j a_j) x arm + s a + d
    d    = w_h x (r_i' - r_h') + (w_h x w_rel) x arm + w_rel x (w_i x arm) + w_h x t'

Columns are b_j = (s_j, s_j x arm) of a rotation and (0, s_j) of a slide. With c = centre of mass - r_i, J the inertia
about the centre of mass and gravity as an acceleration of the world, an atom's body needs

    force  F = m (r_i'' + w' x c + w x (w x c)),       moment N = J w' + w x J w + c x F          about r_i

and inward, over the children s of i (mass moments m, h, S about r_i):

    B_s^T (F, N) = (F, N + step x F)                   H_i = (F, N)_i + sum_s B_s^T H_s,          r_j = b_j . H_i
    B_s^T M_s B_s: h + m step,  S + h step^T + step h^T + m step step^T                           M_jk = b_j . M_i b_ik

Two choices of r_i. ABOUT_COM: the centre of mass (the atom's origin where there is no mass); c = 0, and step and arm
are lengths of the mechanism wherever it stands. ABOUT_ONE_POINT: the material point from which positions count
(`outward`); step = 0, B = 1, sums need no shift, and arm = -x_J, c = centre of mass grow with the distance from it.

Rotations, positions and angular velocities are those of `outward`, which is why it runs first; its linear velocities
are of the material point at the origin and are not used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.inverse.kernels.wrenches import (
    FIRST,
    FORCE,
    INERTIA,
    MOMENT,
    SECOND,
    WRENCH,
    centroidal_moments,
    dyad_added,
    inertia_v,
    inertia_w,
)
from mechgrad.kernels.jit import allocating, entry, inlined, inner
from mechgrad.kernels.lanes import any_not_less, lane_zero, load, scatter, store, width
from mechgrad.kernels.slots import slots
from mechgrad.kernels.vec3 import add, add3, clear, combine, cross, dot, get3, get6, put3, scale, sub, sym_mul, zero3
from mechgrad.kinematics.kernels.outward import (
    AT,
    AX,
    AY,
    AZ,
    DV,
    DW,
    FRAME,
    TWIST,
    W,
    columns_of_kind,
    outward,
    outward_rows,
    place_world,
)
from mechgrad.kinematics.kernels.tables import Motion
from mechgrad.model.joints.base import BALL, PRISMATIC, REVOLUTE
from mechgrad.model.tree import BEYOND, C_ATOM, C_PARENT, COM, HAS_MASS, KIND, MASS, ORIGIN, PARENT, Q_AT, V_AT

ABOUT_COM, ABOUT_ONE_POINT = 0, 1
# slots of one atom's motion: r_i - r_h, r_i - x_J, centre of mass - r_i, r_i', r_i''; the world's stand after the last
# atom's
STEP, ARM, CENTRE, RATE, SECOND_RATE = 0, 3, 6, 9, 12
REFERENCE = 15


@inlined
def _centre_of_mass(atoms_i, atoms_f, i, frames, scalar):
    """Centre of mass of atom i's body from the atom's origin, world axes; zero where there is no mass."""
    if atoms_i[i, HAS_MASS] == 0:
        return zero3(scalar)
    o = i * FRAME
    return combine(
        atoms_f[i, COM], atoms_f[i, COM + 1], atoms_f[i, COM + 2],
        get3(frames, o + AX, scalar), get3(frames, o + AY, scalar), get3(frames, o + AZ, scalar),
    )  # fmt: skip


@inlined
def _joint_rates(atoms_i, i, v, twists, scalar):
    """Angular and linear part that the numbers v give to the columns of atom i: (sum_j s_j v_j, 0) or (0, s v)."""
    kind, j = atoms_i[i, KIND], atoms_i[i, V_AT]
    spin, slide = zero3(scalar), zero3(scalar)
    if kind == REVOLUTE:
        spin = scale(load(v, j, scalar), get3(twists, j * TWIST, scalar))
    elif kind == PRISMATIC:
        slide = scale(load(v, j, scalar), get3(twists, j * TWIST + 3, scalar))
    elif kind == BALL:
        v0, v1, v2 = get3(v, j, scalar)
        o = j * TWIST
        spin = combine(v0, v1, v2, get3(twists, o, scalar), get3(twists, o + 6, scalar), get3(twists, o + 12, scalar))
    return spin, slide


@inner
def recursion_outward(atoms_i, atoms_f, q, v, a, reference, frames, twists, motions, scalar):
    """Fill motions, REFERENCE slots per atom and for the world, from what `outward` left in frames and twists."""
    n_atoms = atoms_i.shape[0]
    clear(motions, n_atoms * REFERENCE, REFERENCE, scalar)
    put3(motions, n_atoms * REFERENCE + SECOND_RATE, get3(frames, n_atoms * FRAME + DV, scalar))
    for i in range(n_atoms):
        parent = atoms_i[i, PARENT]
        h = parent if parent >= 0 else n_atoms
        o, p, k = i * FRAME, h * FRAME, h * REFERENCE
        centre = _centre_of_mass(atoms_i, atoms_f, i, frames, scalar)
        if reference == ABOUT_ONE_POINT:
            arm, step = sub(zero3(scalar), get3(frames, o + AT, scalar)), zero3(scalar)
            centre = sub(centre, arm)
        else:
            # by the lengths of the mechanism: a difference of positions would lose digits far from the origin
            bx, by, bz = get3(frames, p + AX, scalar), get3(frames, p + AY, scalar), get3(frames, p + AZ, scalar)
            arm, centre = centre, zero3(scalar)
            step = combine(atoms_f[i, ORIGIN], atoms_f[i, ORIGIN + 1], atoms_f[i, ORIGIN + 2], bx, by, bz)
            step = add(sub(step, get3(motions, k + ARM, scalar)), arm)
            if atoms_i[i, KIND] == PRISMATIC:
                step = add(step, scale(load(q, atoms_i[i, Q_AT], scalar), get3(frames, o + AZ, scalar)))
        w, dw, w_i = get3(frames, p + W, scalar), get3(frames, p + DW, scalar), get3(frames, o + W, scalar)
        spin, slide = _joint_rates(atoms_i, i, v, twists, scalar)
        spin_change, slide_change = _joint_rates(atoms_i, i, a, twists, scalar)
        change = add(add(cross(w, step), cross(spin, arm)), slide)
        turn = add(cross(cross(w, spin), arm), cross(spin, cross(w_i, arm)))
        bias = add(add(cross(w, change), turn), cross(w, slide))
        second = add(add(cross(dw, step), cross(spin_change, arm)), add(slide_change, bias))
        at = i * REFERENCE
        put3(motions, at + STEP, step)
        put3(motions, at + ARM, arm)
        put3(motions, at + CENTRE, centre)
        put3(motions, at + RATE, add(get3(motions, k + RATE, scalar), change))
        put3(motions, at + SECOND_RATE, add(get3(motions, k + SECOND_RATE, scalar), second))


@inner
def com_outward(atoms_i, atoms_f, q, v, a, frames, twists, motions, scalar):
    """`outward`, then the recursion about centres of mass. Returns what `outward` does."""
    check = outward(atoms_i, atoms_f, q, v, a, frames, twists, scalar)
    recursion_outward(atoms_i, atoms_f, q, v, a, ABOUT_COM, frames, twists, motions, scalar)
    return check


@inlined
def column_about(kind, j, arm, twists, scalar):
    """b_j as (angular, linear): only the axis is taken from the twist, whose moment is about the world's origin."""
    if kind == PRISMATIC:
        return zero3(scalar), get3(twists, j * TWIST + 3, scalar)
    s = get3(twists, j * TWIST, scalar)
    return s, cross(s, arm)


@inner
def accumulated_residual(atoms_i, atoms_f, frames, twists, motions, wrenches, r, scalar):
    """r = b^T H: the generalized forces that the motion needs, weight included.

    On entry `wrenches` holds, per atom, force and moment about the world's origin that its body needs beside inertia
    and weight: minus what acts on it, as `apply_loads` leaves it, zeros if nothing does. On return it holds H, about
    the reference points.
    """
    n_atoms = atoms_i.shape[0]
    for i in range(n_atoms):
        o, at, k = i * FRAME, i * REFERENCE, i * WRENCH
        force = get3(wrenches, k + FORCE, scalar)
        point = add(get3(frames, o + AT, scalar), get3(motions, at + ARM, scalar))
        moment = sub(get3(wrenches, k + MOMENT, scalar), cross(point, force))
        if atoms_i[i, HAS_MASS]:
            w, dw, c = get3(frames, o + W, scalar), get3(frames, o + DW, scalar), get3(motions, at + CENTRE, scalar)
            S = centroidal_moments(atoms_f, i, frames, scalar)
            trace = S[0] + S[3] + S[5]
            second = add(get3(motions, at + SECOND_RATE, scalar), add(cross(dw, c), cross(w, cross(w, c))))
            inertia_force = scale(atoms_f[i, MASS], second)
            # w x J w with J = tr(S) - S: the trace turns nothing
            turn = sub(sub(scale(trace, dw), sym_mul(S, dw)), cross(w, sym_mul(S, w)))
            force = add(force, inertia_force)
            moment = add(moment, add(turn, cross(c, inertia_force)))
        put3(wrenches, k + FORCE, force)
        put3(wrenches, k + MOMENT, moment)
    for i in range(n_atoms - 1, -1, -1):
        kind, parent = atoms_i[i, KIND], atoms_i[i, PARENT]
        force, moment = get3(wrenches, i * WRENCH + FORCE, scalar), get3(wrenches, i * WRENCH + MOMENT, scalar)
        arm = get3(motions, i * REFERENCE + ARM, scalar)
        for j in range(atoms_i[i, V_AT], atoms_i[i, V_AT] + columns_of_kind(kind)):
            s, m = column_about(kind, j, arm, twists, scalar)
            store(r, j, dot(s, moment) + dot(m, force))
        if parent >= 0:
            step = get3(motions, i * REFERENCE + STEP, scalar)
            add3(wrenches, parent * WRENCH + FORCE, force, scalar)
            add3(wrenches, parent * WRENCH + MOMENT, add(moment, cross(step, force)), scalar)


@inlined
def _add_moments(inertia, i, mass, h, S, by, scalar):
    """Add the mass moments (mass, h, S) about a point to those of atom i, whose point is `by` before it."""
    shifted = add(h, scale(mass, by))
    # S + h by^T + by (h + m by)^T, symmetric as a whole
    S = dyad_added(dyad_added(S, h, by), by, shifted)
    add3(inertia, i * INERTIA + FIRST, shifted, scalar)
    add3(inertia, i * INERTIA + SECOND, (S[0], S[1], S[2]), scalar)
    add3(inertia, i * INERTIA + SECOND + 3, (S[3], S[4], S[5]), scalar)


@inner
def accumulated_mass(atoms_i, atoms_f, columns_i, start, frames, twists, motions, inertia, M, scalar):
    """Fill M, stored by chains as in `mass_by_chains`. Slots of `inertia`: INERTIA per atom."""
    n_atoms = atoms_i.shape[0]
    clear(inertia, 0, n_atoms * INERTIA, scalar)
    for i in range(n_atoms - 1, -1, -1):
        at, kind, parent = i * REFERENCE, atoms_i[i, KIND], atoms_i[i, PARENT]
        if atoms_i[i, HAS_MASS]:
            S = centroidal_moments(atoms_f, i, frames, scalar)
            _add_moments(inertia, i, atoms_f[i, MASS], zero3(scalar), S, get3(motions, at + CENTRE, scalar), scalar)
        h, S = get3(inertia, i * INERTIA + FIRST, scalar), get6(inertia, i * INERTIA + SECOND, scalar)
        mass, trace = atoms_f[i, BEYOND], S[0] + S[3] + S[5]
        arm = get3(motions, at + ARM, scalar)
        for j in range(atoms_i[i, V_AT], atoms_i[i, V_AT] + columns_of_kind(kind)):
            s, m = column_about(kind, j, arm, twists, scalar)
            moment, force = inertia_w(trace, S, h, s, m), inertia_v(mass, h, s, m)
            slot, c, atom = start[j], j, i
            while c >= 0:
                while atom != columns_i[c, C_ATOM]:
                    moment = add(moment, cross(get3(motions, atom * REFERENCE + STEP, scalar), force))
                    atom = atoms_i[atom, PARENT]
                arm_c = get3(motions, atom * REFERENCE + ARM, scalar)
                s_c, m_c = column_about(atoms_i[atom, KIND], c, arm_c, twists, scalar)
                store(M, slot, dot(s_c, moment) + dot(m_c, force))
                c = columns_i[c, C_PARENT]
                slot += 1
        if parent >= 0:
            _add_moments(inertia, parent, mass, h, S, get3(motions, at + STEP, scalar), scalar)


class Chains(NamedTuple):
    """Where a matrix stored by chains stands in the packed one: `start` (n_v,) of each column's chain, and for every
    entry its packed position and that of its transpose."""

    start: np.ndarray
    positions: np.ndarray
    transposed: np.ndarray


@allocating
def semi_recursive(tree, chains, reference, samples, M, r, scalar):
    """Rows of the samples of a motion to rows of M (nt, nnz) and r (nt, n_v).

    Tuples of arrays: tree as in `TreeTables`, chains `Chains`, samples `Motion`; reference: ABOUT_COM or
    ABOUT_ONE_POINT. Returns the first row of a block with a bad number, or -1.
    """
    atoms_i, atoms_f, columns_i = tree
    start, positions, transposed = chains
    samples = Motion(*samples)
    n_atoms, n_v, n = atoms_i.shape[0], columns_i.shape[0], width(scalar)
    motion = Motion(q=slots(samples.q.shape[1], r, scalar), v=slots(n_v, r, scalar), a=slots(n_v, r, scalar))
    frames, twists = slots((n_atoms + 1) * FRAME, r, scalar), slots(n_v * TWIST, r, scalar)
    motions, r_ = slots((n_atoms + 1) * REFERENCE, r, scalar), slots(n_v, r, scalar)
    wrenches, inertia = slots(n_atoms * WRENCH, r, scalar), slots(n_atoms * INERTIA, r, scalar)
    by_chains, packed = slots(positions.size, r, scalar), slots(M.shape[1], r, scalar)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, r.shape[0], n):
        check = outward_rows(atoms_i, atoms_f, samples, row, motion, frames, twists, scalar)
        if any_not_less(check, 1.0):
            return row
        recursion_outward(
            atoms_i, atoms_f, motion.q, motion.v, motion.a, reference, frames, twists, motions, scalar
        )  # fmt: skip
        clear(wrenches, 0, n_atoms * WRENCH, scalar)
        accumulated_residual(atoms_i, atoms_f, frames, twists, motions, wrenches, r_, scalar)
        accumulated_mass(atoms_i, atoms_f, columns_i, start, frames, twists, motions, inertia, by_chains, scalar)
        for k in range(positions.size):
            value = load(by_chains, k, scalar)
            store(packed, positions[k], value)
            store(packed, transposed[k], value)
        scatter(packed, 0, M, row, scalar)
        scatter(r_, 0, r, row, scalar)
    return -1


@entry
def semi_recursive_one(tree, chains, reference, samples, M, r):
    """`semi_recursive` sample by sample."""
    return semi_recursive(tree, chains, reference, samples, M, r, 0.0)


@entry
def semi_recursive_lanes(tree, chains, reference, samples, M, r):
    """`semi_recursive` in SIMD lanes."""
    return semi_recursive(tree, chains, reference, samples, M, r, lane_zero())


@entry
def semi_recursive_complex(tree, chains, reference, samples, M, r):
    """`semi_recursive` of complex numbers."""
    return semi_recursive(tree, chains, reference, samples, M, r, 0j)
