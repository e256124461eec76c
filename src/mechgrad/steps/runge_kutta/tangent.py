"""Changes on their way through explicit steps, forwards; accelerations and multipliers follow from q and v."""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import StateSlopes
from mechgrad.steps.base import ParameterColumns, Tangent
from mechgrad.steps.runge_kutta.kernels.blocks import EndColumns, StageTerms, StateChange
from mechgrad.steps.runge_kutta.kernels.tangent import tangent_march
from mechgrad.steps.runge_kutta.pieces import Piece, RungeKuttaSteps
from mechgrad.typing import FloatArray


@final
class RungeKuttaTangent(Tangent):
    """dq and dv, (np, n_v) each."""

    def __init__(self, steps: RungeKuttaSteps, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None:
        self.steps, self.parameters, self.count = steps, parameters, len(parameters)
        n, m, nt = steps.n, steps.system.n_constraints, len(steps.record.t)
        self.out = StateSlopes(*(np.zeros((nt, self.count, k)) for k in (n, n, n, m)))
        self.out.q[0], self.out.v[0] = dq, dv
        self.now = [np.array(x, float, order="C") for x in (dq, dv)]

    def through(self, piece: Piece) -> None:
        steps, span = self.steps, piece.span
        after = [np.zeros((k, self.count, steps.n)) for k in (len(span.t),) * 2 + (len(span.within),) * 2]
        tangent_march(
            steps.system.T.atoms_i, steps.balls, piece.blocks, StageTerms(*piece.terms), StateChange(*self.now),
            EndColumns(*after),
        )  # fmt: skip
        for target, at_ends, at_reports in ((self.out.q, after[0], after[2]), (self.out.v, after[1], after[3])):
            target[span.ends[:, 1]] = at_ends[span.ends[:, 0]]
            target[span.within[:, 1]] = at_reports

    def finished(self) -> StateSlopes:
        out, n = self.out, self.steps.n
        for here, found in self.steps.reports():
            change = found.by_parameters(self.parameters)
            change += out.q[here] @ found.by_q.swapaxes(1, 2) + out.v[here] @ found.by_v.swapaxes(1, 2)
            out.a[here], out.lam[here] = change[:, :, :n], change[:, :, n:]
        return out
