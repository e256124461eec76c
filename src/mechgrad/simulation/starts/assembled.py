"""A start that `assemble` found, differentiated.

    Phi(q, p) = 0,  h(q, p) = given              [ Gamma; H ] dq = [ -Phi_p; dgiven - h_p ]
    Gamma v = -Phi_t,  H v = given rates         the same at velocity level, along (dq, dp)

h are the quantities that were held; everything else follows, in loops and in open trees alike. In a tree of which only
coordinates were held, the others stayed where they were: there all of them count as given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mechgrad.kinematics.assembly import assemble, least_squares, solve_velocities
from mechgrad.kinematics.held import Equations
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.kinematics.state import State, state
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.model.model import Model
from mechgrad.simulation.starts.base import (
    POSITION,
    VELOCITY,
    Forces,
    Rates,
    Start,
    StartParameters,
    followed,
    quantities,
    row_slopes,
)
from mechgrad.simulation.starts.given import given_positions, given_slopes, given_velocities, positions_again
from mechgrad.typing import FloatArray


class AssembledStart(Start):
    """The result of `assemble`."""

    def __init__(self, state: State) -> None:
        self.state, self.model = state, state.model
        self.q, self.v = np.asarray(state.q.real, float), np.asarray(state.v.real, float)
        tree = not (has_elements(self.model) and row_report(self.model).names)
        # in a tree, coordinates that are not held stay; points and vectors ask them to move
        self.plain = tree and all(x.q_at >= 0 for x in quantities(self.model, list(state.held)))
        self.plain_rates = self.plain and all(
            x.v_at >= 0 for x in quantities(self.model, list(state.held_rates), rate=True)
        )

    def values(self) -> dict[str, float]:
        positions, rates = (
            {kind + name: float(np.real(x)) for name, x in held.items()}
            for kind, held in ((POSITION, self.state.held), (VELOCITY, self.state.held_rates))
        )
        if self.plain:
            positions = given_positions(self.model, self.q)
        return positions | (given_velocities(self.model, self.v) if self.plain_rates else rates)

    def slopes(self, parameters: StartParameters) -> tuple[FloatArray, FloatArray]:
        dq = given_slopes(parameters, POSITION) if self.plain else np.zeros((len(parameters), self.model.n_v))
        if self.plain_rates:
            return dq, given_slopes(parameters, VELOCITY)
        model, q, v, t = self.model, self.q, self.v, self.state.t
        dv = np.zeros_like(dq)
        held = tuple(self.state.held)
        positions = Equations.of(model, quantities(model, held), q)
        J = positions.at(q, v, t).J[positions.finite_rows]
        determined = least_squares(J, np.zeros(len(J)))[1] == model.n_v
        rates = Rates(model, q, v, t, self.state.held_rates)
        measured = any(x.row is not None for x in (*positions.held, *rates.quantities))
        idle = parameters.moves_nothing if measured else parameters.keeps_rows
        for k in (*parameters.in_model, *parameters.of_start):
            name = parameters.names[k]
            if not parameters.is_start(k) and idle(k):
                continue
            moved = model if parameters.is_start(k) else parameters.moved(k)
            if not self.plain:
                here = Equations.of(moved, quantities(moved, held), q + 0j)
                b = -row_slopes(here, q + 0j, v + 0j, t)[0][here.finite_rows]
                if name.startswith(POSITION):
                    b[here.n_holonomic + held.index(name.removeprefix(POSITION))] += 1.0
                dq[k] = followed(J, b, model, name, determined)
            dv[k] = rates.slope(moved, name, dq[k])
        return dq, dv

    def again(self, model: Model, numbers: Mapping[str, Any], forces: Forces) -> State:
        rates = {name: numbers.get(VELOCITY + name, x) for name, x in self.state.held_rates.items()}
        at = {name: numbers.get(POSITION + name, x) for name, x in self.state.held.items()}
        if self.plain:
            q = positions_again(model, self.q, numbers)
            if self.plain_rates:
                v = np.array([numbers[VELOCITY + name] for name in model.v_names])
                held = quantities(model, list(rates), rate=True)  # start values have the names of velocities
                rates = {name: v[x.v_at] for name, x in zip(rates, held, strict=True)}
            else:
                v = solve_velocities(model, q, rates, self.state.t)
            # still one that was put together: rates that points were given say how velocities follow
            return replace(state(model, q, v, t=self.state.t), held=at, held_rates=rates, given=False)
        left_free: dict[str, Any] = {name: None for name in at if name not in rates}  # by the first assembly, too
        return assemble(model, at, {**left_free, **rates}, guess=self.q, t=self.state.t)

    def describe(self) -> str:
        if self.plain_rates:
            return "all coordinates and velocities"
        positions = "all coordinates" if self.plain else ", ".join(self.state.held) or "nothing"
        rates = ", ".join(self.state.held_rates) or "nothing"
        return f"{positions}; of velocities {rates}; everything else follows from the assembly"
