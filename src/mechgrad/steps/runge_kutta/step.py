"""Explicit marches: order eight with error control, and order four with fixed steps."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mechgrad.dynamics.kernels.accelerations import BAD_NUMBER, INTERRUPTED, TOO_SMALL
from mechgrad.dynamics.kernels.saddle import no_ranks
from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.errors import InputError, ToleranceWarning
from mechgrad.model.mechanism import AT_LAWS, L_KIND, LAW, N_LAWS, Mechanism
from mechgrad.model.rows import CONTACT, TYRE
from mechgrad.simulation.trajectory import Trace, Trajectory
from mechgrad.steps.matrix_r.choices import Choosing, chosen
from mechgrad.steps.matrix_r.independent import start_choices
from mechgrad.steps.matrix_r.kernels.choice import Choice
from mechgrad.steps.runge_kutta import dop853
from mechgrad.steps.runge_kutta.kernels import adaptive as _adaptive
from mechgrad.steps.runge_kutta.kernels import fixed as _kernels
from mechgrad.steps.runge_kutta.kernels.collocation import BEYOND as BEYOND_TOLERANCE
from mechgrad.steps.runge_kutta.kernels.collocation import FOLD
from mechgrad.steps.runge_kutta.kernels.progress import AdaptiveReports, ExtendedTableau, Task
from mechgrad.steps.runge_kutta.kernels.stages import Tableau
from mechgrad.steps.task import CHANGE_POINT, DONE, MOST_STEPS, REASONS, Job, bisected, crossing, taken_again
from mechgrad.typing import Array, FloatArray

RK4_A = np.zeros((4, 4))
RK4_A[1, 0], RK4_A[2, 1], RK4_A[3, 2] = 0.5, 0.5, 1.0
RK4_B = np.array([1, 2, 2, 1]) / 6.0
RK4_C = np.array([0.0, 0.5, 0.5, 1.0])
for _table in (RK4_A, RK4_B, RK4_C):
    _table.setflags(write=False)
RK4_TABLEAU = Tableau(A=RK4_A, B=RK4_B, C=RK4_C)
DOP853_TABLEAU = ExtendedTableau(A=dop853.A, B=dop853.B, C=dop853.C, D=dop853.D, E3=dop853.E3, E5=dop853.E5)


SWITCHES = 1024  # of contacts, that a march first makes room for
TOLD_ABOVE = 100.0  # times the tolerance, what a step across a fold leaves
BEYOND = 1e100  # velocities [rad/s, m/s] whose squares would soon overflow: an unstable march, no motion


class Kind(NamedTuple):
    """What a march does about constraints, each 1 or None: kernels leave out what is None.

    trees : there are none;    loops : accelerations and multipliers from a saddle system
    settles : the state is corrected after each step, by projection (projected) or by solving for the dependent
    coordinates, in each stage too (dependent; marches have the `Choice` of them in its place)
    """

    trees: int | None
    loops: int | None
    settles: int | None
    projected: int | None
    dependent: Choice | int | None


TREE = Kind(1, None, None, None, None)
KINDS = (Kind(None, 1, None, None, None), Kind(None, 1, 1, 1, None), Kind(None, 1, 1, None, 1))


def numbers(job: Job) -> tuple[Array, Kind]:
    """Numbers of the acceleration problem, and what follows a step."""
    explicit = job.formulation.explicit()
    if explicit is None:
        raise InputError(f"{job.formulation.name} has no explicit method; choose a scheme of the Newmark family.")
    return np.array(explicit[:4], float), KINDS[explicit.after] if job.system.n_constraints else TREE


def first_step(job: Job, f: Array) -> float:
    """A cautious first step: a hundredth of the time in which the velocities change by their tolerance-free size."""
    a, _, _, _ = job.system.accelerations(job.q, job.v, np.array([job.t0]), f)
    size, speed, change = (float(np.max(np.abs(x), initial=0.0)) for x in (job.q, job.v, np.nan_to_num(a)))
    guess = 0.01 * min(max(size, 0.1) / max(speed, 1e-6), max(speed, 0.1) / max(change, 1e-6))
    return min(max(guess, 1e-8 * job.duration), 0.1 * job.duration)


def switching(T: Mechanism) -> int | None:
    """1 if some law begins and ceases to push (contacts), else None: kernels leave out what is None."""
    kinds = T.ints[int(T.ints[AT_LAWS]) :][: LAW * int(T.ints[N_LAWS])].reshape(-1, LAW)[:, L_KIND]
    return 1 if bool(np.isin(kinds, (CONTACT, TYRE)).any()) else None


def _marching(
    job: Job, choosing: Choosing | None = None, ranks: FloatArray | None = None
) -> Callable[..., tuple[Any, ...]]:
    """The compiled march of order eight, ready for its ends, start and outputs; returns the instants of switches
    last. choosing, ranks: go on from call to call; those of the job, and none so far, if left out."""
    f, kind = numbers(job)
    T, dtype = job.system.recursive, job.system.dtype
    if choosing is None:
        choosing = job.choosing()
    nothing: Array = np.empty((0, 0), dtype)
    contacts, ranks = switching(T), no_ranks() if ranks is None else ranks
    held = np.empty((0, 2)) if job.held is None else job.held

    def march(
        t0: float, t1: float, h: float, q: Array, v: Array, t_out: Array, Q: Array, V: Array, path: Array = nothing
    ) -> tuple[Any, ...]:
        instants, before = np.empty(0 if contacts is None else SWITCHES), ranks.copy()

        def taken(c: Choice | None) -> tuple[Any, ...]:
            ranks[:] = before
            task = Task(
                t0=float(t0), t1=float(t1), h=float(h), rtol=float(job.rtol), atol=float(job.atol), most=MOST_STEPS,
                tableau=DOP853_TABLEAU, held=held, t_out=t_out, q0=q, v0=v,
                reports=AdaptiveReports(q=Q, v=V, path=path, instants=instants),
            )  # fmt: skip
            kinds = kind._replace(dependent=c)
            return _adaptive.adaptive_one(T, f, kinds, contacts, ranks, task)  # type: ignore[no-any-return]

        def enough(found: tuple[Any, ...]) -> bool:
            nonlocal instants
            if found[-1] <= instants.size:
                return True
            instants = np.empty(int(found[-1]))  # once more, with room for all of them
            return False

        *found, count = chosen(choosing, taken, enough)
        return (*found, instants[:count])

    return march


def _first(job: Job) -> float:
    return first_step(job, numbers(job)[0]) if job.step is None else job.step


def adaptive(job: Job) -> Trajectory:
    """The method of order eight."""
    if not job.single:
        raise InputError("scheme 'dop853' takes one start; give a step (scheme 'rk4') for batches.")
    samples = job.instants()
    t = job.t0 + np.linspace(0.0, job.duration, samples)
    Q, V = np.empty((samples, job.q.shape[1]), job.q.dtype), np.empty((samples, job.v.shape[1]), job.q.dtype)
    Q[0], V[0] = job.q[0], job.v[0]
    choosing = job.choosing()
    ranks = no_ranks()
    h, march = _first(job), _marching(job, choosing, ranks)
    done, steps, rejected, events = 1, 0, 0, np.zeros(0)

    for first, last in job.parts(samples):
        here = slice(first + 1, last + 1)
        got, reason, s, r, h, at, switches = march(
            t[first], t[last], h, Q[first].copy(), V[first].copy(), t[here], Q[here], V[here]
        )
        done, steps, rejected, events = done + got, steps + s, rejected + r, np.append(events, switches)
        if reason != DONE:
            _tell(job, ranks)
            reason = job.why(reason, choosing, at)
            if reason == CHANGE_POINT:  # noticed when it had been passed
                done = max(1, done - 1)
            partial = job.trajectory(
                t[:done], Q[:done], V[:done], steps=steps, rejected=rejected, ended=REASONS[reason], events=events,
                trace=_trace(job, choosing, ranks),
            )  # fmt: skip
            hint = "Loosen rtol and atol, or look at what happens there."
            raise job.failed(reason, at, partial, hint, choosing)
        if job.stop is not None:
            crossed = crossing(job.stop, t[first:done], Q[first:done], V[first:done])
            if crossed is not None:
                k = first + crossed
                _tell(job, ranks)
                trace = _trace(job, choosing, ranks)
                return stopped(job, t, Q, V, k, _from(job, Q[k], t[k]), steps, rejected, events, trace)
        job.report(last / (samples - 1), t[last])
    _tell(job, ranks)
    return job.trajectory(
        t, Q, V, steps=steps, rejected=rejected, ended="duration", events=events, trace=_trace(job, choosing, ranks)
    )


def _trace(job: Job, choosing: Choosing | None, ranks: FloatArray | None = None) -> Trace:
    fold = None if ranks is None or not np.isfinite(ranks[FOLD]) else float(ranks[FOLD])
    return Trace(job, choices=None if choosing is None else choosing.taken(), fold=fold)


def _tell(job: Job, ranks: FloatArray) -> None:
    """Warn where a step across a fold could not keep the tolerance."""
    if ranks[BEYOND_TOLERANCE] > TOLD_ABOVE:
        warnings.warn(
            f"the motion of {job.system.model.name!r} passes change points, the first near t = {ranks[FOLD]:.6g} s, "
            f"where rounding leaves about {ranks[BEYOND_TOLERANCE]:.2g} times its tolerance of {job.rtol:.1g}; what "
            "follows has that error.",
            ToleranceWarning,
            stacklevel=5,  # that of the caller of simulate
        )


def _from(job: Job, q: Array, t: float) -> Callable[..., tuple[Any, ...]]:
    """A march of order eight that begins anew at every call, in the state q."""
    if isinstance(job.formulation, MatrixR):
        job = replace(job, choices=start_choices(job.system, job.formulation, q, t))
    return lambda *arguments: _marching(job)(*arguments)


def _holding(motion: Trajectory) -> Job:
    """The task of a motion, to be done again with the choices that it made."""
    job: Job = motion.trace.job
    return replace(job, choices=motion.trace.choices, hold=True)


def steps_taken(motion: Trajectory) -> Array:
    """Time, length and start of every step of a motion of order eight (steps, 2 + n_q + n_v), taken again.

    Starts are as the march carries them: q, and v with the angular velocities of balls in child axes.
    """
    job, t = _holding(motion), motion.t
    path = np.empty((motion.steps, 2 + motion.q.shape[1] + motion.v.shape[1]), job.system.dtype)
    h, march, steps = _first(job), _marching(job), 0
    q, v = motion.q[0], motion.v[0]
    for first, last in job.parts(len(t)):
        Q, V = (np.empty((last - first, x.shape[1]), x.dtype) for x in (motion.q, motion.v))
        outputs = t[first + 1 : last + 1]
        _, reason, count, _, h, at, _ = march(t[first], t[last], h, q.copy(), v.copy(), outputs, Q, V, path[steps:])
        taken_again(reason, at)
        steps, q, v = steps + count, Q[-1], V[-1]
    return path[:steps]


_HELD: WeakKeyDictionary[Trajectory, FloatArray] = WeakKeyDictionary()


def held_steps(motion: Trajectory) -> FloatArray:
    """`steps_taken` in real numbers, remembered as long as the motion lives: repetitions ask for it again and again."""
    if motion not in _HELD:
        _HELD[motion] = np.array(steps_taken(motion).real, order="C")
    return _HELD[motion]


def states_at(motion: Trajectory, times: FloatArray) -> tuple[Array, Array]:
    """q and v (k, n) of a motion of order eight at any instants (sorted) after its start, from its own steps."""
    job = replace(_holding(motion), held=held_steps(motion)[:, :2].copy())
    Q, V = (np.empty((len(times), x.shape[1]), x.dtype) for x in (motion.q, motion.v))
    start = motion.q[0].copy(), motion.v[0].copy()
    found = _marching(job)(float(motion.t[0]), float(motion.t[-1]), 1.0, *start, np.array(times, float), Q, V)
    taken_again(found[1], found[5])
    return Q, V


def stopped(
    job: Job,
    t: Array,
    Q: Array,
    V: Array,
    k: int,
    march: object,
    steps: int,
    rejected: int,
    events: FloatArray,
    trace: Trace,
) -> Trajectory:
    """The motion until the stop condition changes sign between instants k and k + 1."""
    assert job.stop is not None
    assert callable(march)

    def advance(time: float) -> tuple[Array, Array]:
        q, v = Q[k : k + 1].copy(), V[k : k + 1].copy()
        found = march(t[k], time, time - t[k], Q[k].copy(), V[k].copy(), np.array([time]), q, v)
        if found is not None and found[1] != TOO_SMALL:  # for a step: the state is that of instant k
            taken_again(found[1], time)
        return q[0], v[0]

    low, state = bisected(job.stop, t, Q, V, k, advance)
    times, q, v = t[: k + 1], Q[: k + 1], V[: k + 1]
    if state is not None:
        times, q, v = np.append(times, low), np.vstack([q, state[0]]), np.vstack([v, state[1]])
    events = events[events <= times[-1]]
    return job.trajectory(times, q, v, steps=steps, rejected=rejected, ended="stop", events=events, trace=trace)


def _moving(V: Array) -> int:
    """How many instants, the start included, there are before velocities are beyond all motion or no numbers."""
    beyond = ~(np.abs(V[1:]).max(axis=tuple(range(1, V.ndim)), initial=0.0) < BEYOND)
    return int(np.argmax(beyond)) + 1 if beyond.any() else len(V)


def fixed(job: Job) -> Trajectory:
    """The classical method of order four; batches of mechanisms without constraints run in SIMD lanes."""
    f, kind = numbers(job)
    outputs, every, h = job.steps()
    t = job.t0 + np.linspace(0.0, job.duration, outputs)
    q, v = job.q, job.v
    T = job.system.recursive
    if not job.single and job.system.n_constraints:
        raise InputError("a batch of starts needs a mechanism without constraints; call simulate once per start.")
    Q = np.empty((outputs, len(q), q.shape[1]), q.dtype)
    V = np.empty((outputs, len(q), v.shape[1]), q.dtype)

    choosing, so_far = job.choosing(), no_ranks()

    def kernel(
        h: float, t0: float, Q: Array, V: Array, choosing: Choosing | None, ranks: Array
    ) -> tuple[int, int, int]:
        march = _kernels.fixed_one if job.single or q.dtype == complex else _kernels.fixed_lanes
        before = ranks.copy()

        def taken(c: Choice | None) -> tuple[int, int, int]:
            ranks[:] = before
            kinds = kind._replace(dependent=c)
            return march(T, f, kinds, RK4_TABLEAU, ranks, h, t0, every, Q, V)  # type: ignore[no-any-return]

        found: tuple[int, int, int] = chosen(choosing, taken)
        return found

    Q[0], V[0] = q, v
    for first, last in job.parts(outputs):
        here = slice(first, last + 1)
        got, reason, starts = kernel(h, t[first], Q[here], V[here], choosing, so_far)
        if reason == INTERRUPTED and not job.single:
            done = job.trajectory(
                t, *_shaped(Q[:, :starts], V[:, :starts], False), steps=every * (outputs - 1), rejected=0,
                ended=REASONS[reason],
            )  # fmt: skip
            raise job.failed(reason, float(t[0]), done, "")
        end = first + got
        moving = _moving(V[:end])
        if reason != DONE or moving < end:
            ends = float(t[min(moving, outputs - 1)]) if choosing is None else job.t0 + h * (choosing.steps + 1)
            reason = job.why(reason, choosing, ends) if moving == end else BAD_NUMBER
            if reason == CHANGE_POINT:  # noticed one step later
                moving = max(1, moving - (2 if every == 1 else 1))
            whole = moving if job.single else 0
            partial = job.trajectory(
                t[:whole], *_shaped(Q[:whole], V[:whole], job.single), steps=whole * every, rejected=0,
                ended=REASONS[reason], trace=_trace(job, choosing),
            )  # fmt: skip
            raise job.failed(reason, ends, partial, "Take a shorter step, or scheme='dop853'.", choosing)
        if job.stop is not None:
            crossed = crossing(job.stop, t[here], Q[here, 0], V[here, 0])
            if crossed is not None:
                k = first + crossed
                held = replace(job, choices=_trace(job, choosing).choices, hold=True)
                again = functools.partial(held.choosing, k * every)

                def march(
                    t0: float, t1: float, _: float, q: Array, v: Array, t_out: Array, Q1: Array, V1: Array, choose: Any
                ) -> None:
                    two_q, two_v = np.stack([q, q])[:, None], np.stack([v, v])[:, None]
                    taken_again(kernel((t1 - t0) / every, t0, two_q, two_v, choose(), no_ranks())[1], t1)
                    Q1[0], V1[0] = two_q[1, 0], two_v[1, 0]

                return stopped(
                    job,
                    t,
                    Q[:, 0],
                    V[:, 0],
                    k,
                    functools.partial(march, choose=again),
                    k * every,
                    0,
                    np.zeros(0),
                    _trace(job, choosing),
                )
        job.report(last / (outputs - 1), t[last])
    states = _shaped(Q, V, job.single)
    trace = _trace(job, choosing)
    return job.trajectory(t, *states, steps=every * (outputs - 1), rejected=0, ended="duration", trace=trace)


def _shaped(Q: Array, V: Array, single: bool) -> tuple[Array, Array]:
    """(nt, n) for one start, (batch, nt, n) for many."""
    if single:
        return Q[:, 0], V[:, 0]
    return np.ascontiguousarray(Q.swapaxes(0, 1)), np.ascontiguousarray(V.swapaxes(0, 1))


def fixed_states(motion: Trajectory, k: int, count: int, h: float) -> tuple[Array, Array]:
    """States before each of `count` steps from instant k of a motion with fixed steps, taken again."""
    job, every = _holding(motion), motion.steps // (len(motion.t) - 1)
    f, kind = numbers(job)
    Q, V = np.empty((count + 1, 1, motion.q.shape[1])), np.empty((count + 1, 1, motion.v.shape[1]))
    Q[0], V[0] = motion.q[k], motion.v[k]
    t0 = float(motion.t[k])
    T, arguments = job.system.recursive, (RK4_TABLEAU, no_ranks(), h, t0, 1)
    _, reason, _ = chosen(
        job.choosing(k * every), lambda c: _kernels.fixed_one(T, f, kind._replace(dependent=c), *arguments, Q, V)
    )
    taken_again(reason, t0)
    return Q[:-1, 0], V[:-1, 0]
