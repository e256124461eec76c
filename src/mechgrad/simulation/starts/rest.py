"""A start from `equilibrium`, differentiated.

    r(q, 0, 0, p) + G^T y = 0,  Phi(q, p) = 0,  q_held = given        G = [ Gamma; held coordinates ]

    [ K  G^T ] [ dq ]     [ r_p            ]
    [ G  0   ] [ dy ] = - [ Phi_p - dgiven ]

K holds the stiffness of forces and the geometric one of multipliers. Where an equilibrium is not isolated (a car on a
level road), q changes as little as possible. Velocities follow from constraints and given rates, as in `assemble`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium, equilibrium, static_inverse
from mechgrad.dynamics.states import States, linearised, slopes
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.kinematics.held import Equations
from mechgrad.model.model import Model
from mechgrad.simulation.starts.base import POSITION, START, VELOCITY, Forces, Rates, Start, StartParameters, quantities
from mechgrad.simulation.starts.given import given_slopes, given_velocities
from mechgrad.typing import FloatArray

TIGHT = 1e-13  # of the largest force: differences of equilibria need more digits than a start
LOST = 1e-6  # relative: what a change of forces may leave unbalanced


class StaticEquations:
    """The linearised equations of an equilibrium: direct and adjoint.

    states : the one state of rest, with the multipliers of its constraints
    system : the mechanism with the forces that acted;   role : what they are to parameters, see `Parameters`
    """

    def __init__(self, rest: Equilibrium, system: System, role: str) -> None:
        self.rest, self.model, self.system, self.role = rest, rest.model, system, role
        n, m = rest.model.n_v, self.system.n_constraints
        self.n, self.m, self.held = n, m, tuple(rest.held)
        q = np.asarray(rest.q.real, float)
        nothing = np.zeros((1, n))
        self.states = States(
            q[None], nothing, nothing, np.asarray(rest.multipliers.real, float)[None], np.array([rest.t])
        )
        here = linearised(self.system.T, self.states, False)
        equations = Equations.of(rest.model, quantities(rest.model, self.held), q)
        G = equations.at(q, None, rest.t).J
        self.size = n + len(G)
        self.saddle, self.inverse = static_inverse(here.K[0], G)
        self.n_holonomic = equations.n_holonomic

    def direct(self, parameters: StartParameters) -> tuple[FloatArray, FloatArray]:
        """dq/dp (np, n_v) and dy/dp (np, rows)."""
        right = self.check_balanced(parameters)
        change = -right @ self.inverse.T
        return change[:, : self.n], change[:, self.n :]

    def check_balanced(self, parameters: StartParameters) -> FloatArray:
        """What parameters leave unbalanced (np, rows of the saddle); raise where no change of q and y can mend it."""
        right = np.zeros((len(parameters), self.size))
        for k in parameters.acting:
            found = slopes(parameters.record_of(self.system, k, self.role), self.states)
            right[k, : self.n] = found.r[0]
            right[k, self.n : self.n + self.n_holonomic] = found.values[0, : self.n_holonomic]
        for k in parameters.of_start:
            name = parameters.names[k]
            if name.startswith(POSITION):
                right[k, self.n + self.m + self.held.index(name.removeprefix(POSITION))] = -1.0
        left = np.abs(right - right @ self.inverse.T @ self.saddle.T)
        lost = left.max(axis=1, initial=0.0) > LOST * np.abs(right).max(axis=1, initial=1e-300)
        if lost.any():
            first = int(np.argmax(lost))
            raise InputError(
                f"model {self.model.name!r} has no equilibrium near this one when {parameters.names[first]!r} changes: "
                f"{left[first].max():.3g} per unit is left unbalanced, since nothing resists there. Hold a coordinate "
                "by equilibrium(..., at={...}), or add a spring."
            )
        return right

    def adjoint(self, gq: FloatArray, gy: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights of residuals (no, n_v) and of rows (no, rows), from gradients by q and y."""
        x = -np.concatenate([gq, gy], axis=1) @ self.inverse
        return x[:, : self.n], x[:, self.n :]


class RestStart(Start):
    """The result of `equilibrium`."""

    def __init__(self, rest: Equilibrium) -> None:
        self.rest, self.model = rest, rest.model
        self.forces = Forces(np.asarray(rest.tau), rest.loads)
        # in a tree, velocities that no rate was given for are zero, and stay so
        self.plain_rates = not rest.constraint_names and all(
            x.v_at >= 0 for x in quantities(rest.model, list(rest.held_rates), rate=True)
        )

    def values(self) -> dict[str, float]:
        rest = self.rest
        positions = {POSITION + name: float(np.real(x)) for name, x in rest.held.items()}
        if self.plain_rates:
            return positions | given_velocities(rest.model, rest.v)
        return positions | {VELOCITY + name: float(np.real(x)) for name, x in rest.held_rates.items()}

    def slopes(self, parameters: StartParameters) -> tuple[FloatArray, FloatArray]:
        rest = self.rest
        dq, _ = StaticEquations(rest, System(rest.model, rest.tau, rest.loads), START).direct(parameters)
        if self.plain_rates:
            return dq, given_slopes(parameters, VELOCITY)
        dv = np.zeros_like(dq)
        rates = Rates(
            rest.model, np.asarray(rest.q.real, float), np.asarray(rest.v.real, float), rest.t, rest.held_rates
        )
        for k in range(len(parameters)):
            moved = parameters.moved(k) if k in parameters.in_model else rest.model
            dv[k] = rates.slope(moved, parameters.names[k], dq[k])
        return dq, dv

    def again(self, model: Model, numbers: Mapping[str, Any], forces: Forces) -> Equilibrium:
        rest = self.rest
        at = {name: numbers[POSITION + name] for name in rest.held}
        names = rest.model.v_names if self.plain_rates else tuple(rest.held_rates)
        rates: dict[str, Any] = {name: numbers[VELOCITY + name] for name in names}
        free: dict[str, Any] = {} if self.plain_rates else {name: None for name in at if name not in rates}
        return equilibrium(
            model, np.asarray(rest.q.real, float), at=at, tau=forces.tau, loads=forces.loads, t=rest.t,
            rates={**free, **rates}, tolerance=TIGHT,
        )  # fmt: skip

    def describe(self) -> str:
        rates = "all of them" if self.plain_rates else ", ".join(self.rest.held_rates)
        held = f"{', '.join(self.rest.held)} held" if self.rest.held else "nothing held"
        return f"equilibrium, {held}" + (f"; of velocities {rates}" if rates else "")
