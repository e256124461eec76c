"""The contract of what can be differentiated: parameters, states to be measured, a gradient, itself once more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from mechgrad.dynamics.states import StateGradients, StateSlopes
from mechgrad.errors import InputError
from mechgrad.measures.base import StateSamples
from mechgrad.model.model import Model
from mechgrad.sensitivities.gradient_by_tables import TableGradient
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.static import collected
from mechgrad.steps.base import Sweeps
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

CONTINUOUS = {
    "continuous-adjoint": None,
    "continuous-adjoint-1": "approach-1",
    "continuous-adjoint-2": "approach-2",
}


class Case(ABC):
    """Something with parameters, states to be measured, and derivatives.

    one_state : whether it is a single state, where a measure stands for itself
    note : what a reader of its derivatives should know
    """

    one_state = False
    note = ""
    model: Model

    @abstractmethod
    def parameters(self, wrt: str | Sequence[str]) -> Parameters:
        """What it is differentiated by, checked: raises for parameters that it cannot follow."""

    @abstractmethod
    def samples(self, terms: Sequence[Objective]) -> StateSamples:
        """Its states, to be measured."""

    @abstractmethod
    def gradient(self, terms: Sequence[Objective], parameters: Parameters, method: str, threads: int) -> FloatArray:
        """Derivatives of objectives by parameters (no, np), by an analytic method."""

    @abstractmethod
    def repeated(self, parameters: Parameters, values: Array) -> Case:
        """The same made once more from the beginning, with other values of its parameters, complex ones too."""

    def held(self, parameters: Parameters) -> str:
        """What stays when parameters change, in words."""
        return f"held at the start: {parameters.start.describe()}."

    def accuracy(self) -> str:
        """How accurate its derivatives are, in words."""
        return self.note

    def histories(self, parameters: Parameters, threads: int) -> StateSlopes:
        """Derivatives of all its states."""
        raise InputError("histories belong to motions; of one state ask for its gradient.")

    def differing(self, parameters: Parameters, values: Array) -> Case:
        """As `repeated`, for real differences that are to see what a derivative may have left out."""
        return self.repeated(parameters, values)

    def expected_error(self) -> float:
        """What derivatives may be off by beside differences of what is computed anew, relative; 0 if nothing."""
        return 0.0

    def values(self, terms: Sequence[Objective]) -> list[Array]:
        """What each objective is."""
        at = self.samples(terms)
        return [np.atleast_1d(term.values(at)) for term in terms]

    def check_followed(self, parameters: Parameters) -> None:
        """Raise for parameters that its beginning cannot follow; analytic methods notice themselves."""
        parameters.start.slopes(parameters)

    def check_method(self, method: str) -> None:
        """Raise where a method does not apply."""
        if method in CONTINUOUS:
            raise InputError(f"{method!r} needs a motion that forces decide; use 'adjoint' or 'direct'.")


@singledispatch
def case_of(subject: Any) -> Case:
    """The case of whatever `gradient` is given; every kind of subject registers its own."""
    raise InputError(
        f"{type(subject).__name__} cannot be differentiated; give what simulate, kinematic_motion, equilibrium or "
        "assemble returned."
    )


class OfSteps(Case):
    """A motion whose states follow each other by steps that can be differentiated."""

    @abstractmethod
    def sweeps(self, terms: Sequence[Objective], threads: int) -> Sweeps:
        """The derivative of the steps between the states that objectives see."""

    @abstractmethod
    def start_slopes(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        """dq/dp and dv/dp of the first state, (np, n_v) each."""

    @abstractmethod
    def check_backwards(self, parameters: Parameters) -> None:
        """Raise for parameters that an adjoint sweep would not notice that it cannot follow."""

    def pulled(self, terms: Sequence[Objective], by_states: StateGradients) -> tuple[StateGradients, list[Weights]]:
        """Gradients by the states that objectives see, as such by those that steps report; and the weights that
        parameters act with in between."""
        return by_states, []

    def gradient(self, terms: Sequence[Objective], parameters: Parameters, method: str, threads: int) -> FloatArray:
        by_states, explicit = collected(terms, self.samples(terms), parameters)
        by_states, between = self.pulled(terms, by_states)
        sweeps = self.sweeps(terms, threads)
        dq, dv = self.start_slopes(parameters)
        tables = TableGradient(sweeps.system, len(explicit), parameters)
        for weights in between:
            tables.add(weights)
        if method == "direct":
            slopes = sweeps.direct(parameters, dq, dv)
            total = (_over_instants(g, x) for g, x in zip(by_states, slopes, strict=True))
            return np.asarray(explicit + sum(total) + (tables.by_parameters() if between else 0.0))
        self.check_backwards(parameters)
        yq, yv = sweeps.adjoint(by_states, tables.add)
        return np.asarray(explicit + yq @ dq.T + yv @ dv.T + tables.by_parameters())

    def histories(self, parameters: Parameters, threads: int) -> StateSlopes:
        return self.sweeps((), threads).direct(parameters, *self.start_slopes(parameters))


def _over_instants(g: FloatArray, x: FloatArray) -> FloatArray:
    """Sums over instants and coordinates of g (nt, no, n) times x (nt, np, n): (no, np); where few instants count, over
    these alone."""
    count = g.any(axis=(1, 2))
    if not count.all():
        g, x = g[count], x[count]
    return np.tensordot(g, x, ([0, 2], [0, 2]))
