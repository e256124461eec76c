"""The transpose of explicit Runge-Kutta steps of open trees: accelerations are pulled back by elimination, O(n).

The passes of `steps.runge_kutta.kernels.adjoint`, but for the stages: where those multiply by the transposed partials
of accelerations, a weight w on them becomes mu = -M^-1 w and the gradient of mu . r here
(`dynamics.kernels.state_gradient`), without any matrix of the whole mechanism.
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.state_accelerations import DONE
from mechgrad.dynamics.kernels.state_gradient import pull_accelerations
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.dynamics.kernels.table_gradient import make_block
from mechgrad.kernels.jit import kernel, spliced, wrapper
from mechgrad.kernels.records import refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.steps.runge_kutta.kernels.adjoint import end_back, report_back, start_back, summed_back
from mechgrad.steps.runge_kutta.kernels.ball_changes import drop, to_child_back, turn
from mechgrad.steps.runge_kutta.kernels.blocks import clear_all, make_scratch


@spliced
def _stage_back(mechanism, work, block, balls, blocks, t, i, m, k, scratch, weights):
    """The transpose of a stage. Returns DONE or a reason to end."""
    atoms_i, at, x, y_q, y_v, k_q, k_v = (
        mechanism.atoms_i, blocks.first[i] + m, scratch.x, scratch.y_q, scratch.y_v, scratch.k_q[m], scratch.k_v[m],
    )  # fmt: skip
    q, v, a = blocks.q[at], blocks.v[at], blocks.a[at]
    clear_all(x)
    clear_all(y_v)
    clear_all(y_q)
    to_child_back(balls, q, a, x, k_v)
    reason = pull_accelerations(mechanism, work, block, q, v, a, t[at], k_v, x, y_v, 0.0)
    put_row(weights.accelerations[k], at, block.mu)
    drop(atoms_i, q, k_q, y_v, False)
    turn(atoms_i, v, k_q, y_q, -1.0)
    summed_back(atoms_i, balls, scratch, blocks.A[m], m, blocks.h[i], blocks.before[at], blocks.before_v[at])
    return reason


@kernel
def _recursive_adjoint(mechanism, work, block, balls, blocks, t, scratch, pulls, adjoint, weights):
    mechanism, work, block, blocks = refer(mechanism), refer(work), refer(block), refer(blocks)
    scratch, pulls, adjoint, weights = refer(scratch), refer(pulls), refer(adjoint), refer(weights)
    atoms_i = mechanism.atoms_i
    begin(mechanism, work, 0.0)
    for i in range(blocks.h.size - 1, -1, -1):
        for k in range(adjoint.q.shape[0]):
            end_back(atoms_i, balls, blocks, i, k, scratch, pulls, adjoint, weights)
            for o in range(blocks.out_first[i], blocks.out_first[i + 1]):
                report_back(atoms_i, balls, blocks, i, o, k, scratch, pulls, weights)
            for m in range(blocks.first[i + 1] - blocks.first[i] - 1, -1, -1):
                reason = _stage_back(mechanism, work, block, balls, blocks, t, i, m, k, scratch, weights)
                if reason != DONE:
                    return blocks.first[i] + m, reason
            start_back(atoms_i, balls, blocks, i, k, scratch, adjoint)
    return -1, DONE


@wrapper
def recursive_adjoint(mechanism, balls, blocks, t, pulls, adjoint, weights):
    """`steps.runge_kutta.kernels.adjoint.adjoint_march` of an open tree; t: instants of its stages.

    Weights of accelerations become those of residuals. Returns the stage where it failed, or -1, and the reason.
    """
    work, block = make_work(mechanism), make_block(mechanism, 1)
    return _recursive_adjoint(mechanism, work, block, balls, blocks, t, make_scratch(blocks), pulls, adjoint, weights)
