"""A motion that passes a configuration where constraints lose their rank has no derivative beyond.

There it could go on along several branches; steps pass such a point at a distance, on one of them, and their own
derivative is finite and means nothing. With s^2 the product of the non-zero eigenvalues of Gamma Gamma^T (or of
Gamma M^-1 Gamma^T), s falls to zero linearly and rises again: at the lowest of the steps around, s is less than the
difference to the higher of its neighbours. Where s stays away from zero, steps that follow the motion change it by a
fraction only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.states import States, linearised, unforced
from mechgrad.errors import InputError
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.runge_kutta.step import fixed_states, held_steps, states_at
from mechgrad.steps.schemes import DOP853, NewmarkFamily
from mechgrad.typing import FloatArray

LOOKS = 8  # at a step of order eight
CHUNK = 4096  # states looked at together


def check_rank(motion: Trajectory, log_s: FloatArray, t: FloatArray) -> None:
    """Raise where s, given by its logarithm at steps that end at times t, touches zero."""
    if len(log_s) < 3:
        return
    before, here, after = log_s[:-2], log_s[1:-1], log_s[2:]
    low = (here <= before) & (here <= after) & (np.log(2.0) + here < np.maximum(before, after))
    if low.any():
        raise _branches(motion, float(t[int(np.argmax(low)) + 1]))


def _branches(motion: Trajectory, t: float) -> InputError:
    return InputError(
        f"the constraints of model {motion.model.name!r} lose their rank near t = {t:.6g} s: the motion passes a "
        "configuration where it could branch, and has no derivative beyond. End it before, or start after; "
        "mg.mobility(model, q) tells what loses its rank."
    )


def check_rank_of_motion(motion: Trajectory) -> None:
    """`check_rank` from Gamma itself, at all steps of a motion whether they were reported or not; steps of order eight,
    which may be long, are looked at several times each."""
    system = motion.system
    m = system.n_constraints
    if not m or motion.trace.job.formulation.compliant:
        return
    if motion.trace.fold is not None:
        raise _branches(motion, motion.trace.fold)
    lost = len(system.redundant(motion.q[0], motion.t[0]))
    T, sizes, times = unforced(system.T), [], []
    for q, t in _all_states(motion):
        still = np.zeros((len(t), motion.model.n_v))
        gamma = linearised(T, States(q, still, still, np.zeros((len(t), m)), t), False).J[:, :m]
        values = np.linalg.eigvalsh(gamma @ gamma.swapaxes(1, 2))[:, lost:]
        sizes.append(0.5 * np.log(np.maximum(values, 1e-300)).sum(axis=1))
        times.append(t)
    check_rank(motion, np.concatenate(sizes), np.concatenate(times))


def _all_states(motion: Trajectory) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Positions and instants of all steps, some at a time."""
    if isinstance(motion.scheme, DOP853):
        path = held_steps(motion)
        t = (path[:, :1] + path[:, 1:2] * np.arange(LOOKS) / LOOKS).ravel()
        t = t[np.diff(t, prepend=-np.inf) > 1e-9 * (motion.t[-1] - motion.t[0])]  # steps across switches are no time
        t = np.append(t[1:], motion.t[-1])
        q, _ = states_at(motion, t)
        for first in range(0, len(t), CHUNK):
            yield q[first : first + CHUNK], t[first : first + CHUNK]
        return
    outputs = len(motion.t) - 1
    if motion.steps == outputs or motion.steps % outputs:  # every step, or steps with error control, which are not kept
        yield motion.q, motion.t
        return
    if isinstance(motion.scheme, NewmarkFamily):
        # they differentiate with what asks us
        from mechgrad.steps.matrix_r.derivative import IndependentSteps
        from mechgrad.steps.newmark.derivative import ImplicitSteps

        if isinstance(motion.trace.job.formulation, MatrixR):
            for chunk in IndependentSteps(motion).chunks(1):
                yield chunk.states.q, chunk.states.t
        else:
            for states in ImplicitSteps(motion).states():
                yield states.q, states.t
        return
    every, h = motion.steps // outputs, float(motion.t[-1] - motion.t[0]) / motion.steps
    per = max(1, CHUNK // every)
    for first in range(0, outputs, per):
        count = (min(first + per, outputs) - first) * every
        yield fixed_states(motion, first, count, h)[0], motion.t[first] + h * np.arange(count)
