"""Saddle-point systems of closed mechanisms by recursive elimination, O(n) for many small loops: no matrix at all.

    [ M      Gamma^T ] [ x ]   [ b ]
    [ Gamma  -eps    ] [ y ] = [ c ]

Elimination of trees (`inverse.kernels.articulated`) that carries along the columns of closures. Seen from its parent,
body i with everything beyond it free needs the wrench f and leaves equations of the rows k that reach beyond it and
are still open there,

    f   = I dA + p + sum_k G_k y_k              dA: how the body is to be accelerated
    c_k = G_k . dA + sum_l E_kl y_l             at first E = -eps, G_k = (x cross g, g) of the row's attachments

An unknown with pivot D, covector U, couplings w and right-hand side u is eliminated by

    I -= U U^T / D     G_k -= U w_k / D     E_kl -= w_k w_l / D     p += U u / D     c_k -= w_k u / D

    a column with twist S     U = I S     D = S . U     w_k = S . G_k + (factor of a LINEAR row)     u = b - S . p
    a multiplier y_k          U = G_k     D = E_kk      w_l = E_kl                                  u = c_k

A multiplier follows when all columns are eliminated that move its row in itself: at the body where the ways to its
attachments meet, or in the world, where dA = 0. Its pivot is then -(eps + J A^-1 J^T) < 0: the loop is closed, and
what is left of it are six by six numbers of that body. Outward, unknowns follow from dA of the atom before and from
multipliers that are known there,

    x = (u - U . dA - w . y) / D,        dA += S x

E and c are sums over all columns, wherever these are, so each of their numbers stands once; G stands once for each
atom that a row is open at. With r rows open at an atom, it costs O((6 + r)^2). The tables that say which
(`dynamics.loop_plan`) are made once per model. Everything is about the atom's own origin, in world axes.
`articulated` has the pivots of columns; those of rows vanish for eps = 0 only.

Rodriguez, Jain, Kreutz-Delgado (1992) and Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 8, have eliminations
of single loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.inverse.kernels.articulated import (
    ARTICULATED,
    ELIMINATED,
    GAIN_V,
    GAIN_W,
    PIVOT,
    SPREAD,
    STEP,
    and_beyond,
    carried_inertia,
    dyad_taken,
    leave,
    own_inertia,
    pivot_terms,
    rows_taken,
    step_from,
    trace,
)
from mechgrad.kernels.elementary import reciprocal
from mechgrad.kernels.jit import inlined, inner, spliced
from mechgrad.kernels.lanes import load, store, where_less, width
from mechgrad.kernels.small_dense import PIVOT_TOLERANCE
from mechgrad.kernels.vec3 import (
    add3,
    clear,
    cross,
    dot,
    get3,
    mat_mul,
    mat_tmul,
    plus_cross,
    put3,
    scale,
    sub,
    sym_mul,
    zero3,
)
from mechgrad.kinematics.kernels.header import row_int
from mechgrad.kinematics.kernels.left_out_rows import ATTACHMENT, ATTACHMENTS, F_G, F_X
from mechgrad.kinematics.kernels.measures import attachments_of_kind
from mechgrad.kinematics.kernels.outward import AT, FRAME, TWIST, apart, columns_of_kind
from mechgrad.kinematics.kernels.row_states import acts_at_a_point, attached_atom
from mechgrad.model.joints.base import PRISMATIC
from mechgrad.model.mechanism import AT_FACTORS, R_KIND
from mechgrad.model.tree import BEYOND, HAS_MASS, KIND, LAST_CHILD, PARENT, V_AT

GAIN = 7  # slots of an eliminated multiplier: U / D and 1 / D
COVECTOR = 6  # slots of an entry of G: moment and force


class LoopPlan(NamedTuple):
    """Which rows are open where, and where their numbers are (`dynamics.loop_plan`).

    Entries are places of G, one for each atom and row that is open there; pairs are places of E. -1: none.
    """

    close_start: np.ndarray  # (atoms + 2,) the rows that are eliminated at each atom, and last in the world
    close_row: np.ndarray  # one after the other
    close_entry: np.ndarray  # their entries at that atom
    couple_start: np.ndarray  # (rows + 1,) the rows l that each relates then
    couple_row: np.ndarray
    couple_entry: np.ndarray
    couple_pair: np.ndarray  # of (k, l)
    couple_target_start: np.ndarray  # (rows + 1,) pairs of these rows l, those behind the first, those behind ..
    couple_target: np.ndarray
    stay_start: np.ndarray  # (atoms + 1,) the rows that columns of each atom relate
    stay_row: np.ndarray
    stay_entry: np.ndarray
    stay_up: np.ndarray  # entries at the atom before
    stay_target_start: np.ndarray  # (atoms + 1,) their pairs
    stay_target: np.ndarray
    weight_start: np.ndarray  # (n_v + 1,) where the couplings of each column are
    linear_start: np.ndarray  # (n_v + 1,) the LINEAR rows with a factor of each column:
    linear_place: np.ndarray  # which of the rows that its atom relates, and which factor
    linear_factor: np.ndarray
    linear_row: np.ndarray
    attached: np.ndarray  # (4 m,) entries that the attachments of rows act on
    diagonal: np.ndarray  # (m,) pairs (k, k)


class Loops(NamedTuple):
    """A plan with numbers and workspace, slots of one scalar."""

    plan: LoopPlan
    eps: np.ndarray  # (m,)
    omega: float  # of the acceleration problem (`dynamics.kernels.state_accelerations`)
    xi: float
    compliant: bool
    inertias: np.ndarray  # ARTICULATED of each atom
    G: np.ndarray
    E: np.ndarray
    gains: np.ndarray
    couples: np.ndarray  # w / D of rows and of columns
    weights: np.ndarray
    r: np.ndarray  # (n,)
    x: np.ndarray  # (n + m,) right-hand side and solution, and a correction of it
    y: np.ndarray
    c: np.ndarray  # (m,)
    q: np.ndarray  # (n_q,)


@inlined
def attached_covector(mechanism, work, k, f, scalar):
    """The covector of attachment f of row k about the origin of its atom."""
    o = k * ATTACHMENTS + f * ATTACHMENT
    x, g = get3(work.attachments, o + F_X, scalar), get3(work.attachments, o + F_G, scalar)
    if acts_at_a_point(mechanism.ints, k, f):
        at = get3(work.frames, attached_atom(mechanism.ints, k, f) * FRAME + AT, scalar)
        return cross(sub(x, at), g), g
    return cross(x, g), zero3(scalar)


@inner
def _open_rows(mechanism, work, loops, scalar):
    """G of the attachments, E = -eps."""
    plan, G, E = loops.plan, loops.G, loops.E
    clear(G, 0, G.size // width(scalar), scalar)
    clear(E, 0, E.size // width(scalar), scalar)
    for k in range(mechanism.n_constraints):
        store(E, plan.diagonal[k], scalar * 0.0 - loops.eps[k])
        for f in range(attachments_of_kind(row_int(mechanism.ints, k, R_KIND))):
            e = plan.attached[4 * k + f]
            if e >= 0:
                moment, force = attached_covector(mechanism, work, k, f, scalar)
                add3(G, COVECTOR * e, moment, scalar)
                add3(G, COVECTOR * e + 3, force, scalar)


@inlined
def _take_pairs(E, targets, at, weights, first, count, pivot, scalar):
    """E_kl -= w_k w_l / D for rows in pairs; weights: w / D. Returns where the next pairs are."""
    for a in range(first, first + count):
        w = load(weights, a, scalar) * pivot
        for b in range(first, a + 1):
            e = targets[at]
            store(E, e, load(E, e, scalar) - w * load(weights, b, scalar))
            at += 1
    return at


@inlined
def _take_covector(G, e, w, gain_w, gain_v, scalar):
    """G_k -= U w_k / D of entry e, w the coupling itself."""
    o = COVECTOR * e
    put3(G, o, sub(get3(G, o, scalar), scale(w, gain_w)))
    put3(G, o + 3, sub(get3(G, o + 3, scalar), scale(w, gain_v)))


@inlined
def _couplings(plan, E, couples, s, inverse, scalar):
    """w / D of the multiplier s."""
    for e in range(plan.couple_start[s], plan.couple_start[s + 1]):
        store(couples, e, load(E, plan.couple_pair[e], scalar) * inverse)


@spliced
def _close_rows(mechanism, loops, i, A, B, C, failed, scalar):
    """Eliminate the multipliers of atom i. Returns its inertia with these loops closed, and `failed`."""
    plan, G, E, gains, couples = loops.plan, loops.G, loops.E, loops.gains, loops.couples
    zero, one = 0.0 * scalar, 1.0 + 0.0 * scalar
    for s in range(plan.close_start[i], plan.close_start[i + 1]):
        pivot, o = load(E, plan.diagonal[plan.close_row[s]], scalar), COVECTOR * plan.close_entry[s]
        failed = where_less(pivot, zero, failed, one)
        inverse = reciprocal(pivot)
        Uw, Uv = get3(G, o, scalar), get3(G, o + 3, scalar)
        gain_w, gain_v = scale(inverse, Uw), scale(inverse, Uv)
        put3(gains, s * GAIN, gain_w)
        put3(gains, s * GAIN + 3, gain_v)
        store(gains, s * GAIN + 6, inverse)
        _couplings(plan, E, couples, s, inverse, scalar)
        first, last = plan.couple_start[s], plan.couple_start[s + 1]
        for e in range(first, last):
            w = load(couples, e, scalar) * pivot
            _take_covector(G, plan.couple_entry[e], w, gain_w, gain_v, scalar)
        _take_pairs(E, plan.couple_target, plan.couple_target_start[s], couples, first, last - first, pivot, scalar)
        A, B, C = dyad_taken(A, Uw, gain_w), rows_taken(B, Uw, gain_v), dyad_taken(C, Uv, gain_v)
    return A, B, C, failed


@inner
def _close_in_world(mechanism, loops, failed, scalar):
    """Eliminate the multipliers of rows that end in the world. Returns `failed`."""
    plan, E, gains, couples = loops.plan, loops.E, loops.gains, loops.couples
    zero, one, world = 0.0 * scalar, 1.0 + 0.0 * scalar, mechanism.n_atoms
    for s in range(plan.close_start[world], plan.close_start[world + 1]):
        pivot = load(E, plan.diagonal[plan.close_row[s]], scalar)
        failed = where_less(pivot, zero, failed, one)
        inverse = reciprocal(pivot)
        store(gains, s * GAIN + 6, inverse)
        _couplings(plan, E, couples, s, inverse, scalar)
        first, last = plan.couple_start[s], plan.couple_start[s + 1]
        _take_pairs(E, plan.couple_target, plan.couple_target_start[s], couples, first, last - first, pivot, scalar)
    return failed


@inlined
def _take_column(mechanism, loops, i, j, s, gain_w, gain_v, pivot, inverse, scalar):
    """What eliminating column j of atom i does to the rows that are open there."""
    plan, G, weights = loops.plan, loops.G, loops.weights
    first, count, start = plan.stay_start[i], plan.stay_start[i + 1] - plan.stay_start[i], plan.weight_start[j]
    for e in range(count):
        o = COVECTOR * plan.stay_entry[first + e]
        w = dot(s, get3(G, o + 3, scalar)) if mechanism.atoms_i[i, KIND] == PRISMATIC else dot(s, get3(G, o, scalar))
        store(weights, start + e, w)
    for c in range(plan.linear_start[j], plan.linear_start[j + 1]):
        at = start + plan.linear_place[c]
        factor = mechanism.numbers[mechanism.ints[AT_FACTORS] + plan.linear_factor[c]]
        store(weights, at, load(weights, at, scalar) + factor)
    for e in range(count):
        w = load(weights, start + e, scalar)
        _take_covector(G, plan.stay_entry[first + e], w, gain_w, gain_v, scalar)
        store(weights, start + e, w * inverse)
    _take_pairs(loops.E, plan.stay_target, plan.stay_target_start[i], weights, start, count, pivot, scalar)


@inner
def _hand_rows_on(plan, G, i, d, scalar):
    """Add G of the rows that stay open at atom i to those of the atom before, at -d."""
    for e in range(plan.stay_start[i], plan.stay_start[i + 1]):
        if plan.stay_up[e] >= 0:
            o, up = COVECTOR * plan.stay_entry[e], COVECTOR * plan.stay_up[e]
            force = get3(G, o + 3, scalar)
            add3(G, up, plus_cross(get3(G, o, scalar), d, force), scalar)
            add3(G, up + 3, force, scalar)


@inner
def factor_loops(mechanism, work, loops, scalar):
    """Eliminate all unknowns of the placed state (`dynamics.kernels.system.place`, with all constraint rows). Returns
    0, or 1 in samples where a pivot vanishes."""
    atoms_i, atoms_f, frames, twists = mechanism.atoms_i, mechanism.atoms_f, work.frames, work.twists
    inertias, plan = loops.inertias, loops.plan
    failed, one, zero = 0.0 * scalar, 1.0 + 0.0 * scalar, zero3(scalar)
    _open_rows(mechanism, work, loops, scalar)
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        k, kind, handed = i * ARTICULATED, atoms_i[i, KIND], 0.0 * scalar
        A, B, C, moment, force = own_inertia(atoms_i, atoms_f, i, frames, False, scalar)
        if atoms_i[i, LAST_CHILD] >= 0:
            A, B, C, moment, force = and_beyond(inertias, k, A, B, C, moment, force, scalar)
            handed = load(inertias, k + SPREAD, scalar)
        A, B, C, failed = _close_rows(mechanism, loops, i, A, B, C, failed, scalar)
        spread = trace(A)
        size = spread + handed
        first, parent = atoms_i[i, V_AT], atoms_i[i, PARENT]
        for j in range(first + columns_of_kind(kind) - 1, first - 1, -1):
            if kind == PRISMATIC:
                s = get3(twists, j * TWIST + 3, scalar)
                Uw, Uv = mat_mul(B, s), sym_mul(C, s)
                pivot = dot(s, Uv)
            else:
                s = get3(twists, j * TWIST, scalar)
                Uw, Uv = sym_mul(A, s), mat_tmul(B, s)
                pivot = dot(s, Uw)
            least = PIVOT_TOLERANCE * pivot_terms(kind, atoms_f[i, BEYOND], size)
            failed = where_less(least, pivot, failed, one)
            inverse = reciprocal(pivot)
            gain_w, gain_v = scale(inverse, Uw), scale(inverse, Uv)
            e = k + (j - first) * ELIMINATED
            put3(inertias, e + GAIN_W, gain_w)
            put3(inertias, e + GAIN_V, gain_v)
            store(inertias, e + PIVOT, inverse)
            _take_column(mechanism, loops, i, j, s, gain_w, gain_v, pivot, inverse, scalar)
            A, B, C = dyad_taken(A, Uw, gain_w), rows_taken(B, Uw, gain_v), dyad_taken(C, Uv, gain_v)
        store(inertias, k + SPREAD, size)
        if parent >= 0:
            spread = 2.0 * (spread if atoms_i[i, HAS_MASS] else size)
            d = zero
            if apart(atoms_i, atoms_f, i):
                d = step_from(frames, i, parent, scalar)
                A, B = carried_inertia(A, B, C, d)
            put3(inertias, k + STEP, d)
            _hand_rows_on(plan, loops.G, i, d, scalar)
            p = parent * ARTICULATED
            if atoms_i[parent, LAST_CHILD] != i:  # others were there before
                A, B, C, moment, force = and_beyond(inertias, p, A, B, C, zero, zero, scalar)
                spread = spread + load(inertias, p + SPREAD, scalar)
            leave(inertias, p, A, B, C, spread, zero, zero)
    return _close_in_world(mechanism, loops, failed, scalar)
