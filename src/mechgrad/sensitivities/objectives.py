"""Objectives: integrals over a motion, values at its end or at an instant, of functions of measures.

    psi = sum over terms of   integral g(y(t), t) dt,   g(y(t_end)),   g(y(t_k))        y: measures of the state

g is plain Python over arrays (`integrands`). A term is a weighted sum over the instants of a motion:

    psi = sum_i w_i g(y_i, t_i)        `weights` says w, `values_at` and `gradients_at` do the rest for any instants
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.errors import InputError
from mechgrad.measures.base import Measure, StateSamples
from mechgrad.sensitivities.integrands import Integrand
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.simulation.quadrature import weights as quadrature_weights
from mechgrad.typing import Array, FloatArray

SAME = 1e-9  # of the length of a motion: instants that are nearer are one


class ObjectiveGradient(NamedTuple):
    """Values of some objectives (no,), gradients by the states, and what parameters do besides (no, np)."""

    values: FloatArray
    by_states: StateGradients
    by_parameters: FloatArray


@dataclass(frozen=True, eq=False)
class Objective:
    """A number, or several, that a motion has; objectives add up, subtract, and take factors.

    >>> effort, pin = mg.measures.Effort("motor"), mg.measures.JointCoordinate("pin")
    >>> effort = mg.Integral(lambda tau: tau**2, effort) - 2.0 * mg.AtEnd(pin)
    >>> [factor for factor, _ in effort.terms()]
    [1.0, -2.0]
    """

    __array_ufunc__ = None  # an array times an objective is an error of ours, not an array of objectives

    def terms(self) -> tuple[tuple[float, Term], ...]:
        """The terms that it is made of, with their factors."""
        raise TypeError(f"{type(self).__name__} states no terms")  # pragma: no cover - every objective does

    def until(self, end: float) -> Objective | None:
        """What it asks of a motion that ends at `end` [s] already: single instants after that are left out, and None is
        what remains of an objective without any other. Integrals and `AtEnd` take whatever motion they are given."""
        return self

    def __add__(self, other: Objective | float) -> Objective:
        if isinstance(other, Real) and other == 0:  # where the built-in sum begins
            return self
        return Sum(((1.0, self), (1.0, _summand(other))))

    def __radd__(self, other: Objective | float) -> Objective:
        return self + other

    def __sub__(self, other: Objective | float) -> Objective:
        return self if isinstance(other, Real) and other == 0 else self + (-_summand(other))

    def __rsub__(self, other: Objective | float) -> Objective:
        return -self + other

    def __neg__(self) -> Sum:
        return self * -1.0

    def __mul__(self, factor: float) -> Sum:
        return Sum(((_number(factor), self),))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Sum:
        if _number(divisor) == 0.0:
            raise InputError("an objective cannot be divided by 0.")
        return self * (1.0 / _number(divisor))

    def values(self, at: StateSamples) -> Array:
        """(k,) of a motion; complex numbers travel through."""
        found = [factor * term.values_at(*term._weighted(at)) for factor, term in self.terms()]
        _check_counts([len(x) for x in found])
        return np.asarray(sum(found))

    def gradients(self, at: StateSamples, parameters: Parameters) -> ObjectiveGradient:
        """Values and derivatives; by the states of all instants (nt, k, .)."""
        found = []
        for factor, term in self.terms():
            some, w = term._weighted(at)
            found.append((factor, term.gradients_at(some, parameters, w), term._rows(at)))
        _check_counts([len(g.values) for _, g, _ in found])
        nt = len(at.states.t)
        total = StateGradients(*(np.zeros((nt, *x.shape[1:])) for x in found[0][1].by_states))
        for factor, g, which in found:
            for out, part in zip(total, g.by_states, strict=True):
                out[which] += factor * part
        values, by_parameters = (
            np.asarray(sum(factor * getattr(g, name) for factor, g, _ in found)) for name in ("values", "by_parameters")
        )
        return ObjectiveGradient(values, total, by_parameters)


def as_objective(given: Any) -> Objective:
    """An objective as it is; an error that says what to do for anything else.

    >>> as_objective(mg.AtEnd(mg.measures.JointCoordinate("pin"))).measures
    (JointCoordinate(coordinate='pin'),)
    """
    if isinstance(given, Objective):
        return given
    if isinstance(given, Measure):
        raise InputError(
            f"{given!r} is a measure, which has a value at every instant. Wrap it: mg.AtEnd({given!r}) or "
            f"mg.Integral({given!r})."
        )
    raise InputError(
        f"{given!r} is no objective; give mg.Integral, mg.AtEnd, mg.AtTime, mg.Tracking, or a sum of these."
    )


def _summand(given: Any) -> Objective:
    if isinstance(given, Real):
        raise InputError(
            f"{given!r} cannot be added to an objective: a constant changes no gradient. Add it to the "
            "value afterwards."
        )
    return as_objective(given)


def _number(given: Any) -> float:
    if isinstance(given, Objective):
        raise InputError("objectives multiply with numbers only; write the product into the function of one objective.")
    if not isinstance(given, Real) or not np.isfinite(float(given)):
        raise InputError(f"the factor of an objective is {given!r}; it must be one finite number.")
    return float(given)


def _check_counts(counts: list[int]) -> None:
    if len(set(counts)) > 1:
        raise InputError(
            f"objectives of {counts} numbers cannot be added; give them one by one, or let their functions "
            "return as many."
        )


@final
@dataclass(frozen=True, eq=False)
class Sum(Objective):
    """Objectives with factors, added up; all have as many values as the first."""

    parts: tuple[tuple[float, Objective], ...]

    def terms(self) -> tuple[tuple[float, Term], ...]:
        return tuple((factor * inner, term) for factor, part in self.parts for inner, term in part.terms())

    def until(self, end: float) -> Objective | None:
        kept = [(factor, part.until(end)) for factor, part in self.parts]
        parts = tuple((factor, part) for factor, part in kept if part is not None)
        return Sum(parts) if parts else None


@dataclass(frozen=True, eq=False, init=False)
class Term(Objective):
    """A function of measures, weighted over the instants of a motion:  psi = sum w_i g(y_i, t_i).

    function : (values of each measure (nt, ...)) -> (nt,) or (nt, k); with an argument called t it gets the instants
    partials : (values) -> one array (nt, ..., *shape of the measure) per measure, instead of dual numbers

    A new objective is one class. Of some instants: a subclass that states their `weights` (and `instants`, if they are
    few). Over time: a subclass of `Integral` that states its `density`.

    over_time : whether it is an integral, which sees every step of a motion, or values at instants

    >>> class Mean(mg.Integral):
    ...     def density(self, t):
    ...         return np.full(len(t), 1.0 / (t[-1] - t[0]))
    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, Mean(mg.measures.KineticEnergy()), ["bob.mass"], method="adjoint").shape
    (1, 1)
    """

    over_time: ClassVar[bool] = False

    function: Callable[..., Any] | None
    measures: tuple[Measure, ...]
    partials: Callable[..., Any] | None = field(default=None)

    def __init__(self, function: Any, *measures: Measure, partials: Callable[..., Any] | None = None) -> None:
        name = type(self).__name__
        if isinstance(function, Measure):
            if measures:
                raise InputError("a function of several measures is needed; one measure stands for itself only.")
            function, measures = None, (function,)
        if not measures or not all(isinstance(x, Measure) for x in measures):
            raise InputError(f"{name} needs measures, such as mg.measures.PointPosition('P'); it got {measures!r}.")
        if function is not None and not callable(function):
            raise InputError(f"{function!r} is no function of measures.")
        if partials is not None and (function is None or not callable(partials)):
            raise InputError(
                f"partials of {name} is {partials!r}; give a function of the same measures, or leave it out."
            )
        integrand = Integrand(function, partials, len(measures), name)
        for key, x in (
            ("function", function),
            ("measures", measures),
            ("partials", partials),
            ("integrand", integrand),
        ):
            object.__setattr__(self, key, x)

    integrand: Integrand = field(init=False, repr=False)

    def terms(self) -> tuple[tuple[float, Term], ...]:
        return ((1.0, self),)

    def weights(self, t: FloatArray, rule: str) -> FloatArray:
        """w over all instants of a motion, (nt,); zero where nothing counts.

        rule : the quadrature that suits the motion
        """
        raise TypeError("a term states its weights")  # pragma: no cover - every term does

    def quadrature(self, t: FloatArray, rule: str) -> FloatArray:
        """Of an integral: the weights of its rule of integration alone, (nt,)."""
        raise TypeError(f"{type(self).__name__} is no integral")  # pragma: no cover - integrals are asked only

    def instants(self, t: FloatArray) -> slice:
        """Which of the instants count: measures and function are evaluated there only."""
        return slice(None)

    @property
    def times(self) -> tuple[float, ...]:
        """Single instants that are asked for, whether they are reported or not [s]."""
        return ()

    def _rows(self, at: StateSamples) -> slice:
        """Which of the samples count."""
        t = at.states.t[: at.grid]
        return slice(*self.instants(t).indices(len(t)))

    def _weighted(self, at: StateSamples) -> tuple[StateSamples, FloatArray]:
        """What counts, and its weights."""
        which = self._rows(at)
        return at.rows(which), self.weights(at.states.t[: at.grid], at.rule)[which]

    def values_at(self, at: StateSamples, w: FloatArray) -> Array:
        """sum w_i g(y_i, t_i) over given instants, (k,); the function gets all of them at once."""
        y = [np.asarray(x.values(at)) for x in self.measures]
        return np.asarray(w @ self.integrand.values(y, at.states.t))

    def gradients_at(self, at: StateSamples, parameters: Parameters, w: FloatArray) -> ObjectiveGradient:
        """The same with its derivatives, by the states of these instants (nt, k, .) and by parameters (k, np)."""
        nt = len(at.states.t)
        y = [np.asarray(x.values(at)) for x in self.measures]
        g, slopes = self.integrand.partials(y, at.states.t)
        k, n, m = g.shape[1], at.model.n_v, at.states.lam.shape[1]
        states = StateGradients(*(np.zeros((nt, k, size)) for size in (n, n, n, m)))
        by_p = np.zeros((k, len(parameters)))
        for measure, slope in zip(self.measures, slopes, strict=True):
            found = measure.gradients(at, parameters, w[:, None, None] * slope)
            for out, part in zip(states, found[:4], strict=True):
                if part is not None:
                    out += part
            if found.p is not None:
                by_p += found.p
        return ObjectiveGradient(np.asarray(w @ g), states, by_p)


@dataclass(frozen=True, eq=False, init=False)
class Integral(Term):
    """Integral over the motion of a function of measures, by all of its steps:  psi = sum w_i g(y_i).

    Subclasses may state a `density` that multiplies g.

    Parameters
    ----------
    function : (values of each measure (nt, ...)) -> (nt,) or (nt, k), plain NumPy; left out: the measure itself
        Every instant for itself; with an argument called t it gets the instants. Measures are read-only.
    measures : what it is a function of
    partials : function that returns g by each measure (nt, k, size), instead of dual numbers; it is checked
    rule : "trapezoid", "gregory" (order 6, for smooth motions of explicit schemes) or None, which chooses by the scheme

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> height = mg.Integral(lambda x: x[:, 2], mg.measures.PointPosition("bob.com"))
    >>> mg.gradient(swing, height, ["bob.mass", "bob.com.z"]).shape
    (1, 2)
    """

    over_time: ClassVar[bool] = True

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

    def density(self, t: FloatArray) -> FloatArray:
        """What the function is multiplied with at every instant before it is integrated, (nt,): 1."""
        return np.ones(len(t))

    def quadrature(self, t: FloatArray, rule: str) -> FloatArray:
        """Weights of the rule of integration alone, (nt,)."""
        return quadrature_weights(t, self.rule or rule)

    def weights(self, t: FloatArray, rule: str) -> FloatArray:
        return self.density(t) * self.quadrature(t, rule)


@dataclass(frozen=True, eq=False, init=False)
class OneInstant(Term):
    """A function of measures at one instant of a motion."""

    def _position(self, t: FloatArray) -> int:
        """Which one."""
        raise TypeError("says which instant")  # pragma: no cover - all do

    def instants(self, t: FloatArray) -> slice:
        k = self._position(t)
        return slice(k, k + 1)

    def weights(self, t: FloatArray, rule: str) -> FloatArray:
        w = np.zeros(len(t))
        w[self._position(t)] = 1.0
        return w


@final
@dataclass(frozen=True, eq=False, init=False)
class AtEnd(OneInstant):
    """A function of measures at the end of the motion; it is evaluated there only, on arrays (1, ...).

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtEnd(mg.measures.PointPosition("bob.com")), ["bob.com.z"]).shape
    (3, 1)
    """

    def _position(self, t: FloatArray) -> int:
        return len(t) - 1


@final
@dataclass(frozen=True, eq=False, init=False)
class AtTime(OneInstant):
    """A function of measures at an instant of the motion [s]; it is evaluated there only, on arrays (1, ...).

    Where the motion reports no such instant, it is read between the steps that were taken, as `Trajectory.at` reads it,
    and so is the derivative. Motions by `kinematic_motion` have their reported instants only.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> mg.gradient(swing, mg.AtTime(0.1234, mg.measures.JointCoordinate("pin")), ["bob.com.z"]).shape
    (1, 1)
    """

    t: float = 0.0

    def __init__(self, t: float, function: Any, *measures: Measure, partials: Callable[..., Any] | None = None) -> None:
        if not isinstance(t, Real) or not np.isfinite(float(t)):
            raise InputError(f"the time of AtTime is {t!r}; it comes first, one finite number [s].")
        super().__init__(function, *measures, partials=partials)
        object.__setattr__(self, "t", float(t))

    @property
    def times(self) -> tuple[float, ...]:
        return (self.t,)

    def until(self, end: float) -> Objective | None:
        return self if self.t <= end + SAME * max(abs(end), SAME) else None

    def _rows(self, at: StateSamples) -> slice:
        return self.instants(at.states.t)

    def _weighted(self, at: StateSamples) -> tuple[StateSamples, FloatArray]:
        return at.rows(self._rows(at)), np.ones(1)

    def _position(self, t: FloatArray) -> int:
        k = len(t) - 1 - int(np.argmin(np.abs(t - self.t)[::-1]))  # the last of several: one that does not move
        if abs(t[k] - self.t) > SAME * max(float(t[-1] - t[0]), SAME):
            raise InputError(
                f"the motion reports no instant t = {self.t:g} s; the nearest is {t[k]:.9g} s. Choose step and "
                "samples of simulate so that it does."
            )
        return k


@final
@dataclass(frozen=True, eq=False, init=False)
class EndTime(OneInstant):
    """When the motion ends [s]: where a stop condition decides it, a number that depends on parameters.

        dT/dp = -(g_x dx/dp + g_p) / g'        g: the condition, g' its rate along the motion

    Of motions of a given duration its derivative is zero.

    >>> swing = mg.simulate(model, [0.5], duration=3.0, stop={"pin": 0.0})
    >>> bool(mg.gradient(swing, mg.objectives.EndTime(), ["start.position.pin"]).array[0, 0] > 0.0)
    True
    """

    def __init__(self) -> None:
        for key, x in (("function", None), ("measures", ()), ("partials", None)):
            object.__setattr__(self, key, x)

    def _position(self, t: FloatArray) -> int:
        return len(t) - 1

    def values_at(self, at: StateSamples, w: FloatArray) -> Array:
        return np.asarray(w * at.states.t)

    def gradients_at(self, at: StateSamples, parameters: Parameters, w: FloatArray) -> ObjectiveGradient:
        n, m = at.model.n_v, at.states.lam.shape[1]
        nothing = StateGradients(*(np.zeros((1, 1, size)) for size in (n, n, n, m)))
        return ObjectiveGradient(self.values_at(at, w), nothing, np.zeros((1, len(parameters))))


def smooth_abs(x: Any, width: float) -> Any:
    """|x| rounded off at zero over about `width`, with a derivative everywhere:  sqrt(x^2 + width^2) - width.

    Below |x| by at most `width`, far from zero by exactly that.

    >>> smooth_abs(np.array([-3.0, 0.0, 4.0]), 1e-6).round(5)
    array([3., 0., 4.])
    """
    return np.sqrt(x * x + width * width) - width
