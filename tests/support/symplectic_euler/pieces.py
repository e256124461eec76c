"""The steps once more, linearised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.steps.acceleration_slopes import Mechanics, StateAccelerations
from mechgrad.steps.base import ParameterColumns, Steps
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.record import Record
from mechgrad.typing import FloatArray

EXPLICIT = np.zeros(4)  # no constraints


class Piece(NamedTuple):
    """Some steps: accelerations before them, differentiated, by parameters (N, np, n) in a direct sweep."""

    steps: range
    found: StateAccelerations
    by_parameters: FloatArray | None


class EulerSteps(Steps):
    """The steps of a march."""

    def __init__(self, record: Record, threads: int = 1) -> None:
        self.record, self.system, self.pool = record, record.system, ChunkPool(threads)
        self.mechanics, self.h = Mechanics.of(record.system, EXPLICIT), record.step_length

    def pieces(self, columns: int) -> list[range]:
        return [range(k, min(k + 16, self.record.steps)) for k in range(0, self.record.steps, 16)]

    def linearised(self, piece: range, parameters: ParameterColumns | None = None) -> Piece:
        found = StateAccelerations(self.mechanics, self.record.states(slice(piece.start, piece.stop)))
        return Piece(piece, found, None if parameters is None else found.by_parameters(parameters))

    def reported(self) -> StateAccelerations:
        """Accelerations at all instants, which follow from q and v."""
        return StateAccelerations(self.mechanics, self.record.states())
