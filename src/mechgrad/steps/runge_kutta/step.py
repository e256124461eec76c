"""Explicit marches: order eight with error control, and order four with fixed steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mechgrad.dynamics.kernels.saddle import no_ranks
from mechgrad.dynamics.kernels.state_accelerations import BAD_NUMBER, CHANGE_POINT, DONE, INTERRUPTED
from mechgrad.dynamics.states import States
from mechgrad.errors import InputError, ToleranceWarning
from mechgrad.model.mechanism import AT_LAWS, L_KIND, LAW, N_LAWS, Mechanism
from mechgrad.model.primitives.rows import CONTACT, FIRST_GROUND, TYRE
from mechgrad.steps.dense import accelerations_at
from mechgrad.steps.failures import REASONS, ended, taken_again
from mechgrad.steps.independent.choices import Choosing, chosen
from mechgrad.steps.independent.kernels.choices import Choice
from mechgrad.steps.record import Record, recorded
from mechgrad.steps.runge_kutta import dop853
from mechgrad.steps.runge_kutta.child_axes import to_parent
from mechgrad.steps.runge_kutta.kernels import adaptive as _adaptive
from mechgrad.steps.runge_kutta.kernels import fixed_steps as _kernels
from mechgrad.steps.runge_kutta.kernels.collocation import BEYOND as BEYOND_TOLERANCE
from mechgrad.steps.runge_kutta.kernels.collocation import FOLD
from mechgrad.steps.runge_kutta.kernels.step_control import AdaptiveReports, ExtendedTableau
from mechgrad.steps.runge_kutta.kernels.step_control import Task as MarchTask
from mechgrad.steps.runge_kutta.kinds import numbers, record_of, with_pivots
from mechgrad.steps.stopped import Nodes, stopped_at, stopped_between
from mechgrad.steps.stops import crossing, located
from mechgrad.steps.task import MOST_STEPS, Task
from mechgrad.typing import Array, FloatArray

DOP853_TABLEAU = ExtendedTableau(A=dop853.A, B=dop853.B, C=dop853.C, D=dop853.D, E3=dop853.E3, E5=dop853.E5)
LOOKS = 8  # at a step of order eight, for the rank of constraints
CHUNK = 4096  # states given at a time
SWITCHES = 1024  # of contacts, that a march first makes room for
WARNS_CALLER = 6  # frames above a warning: the line that called `simulate`
TOLD_ABOVE = 100.0  # times the tolerance, what a step across a fold leaves
DEGREE = 5  # of polynomials between fixed steps: errors of h^5 in velocities, beyond those of order four
BEYOND = 1e100  # velocities [rad/s, m/s] whose squares would soon overflow: an unstable march, no motion


def first_step(task: Task, f: Array) -> float:
    """A cautious first step: a hundredth of the time in which the velocities change by their tolerance-free size."""
    a, _, _, _ = task.system.accelerations(task.q, task.v, np.array([task.t0]), f)
    size, speed, change = (float(np.max(np.abs(x), initial=0.0)) for x in (task.q, task.v, np.nan_to_num(a)))
    guess = 0.01 * min(max(size, 0.1) / max(speed, 1e-6), max(speed, 0.1) / max(change, 1e-6))
    return min(max(guess, 1e-8 * task.duration), 0.1 * task.duration)


def switching(T: Mechanism) -> int | None:
    """1 if some law begins and ceases to push (contacts), else None: kernels leave out what is None."""
    kinds = T.ints[int(T.ints[AT_LAWS]) :][: LAW * int(T.ints[N_LAWS])].reshape(-1, LAW)[:, L_KIND]
    return 1 if bool((np.isin(kinds, (CONTACT, TYRE)) | (kinds >= FIRST_GROUND)).any()) else None


def _marching(
    task: Task, choosing: Choosing | None = None, ranks: FloatArray | None = None,
    dense_steps: list[int] | None = None,
) -> Callable[..., tuple[Any, ...]]:  # fmt: skip
    """The compiled march of order eight, ready for its ends, start and outputs; returns the instants of switches
    last. choosing, ranks: go on from call to call; those of the task, and none so far, if left out. dense_steps: takes
    the numbers of steps that dense matrices took."""
    f, kind = numbers(task)
    T, dtype = record_of(task.system, kind), task.system.dtype
    if choosing is None:
        choosing = task.choosing()
    nothing: Array = np.empty((0, 0), dtype)
    contacts, ranks = switching(T), no_ranks() if ranks is None else ranks
    held = np.empty((0, 2)) if task.held is None else task.held

    def march(
        t0: float, t1: float, h: float, q: Array, v: Array, t_out: Array, Q: Array, V: Array, path: Array = nothing
    ) -> tuple[Any, ...]:
        instants, before = np.empty(0 if contacts is None else SWITCHES), ranks.copy()

        def taken(c: Choice | None) -> tuple[Any, ...]:
            ranks[:] = before
            asked = MarchTask(
                t0=float(t0), t1=float(t1), h=float(h), rtol=float(task.rtol), atol=float(task.atol), most=MOST_STEPS,
                tableau=DOP853_TABLEAU, held=held, t_out=t_out, q0=q, v0=v,
                reports=AdaptiveReports(q=Q, v=V, path=path, instants=instants),
            )  # fmt: skip
            kinds = kind._replace(dependent=c)
            found, dense = with_pivots(
                lambda kinds: _adaptive.adaptive_one(T, f, kinds, contacts, ranks, asked), kinds, ranks
            )
            if dense and dense_steps is not None:
                dense_steps.append(int(found[2]))
            return found

        def enough(found: tuple[Any, ...]) -> bool:
            nonlocal instants
            if found[-1] <= instants.size:
                return True
            instants = np.empty(int(found[-1]))  # once more, with room for all of them
            return False

        *found, count = chosen(choosing, taken, enough)
        return (*found, instants[:count])

    return march


def _first(task: Task) -> float:
    return first_step(task, numbers(task)[0]) if task.step is None else task.step


def adaptive(task: Task) -> Record:
    """The method of order eight."""
    if not task.single:
        raise InputError("scheme 'dop853' takes one start; give a step (scheme 'rk4') for batches.")
    samples = task.instants()
    t = task.t0 + np.linspace(0.0, task.duration, samples)
    Q, V = np.empty((samples, task.q.shape[1]), task.q.dtype), np.empty((samples, task.v.shape[1]), task.q.dtype)
    Q[0], V[0] = task.q[0], task.v[0]
    task.fills(t, Q)
    choosing, ranks = task.choosing(), no_ranks()
    dense: list[int] = []
    h, march = _first(task), _marching(task, choosing, ranks, dense)
    done, steps, rejected, events = 1, 0, 0, np.zeros(0)

    def so_far(count: int, why: str) -> Record:
        _warn_beyond_tolerance(task, ranks)
        counts = {"steps": steps, "rejected": rejected, "events": events, "dense_steps": sum(dense)}
        return recorded(task, t[:count], Q[:count], V[:count], ended=why, **counts, **_memory(choosing, ranks))

    for first, last in [(0, samples - 1)] if task.held is not None else task.parts(samples):
        here = slice(first + 1, last + 1)
        got, reason, s, r, h, at, switches = march(
            t[first], t[last], h, Q[first].copy(), V[first].copy(), t[here], Q[here], V[here]
        )
        done, steps, rejected, events = done + got, steps + s, rejected + r, np.append(events, switches)
        if reason != DONE:
            reason = task.why(reason, choosing, at)
            if reason == CHANGE_POINT:  # noticed when it had been passed
                done = max(1, done - 1)
            hint = "Loosen rtol and atol, or look at what happens there."
            raise ended(task, reason, at, so_far(done, REASONS[reason]), hint, choosing)
        if task.stop is not None:
            crossed = crossing(task.stop, t[first:done], Q[first:done], V[first:done])
            if crossed is not None:
                return _stopped(so_far(done, "duration"), first + crossed)
        task.report(last / (samples - 1), t[last])
    return so_far(samples, "duration")


def _memory(choosing: Choosing | None, ranks: FloatArray | None = None) -> dict[str, Any]:
    """What a record keeps of choices, and of folds that steps went across."""
    fold = None if ranks is None or not np.isfinite(ranks[FOLD]) else float(ranks[FOLD])
    return {"choices": None if choosing is None else choosing.taken(), "fold": fold}


def _warn_beyond_tolerance(task: Task, ranks: FloatArray) -> None:
    """Warn where a step across a fold could not keep the tolerance."""
    if ranks[BEYOND_TOLERANCE] > TOLD_ABOVE:
        warnings.warn(
            f"the motion of {task.model.name!r} passes change points, the first near t = {ranks[FOLD]:.6g} s, where "
            f"rounding leaves about {ranks[BEYOND_TOLERANCE]:.2g} times its tolerance of {task.rtol:.1g}; what follows "
            "has that error.",
            ToleranceWarning,
            stacklevel=WARNS_CALLER,
        )


def _holding(record: Record) -> Task:
    """The task of a march, to be done again with the choices that it made."""
    return replace(record.task, choices=record.choices, hold=True)


def steps_taken(record: Record) -> Array:
    """Time, length and start of every step of a march of order eight (steps, 2 + n_q + n_v), taken again.

    Starts are as the march carries them: q, and v with the angular velocities of balls in child axes.
    """
    task, t = _holding(record), record.t
    path = np.empty((record.steps, 2 + record.q.shape[1] + record.v.shape[1]), task.system.dtype)
    h, march, steps = _first(task), _marching(task), 0
    q, v = record.q[0], record.v[0]
    for first, last in _parts(record):
        Q, V = (np.empty((last - first, x.shape[1]), x.dtype) for x in (record.q, record.v))
        outputs = t[first + 1 : last + 1]
        _, reason, count, _, h, at, _ = march(t[first], t[last], h, q.copy(), v.copy(), outputs, Q, V, path[steps:])
        taken_again(reason, at)
        steps, q, v = steps + count, Q[-1], V[-1]
    return path[:steps]


def _parts(record: Record) -> list[tuple[int, int]]:
    """First and last output of each part of a march, as far as it came: steps end there."""
    count = len(record.t)
    if record.task.held is not None:
        return [(0, count - 1)]
    if record.ended != "duration" or record.task.stop is None:
        return record.task.parts(count)
    return [(first, last) for first, last in record.task.parts(record.task.instants()) if last < count]


_HELD: WeakKeyDictionary[Record, FloatArray] = WeakKeyDictionary()


def held_steps(record: Record) -> FloatArray:
    """`steps_taken` in real numbers, remembered as long as the record lives: repetitions ask for it again and again."""
    if record not in _HELD:
        _HELD[record] = np.array(steps_taken(record).real, order="C")
    return _HELD[record]


def states_at(record: Record, times: FloatArray) -> tuple[Array, Array]:
    """q and v (k, n) of a march of order eight at any instants (sorted) after its start, from its own steps."""
    if not len(times):
        return record.q[:0], record.v[:0]
    held = record.task.held if record.task.held is not None else held_steps(record)[:, :2]
    first, start = 0, (record.q[0], record.v[0])
    known = record.system.dtype is not complex and record.choices is None and record.fold is None
    if known and switching(record.system.recursive) is None:
        # every step can be taken from its own start
        path, n_q = held_steps(record), record.model.n_q
        first = max(0, int(np.searchsorted(path[:, 0], times[0], side="right")) - 1)
        q = path[first : first + 1, 2 : 2 + n_q]
        start = (q[0], to_parent(record.model, q, path[first : first + 1, 2 + n_q :])[0])
    last = max(first + 1, int(np.searchsorted(held[:, 0], times[-1], side="left")))
    end = float(held[last, 0]) if last < len(held) else float(record.t[-1])
    task = replace(_holding(record), held=np.ascontiguousarray(held[first:last]))
    Q, V = (np.empty((len(times), x.shape[1]), x.dtype) for x in (record.q, record.v))
    found = _marching(task)(float(held[first, 0]), end, 1.0, *(x.copy() for x in start), np.array(times, float), Q, V)
    taken_again(found[1], found[5])
    return Q, V


def controlled_states(record: Record) -> Iterator[States]:
    """Positions at several instants of each step of order eight, some at a time; velocities are left out."""
    path = held_steps(record)
    t = (path[:, :1] + path[:, 1:2] * np.arange(LOOKS) / LOOKS).ravel()
    t = t[np.diff(t, prepend=-np.inf) > 1e-9 * (record.t[-1] - record.t[0])]  # steps across switches are no time
    t = np.append(t[1:][t[1:] < record.t[-1]], record.t[-1])  # its last step may end behind
    q, v = states_at(record, t)
    yield from _some_at_a_time(q, v, t)


def _some_at_a_time(q: Array, v: Array, t: Array) -> Iterator[States]:
    for first in range(0, len(t), CHUNK):
        here = slice(first, first + CHUNK)
        yield States(q[here], v[here], np.zeros_like(v[here]), np.zeros((len(t[here]), 0)), t[here])


def reported_at(record: Record, times: FloatArray) -> Record:
    """A march of order eight with other instants reported (sorted, the first is its start), from its own steps: those
    until the last of them."""
    q, v = states_at(record, times[1:])
    q, v = np.concatenate([record.q[:1], q]), np.concatenate([record.v[:1], v])
    kept = {"rejected": record.rejected, "events": record.events, "choices": record.choices, "fold": record.fold}
    if record.system.dtype is complex:
        return recorded(record.task, times, q, v, ended="duration", steps=record.steps, **kept)
    path = held_steps(record)
    count = int(np.searchsorted(path[:, 0], times[-1], side="left"))
    found = recorded(record.task, times, q, v, ended="duration", steps=count, **kept)
    _HELD[found] = path[:count]
    return found


def _stopped(marched: Record, k: int) -> Record:
    """The motion until the stop condition changes sign between outputs k and k + 1, by the interpolant of its steps."""
    stop = marched.task.stop
    assert stop is not None

    def read(t: float) -> tuple[Array, Array]:
        q, v = states_at(marched, np.array([t]))
        return q[0], v[0]

    return stopped_at(marched, k, located(stop, float(marched.t[k]), float(marched.t[k + 1]), read), read)


def _moving(V: Array) -> int:
    """How many instants, the start included, there are before velocities are beyond all motion or no numbers."""
    beyond = ~(np.abs(V[1:]).max(axis=tuple(range(1, V.ndim)), initial=0.0) < BEYOND)
    return int(np.argmax(beyond)) + 1 if beyond.any() else len(V)


class _FixedRun:
    """States (outputs, starts, n) of one march with fixed steps, and how to advance them."""

    def __init__(self, task: Task) -> None:
        if not task.single and task.system.n_constraints:
            raise InputError("a batch of starts needs a mechanism without constraints; call simulate once per start.")
        self.task, (self.f, self.kind) = task, numbers(task)
        self.outputs, self.every, self.h = task.steps()
        self.t = task.t0 + np.linspace(0.0, task.duration, self.outputs)
        self.Q, self.V = (np.empty((self.outputs, *x.shape), task.q.dtype) for x in (task.q, task.v))
        self.Q[0], self.V[0] = task.q, task.v
        task.fills(self.t, self.Q[:, 0])
        self.choosing, self.ranks, self.dense_steps = task.choosing(), no_ranks(), 0

    def march(
        self, h: float, t0: float, Q: Array, V: Array, choosing: Choosing | None, ranks: Array
    ) -> tuple[int, int, int]:
        """The compiled march: (outputs, reason, starts that are done)."""
        task, every, tableau = self.task, self.every, self.task.scheme.tableau
        kernel = _kernels.fixed_one if task.single or task.q.dtype == complex else _kernels.fixed_lanes
        before = ranks.copy()

        def taken(c: Choice | None) -> tuple[int, int, int]:
            ranks[:] = before
            found, dense = with_pivots(
                lambda kind: kernel(record_of(task.system, kind), self.f, kind, tableau, ranks, h, t0, every, Q, V),
                self.kind._replace(dependent=c), ranks,
            )  # fmt: skip
            self.dense_steps += every * (len(Q) - 1) if dense else 0
            return found  # type: ignore[return-value]

        found: tuple[int, int, int] = chosen(choosing, taken)
        return found

    def record(self, count: int, why: str) -> Record:
        """The result of the first `count` outputs."""
        states = _shaped(self.Q[:count], self.V[:count], self.task.single)
        steps = self.every * (count if why in REASONS.values() else count - 1)
        return recorded(
            self.task, self.t[:count], *states, ended=why, steps=steps, rejected=0, dense_steps=self.dense_steps,
            **_memory(self.choosing),
        )  # fmt: skip

    def interrupted(self, starts: int) -> Exception:
        """What ends a batch of which some starts are done."""
        states = _shaped(self.Q[:, :starts], self.V[:, :starts], False)
        steps, why = self.every * (self.outputs - 1), REASONS[INTERRUPTED]
        done = recorded(self.task, self.t, *states, ended=why, steps=steps, rejected=0)
        return ended(self.task, INTERRUPTED, float(self.t[0]), done, "")

    def failed(self, reason: int, end: int, moving: int) -> Exception:
        """What ends a march that got as far as output `end`, and in bounds to `moving`."""
        task, choosing = self.task, self.choosing
        at = float(self.t[min(moving, self.outputs - 1)])
        if choosing is not None:
            at = task.t0 + self.h * (choosing.steps + 1)
        reason = task.why(reason, choosing, at) if moving == end else BAD_NUMBER
        if reason == CHANGE_POINT:  # noticed one step later
            moving = max(1, moving - (2 if self.every == 1 else 1))
        partial = self.record(moving if task.single else 0, REASONS[reason])
        return ended(task, reason, at, partial, "Take a shorter step, or scheme='dop853'.", choosing)

    def stopped(self, k: int) -> Record:
        """The motion until the stop condition changes sign between outputs k and k + 1."""
        marched, every = self.record(k + 2, "duration"), self.every
        q, v = fixed_states(marched, k, every, self.h)
        q, v = np.concatenate([q, marched.q[k + 1 :]]), np.concatenate([v, marched.v[k + 1 :]])
        t = self.t[k] + self.h * np.arange(every + 1)
        return stopped_between(marched, k, Nodes(t, q, v, accelerations_at(self.task, q, v, t)[0]), self.h, DEGREE)


def fixed(task: Task) -> Record:
    """Steps of one length; batches of mechanisms without constraints run in SIMD lanes."""
    if task.step is None:
        raise InputError(f"scheme {task.scheme.key or repr(task.scheme)!r} needs a step [s].")
    run = _FixedRun(task)
    for first, last in task.parts(run.outputs):
        here = slice(first, last + 1)
        got, reason, starts = run.march(run.h, run.t[first], run.Q[here], run.V[here], run.choosing, run.ranks)
        if reason == INTERRUPTED and not task.single:
            raise run.interrupted(starts)
        end = first + got
        moving = _moving(run.V[:end])
        if reason != DONE or moving < end:
            raise run.failed(reason, end, moving)
        if task.stop is not None:
            crossed = crossing(task.stop, run.t[here], run.Q[here, 0], run.V[here, 0])
            if crossed is not None:
                return run.stopped(first + crossed)
        task.report(last / (run.outputs - 1), run.t[last])
    return run.record(run.outputs, "duration")


def _shaped(Q: Array, V: Array, single: bool) -> tuple[Array, Array]:
    """(nt, n) for one start, (batch, nt, n) for many."""
    if single:
        return Q[:, 0], V[:, 0]
    return np.ascontiguousarray(Q.swapaxes(0, 1)), np.ascontiguousarray(V.swapaxes(0, 1))


def fixed_states(record: Record, k: int, count: int, h: float) -> tuple[Array, Array]:
    """States before each of `count` steps from instant k of a march with fixed steps, taken again."""
    task, every = _holding(record), record.steps_per_output
    f, kind = numbers(task)
    Q, V = np.empty((count + 1, 1, record.q.shape[1])), np.empty((count + 1, 1, record.v.shape[1]))
    Q[0], V[0] = record.q[k], record.v[k]
    t0 = float(record.t[k])
    T, arguments = record_of(task.system, kind), (task.scheme.tableau, no_ranks(), h, t0, 1)
    _, reason, _ = chosen(
        task.choosing(k * every),
        lambda c: with_pivots(
            lambda kind: _kernels.fixed_one(T, f, kind, *arguments, Q, V), kind._replace(dependent=c), arguments[1]
        )[0],
    )
    taken_again(reason, t0)
    return Q[:-1, 0], V[:-1, 0]


def states_before(record: Record) -> Iterator[States]:
    """The states before all fixed steps, some at a time."""
    every, h = record.steps_per_output, record.step_length
    outputs = len(record.t) - 1
    if every == 1:
        yield record.states()
        return
    per = max(1, CHUNK // every)
    for first in range(0, outputs, per):
        count = (min(first + per, outputs) - first) * every
        q, v = fixed_states(record, first, count, h)
        yield from _some_at_a_time(q, v, record.t[first] + h * np.arange(count))
