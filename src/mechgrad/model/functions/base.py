"""What every function of one number is: data, not code, so that kernels read it as a table.

Every function is a list of pieces (start, c0, c1, c2, c3, kind), valid from its start to the next one's; the first
also serves everything before:

    kind 0    f(x) = c0 + c1 s + c2 s^2 + c3 s^3,   s = x - start
    kind 1    f(x) = c0 + c1 sin(c2 x + c3)

The numbers in a function are parameters of the element that holds it: `motor.torque.values.3`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mechgrad.model.primitives.fields import freeze_numbers, same, short_repr
from mechgrad.typing import Array, ArrayLike

CUBIC, HARMONIC = 0, 1
"""Kinds of pieces."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function(ABC):
    """f(x), with first and second derivative; x in [s] unless the element that holds it says otherwise.

    Where an element expects a function, a plain number is taken as a `Constant`, and in a model file a table with a
    `type`: {type = "spline", times = [...], values = [...]}.

    >>> f = mg.functions.Polynomial((1, 2, 3))
    >>> float(f(2.0)), float(f.rate(2.0)), float(f.second(2.0))
    (17.0, 14.0, 6.0)
    """

    noun: ClassVar[str] = "function"
    type_name: ClassVar[str]

    def __post_init__(self) -> None:
        freeze_numbers(self)
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Raise unless the numbers make a function."""

    @abstractmethod
    def pieces(self) -> Array:
        """(n, 6): start, c0, c1, c2, c3, kind; complex when a number is complex."""

    def __call__(self, x: ArrayLike) -> Array:
        """f at numbers x of any shape."""
        return self._evaluated(x, 0)

    def rate(self, x: ArrayLike) -> Array:
        """df/dx."""
        return self._evaluated(x, 1)

    def second(self, x: ArrayLike) -> Array:
        """d2f/dx2."""
        return self._evaluated(x, 2)

    def _evaluated(self, x: ArrayLike, order: int) -> Array:
        x = np.asarray(x)
        pieces = self.pieces()
        chosen = np.searchsorted(pieces[:, 0].real, x.real, side="right") - 1
        start, c0, c1, c2, c3, kind = np.moveaxis(pieces[np.maximum(chosen, 0)], -1, 0)
        s = x - start
        cubic = (c0 + s * (c1 + s * (c2 + s * c3)), c1 + s * (2.0 * c2 + 3.0 * s * c3), 2.0 * c2 + 6.0 * s * c3)
        angle = c2 * x + c3
        harmonic = (c0 + c1 * np.sin(angle), c1 * c2 * np.cos(angle), -c1 * c2 * c2 * np.sin(angle))
        result: Array = np.where(kind.real == HARMONIC, harmonic[order], cubic[order])[()]
        return result

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash(self.type_name)

    def __repr__(self) -> str:
        return short_repr(self)
