"""Explicit steps once more, linearised by matrices: mechanisms with loops, and formulations that have a mass matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mechgrad.model.mechanism import N_ALL
from mechgrad.steps.acceleration_slopes import Mechanics, StateAccelerations
from mechgrad.steps.base import ParameterColumns
from mechgrad.steps.record import Record
from mechgrad.steps.runge_kutta.constraint_correction import ConstraintCorrection
from mechgrad.steps.runge_kutta.held_steps import HeldSteps, Span
from mechgrad.steps.runge_kutta.kernels.blocks import CorrectionMatrices, RungeKuttaBlocks
from mechgrad.typing import FloatArray, IntArray

CHUNK_BYTES = 2**25  # of linearised equations kept at a time


class Piece(NamedTuple):
    """Steps of a span, linearised.

    corrections : of the stages, of the states after steps and of reports within steps; None where there are none
    terms : what parameters do, in a direct sweep
    """

    span: Span
    blocks: RungeKuttaBlocks
    stages: StateAccelerations
    corrections: tuple[ConstraintCorrection | None, ConstraintCorrection | None, ConstraintCorrection | None]
    terms: list[FloatArray]


class RungeKuttaSteps(HeldSteps):
    """The steps of a march by an explicit Runge-Kutta method."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        super().__init__(record)
        self.mechanics = Mechanics.of(self.system, self.f)
        n, m = self.n, self.system.n_constraints
        rows = int(self.system.T.ints[N_ALL])
        size = 8 * (5 * n * n + 4 * n * (n + m) + 4 * rows * n + 20 * n)
        self.chunk = int(np.clip(CHUNK_BYTES // size, 64, 16384))  # states linearised at a time

    def stages_at_once(self, columns: int) -> int:
        return self.chunk

    def linearised(self, piece: range, parameters: ParameterColumns | None = None) -> Piece:
        found = self._prepared(self.span(piece))
        if parameters is None:
            return found
        count, n = len(parameters), self.n
        terms = [np.ascontiguousarray(found.stages.by_parameters(parameters)[:, :, :n])]
        for correction in found.corrections:
            none = (np.zeros((0, count, n)), np.zeros((0, count, n)))
            terms += none if correction is None else correction.by_parameters(parameters)
        return found._replace(terms=terms)

    def onto_constraints(
        self, q: FloatArray, v: FloatArray, t: FloatArray, picks: IntArray | None
    ) -> tuple[FloatArray, FloatArray]:
        if picks is None:
            return q, v
        there = ConstraintCorrection(self.mechanics, q, v, t, picks, derive=False)
        return there.q, there.v

    def _prepared(self, span: Span) -> Piece:
        n, picks, found = self.n, span.picks, self.stages(span)
        stages = StateAccelerations(self.mechanics, found.states)
        corrected = corrected_ends = reported = None
        if picks is not None:
            of_stages = np.repeat(picks, found.taken.sum(axis=1), axis=0)
            corrected = ConstraintCorrection(
                self.mechanics, found.before, found.before_v, found.states.t, of_stages
            )  # fmt: skip
        if self.kind.corrects is not None:
            corrected_ends = ConstraintCorrection(self.mechanics, found.end_q, found.end_v, span.t + span.h, picks)
            if len(span.within):
                of_reports = None if picks is None else picks[span.within[:, 0]]
                t = self.record.t[span.within[:, 1]]
                reported = ConstraintCorrection(self.mechanics, found.out_q, found.out_v, t, of_reports)
        F_q, F_v = (np.ascontiguousarray(x[:, :n].reshape(len(x), -1)) for x in (stages.by_q, stages.by_v))
        blocks = self.blocks(span, found)._replace(
            F_q=F_q, F_v=F_v, corrected=_matrices(corrected, n), corrected_ends=_matrices(corrected_ends, n),
            corrected_reports=_matrices(reported, n),
        )  # fmt: skip
        return Piece(span, blocks, stages, (corrected, corrected_ends, reported), [])

    def reports(self) -> Iterator[tuple[slice, StateAccelerations]]:
        """Accelerations and multipliers of the reported states follow from q and v."""
        for first in range(0, len(self.record.t), self.chunk):
            here = slice(first, first + self.chunk)
            yield here, StateAccelerations(self.mechanics, self.record.states(here))


def _matrices(correction: ConstraintCorrection | None, n: int) -> CorrectionMatrices:
    if correction is None:
        return CorrectionMatrices(*(np.zeros((0, n * n)) for _ in range(3)))
    return correction.matrices()
