"""Values and gradients of all functions of a problem at one point: each motion made once, each failure with its reason.

answer(question, values)     one scenario: a pure function of data, which may run anywhere
Evaluator.at(x)              all scenarios: remembered, logged, and a reason in place of a value where there is none
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from mechgrad.errors import InputError, MechgradError
from mechgrad.optimization.design.design_space import DesignSpace
from mechgrad.optimization.design.evaluation_log import EvaluationLog
from mechgrad.optimization.design.goals import Asked
from mechgrad.optimization.design.scenario import Scenario
from mechgrad.sensitivities.differentiable import case_of
from mechgrad.sensitivities.gradient import gradient
from mechgrad.sensitivities.objectives import Objective
from mechgrad.simulation.repeats import Repeat
from mechgrad.typing import FloatArray

MOTIONS_KEPT = 4  # points whose motions wait for a gradient to be asked for


class Question(NamedTuple):
    """What is asked of one scenario: how it is made, its objectives, and what they are differentiated by.

    counts : how many values each objective has, if that is known
    threads : of its gradient, 0 for all cores; one where other work is done at the same time
    """

    repeat: Repeat
    objectives: tuple[Objective, ...]
    wrt: tuple[str, ...]
    counts: tuple[int, ...] = ()
    threads: int = 0


class Answer(NamedTuple):
    """Values (k,), how many of them belong to each objective, gradient (k, np) if it was asked for, and the motion."""

    values: FloatArray
    counts: tuple[int, ...]
    gradient: FloatArray | None
    motion: Any


def answer(
    question: Question, values: Mapping[str, float], *, with_gradient: bool = True, motion: Any = None
) -> Answer:
    """One scenario with other numbers; `motion` in place of making it again.

    The gradient is direct or adjoint by what is cheaper: as many sweeps as there are variables, or values.
    """
    if not question.objectives:
        return Answer(np.zeros(0), (), np.zeros((0, len(question.wrt))), None)
    if motion is None:
        motion = question.repeat.with_values(values).made()
    slopes, counts = None, question.counts
    if with_gradient and question.wrt and counts:
        found = gradient(motion, question.objectives, question.wrt, threads=question.threads)
        numbers, slopes = found.values, found.array
    else:
        each = case_of(motion).values(question.objectives)
        numbers, counts = np.concatenate(each), tuple(len(x) for x in each)
    if not np.isfinite(numbers).all():
        raise InputError(_where_not_finite(question.objectives, motion))
    if with_gradient and slopes is None:
        slopes = _slopes(question, motion, sum(counts))
    return Answer(numbers.real.astype(float), counts, slopes, motion)


def _slopes(question: Question, motion: Any, count: int) -> FloatArray:
    """The gradient of a motion, (count, np)."""
    if not question.wrt:
        return np.zeros((count, 0))
    found: FloatArray = gradient(motion, question.objectives, question.wrt, threads=question.threads).array
    return found


Answers: TypeAlias = Callable[
    [Sequence[Question], Sequence[Mapping[str, float]], bool, Sequence[Any]], list[Answer | MechgradError]
]
"""(questions, values of each, with_gradient, a motion of each or None) -> what each said, up to the first failure.
Gradients may come unasked, from where motions cannot be kept."""


class Stretch(NamedTuple):
    """Evaluations that a search makes next, made elsewhere, and how many values each of `Evaluator.asked` has."""

    counts: tuple[int, ...]
    evaluations: list[Evaluation]


Ahead: TypeAlias = Callable[["Evaluator"], Stretch | None]
"""An evaluator that lacks a point -> what its search makes next, elsewhere; None where nothing came of it."""


class WorkError(MechgradError, RuntimeError):
    """Work that cannot be done where it was sent, for a reason that is no design's fault."""


def in_turn(
    questions: Sequence[Question], values: Sequence[Mapping[str, float]], with_gradient: bool, motions: Sequence[Any]
) -> list[Answer | MechgradError]:
    """Scenarios one after the other, in this process; the first failure is the last answer."""
    found: list[Answer | MechgradError] = []
    for question, numbers, motion in zip(questions, values, motions, strict=True):
        try:
            found.append(answer(question, numbers, with_gradient=with_gradient, motion=motion))
        except MechgradError as error:
            return [*found, error]
    return found


def _where_not_finite(objectives: Sequence[Objective], motion: Any) -> str:
    """Which measure is no number, and when."""
    at = case_of(motion).samples(objectives)
    for term in (term for objective in objectives for _, term in objective.terms()):
        for measure in term.measures:
            y = np.asarray(measure.values(at)).reshape(len(at.states.t), -1)
            bad = np.flatnonzero(~np.isfinite(y).all(axis=1))
            if len(bad):
                return f"{measure!r} is {y[bad[0]].tolist()} at t = {at.states.t[bad[0]]:.6g} s."
    return f"an objective is not finite, although its measures are: {list(objectives)!r}."


def failure_of(error: BaseException) -> str:
    """A failure in a line: its kind, what it says, and where that was."""
    kind = getattr(error, "kind", type(error).__name__)
    return ", ".join((f"{kind}: {error}", *getattr(error, "__notes__", ())))


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """What is known at one point.

    Attributes
    ----------
    number : in the order in which points were asked for, from 1
    x : (n,) the variables
    values : (k,) of all functions; empty where there are none
    gradient : (k, n) or None while nobody asked
    seconds : what it took
    failure : why there are no values; empty where there are
    replayed : whether it came from the log of an earlier run
    """

    number: int
    x: FloatArray
    values: FloatArray
    gradient: FloatArray | None
    seconds: float
    failure: str = ""
    replayed: bool = False


@final
class Evaluator:
    """All functions of a problem at any point, each point once.

    space, scenarios, asked : what is evaluated
    answers : who computes scenarios, and where
    threads : of each gradient; by default all cores if there is one scenario, and one if there are several
    ahead : who runs ahead of the search on `course`, if anybody does
    course : the way of the search that asks, as data (`search.Course`)
    counts : how many values each of `asked` has; known after the first point
    history : all points in their order
    """

    def __init__(
        self,
        space: DesignSpace,
        scenarios: Sequence[Scenario],
        asked: Sequence[Asked],
        log: EvaluationLog | None = None,
        known: Sequence[Evaluation] = (),
        answers: Answers = in_turn,
        threads: int | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        self.ahead = ahead
        self.course: Any = None
        self.answers = answers
        self.threads = (0 if len(scenarios) == 1 else 1) if threads is None else threads
        self.space, self.scenarios, self.asked, self.log = space, tuple(scenarios), tuple(asked), log
        self.counts: tuple[int, ...] = ()
        self.questions = [self._question(i) for i in range(len(self.scenarios))]
        self.simulations = 0
        self._found: dict[bytes, Evaluation] = {}
        self._known = {e.x.tobytes(): e for e in known}
        self._motions: dict[bytes, list[Any]] = {}

    @property
    def history(self) -> tuple[Evaluation, ...]:
        """Every point that was asked for."""
        return tuple(self._found.values())

    def _question(self, scenario: int) -> Question:
        objectives = tuple(a.objective for a in self.asked if a.scenario == scenario)
        wrt = tuple(p for p in self.space.paths[scenario] if p)
        return Question(self.scenarios[scenario].repeat, objectives, wrt, (), self.threads)

    def at(self, x: FloatArray, *, with_gradient: bool = False, first: bool = False) -> Evaluation:
        """Values at a point, and derivatives if they are asked for.

        first : errors are raised; later on, a point at which something cannot be computed is a bad one with a reason
        """
        key = np.ascontiguousarray(x, float).tobytes()
        known = self._remembered(key)
        if known is None and self.ahead is not None and self.course is not None:
            self._take_ahead(key, self.ahead(self))
            known = self._remembered(key)
        if known is not None and (known.failure or known.gradient is not None or not with_gradient):
            return known
        begin = time.perf_counter()
        number = len(self._found) + 1 if known is None else known.number
        try:
            values, slopes = self._computed(np.array(x, float), key, with_gradient)
            found = Evaluation(number, np.array(x, float), values, slopes, 0.0)
        except WorkError:
            raise
        except MechgradError as error:
            if first:
                raise
            found = Evaluation(number, np.array(x, float), np.zeros(0), None, 0.0, failure_of(error))
        found = replace(found, seconds=time.perf_counter() - begin + (0.0 if known is None else known.seconds))
        self._found[key] = found
        if self.log is not None:
            self.log.append(found)
        return found

    def _remembered(self, key: bytes) -> Evaluation | None:
        """What is known at a point, from this run or from an earlier one."""
        if key not in self._found and key in self._known:
            self._found[key] = replace(self._known[key], number=len(self._found) + 1)
        return self._found.get(key)

    def _take_ahead(self, key: bytes, made: Stretch | None) -> None:
        """What was made elsewhere becomes known; where it does not have the point, nobody runs ahead any more."""
        points = {} if made is None else {e.x.tobytes(): e for e in made.evaluations}
        if made is None or key not in points:
            self.ahead = None
            return
        if not self.counts:
            self.expect(made.counts)
        self._known |= points
        for e in points.values():
            self.simulations += 0 if e.failure else len(self.scenarios)
            if self.log is not None:
                self.log.append(e)

    def _computed(self, x: FloatArray, key: bytes, with_gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        motions = self._motions.get(key, [None] * len(self.scenarios))
        values = [self.space.values(i, x) for i in range(len(self.scenarios))]
        answers: list[Answer] = []
        given = self.answers(self.questions, values, with_gradient, motions)
        for scenario, motion, found in zip(self.scenarios, motions, given, strict=False):
            if isinstance(found, MechgradError):
                if len(self.scenarios) > 1:
                    found.add_note(f"in scenario {scenario.name!r}")
                raise found
            self.simulations += motion is None
            answers.append(found)
        self._remember(key, [found.motion for found in answers])
        return self._collected(answers, all(found.gradient is not None for found in answers))

    def _collected(self, answers: Sequence[Answer], with_gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        """Values and gradients of all scenarios in the order of `asked`."""
        left = [iter(found.counts) for found in answers]
        counts = tuple(next(left[a.scenario]) for a in self.asked)
        if any(len(found.values) != sum(found.counts) for found in answers) or (self.counts and counts != self.counts):
            raise InputError(
                f"the objectives have {sum(len(x.values) for x in answers)} values here, and had {sum(self.counts)} at "
                "the start: how many must not depend on the design. Ask for instants (t of AtTimes) that every motion "
                "has."
            )
        if not self.counts:
            self.expect(counts)
        starts = [0] * len(answers)
        values, slopes = [], []
        for a, count in zip(self.asked, counts, strict=True):
            rows = slice(starts[a.scenario], starts[a.scenario] + count)
            starts[a.scenario] += count
            values.append(answers[a.scenario].values[rows])
            if with_gradient:
                found = answers[a.scenario].gradient
                assert found is not None
                wide = np.zeros((count, len(self.space.names)))
                wide[:, [k for k, path in enumerate(self.space.paths[a.scenario]) if path]] = found[rows]
                slopes.append(wide)
        return np.concatenate(values), np.concatenate(slopes) if with_gradient else None

    def _remember(self, key: bytes, motions: list[Any]) -> None:
        self._motions.pop(key, None)
        self._motions[key] = motions
        while len(self._motions) > MOTIONS_KEPT:
            self._motions.pop(next(iter(self._motions)))

    def expect(self, counts: tuple[int, ...]) -> None:
        """How many values each of `asked` has, if that is known before anything is computed."""
        self.counts = counts
        for i, question in enumerate(self.questions if counts else ()):
            own = tuple(count for count, a in zip(counts, self.asked, strict=True) if a.scenario == i)
            self.questions[i] = question._replace(counts=own)

    def forget(self) -> None:
        """Let go of all motions; they are made again where they are asked for."""
        self._motions.clear()

    def motions(self, x: FloatArray) -> tuple[Any, ...]:
        """The motions of all scenarios at a point."""
        key = np.ascontiguousarray(x, float).tobytes()
        kept = self._motions.get(key, [None] * len(self.questions))
        made = [
            q.repeat.with_values(self.space.values(i, x)).made() if motion is None else motion
            for i, (q, motion) in enumerate(zip(self.questions, kept, strict=True))
        ]
        self._remember(key, made)
        return tuple(made)
