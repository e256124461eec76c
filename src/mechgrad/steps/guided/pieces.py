"""The instants of a motion that drivers decide, linearised: each for itself, since geometry has no memory.

    W q' = -value_p,    W v' = -rate_q q' - rate_p,    W a' = -second_q q' - second_v v' - second_p

W holds Gamma of all constraint rows and of what was driven besides; the shortest solution where rows are redundant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import (
    States,
    as_complex,
    linearised,
    slopes,
)
from mechgrad.dynamics.system import System
from mechgrad.model.mechanism import N_ALL
from mechgrad.steps.base import ParameterColumns, Steps
from mechgrad.steps.chunk_pool import ChunkPool
from mechgrad.steps.independent.candidates import named_rows
from mechgrad.steps.torn import MISS, torn
from mechgrad.tolerances import RANK
from mechgrad.typing import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from mechgrad.model.model import Model

INSTANTS = 8  # at which adjoints look for parameters that redundant rows cannot follow


@final
@dataclass(frozen=True, eq=False)
class GuidedRecord:
    """What was found instant by instant.

    held : names of what was driven besides the constraints of the model
    norms : (nt, 3) largest misses of the rows in positions, velocities and accelerations
    """

    model: Model
    t: FloatArray
    q: Array
    v: Array
    a: Array
    held: tuple[str, ...]
    norms: FloatArray

    @cached_property
    def system(self) -> System:
        """The mechanism, with the rows that were driven besides; in real numbers."""
        return System(self.model, independent=named_rows(self.model, self.held))


class GuidedSteps(Steps):
    """The instants of a motion that drivers decide.

    >>> turn = mg.kinematic_motion(model, [0.0, 0.5], {"pin": [0.0, 1.0]})
    >>> GuidedSteps(turn.record).W.shape  # instants, rows, velocities
    (2, 1, 1)
    """

    def __init__(self, record: GuidedRecord, threads: int = 1) -> None:
        system, model = record.system, record.model
        self.record, self.system, self.model, self.n = record, system, model, model.n_v
        self.pool = ChunkPool(1)
        m, first, last = system.n_constraints, system.n_rows, int(system.T.ints[N_ALL])
        self.width = last
        self.rows = np.r_[0:m, first:last]
        # rows of velocities ask nothing of positions
        self.finite = np.flatnonzero((self.rows < system.n_holonomic) | (self.rows >= first))
        self.states = States(record.q, record.v, record.a, np.zeros((len(record.t), m)), record.t)
        J = linearised(system.T, self.states, False).J
        T = as_complex(system.T)
        rate_q, second_q = coordinate_slopes(model, T, self.states)
        second_v = velocity_slopes(model, T, self.states, rate_q, J, m == system.n_holonomic)
        self.W, self.rate_q, self.second_q, self.second_v = (
            J[:, self.rows], rate_q[:, self.rows], second_q[:, self.rows], second_v[:, self.rows],
        )  # fmt: skip
        self.inverse: FloatArray = np.asarray(np.linalg.pinv(self.W, rcond=RANK), float)
        self.position_inverse = self.inverse
        if len(self.finite) < len(self.rows):
            self.position_inverse = np.zeros_like(self.inverse)
            self.position_inverse[:, :, self.finite] = np.linalg.pinv(self.W[:, self.finite], rcond=RANK)

    def pieces(self, columns: int) -> list[slice]:
        return [slice(0, len(self.states.t))]

    def linearised(self, piece: slice, parameters: ParameterColumns | None = None) -> slice:
        return piece

    def followed(
        self, parameters: ParameterColumns, k: int, which: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dq and dv by a parameter at some instants, and its part in second rates; raises where redundant rows cannot
        follow it, in positions or in velocities."""
        states = States(*(np.asarray(x)[which] for x in self.states))
        found = slopes(parameters.record(k), states, residual=False)
        value, rate, second = (x[:, self.rows] for x in found[1:])
        q = -applied(self.position_inverse[which], value)
        rate = rate + applied(self.rate_q[which], q)
        v = -applied(self.inverse[which], rate)
        W, finite = self.W[which], self.finite
        for left, change in ((applied(W, q)[:, finite] + value[:, finite], value), (applied(W, v) + rate, rate)):
            miss, size = float(np.abs(left).max(initial=0.0)), float(np.abs(change).max(initial=0.0))
            if miss > MISS * max(1.0, size):
                raise torn(self.model, parameters.names[k], miss)
        return q, v, second

    def check(self, parameters: ParameterColumns) -> None:
        """Raise for a parameter that redundant rows cannot follow, as seen at some instants."""
        if len(self.rows) == self.n:
            return
        some = np.unique(np.linspace(0, len(self.states.t) - 1, INSTANTS).astype(int))
        for k in parameters.in_model:
            self.followed(parameters, k, some)

    def spread(self, x: FloatArray) -> FloatArray:
        """Weights (no, nt, rows) among all rows."""
        out = np.zeros((x.shape[1], x.shape[0], self.width))
        out[:, :, self.rows] = x.swapaxes(0, 1)
        return out


def applied(A: FloatArray, x: FloatArray) -> FloatArray:
    """A x at all instants: A (nt, k, n), x (nt, n)."""
    return np.asarray((A @ x[:, :, None])[:, :, 0])
