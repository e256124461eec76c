"""The transpose of implicit steps by fixed-point iteration, by the transposed iteration.

    ca y = b + D^T A_q^T y + cv A_v^T y,      b = D^T gq + cv gv + ca ga

for weights gq, gv, ga on the state after the step; then gq + A_q^T y, gv + A_v^T y and ga - y are the gradients by
what the state before left behind, and y . A_p = mu . r_p with mu = -M^-1 y is what parameters act with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import DONE, NOT_CONVERGED
from mechgrad.dynamics.kernels.state_gradient import pull_accelerations
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.dynamics.kernels.table_gradient import make_block
from mechgrad.dynamics.kernels.turning import spread
from mechgrad.kernels.jit import kernel, spliced, wrapper
from mechgrad.kernels.records import allocate, refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.steps.fixed_point.kernels.steps import is_found, make_scratch
from mechgrad.steps.newmark.kernels.adjoint import pass_on_back, scheme_back
from mechgrad.steps.newmark.kernels.blocks import copy_columns


class Vectors(NamedTuple):
    """The unknowns of the transposed system, its right-hand side, and A_q^T y, A_v^T y, (n_v,) each."""

    y: np.ndarray
    b: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray


@spliced
def _right_hand_side(atoms_i, held, i, scratch, vectors):
    """b of the transposed system, and y := b / ca to begin with."""
    copy_columns(scratch.q, scratch.d)
    spread(atoms_i, held.d[i], scratch.d, -1.0)
    for j in range(vectors.b.size):
        vectors.b[j] = scratch.d[j, 0] + held.cv[i] * scratch.v[j, 0] + held.ca[i] * scratch.a[j, 0]
        vectors.y[j] = vectors.b[j] / held.ca[i]


@spliced
def _one_pass(mechanism, work, block, states, held, i, scratch, vectors):
    """y once more, from A_q^T y and A_v^T y. Returns a reason to end or DONE, the size of y and its largest change."""
    y, by_q, by_v, d = vectors.y, vectors.by_q, vectors.by_v, scratch.d
    for j in range(y.size):
        by_q[j], by_v[j] = 0.0, 0.0
    reason = pull_accelerations(
        mechanism, work, block, states.q[i], states.v[i], states.a[i], states.t[i], y, by_q, by_v, 0.0
    )
    for j in range(y.size):
        d[j, 0] = by_q[j]
    spread(mechanism.atoms_i, held.d[i], d, -1.0)
    size, change = 0.0, 0.0
    for j in range(y.size):
        new = (vectors.b[j] + d[j, 0] + held.cv[i] * by_v[j]) / held.ca[i]
        size, change = max(size, abs(new)), max(change, abs(new - y[j]))
        y[j] = new
    return reason, size, change


@kernel
def _fixed_point_adjoint(mechanism, work, block, settings, states, held, scratch, vectors, pulls, adjoint, mu):
    mechanism, work, block, settings = refer(mechanism), refer(work), refer(block), refer(settings)
    states, held, scratch, vectors = refer(states), refer(held), refer(scratch), refer(vectors)
    pulls, adjoint = refer(pulls), refer(adjoint)
    begin(mechanism, work, 0.0)
    for i in range(held.d.shape[0] - 1, -1, -1):
        pass_on_back(settings, scratch, pulls, adjoint, i)
        _right_hand_side(mechanism.atoms_i, held, i, scratch, vectors)
        found, before = False, np.inf
        for _ in range(settings.max_iterations):
            reason, size, change = _one_pass(mechanism, work, block, states, held, i, scratch, vectors)
            if reason != DONE:
                return i, reason
            found = is_found(change, before, size, 0.0)
            if found:
                break
            before = change
        if not found:
            return i, NOT_CONVERGED
        put_row(mu, i, block.mu)
        for j in range(vectors.y.size):
            scratch.q[j, 0] += vectors.by_q[j]
            scratch.v[j, 0] += vectors.by_v[j]
            scratch.a[j, 0] -= vectors.y[j]
        scheme_back(mechanism.atoms_i, settings, held, held, i, scratch, adjoint)
    return -1, DONE


@wrapper
def fixed_point_adjoint(mechanism, settings, states, held, pulls, adjoint, mu):
    """The gradient of one objective, from the last step to the first.

    states: where accelerations were found; held: a `HeldSteps`; pulls: gradients by the state after each step
    (`StateColumns` of (N, n_v, 1)); adjoint: a `State` of (n_v, 1) arrays, in place. Out: weights of residuals mu
    (N, n_v). Returns the step that failed, or -1, and the reason.
    """
    n = mechanism.n_v
    work, block, scratch = make_work(mechanism), make_block(mechanism, 1), make_scratch(n, 1)
    vectors = allocate(Vectors, dict.fromkeys(Vectors._fields, n), float)
    return _fixed_point_adjoint(mechanism, work, block, settings, states, held, scratch, vectors, pulls, adjoint, mu)
