"""The transpose of `tangent`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.steps.base import Adjoint
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray


class EulerAdjoint(Adjoint):
    """What objectives feel of q and v."""

    def __init__(self, steps: Any, g: StateGradients, sink: WeightSink) -> None:
        there, self.steps = steps.reported(), steps
        self.pull_q, self.pull_v = g.q + g.a @ there.by_q, g.v + g.a @ there.by_v
        sink(there.weights(g.a.swapaxes(0, 1)))
        self.yq, self.yv = self.pull_q[-1], self.pull_v[-1]

    def through(self, piece: Any) -> Iterable[Weights]:
        h, pulls = self.steps.h, np.zeros((len(self.yq), len(piece.steps), self.yq.shape[1]))
        for i, k in reversed(list(enumerate(piece.steps))):
            yv = self.yv + h * self.yq
            pulls[:, i] = h * yv
            self.yq = self.yq + pulls[:, i] @ piece.found.by_q[i] + self.pull_q[k]
            self.yv = yv + pulls[:, i] @ piece.found.by_v[i] + self.pull_v[k]
        return [piece.found.weights(pulls)]

    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        return self.yq, self.yv
