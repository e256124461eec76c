"""The end of a motion that a stop condition decides, differentiated.

    g(T, x(T, p), p) = 0        dT/dp = -(g_x dx/dp + g_p) / g'           g' = dg/dT along the motion
    psi = psi(T, x(., p), p)    dpsi/dp = dpsi/dp at fixed T + psi' dT/dp

At fixed T both g and psi are objectives as all others, direct or adjoint. g' and psi' are derivatives in one number of
what was computed, x(T) being what lies between the steps (`steps.dense`), measures, functions of users and quadrature
included: they are taken by a Chebyshev polynomial through a few values within the step in which the motion ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.errors import InputError
from mechgrad.measures.base import StateSamples
from mechgrad.measures.joints import JointCoordinate
from mechgrad.sensitivities.instants import Instants, samples_read, with_asked
from mechgrad.sensitivities.objectives import AtEnd, Objective
from mechgrad.sensitivities.one_number import VALUES, chebyshev_points, slope_at
from mechgrad.sensitivities.state_function import StateFunction
from mechgrad.simulation.quadrature import GAUSS_SHARES
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.base import StepMethod
from mechgrad.steps.conditions import Passing, bound
from mechgrad.steps.dense import Reading, every_step, read
from mechgrad.steps.runge_kutta.step import held_steps
from mechgrad.typing import FloatArray

GRAZING = 1e-7  # of the mean rate of a condition: slower is no passing


@final
@dataclass(frozen=True, eq=False)
class Event:
    """Where and why a motion ended.

    whole : the march with the whole step in which it did, and its recipe;   method : the kind of its steps
    end : T [s];   step : when the step around it begins and ends [s];   reported : the instants of the motion
    term : the condition as an objective, whose value is zero
    """

    whole: Trajectory
    method: StepMethod
    end: float
    step: tuple[float, float]
    reported: FloatArray
    term: Objective

    @staticmethod
    def of(motion: Trajectory, method: StepMethod) -> Event:
        """The end of a motion."""
        marched, t = motion.record.marched, np.asarray(motion.t, float)
        if marched is None or len(t) < 2:
            raise InputError("the motion ended where it began: its stop condition changes sign at the start.")
        span = float(marched.t[-1] - marched.t[0])
        whole = Trajectory.of(marched, motion.recipe.changed(duration=span, samples=len(marched.t)))
        end = float(t[-1])
        starts, h = _steps(whole, method)
        k = int(np.clip(np.searchsorted(starts, end, side="right") - 1, 0, len(starts) - 1))
        if end == starts[k] and k > 0:
            k -= 1
        return Event(whole, method, end, (float(starts[k]), float(starts[k] + h[k])), t, _condition(motion))

    def instants(self, terms: Sequence[Objective], *, every: bool = True) -> Instants:
        """Where objectives look: at reported instants; integrals at every step, at Gauss points within steps that
        are smooth. every: False for functions that know reported instants only."""
        over_time = any(term.over_time for objective in terms for _, term in objective.terms())
        start, rule = self.step[0], "trapezoid"
        grid, share = np.append(self.reported[:-1], self.end), np.append(np.full(len(self.reported) - 1, np.nan), 1.0)
        if over_time and every:
            starts, h = _steps(self.whole, self.method)
            done = starts < start
            starts, h, first = starts[done], h[done], float(self.whole.t[0])
            if self.method.smooth_reports:
                rule, ahead = "gauss", (self.end - start) * GAUSS_SHARES + start
                fixed = (starts[:, None] + h[:, None] * GAUSS_SHARES).ravel()
                grid = np.concatenate([[first], fixed, ahead, [self.end]])
                share = np.concatenate([np.full(len(fixed) + 1, np.nan), GAUSS_SHARES, [1.0]])
            else:
                grid = np.concatenate([starts, [start, self.end]])
                share = np.append(np.full(len(grid) - 1, np.nan), 1.0)
        return with_asked(grid, share, start, rule, terms, self.whole.t[0], self.end)

    def read(self, instants: Instants) -> Reading:
        """The motion there."""
        return read(self.whole.record, self.method, instants.t, instants.moving)

    def rates(self, terms: Sequence[Objective], instants: Instants, samples: StateSamples) -> FloatArray:
        """psi' of objectives that see these samples (no,), and of nothing else than their end that moves."""
        low, high = self.step
        reach = 0.5 * (high - low)
        low, high = max(low, self.end - reach), min(high, self.end + reach)
        moving, count = instants.moving, int(instants.moving.sum())
        times = [instants.at(float(end)) for end in chebyshev_points(low, high)]
        all_times = np.concatenate([t[moving] for t in times])
        found = read(self.whole.record, self.method, all_times, np.ones(count * VALUES, bool))
        values = []
        for k, t in enumerate(times):
            states = [np.array(x) for x in samples.states]
            for x, y in zip(states[:4], found.states, strict=False):
                x[moving] = y[k * count : (k + 1) * count]
            states[4] = t
            here = samples._replace(states=States(*states))
            values.append(np.concatenate([np.atleast_1d(term.values(here)) for term in terms]))
        return slope_at(np.array(values, float), self.end, low, high)

    def condition_rate(self) -> float:
        """g' where the motion ended; raise where it grazes."""
        stop = bound(self.whole.recipe.stop, self.whole.system)
        assert stop is not None
        ends = [self.term]
        instants = self.instants(ends)
        reading = self.read(instants)
        rate = float(self.rates(ends, instants, samples_read(self.whole, reading, instants))[0])
        whole = self.whole
        values = np.asarray(stop(whole.t, whole.q, whole.v), float)
        mean = float(np.ptp(values)) / (self.end - float(whole.t[0]))
        if not abs(rate) > GRAZING * mean:
            raise InputError(
                f"the stop condition grazes zero at t = {self.end:.9g} s: it changes by {rate:.3g} per second there, "
                f"and by {mean:.3g} on average. Where the motion ends has no derivative; stop at another value, or "
                "simulate a fixed duration."
            )
        return rate

    def on(self, whole: Trajectory) -> Event:
        """The same instants of a motion that differs by imaginary parts."""
        return replace(self, whole=whole)


def _condition(motion: Trajectory) -> Objective:
    """The stop condition of a motion as an objective."""
    stop, middle = motion.recipe.stop, len(motion.t) // 2 - (len(motion.t) == 2)
    assert stop is not None
    if not isinstance(stop, Passing):
        return StateFunction(stop, motion.record.states(slice(middle, middle + 1)))
    measure = JointCoordinate(stop.what) if isinstance(stop.what, str) else stop.what
    return AtEnd(lambda y: y - stop.value, measure)


def _steps(whole: Trajectory, method: StepMethod) -> tuple[FloatArray, FloatArray]:
    """When steps begin, and their lengths."""
    if method.reported_at is not None:
        path = held_steps(whole.record)
        return path[:, 0], path[:, 1]
    nodes = every_step(whole.record, method)
    if nodes.held is not None:
        return nodes.held[:, 0], nodes.held[:, 1]
    count = len(nodes.t) - 1
    starts: FloatArray = float(nodes.t[0]) + nodes.step_length * np.arange(count, dtype=float)
    return starts, np.full(count, nodes.step_length)
