"""Functions of one number (time, an elongation, a speed): data, not code, so that kernels read them as a table.

Every function is a list of pieces (start, c0, c1, c2, c3, kind), valid from its start to the next one's; the first
also serves everything before:

    kind 0    f(x) = c0 + c1 s + c2 s^2 + c3 s^3,   s = x - start
    kind 1    f(x) = c0 + c1 sin(c2 x + c3)

The numbers in a function are parameters of the element that holds it: `motor.torque.values.3`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from numbers import Number as AnyNumber
from typing import Any, ClassVar, final

import numpy as np
from scipy.linalg import solve_banded

from mechgrad.errors import ModelError, ShapeError, ValueRangeError, unknown_name
from mechgrad.model.fields import (
    array,
    as_array,
    brief,
    freeze_numbers,
    frozen_array,
    same,
    scalar,
    short_repr,
    table,
    where,
)
from mechgrad.typing import Array, ArrayField, ArrayLike, Number

CUBIC, HARMONIC = 0, 1
"""Kinds of pieces."""

MAX_DEGREE = 3


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function(ABC):
    """f(x), with first and second derivative; x in [s] unless the element that holds it says otherwise.

    Where an element expects a function, a plain number is taken as a `Constant`, and in a model file a table with a
    `type`: {type = "spline", times = [...], values = [...]}.

    >>> f = Polynomial((1, 2, 3))
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


def _check_knots(function: Table | Spline, fewest: int) -> None:
    times = as_array(function.times, f"{where(function)}: times")
    if np.iscomplexobj(times) or times.ndim != 1 or len(times) < fewest:
        raise ShapeError(
            f"{where(function)}: times must be a list of at least {fewest} real numbers, got {function.times!r}."
        )
    if len(times) != len(function.values):
        raise ShapeError(
            f"{where(function)}: {len(times)} times but {len(function.values)} values. Give one value per time."
        )
    step = np.diff(times)
    if not (step > 0.0).all():
        i = int(np.argmin(step > 0.0))
        raise ValueRangeError(
            f"{where(function)}: times must increase, but times[{i + 1}] = {brief(times[i + 1])} follows "
            f"times[{i}] = {brief(times[i])}. Sort them, and give each once."
        )
    object.__setattr__(function, "times", frozen_array(times))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(Function):
    """Straight lines between given values; beyond the ends the first and the last line go on.

        f(x) = y_i + (y_i+1 - y_i) (x - x_i) / (x_i+1 - x_i)        x_i <= x < x_i+1

    Continuous (C0): the rate jumps at every knot, where integrators lose their order.

    Attributes
    ----------
    times : (n,) array
        Increasing, n >= 2; not parameters.
    values : (n,) array
        In the unit of f. Paths `owner.field.values.0`, ...

    >>> Table((0, 1, 2), (0, 10, 10))([0.5, 1.5, -1.0])
    array([  5.,  10., -10.])
    """

    noun: ClassVar[str] = "table"
    type_name: ClassVar[str] = "table"

    times: ArrayField
    values: ArrayField = field(metadata=array("function", "f"))

    def check(self) -> None:
        """Raise unless there is one value to each of at least two increasing times."""
        _check_knots(self, 2)

    def pieces(self) -> Array:
        slope = np.diff(self.values) / np.diff(self.times)
        nothing = np.zeros(len(slope))
        return np.column_stack((self.times[:-1], self.values[:-1], slope, nothing, nothing, nothing + CUBIC))


FEW_KNOTS = 8  # below this a dense solution is quicker
_FEWEST_KNOTS = {"natural": 2, "clamped": 2, "not-a-knot": 4}


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Spline(Function):
    """A cubic spline through given values; beyond the ends a straight line with the slope at the end.

        f = c0 + c1 s + c2 s^2 + c3 s^3 between knots, f, f' and f'' continuous at them

    Twice continuously differentiable (C2) inside; at the two ends C2 if natural, else C1.

    Attributes
    ----------
    times : (n,) array
        Increasing; not parameters.
    values : (n,) array
        In the unit of f. Paths `owner.field.values.0`, ...
    ends : str
        "natural": f'' = 0 at both ends; "clamped": f' = 0 at both ends; "not-a-knot": the third derivative is
        continuous at the second and the last but one knot (n >= 4).

    >>> Spline((0, 1, 2, 3), (0, 1, 8, 27), ends="not-a-knot").second([1.0, 2.0]).round(9)
    array([ 6., 12.])
    """

    noun: ClassVar[str] = "spline"
    type_name: ClassVar[str] = "spline"

    times: ArrayField
    values: ArrayField = field(metadata=array("function", "f"))
    ends: str = "natural"

    def check(self) -> None:
        """Raise unless there is one value to each of enough increasing times, and the ends are known."""
        if not isinstance(self.ends, str) or self.ends not in _FEWEST_KNOTS:
            raise unknown_name("ends", self.ends, _FEWEST_KNOTS, "spline")
        _check_knots(self, _FEWEST_KNOTS[self.ends])

    def pieces(self) -> Array:
        starts = np.concatenate((self.times[:1], self.times))
        return np.column_stack((starts, *self._coefficients(), np.full(len(starts), CUBIC)))

    def pulled_back(self, weights: Array) -> Array:
        """Gradients by the values (k, n) from gradients by the numbers of the pieces (k, pieces, 6): the transpose of
        how `pieces` follow from the values, which is linear."""
        h = np.diff(self.times)
        c0, c1, c2, c3 = (weights[:, :, k] for k in range(1, 5))
        y, curvature = c0[:, 1:].copy(), np.zeros((len(weights), len(self.times)))
        y[:, 0] += c0[:, 0]
        rise = c1[:, 1:-1].copy()
        rise[:, 0] += c1[:, 0]
        third = c3[:, 1:-1] / (6.0 * h)
        curvature[:, :-1] += 0.5 * c2[:, 1:-1] - third - h * rise / 3.0
        curvature[:, 1:] += third - h * rise / 6.0
        rise[:, -1] += c1[:, -1]
        curvature[:, -2:] += h[-1] / 6.0 * c1[:, -1:] * np.array([1.0, 2.0])
        b = _solve_banded(self._knot_matrix(h).T, curvature.T).T
        rise[:, 1:] += 6.0 * b[:, 1:-1]
        rise[:, :-1] -= 6.0 * b[:, 1:-1]
        if self.ends == "clamped":
            rise[:, 0] += 6.0 * b[:, 0]
            rise[:, -1] -= 6.0 * b[:, -1]
        y[:, 1:] += rise / h
        y[:, :-1] -= rise / h
        return np.asarray(y)

    def _coefficients(self) -> tuple[Array, Array, Array, Array]:
        """c0 to c3 of all pieces."""
        y, h = self.values, np.diff(self.times)
        rise = np.diff(y) / h
        b = np.zeros(len(y), rise.dtype)
        b[1:-1] = 6.0 * np.diff(rise)
        if self.ends == "clamped":
            b[0], b[-1] = 6.0 * rise[0], -6.0 * rise[-1]
        curvature = _solve_banded(self._knot_matrix(h), b)
        c1 = rise - h * (2.0 * curvature[:-1] + curvature[1:]) / 6.0
        c3 = np.diff(curvature) / (6.0 * h)
        end_slope = rise[-1:] + h[-1] * (curvature[-2] + 2.0 * curvature[-1]) / 6.0
        nothing = np.zeros(1)
        # the first piece also serves all before its start, where the spline goes on as a line
        return (
            np.concatenate((y[:1], y)),
            np.concatenate((c1[:1], c1, end_slope)),
            np.concatenate((nothing, 0.5 * curvature[:-1], nothing)),
            np.concatenate((nothing, c3, nothing)),
        )

    def _knot_matrix(self, h: Array) -> Array:
        """Of the equations for the second derivatives at the knots."""
        n = len(h) + 1
        A, inner = np.zeros((n, n)), np.arange(1, n - 1)
        A[inner, inner - 1], A[inner, inner], A[inner, inner + 1] = h[:-1], 2.0 * (h[:-1] + h[1:]), h[1:]
        if self.ends == "natural":
            A[0, 0] = A[-1, -1] = 1.0
        elif self.ends == "clamped":
            A[0, :2], A[-1, -2:] = (2.0 * h[0], h[0]), (h[-1], 2.0 * h[-1])
        else:
            A[0, :3] = h[1], -(h[0] + h[1]), h[0]
            A[-1, -3:] = h[-1], -(h[-2] + h[-1]), h[-2]
        return A


def _solve_banded(A: Array, b: Array) -> Array:
    """A^-1 b for a matrix with two diagonals on either side of the main one."""
    n = len(A)
    if n < FEW_KNOTS:
        return np.linalg.solve(A, b)
    bands = np.zeros((5, n))
    for k in range(-2, 3):
        bands[2 - k, max(k, 0) : n + min(k, 0)] = np.diagonal(A, k)
    return np.asarray(solve_banded((2, 2), bands, b))


ZERO = Constant(0.0)
"""For fields whose default is no function at all."""

FUNCTION_TYPES: dict[str, type[Function]] = {
    cls.type_name: cls for cls in (Constant, Polynomial, Harmonic, Table, Spline)
}
"""The function class of each `type` in a model file."""


def as_function(given: Any, what: str) -> Function:
    """A function as it is, from a number (a constant), or from a table of a model file.

    >>> as_function(3, "motor 'm': torque")
    Constant(value=3)
    """
    if isinstance(given, Function):
        return given
    if isinstance(given, AnyNumber) and not isinstance(given, bool):
        return Constant(given)  # type: ignore[arg-type]
    if not isinstance(given, Mapping) or given.get("type") is None:
        raise ShapeError(_no_function(given, what))
    if not isinstance(given["type"], str) or given["type"] not in FUNCTION_TYPES:
        raise unknown_name("function type", given["type"], FUNCTION_TYPES, what)
    cls = FUNCTION_TYPES[given["type"]]
    names = [f.name for f in fields(cls)]
    for key in given:
        if key not in (*names, "type"):
            raise unknown_name(f"field of {cls.__name__}", key, names, what)
    for f in fields(cls):
        if f.default is MISSING and f.name not in given:
            raise ModelError(f"{what}: the field {f.name!r} of {cls.__name__} is missing. Fields: {', '.join(names)}.")
    try:
        return cls(**{key: value for key, value in given.items() if key != "type"})
    except ModelError as error:
        raise type(error)(f"{what}: {error}") from None


def _no_function(given: Any, what: str) -> str:
    """Why something is no function, and how to make one of it."""
    known = ", ".join(cls.__name__ for cls in FUNCTION_TYPES.values())
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        called = "a lambda" if name == "<lambda>" else f"the Python function {name!r}"
        return (
            f"{what} is {called}; a model holds data, so that it can be compiled, differentiated and stored. "
            f"Functions there are: {known}. Make one from samples of yours: x = np.linspace(0, 1, 101); "
            "mg.functions.Spline(x, [f(s) for s in x]). Force laws in Python: mg.forces.UserForce."
        )
    if isinstance(given, list | tuple | np.ndarray):
        return (
            f"{what} is a list of {np.size(given)} values without their times (or whatever it is a function of). Give "
            "both: mg.functions.Spline(times, values) for a smooth curve, mg.functions.Table(times, values) for "
            "straight lines."
        )
    return (
        f"{what} = {given!r} must be a number, a function ({known}), or a table with a 'type', one of "
        f"{', '.join(FUNCTION_TYPES)}."
    )


def freeze_functions(obj: object) -> None:
    """Turn what was given for the functions of a new object into functions; None stays where it is the default."""
    optional = {f.name for f in fields(obj) if f.default is None}  # type: ignore[arg-type]
    for name in table(type(obj)).functions:
        given = getattr(obj, name)
        if given is not None or name not in optional:
            object.__setattr__(obj, name, as_function(given, f"{where(obj)}: {name}"))


def constant_part(function: Function) -> tuple[Number, Function | None]:
    """A function as the constant and the function of a row: a constant needs no function."""
    return (function.value, None) if isinstance(function, Constant) else (0.0, function)
