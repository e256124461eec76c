"""Gradients of objectives by the state, on their way back through explicit steps, body by body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import DONE
from mechgrad.dynamics.states import StateGradients, contiguous
from mechgrad.errors import InputError
from mechgrad.steps.acceleration_slopes import pulled_back, weights_of_rows
from mechgrad.steps.base import Adjoint
from mechgrad.steps.failures import REASONS
from mechgrad.steps.recursive.kernels.adjoint import recursive_adjoint
from mechgrad.steps.recursive.kernels.loop_adjoint import Corrections, LoopWeights, loop_adjoint
from mechgrad.steps.recursive.kernels.loop_adjoint import Stages as LoopStages
from mechgrad.steps.recursive.pieces import Piece, RecursiveSteps
from mechgrad.steps.runge_kutta.adjoint import gathered
from mechgrad.steps.runge_kutta.kernels.blocks import EndColumns, StageTerms, StateChange
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray


@final
class RecursiveAdjoint(Adjoint):
    """yq and yv, (no, n_v) each.

    pull_q, pull_v : gradients of objectives by the reported states, through accelerations, too
    """

    def __init__(self, steps: RecursiveSteps, g: StateGradients, sink: WeightSink) -> None:
        self.steps, self.count = steps, g.q.shape[1]
        self.pull_q, self.pull_v = np.array(g.q, float), np.array(g.v, float)
        pulls = np.concatenate([g.a, g.lam], axis=2)
        asked = np.flatnonzero(pulls.any(axis=(1, 2)))
        for first in range(0, len(asked), steps.stages_at_once(self.count)):
            some = asked[first : first + steps.stages_at_once(self.count)]
            by_q, by_v, weights = pulled_back(
                steps.system, steps.f, steps.record.states().rows(some),
                np.ascontiguousarray(pulls[some].swapaxes(0, 1)), recursive=True,
            )  # fmt: skip
            self.pull_q[some] += by_q
            self.pull_v[some] += by_v
            sink(weights)
        self.yq, self.yv = np.zeros((self.count, steps.n)), np.zeros((self.count, steps.n))

    def through(self, piece: Piece) -> Iterable[Weights]:
        steps, span, stages, count, n = self.steps, piece.span, piece.stages, self.count, self.steps.n
        pulls = [gathered(x, span.ends, len(span.t)) for x in (self.pull_q, self.pull_v)]
        pulls += [np.ascontiguousarray(x[span.within[:, 1]]) for x in (self.pull_q, self.pull_v)]
        if steps.closed:
            yield from self._through_loops(piece, EndColumns(*pulls))
            return
        mu, none = np.zeros((count, len(stages.states.t), n)), np.zeros((count, 0, n))
        bad, reason = recursive_adjoint(
            steps.system.recursive, steps.balls, steps.blocks(span, stages), stages.states.t, EndColumns(*pulls),
            StateChange(self.yq, self.yv), StageTerms(mu, *(none,) * 6),
        )  # fmt: skip
        _check(bad, reason, stages.states.t)
        yield Weights(stages.states, mu)

    def _through_loops(self, piece: Piece, pulls: EndColumns) -> Iterable[Weights]:
        """`through` of a closed mechanism."""
        steps, stages, count, system = self.steps, piece.stages, self.count, self.steps.system
        here, N, m = stages.states, len(stages.states.t), system.n_constraints
        weights = LoopWeights(
            np.zeros((count, N, steps.n)),
            np.zeros((count, N, m)),
            piece.ends.no_weights(count),
            piece.within.no_weights(count),
        )
        bad, reason = loop_adjoint(
            system.recursive, system.unforced_recursive, system.recursion(steps.f, dtype=float),
            LoopStages(*(contiguous(x, float) for x in here)), Corrections(piece.ends.passes, piece.within.passes),
            steps.balls, steps.blocks(piece.span, stages), pulls, StateChange(self.yq, self.yv), weights,
        )  # fmt: skip
        _check(bad, reason, here.t)
        yield weights_of_rows(system, steps.f, here, weights.mu, weights.nu)
        yield from piece.ends.weights(weights.ends)
        yield from piece.within.weights(weights.reports)

    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        return self.yq + self.pull_q[0], self.yv + self.pull_v[0]


def _check(bad: int, reason: int, t: FloatArray) -> None:
    """Raise where a stage could not be taken back."""
    if reason != DONE:
        raise InputError(f"sensitivities end before t = {t[bad]:.6g} s: {REASONS[reason]}.")
