"""A start that was given as numbers: every coordinate and velocity is a start value, and depends on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.kinematics.held import Equations
from mechgrad.kinematics.state import State, state
from mechgrad.model.model import Model
from mechgrad.simulation.starts.base import (
    POSITION,
    VELOCITY,
    Forces,
    Rates,
    Start,
    StartParameters,
    coordinate_names,
    followed,
    row_slopes,
)
from mechgrad.typing import Array, FloatArray


def given_positions(model: Model, q: Array) -> dict[str, float]:
    """All coordinates by the names of start values; turns of balls are counted from the start."""
    names, at = coordinate_names(model)
    return {POSITION + name: float(q[i].real) if i >= 0 else 0.0 for name, i in zip(names, at, strict=True)}


def given_velocities(model: Model, v: Array) -> dict[str, float]:
    """All velocities by the names of start values."""
    return {VELOCITY + name: float(x.real) for name, x in zip(model.v_names, v, strict=True)}


def given_slopes(parameters: StartParameters, kind: str) -> FloatArray:
    """dq0/dp or dv0/dp (np, n_v) where every coordinate or velocity stands for itself."""
    model = parameters.model
    out, names = np.zeros((len(parameters), model.n_v)), coordinate_names(model)[0]
    for k in parameters.of_start:
        if parameters.names[k].startswith(kind):
            own = parameters.names[k].removeprefix(kind)
            out[k, (names if kind == POSITION else model.v_names).index(own)] = 1.0
    return out


def positions_again(model: Model, q: Array, numbers: Mapping[str, Any]) -> Array:
    """q with some of its numbers changed."""
    before = given_positions(model, q)
    step = np.array([numbers[name] - x for name, x in before.items()])
    return np.asarray(model.integrate(q.astype(np.result_type(q, step)), step))


class GivenStart(Start):
    """q and v as they were handed to `simulate`. Loops have no start values: one number alone would tear them."""

    def __init__(self, system: System, q: Array, v: Array, t: float) -> None:
        self.model, self.q, self.v, self.t = system.model, np.asarray(q), np.asarray(v), t
        self.closed = system.n_constraints > 0

    def values(self) -> dict[str, float]:
        return {} if self.closed else given_positions(self.model, self.q) | given_velocities(self.model, self.v)

    def slopes(self, parameters: StartParameters) -> tuple[FloatArray, FloatArray]:
        dq, dv = given_slopes(parameters, POSITION), given_slopes(parameters, VELOCITY)
        if not self.closed:
            return dq, dv
        moving = [k for k in parameters.in_model if not parameters.keeps_rows(k)]
        if not moving:
            return dq, dv
        q, v = (np.asarray(x.real, float) for x in (self.q, self.v))
        rates = Rates(self.model, q, v, self.t, {})
        for k in moving:  # raises where the loops would have to follow, since nothing says how
            moved, name = parameters.moved(k), parameters.names[k]
            here = Equations.of(moved, (), q + 0j)
            b = -row_slopes(here, q + 0j, v + 0j, self.t)[0][here.finite_rows]
            dq[k] = followed(rates.J[here.finite_rows], b, self.model, name, False)
            dv[k] = rates.slope(moved, name, dq[k])
        return dq, dv

    def again(self, model: Model, numbers: Mapping[str, Any], forces: Forces) -> State:
        if self.closed:
            return state(model, self.q, self.v, t=self.t)
        v = np.array([numbers[VELOCITY + name] for name in model.v_names])
        return state(model, positions_again(model, self.q, numbers), v, t=self.t)

    def describe(self) -> str:
        return "q and v as given" if self.closed else "all coordinates and velocities"
