"""Functions through given values: straight lines between them, or a cubic spline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
from scipy.linalg import solve_banded

from mechgrad.errors import ShapeError, ValueRangeError, unknown_name
from mechgrad.model.functions.base import CUBIC, Function
from mechgrad.model.primitives.fields import array, as_array, brief, frozen_array, where
from mechgrad.typing import Array, ArrayField


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
