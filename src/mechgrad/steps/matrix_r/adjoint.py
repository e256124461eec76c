"""Gradients of objectives by the state, on their way back through steps in independent coordinates: the transpose of
`tangent`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.steps.base import Adjoint
from mechgrad.steps.initial import InitialAccelerations
from mechgrad.steps.matrix_r.kernels import tangent as _kernels
from mechgrad.steps.matrix_r.kernels.tangent import FreeColumns, IndependentBlocks, LevelTerms
from mechgrad.steps.matrix_r.pieces import IndependentSteps, Piece
from mechgrad.steps.newmark.kernels.blocks import StateColumns
from mechgrad.steps.weights import Weights, WeightSink
from mechgrad.typing import FloatArray


@final
class IndependentAdjoint(Adjoint):
    """Gradients of objectives by z, z', z'' and the memory, (freedom, no) each.

    pending : what coordinates that were chosen anew pull at the state before
    """

    def __init__(self, steps: IndependentSteps, g: StateGradients, sink: WeightSink) -> None:
        self.steps, self.g, self.count = steps, g, g.q.shape[1]
        self.y = self._at_rest()
        self.pending = [np.zeros((steps.n, self.count)) for _ in range(3)]

    def _at_rest(self) -> list[FloatArray]:
        return [np.zeros((self.steps.freedom, self.count)) for _ in range(4)]

    def through(self, piece: Piece) -> Iterable[Weights]:
        steps, states, picks, count = self.steps, piece.states, piece.picks, self.count
        N = len(states.t)
        pulls = []
        for whole in self.g:
            part = np.zeros((N, whole.shape[2], count))
            part[piece.taken.reported] = whole[piece.taken.outputs].swapaxes(1, 2)
            pulls.append(part)
        pulls[3] = np.take_along_axis(pulls[3], picks[:, : steps.rank, None], axis=1)
        weights = [np.zeros((count, N, steps.n)) for _ in range(4)]
        for here, anew in reversed(piece.parts):
            for pull, more in zip(pulls, self.pending, strict=False):
                pull[here.stop - 1] += more
                more[:] = 0.0
            blocks = IndependentBlocks(*(x[here] for x in piece.blocks))
            into = [np.ascontiguousarray(x[:, here]) for x in weights]
            pulled_at = StateColumns(*(x[here] for x in pulls))
            bad = _kernels.independent_adjoint_steps(
                steps.settings, piece.taken.h[here], blocks, pulled_at, FreeColumns(*self.y), LevelTerms(*into)
            )
            steps.check(bad, states.rows(here), piece.taken.h[here])
            for whole, part in zip(weights, into, strict=True):
                whole[:, here] = part
            if anew is not None:
                yz, yzd, yzdd, yx = self.y
                for more, pull in zip(self.pending, (yz, yzd, yzdd + yx), strict=True):
                    more[anew] = pull
                self.y = self._at_rest()
        mu, *levels = weights
        w0, w1, w2 = (steps.spread(x, picks) for x in levels)
        return [Weights(states, mu, w0, w1, w2)]

    def finished(self, sink: WeightSink) -> tuple[FloatArray, FloatArray]:
        steps, g, rank = self.steps, self.g, self.steps.rank
        yz, yzd, yzdd, yx = (x.T for x in self.y)
        yzdd = yzdd + yx
        B, rate_q, second_q, second_v = steps.first_rows()
        yq = g.q[0] + yz @ B + yzd @ rate_q + yzdd @ second_q
        yv = g.v[0] + yzd @ B + yzdd @ second_v
        w0, w1, w2 = (steps.spread(x[:, None], steps.start[None, rank:]) for x in (yz, yzd, yzdd))
        sink(Weights(steps.first_state, None, w0, w1, w2))
        accelerations = InitialAccelerations(steps.record, steps.start[:rank])
        sink(accelerations.adjoint(yq, yv, g.a[0] + yzdd @ B, g.lam[0]))
        return yq, yv
