"""A motion that passes a configuration where constraints lose their rank has no derivative beyond.

There it could go on along several branches; steps pass such a point at a distance, on one of them, and their own
derivative is finite and means nothing. With s^2 the product of the non-zero eigenvalues of Gamma Gamma^T (or of
Gamma M^-1 Gamma^T), s falls to zero linearly and rises again: at the lowest of the steps around, s is less than the
difference to the higher of its neighbours. Where s stays away from zero, steps that follow the motion change it by a
fraction only.
"""

from __future__ import annotations

import numpy as np

from mechgrad.errors import InputError
from mechgrad.integrators.trajectory import Trajectory
from mechgrad.sensitivities.states import States, linearised, unforced
from mechgrad.typing import FloatArray


def check_rank(motion: Trajectory, log_s: FloatArray, t: FloatArray) -> None:
    """Raise where s, given by its logarithm at steps that end at times t, touches zero."""
    if len(log_s) < 3:
        return
    before, here, after = log_s[:-2], log_s[1:-1], log_s[2:]
    low = (here <= before) & (here <= after) & (np.log(2.0) + here < np.maximum(before, after))
    if low.any():
        k = int(np.argmax(low)) + 1
        raise InputError(
            f"the constraints of model {motion.model.name!r} lose their rank near t = {t[k]:.6g} s: the motion passes "
            "a configuration where it could branch, and has no derivative beyond. End it before, or start after; "
            "mg.mobility(model, q) tells what loses its rank."
        )


def check_rank_of_motion(motion: Trajectory) -> None:
    """`check_rank` from Gamma itself, for motions that report every step: between distant instants s may change as it
    likes."""
    system = motion.system
    m = system.n_constraints
    if not m or motion.trace.job.formulation.compliant or motion.steps != len(motion.t) - 1:
        return
    states = States(motion.q, motion.v, motion.a, motion.multipliers, motion.t)
    gamma = linearised(unforced(system.T), states, False).J[:, :m]
    values = np.linalg.eigvalsh(gamma @ gamma.swapaxes(1, 2))[:, len(system.redundant(motion.q[0], motion.t[0])) :]
    check_rank(motion, 0.5 * np.log(np.maximum(values, 1e-300)).sum(axis=1), motion.t)
