"""Gradient of weighted residuals and rows by the state, O(n), and of accelerations of trees, without a matrix.

    s = mu . r(q, v, a, t) + sum_k (W0_k value_k + W1_k rate_k)

The sweeps are those of the gradient by all tables (`table_gradient_tree`), whose covectors P, K, G and f are summed
towards the ground: a coordinate displaces what is beyond its atom as a twist S of the rest frame would, and of a
velocity's change S the particles beyond have dxd = S(x), dxdd = 2 s x xd + Y(x). With the atom J and its parent p,

    ds/dq = S . (P - V_J x* (K - V_J x* G) - A_J x* G - U_J x* f)
    ds/dv = S . (K - (V_p + V_J) x* G)                                    since Y = (V_p + V_J) x S

S stands still in p: so J carries it, of a ball (whose three columns do not turn with it) and of all others alike. Rows
of coordinates and laws on these act on coordinates directly.

Accelerations of an open tree are a = M^-1 (Q - h), that is r(q, v, a, t) = 0, hence for a weight w on them

    M mu = -w,      d(w . a) = mu . (r_q dq + r_v dv)

mu by recursive elimination with w for the forces, the rest by the sweeps above: the elimination itself is never
differentiated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.pushed_rows import push_rows
from mechgrad.dynamics.kernels.state_accelerations import DONE, SINGULAR
from mechgrad.dynamics.kernels.system import begin, forces, make_work, place
from mechgrad.dynamics.kernels.table_gradient import make_block
from mechgrad.dynamics.kernels.table_gradient_laws import add_law_weights
from mechgrad.dynamics.kernels.table_gradient_rows import add_markers, add_rows, add_to, virtual_markers
from mechgrad.dynamics.kernels.table_gradient_tree import (
    COVECTORS,
    G_V,
    G_W,
    K_V,
    K_W,
    P_V,
    P_W,
    U_V,
    U_W,
    VIRTUAL,
    add_loads,
    place_inertia,
    sum_wrenches,
    virtual_twists,
)
from mechgrad.inverse.kernels.articulated import articulated_accelerations
from mechgrad.inverse.kernels.virtual import dual_cross
from mechgrad.inverse.kernels.wrenches import (
    FORCE,
    MOMENT,
    WRENCH,
    apply_loads,
    body_wrenches_and_moments,
    pass_down,
)
from mechgrad.kernels.jit import inlined, inner, kernel, runtime_int, wrapper
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.kernels.records import refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.kernels.vec3 import clear, dot, get3, sub
from mechgrad.kinematics.kernels.header import row_int
from mechgrad.kinematics.kernels.outward import DV, DW, FRAME, TWIST, V, W, columns_of_kind
from mechgrad.model.mechanism import AT_COORDS, AT_FACTORS, R_COUNT, R_FIRST, R_KIND
from mechgrad.model.primitives.rows import LINEAR
from mechgrad.model.tree import KIND, PARENT, V_AT


@inner
def _by_coordinates(mechanism, work, virtual, covectors, by_q, by_v, scalar):
    """Sum the covectors towards the ground; add the gradients by coordinates and velocities."""
    atoms_i, frames, twists, wrenches = mechanism.atoms_i, work.frames, work.twists, work.wrenches
    n_atoms = atoms_i.shape[0]
    for i in range(n_atoms - 1, -1, -1):
        parent = atoms_i[i, PARENT] if atoms_i[i, PARENT] >= 0 else n_atoms
        o, p, c, first = i * FRAME, parent * FRAME, i * COVECTORS, atoms_i[i, V_AT]
        columns = columns_of_kind(atoms_i[i, KIND])
        if columns:
            w, vel = get3(frames, o + W, scalar), get3(frames, o + V, scalar)
            gw, gv = get3(covectors, c + G_W, scalar), get3(covectors, c + G_V, scalar)
            tw, tv = dual_cross(w, vel, gw, gv)
            kw, kv = sub(get3(covectors, c + K_W, scalar), tw), sub(get3(covectors, c + K_V, scalar), tv)
            tw, tv = dual_cross(w, vel, kw, kv)
            moment, force = sub(get3(covectors, c + P_W, scalar), tw), sub(get3(covectors, c + P_V, scalar), tv)
            tw, tv = dual_cross(get3(frames, o + DW, scalar), get3(frames, o + DV, scalar), gw, gv)
            moment, force = sub(moment, tw), sub(force, tv)
            tw, tv = dual_cross(
                get3(virtual, i * VIRTUAL + U_W, scalar), get3(virtual, i * VIRTUAL + U_V, scalar),
                get3(wrenches, i * WRENCH + MOMENT, scalar), get3(wrenches, i * WRENCH + FORCE, scalar),
            )  # fmt: skip
            moment, force = sub(moment, tw), sub(force, tv)
            tw, tv = dual_cross(get3(frames, p + W, scalar), get3(frames, p + V, scalar), gw, gv)
            kw, kv = sub(kw, tw), sub(kv, tv)
            for j in range(first, first + columns):
                s, m = get3(twists, j * TWIST, scalar), get3(twists, j * TWIST + 3, scalar)
                add_to(by_q, j, dot(s, moment) + dot(m, force), scalar)
                add_to(by_v, j, dot(s, kw) + dot(m, kv), scalar)
        pass_down(covectors, i, parent, COVECTORS, scalar)


@inner
def _by_own_coordinates(mechanism, block, by_q, by_v, scalar):
    """What rows of coordinates, sum of factor q, add to the gradients directly."""
    ints = mechanism.ints
    for k in range(mechanism.n_all):
        if row_int(ints, k, R_KIND) == LINEAR:
            w0, w1 = load(block.w0, k, scalar), load(block.w1, k, scalar)
            start = row_int(ints, k, R_FIRST)
            for c in range(start, start + row_int(ints, k, R_COUNT)):
                j, factor = ints[ints[AT_COORDS] + 2 * c + 1], mechanism.numbers[ints[AT_FACTORS] + c]
                add_to(by_q, j, w0 * factor, scalar)
                add_to(by_v, j, w1 * factor, scalar)


@inner
def add_state_gradient(mechanism, work, block, t, by_q, by_v, scalar):
    """by_q, by_v (n_v) += the gradient of s in the placed state; its weights are in `block`, which is used up,
    multipliers of constraints in work.y."""
    atoms_i, frames, rows = mechanism.atoms_i, work.frames, mechanism.n_all
    forces(mechanism, work, t, scalar)
    body_wrenches_and_moments(atoms_i, mechanism.atoms_f, frames, work.wrenches, work.inertia, scalar)
    apply_loads(mechanism.loads_i, work.loads, frames, work.wrenches, scalar)
    push_rows(mechanism.ints, work.near_rows, work.attachments, work.y, work.wrenches, runtime_int(0), scalar)
    sum_wrenches(atoms_i, work.wrenches, scalar)
    virtual, covectors = block.virtual, block.covectors
    virtual_twists(atoms_i, work.twists, block.mu, virtual, scalar)
    place_inertia(atoms_i, mechanism.atoms_f, frames, work.inertia, virtual, covectors, None, scalar)
    add_loads(mechanism.loads_i, work.loads, frames, virtual, covectors, None, scalar)
    if rows:
        virtual_markers(mechanism.ints, work.near_markers, work.motion, virtual, block.xu, scalar)
        add_law_weights(mechanism, work, block, scalar)
        add_rows(mechanism, work, None, block, t, None, scalar)
        add_markers(
            mechanism.ints, work, virtual, block.xu, block.by_marker, covectors, None, scalar
        )  # fmt: skip
        _by_own_coordinates(mechanism, block, by_q, by_v, scalar)
    _by_coordinates(mechanism, work, virtual, covectors, by_q, by_v, scalar)


@inner
def _solve(mechanism, work, pull, mu, scalar):
    """mu := -M^-1 pull of the placed state. Returns 0, or more where M is singular."""
    failed = articulated_accelerations(
        mechanism.atoms_i, mechanism.atoms_f, work.frames, work.twists, False, False, work.wrenches, pull, work.inertia,
        mu, scalar,
    )  # fmt: skip
    for j in range(mechanism.n_v):
        store(mu, j, load(mu, j, scalar) * -1.0)
    return failed


@inlined
def any_pull(x):
    """Whether a number of x is not zero."""
    found = False
    for j in range(x.size):
        found = found or x[j] != 0.0
    return found


@inner
def pull_accelerations(mechanism, work, block, q, v, a, t, pull, by_q, by_v, scalar):
    """by_q, by_v += the gradient of pull . a(q, v, t) of an open tree in the state q, v with its a; block.mu :=
    -M^-1 pull. Returns DONE or SINGULAR."""
    rows = mechanism.n_all
    if not any_pull(pull):
        clear(block.mu, 0, mechanism.n_v, scalar)
        return DONE
    place(mechanism, work, q, v, a, t, rows, scalar)
    if any_not_less(_solve(mechanism, work, pull, block.mu, scalar), 0.5):
        return SINGULAR
    clear(block.w0, 0, rows, scalar)
    clear(block.w1, 0, rows, scalar)
    clear(block.w2, 0, rows, scalar)
    add_state_gradient(mechanism, work, block, t, by_q, by_v, scalar)
    return DONE


@kernel
def _pulled_accelerations(mechanism, work, block, states, pulls, found):
    scalar = 0.0
    mechanism, work, block = refer(mechanism), refer(work), refer(block)
    states, found = refer(states), refer(found)
    begin(mechanism, work, scalar)
    for i in range(states.q.shape[0]):
        for k in range(pulls.shape[0]):
            q, v, a, pull = states.q[i], states.v[i], states.a[i], pulls[k, i]
            reason = pull_accelerations(
                mechanism, work, block, q, v, a, states.t[i], pull, found.q[i, k], found.v[i, k], scalar
            )
            if reason != DONE:
                return i
            put_row(found.mu[k], i, block.mu)
    return -1


class Pulled(NamedTuple):
    """Gradients by states, q and v (N, no, n_v), and weights of residuals mu (no, N, n_v)."""

    q: np.ndarray
    v: np.ndarray
    mu: np.ndarray


@kernel
def _weighted_gradients(mechanism, work, block, states, mu, w0, by_q, by_v):
    scalar = 0.0
    mechanism, work, block, states = refer(mechanism), refer(work), refer(block), refer(states)
    begin(mechanism, work, scalar)
    rows = mechanism.n_all
    for i in range(states.q.shape[0]):
        for k in range(mu.shape[0]):
            q, v, a, t = states.q[i], states.v[i], states.a[i], states.t[i]
            if any_not_less(place(mechanism, work, q, v, a, t, rows, scalar), 1.0):
                return i
            for j in range(mechanism.n_constraints):
                work.y[j] = states.lam[i, j]
            clear(block.w1, 0, rows, scalar)
            clear(block.w2, 0, rows, scalar)
            for j in range(mechanism.n_v):
                block.mu[j] = mu[k, i, j]
            for j in range(rows):
                block.w0[j] = w0[k, i, j]
            add_state_gradient(mechanism, work, block, t, by_q[i, k], by_v[i, k], scalar)
    return -1


@wrapper
def weighted_gradients(mechanism, states, mu, w0, by_q, by_v):
    """Gradients by q and v of residuals weighted with mu (no, N, n_v) and values of rows with w0 (no, N, all rows),
    into the zeros by_q, by_v (N, no, n_v); O(n) each. Returns the first sample with a bad number, or -1."""
    work, block = make_work(mechanism), make_block(mechanism, 1)
    return _weighted_gradients(mechanism, work, block, states, mu, w0, by_q, by_v)


@wrapper
def pulled_accelerations(mechanism, states, pulls, found):
    """Gradients of pulls (no, N, n_v) at the accelerations of N states of an open tree, into the zeros of a `Pulled`.

    states: as in `lane_states`, with a = a(q, v, t). Returns the first sample with a singular mass matrix, or -1.
    """
    return _pulled_accelerations(mechanism, make_work(mechanism), make_block(mechanism, 1), states, pulls, found)
