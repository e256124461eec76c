"""Changes on their way through steps in independent coordinates, forwards."""

from __future__ import annotations

from typing import final

import numpy as np

from mechgrad.dynamics.states import StateSlopes
from mechgrad.kernels.right_hand_sides import padded
from mechgrad.steps.base import ParameterColumns, Tangent
from mechgrad.steps.initial import InitialAccelerations
from mechgrad.steps.matrix_r.kernels import tangent as _kernels
from mechgrad.steps.matrix_r.kernels.tangent import FreeColumns, IndependentBlocks, LevelTerms
from mechgrad.steps.matrix_r.pieces import IndependentSteps, Piece
from mechgrad.steps.newmark.kernels.blocks import StateColumns
from mechgrad.typing import FloatArray


@final
class IndependentTangent(Tangent):
    """dz, dz', dz'' and the change of the memory, (freedom, columns) each: parameters, and what fills blocks."""

    def __init__(self, steps: IndependentSteps, parameters: ParameterColumns, dq: FloatArray, dv: FloatArray) -> None:
        self.steps, self.count, self.wanted = steps, padded(len(parameters)), len(parameters)
        n, rank = steps.n, steps.rank
        da, dlam = InitialAccelerations(steps.record, steps.start[:rank]).direct(parameters, dq, dv)
        self.out = [np.zeros((len(steps.record.t), k, self.count)) for k in (n, n, n, steps.m)]
        for whole, start in zip(self.out, (dq, dv, da, dlam), strict=True):
            whole[0, :, : self.wanted] = start.T
            whole[0, :, self.wanted :] = 0.0
        dq, dv, da, _ = (whole[0].T for whole in self.out)
        B, rate_q, second_q, second_v = steps.first_rows()
        at_start = steps.parameter_terms(parameters, steps.first_state, steps.start[None], residual=False)
        _, *moved = (x[0, rank:] for x in at_start)
        dz, dzd = B @ dq.T + moved[0], B @ dv.T + rate_q @ dq.T + moved[1]
        dzdd = B @ da.T + second_v @ dv.T + second_q @ dq.T + moved[2]
        self.now = [dz, dzd, dzdd, dzdd.copy()]
        self.before = [whole[0] for whole in self.out[:3]]

    def through(self, piece: Piece) -> None:
        steps, states, rank = self.steps, piece.states, self.steps.rank
        after = [np.empty((len(states.t), k, self.count)) for k in (steps.n, steps.n, steps.n, rank)]
        for here, anew in piece.parts:
            if anew is not None:
                # a coordinate that is chosen anew, its rates, and the memory, which is its second rate
                self.now = [np.array(self.before[k][anew], order="C") for k in (0, 1, 2, 2)]
            part = IndependentBlocks(*(x[here] for x in piece.blocks))
            into = [x[here] for x in after]
            given = [x[here] for x in piece.terms]
            h, now = piece.taken.h[here], FreeColumns(*self.now)
            bad = _kernels.independent_tangent_steps(
                steps.settings, h, part, LevelTerms(*given), now, StateColumns(*into)
            )
            steps.check(bad, states.rows(here), h)
            self.before = [x[-1] for x in into[:3]]
        outputs, reported = piece.taken.outputs, piece.taken.reported
        for whole, change in zip(self.out[:3], after[:3], strict=True):
            whole[outputs] = change[reported]
        solved = piece.picks[reported, :rank, None]
        np.put_along_axis(self.out[3][outputs], solved, after[3][reported], axis=1)

    def finished(self) -> StateSlopes:
        return StateSlopes(*(x[:, :, : self.wanted].swapaxes(1, 2) for x in self.out))
