"""Implicit steps by fixed-point iteration, differentiated by that iteration: eight parameters at a time in dual lanes.

    ca u = A_q (dq0 + D u) + A_v (dv0 + cv u) + A_p - da0

Values stay where the march found them; slopes go through the recursive elimination again and again.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.lane_states import LaneState
from mechgrad.dynamics.kernels.state_accelerations import DONE, NOT_CONVERGED, tree_accelerations
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.dynamics.kernels.turning import spread
from mechgrad.kernels.dual_lanes import dual_of, dual_zero, slope_of
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.lanes import lane_zero, load, store
from mechgrad.kernels.records import allocate, refer
from mechgrad.kernels.right_hand_sides import load_at, store_at
from mechgrad.model.columns import STEP
from mechgrad.model.joints.base import BALL, FIXED
from mechgrad.model.tree import KIND, Q_AT, V_AT
from mechgrad.steps.fixed_point.kernels.steps import is_found, make_scratch
from mechgrad.steps.newmark.kernels.tangent import pass_on, scheme_changes

PER_STEP = 1.0 / STEP


@inlined
def _column(X, j, k, real):
    """Row j of a block of columns, as slopes."""
    return load_at(X, j * X.shape[1] + k, real) * STEP


@inner
def _place_changes(atoms_i, q, v, scratch, cv, k, lanes, real):
    """The state with its changes as slopes: columns q + d of q, v + cv x of v, all of them in `scratch`."""
    for i in range(atoms_i.shape[0]):
        kind, at, j = atoms_i[i, KIND], atoms_i[i, Q_AT], atoms_i[i, V_AT]
        if kind == BALL:
            x = _column(scratch.q, j, k, real) + _column(scratch.d, j, k, real)
            y = _column(scratch.q, j + 1, k, real) + _column(scratch.d, j + 1, k, real)
            z = _column(scratch.q, j + 2, k, real) + _column(scratch.d, j + 2, k, real)
            e0, e1, e2, e3 = q[at], q[at + 1], q[at + 2], q[at + 3]
            store(lanes.q, at, dual_of(real + e0, (x * e1 + y * e2 + z * e3) * -0.5))
            store(lanes.q, at + 1, dual_of(real + e1, (x * e0 + y * e3 - z * e2) * 0.5))
            store(lanes.q, at + 2, dual_of(real + e2, (y * e0 + z * e1 - x * e3) * 0.5))
            store(lanes.q, at + 3, dual_of(real + e3, (z * e0 + x * e2 - y * e1) * 0.5))
        elif kind != FIXED:
            slope = _column(scratch.q, j, k, real) + _column(scratch.d, j, k, real)
            store(lanes.q, at, dual_of(real + q[at], slope))
    for j in range(v.size):
        store(lanes.v, j, dual_of(real + v[j], _column(scratch.v, j, k, real) + _column(scratch.x, j, k, real) * cv))


@inner
def _all_found(scratch, h, before, changes):
    """Whether all columns of the unknowns are what the iteration tends to; `before` := these. changes: by how much each
    changed in the pass before, -1 where it was found."""
    done, x, q, v = True, scratch.x, scratch.q, scratch.v
    for k in range(x.shape[1]):
        size, change, terms = 0.0, 0.0, 0.0
        for j in range(x.shape[0]):
            size, change = max(size, abs(x[j, k])), max(change, abs(x[j, k] - before[j, k]))
            terms = max(terms, abs(q[j, k]), h * abs(v[j, k]))
            before[j, k] = x[j, k]
        if changes[k] >= 0.0:
            changes[k] = -1.0 if is_found(change, changes[k], size, terms) else change
        done = done and changes[k] < 0.0
    return done


@spliced
def _one_pass(mechanism, work, lanes, states, held, effects, i, scratch):
    """The unknowns u in scratch.x once more. Returns DONE or a reason to end."""
    scalar, real, reason = dual_zero(), lane_zero(), DONE
    x, d, a = scratch.x, scratch.d, scratch.a
    for j in range(x.shape[0]):
        for k in range(x.shape[1]):
            d[j, k] = x[j, k]
    spread(mechanism.atoms_i, held.d[i], d, 1.0)
    for k in range(0, x.shape[1], LANES):
        _place_changes(mechanism.atoms_i, states.q[i], states.v[i], scratch, held.cv[i], k, lanes, real)
        reason = tree_accelerations(mechanism, work, lanes.q, lanes.v, scalar * 0.0 + states.t[i], lanes.a, scalar)
        if reason != DONE:
            break
        for j in range(x.shape[0]):
            at = j * x.shape[1] + k
            found = slope_of(load(lanes.a, j, scalar)) * PER_STEP + load_at(effects[i], at, real)
            store_at(x, at, (found - load_at(a, at, real)) * (1.0 / held.ca[i]))
    return reason


@kernel
def _fixed_point_tangents(mechanism, work, lanes, settings, states, held, effects, scratch, passes, change, after):
    mechanism, work, lanes, settings = refer(mechanism), refer(work), refer(lanes), refer(settings)
    states, held, scratch, change, after = refer(states), refer(held), refer(scratch), refer(change), refer(after)
    begin(mechanism, work, dual_zero())
    before, changes = passes
    atoms_i, x, q, v, a, d = mechanism.atoms_i, scratch.x, scratch.q, scratch.v, scratch.a, scratch.d
    for i in range(held.d.shape[0]):
        scheme_changes(atoms_i, settings, held, held, i, scratch, change)
        for k in range(x.shape[1]):
            changes[k] = np.inf
            for j in range(x.shape[0]):
                x[j, k], before[j, k] = 0.0, 0.0
        found = False
        for _ in range(settings.max_iterations):
            reason = _one_pass(mechanism, work, lanes, states, held, effects, i, scratch)
            if reason != DONE:
                return i, reason
            found = _all_found(scratch, held.h[i], before, changes)
            if found:
                break
        if not found:
            return i, NOT_CONVERGED
        for j in range(x.shape[0]):
            for k in range(x.shape[1]):
                d[j, k] = x[j, k]
                v[j, k] += held.cv[i] * x[j, k]
                a[j, k] += held.ca[i] * x[j, k]
        spread(atoms_i, held.d[i], d, 1.0)
        for j in range(x.shape[0]):
            for k in range(x.shape[1]):
                q[j, k] += d[j, k]
        pass_on(settings, scratch, change, after, i)
    return -1, DONE


@wrapper
def fixed_point_tangents(mechanism, settings, states, held, effects, change, after):
    """Changes of state and memory (a `State` of (n_v, count) arrays, count a multiple of LANES) through N steps, in
    place; those of the states after each step into `after`.

    mechanism: of complex numbers without slopes; states: where accelerations were found; held: a `HeldSteps`; effects
    (N, n_v, count): what parameters do to these accelerations directly. Returns the step that failed, or -1, and the
    reason.
    """
    n, count = change.q.shape
    lanes = allocate(LaneState, {"q": mechanism.n_q * LANES, "v": n * LANES, "a": n * LANES, "lam": 0}, complex)
    return _fixed_point_tangents(
        mechanism, make_work(mechanism, LANES), lanes, settings, states, held, effects, make_scratch(n, count),
        (np.zeros((n, count)), np.zeros(count)), change, after,
    )  # fmt: skip
