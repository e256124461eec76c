"""Data over time, and the objective that asks a motion to follow them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.measures.base import Measure
from mechgrad.sensitivities.objectives import Integral
from mechgrad.typing import ArrayLike, FloatArray

KINDS = ("cubic", "linear")
SLACK = 1e-9  # of the range of times: what an instant may lie outside by rounding


@final
@dataclass(frozen=True, eq=False, init=False)
class Samples:
    """Data over time as a function: samples, and what lies between them by interpolation.

    Parameters
    ----------
    times : (n,) increasing [s]
    values : (n, ...) one sample at each time, finite
    kind : "cubic" (a spline with continuous curvature, not-a-knot at its ends; 4 samples or more) or "linear"

    Instants outside of the data are refused: extrapolated data are no data.

    >>> data = Samples([0.0, 1.0, 2.0], [0.0, 10.0, 40.0], kind="linear")
    >>> data(np.array([0.5, 2.0]))
    array([ 5., 40.])
    """

    times: FloatArray
    values: FloatArray
    kind: str

    def __init__(self, times: ArrayLike, values: ArrayLike, *, kind: str = "cubic") -> None:
        if kind not in KINDS:
            raise unknown_name("kind of interpolation", str(kind), KINDS)
        t, x = _numbers(times, "times"), _numbers(values, "values")
        fewest = 4 if kind == "cubic" else 2
        if t.ndim != 1 or len(t) < fewest:
            raise InputError(
                f"times has shape {t.shape}; {kind} interpolation needs (n,) with at least {fewest} of them."
            )
        if not np.all(np.diff(t) > 0.0):
            k = int(np.argmin(np.diff(t) > 0.0))
            raise InputError(f"times must increase; times[{k}] = {t[k]:g} and times[{k + 1}] = {t[k + 1]:g} do not.")
        if x.ndim < 1 or len(x) != len(t):
            raise InputError(f"values has shape {x.shape} for {len(t)} times; time comes first: ({len(t)}, ...).")
        for name, item in (("times", t), ("values", x), ("kind", kind), ("_spline", _spline(t, x, kind))):
            object.__setattr__(self, name, item)

    def __call__(self, t: ArrayLike) -> FloatArray:
        """Values (nt, ...) at instants t (nt,)."""
        at = np.asarray(t, float)
        first, last = float(self.times[0]), float(self.times[-1])
        slack = SLACK * (last - first)
        outside = (at < first - slack) | (at > last + slack)
        if np.any(outside):
            wrong = float(at[outside][0])
            raise InputError(
                f"there are data from t = {first:g} to {last:g} s, and none at t = {wrong:.9g} s. Simulate what the "
                "data cover, or give more of them."
            )
        return np.asarray(self._spline(np.clip(at, first, last)), float)

    _spline: Any = None


def _spline(t: FloatArray, x: FloatArray, kind: str) -> Any:
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(t, x, k=3 if kind == "cubic" else 1, axis=0)


def _numbers(given: ArrayLike, name: str) -> FloatArray:
    try:
        x = np.array(given, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is no array of real numbers: {error}.") from error
    if not np.all(np.isfinite(x)):
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(x))[0])
        raise InputError(f"{name}{list(where)} is {x[where]}; leave samples without a value out.")
    x.setflags(write=False)
    return x


@final
@dataclass(frozen=True, eq=False, init=False)
class Tracking(Integral):
    """How far a motion is from data:  psi = integral of  sum_j w_j (y_j(t) - data_j(t))^2  dt.

    Parameters
    ----------
    measure : what was measured
    times, values : of the samples, (n,) and (n, *shape of the measure); or `Samples` in place of both
    weights : one number, or one for each number of the measure; not negative
    kind : "cubic" or "linear", what lies between the samples
    rule : as of `Integral`

    The samples need not stand at the instants of the motion, but must cover them.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> measured = mg.Tracking(mg.measures.JointCoordinate("pin"), [0.0, 0.3, 0.6, 1.0], [0.5, 0.1, -0.3, -0.4])
    >>> mg.gradient(swing, measured, ["bob.com.z", "start.position.pin"]).shape
    (1, 2)
    """

    samples: Samples = field(init=False)
    factors: FloatArray = field(init=False)

    def __init__(
        self,
        measure: Measure,
        times: ArrayLike | Samples,
        values: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        kind: str = "cubic",
        rule: str | None = None,
    ) -> None:
        if not isinstance(measure, Measure):
            raise InputError(
                f"Tracking needs a measure first, such as mg.measures.PointPosition('P'); it got {measure!r}."
            )
        if isinstance(times, Samples) != (values is None):
            raise InputError("Tracking needs times and values, or Samples in place of both.")
        samples = times if isinstance(times, Samples) else Samples(times, values, kind=kind)  # type: ignore[arg-type]
        factors = _numbers(1.0 if weights is None else weights, "weights")
        if np.any(factors < 0.0):
            raise InputError(f"weights of Tracking are {factors.tolist()}; they must not be negative.")
        shape = samples.values.shape[1:]
        try:
            fits = np.broadcast_shapes(factors.shape, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise InputError(
                f"weights has shape {factors.shape}; a sample has {shape}. Give one number, or one for each."
            )

        def squares(y: Any, t: FloatArray) -> Any:
            if y.shape[1:] != shape:
                raise InputError(
                    f"Tracking compares {type(measure).__name__}, whose values have shape {y.shape[1:]} at an instant, "
                    f"with samples of shape {shape}."
                )
            missed = y - samples(t)
            weighted = factors * missed * missed
            return weighted.reshape(len(t), -1).sum(-1)

        super().__init__(squares, measure, rule=rule)
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "factors", factors)
