"""Sums of weighted residuals of a probed mechanism, and their gradients by all parameters of the plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.inverse.probes import Probed
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.measures.base import StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.model.model import Model
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray


@final
class ProbedCase:
    """A mechanism with probes and what gradients by parameters ask of any motion: a model, a system, no start."""

    start = None
    forced = True

    def __init__(self, at: StateSamples, probes: Probed) -> None:
        report = row_report(at.model)
        self.probes, self.model = probes, probes.model
        self.model.cached("row report", lambda _: report)  # the same rows act
        self.system = System(self.model, probes.widen(at.tau), at.loads, rows=report.kept)
        self.tau, self.loads = self.system.tau, self.system.loads
        # no start of its own: any state will do
        self.q, self.v, self.t = self.model.neutral()[None], np.zeros((1, self.model.n_v)), np.zeros(1)

    def states(self, q: FloatArray, v: FloatArray, a: FloatArray, lam: FloatArray, t: FloatArray) -> States:
        """States of the plain mechanism, probes at rest."""
        widen = self.probes.widen
        return States(self.probes.widen_q(q), widen(v), widen(a), lam, t)

    def by_parameters(self, parameters: MotionParameters, count: int, weights: Sequence[Weights]) -> FloatArray:
        """Gradients (count, np) of sums of weighted residuals and rows."""
        result = np.zeros((count, len(parameters)))
        depends_on = [k for k in parameters.acting if parameters.on_motion(k)]
        if depends_on:
            own = parameters.alike(self, [parameters.names[k] for k in depends_on])
            result[:, depends_on] = own.weighted(count, weights)
        return result


def chunks(count: int, model: Model) -> list[slice]:
    """Instants taken together, so that matrices of all of them stay within some megabytes."""
    size = max(32, int(2e6 / max(1, (model.n_v + 6) ** 2)))
    return [slice(k, min(k + size, count)) for k in range(0, count, size)]
