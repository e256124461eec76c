"""What can be differentiated, under one interface: motions, guided motions, equilibria, assembled states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, singledispatch
from typing import TypeAlias

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.states import StateGradients, StateSlopes
from mechgrad.errors import InputError
from mechgrad.kinematics.state import State
from mechgrad.measures.base import StateSamples
from mechgrad.sensitivities.accuracy import accuracy_note, expected_accuracy
from mechgrad.sensitivities.continuous_gradient import continuous_gradient
from mechgrad.sensitivities.differentiable import CONTINUOUS, Case, OfSteps, case_of
from mechgrad.sensitivities.events import Event
from mechgrad.sensitivities.guided_subject import GuidedSubject, check_measures, repeated_guided
from mechgrad.sensitivities.instants import Instants, asked_instants, samples_read
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.repeat import method_that_made, refined, repeated, samples_of
from mechgrad.sensitivities.static import AssembledCase, StaticCase, repeated_state
from mechgrad.sensitivities.tearing import check_idle_rows
from mechgrad.simulation.guided import GuidedMotion
from mechgrad.simulation.saved import SavedMotion
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.base import Sweeps
from mechgrad.steps.dense import Reading, read
from mechgrad.steps.guided.adjoint import GuidedAdjoint
from mechgrad.steps.guided.pieces import GuidedSteps
from mechgrad.steps.guided.tangent import GuidedTangent
from mechgrad.steps.rank import check_rank_of_march
from mechgrad.steps.record import Record
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray

Subject: TypeAlias = Trajectory | SavedMotion | GuidedMotion | Equilibrium | State
"""What `gradient` takes."""


@singledispatch
def motions_of(subject: Subject) -> Sequence[Subject]:
    """What is differentiated one by one: the rows of a batch of starts, or the subject itself."""
    return (subject,)


@motions_of.register(Trajectory)
def _(motion: Trajectory) -> Sequence[Subject]:
    return motion.rows()


@motions_of.register(SavedMotion)
def _(motion: SavedMotion) -> Sequence[Subject]:
    return motion.repeated().rows() if motion.q.ndim == 3 else (motion,)


INTEGRAL_INSTANTS = 4  # in each step of order eight: integrals over them have an order of six
ADJOINT_INSTANTS = 16  # the same for adjoint equations, which are of order two


@case_of.register(Trajectory)
class MotionCase(OfSteps):
    """A motion by `simulate`.

    event : where and why it ended, if a stop condition decided that
    whole : what was marched: the motion, or that with the whole step in which it ended
    based_on : the real case, of one that differs by imaginary parts and ends at an event
    """

    def __init__(self, motion: Trajectory, event: Event | None = None, based_on: MotionCase | None = None) -> None:
        self.motion, self.model, self.based_on = motion, motion.model, based_on
        self.method = method_that_made(motion)
        self.event = Event.of(motion, self.method) if event is None and motion.ended == "stop" else event
        self.whole = motion if self.event is None else self.event.whole
        self._seen: Trajectory | None = None
        self._read: dict[tuple[Objective, ...], tuple[Reading, Instants]] = {}

    def seen(self, terms: Sequence[Objective]) -> Trajectory:
        """The motion at the instants that objectives see. Integrals see every step, whatever was stored; a function
        that knows the reported instants only, such as a difference to data at these, is asked there, with a note."""
        if self.event is not None or not any(term.over_time for objective in terms for _, term in objective.terms()):
            return self.whole
        if self._seen is None:
            self._seen = refined(self.motion, INTEGRAL_INSTANTS)
            if self._seen is not self.motion:
                try:
                    for term in terms:
                        term.values(self._samples(self._seen, terms))
                except ValueError:  # every InputError is one
                    for term in terms:
                        term.values(self._samples(self.motion, terms))
                    self._seen = self.motion
                    self._note_reported_only()
        return self._seen

    def _note_reported_only(self) -> None:
        self.note = (
            f"Integrals see the {len(self.motion.t)} reported instants only, since a function knows no "
            "others (data as an array? mg.objectives.Samples interpolates them)."
        )

    def _reading(self, terms: Sequence[Objective], seen: Trajectory) -> tuple[Reading, Instants] | None:
        """The motion where objectives look, and where that is; None where all of it is reported."""
        key = tuple(terms)
        if key not in self._read:
            if self.event is not None:
                instants = self._ending(terms, self.event)
            else:
                instants = asked_instants(seen, terms)
                if len(instants.t) == instants.grid and self.method.nodes is None:
                    return None
            self._read[key] = read(seen.record, self.method, instants.t, instants.moving), instants
        return self._read[key]

    def _ending(self, terms: Sequence[Objective], event: Event) -> Instants:
        """Where objectives of a motion that ended at an event look."""
        if self.based_on is not None:
            found = self.based_on._reading(terms, self.based_on.whole)
            assert found is not None
            return found[1]
        instants = event.instants(terms)
        if instants.rule == "gauss" or instants.grid != len(self.motion.t):
            try:
                at = samples_read(event.whole, event.read(instants), instants)
                for term in terms:
                    term.values(at)
            except ValueError:  # every InputError is one
                instants = event.instants(terms, every=False)
                self._note_reported_only()
        return instants

    def _samples(self, seen: Trajectory, terms: Sequence[Objective]) -> StateSamples:
        found = self._reading(terms, seen)
        return samples_of(seen) if found is None else samples_read(seen, *found)

    def parameters(self, wrt: str | Sequence[str]) -> Parameters:
        motion = self.motion
        if motion.q.ndim != 2:
            raise InputError(
                "these are motions of many starts; ask gradient([motion], ...) for all, or for one of motion.rows()."
            )
        if motion.ended not in ("duration", "stop"):
            raise InputError(
                f"the motion ended because of: {motion.ended}. Where it ends depends on parameters; simulate a fixed "
                "duration."
            )
        if np.iscomplexobj(motion.q):
            raise InputError("the motion is complex already; gradients belong to real motions.")
        parameters = Parameters(self.whole, wrt)
        check_idle_rows(parameters, samples_of(self.whole).states)
        return parameters

    def samples(self, terms: Sequence[Objective]) -> StateSamples:
        return self._samples(self.seen(terms), terms)

    def values(self, terms: Sequence[Objective]) -> list[Array]:
        found = super().values(terms)
        if self.based_on is None or self.event is None:
            return found
        # the end moves along imaginary parts, too
        condition = self.event.term
        (missed,) = super().values((condition,))
        moved = -missed.imag[0] / self.based_on.condition_rate
        rates = self.based_on.end_rates(terms)
        parts = np.split(rates, np.cumsum([len(x) for x in found])[:-1])
        return [np.asarray(x + 1j * moved * rate) for x, rate in zip(found, parts, strict=True)]

    @cached_property
    def condition_rate(self) -> float:
        """g' of the stop condition that ended the motion."""
        assert self.event is not None
        return self.event.condition_rate()

    def end_rates(self, terms: Sequence[Objective]) -> FloatArray:
        """psi' (no,): how objectives change with the end of the motion alone."""
        assert self.event is not None
        found = self._reading(terms, self.whole)
        assert found is not None
        return self.event.rates(terms, found[1], self.samples(terms))

    def check_method(self, method: str) -> None:
        if method not in ("direct", "adjoint"):
            self._check_rank(self.whole.record)
        if self.event is not None and method in CONTINUOUS:
            raise InputError(f"{method!r} does not follow an end that moves; use 'adjoint' or 'direct'.")

    def _check_rank(self, record: Record) -> None:
        check_rank_of_march(record, self.method.states(record))

    def pulled(self, terms: Sequence[Objective], by_states: StateGradients) -> tuple[StateGradients, list[Weights]]:
        found = self._reading(terms, self.seen(terms))
        return (by_states, []) if found is None else found[0].pulled(by_states)

    def sweeps(self, terms: Sequence[Objective], threads: int) -> Sweeps:
        """The derivative of its steps; some kinds notice themselves where constraints lose their rank."""
        seen = self.seen(terms)
        found = self._reading(terms, seen)
        record = seen.record if found is None else found[0].record
        sweeps = self.method.sweeps(record, threads)
        if not self.method.notices_rank:
            self._check_rank(record)
        return sweeps

    def start_slopes(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        return parameters.start.slopes(parameters)

    def check_backwards(self, parameters: Parameters) -> None:
        pass  # starts notice

    def gradient(self, terms: Sequence[Objective], parameters: Parameters, method: str, threads: int) -> FloatArray:
        if method in CONTINUOUS:
            reported_only = self.seen(terms) is self.motion and self.note
            motion = self.motion if reported_only else refined(self.motion, ADJOINT_INSTANTS)
            return continuous_gradient(motion, terms, parameters, CONTINUOUS[method])
        if self.event is None:
            return super().gradient(terms, parameters, method, threads)
        rate, rates = self.condition_rate, self.end_rates(terms)
        found = super().gradient((*terms, self.event.term), parameters, method, threads)
        return np.asarray(found[:-1] - rates[:, None] * found[-1:] / rate)

    def histories(self, parameters: Parameters, threads: int) -> StateSlopes:
        if self.event is not None:
            raise InputError(
                f"the motion ended at its stop condition, at t = {self.event.end:.6g} s: its last instant moves with "
                "parameters, and the others do not. Ask gradient for AtEnd and EndTime, or simulate a fixed duration."
            )
        found, slopes = self._reading((), self.whole), super().histories(parameters, threads)
        return slopes if found is None else found[0].carried(slopes)

    def accuracy(self) -> str:
        text = accuracy_note(self.motion)
        if self.event is not None:
            text += f" The end, at t = {self.event.end:.6g} s, moves with the stop condition."
        if len(self.motion.events) and self._seen is not None:
            text += (
                f" Integrals are sums over {len(self._seen.t)} instants, and switches are kinks between these: more "
                "samples show what that leaves."
            )
        return f"{text} {self.note}".strip()

    def repeated(self, parameters: Parameters, values: Array) -> Case:
        if self.event is None:
            return MotionCase(repeated(self.motion, parameters, values))
        if np.iscomplexobj(values):
            whole = repeated(self.whole, parameters, values)
            return MotionCase(whole, self.event.on(whole), self)
        return self._ended_anew(parameters, values, own_steps=False)

    def _ended_anew(self, parameters: Parameters, values: Array, *, own_steps: bool) -> MotionCase:
        """The motion with other numbers, its end found anew; steps that were controlled are held."""
        held = self.motion.scheme.chooses_steps or self.whole.record.held is not None
        longer = own_steps or not held
        motion = Trajectory.of(self.whole.record, self.motion.recipe) if longer else self.whole
        found = repeated(motion, parameters, values, own_steps=own_steps, stops=True)
        if found.ended != "stop":
            raise InputError(
                f"with other numbers the motion does not meet its stop condition until t = {found.t[-1]:.6g} s."
            )
        return MotionCase(found)

    def differing(self, parameters: Parameters, values: Array) -> Case:
        # steps that end at switches of contacts have a kink there: real differences need steps of their own
        own = len(self.motion.events) > 0
        if self.event is not None:
            return self._ended_anew(parameters, values, own_steps=own)
        return MotionCase(repeated(self.motion, parameters, values, own_steps=own))

    def expected_error(self) -> float:
        return (expected_accuracy(self.motion) or 0.0) if len(self.motion.events) else 0.0


@case_of.register(SavedMotion)
def _saved(motion: SavedMotion) -> Case:
    """A motion of a file is differentiated by the steps of its recipe, taken once more."""
    return MotionCase(motion.repeated())


@case_of.register(GuidedMotion)
class _Guided(OfSteps):
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

    def sweeps(self, terms: Sequence[Objective], threads: int) -> Sweeps:
        return Sweeps(GuidedSteps(self.motion.record), GuidedTangent, GuidedAdjoint)

    def start_slopes(self, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
        nothing = np.zeros((len(parameters), self.model.n_v))
        return nothing, nothing

    def check_backwards(self, parameters: Parameters) -> None:
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
