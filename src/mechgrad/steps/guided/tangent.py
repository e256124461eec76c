"""Changes of a motion that drivers decide, at all instants."""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import StateSlopes
from mechgrad.steps.base import ParameterColumns, Tangent
from mechgrad.steps.guided.pieces import GuidedSteps
from mechgrad.typing import FloatArray


@final
class GuidedTangent(Tangent):
    """dq, dv and da; nothing is carried from instant to instant."""

    def __init__(self, steps: GuidedSteps, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None:
        self.steps, self.parameters = steps, parameters
        nt, count, n = len(steps.states.t), len(parameters), steps.n
        self.out = StateSlopes(*(np.zeros((nt, count, k)) for k in (n, n, n, 0)))

    def through(self, piece: slice) -> None:
        steps, out, everywhere = self.steps, self.out, np.arange(piece.start, piece.stop)
        for k in self.parameters.in_model:
            q, v, second = steps.followed(self.parameters, k, everywhere)
            second = second + (steps.second_q @ q[:, :, None] + steps.second_v @ v[:, :, None])[:, :, 0]
            out.q[:, k], out.v[:, k] = q, v
            out.a[:, k] = -(steps.inverse @ second[:, :, None])[:, :, 0]

    def finished(self) -> StateSlopes:
        return self.out
