"""Explicit Runge-Kutta methods by their tableau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.steps.butcher_tableau import Tableau
from mechgrad.steps.schemes import ExplicitScheme

CONSISTENT = 1e-12  # what sums of a tableau may miss by


def tableau(A: Sequence[Sequence[float]], B: Sequence[float]) -> Tableau:
    """A `Tableau` whose stages are where their rows of A say: C_i = sum_j A_ij."""
    found = Tableau(np.array(A, float), np.array(B, float), np.array(A, float).sum(axis=1))
    for table in found:
        table.setflags(write=False)
    return found


@final
@dataclass(frozen=True)
class RungeKutta(ExplicitScheme):
    """An explicit Runge-Kutta method by its tableau, with a fixed step.

        k_i = f(t + C_i h, y + h sum_j A_ij k_j),   C_i = sum_j A_ij,        y + h sum_i B_i k_i

    Attributes
    ----------
    A : s rows of s numbers, zero on and above the diagonal
    B : s numbers, whose sum is one

    >>> heun = RungeKutta([[0, 0], [1, 0]], [0.5, 0.5])
    >>> heun.tableau.C
    array([0., 1.])
    """

    key: ClassVar[str] = "runge-kutta"

    A: Any
    B: Any

    def __post_init__(self) -> None:
        try:
            A, B = np.array(self.A, float), np.array(self.B, float)
        except (TypeError, ValueError) as error:
            raise InputError(f"RungeKutta: A and B must be numbers; A is {self.A!r}, B is {self.B!r}.") from error
        if A.ndim != 2 or A.shape[0] != A.shape[1] or B.shape != A.shape[:1] or not len(B):
            raise InputError(f"RungeKutta: A has shape {A.shape}, B {B.shape}; give (s, s) and (s,).")
        if not (np.isfinite(A).all() and np.isfinite(B).all()) or np.triu(A).any():
            raise InputError("RungeKutta: A must be finite, with zeros on and above its diagonal (an explicit method).")
        if abs(B.sum() - 1.0) > CONSISTENT:
            raise InputError(f"RungeKutta: the sum of B is {B.sum():.15g}; it must be 1.")
        object.__setattr__(self, "A", tuple(map(tuple, A.tolist())))
        object.__setattr__(self, "B", tuple(B.tolist()))

    @property
    def tableau(self) -> Tableau:
        return tableau(self.A, self.B)
