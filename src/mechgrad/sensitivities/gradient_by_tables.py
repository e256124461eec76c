"""Gradients of sums of weighted residuals and rows by parameters.

    s = sum over samples of   mu . r + w0 . value + w1 . rate + w2 . second

What an adjoint sweep leaves behind has this form for every formulation. First comes the gradient by all tables of the
mechanism, whose cost does not depend on the parameters; then its product with the change of the tables, once for each
parameter:

    ds/dp = sum over tables of  (ds/dtable) (dtable/dp)
"""

from __future__ import annotations

from threading import Lock
from typing import Protocol, final

import numpy as np

from mechgrad.dynamics.kernels import table_gradient as _kernels
from mechgrad.dynamics.states import States, contiguous, slopes
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.model.functions import Spline
from mechgrad.model.mechanism import AT_TAU, N_ALL, N_V, PIECE, Mechanism
from mechgrad.sensitivities.body_numbers import BodyNumbers
from mechgrad.steps.weights import Weights
from mechgrad.typing import FloatArray

TABLES = ("atoms_f", "markers_f", "loads_f", "numbers")


class TableParameters(Protocol):
    """What gradients by tables ask of parameters."""

    acting: list[int]

    def __len__(self) -> int: ...

    def by_user(self, k: int) -> bool:
        """Whether parameter k is a number that a user's force law receives."""

    def user_record(self, k: int) -> Mechanism:
        """The mechanism where only the laws of users have a step along parameter k."""

    def tables(self, k: int) -> dict[str, FloatArray]:
        """Derivatives of the tables of the mechanism by parameter k."""

    def knots(self) -> list[tuple[list[int], int, Spline, list[int]]]:
        """Values of splines, by function."""

    @property
    def of_bodies(self) -> BodyNumbers:
        """Parameters that are numbers of bodies and change nothing else."""


@final
class TableGradient:
    """ds/d(tables) of a mechanism, for some objectives, summed up over sweeps; several threads may add to it."""

    def __init__(self, system: System, count: int, parameters: TableParameters) -> None:
        self.count, self.T = count, system.recursive
        self.bare = system.unforced_recursive
        self.tables = {name: np.zeros((count, *getattr(self.T, name).shape)) for name in TABLES}
        self.parameters = parameters
        # numbers of users' laws stand in no table: residuals are weighed with each of them
        self._untabled = {k: parameters.user_record(k) for k in parameters.acting if parameters.by_user(k)}
        self._by_user = np.zeros((count, len(parameters)))
        self._adding = Lock()

    def add(self, weights: Weights) -> None:
        """Add what some weights make."""
        T: Mechanism = self.T if weights.forced else self.bare
        nt, n, rows = len(weights.states.t), int(T.ints[N_V]), int(T.ints[N_ALL])
        padded = [_padded(x, self.count, nt, k) for x, k in zip(weights[1:5], (n, rows, rows, rows), strict=True)]
        into = {name: np.zeros((self.count, *getattr(T, name).shape)) for name in TABLES}
        states = States(*(contiguous(x, float) for x in weights.states))
        weighed, gradients = _kernels.RowWeights(*padded), _kernels.Totals(*(into[name] for name in TABLES))
        bad = _kernels.table_gradients(T, states, weighed, gradients)
        if bad >= 0:
            raise InputError(f"the state near t = {weights.states.t[bad]:.6g} s holds a number that is not finite.")
        if not weights.forced:
            # gravity and tau do not act there, whatever they are
            into["atoms_f"][:, -1] = 0.0
            into["numbers"][:, T.ints[AT_TAU] : T.ints[AT_TAU] + n] = 0.0
            del into["loads_f"]
        by_user = {}
        if weights.forced and weights.mu is not None:
            complex_states = weights.states.complex()
            for k, record in self._untabled.items():
                by_user[k] = np.einsum("oti,ti->o", weights.mu, slopes(record, complex_states, rows=()).r)
        with self._adding:
            for k, part in by_user.items():
                self._by_user[:, k] += part
            for name, x in into.items():
                self.tables[name][:, : x.shape[1]] += x  # markers of forces come last

    def by_parameters(self) -> FloatArray:
        """ds/dp of all objectives (no, np); start values have none."""
        parameters, result = self.parameters, self._by_user.copy()
        done: set[int] = set()
        for positions, first, spline, values in parameters.knots():
            size = PIECE * (len(spline.times) + 1)
            by_pieces = self.tables["numbers"][:, first : first + size].reshape(self.count, -1, PIECE)
            result[:, positions] += spline.pulled_back(by_pieces)[:, values]
            done.update(positions)
        some = parameters.of_bodies
        result[:, some.positions] += np.einsum("oij,ij->oi", self.tables["atoms_f"][:, some.lines], some.change)
        done.update(some.positions)
        for k in set(parameters.acting) - done:
            for name, change in parameters.tables(k).items():
                where = np.flatnonzero(change)
                if where.size:
                    result[:, k] += self.tables[name].reshape(self.count, -1)[:, where] @ change.ravel()[where]
        return result


def _padded(x: FloatArray | None, count: int, nt: int, width: int) -> FloatArray:
    """Weights of all rows; those that are not given are zero."""
    if x is not None and x.shape == (count, nt, width):
        return contiguous(x, float)
    out = np.zeros((count, nt, width))
    if x is not None:
        out[:, :, : x.shape[2]] = x
    return out
