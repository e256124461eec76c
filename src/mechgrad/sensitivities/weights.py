"""Gradients of sums of weighted residuals and rows by parameters.

    s = sum over samples of   mu . r + w0 . value + w1 . rate + w2 . second

What an adjoint sweep leaves behind has this form for every formulation; here it becomes derivatives by parameters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.model.mechanism import Mechanism
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.states import States, slopes, unforced
from mechgrad.typing import FloatArray


class Weights(NamedTuple):
    """Weights (no, nt, .) of residual and rows in some states; rows count all rows, None stands for zero.

    forced : whether the residual is that with gravity, forces and loads, or M a + Gamma^T lam alone
    """

    states: States
    mu: FloatArray | None
    w0: FloatArray | None = None
    w1: FloatArray | None = None
    w2: FloatArray | None = None
    forced: bool = True


def by_parameters(weights: Weights, parameters: Parameters) -> FloatArray:
    """ds/dp of all objectives (no, np); start values have none."""
    count = next(len(x) for x in weights[1:5] if x is not None)
    result = np.zeros((count, len(parameters)))
    for k in parameters.in_model:
        T: Mechanism = parameters.record(k)
        found = slopes(T if weights.forced else unforced(T), weights.states, residual=weights.mu is not None)
        for weight, slope in zip(weights[1:5], found, strict=True):
            if weight is not None:
                result[:, k] += np.einsum("oti,ti->o", weight, slope[:, : weight.shape[2]])
    return result
