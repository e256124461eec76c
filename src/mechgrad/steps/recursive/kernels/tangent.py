"""Runge-Kutta steps of trees with slopes along many parameters: the recursive elimination itself carries them.

Accelerations by recursive elimination (`inverse.kernels.articulated`) in dual lanes, each lane a parameter: values are
those of the motion, slopes its derivatives. Triangularisation and back-substitution are differentiated as they go,
joint by joint, without any matrix of the whole mechanism: cost O(n) per parameter. That of loops
(`dynamics.kernels.loop_elimination`) and projections are differentiated in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels.loop_elimination import Loops
from mechgrad.dynamics.kernels.loop_states import displace_by, loop_accelerations, position_pass, velocity_pass
from mechgrad.dynamics.kernels.state_accelerations import DONE, tree_accelerations
from mechgrad.dynamics.kernels.system import begin, make_work
from mechgrad.kernels.dual_lanes import dual_of, dual_zero, slope_of
from mechgrad.kernels.host import LANES
from mechgrad.kernels.jit import inlined, inner, kernel, spliced, wrapper
from mechgrad.kernels.lanes import gather, lane_zero, load, scatter, store, width
from mechgrad.kernels.records import refer
from mechgrad.steps.runge_kutta.kernels.fixed_steps import Reports
from mechgrad.steps.runge_kutta.kernels.stages import joined, make_stages, normalise, split, sum_stages, turn_balls


class Path(NamedTuple):
    """N steps that are held as they were taken.

    A, B, C : of the method;   t, h : (N,) where steps begin and their lengths
    start : (N, n_q + n_v) states there, as steps carry them;   first : (N + 1,) where their stages begin among all
    end_line : (N,) the line of the reports that a state after a step is, or -1
    out_first : (N + 1,) where the reports within each step begin;   out_line : (reports,) their lines
    weights : (reports, stages of a step) of h k in them
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    t: np.ndarray
    h: np.ndarray
    start: np.ndarray
    first: np.ndarray
    end_line: np.ndarray
    out_first: np.ndarray
    out_line: np.ndarray
    weights: np.ndarray


class CorrectionEffects(NamedTuple):
    """What parameters themselves do in projections of some states, as imaginary parts.

    first : (states + 1,) where the repetitions of each begin; one number, 0, where nothing is projected
    t : (states,);   effects, end_effects : (repetitions or states, parameters, n_v) to steps and to velocities
    """

    first: np.ndarray
    t: np.ndarray
    effects: np.ndarray
    end_effects: np.ndarray


class Closing(NamedTuple):
    """How a mechanism is closed: its elimination in dual lanes, None for trees; and projections of the ends of steps,
    of reports within steps."""

    loops: Loops | None
    ends: CorrectionEffects
    within: CorrectionEffects


@inlined
def _held(start, y, scalar):
    """The values of y := those of the motion, slopes as they are."""
    for j in range(start.size):
        store(y, j, dual_of(lane_zero() + start[j], slope_of(load(y, j, scalar))))


@inner
def _accelerations(mechanism, work, loops, stages, t, scalar):
    """stages.a := those at stages.q, v. Returns DONE or a reason to end."""
    if loops is None:
        reason = tree_accelerations(mechanism, work, stages.q, stages.v, t, stages.a, scalar)
    if loops is not None:
        reason = loop_accelerations(mechanism, work, loops, stages.q, stages.v, t, stages.a, stages.lam, scalar)
    return reason


@inlined
def _add(x, effect, n, scalar):
    """x += effect."""
    for j in range(n):
        store(x, j, load(x, j, scalar) + load(effect, j, scalar))


@spliced
def _stage(mechanism, work, loops, stages, path, i, t, h, effect, scalar):
    """The derivative of stage i, with what parameters themselves do to its accelerations (`effect`)."""
    sum_stages(stages.y, stages.K, path.A[i], i, h, stages.trial, mechanism.n_q + mechanism.n_v, scalar)
    split(mechanism, stages.trial, stages, scalar)
    reason = _accelerations(mechanism, work, loops, stages, scalar * 0.0 + t, scalar)
    _add(stages.a, effect, mechanism.n_v, scalar)
    joined(mechanism, stages, i, scalar)
    return reason


@inner
def _correct(mechanism, work, loops, corrections, line, row, stages, effect, y, scalar):
    """Project the state y as state `line` of some was, with what parameters themselves do to it. Returns DONE or a
    reason to end."""
    n_q, n, first, t = mechanism.n_q, mechanism.n_v, corrections.first, corrections.t[line]
    split(mechanism, y, stages, scalar)
    q, v, x = stages.q, stages.v, loops.x
    for p in range(first[line], first[line + 1]):
        reason, _, _ = position_pass(mechanism, work, loops, q, v, t, scalar)
        if reason != DONE:
            return reason
        gather(corrections.effects[p], row, effect, 0, scalar)
        _add(x, effect, n, scalar)
        displace_by(mechanism.atoms_i, q, x, scalar)
    reason = velocity_pass(mechanism, work, loops, q, v, t, scalar)
    gather(corrections.end_effects[line], row, effect, 0, scalar)
    _add(x, effect, n, scalar)
    _add(v, x, n, scalar)
    for j in range(n_q):
        store(y, j, load(q, j, scalar))
    for j in range(n):
        store(y, n_q + j, load(v, j, scalar))
    turn_balls(mechanism.atoms_i, n_q - n, q, y, n_q, -1.0, scalar)
    return reason


@inner
def _corrected(mechanism, work, loops, corrections, line, row, stages, effect, y, scalar):
    """`_correct`, if there is anything to correct."""
    reason = DONE
    if loops is not None:  # noqa: SIM102 - alone, so that it vanishes
        if corrections.first.size > 1:
            reason = _correct(mechanism, work, loops, corrections, line, row, stages, effect, y, scalar)
    return reason


@inlined
def _report(mechanism, stages, y, reports, line, row, scalar):
    """y into a line of the reports."""
    split(mechanism, y, stages, scalar)
    scatter(stages.q, 0, reports.q[line], row, scalar)
    scatter(stages.v, 0, reports.v[line], row, scalar)


@kernel
def _recursive_tangents(mechanism, work, closing, stages, path, effects, effect, now, reports):
    scalar = dual_zero()
    mechanism, work, stages = refer(mechanism), refer(work), refer(stages)
    path, reports, closing = refer(path), refer(reports), refer(closing)
    begin(mechanism, work, scalar)
    n = mechanism.n_q + mechanism.n_v
    for row in range(0, now.shape[0], width(scalar)):
        gather(now, row, stages.y, 0, scalar)
        for i in range(path.h.size):
            h, count = path.h[i], path.first[i + 1] - path.first[i]
            _held(path.start[i], stages.y, scalar)
            for m in range(count):
                gather(effects[path.first[i] + m], row, effect, 0, scalar)
                reason = _stage(
                    mechanism, work, closing.loops, stages, path, m, path.t[i] + path.C[m] * h, h, effect, scalar
                )
                if reason != DONE:
                    return i, reason
            for o in range(path.out_first[i], path.out_first[i + 1]):
                sum_stages(stages.y, stages.K, path.weights[o], count, h, stages.end, n, scalar)
                reason = _corrected(
                    mechanism, work, closing.loops, closing.within, o, row, stages, effect, stages.end, scalar
                )
                if reason != DONE:
                    return i, reason
                _report(mechanism, stages, stages.end, reports, path.out_line[o], row, scalar)
            sum_stages(stages.y, stages.K, path.B, path.B.size, h, stages.y, n, scalar)
            normalise(mechanism.atoms_i, stages.y, scalar)
            reason = _corrected(mechanism, work, closing.loops, closing.ends, i, row, stages, effect, stages.y, scalar)
            if reason != DONE:
                return i, reason
            if path.end_line[i] >= 0:
                _report(mechanism, stages, stages.y, reports, path.end_line[i], row, scalar)
        scatter(stages.y, 0, now, row, scalar)
    return -1, DONE


@wrapper
def recursive_tangents(mechanism, closing, path, effects, now, Q, V):
    """Steps from `now` (parameters, n_q + n_v), in place, complex: values and slopes, as steps carry them; reports go
    to their lines of Q, V (lines, parameters, n), in parent axes.

    mechanism: of complex numbers without slopes; effects (stages of all steps, parameters, n_v): what parameters
    themselves do to accelerations, in imaginary parts; closing: a `Closing`. Returns the step that failed, or -1,
    and the reason.
    """
    work, stages = make_work(mechanism, LANES), make_stages(mechanism, path.A.shape[0], Q.dtype, LANES)
    effect = np.zeros(mechanism.n_v * LANES, Q.dtype)
    return _recursive_tangents(mechanism, work, closing, stages, path, effects, effect, now, Reports(Q, V))
