"""Eigenvalues along a parameter, each followed from value to value.

Between two values eigenvalues go along curves whose slopes are known exactly. Those of both ends belong together whose
tangents meet best half way; where that is no clear choice, a value between is looked at, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, final

import numpy as np
from scipy.optimize import linear_sum_assignment

from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.pictures import plots
from mechgrad.typing import Array, ArrayLike, FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HALVINGS = 7  # of an interval in which eigenvalues cannot be told apart: they meet there
CLEAR = 0.25  # of the distance to the second best: how well tangents have to meet
ZERO = 1e-10  # of the largest eigenvalue
NEWTON, SAFE = 60, 1e-13  # steps to a crossing, and how far off [of the parameter's range]


class Linearised(Protocol):
    """What is read of a `Linearisation`, which explains it."""

    @property
    def model(self) -> Model: ...
    @property
    def eigenvalues(self) -> Array: ...
    def with_values(self, values: Mapping[str, float]) -> Linearised: ...
    def derivatives(self, wrt: Sequence[str]) -> Any: ...


class Crossing(NamedTuple):
    """Where a mode begins or ceases to grow.

    value : of the parameter;   eigenvalue : there;   rate : d Re(eigenvalue)/d(parameter), positive where growth begins
    """

    value: float
    eigenvalue: complex
    rate: float


class _At(NamedTuple):
    """Eigenvalues and their slopes at one value; nan where they have none."""

    value: float
    linearisation: Linearised
    eigenvalues: Array
    slopes: Array


@final
@dataclass(frozen=True, eq=False, repr=False)
class Locus:
    """Eigenvalues over values of a parameter.

    Attributes
    ----------
    path : str
    values : (nv,)
    eigenvalues : (nv, k) complex [1/s]
        Column by column the same mode, as far as modes keep apart: where two real ones meet and go on as a complex
        pair, either may be taken for either.
    linearisations : tuple of Linearisation
        At each value.

    >>> lin = mg.linearise(pendulum, {"pin": 0.0})
    >>> locus = lin.locus("bob.com.z", [-1.0, -2.0, -4.0])
    >>> locus.eigenvalues[:, 0].imag.round(4)                     # sqrt(g / l)
    array([3.1321, 2.2147, 1.566 ])
    """

    path: str
    values: FloatArray
    eigenvalues: Array
    linearisations: tuple[Any, ...]

    def crossings(self) -> tuple[Crossing, ...]:
        """Where real parts of eigenvalues change sign between the values, to rounding: limits of stability.

        Of a pair the one with positive imaginary part is told. Found by Newton's method with the exact derivative.
        """
        found: list[Crossing] = []
        nothing = ZERO * np.abs(self.eigenvalues).max(initial=0.0)  # real parts of undamped modes are rounding
        for column in self.eigenvalues.T:
            told = np.flatnonzero(np.abs(column.real) > nothing)
            for k, m in pairwise(told.tolist()):
                below = column[k].imag + column[m].imag < -nothing
                if column[k].real * column[m].real < 0.0 and not below:
                    found.append(self._crossing(k, m, complex(column[k]), complex(column[m])))
        return tuple(sorted(found, key=lambda x: x.value))

    def _crossing(self, k: int, m: int, first: complex, last: complex) -> Crossing:
        """Between values k and m, where an eigenvalue goes from first to last."""
        low, high = float(self.values[k]), float(self.values[m])
        span, sign = high - low, np.sign(last.real)
        share = first.real / (first.real - last.real)
        x, near = low + share * span, first + share * (last - first)
        start = self.linearisations[k]
        for _ in range(NEWTON):
            at = _at(start, self.path, x)
            j = int(np.argmin(np.abs(at.eigenvalues - near)))
            value, slope = complex(at.eigenvalues[j]), complex(at.slopes[j])
            if sign * value.real > 0.0:
                high = x
            else:
                low = x
            new = x - value.real / slope.real if np.isfinite(slope) and slope.real else np.nan
            if not min(low, high) <= new <= max(low, high):
                new = 0.5 * (low + high)
            if abs(new - x) <= SAFE * max(abs(span), abs(x)):
                return Crossing(new, value, slope.real)
            near = value + (slope * (new - x) if np.isfinite(slope) else 0.0)
            x = new
        return Crossing(x, value, slope.real)

    def plot(self) -> Figure:
        """The complex plane, with a dot where the values begin, and real and imaginary parts over the parameter."""
        found: Figure = plots("eigenvalue_plots").plot_eigenvalues(self)
        return found

    def __repr__(self) -> str:
        name = self.linearisations[0].model.name
        return (
            f"Locus of {name!r}: {self.eigenvalues.shape[1]} eigenvalues over {self.path} from {self.values[0]:g} to "
            f"{self.values[-1]:g}, {len(self.values)} values. Next: .eigenvalues, .crossings(), .plot(), "
            ".linearisations"
        )


def locus_of(start: Linearised, path: str, values: ArrayLike) -> Locus:
    """Of a linearisation that is made once more at each value."""
    x = np.asarray(values, float)
    if x.ndim != 1 or len(x) < 2 or not np.isfinite(x).all() or not (np.diff(x) != 0.0).all():
        raise InputError(
            f"values of {path!r} have shape {x.shape}; give two or more finite numbers, one after another."
        )
    points = [_at(start, path, float(x[0]))]
    columns = [points[0].eigenvalues]
    for value in x[1:].tolist():
        point = _at(points[-1].linearisation, path, value)
        columns.append(_followed(points[-1], columns[-1], point, path, HALVINGS))
        points.append(point)
    count = max(len(column) for column in columns)
    table = np.array([np.pad(column, (0, count - len(column))) for column in columns])
    return Locus(path, x, table, tuple(point.linearisation for point in points))


def _at(start: Linearised, path: str, value: float) -> _At:
    """One value."""
    found = start.with_values({path: value})
    try:
        slopes = found.derivatives([path]).eigenvalues[0]
    except InputError:  # equal eigenvalues without derivatives
        slopes = np.full(len(found.eigenvalues), np.nan + 0j)
    return _At(value, found, found.eigenvalues, slopes)


def _followed(before: _At, known: Array, after: _At, path: str, halvings: int) -> Array:
    """Eigenvalues of `after` in the order in which those of `before` are known."""
    count = max(len(known), len(after.eigenvalues))
    ends = []
    for point, order in ((before, known), (after, after.eigenvalues)):
        slopes = np.nan_to_num(point.slopes)
        places = _places(order, point.eigenvalues)
        step = 0.5 * (after.value - before.value) * (1.0 if point is before else -1.0)
        half = np.array([order[k] + step * slopes[places[k]] for k in range(len(order))], complex)
        ends.append(np.pad(half, (0, count - len(half))))
    cost = np.abs(ends[0][:, None] - ends[1][None, :])
    _, chosen = linear_sum_assignment(cost)
    if halvings and not _clear(cost, chosen):
        middle = _at(before.linearisation, path, 0.5 * (before.value + after.value))
        between = _followed(before, known, middle, path, halvings - 1)
        return _followed(middle, between, after, path, halvings - 1)
    padded = np.pad(after.eigenvalues, (0, count - len(after.eigenvalues)))
    return np.asarray(padded[chosen])


def _places(order: Array, values: Array) -> list[int]:
    """Where eigenvalues, perhaps padded by zeros, stand among others; each is taken once."""
    left, found = list(range(len(values))), []
    for x in order:
        if not left:
            found.append(0)
            continue
        k = min(left, key=lambda j: abs(values[j] - x))
        left.remove(k)
        found.append(k)
    return found


def _clear(cost: FloatArray, chosen: Sequence[int]) -> bool:
    """Whether every eigenvalue has one partner that is much nearer than all others."""
    if len(cost) < 2:
        return True
    for k, j in enumerate(chosen):
        others = np.delete(cost[k], j)
        if cost[k, j] > CLEAR * others.min():
            return False
    return True
