"""Solutions of closed mechanisms' saddle-point systems from the factors of `loop_elimination`, and products with
Gamma, O(n) each."""

from __future__ import annotations

from mechgrad.dynamics.kernels.loop_elimination import GAIN, attached_covector
from mechgrad.inverse.kernels.articulated import (
    ARTICULATED,
    CHANGE_V,
    CHANGE_W,
    ELIMINATED,
    GAIN_V,
    GAIN_W,
    NEED_V,
    NEED_W,
    PIVOT,
    STEP,
)
from mechgrad.kernels.elementary import magnitude
from mechgrad.kernels.jit import inlined, inner, spliced
from mechgrad.kernels.lanes import any_not_less, load, store, where_less
from mechgrad.kernels.vec3 import add, clear, dot, get3, plus_cross, put3, scale, zero3
from mechgrad.kinematics.kernels.header import row_int
from mechgrad.kinematics.kernels.measures import attachments_of_kind
from mechgrad.kinematics.kernels.outward import TWIST, columns_of_kind
from mechgrad.kinematics.kernels.row_states import attached_atom
from mechgrad.model.joints.base import PRISMATIC
from mechgrad.model.mechanism import AT_FACTORS, R_KIND
from mechgrad.model.tree import KIND, LAST_CHILD, PARENT, V_AT

SMALLEST = 1e-300  # defects that count as none


@inlined
def _pass_to_rows(x, n, rows, weights, start, first, count, u, scalar):
    """c_k -= w_k u / D of the rows first .. of a list; weights: w / D."""
    for e in range(count):
        at = n + rows[first + e]
        store(x, at, load(x, at, scalar) - load(weights, start + e, scalar) * u)


@inlined
def _of_rows(x, n, rows, weights, start, first, count, scalar):
    """w . y / D of the rows first .. of a list."""
    total = scalar * 0.0
    for e in range(count):
        total = total + load(weights, start + e, scalar) * load(x, n + rows[first + e], scalar)
    return total


@inner
def _close_inward(mechanism, loops, i, held, x, moment, force, scalar):
    """Right-hand sides of the multipliers of atom i, or (held) of those of the world; returns p."""
    plan, gains, n = loops.plan, loops.gains, mechanism.n_v
    for s in range(plan.close_start[i], plan.close_start[i + 1]):
        at, first = n + plan.close_row[s], plan.couple_start[s]
        u = load(x, at, scalar)
        if not held:
            moment = add(moment, scale(u, get3(gains, s * GAIN, scalar)))
            force = add(force, scale(u, get3(gains, s * GAIN + 3, scalar)))
        _pass_to_rows(x, n, plan.couple_row, loops.couples, first, first, plan.couple_start[s + 1] - first, u, scalar)
        store(x, at, u * load(gains, s * GAIN + 6, scalar))
    return moment, force


@inner
def _close_outward(mechanism, loops, i, held, x, dw, dv, scalar):
    """The multipliers of atom i, accelerated by dA, or (held) of the world."""
    plan, gains, n = loops.plan, loops.gains, mechanism.n_v
    for s in range(plan.close_start[i + 1] - 1, plan.close_start[i] - 1, -1):
        at, first = n + plan.close_row[s], plan.couple_start[s]
        y = load(x, at, scalar)
        y = y - _of_rows(x, n, plan.couple_row, loops.couples, first, first, plan.couple_start[s + 1] - first, scalar)
        if not held:
            y = y - (dot(get3(gains, s * GAIN, scalar), dw) + dot(get3(gains, s * GAIN + 3, scalar), dv))
        store(x, at, y)


@spliced
def _inward(mechanism, work, loops, x, scalar):
    """Right-hand sides u / D of all unknowns, and p of all atoms."""
    atoms_i, twists, inertias, plan, n = mechanism.atoms_i, work.twists, loops.inertias, loops.plan, mechanism.n_v
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        k, kind, first, parent = i * ARTICULATED, atoms_i[i, KIND], atoms_i[i, V_AT], atoms_i[i, PARENT]
        moment, force = zero3(scalar), zero3(scalar)
        if atoms_i[i, LAST_CHILD] >= 0:
            moment, force = get3(inertias, k + NEED_W, scalar), get3(inertias, k + NEED_V, scalar)
        moment, force = _close_inward(mechanism, loops, i, False, x, moment, force, scalar)
        stay, count = plan.stay_start[i], plan.stay_start[i + 1] - plan.stay_start[i]
        for j in range(first + columns_of_kind(kind) - 1, first - 1, -1):
            e = k + (j - first) * ELIMINATED
            if kind == PRISMATIC:
                u = load(x, j, scalar) - dot(get3(twists, j * TWIST + 3, scalar), force)
            else:
                u = load(x, j, scalar) - dot(get3(twists, j * TWIST, scalar), moment)
            moment = add(moment, scale(u, get3(inertias, e + GAIN_W, scalar)))
            force = add(force, scale(u, get3(inertias, e + GAIN_V, scalar)))
            _pass_to_rows(x, n, plan.stay_row, loops.weights, plan.weight_start[j], stay, count, u, scalar)
            store(x, j, u * load(inertias, e + PIVOT, scalar))
        if parent >= 0:
            p = parent * ARTICULATED
            moment = plus_cross(moment, get3(inertias, k + STEP, scalar), force)
            if atoms_i[parent, LAST_CHILD] != i:
                moment = add(moment, get3(inertias, p + NEED_W, scalar))
                force = add(force, get3(inertias, p + NEED_V, scalar))
            put3(inertias, p + NEED_W, moment)
            put3(inertias, p + NEED_V, force)


@inlined
def _change_before(atoms_i, inertias, i, scalar):
    """dA that the atom before hands to atom i."""
    parent, k = atoms_i[i, PARENT], i * ARTICULATED
    dw, dv = zero3(scalar), zero3(scalar)
    if parent >= 0:
        p = parent * ARTICULATED
        dw = get3(inertias, p + CHANGE_W, scalar)
        dv = plus_cross(get3(inertias, p + CHANGE_V, scalar), dw, get3(inertias, k + STEP, scalar))
    return dw, dv


@inner
def solve_loops(mechanism, work, loops, x, scalar):
    """x (n + m slots), right-hand side, := solution, from the factors of `factor_loops`; leaves how atoms are
    accelerated in loops.inertias (CHANGE_W, CHANGE_V)."""
    atoms_i, twists, inertias, plan, n = mechanism.atoms_i, work.twists, loops.inertias, loops.plan, mechanism.n_v
    zero = zero3(scalar)
    _inward(mechanism, work, loops, x, scalar)
    _close_inward(mechanism, loops, mechanism.n_atoms, True, x, zero, zero, scalar)
    _close_outward(mechanism, loops, mechanism.n_atoms, True, x, zero, zero, scalar)
    for i in range(atoms_i.shape[0]):
        k, kind, first = i * ARTICULATED, atoms_i[i, KIND], atoms_i[i, V_AT]
        dw, dv = _change_before(atoms_i, inertias, i, scalar)
        stay, count = plan.stay_start[i], plan.stay_start[i + 1] - plan.stay_start[i]
        for j in range(first, first + columns_of_kind(kind)):
            e = k + (j - first) * ELIMINATED
            gain = dot(get3(inertias, e + GAIN_W, scalar), dw) + dot(get3(inertias, e + GAIN_V, scalar), dv)
            held = _of_rows(x, n, plan.stay_row, loops.weights, plan.weight_start[j], stay, count, scalar)
            a = load(x, j, scalar) - (gain + held)
            store(x, j, a)
            if kind == PRISMATIC:
                dv = add(dv, scale(a, get3(twists, j * TWIST + 3, scalar)))
            else:
                dw = add(dw, scale(a, get3(twists, j * TWIST, scalar)))
        put3(inertias, k + CHANGE_W, dw)
        put3(inertias, k + CHANGE_V, dv)
        _close_outward(mechanism, loops, i, False, x, dw, dv, scalar)


@inner
def move_atoms(mechanism, work, loops, x, scalar):
    """How the columns x accelerate atoms, into loops.inertias as `solve_loops` leaves it; after `factor_loops`."""
    atoms_i, twists, inertias = mechanism.atoms_i, work.twists, loops.inertias
    for i in range(atoms_i.shape[0]):
        k, kind, first = i * ARTICULATED, atoms_i[i, KIND], atoms_i[i, V_AT]
        dw, dv = _change_before(atoms_i, inertias, i, scalar)
        for j in range(first, first + columns_of_kind(kind)):
            if kind == PRISMATIC:
                dv = add(dv, scale(load(x, j, scalar), get3(twists, j * TWIST + 3, scalar)))
            else:
                dw = add(dw, scale(load(x, j, scalar), get3(twists, j * TWIST, scalar)))
        put3(inertias, k + CHANGE_W, dw)
        put3(inertias, k + CHANGE_V, dv)


@inner
def take_row_changes(mechanism, work, loops, x, c, scalar):
    """c -= Gamma x for the columns x that atoms were moved by last."""
    ints, inertias, plan = mechanism.ints, loops.inertias, loops.plan
    for k in range(mechanism.n_constraints):
        total = scalar * 0.0
        for f in range(attachments_of_kind(row_int(ints, k, R_KIND))):
            atom = attached_atom(ints, k, f)
            if atom < mechanism.n_atoms:
                moment, force = attached_covector(mechanism, work, k, f, scalar)
                o = atom * ARTICULATED
                total = total + dot(get3(inertias, o + CHANGE_W, scalar), moment)
                total = total + dot(get3(inertias, o + CHANGE_V, scalar), force)
        store(c, k, load(c, k, scalar) - total)
    for j in range(mechanism.n_v):
        for e in range(plan.linear_start[j], plan.linear_start[j + 1]):
            k, factor = plan.linear_row[e], mechanism.numbers[ints[AT_FACTORS] + plan.linear_factor[e]]
            store(c, k, load(c, k, scalar) - load(x, j, scalar) * factor)


@inner
def solve_regular(mechanism, work, loops, passes, enough, scalar):
    """loops.x, right-hand side, := solution without the influence of eps, which is taken away by repetition: `passes`
    times at most, until what is left of rows, loops.c, is no larger than `enough` beside c."""
    n, m, x, y, c = mechanism.n_v, mechanism.n_constraints, loops.x, loops.y, loops.c
    most = scalar * 0.0
    for k in range(m):
        right = load(x, n + k, scalar)
        store(c, k, right)
        size = magnitude(right)
        most = where_less(most, size, size, most)
    solve_loops(mechanism, work, loops, x, scalar)
    if passes > 0:
        take_row_changes(mechanism, work, loops, x, c, scalar)
    for _ in range(passes):
        left = False
        for k in range(m):
            left = left or any_not_less(magnitude(load(c, k, scalar)) - enough * most, SMALLEST)
        if not left:
            break
        clear(y, 0, n, scalar)
        for k in range(m):
            store(y, n + k, load(c, k, scalar))
        solve_loops(mechanism, work, loops, y, scalar)
        for j in range(n + m):
            store(x, j, load(x, j, scalar) + load(y, j, scalar))
        take_row_changes(mechanism, work, loops, y, c, scalar)
