"""Gradients of objectives by the state, on their way back through implicit steps: the transpose of `tangent`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.kernels.right_hand_sides import padded
from mechgrad.steps.base import Adjoint
from mechgrad.steps.initial import InitialAccelerations
from mechgrad.steps.newmark.kernels.adjoint import adjoint_steps
from mechgrad.steps.newmark.kernels.blocks import StateColumns, StepTerms
from mechgrad.steps.newmark.kernels.march_states import State
from mechgrad.steps.newmark.pieces import NewmarkSteps, Piece, Stages
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray


@final
class NewmarkAdjoint(Adjoint):
    """yq, yv, ya and the gradient by the memory, (n_v, no) each."""

    def __init__(self, steps: NewmarkSteps, g: StateGradients, sink: WeightSink) -> None:
        self.steps, self.g, self.count = steps, g, g.q.shape[1]
        self.y = [np.zeros((steps.n, padded(self.count))) for _ in range(4)]
        self.ranks: list[tuple[FloatArray, FloatArray]] = []

    def through(self, piece: Piece) -> Iterable[Weights]:
        steps, taken, count, N = self.steps, piece.taken, self.count, len(piece.blocks.d)
        pulls = []
        for whole in self.g:
            part = np.zeros((N, whole.shape[2], padded(count)))
            part[taken.reported, :, :count] = whole[taken.outputs].swapaxes(1, 2)
            pulls.append(part)
        n, m = steps.n, steps.m
        weights, rank = [np.zeros((count, N, k)) for k in (n, m, n, m, n, m)], np.empty(N)
        before = [x.copy() for x in self.y] if piece.elimination is not None else self.y
        bad = self._stepped(piece, pulls, weights, rank)
        if bad >= 0 and piece.elimination is not None:  # sparse factors lost digits there, if they are not singular
            self.y = before
            bad = self._stepped(steps.dense(piece), pulls, weights, rank)
        steps.check(bad, piece.stages)
        self.ranks.insert(0, (piece.stages.newton.t, rank))
        return self._weights(piece.stages, weights)

    def _stepped(self, piece: Piece, pulls: list[FloatArray], weights: list[FloatArray], rank: FloatArray) -> int:
        """All steps of a piece, backwards; the first without a solution, or -1."""
        steps = self.steps
        found: int = adjoint_steps(
            steps.T.atoms_i, steps.settings, piece.numbers, piece.blocks, StateColumns(*pulls), State(*self.y),
            StepTerms(*weights), rank, piece.sparse(),
        )  # fmt: skip
        return found

    def _weights(self, stages: Stages, weights: list[FloatArray]) -> list[Weights]:
        """What parameters act with: in Newton's equations, in the projections, and in the state after them."""
        steps = self.steps
        mu, nu, eta2, theta2, eta3, theta3 = weights
        value, rate, second = (nu * w if np.any(w) else None for w in (steps.w0, steps.w1, steps.w2))
        found = [Weights(stages.newton, mu, value, rate, second)]
        if stages.impulses is not None and stages.after is not None:
            found.append(Weights(stages.impulses, eta2, forced=False))
            if stages.accelerations is not None:
                found.append(Weights(stages.accelerations, eta3, forced=False))
            found.append(Weights(stages.after, None, None, theta2, theta3, forced=False))
        return found

    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        steps, g = self.steps, self.g
        steps.check_rank(self.ranks)
        yq, yv, ya, yx = (x[:, : self.count].T.copy() for x in self.y)
        yq, yv = yq + g.q[0], yv + g.v[0]
        sink(InitialAccelerations(steps.record).adjoint(yq, yv, ya + yx + g.a[0], g.lam[0]))
        return yq, yv
