"""Functions that are one expression: constants, polynomials, oscillations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.functions.base import CUBIC, HARMONIC, Function
from mechgrad.model.primitives.fields import array, scalar
from mechgrad.typing import Array, ArrayField, Number

MAX_DEGREE = 3


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(Function):
    """f(x) = value. Smooth (C-infinity).

    Attributes
    ----------
    value : float
        In the unit of what it stands for. Path `owner.field.value`.

    >>> float(Constant(5.0)(3.0))
    5.0
    """

    noun: ClassVar[str] = "constant"
    type_name: ClassVar[str] = "constant"

    value: Number = field(metadata=scalar("function", "f"))

    def check(self) -> None:
        """Any finite number is a constant."""

    def pieces(self) -> Array:
        return np.array([[0.0, self.value, 0.0, 0.0, 0.0, CUBIC]])


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Polynomial(Function):
    """f(x) = c0 + c1 x + c2 x^2 + c3 x^3. Smooth (C-infinity).

    Attributes
    ----------
    coefficients : (1 to 4,) array
        c0, c1, ...; c_k in the unit of f over that of x^k. Paths `owner.field.coefficients.0`, ...

    >>> Polynomial((1, 0, 2)).rate([0.0, 1.0])
    array([0., 4.])
    """

    noun: ClassVar[str] = "polynomial"
    type_name: ClassVar[str] = "polynomial"

    coefficients: ArrayField = field(metadata=array("function", "f/x^k"))

    def check(self) -> None:
        """Raise for a degree above three."""
        degree = len(self.coefficients) - 1
        if degree > MAX_DEGREE:
            raise ValueRangeError(
                f"polynomial: {degree + 1} coefficients make degree {degree}; at most {MAX_DEGREE} is possible. "
                "Use a Spline through points of the polynomial for more."
            )

    def pieces(self) -> Array:
        c = self.coefficients
        return np.concatenate(([0.0], c, np.zeros(MAX_DEGREE + 1 - len(c)), [CUBIC]))[None, :]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Harmonic(Function):
    """f(x) = offset + amplitude sin(2 pi frequency x + phase). Smooth (C-infinity).

    Attributes
    ----------
    amplitude, offset : float
        In the unit of f.
    frequency : float
        Cycles per unit of x; of time: [Hz].
    phase : float
        [rad]

    >>> float(Harmonic(2.0, frequency=0.25, offset=1.0)(1.0))
    3.0
    """

    noun: ClassVar[str] = "harmonic"
    type_name: ClassVar[str] = "harmonic"

    amplitude: Number = field(metadata=scalar("function", "f"))
    frequency: Number = field(metadata=scalar("function", "1/x"))
    phase: Number = field(default=0.0, metadata=scalar("function", "rad"))
    offset: Number = field(default=0.0, metadata=scalar("function", "f"))

    def check(self) -> None:
        """Any finite numbers make an oscillation."""

    def pieces(self) -> Array:
        return np.array([[0.0, self.offset, self.amplitude, 2.0 * np.pi * self.frequency, self.phase, HARMONIC]])


ZERO = Constant(0.0)
"""For fields whose default is no function at all."""


def constant_part(function: Function) -> tuple[Number, Function | None]:
    """A function as the constant and the function of a row: a constant needs no function."""
    return (function.value, None) if isinstance(function, Constant) else (0.0, function)
