"""Gradients of weighted residuals and rows by the states themselves, without a matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.kernels import state_gradient as _kernels
from mechgrad.dynamics.states import States, contiguous
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.model.mechanism import N_ALL
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray


class ByState(NamedTuple):
    """Gradients by q and v, (N, no, n_v)."""

    q: FloatArray
    v: FloatArray


def gradients_by_state(system: System, weights: Weights) -> ByState:
    """What q and v of every state do to its  mu . r + w0 . value,  accelerations and multipliers held: O(n)."""
    T, states = system.recursive, States(*(contiguous(x, float) for x in weights.states))
    given = weights.w0 if weights.mu is None else weights.mu
    assert given is not None
    assert weights.w1 is None
    assert weights.w2 is None
    count, N, n = len(given), len(states.q), system.model.n_v
    mu = np.zeros((count, N, n)) if weights.mu is None else contiguous(weights.mu, float)
    w0 = np.zeros((count, N, int(T.ints[N_ALL]))) if weights.w0 is None else contiguous(weights.w0, float)
    found = ByState(np.zeros((N, count, n)), np.zeros((N, count, n)))
    bad = _kernels.weighted_gradients(T, states, mu, w0, *found)
    system.users.raise_pending()
    if bad >= 0:
        raise InputError(f"sample {bad} holds a number that is not finite, or four Euler parameters that are all zero.")
    return found
