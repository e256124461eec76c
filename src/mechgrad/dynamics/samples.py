"""States in which something is measured, with all that a measure may ask for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.inverse.loads import Load
from mechgrad.model.model import Model
from mechgrad.typing import Array


class StateSamples(NamedTuple):
    """States in which something is measured; complex numbers travel through model and states.

    names : of the constraint rows that the multipliers belong to
    rule : the quadrature that suits how the states were made
    grid : how many of them, from the first on, are the instants of a motion; those behind are single ones that were
        asked for. None: all
    """

    model: Model
    states: States
    tau: Array
    loads: tuple[Load, ...]
    names: tuple[str, ...]
    rule: str
    grid: int | None = None

    def rows(self, which: slice) -> StateSamples:
        """Some of them."""
        return self._replace(states=self.states.rows(which), grid=None)

    def system(self) -> System:
        """The mechanism of these states, with all its rows."""
        q, v, a, lam, _ = self.states
        dtype = complex if any(np.iscomplexobj(x) for x in (q, v, a, lam)) else None
        return System(self.model, self.tau, self.loads, dtype=dtype)
