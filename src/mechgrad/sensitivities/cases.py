"""What can be differentiated, under one interface: motions, guided motions, equilibria, assembled states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.states import StateSlopes
from mechgrad.errors import InputError
from mechgrad.kinematics.state import State
from mechgrad.measures.base import StateSamples
from mechgrad.model.model import Model
from mechgrad.sensitivities.accuracy import accuracy_note, expected_accuracy
from mechgrad.sensitivities.continuous import continuous_gradient
from mechgrad.sensitivities.guided import GuidedSubject, check_measures, repeated_guided
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.parameters import Parameters
from mechgrad.sensitivities.repeat import method_that_made, refined, repeated, samples_of
from mechgrad.sensitivities.static import AssembledCase, StaticCase, collected, repeated_state
from mechgrad.sensitivities.table_gradient import TableGradient
from mechgrad.sensitivities.tearing import check_idle_rows
from mechgrad.simulation.guided import GuidedMotion
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.base import Steps
from mechgrad.steps.guided.record import GuidedSteps
from mechgrad.steps.rank import check_rank_of_march
from mechgrad.typing import Array, FloatArray

Subject: TypeAlias = Trajectory | GuidedMotion | Equilibrium | State
"""What `gradient` takes."""

CONTINUOUS = {
    "continuous-adjoint": None,
    "continuous-adjoint-1": "approach-1",
    "continuous-adjoint-2": "approach-2",
}


INTEGRAL_INSTANTS = 4  # in each step of order eight: integrals over them have an order of six
ADJOINT_INSTANTS = 16  # the same for adjoint equations, which are of order two


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


class _OfSteps(Case):
    """A motion whose states follow each other by steps that can be differentiated."""

    @abstractmethod
    def steps(self, terms: Sequence[Objective], threads: int) -> Steps:
        """The steps between the states that objectives see."""

    @abstractmethod
    def start_slopes(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        """dq/dp and dv/dp of the first state, (np, n_v) each."""

    @abstractmethod
    def check_backwards(self, steps: Steps, parameters: Parameters) -> None:
        """Raise for parameters that an adjoint sweep would not notice that it cannot follow."""

    def gradient(self, terms: Sequence[Objective], parameters: Parameters, method: str, threads: int) -> FloatArray:
        by_states, explicit = collected(terms, self.samples(terms), parameters)
        steps = self.steps(terms, threads)
        dq, dv = self.start_slopes(parameters)
        if method == "direct":
            slopes = steps.direct(parameters, dq, dv)
            total = (np.tensordot(g, x, ([0, 2], [0, 2])) for g, x in zip(by_states, slopes, strict=True))
            return np.asarray(explicit + sum(total))
        self.check_backwards(steps, parameters)
        tables = TableGradient(steps.system, len(explicit), parameters)
        yq, yv = steps.adjoint(by_states, tables.add)
        return np.asarray(explicit + yq @ dq.T + yv @ dv.T + tables.by_parameters())

    def histories(self, parameters: Parameters, threads: int) -> StateSlopes:
        return self.steps((), threads).direct(parameters, *self.start_slopes(parameters))


@case_of.register(Trajectory)
class MotionCase(_OfSteps):
    """A motion by `simulate`."""

    def __init__(self, motion: Trajectory) -> None:
        self.motion, self.model = motion, motion.model
        self._seen: Trajectory | None = None

    def seen(self, terms: Sequence[Objective]) -> Trajectory:
        """The motion at the instants that objectives see. Integrals see every step, whatever was stored; a function
        that knows the reported instants only, such as a difference to data at these, is asked there, with a note."""
        if not any(term.over_time for objective in terms for _, term in objective.terms()):
            return self.motion
        if self._seen is None:
            self._seen = refined(self.motion, INTEGRAL_INSTANTS)
            if self._seen is not self.motion:
                try:
                    for term in terms:
                        term.values(samples_of(self._seen))
                except ValueError:  # every InputError is one
                    for term in terms:
                        term.values(samples_of(self.motion))
                    self._seen = self.motion
                    self.note = (
                        f"Integrals see the {len(self.motion.t)} reported instants only, since a function knows no "
                        "others (data as an array? mg.objectives.Samples interpolates them)."
                    )
        return self._seen

    def parameters(self, wrt: str | Sequence[str]) -> Parameters:
        motion = self.motion
        if motion.q.ndim != 2:
            raise InputError("gradient takes the motion of one start; take one row of the batch at a time.")
        if motion.ended != "duration":
            raise InputError(
                f"the motion ended because of: {motion.ended}. Where it ends depends on parameters; simulate a fixed "
                "duration."
            )
        if np.iscomplexobj(motion.q):
            raise InputError("the motion is complex already; gradients belong to real motions.")
        parameters = Parameters(motion, wrt)
        check_idle_rows(parameters, samples_of(motion).states)
        return parameters

    def samples(self, terms: Sequence[Objective]) -> StateSamples:
        return samples_of(self.seen(terms))

    def check_method(self, method: str) -> None:
        if method not in ("direct", "adjoint"):
            self._check_rank(self.motion)

    def _check_rank(self, motion: Trajectory) -> None:
        check_rank_of_march(motion.record, method_that_made(motion).states(motion.record))

    def steps(self, terms: Sequence[Objective], threads: int) -> Steps:
        """The derivative of its steps; some kinds notice themselves where constraints lose their rank."""
        motion = self.seen(terms)
        method = method_that_made(motion)
        steps = method.steps(motion.record, threads)
        if not method.notices_rank:
            self._check_rank(motion)
        return steps

    def start_slopes(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        return parameters.start.slopes(parameters)

    def check_backwards(self, steps: Steps, parameters: Parameters) -> None:
        pass  # starts notice

    def gradient(self, terms: Sequence[Objective], parameters: Parameters, method: str, threads: int) -> FloatArray:
        if method in CONTINUOUS:
            reported_only = self.seen(terms) is self.motion and self.note
            motion = self.motion if reported_only else refined(self.motion, ADJOINT_INSTANTS)
            return continuous_gradient(motion, terms, parameters, CONTINUOUS[method])
        return super().gradient(terms, parameters, method, threads)

    def accuracy(self) -> str:
        text = accuracy_note(self.motion)
        if len(self.motion.events) and self._seen is not None:
            text += (
                f" Integrals are sums over {len(self._seen.t)} instants, and switches are kinks between these: more "
                "samples show what that leaves."
            )
        return f"{text} {self.note}".strip()

    def repeated(self, parameters: Parameters, values: Array) -> Case:
        return MotionCase(repeated(self.motion, parameters, values))

    def differing(self, parameters: Parameters, values: Array) -> Case:
        # steps that end at switches of contacts have a kink there: real differences need steps of their own
        return MotionCase(repeated(self.motion, parameters, values, own_steps=len(self.motion.events) > 0))

    def expected_error(self) -> float:
        return (expected_accuracy(self.motion) or 0.0) if len(self.motion.events) else 0.0


@case_of.register(GuidedMotion)
class _Guided(_OfSteps):
    """A motion by `kinematic_motion`."""

    def __init__(self, motion: GuidedMotion) -> None:
        self.motion, self.model = motion, motion.model
        self.subject = GuidedSubject(motion)

    def parameters(self, wrt: str | Sequence[str]) -> Parameters:
        if np.iscomplexobj(self.motion.q):
            raise InputError("the motion is complex already; gradients belong to real motions.")
        parameters = self.subject.parameters(wrt)
        check_idle_rows(parameters, self.subject.samples().states)
        return parameters

    def samples(self, terms: Sequence[Objective]) -> StateSamples:
        check_measures(terms)
        return self.subject.samples()

    def held(self, parameters: Parameters) -> str:
        driven = ", ".join(self.motion.held)
        return f"held: {f'{driven} as driven, and ' if driven else ''}the drivers' functions; everything else follows."

    def check_followed(self, parameters: Parameters) -> None:
        GuidedSteps(self.motion.record).check(parameters)

    def steps(self, terms: Sequence[Objective], threads: int) -> GuidedSteps:
        return GuidedSteps(self.motion.record)

    def start_slopes(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        nothing = np.zeros((len(parameters), self.model.n_v))
        return nothing, nothing

    def check_backwards(self, steps: Steps, parameters: Parameters) -> None:
        self.check_followed(parameters)

    def repeated(self, parameters: Parameters, values: Array) -> Case:
        return _Guided(repeated_guided(self.motion, parameters, values))


class _OneState(Case):
    one_state = True
    case: StaticCase | AssembledCase

    def parameters(self, wrt: str | Sequence[str]) -> Parameters:
        if np.iscomplexobj(self.case.q):
            raise InputError("the state is complex already; gradients belong to real ones.")
        parameters = Parameters(self.case, wrt)  # type: ignore[arg-type]
        check_idle_rows(parameters, self.samples(()).states)
        return parameters

    def samples(self, terms: Sequence[Objective]) -> StateSamples:
        return self.case.samples(terms)

    def gradient(self, terms: Sequence[Objective], parameters: Parameters, method: str, threads: int) -> FloatArray:
        return self.case.gradient(terms, parameters, method)

    def repeated(self, parameters: Parameters, values: Array) -> Case:
        return case_of(repeated_state(parameters, values))


@case_of.register(Equilibrium)
class _Rest(_OneState):
    """A state by `equilibrium`."""

    def __init__(self, rest: Equilibrium) -> None:
        self.case, self.model = StaticCase(rest), rest.model


@case_of.register(State)
class _Assembled(_OneState):
    """A state by `assemble`."""

    def __init__(self, state: State) -> None:
        self.case, self.model = AssembledCase(state), state.model
