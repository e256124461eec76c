"""Gradients of objectives by a motion that drivers decide, from accelerations to positions: the transpose of `tangent`.

    W^T x2 = g_a,    W^T x1 = g_v - second_v^T x2,    W^T x0 = g_q - rate_q^T x1 - second_q^T x2

The gradient by a parameter is  psi_p - x0 . value_p - x1 . rate_p - x2 . second_p.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.steps.base import Adjoint
from mechgrad.steps.guided.pieces import GuidedSteps
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray


@final
class GuidedAdjoint(Adjoint):
    """Weights of rows at all instants; a start does not matter."""

    def __init__(self, steps: GuidedSteps, g: StateGradients, sink: WeightSink) -> None:
        self.steps, self.g = steps, g

    def through(self, piece: slice) -> Iterable[Weights]:
        steps, g = self.steps, self.g
        x2 = g.a @ steps.inverse
        x1 = (g.v - x2 @ steps.second_v) @ steps.inverse
        x0 = (g.q - x1 @ steps.rate_q - x2 @ steps.second_q) @ steps.position_inverse
        w0, w1, w2 = (steps.spread(-x) for x in (x0, x1, x2))
        return [Weights(steps.states, None, w0, w1, w2)]

    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        nothing = np.zeros((self.g.q.shape[1], self.steps.n))
        return nothing, nothing
