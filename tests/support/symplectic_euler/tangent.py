"""dv1 = dv0 + h (a_q dq0 + a_v dv0 + a_p),    dq1 = dq0 + h dv1."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.dynamics.states import StateSlopes
from mechgrad.steps.base import ParameterColumns, Tangent
from mechgrad.typing import FloatArray


class EulerTangent(Tangent):
    """dq and dv at all instants."""

    def __init__(self, steps: Any, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None:
        self.steps, self.parameters, nt = steps, parameters, len(steps.record.t)
        self.q, self.v = (np.tile(x, (nt, 1, 1)) for x in (dq, dv))

    def through(self, piece: Any) -> None:
        for i, k in enumerate(piece.steps):
            a = self.q[k] @ piece.found.by_q[i].T + self.v[k] @ piece.found.by_v[i].T + piece.by_parameters[i]
            self.v[k + 1] = self.v[k] + self.steps.h * a
            self.q[k + 1] = self.q[k] + self.steps.h * self.v[k + 1]

    def finished(self) -> StateSlopes:
        there = self.steps.reported()
        a = self.q @ there.by_q.swapaxes(1, 2) + self.v @ there.by_v.swapaxes(1, 2)
        a = a + there.by_parameters(self.parameters)
        return StateSlopes(self.q, self.v, a, np.zeros((*a.shape[:2], 0)))
