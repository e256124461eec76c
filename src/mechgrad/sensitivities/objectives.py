"""Objectives: integrals over a motion, values at its end or at an instant, of functions of measures.

    psi = sum over terms of   integral g(y(t), t) dt,   g(y(t_end)),   g(y(t_k))        y: measures of the state

g is plain Python over arrays; its partials are complex steps, or given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.columns import STEP
from mechgrad.sensitivities.measures import Measure, Moments
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.quadrature import weights as quadrature_weights
from mechgrad.sensitivities.states import StateGradients, States
from mechgrad.typing import Array, FloatArray

CHECKED, CHECK_STEP, CONTRADICTION = 100, 1e-6, 1e-3  # instants, step, what counts as one


class ObjectiveGradient(NamedTuple):
    """Values of some objectives (no,), gradients by the states, and what parameters do besides (no, np)."""

    values: FloatArray
    by_states: StateGradients
    by_parameters: FloatArray


@dataclass(frozen=True, eq=False)
class Objective:
    """A number, or several, that a motion has; objectives add up and take factors.

    >>> effort = mg.Integral(lambda tau: tau**2, mg.Effort("motor")) + 2.0 * mg.AtEnd(mg.JointCoordinate("pin"))
    >>> type(effort).__name__
    'Sum'
    """

    def __add__(self, other: Objective) -> Sum:
        return Sum(((1.0, self),)) + other

    def __rmul__(self, factor: float) -> Sum:
        return Sum(((float(factor), self),))

    def values(self, at: Moments) -> Array:
        """(k,) of a motion; complex numbers travel through."""
        raise TypeError(f"{type(self).__name__} states no values")  # pragma: no cover - every objective does

    def gradients(self, at: Moments, parameters: Parameters) -> ObjectiveGradient:
        """Values and derivatives."""
        raise TypeError(f"{type(self).__name__} states no gradients")  # pragma: no cover - every objective does


@final
@dataclass(frozen=True, eq=False)
class Sum(Objective):
    """Objectives with factors, added up; all have as many values as the first."""

    parts: tuple[tuple[float, Objective], ...]

    def __add__(self, other: Objective) -> Sum:
        return Sum((*self.parts, *(other.parts if isinstance(other, Sum) else ((1.0, other),))))

    def __rmul__(self, factor: float) -> Sum:
        return Sum(tuple((float(factor) * f, x) for f, x in self.parts))

    def values(self, at: Moments) -> Array:
        return np.asarray(sum(f * x.values(at) for f, x in self.parts))

    def gradients(self, at: Moments, parameters: Parameters) -> ObjectiveGradient:
        found = [(f, x.gradients(at, parameters)) for f, x in self.parts]
        if len({g.values.shape for _, g in found}) > 1:
            raise InputError(f"objectives of {[len(g.values) for _, g in found]} numbers cannot be added.")
        states = (sum(f * part for f, part in zip([f for f, _ in found], parts, strict=True))
                  for parts in zip(*(g.by_states for _, g in found), strict=True))  # fmt: skip
        return ObjectiveGradient(
            np.asarray(sum(f * g.values for f, g in found)),
            StateGradients(*(np.asarray(x) for x in states)),
            np.asarray(sum(f * g.by_parameters for f, g in found)),
        )


@dataclass(frozen=True, eq=False, init=False)
class _Term(Objective):
    """A function of measures, weighted over the instants of a motion.

    function : (values of each measure (nt, ...)) -> (nt,) or (nt, k); with an argument called t it gets the instants
    partials : (values) -> one array (nt, ..., *shape of the measure) per measure, instead of complex steps
    """

    function: Callable[..., Any] | None
    measures: tuple[Measure, ...]
    partials: Callable[..., Any] | None = field(default=None)

    def __init__(self, function: Any, *measures: Measure, partials: Callable[..., Any] | None = None) -> None:
        if isinstance(function, Measure):
            if measures:
                raise InputError("a function of several measures is needed; one measure stands for itself only.")
            function, measures = None, (function,)
        if not measures or not all(isinstance(x, Measure) for x in measures):
            raise InputError(
                f"{type(self).__name__} needs measures, such as mg.PointPosition('P'); it got {measures!r}."
            )
        if function is not None and not callable(function):
            raise InputError(f"{function!r} is no function of measures.")
        for name, value in (("function", function), ("measures", measures), ("partials", partials)):
            object.__setattr__(self, name, value)

    def _weights(self, at: Moments) -> FloatArray:
        raise TypeError("a term states its weights")  # pragma: no cover - every term does

    def _integrand(self, at: Moments, y: Sequence[Array]) -> Array:
        """g at all instants, (nt, k)."""
        nt = len(at.states.t)
        if self.function is None:
            return y[0].reshape(nt, -1)
        timed = "t" in inspect.signature(self.function).parameters
        g = np.asarray(self.function(*y, **({"t": at.states.t} if timed else {})))
        if g.ndim not in (1, 2) or len(g) != nt:
            raise InputError(
                f"the function of {type(self).__name__} returned shape {g.shape} for {nt} instants; it must return "
                f"({nt},), or ({nt}, k) for k objectives: sum over the last axis of vectors."
            )
        if not np.all(np.isfinite(g)):
            k = int(np.argwhere(~np.isfinite(g))[0, 0])
            raise InputError(f"the function of {type(self).__name__} is {g[k]} at t = {at.states.t[k]:g} s.")
        return g.reshape(nt, -1)

    def values(self, at: Moments) -> Array:
        y = [np.asarray(x.values(at)) for x in self.measures]
        return np.asarray(self._weights(at) @ self._integrand(at, y))

    def gradients(self, at: Moments, parameters: Parameters) -> ObjectiveGradient:
        w, nt = self._weights(at), len(at.states.t)
        y = [np.asarray(x.values(at)) for x in self.measures]
        g = self._integrand(at, y)
        g_y = self._partials(at, y, g)
        k, n, m = g.shape[1], at.model.n_v, at.states.lam.shape[1]
        states = StateGradients(*(np.zeros((nt, k, size)) for size in (n, n, n, m)))
        by_p = np.zeros((k, len(parameters)))
        for measure, slope in zip(self.measures, g_y, strict=True):
            weighted = w[:, None, None] * slope
            found = measure.partials(at, parameters)
            for out, part in zip(states, found[:4], strict=True):
                if part is not None:
                    out += _product(weighted, part)
            if found.p is not None:
                by_p += np.tensordot(weighted, found.p, ([0, 2], [0, 1]))
        return ObjectiveGradient(w @ g, states, by_p)

    def _partials(self, at: Moments, y: list[Array], g: Array) -> list[FloatArray]:
        """g by each measure, (nt, k, size)."""
        nt, k = g.shape
        if self.function is None:
            return [np.tile(np.eye(k), (nt, 1, 1))]
        if self.partials is not None:
            given = self.partials(*y)
            given = given if isinstance(given, tuple | list) else (given,)
            if len(given) != len(y):
                raise InputError(f"partials gave {len(given)} arrays for {len(y)} measures.")
            sizes = [x.size // nt for x in y]
            bad = [np.shape(p) for p, s in zip(given, sizes, strict=True) if np.size(p) != nt * k * s]
            if bad:
                raise InputError(f"partials gave shapes {bad}; {k} values by measures of {sizes} numbers are needed.")
            return [np.asarray(p, float).reshape(nt, k, s) for p, s in zip(given, sizes, strict=True)]
        parts = []
        for i, x in enumerate(y):
            flat = x.reshape(nt, -1)
            slope = np.zeros((nt, k, flat.shape[1]))
            for j in range(flat.shape[1]):
                moved = flat.astype(complex)
                moved[:, j] += 1j * STEP
                slope[:, :, j] = self._integrand(at, [*y[:i], moved.reshape(x.shape), *y[i + 1 :]]).imag / STEP
            parts.append(slope)
        self._check(at, y, parts)
        return parts

    def _check(self, at: Moments, y: list[Array], parts: list[FloatArray]) -> None:
        """A function that loses imaginary parts (abs, norm, conj) has no complex step: compare with differences."""
        some = slice(None, None, max(1, len(at.states.t) // CHECKED))
        at = at._replace(states=States(*(x[some] for x in at.states)))
        y, parts = [x[some] for x in y], [x[some] for x in parts]
        nt = len(at.states.t)
        rng = np.random.default_rng(0)
        steps = [CHECK_STEP * rng.uniform(0.5, 1.0, x.shape) * np.maximum(np.abs(x), 1.0) for x in y]
        ahead = self._integrand(at, [x + d for x, d in zip(y, steps, strict=True)])
        behind = self._integrand(at, [x - d for x, d in zip(y, steps, strict=True)])
        expected = 0.5 * (ahead - behind)
        found = sum(np.einsum("tks,ts->tk", p, d.reshape(nt, -1)) for p, d in zip(parts, steps, strict=True))
        size = float(np.abs(expected).max(initial=0.0)) + 1e-9 * float(np.abs(ahead).max(initial=0.0))
        # kinks at single instants pass: half of all instants must contradict
        wrong = np.abs(found - expected) > CONTRADICTION * size
        if wrong.any(axis=1).mean() > 0.5:
            raise InputError(
                f"the function of {type(self).__name__} loses its derivative (np.abs, np.linalg.norm, conj, real, a "
                "comparison?). Use squares, np.sqrt(np.sum(x * x, -1)), mg.smooth_abs(x, width), or give partials=."
            )


def _product(weighted: FloatArray, part: FloatArray) -> FloatArray:
    """(nt, k, size) times (nt, size, n); sums over the few components are quicker than small matrix products."""
    if weighted.shape[2] > 12:
        return np.asarray(weighted @ part)
    total = weighted[:, :, :1] * part[:, :1, :]
    for s in range(1, weighted.shape[2]):
        total += weighted[:, :, s : s + 1] * part[:, s : s + 1, :]
    return np.asarray(total)


@final
@dataclass(frozen=True, eq=False, init=False)
class Integral(_Term):
    """Integral over the motion of a function of measures, by the reported instants:  psi = sum w_i g(y_i).

    Parameters
    ----------
    function : (values of each measure (nt, ...)) -> (nt,) or (nt, k), plain NumPy; left out: the measure itself
    measures : what it is a function of
    partials : function that returns g by each measure (nt, k, size), instead of complex steps
    rule : "trapezoid", "gregory" (order 6, for smooth motions of explicit schemes) or None, which chooses by the scheme

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> height = mg.Integral(lambda x: x[:, 2], mg.PointPosition("bob.com"))
    >>> mg.gradient(swing, height, ["bob.mass", "bob.com.z"]).shape
    (1, 2)
    """

    rule: str | None = None

    def __init__(
        self,
        function: Any,
        *measures: Measure,
        partials: Callable[..., Any] | None = None,
        rule: str | None = None,
    ) -> None:
        super().__init__(function, *measures, partials=partials)
        object.__setattr__(self, "rule", rule)

    def _weights(self, at: Moments) -> FloatArray:
        return quadrature_weights(at.states.t, self.rule or at.rule)


@final
@dataclass(frozen=True, eq=False, init=False)
class AtEnd(_Term):
    """A function of measures at the end of the motion.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.PointPosition("bob.com")), ["bob.com.z"]).shape
    (3, 1)
    """

    def _weights(self, at: Moments) -> FloatArray:
        w = np.zeros(len(at.states.t))
        w[-1] = 1.0
        return w


@final
@dataclass(frozen=True, eq=False, init=False)
class AtTime(_Term):
    """A function of measures at a reported instant of the motion [s].

    >>> mg.AtTime(0.5, mg.JointCoordinate("pin")).time
    0.5
    """

    time: float = 0.0

    def __init__(
        self, time: float, function: Any, *measures: Measure, partials: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(function, *measures, partials=partials)
        object.__setattr__(self, "time", float(time))

    def _weights(self, at: Moments) -> FloatArray:
        t = at.states.t
        k = int(np.argmin(np.abs(t - self.time)))
        if abs(t[k] - self.time) > 1e-9 * max(float(t[-1] - t[0]), 1e-9):
            raise InputError(
                f"the motion reports no instant t = {self.time:g} s; the nearest is {t[k]:.9g} s. Choose step and "
                "samples of simulate so that it does."
            )
        w = np.zeros(len(t))
        w[k] = 1.0
        return w


def smooth_abs(x: Array, width: float) -> Array:
    """|x| rounded off at zero over about `width`, with a derivative everywhere:  sqrt(x^2 + width^2) - width.

    Below |x| by at most `width`, far from zero by exactly that; complex-safe, unlike np.abs.

    >>> smooth_abs(np.array([-3.0, 0.0, 4.0]), 1e-6).round(5)
    array([3., 0., 4.])
    """
    return np.asarray(np.sqrt(x * x + width * width) - width)
