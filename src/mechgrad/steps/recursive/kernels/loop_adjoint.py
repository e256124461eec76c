"""The transpose of explicit Runge-Kutta steps of closed mechanisms, by recursive elimination: O(n).

The passes of `recursive.kernels.adjoint`; weights of accelerations go through the saddle-point system, and those of
projected states through their projections (`dynamics.kernels.loop_gradient`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.loop_gradient import (
    Passes,
    PassWeights,
    make_side,
    pull_loop_accelerations,
    pull_projection,
)
from mechgrad.dynamics.kernels.state_accelerations import DONE
from mechgrad.dynamics.kernels.system import begin
from mechgrad.kernels.jit import inner, kernel, wrapper
from mechgrad.kernels.records import refer
from mechgrad.kernels.right_hand_sides import put_row
from mechgrad.steps.runge_kutta.kernels.adjoint import (
    end_pulls,
    end_summed_back,
    report_summed_back,
    start_back,
    summed_back,
)
from mechgrad.steps.runge_kutta.kernels.ball_changes import drop, to_child_back, turn
from mechgrad.steps.runge_kutta.kernels.blocks import clear_all, copy_into, make_scratch


class Stages(NamedTuple):
    """Instants and multipliers of all stages, and their states as `pull_loop_accelerations` reads them."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    t: np.ndarray


class Corrections(NamedTuple):
    """Projections of the states after steps and of reports within steps; without any there are no lines."""

    ends: Passes
    reports: Passes


class LoopWeights(NamedTuple):
    """What parameters act with: weights of residuals mu and rows nu of stages (no, stages, .), those of projections."""

    mu: np.ndarray
    nu: np.ndarray
    ends: PassWeights
    reports: PassWeights


@inner
def _stage_back(forced, loops, stages, balls, blocks, i, m, k, scratch, weights):
    """The transpose of a stage. Returns DONE or a reason to end."""
    mechanism, at, x, y_q, y_v, k_q, k_v = (
        forced.mechanism, blocks.first[i] + m, scratch.x, scratch.y_q, scratch.y_v, scratch.k_q[m], scratch.k_v[m],
    )  # fmt: skip
    atoms_i, block = mechanism.atoms_i, forced.block
    clear_all(x)
    clear_all(y_v)
    clear_all(y_q)
    to_child_back(balls, stages.q[at], stages.a[at], x, k_v)
    reason = pull_loop_accelerations(
        mechanism, forced.work, loops, block, stages, at, k_v, weights.nu[k, at], x, y_v
    )  # fmt: skip
    put_row(weights.mu[k], at, block.mu)
    drop(atoms_i, stages.q[at], k_q, y_v, False)
    turn(atoms_i, stages.v[at], k_q, y_q, -1.0)
    summed_back(atoms_i, balls, scratch, blocks.A[m], m, blocks.h[i], blocks.before[at], blocks.before_v[at])
    return reason


@inner
def _corrected_back(bare, loops, passes, line, scratch, columns, k, weights):
    """The transpose of a projection, of x, y_v of `scratch`, if there are any."""
    if passes.first.size <= 1:
        return DONE
    return pull_projection(bare, loops, passes, line, scratch.x, scratch.y_v, columns, k, weights)


@kernel
def _loop_adjoint(forced, bare, loops, stages, corrections, balls, blocks, scratch, columns, pulls, adjoint, weights):
    forced, bare, loops, stages, blocks = refer(forced), refer(bare), refer(loops), refer(stages), refer(blocks)
    corrections, scratch, pulls = refer(corrections), refer(scratch), refer(pulls)
    adjoint, weights = refer(adjoint), refer(weights)
    atoms_i = forced.mechanism.atoms_i
    begin(forced.mechanism, forced.work, 0.0)
    begin(bare.mechanism, bare.work, 0.0)
    for i in range(blocks.h.size - 1, -1, -1):
        for k in range(adjoint.q.shape[0]):
            end_pulls(i, k, scratch, pulls, adjoint)
            reason = _corrected_back(bare, loops, corrections.ends, i, scratch, columns, k, weights.ends)
            if reason != DONE:
                return blocks.first[i], reason
            end_summed_back(atoms_i, balls, blocks, i, scratch)
            for o in range(blocks.out_first[i], blocks.out_first[i + 1]):
                copy_into(pulls.report_q[o, k], scratch.x)
                copy_into(pulls.report_v[o, k], scratch.y_v)
                clear_all(scratch.y_q)
                reason = _corrected_back(bare, loops, corrections.reports, o, scratch, columns, k, weights.reports)
                if reason != DONE:
                    return blocks.first[i], reason
                report_summed_back(atoms_i, balls, blocks, i, o, scratch)
            for m in range(blocks.first[i + 1] - blocks.first[i] - 1, -1, -1):
                reason = _stage_back(forced, loops, stages, balls, blocks, i, m, k, scratch, weights)
                if reason != DONE:
                    return blocks.first[i] + m, reason
            start_back(atoms_i, balls, blocks, i, k, scratch, adjoint)
    return -1, DONE


@wrapper
def loop_adjoint(mechanism, bare, loops, stages, corrections, balls, blocks, pulls, adjoint, weights):
    """`recursive_adjoint` of a closed mechanism; bare: without its forces; corrections: of ends of steps, of reports;
    weights: a `LoopWeights`, filled. Returns the stage that failed, or -1, and the reason."""
    scratch, columns = make_scratch(blocks), np.zeros((mechanism.n_v, 1))
    return _loop_adjoint(
        make_side(mechanism), make_side(bare), loops, stages, corrections, balls, blocks, scratch, columns, pulls,
        adjoint, weights,
    )  # fmt: skip
