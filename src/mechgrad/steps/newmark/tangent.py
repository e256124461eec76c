"""Changes on their way through implicit steps, forwards.

[ K + cv C + ca M   Gamma^T ] [ du   ]       the scheme's memory of the state before, and r_p, c_p
[ c_q + cv c_v      -eps    ] [ dlam ] = -                                                           then projections
"""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import StateSlopes
from mechgrad.kernels.right_hand_sides import padded
from mechgrad.steps.base import ParameterColumns, Tangent
from mechgrad.steps.initial import InitialAccelerations
from mechgrad.steps.newmark.kernels.blocks import StateColumns, StepTerms
from mechgrad.steps.newmark.kernels.march_states import State
from mechgrad.steps.newmark.kernels.tangent import tangent_steps
from mechgrad.steps.newmark.pieces import NewmarkSteps, Piece
from mechgrad.typing import FloatArray


@final
class NewmarkTangent(Tangent):
    """dq, dv, da and the change of the memory, (n_v, np) each."""

    def __init__(self, steps: NewmarkSteps, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None:
        self.steps, self.count = steps, len(parameters)
        n, nt = steps.n, len(steps.record.t)
        self.widths = (n, n, n, steps.m)
        self.out = [np.zeros((nt, k, self.count)) for k in self.widths]
        da, dlam = InitialAccelerations(steps.record).direct(parameters, dq, dv)
        for whole, first in zip(self.out, (dq, dv, da, dlam), strict=True):
            whole[0] = first.T
        self.now = [np.zeros((n, padded(self.count))) for _ in range(4)]
        for x, first in zip(self.now, (dq, dv, da, da), strict=True):
            x[:, : self.count] = first.T
        self.ranks: list[tuple[FloatArray, FloatArray]] = []

    def through(self, piece: Piece) -> None:
        steps, N = self.steps, len(piece.blocks.d)
        after, rank = [np.empty((N, k, padded(self.count))) for k in self.widths], np.empty(N)
        before = [x.copy() for x in self.now] if piece.elimination is not None else self.now
        bad = self._stepped(piece, after, rank)
        if bad >= 0 and piece.elimination is not None:  # sparse factors lost digits there, if they are not singular
            self.now = before
            bad = self._stepped(steps.dense(piece), after, rank)
        steps.check(bad, piece.stages)
        self.ranks.append((piece.stages.newton.t, rank))
        for whole, part in zip(self.out, after, strict=True):
            whole[piece.taken.outputs] = part[piece.taken.reported, :, : self.count]

    def _stepped(self, piece: Piece, after: list[FloatArray], rank: FloatArray) -> int:
        """All steps of a piece; the first without a solution, or -1."""
        steps = self.steps
        found: int = tangent_steps(
            steps.T.atoms_i, steps.settings, piece.numbers, piece.blocks, StepTerms(*piece.terms), State(*self.now),
            StateColumns(*after), rank, piece.sparse(),
        )  # fmt: skip
        return found

    def finished(self) -> StateSlopes:
        self.steps.check_rank(self.ranks)
        return StateSlopes(*(x.swapaxes(1, 2) for x in self.out))
