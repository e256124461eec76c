"""Runge-Kutta steps of trees with slopes along many parameters: the recursive elimination itself carries them.

Accelerations by recursive elimination (`inverse.kernels.articulated`) in dual lanes, each lane a parameter: values are
those of the motion, slopes its derivatives. Triangularisation and back-substitution are differentiated as they go,
joint by joint, without any matrix of the whole mechanism: cost O(n) per parameter.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import DONE, tree_accelerations
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.dual_lanes import dual_zero
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import kernel, spliced, wrapper
from mechgrad.kernels.lanes import gather, load, store, width
from mechgrad.kernels.records import refer
from mechgrad.steps.runge_kutta.kernels.fixed_steps import Reports, UniformSteps, begin_motions, report_motions
from mechgrad.steps.runge_kutta.kernels.stages import joined, make_stages, normalise, split, sum_stages


@spliced
def _stage(mechanism, work, stages, tableau, i, t, h, push, scalar):
    """The derivative of stage i, with what parameters themselves do to its accelerations (`push`)."""
    sum_stages(stages.y, stages.K, tableau.A[i], i, h, stages.trial, mechanism.n_q + mechanism.n_v, scalar)
    split(mechanism, stages.trial, stages, scalar)
    reason = tree_accelerations(mechanism, work, stages.q, stages.v, scalar * 0.0 + t, stages.a, scalar)
    for j in range(mechanism.n_v):
        store(stages.a, j, load(stages.a, j, scalar) + load(push, j, scalar))
    joined(mechanism, stages, i, scalar)
    return reason


@kernel
def _recursive_tangents(mechanism, work, stages, steps, pushes, push, reports):
    scalar = dual_zero()
    mechanism, work, stages = refer(mechanism), refer(work), refer(stages)
    steps, reports = refer(steps), refer(reports)
    begin(mechanism, work, scalar)
    n, h, tableau = mechanism.n_q + mechanism.n_v, steps.h, steps.tableau
    count = tableau.B.size
    for row in range(0, reports.q.shape[1], width(scalar)):
        begin_motions(mechanism, stages, reports, row, scalar)
        step = 0
        for out in range(1, reports.q.shape[0]):
            for _ in range(steps.every):
                for i in range(count):
                    gather(pushes[step * count + i], row, push, 0, scalar)
                    t = steps.t0 + (step + tableau.C[i]) * h
                    reason = _stage(mechanism, work, stages, tableau, i, t, h, push, scalar)
                    if reason != DONE:
                        return out, reason
                sum_stages(stages.y, stages.K, tableau.B, count, h, stages.y, n, scalar)
                normalise(mechanism.atoms_i, stages.y, scalar)
                step += 1
            report_motions(mechanism, stages, reports, out, row, scalar)
    return reports.q.shape[0], DONE


@wrapper
def recursive_tangents(mechanism, tableau, h, t0, every, pushes, Q, V):
    """Steps h from line 0 of Q, V (outputs, parameters, n), complex: values and slopes; every `every`-th state goes to
    the next line.

    mechanism: of complex numbers without slopes; tableau: a `Tableau`; pushes (stages of all steps, parameters, n_v):
    what parameters themselves do to accelerations, in imaginary parts. Returns (outputs written, reason).
    """
    work, stages = make_work(mechanism, LANES), make_stages(mechanism, tableau.B.size, Q.dtype, LANES)
    steps, push = UniformSteps(tableau, float(h), float(t0), every), np.zeros(mechanism.n_v * LANES, Q.dtype)
    return _recursive_tangents(mechanism, work, stages, steps, pushes, push, Reports(Q, V))
