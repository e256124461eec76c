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
from mechgrad.typing import Array, ArrayLike, FloatArray

STEPS = tuple(10.0**-k for k in range(1, 9))
"""The sweep, relative to each number's scale. The best step of a smooth function is near eps^(1/3) = 6e-6."""

COMPLEX_STEP = 1e-30
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

    def rows(self, part: slice) -> Numeric:
        """The same for some of the outputs."""
        by_complex_step = None if self.complex_step is None else self.complex_step[part]
        return replace(self, value=self.value[part], complex_step=by_complex_step, sweep=self.sweep[:, part])

    def differences(self) -> Differences | None:
        """The plateau: for each column the step whose difference changes least when the next shorter step is taken.

            error of step k  ~  |D_k - D_k+1| + noise / h_k

        The first term holds the truncation of step k and the rounding of both; the noise of f is what the shortest
        steps show, at least one rounding of f. Without it two differences that agree by chance would look exact.
        """
        if self.steps.size < 2:
            return None
        h = self.steps[:, None, None] * self.scales
        gaps = np.abs(np.diff(self.sweep, axis=0))
        rounding = np.broadcast_to(EPS * np.abs(self.value)[:, None], gaps.shape[1:])
        noise = np.fmax(np.fmax.reduce((gaps * h[1:])[-2:], axis=0), rounding)
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
    sweep_steps = _check_steps(steps)
    sizes = _scales(scales, point.ravel())
    call = _Caller(function, point.shape, batched)
    value = call(point.reshape(1, -1))[0]
    if value.dtype.kind == "c":
        raise InputError("the function returns complex numbers for real ones; it must be real.")
    by_complex_step, refusal = _complex_step(call, point.ravel()) if complex_step else (None, "it was not asked for")
    sweep = np.empty((sweep_steps.size, value.size, sizes.size))
    for k, step in enumerate(sweep_steps):
        sweep[k] = _central(call, point.ravel(), step * sizes, value.size)
    return Numeric(value.astype(float), sizes, by_complex_step, refusal, sweep_steps, sweep)


class _Caller:
    """Evaluates a function at the rows of an array: (k, n) to (k, m)."""

    def __init__(self, function: Function, shape: tuple[int, ...], batched: bool) -> None:
        self.function, self.shape, self.batched, self.size = function, shape, batched, -1

    def __call__(self, points: Array) -> Array:
        if self.batched:
            values = np.asarray(self.function(points))
            if values.ndim != 2 or len(values) != len(points):
                raise InputError(
                    f"the batched function made shape {values.shape} of {points.shape}; (k, n) must become (k, m)."
                )
        else:
            values = np.stack([self._one(point) for point in points]) if len(points) else np.empty((0, 0))
        if values.dtype.kind not in "fiubc":
            raise InputError(f"the function returns {values.dtype}; numbers are needed.")
        if self.size < 0:
            self.size = values.shape[1]
        if len(points) and values.shape[1] != self.size:
            raise InputError(
                f"the function returns {values.shape[1]} numbers here and {self.size} there; their number must not "
                "depend on x."
            )
        return values

    def _one(self, point: Array) -> Array:
        value = np.asarray(self.function(point.reshape(self.shape).copy() if self.shape else point[0]))
        if value.ndim > 1:
            raise InputError(f"the function returns an array of shape {value.shape}; it must be a number or (m,).")
        return value.ravel()


def _complex_step(call: _Caller, x: FloatArray) -> tuple[FloatArray | None, str]:
    """The Jacobian, or None and the reason."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            values = call(x + 1j * COMPLEX_STEP * np.eye(x.size))
    except Exception as error:  # whatever a user's function raises: it worked for real numbers, so this is the reason
        return None, f"{type(error).__name__}: {error}"
    if values.dtype.kind != "c":
        return None, "it returns real numbers for complex ones"
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
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, InputError) and "the function returns" in str(error):
            raise
        return np.full((len(points), m), np.nan)


def _scales(scales: ArrayLike | None, x: FloatArray) -> FloatArray:
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
