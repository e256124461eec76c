"""Derivatives by evaluation alone: the complex step, and central differences over a sweep of steps.

    complex step         f_x = imag f(x + i h e) / h             h = 1e-30: no truncation, no cancellation
    central differences  f_x = (f(x + h e) - f(x - h e)) / 2h    error ~ h^2 (truncation) + noise / h (rounding)

The first is exact to rounding, but only for functions that carry complex numbers through; the second takes any
function and has a best step, which the sweep finds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mechgrad.errors import InputError
from mechgrad.tolerances import COMPLEX_STEP as COMPLEX_STEP
from mechgrad.typing import Array, ArrayLike, FloatArray

STEPS = tuple(0.1 * 9.7**-k for k in range(8))
"""The sweep, 1e-1 to 1e-8, relative to each number's scale; a smooth function has its best step near eps^(1/3) = 6e-6.
The ratio is not 10, because a function that comes in steps of rounding can err alike at h, 10 h and 100 h."""

EPS = float(np.finfo(float).eps)
TINY = 1e-6  # numbers below this are stepped by absolute amounts: their size says nothing about their scale

Function = Callable[[Array], ArrayLike]


class Differences(NamedTuple):
    """Central differences at the best step of each column: values and error estimates (m, n), steps (n,)."""

    values: FloatArray
    errors: FloatArray
    steps: FloatArray


@dataclass(frozen=True, eq=False)
class Numeric:
    """A function at a point and its derivatives by evaluation, before any step has been chosen.

    Attributes
    ----------
    value : (m,)
    scales : (n,)
        What the steps of each column are relative to.
    complex_step : (m, n) or None
        None if the function refused complex numbers.
    refusal : str
        Why it did.
    steps, sweep : (K,), (K, m, n)
        Relative steps, longest first, and the central differences with each; NaN where the function has no value.
    """

    value: FloatArray
    scales: FloatArray
    complex_step: FloatArray | None
    refusal: str
    steps: FloatArray
    sweep: FloatArray

    def part(self, rows: slice, columns: Sequence[int]) -> Numeric:
        """The same for some of the outputs and some of the numbers."""
        by_complex_step = None if self.complex_step is None else self.complex_step[rows][:, list(columns)]
        return replace(
            self, value=self.value[rows], scales=self.scales[list(columns)], complex_step=by_complex_step,
            sweep=self.sweep[:, rows][:, :, list(columns)],
        )  # fmt: skip

    def differences(self) -> Differences | None:
        """The plateau: for each column the step whose difference changes least when the next shorter step is taken.

            error of step k  ~  |D_k - D_k+1| + noise / h_k

        The first term holds the truncation of step k and the rounding of both. The second is what shorter steps show of
        the noise of f, at least one rounding of f: without it two differences that agree by chance would look exact,
        and so would those of steps too short to change f at all.
        """
        count = self.steps.size
        if count < 2:
            return None
        h = self.steps[:, None, None] * self.scales
        gaps = np.abs(np.diff(self.sweep, axis=0))
        beyond = np.fmax.accumulate((gaps * h[1:])[::-1])[::-1]
        noise = beyond[np.clip(np.arange(1, count), 0, max(count - 3, 0))]
        absorbed = np.where(self.sweep[1:] == 0.0, np.abs(self.sweep[:-1]) * h[:-1], 0.0)
        noise = np.fmax(np.fmax(noise, np.fmax.reduce(absorbed)), EPS * np.abs(self.value)[:, None])
        estimates = gaps + noise / h[:-1]
        worst = np.max(estimates, axis=1, initial=0.0)
        best = np.argmin(np.where(np.isnan(worst), np.inf, worst), axis=0)
        columns = np.arange(best.size)
        return Differences(self.sweep[best, :, columns].T, estimates[best, :, columns].T, h[best, 0, columns])


def differentiate(
    function: Function,
    x: ArrayLike,
    *,
    complex_step: bool = True,
    steps: Sequence[float] = STEPS,
    scales: ArrayLike | None = None,
    batched: bool = False,
) -> Numeric:
    """Evaluate a function around x, as often as both methods need.

    A function that raises, or whose values are NaN, at a long step has left its domain there: that step does not
    count. At x itself it must work.
    """
    point = _real(x, "x")
    if point.size == 0:
        raise InputError("x is empty; there is nothing to differentiate by.")
    sweep_steps = _check_steps(steps)
    sizes = column_scales(scales, point.ravel())
    call = _Caller(function, point.shape, batched)
    value = call(point.reshape(1, -1))[0]
    if value.dtype.kind == "c":
        raise InputError("the function returns complex numbers for real ones; it must be real.")
    by_complex_step, refusal = _complex_step(call, point.ravel()) if complex_step else (None, "none was asked for")
    sweep = np.empty((sweep_steps.size, value.size, sizes.size))
    for k, step in enumerate(sweep_steps):
        sweep[k] = _central(call, point.ravel(), step * sizes, value.size)
    return Numeric(value.astype(float), sizes, by_complex_step, refusal, sweep_steps, sweep)


class _OutputError(InputError):
    """What a function returns is unusable, at any step."""


class _Caller:
    """Evaluates a function at the rows of an array: (k, n) to (k, m)."""

    def __init__(self, function: Function, shape: tuple[int, ...], batched: bool) -> None:
        self.function, self.shape, self.batched, self.size = function, shape, batched, -1

    def __call__(self, points: Array) -> Array:
        if self.batched:
            values = np.asarray(self.function(points))
            if values.ndim != 2 or len(values) != len(points):
                raise _OutputError(
                    f"the batched function made shape {values.shape} of {points.shape}; (k, n) must become (k, m)."
                )
        else:
            values = self._stacked([self._one(point) for point in points])
        if values.dtype.kind not in "fiubc":
            raise _OutputError(f"the function returns {values.dtype}; numbers are needed.")
        return values

    def _stacked(self, values: list[Array]) -> Array:
        lengths = {value.size for value in values}
        if self.size < 0:
            self.size = values[0].size
        if lengths != {self.size}:
            raise _OutputError(
                f"the function returns {self.size} numbers in one place and {max(lengths)} in another; their number "
                "must not depend on x."
            )
        return np.stack(values)

    def _one(self, point: Array) -> Array:
        value = np.asarray(self.function(point.reshape(self.shape).copy() if self.shape else point[0]))
        if value.ndim > 1:
            raise _OutputError(f"the function returns an array of shape {value.shape}; it must be a number or (m,).")
        return value.ravel()


def _complex_step(call: _Caller, x: FloatArray) -> tuple[FloatArray | None, str]:
    """The Jacobian, or None and the reason."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            values = call(x + 1j * COMPLEX_STEP * np.eye(x.size))
    except Exception as error:  # whatever a user's function raises: it worked for real numbers, so this is the reason
        return None, f"the function refuses complex numbers ({type(error).__name__}: {str(error).rstrip('.')})"
    if values.dtype.kind != "c":
        return None, "the function returns real numbers for complex ones"
    return np.ascontiguousarray(values.imag.T) / COMPLEX_STEP, ""


def _central(call: _Caller, x: FloatArray, h: FloatArray, m: int) -> FloatArray:
    """(f(x + h e) - f(x - h e)) / 2h for all columns, divided by the step that was really taken."""
    ahead, behind = x + np.diag(h), x - np.diag(h)
    taken = np.diagonal(ahead) - np.diagonal(behind)
    with np.errstate(all="ignore"):
        if call.batched:
            return ((_or_nan(call, ahead, m) - _or_nan(call, behind, m)) / taken[:, None]).T
        result = np.empty((m, x.size))
        for j in range(x.size):
            difference = _or_nan(call, ahead[j : j + 1], m) - _or_nan(call, behind[j : j + 1], m)
            result[:, j] = difference[0] / taken[j]
        return result


def _or_nan(call: _Caller, points: FloatArray, m: int) -> FloatArray:
    try:
        return call(points).astype(float)
    except _OutputError:
        raise
    except (ArithmeticError, ValueError):
        return np.full((len(points), m), np.nan)


def column_scales(scales: ArrayLike | None, x: FloatArray) -> FloatArray:
    """What steps are relative to: as given, or |x|, and 1 where that is tiny."""
    if scales is None:
        return np.where(np.abs(x) > TINY, np.abs(x), 1.0)
    sizes = np.broadcast_to(_real(scales, "scales"), x.shape).copy()
    if not np.all(sizes > 0.0):
        raise InputError(f"scales holds {sizes.min()}; every scale must be positive.")
    return sizes


def _check_steps(steps: Sequence[float]) -> FloatArray:
    sizes = np.sort(_real(steps, "steps").ravel())[::-1]
    if sizes.size == 1 or np.any(sizes <= 0.0) or np.any(np.diff(sizes) == 0.0):
        raise InputError(
            f"steps is {list(steps)}; give two or more different positive steps, since the error is judged by "
            "comparing successive ones, or none to do without differences."
        )
    return sizes


def _real(values: ArrayLike, name: str) -> FloatArray:
    x = np.asarray(values)
    if x.dtype.kind not in "fiub" or x.ndim > 1:
        raise InputError(f"{name} has shape {x.shape} and type {x.dtype}; it must be real numbers, one or (n,).")
    if not np.all(np.isfinite(x)):
        raise InputError(f"{name} holds {x[~np.isfinite(x)][0]}; every number must be finite.")
    return x.astype(float)
