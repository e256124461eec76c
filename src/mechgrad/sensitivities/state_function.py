"""A stop condition that is a function of users, as an objective at the end of a motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from mechgrad.dynamics.states import StateGradients, States
from mechgrad.measures.base import StateSamples
from mechgrad.model.columns import STEP
from mechgrad.sensitivities.integrands import Integrand
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import ObjectiveGradient, OneInstant
from mechgrad.typing import Array, FloatArray


@final
@dataclass(frozen=True, eq=False, init=False)
class StateFunction(OneInstant):
    """A function of t, q and v, as `stop` is, at the end of a motion.

    beside : another state of the motion, (1, .) each: its numbers are as large as they are there, not as near to zero
        as those that pass it
    """

    beside: States = field(init=False, repr=False)

    def __init__(self, stop: Callable[..., Any], beside: States) -> None:
        integrand = Integrand(lambda q, v, t: stop(t, q, v), None, 2, "stop")
        for key, x in (("function", stop), ("measures", ()), ("partials", None), ("integrand", integrand)):
            object.__setattr__(self, key, x)
        object.__setattr__(self, "beside", beside)

    def _position(self, t: FloatArray) -> int:
        return len(t) - 1

    def values_at(self, at: StateSamples, w: FloatArray) -> Array:
        return np.asarray(w @ self.integrand.values([at.states.q, at.states.v], at.states.t))

    def gradients_at(self, at: StateSamples, parameters: Parameters, w: FloatArray) -> ObjectiveGradient:
        q, lam, t = at.states.q, at.states.lam, at.states.t
        both = [np.concatenate([x, y]) for x, y in zip(self.beside, at.states, strict=True)]
        g, found = self.integrand.partials([both[0], both[1]], both[4])
        g, by_q, by_v = (x[-1:] for x in (g, *found))
        n = at.model.n_v
        turns = [np.asarray(at.model.integrate(q + 0j, 1j * STEP * unit)).imag / STEP for unit in np.eye(n)]
        along = by_q @ np.stack(turns, axis=2)
        none = [np.zeros((len(t), 1, k)) for k in (n, lam.shape[1])]
        states = StateGradients(w[:, None, None] * along, w[:, None, None] * by_v, *none)
        return ObjectiveGradient(np.asarray(w @ g), states, np.zeros((1, len(parameters))))
