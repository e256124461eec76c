"""Configurations differentiated: equilibria, direct and adjoint, and states that `assemble` found.

equilibrium    dpsi/dp = psi_p + psi_q dq/dp + psi_y dy/dp                                   direct
               dpsi/dp = psi_p + mu . r_p + w . Phi_p,   [mu; w] = -[ K  G^T; G  0 ]^-T [psi_q; psi_y]    adjoint
assembly       dpsi/dp = psi_p + psi_q dq/dp + psi_v dv/dp
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.states import StateGradients, States
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.kinematics.state import State
from mechgrad.measures.base import Measure, StateSamples
from mechgrad.sensitivities.gradient_by_tables import TableGradient
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import Objective
from mechgrad.simulation.starts.base import MOTION, POSITION
from mechgrad.simulation.starts.rest import StaticEquations
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray


class _OneState:
    """A single state with what gradients ask of any motion."""

    def __init__(self, found: State | Equilibrium, tau: Any, loads: Any) -> None:
        self.start, self.model = found, found.model
        self.q, self.v = found.q[None], found.v[None]
        self.t = np.array([float(found.t)])
        self.system = System(found.model, tau, loads, dtype=complex if np.iscomplexobj(found.q) else None)
        self.tau, self.loads = self.system.tau, self.system.loads

    def measures(self, objectives: Sequence[Objective]) -> list[Measure]:
        """All measures of some objectives; raise for integrals, which one state does not have."""
        found: list[Measure] = []
        for _, term in (pair for objective in objectives for pair in objective.terms()):
            if term.over_time:
                raise InputError(
                    f"{type(term).__name__} needs a motion; of one state ask AtEnd(...), or a measure itself."
                )
            found += term.measures
        return found


class StaticCase(_OneState):
    """An equilibrium, to be differentiated."""

    def __init__(self, rest: Equilibrium) -> None:
        super().__init__(rest, rest.tau, rest.loads)
        self.rest = rest
        self.forced = True

    def samples(self, objectives: Sequence[Objective]) -> StateSamples:
        """Its one state, to be measured; multipliers of held coordinates come after those of constraints."""
        rest = self.rest
        if rest.held and any(x.depends_on_forces for x in self.measures(objectives)):
            raise InputError(
                "JointReaction of an equilibrium with held coordinates would leave out what holds them. Hold nothing, "
                "or ask for Multiplier(name of the held coordinate), which is minus the force that holds it."
            )
        still = np.zeros((1, self.model.n_v), self.q.dtype)
        lam = np.concatenate([rest.multipliers, [-x for x in rest.holding.values()]])[None]
        names = (*rest.constraint_names, *rest.held)
        return StateSamples(
            self.model, States(self.q, still, still, lam, self.t), self.tau, self.loads, names, "trapezoid"
        )

    def gradient(self, objectives: Sequence[Objective], parameters: Parameters, method: str) -> FloatArray:
        """Derivatives (no, np)."""
        g, explicit = collected(objectives, self.samples(objectives), parameters)
        equations = StaticEquations(self.rest, self.system, MOTION)
        if method == "direct":
            dq, dy = equations.direct(parameters)
            return np.asarray(explicit + g.q[0] @ dq.T + g.lam[0] @ dy.T)
        equations.check_balanced(parameters)
        mu, w = equations.adjoint(g.q[0], g.lam[0])
        rows = np.zeros((len(w), 1, equations.m))
        rows[:, 0, : equations.n_holonomic] = w[:, : equations.n_holonomic]
        tables = TableGradient(self.system, len(w), parameters)
        tables.add(Weights(equations.states, np.ascontiguousarray(mu[:, None]), rows))
        result = explicit + tables.by_parameters()
        for k in parameters.of_start:
            name = parameters.names[k]
            if name.startswith(POSITION):
                result[:, k] -= w[:, equations.m + equations.held.index(name.removeprefix(POSITION))]
        return np.asarray(result)


class AssembledCase(_OneState):
    """A state that `assemble` found, to be differentiated."""

    forced = False  # no force has a part in it

    def __init__(self, state: State) -> None:
        super().__init__(state, None, None)

    def samples(self, objectives: Sequence[Objective]) -> StateSamples:
        """Its one state, to be measured; geometry alone has no accelerations, multipliers and forces."""
        for measure in self.measures(objectives):
            if {"a", "lam"} & set(measure.uses.split()) or measure.depends_on_forces:
                raise InputError(
                    f"{type(measure).__name__} needs forces, and a state that was put together knows none. Ask for it "
                    "of a motion, or of mg.equilibrium."
                )
        nothing = np.zeros((1, self.system.n_constraints), self.q.dtype)
        states = States(self.q, self.v, np.zeros_like(self.v), nothing, self.t)
        return StateSamples(self.model, states, self.tau, self.loads, self.system.names, "trapezoid")

    def gradient(self, objectives: Sequence[Objective], parameters: Parameters, method: str) -> FloatArray:
        """Derivatives (no, np); direct and adjoint are the same here."""
        g, explicit = collected(objectives, self.samples(objectives), parameters)
        dq, dv = parameters.start.slopes(parameters)
        return np.asarray(explicit + g.q[0] @ dq.T + g.v[0] @ dv.T)


def collected(
    objectives: Sequence[Objective], at: StateSamples, parameters: Parameters
) -> tuple[StateGradients, FloatArray]:
    """Gradients of some objectives by the states, side by side, and what parameters do besides (no, np)."""
    found = [objective.gradients(at, parameters) for objective in objectives]
    states = StateGradients(*(np.concatenate(x, axis=1) for x in zip(*(g.by_states for g in found), strict=True)))
    return states, np.concatenate([g.by_parameters for g in found])


def repeated_state(parameters: Parameters, values: Array) -> State | Equilibrium:
    """The state once more with other values of its parameters, complex ones too."""
    model, _, forces, numbers = parameters.changed(values)
    return parameters.start.again(model, numbers, forces)
