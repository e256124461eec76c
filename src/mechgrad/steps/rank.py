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

from mechgrad.dynamics.kernels.loop_gradient import loop_ranks
from mechgrad.dynamics.states import States, linearised
from mechgrad.dynamics.system import INDEX_1
from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.steps.record import Record
from mechgrad.typing import FloatArray


def check_rank(model: Model, log_s: FloatArray, t: FloatArray) -> None:
    """Raise where s, given by its logarithm at steps that end at times t, touches zero."""
    if len(log_s) < 3:
        return
    before, here, after = log_s[:-2], log_s[1:-1], log_s[2:]
    low = (here <= before) & (here <= after) & (np.log(2.0) + here < np.maximum(before, after))
    if low.any():
        raise _branches(model, float(t[int(np.argmax(low)) + 1]))


def _branches(model: Model, t: float) -> InputError:
    return InputError(
        f"the constraints of model {model.name!r} lose their rank near t = {t:.6g} s: the motion passes a "
        "configuration where it could branch, and has no derivative beyond. End it before, or start after; "
        "mg.mobility(model, q) tells what loses its rank."
    )


def check_rank_of_march(record: Record, states: Iterator[States]) -> None:
    """`check_rank` from Gamma itself; states: after all steps, whether they were reported or not."""
    system = record.system
    m = system.n_constraints
    if not m or record.formulation.compliant:
        return
    if record.fold is not None:
        raise _branches(record.model, record.fold)
    if record.formulation.recursive:
        _check_by_elimination(record, states)
        return
    lost = len(system.redundant(record.q[0], record.t[0]))
    T, sizes, times = system.unforced, [], []
    for some in states:
        t = some.t
        still = np.zeros((len(t), record.model.n_v))
        gamma = linearised(T, States(some.q, still, still, np.zeros((len(t), m)), t), False).J[:, :m]
        gram = gamma @ gamma.swapaxes(1, 2)
        if lost:
            values = np.linalg.eigvalsh(gram)[:, lost:]
            sizes.append(0.5 * np.log(np.maximum(values, 1e-300)).sum(axis=1))
        else:
            sizes.append(0.5 * np.maximum(np.linalg.slogdet(gram)[1], m * np.log(1e-300)))
        times.append(t)
    check_rank(record.model, np.concatenate(sizes), np.concatenate(times))


def _check_by_elimination(record: Record, states: Iterator[States]) -> None:
    """The same from the pivots of rows, O(n); those that depend on others always are constants."""
    system, sizes, times = record.system, [], []
    loops = system.recursion(INDEX_1, dtype=float)
    for some in states:
        log_s, t = np.zeros(len(some.t)), np.array(some.t, float)
        loop_ranks(system.unforced_recursive, loops, np.array(some.q.real, float, order="C"), t, log_s)
        sizes.append(log_s)
        times.append(t)
    check_rank(record.model, np.concatenate(sizes), np.concatenate(times))


def reported(record: Record) -> Iterator[States]:
    """The reported states, where no others are known or every step is reported."""
    yield record.states()
