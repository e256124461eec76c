"""Sums of weighted residuals of a probed mechanism, and their gradients by all parameters of the plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, final

import numpy as np

from mechgrad.dynamics.states import States, slopes
from mechgrad.dynamics.system import System
from mechgrad.inverse.probes import Probed
from mechgrad.kinematics.mechanism import row_report
from mechgrad.model.model import Model
from mechgrad.sensitivities.measures.base import StateSamples
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.table_gradient import TableGradient
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray

ROWS = ("values", "rates", "seconds")


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

    def by_parameters(self, parameters: Parameters, count: int, weights: Sequence[Weights]) -> FloatArray:
        """Gradients (count, np) of sums of weighted residuals and rows."""
        result = np.zeros((count, len(parameters)))
        depends_on = [k for k in parameters.acting if parameters.on_motion(k)]
        if depends_on:
            own = Parameters(cast(Any, self), [parameters.names[k] for k in depends_on])
            result[:, depends_on] = weighted(own, count, weights)
        return result


def weighted(parameters: Parameters, count: int, weights: Sequence[Weights]) -> FloatArray:
    """Gradients (count, np) of sums of weighted residuals and rows of the parameters' own mechanism.

    By all tables at once where there are more parameters than sums, and parameter by parameter where there are not: the
    kernels are those that the adjoint and the direct method need anyway.
    """
    if count < len(parameters.acting):
        tables = TableGradient(parameters.motion.system, count, parameters)
        for some in weights:
            tables.add(some)
        return tables.by_parameters()
    result = np.zeros((count, len(parameters)))
    for k in parameters.acting:
        for some in weights:
            T = parameters.record(k) if some.forced else parameters.unforced_record(k)
            parts = {name: w for name, w in zip(ROWS, some[2:5], strict=True) if w is not None}
            found = slopes(T, some.states, residual=some.mu is not None, rows=tuple(parts))
            if some.mu is not None:
                result[:, k] += np.einsum("kti,ti->k", some.mu, found.r)
            for name, w in parts.items():
                result[:, k] += np.einsum("kti,ti->k", w, getattr(found, name)[:, : w.shape[2]])
    return result


def chunks(count: int, model: Model) -> list[slice]:
    """Instants taken together, so that matrices of all of them stay within some megabytes."""
    size = max(32, int(2e6 / max(1, (model.n_v + 6) ** 2)))
    return [slice(k, min(k + size, count)) for k in range(0, count, size)]
