"""Gradients of objectives by the state, on their way back through steps by fixed-point iteration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.dynamics.system import INDEX_1
from mechgrad.steps.acceleration_slopes import pulled_back
from mechgrad.steps.base import Adjoint
from mechgrad.steps.fixed_point.kernels.adjoint import fixed_point_adjoint
from mechgrad.steps.fixed_point.pieces import FixedPointSteps, Piece
from mechgrad.steps.newmark.kernels.blocks import StateColumns
from mechgrad.steps.newmark.kernels.march_states import State
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray


@final
class FixedPointAdjoint(Adjoint):
    """y : gradients by q, v, a and by the scheme's memory, (no, n_v, 1) each."""

    def __init__(self, steps: FixedPointSteps, g: StateGradients, sink: WeightSink) -> None:
        self.steps, self.g, self.count = steps, g, g.q.shape[1]
        self.y = [np.zeros((self.count, steps.n, 1)) for _ in range(4)]

    def through(self, piece: Piece) -> Iterable[Weights]:
        steps, taken, N = self.steps, piece.taken, len(piece.states.t)
        mu = np.zeros((self.count, N, steps.n))
        for k in range(self.count):
            pulls = []
            for whole in self.g:
                part = np.zeros((N, whole.shape[2], 1))
                part[taken.reported, :, 0] = whole[taken.outputs, k]
                pulls.append(part)
            bad, reason = fixed_point_adjoint(
                steps.T, steps.settings, piece.states, piece.held, StateColumns(*pulls),
                State(*(y[k] for y in self.y)), mu[k],
            )  # fmt: skip
            steps.check(bad, reason, piece.states)
        yield Weights(piece.states, mu)

    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        steps, g = self.steps, self.g
        yq, yv, ya, yx = (y[:, :, 0] for y in self.y)
        first = steps.record.states(slice(0, 1))
        by_q, by_v, weights = pulled_back(steps.system, INDEX_1, first, (ya + yx + g.a[0])[:, None])
        sink(weights)
        return yq + g.q[0] + by_q[0], yv + g.v[0] + by_v[0]
