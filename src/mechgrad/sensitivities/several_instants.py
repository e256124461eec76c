"""Objectives of several instants: a value at each of them, and the largest of them made smooth.

AtTimes         psi_k = g(y(t_k), t_k)
SmoothMaximum   psi   = (1/rho) log sum_k exp(rho g_k),     rho = log(number of values) / error

max_k g_k <= psi <= max_k g_k + error,     dpsi/dp = sum_k w_k dg_k/dp,   w_k = exp(rho g_k) / sum exp(rho g)
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np

from mechgrad.dynamics.states import StateGradients, States
from mechgrad.errors import InputError
from mechgrad.measures.base import Measure, StateSamples
from mechgrad.memory import require_memory
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import SAME, Objective, ObjectiveGradient, Term
from mechgrad.typing import Array, ArrayLike, FloatArray, IntArray


@dataclass(frozen=True, eq=False, init=False)
class SeveralInstants(Term):
    """A function of measures at some instants of a motion, or at all that it reports.

    t : (n,) increasing [s]; None for every reported instant
    """

    t: FloatArray | None = None

    def __init__(
        self, t: ArrayLike | None, function: Any, *measures: Measure, partials: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(function, *measures, partials=partials)
        object.__setattr__(self, "t", None if t is None else _instants(t, type(self).__name__))

    @property
    def times(self) -> tuple[float, ...]:
        return () if self.t is None else tuple(self.t.tolist())

    def until(self, end: float) -> Objective | None:
        if self.t is None or self.t[-1] <= end + SAME * max(abs(end), SAME):
            return self
        kept = self.t[self.t <= end + SAME * max(abs(end), SAME)]
        if not len(kept):
            return None
        fewer = copy(self)
        object.__setattr__(fewer, "t", kept)
        return fewer

    def _positions(self, at: StateSamples) -> IntArray:
        """Which of the samples count."""
        t = np.real(at.states.t)
        if self.t is None:
            return np.arange(len(t[: at.grid]))
        nearest = np.array([len(t) - 1 - int(np.argmin(np.abs(t - x)[::-1])) for x in self.t])
        missed = np.abs(t[nearest] - self.t)
        if (missed > SAME * max(float(np.ptp(t)), SAME)).any():
            k = int(np.argmax(missed))
            raise InputError(
                f"the motion reports no instant t = {self.t[k]:g} s; the nearest is {t[nearest[k]]:.9g} s. Ask for "
                "instants that it reports."
            )
        if (np.diff(nearest) == 0).any():
            k = int(np.argmin(np.diff(nearest)))
            raise InputError(f"t = {self.t[k]:.12g} and {self.t[k + 1]:.12g} s are one instant; ask for it once.")
        return nearest

    def _rows(self, at: StateSamples) -> Any:
        return self._positions(at)

    def _weighted(self, at: StateSamples) -> tuple[StateSamples, FloatArray]:
        which = self._positions(at)
        some = at._replace(states=States(*(x[which] for x in at.states)), grid=None)
        return some, np.ones(len(which))

    def _functions(self, at: StateSamples) -> Array:
        """g (n, k) at the samples."""
        return self.integrand.values([np.asarray(x.values(at)) for x in self.measures], at.states.t)


@final
@dataclass(frozen=True, eq=False, init=False)
class AtTimes(SeveralInstants):
    """A function of measures at several instants: one value after the other, all of the first instant first.

    Parameters
    ----------
    t : (n,) increasing [s], read between steps where the motion reports no such instant; None: all that it reports
    function : (values of each measure (n, ...)) -> (n,) or (n, k), plain NumPy; left out: the measure itself
    measures : what it is a function of

    For residuals of data, and for what must hold all the time. Its gradient is direct as a rule: n k rows.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> angles = mg.objectives.AtTimes([0.25, 0.5, 1.0], mg.measures.JointCoordinate("pin"))
    >>> mg.gradient(swing, angles, ["bob.com.z"]).shape
    (3, 1)
    """

    def values_at(self, at: StateSamples, w: FloatArray) -> Array:
        return self._functions(at).ravel()

    def gradients_at(self, at: StateSamples, parameters: Parameters, w: FloatArray) -> ObjectiveGradient:
        y = [np.asarray(x.values(at)) for x in self.measures]
        g, slopes = self.integrand.partials(y, at.states.t)
        (nt, k), n, m = g.shape, at.model.n_v, at.states.lam.shape[1]
        width = 3 * n + m + max(slope.shape[2] for slope in slopes)
        require_memory(8 * nt * nt * k * width, f"derivatives of {nt * k} values at {nt} instants", "Ask for fewer.")
        states = StateGradients(*(np.zeros((nt, nt * k, size)) for size in (n, n, n, m)))
        by_p = np.zeros((nt * k, len(parameters)))
        for measure, slope in zip(self.measures, slopes, strict=True):
            alone = np.zeros((nt, nt, *slope.shape[1:]))
            alone[np.arange(nt), np.arange(nt)] = slope  # every value depends on its own instant
            found = measure.gradients(at, parameters, alone.reshape(nt, nt * k, -1))
            for out, part in zip(states, found[:4], strict=True):
                if part is not None:
                    out += part
            if found.p is not None:
                by_p += found.p
        return ObjectiveGradient(g.ravel(), states, by_p)


@final
@dataclass(frozen=True, eq=False, init=False)
class SmoothMaximum(SeveralInstants):
    """The largest value of a function of measures along a motion, made smooth; never below the largest itself.

        psi = (1/rho) log sum_k exp(rho g_k),     max g <= psi <= max g + error,     rho = log(number of values) / error

    Parameters
    ----------
    function, measures : as of `AtTimes`; of functions with several values the largest of all
    error : what it may lie above the largest value by, in the unit of the function
    t : (n,) increasing [s]; None: every instant that the motion reports. Between these nothing is seen

    One value, so that its gradient is as cheap as that of an integral.

    >>> swing = mg.simulate(model, [0.5], duration=1.0, step=0.01)
    >>> fastest = mg.objectives.SmoothMaximum(lambda v: v**2, mg.measures.JointVelocity("pin"), error=0.01)
    >>> g, largest = mg.gradient(swing, fastest, ["start.position.pin"]), float(np.max(swing.v**2))
    >>> bool(largest <= g.values[0] <= largest + 0.01)
    True
    """

    error: float = 0.0

    def __init__(
        self,
        function: Any,
        *measures: Measure,
        error: float,
        t: ArrayLike | None = None,
        partials: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(error, Real) or not 0.0 < float(error) < np.inf:
            raise InputError(
                f"the error of SmoothMaximum is {error!r}; give how far above the largest value it may be, positive."
            )
        super().__init__(t, function, *measures, partials=partials)
        object.__setattr__(self, "error", float(error))

    def _shares(self, g: Array) -> tuple[Array, Array]:
        """psi and w (n, k)."""
        rho = np.log(max(g.size, 2)) / self.error
        top = float(np.real(g).max())
        powers = np.exp(rho * (g - top))
        return top + np.log(powers.sum()) / rho, powers / powers.sum()

    def values_at(self, at: StateSamples, w: FloatArray) -> Array:
        return np.atleast_1d(self._shares(self._functions(at))[0])

    def gradients_at(self, at: StateSamples, parameters: Parameters, w: FloatArray) -> ObjectiveGradient:
        y = [np.asarray(x.values(at)) for x in self.measures]
        g, slopes = self.integrand.partials(y, at.states.t)
        psi, shares = self._shares(g)
        nt, n, m = len(g), at.model.n_v, at.states.lam.shape[1]
        states = StateGradients(*(np.zeros((nt, 1, size)) for size in (n, n, n, m)))
        by_p = np.zeros((1, len(parameters)))
        for measure, slope in zip(self.measures, slopes, strict=True):
            found = measure.gradients(at, parameters, np.einsum("tk,tks->ts", shares, slope)[:, None])
            for out, part in zip(states, found[:4], strict=True):
                if part is not None:
                    out += part
            if found.p is not None:
                by_p += found.p
        return ObjectiveGradient(np.atleast_1d(psi), states, by_p)


def _instants(given: ArrayLike, owner: str) -> FloatArray:
    try:
        t = np.array(given, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"t of {owner} is {given!r}; give instants (n,) [s].") from error
    if t.ndim != 1 or not len(t) or not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        raise InputError(f"t of {owner} has shape {t.shape}; give increasing, finite instants, at least one [s].")
    t.setflags(write=False)
    return t
