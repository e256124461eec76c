"""Gradients of objectives by the state, on their way back through explicit steps: the transpose of `tangent`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.steps.base import Adjoint
from mechgrad.steps.runge_kutta.kernels.adjoint import adjoint_march
from mechgrad.steps.runge_kutta.kernels.blocks import EndColumns, StageTerms, StateChange
from mechgrad.steps.runge_kutta.pieces import Piece, RungeKuttaSteps
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray, IntArray


@final
class RungeKuttaAdjoint(Adjoint):
    """yq and yv, (no, n_v) each.

    pull_q, pull_v : gradients of objectives by the reported states, through accelerations and multipliers, too
    """

    def __init__(self, steps: RungeKuttaSteps, g: StateGradients, sink: WeightSink) -> None:
        self.steps, self.count = steps, g.q.shape[1]
        self.pull_q, self.pull_v = np.array(g.q, float), np.array(g.v, float)
        for here, found in steps.reports():
            pulls = np.concatenate([g.a[here], g.lam[here]], axis=2)
            self.pull_q[here] += pulls @ found.by_q
            self.pull_v[here] += pulls @ found.by_v
            sink(found.weights(pulls.swapaxes(0, 1)))
        self.yq, self.yv = np.zeros((self.count, steps.n)), np.zeros((self.count, steps.n))

    def through(self, piece: Piece) -> Iterable[Weights]:
        steps, span, blocks, count, n = self.steps, piece.span, piece.blocks, self.count, self.steps.n
        pulls = [gathered(x, span.ends, len(span.t)) for x in (self.pull_q, self.pull_v)]
        pulls += [np.ascontiguousarray(x[span.within[:, 1]]) for x in (self.pull_q, self.pull_v)]
        lines = [0 if x is None else x.shape[0] for x in piece.corrections]
        weights = [np.zeros((count, k, n)) for k in (len(blocks.q), *np.repeat(lines, 2))]
        adjoint_march(
            steps.system.T.atoms_i, steps.balls, blocks, EndColumns(*pulls), StateChange(self.yq, self.yv),
            StageTerms(*weights),
        )  # fmt: skip
        alpha = np.zeros((count, len(blocks.q), n + steps.system.n_constraints))
        alpha[:, :, :n] = weights[0]
        yield piece.stages.weights(alpha)
        for k, correction in enumerate(piece.corrections):
            if correction is not None:
                yield from correction.weights(weights[1 + 2 * k], weights[2 + 2 * k])

    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        return self.yq + self.pull_q[0], self.yv + self.pull_v[0]


def gathered(pulls: FloatArray, ends: IntArray, N: int) -> FloatArray:
    """Pulls of reports at the ends of steps, (N, no, n)."""
    out = np.zeros((N, *pulls.shape[1:]))
    out[ends[:, 0]] = pulls[ends[:, 1]]
    return out
