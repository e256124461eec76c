"""Adaptive numerical differentiation: central differences over many steps, extrapolated to step zero, the best
estimate kept.

    D(h)  = (f(x + h e) - f(x - h e)) / 2h = f' + c2 h^2 + c4 h^4 + ...
    R1(h) = (4 D(h/2) - D(h)) / 3                       without h^2
    R2(h) = (16 R1(h/2) - R1(h)) / 15                   without h^4

Entry by entry the step with the smallest estimated error is chosen. This is what careful users do when a function
has no derivatives and takes no complex numbers. It costs 2 x steps evaluations per variable and still ends some
digits above rounding.

*Choose it for* black boxes, and to see what numerical differentiation costs. *Avoid it* where a complex step or an
analytic derivative is to be had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.typing import Array, ArrayLike

EPS = float(np.finfo(float).eps)
RATIO = 2.0


@final
@dataclass(frozen=True, eq=False)
class ExtrapolatedJacobian:
    """A Jacobian by adaptive differences.

    Attributes
    ----------
    values : (m, n)
    errors : (m, n)
        Estimated errors.
    evaluations : int
        How often the function was evaluated.
    """

    values: Array
    errors: Array
    evaluations: int


def extrapolated_jacobian(
    function: Callable[[Array], ArrayLike],
    x: ArrayLike,
    *,
    steps: int = 26,
    longest: float = 1.0,
    batched: bool = False,
) -> ExtrapolatedJacobian:
    """Jacobian of a function by adaptive, extrapolated central differences.

    Parameters
    ----------
    function : callable
        Of (n,), returning a number or (m,); if `batched`, of (k, n), returning (k, m).
    x : (n,)
        Where.
    steps : int
        How many steps, each half as long as the one before; at least 4.
    longest : float
        The first step, relative to max(|x|, 0.02).

    >>> J = extrapolated_jacobian(lambda x: np.sin(x), [0.5])
    >>> bool(abs(J.values[0, 0] - np.cos(0.5)) < 1e-12)
    True
    """
    point = np.asarray(x, float)
    if point.ndim != 1 or point.size == 0 or not np.all(np.isfinite(point)):
        raise InputError(f"x is {x!r}; it must be a vector of finite numbers.")
    if steps < 4:
        raise InputError(f"steps is {steps}; extrapolation and its error need at least 4.")
    n = point.size
    h = longest * np.maximum(np.abs(point), 0.02) * RATIO ** -np.arange(steps)[:, None]  # (steps, n)
    shifts = np.zeros((steps, n, 2, n))
    shifts[:, np.arange(n), 0, np.arange(n)] = h
    shifts[:, np.arange(n), 1, np.arange(n)] = -h
    points = (point + shifts).reshape(-1, n)
    if batched:
        values = np.asarray(function(points), float)
    else:
        values = np.stack([np.atleast_1d(np.asarray(function(p), float)) for p in points])
    if values.ndim != 2 or len(values) != len(points):
        raise InputError(f"the function made shape {values.shape} of {points.shape}; (k, n) must become (k, m).")
    f = values.reshape(steps, n, 2, -1)
    taken = (points.reshape(steps, n, 2, n)[:, np.arange(n), 0, np.arange(n)]
             - points.reshape(steps, n, 2, n)[:, np.arange(n), 1, np.arange(n)])  # fmt: skip
    D = (f[:, :, 0] - f[:, :, 1]) / taken[:, :, None]
    R1 = (4 * D[1:] - D[:-1]) / 3
    R2 = (16 * R1[1:] - R1[:-1]) / 15
    noise = EPS * np.max(np.abs(f), axis=2)[2:] / taken[2:, :, None]
    # what the last extrapolation changed, and what the next shorter steps would: a lucky coincidence of two fools
    # both less
    change = np.abs(R2 - R1[1:])
    ahead = np.abs(np.diff(R2, axis=0, append=R2[-1:]))
    errors = change + ahead + noise
    best = np.argmin(np.where(np.isfinite(errors), errors, np.inf), axis=0)[None]
    chosen, estimates = (np.take_along_axis(x, best, axis=0)[0].T for x in (R2, errors))
    return ExtrapolatedJacobian(chosen, estimates, len(points))
