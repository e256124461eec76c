"""Implicit marches that control their error, and the same once more by the steps that they took.

Steps go where the tolerances want them: what is reported lies between their ends, and is read there as everywhere
(`steps.dense`). A march keeps time and length of each step. Taken again with these held (with other numbers, complex
ones, other instants) it is a march of steps that can be differentiated, as fixed ones are; with the same numbers it is
the same to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mechgrad.dynamics.kernels.state_accelerations import CHANGE_POINT, DONE, TOO_FEW_DIGITS, TOO_SMALL
from mechgrad.dynamics.system import INDEX_1
from mechgrad.errors import InputError
from mechgrad.steps.dense import NodePair, read_nodes, within_steps
from mechgrad.steps.failures import REASONS, ended, taken_again
from mechgrad.steps.hermite import Ends
from mechgrad.steps.newmark.kernels.controlled import controlled_workspace
from mechgrad.steps.newmark.kernels.march_states import Samples
from mechgrad.steps.newmark.kernels.step_length import Limits, Wanted
from mechgrad.steps.newmark.step import Run
from mechgrad.steps.record import Record, recorded
from mechgrad.steps.runge_kutta.step import first_step
from mechgrad.steps.stopped import stopped_at
from mechgrad.steps.stops import crossing, located
from mechgrad.steps.task import MOST_STEPS, Task
from mechgrad.typing import Array, FloatArray

ENOUGH = 1e-13  # share of defects that a projection leaves under error control, which measures rank by what is left
CAPACITY, MOST_CAPACITY = 2**12, 2**18  # steps noted at a time, at first and in long marches
BEHIND = 1e-9  # of a motion: how far behind the last step that is held an instant may be

_NODES: WeakKeyDictionary[Record, Record] = WeakKeyDictionary()


def controlled(task: Task, kind: type[Run] = Run) -> Record:
    """Steps that keep their local error within rtol and atol; or those that are held."""
    t = task.t0 + np.linspace(0.0, task.duration, task.instants())
    if task.held is not None:
        return _repeated(task, kind, t)
    if task.q.dtype == complex:
        raise InputError("step control takes real numbers; give a step.")
    found = _chosen(task, kind, t, False)
    if found is None:  # sparse factors lost digits: all of it once more with dense ones
        found = _chosen(task, kind, t, True)
        assert found is not None
    return found


def _chosen(task: Task, kind: type[Run], t: FloatArray, dense: bool) -> Record | None:
    """Steps of its own choice; None where sparse factors lost digits."""
    march = _Controlled(task, kind, t, dense)
    task.fills(t, march.states[0])
    for first, last in task.parts(len(t), fine=True):
        reason = march.advance(last)
        if reason == TOO_FEW_DIGITS:
            return None
        if reason != DONE:
            raise march.failed(reason)
        if task.stop is not None:
            crossed = crossing(task.stop, t[first : last + 1], *(x[first : last + 1] for x in march.states[:2]))
            if crossed is not None:
                return _stopped(march.record(first + crossed + 2, "duration"), first + crossed, kind)
        task.report(last / (len(t) - 1), march.now("t"))
    return march.record(len(t), "duration")


class _Controlled:
    """A march under way.

    states : (nt, .) of q, v, a, multipliers, as far as it came;   done : instants after the start
    """

    def __init__(self, task: Task, kind: type[Run], t: FloatArray, dense: bool) -> None:
        self.task, self.t, self.dense, self.run = task, t, dense, kind(task, 2 * len(t))
        run = self.run
        run.settings = run.settings._replace(enough=ENOUGH)
        ends = self.ends = Samples(*run.arrays)
        sparse = None if dense else run.sparse
        self.workspace = controlled_workspace(run.mechanism, ends, task.t0, first_step(task, INDEX_1), sparse)
        self.limits = Limits(float(task.t0 + task.duration), float(task.rtol), float(task.atol), MOST_STEPS)
        self.states = [np.empty((len(t), x.shape[1])) for x in (ends.q, ends.v, ends.a, ends.lam)]
        for x, start in zip(self.states, (ends.q, ends.v, ends.a, ends.lam), strict=True):
            x[0] = start[0]
        self.done, self.capacity, self.chunks = 0, CAPACITY, [np.empty((0, 2))]

    def now(self, name: str) -> Any:
        """A number of its progress."""
        return self.workspace[-1][0][name].item()

    def advance(self, last: int) -> int:
        """To output `last`; returns the reason why it ended there, DONE unless it could not go on."""
        first, reason = self.done, DONE
        while self.done < last and reason == DONE:
            noted = np.empty((self.capacity, 2))
            self.capacity = min(2 * self.capacity, MOST_CAPACITY)
            wanted = Wanted(self.t[1 : last + 1], self.done, noted, self.ends)
            done, reason = self.run.march_controlled(self.workspace, self.limits, wanted)
            self.done = int(done)
            self.chunks.append(noted[: self.now("noted")].copy())
        self._read(first + 1, self.done + 1)
        return int(reason)

    def path(self) -> FloatArray:
        """Time and length of every step so far."""
        self.chunks = [np.concatenate(self.chunks)]
        return self.chunks[0]

    def _read(self, first: int, last: int) -> None:
        """The states at some outputs, from the ends of the steps that they lie in."""
        if last <= first:
            return
        path, t, ends = self.path(), self.t[first:last], self.ends
        owner = np.searchsorted(path[:, 0], t, side="left") - 1
        before, after = (slice(2 * first + k, 2 * last + k, 2) for k in (0, 1))
        pair = NodePair(
            Ends(*(x[k] for k in (before, after) for x in (ends.q, ends.v, ends.a))), ends.lam[before], ends.lam[after]
        )
        h = path[owner, 1]
        found = within_steps(self.task.model.layout, pair, h, (t - path[owner, 0]) / h)
        for x, y in zip(self.states, found, strict=True):
            x[first:last] = y

    def record(self, count: int, why: str) -> Record:
        """The march at its first `count` outputs, by the steps until the last of them, or all that were taken."""
        run, path = self.run, self.path()
        rejected, steps = self.now("rejected"), len(path)
        if count < self.done + 1 and why == "duration":
            steps = int(np.searchsorted(path[:, 0], self.t[count - 1], side="left"))
        Q, V, A, L = (x[:count] for x in self.states)
        return recorded(
            self.task, self.t[:count], Q, V, a=A, multipliers=L, iterations=run.arrays[-1][1 : 2 * count : 2],
            steps=steps, rejected=rejected, ended=why, settings=run.settings, held=path[:steps],
            choices=None if run.choosing is None else run.choosing.taken(),
            dense_steps=steps if self.dense and run.sparse is not None else 0,
        )  # fmt: skip

    def failed(self, reason: int) -> Exception:
        """What ends a march that could not go on."""
        task, at, count, choosing = self.task, self.now("t"), self.done + 1, self.run.choosing
        reason = task.why(reason, choosing, at)
        if reason == CHANGE_POINT:  # noticed when it had been passed
            count = max(1, int(np.sum(self.t[:count] < at - self.now("h_before"))))
        return ended(task, reason, at, self.record(count, REASONS[reason]), _hint(reason), choosing)


def _hint(reason: int) -> str:
    if reason == TOO_SMALL:
        return (
            "Steps of a scheme of order two that would keep it are lost in rounding. Loosen rtol and atol, or take "
            "Index1() or an open tree with scheme 'dop853', of order eight."
        )
    return "Loosen rtol and atol, or look at what happens there."


# ---- the same steps once more


def _repeated(task: Task, kind: type[Run], t: FloatArray) -> Record:
    """By steps that are held."""
    assert task.held is not None
    end = float(task.held[-1, 0] + task.held[-1, 1])
    if t[-1] > end + BEHIND * task.duration:
        raise InputError(
            f"the steps that are held end at t = {end:.9g} s, and the motion is to last until {t[-1]:.9g} s. Let it "
            "choose its own steps (own_steps=True, or simulate)."
        )
    nodes, reason, at, run = _marched(task, kind)
    if reason != DONE:
        reason = task.why(reason, run.choosing, at)
        partial = _reported(nodes, t[t <= nodes.t[-1]], REASONS[reason])
        raise ended(task, reason, at, partial, "These steps are those of another motion.", run.choosing)
    found = _reported(nodes, t, "duration")
    if task.stop is not None and (crossed := crossing(task.stop, t, found.q, found.v)) is not None:
        k = crossed + 2
        return _stopped(_reported(nodes, t[:k], "duration"), crossed, kind)
    task.report(1.0, float(t[-1]))
    return found


def _marched(task: Task, kind: type[Run]) -> tuple[Record, int, float, Run]:
    """All states of a march by held steps, as far as it came; why it ended, and when."""
    assert task.held is not None
    steps = np.ascontiguousarray(task.held[:, :2])
    task.check_room(len(steps) + 1, "Loosen rtol and atol, or take a shorter duration.")
    run = kind(task, len(steps) + 1)
    run.settings = run.settings._replace(enough=ENOUGH)
    got, reason, at = run.march_held(steps)
    count = int(got)
    t = np.append(steps[:, 0], steps[-1].sum())[:count]
    Q, V, A, X, L, S, norms, iterations = (x[:count] for x in run.arrays)
    nodes = recorded(
        task, t, Q, V, a=A, multipliers=L, norms=norms[:, :3], iterations=iterations, steps=count - 1, rejected=0,
        ended="duration", settings=run.settings, memory=X, solved=S, projected=norms[:, 3] != 0.0,
        choices=None if run.choosing is None else run.choosing.taken(), held=steps[: count - 1],
    )  # fmt: skip
    return nodes, int(reason), float(at), run


def _reported(nodes: Record, t: FloatArray, why: str) -> Record:
    """A march at some instants, from the states at the ends of its steps."""
    q, v, a, lam, _ = read_nodes(nodes, t)[0]
    assert nodes.held is not None
    steps = len(nodes.held)
    if why == "duration":
        steps = int(np.searchsorted(nodes.held[:, 0], t[-1], side="left"))
    found = recorded(
        nodes.task, t, q, v, a=a, multipliers=lam, steps=steps, rejected=0, ended=why, settings=nodes.settings,
        iterations=_since(nodes, t), choices=nodes.choices, held=nodes.held[:steps],
    )  # fmt: skip
    if steps == len(nodes.held):
        _NODES[found] = nodes
    return found


def _since(nodes: Record, t: FloatArray) -> Array:
    """Newton iterations since the instant before."""
    assert nodes.iterations is not None
    last = np.clip(np.searchsorted(nodes.t, t, side="left"), 0, len(nodes.t) - 1)
    return np.diff(np.cumsum(nodes.iterations)[last], prepend=0)


def nodes_of(record: Record, kind: type[Run] = Run) -> Record:
    """The march with the states at the ends of all its steps, taken again once."""
    record = record if record.marched is None else record.marched
    if record.memory is not None or record.held is None or not len(record.held):
        return record
    if record not in _NODES:
        task = replace(
            record.task, held=record.held, choices=record.choices, hold=True, stop=None, progress=False
        )  # fmt: skip
        nodes, reason, at, _ = _marched(task, kind)
        taken_again(reason, at)
        _NODES[record] = nodes
    return _NODES[record]


def _stopped(marched: Record, k: int, kind: type[Run]) -> Record:
    """The motion until the stop condition changes its sign between outputs k and k + 1, by what lies between steps."""
    stop, nodes = marched.task.stop, nodes_of(marched, kind)
    assert stop is not None
    low, high = marched.t[k : k + 2]
    inside = nodes.t[(nodes.t > low) & (nodes.t < high)]
    t = np.concatenate([[low], inside, [high]])

    def read(t: float) -> tuple[Array, ...]:
        return tuple(x[0] for x in read_nodes(nodes, np.array([t]))[0][:4])

    def configuration(t: float) -> tuple[Array, Array]:
        q, v, *_ = read(t)
        return q, v

    there = read_nodes(nodes, t)[0]
    found = crossing(stop, t, there.q, there.v)
    j = len(t) - 2 if found is None else found  # rounding of steps that were taken again
    end = located(stop, float(t[j]), float(t[j + 1]), configuration)
    return stopped_at(marched, k, end, read)
