"""A march read at any instants: what lies between its steps, and how that changes with them.

Marches of order eight report any instant themselves, from the steps that were taken (`StepMethod.reported_at`). All
others are read by polynomials between two steps (`steps.hermite`); a step that was divided counts as one. Accelerations
and multipliers between steps are those that the equations of motion ask for in (q, v, t).

Of implicit steps that control their error all outputs lie between steps, and had better be as good as their ends:
velocities have cubics of their own, through v and a at both ends, since the slope of what lies between positions keeps
the error of one step divided by its length; accelerations and multipliers lie on straight lines, which loops that are
open by a little, or yield, do not blur.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, final
from weakref import WeakKeyDictionary

import numpy as np

from mechgrad.dynamics.states import StateGradients, States, StateSlopes
from mechgrad.dynamics.system import INDEX_1
from mechgrad.model.layout import Layout
from mechgrad.steps.acceleration_slopes import pulled_back
from mechgrad.steps.base import StepMethod
from mechgrad.steps.hermite import EndPartials, Ends, between, end_partials
from mechgrad.steps.record import Record
from mechgrad.steps.task import Task
from mechgrad.steps.weights import Weights
from mechgrad.typing import Array, FloatArray, IntArray

AT_STEP = 1e-9  # of a step: instants that near to its end are that

_EVERY: WeakKeyDictionary[Record, Record] = WeakKeyDictionary()


@final
@dataclass(frozen=True, eq=False)
class Reading:
    """A march at some instants (S,), in any order.

    record : whose rows the states follow from
    states : there, (S, .) each
    rows : (S,) the row of the record that an instant is, -1 where it lies between two
    first, h, share : (k,) of those between: the row before, the length of the step, the share of it;   degree : of the
        polynomials
    own : whether velocities, accelerations and multipliers between are those of steps that control their error
    """

    record: Record
    states: States
    rows: IntArray
    first: IntArray
    h: FloatArray
    share: FloatArray
    degree: int
    own: bool = False

    def pulled(self, g: StateGradients) -> tuple[StateGradients, list[Weights]]:
        """Gradients by the states here (S, no, .) become such by the rows of the record (nt, no, .); and the weights
        that parameters act with, in accelerations between steps."""
        nt, record = len(self.record.t), self.record
        total = StateGradients(*(np.zeros((nt, *x.shape[1:])) for x in g))
        known = self.rows >= 0
        for whole, part in zip(total, g, strict=True):
            np.add.at(whole, self.rows[known], part[known])
        if known.all():
            return total, []
        gq, gv, ga, glam = (x[~known] for x in g)
        weights: list[Weights] = []
        if self.own:
            by_v0, by_a0, by_v1, by_a1 = (x[:, None, None] for x in velocity_weights(self.h, self.share))
            u = self.share[:, None, None]
            for whole, before, after in (
                (total.v, by_v0 * gv, by_v1 * gv),
                (total.a, by_a0 * gv + (1.0 - u) * ga, by_a1 * gv + u * ga),
                (total.lam, (1.0 - u) * glam, u * glam),
            ):
                np.add.at(whole, self.first, before)
                np.add.at(whole, self.first + 1, after)
            gv = np.zeros_like(gv)
        elif np.any(ga) or np.any(glam):
            there = States(*(x[~known] for x in self.states))
            pulls = np.ascontiguousarray(np.concatenate([ga, glam], axis=2).swapaxes(0, 1))
            recursive = record.formulation.recursive
            found = pulled_back(record.system, acceleration_numbers(record.task), there, pulls, recursive)
            gq, gv = gq + found.q, gv + found.v
            weights.append(found.weights)
        partials = end_partials(record.model.layout, ends_of(record, self.first), self.h, self.share, self.degree)
        into = (total.q, total.v, total.a) * 2
        for k, (out, pull) in enumerate(zip(into, self._by_ends(partials, gq, gv), strict=True)):
            np.add.at(out, self.first + (k >= 3), pull)
        return total, weights

    def carried(self, slopes: StateSlopes) -> StateSlopes:
        """Derivatives of the rows of the record (nt, np, .) become such of the states here (S, np, .)."""
        known, between = self.rows >= 0, self.rows < 0
        found = StateSlopes(*(np.array(x[np.maximum(self.rows, 0)]) for x in slopes))
        if known.all():
            return found
        assert self.own
        u = self.share[:, None, None]
        for there, x in ((found.a, slopes.a), (found.lam, slopes.lam)):
            there[between] = (1.0 - u) * x[self.first] + u * x[self.first + 1]
        layout = self.record.model.layout
        partials = end_partials(layout, ends_of(self.record, self.first), self.h, self.share, self.degree)
        given = [x[self.first + (k >= 3)] for k, x in enumerate((slopes.q, slopes.v, slopes.a) * 2)]
        weights = velocity_weights(self.h, self.share)[:, :, None, None]
        found.v[between] = sum(w * given[k] for w, k in zip(weights, (1, 2, 4, 5), strict=True))
        total = np.zeros_like(given[0])
        for k, x in enumerate(given):
            total[:, :, layout.plain_v] += partials.plain_q[k][:, None, None] * x[:, :, layout.plain_v]
            for b, at in enumerate(layout.ball_v):
                total[:, :, at] += x[:, :, at] @ partials.ball_q[k, :, b].swapaxes(1, 2)
        found.q[between] = total
        return found

    def _by_ends(self, partials: EndPartials, gq: FloatArray, gv: FloatArray) -> list[FloatArray]:
        """Gradients by q, v, a before and after the steps, (k, no, n_v) each."""
        layout, found = self.record.model.layout, []
        for k in range(6):
            pull = np.zeros_like(gq)
            plain_q, plain_v = partials.plain_q[k][:, None, None], partials.plain_v[k][:, None, None]
            at = layout.plain_v
            pull[:, :, at] = gq[:, :, at] * plain_q + gv[:, :, at] * plain_v
            for b, at in enumerate(layout.ball_v):
                pull[:, :, at] = gq[:, :, at] @ partials.ball_q[k, :, b] + gv[:, :, at] @ partials.ball_v[k, :, b]
            found.append(pull)
        return found


def read(record: Record, method: StepMethod, times: FloatArray, moving: Array | None = None) -> Reading:
    """A march of one start at some instants within it.

    moving : (S,) which of them are to be read between steps even where they are the end of one: accelerations of
        implicit steps are those of the scheme there, and jump as an instant moves across
    """
    none = np.zeros(0)
    if len(record.t) == 1:
        rows = np.zeros(len(times), int)
        return Reading(record, States(*(x[rows] for x in record.states())), rows, none.astype(int), none, none, 0)
    if method.reported_at is not None:
        t, rows = np.unique(np.append(times, record.t[0]), return_inverse=True)
        again = method.reported_at(record, t)
        rows = rows[:-1]
        return Reading(again, States(*(x[rows] for x in again.states())), rows, none.astype(int), none, none, 0)
    nodes = every_step(record, method)
    if method.nodes is not None:
        found, at = read_nodes(nodes, times, moving)
        some = at.rows < 0
        return Reading(nodes, found, at.rows, at.first[some], at.h[some], at.share[some], 3, own=True)
    h, t0, last = nodes.step_length, float(nodes.t[0]), len(nodes.t) - 1
    nearest = np.clip(np.rint((times - t0) / h).astype(int), 0, last)
    there = np.abs(times - (t0 + h * nearest)) <= AT_STEP * h
    if moving is not None:
        there &= ~moving
    rows = np.where(there, nearest, -1)
    first = np.clip(np.floor((times - t0) / h).astype(int), 0, last - 1)
    states = [np.array(x[nearest]) for x in nodes.states()]
    states[4] = np.where(there, states[4], times)
    some = ~there
    share = (times[some] - (t0 + h * first[some])) / h
    if some.any():
        q, v = _between(nodes, first[some], share, method.degree)
        for x, y in zip(states, (q, v, *accelerations_at(nodes.task, q, v, times[some])), strict=False):
            x[some] = y
    return Reading(nodes, States(*states), rows, first[some], np.full(int(some.sum()), h), share, method.degree)


def read_batch(record: Record, method: StepMethod, times: FloatArray) -> States:
    """Many marches at once, (batch, S, .) each."""
    each = every_step(record, method)
    found = [read(each.one_of_batch(k), method, times).states for k in range(len(record.q))]
    q, v, a, lam = (np.stack([s[i] for s in found]) for i in range(4))
    return States(q, v, a, lam, times)


def every_step(record: Record, method: StepMethod) -> Record:
    """The march with every step reported; once more, where it did not report them."""
    if method.nodes is not None:
        return method.nodes(record)
    every = record.task.steps()[1]
    if every == 1:
        return replace(record, steps=len(record.t) - 1) if record.steps != len(record.t) - 1 else record
    if record not in _EVERY:
        steps = (len(record.t) - 1) * every
        task = replace(
            record.task, duration=float(record.t[-1] - record.t[0]), samples=steps + 1, choices=record.choices,
            hold=True, divisions=record.divisions, stop=None, progress=False,
        )  # fmt: skip
        _EVERY[record] = method.march(task)
    return _EVERY[record]


def ends_of(record: Record, first: IntArray) -> Ends:
    """The states before and after steps, by the rows before them."""
    return Ends(*(x[k] for k in (first, first + 1) for x in (record.q, record.v, record.a)))


def acceleration_numbers(task: Task) -> Array:
    """How accelerations follow from q, v and t, for a formulation: its own way, or index-1 equations."""
    explicit = task.formulation.explicit()
    return INDEX_1 if explicit is None else np.array(explicit[:4], float)


def accelerations_at(task: Task, q: Array, v: Array, t: FloatArray) -> tuple[Array, Array]:
    """a and lam in some states."""
    a, lam, _, _ = task.system.accelerations(q, v, t, acceleration_numbers(task), recursive=task.formulation.recursive)
    return a, lam


def _between(nodes: Record, first: IntArray, share: FloatArray, degree: int) -> tuple[Array, Array]:
    lengths = np.full(len(first), nodes.step_length)
    return between(nodes.model.layout, ends_of(nodes, first), lengths, share, degree)


# ---- steps of many lengths


class NodePair(NamedTuple):
    """States before and after the steps that instants lie in, and the multipliers there (S, m)."""

    ends: Ends
    lam0: Array
    lam1: Array


class Where(NamedTuple):
    """Where instants (S,) are among steps: the row of the record that they are, or -1; the row before them, the length
    of the step and the share of it."""

    rows: IntArray
    first: IntArray
    h: FloatArray
    share: FloatArray


def velocity_weights(h: FloatArray, u: FloatArray) -> FloatArray:
    """What the cubic through v and a at both ends of steps has of v0, a0, v1, a1, (4, S); u: shares of the steps."""
    rest = 1.0 - u
    return np.stack([rest * rest * (1.0 + 2.0 * u), h * u * rest * rest, u * u * (1.0 + 2.0 * rest), -h * u * u * rest])


def within_steps(layout: Layout, pair: NodePair, h: FloatArray, share: FloatArray) -> tuple[Array, Array, Array, Array]:
    """q, v, a and multipliers within steps that control their error; at the ends of steps what is there."""
    ends, u = pair.ends, share[:, None]
    q, _ = between(layout, ends, h, share, 3)
    weights = velocity_weights(h, share)[:, :, None]
    v = weights[0] * ends.v0 + weights[1] * ends.a0 + weights[2] * ends.v1 + weights[3] * ends.a1
    a, lam = ends.a0 + u * (ends.a1 - ends.a0), pair.lam0 + u * (pair.lam1 - pair.lam0)
    for at, there in (
        (np.abs(share) <= AT_STEP, (ends.q0, ends.v0, ends.a0, pair.lam0)),
        (np.abs(share - 1.0) <= AT_STEP, (ends.q1, ends.v1, ends.a1, pair.lam1)),
    ):
        for x, y in zip((q, v, a, lam), there, strict=True):
            x[at] = y[at]
    return q, v, a, lam


def read_nodes(nodes: Record, times: FloatArray, moving: Array | None = None) -> tuple[States, Where]:
    """The states of a march at some instants, from those at the ends of all its steps.

    moving : (S,) which of them count as between steps even where they are the end of one
    """
    assert nodes.held is not None
    if not len(nodes.held):
        rows, none = np.zeros(len(times), int), np.zeros(len(times))
        return States(*(x[rows] for x in nodes.states())), Where(rows, rows, none, none)
    starts, lengths = nodes.held.T
    first = np.clip(np.searchsorted(starts, times, side="right") - 1, 0, len(starts) - 1)
    h = lengths[first]
    share = (times - starts[first]) / h
    rows = np.where(np.abs(share) <= AT_STEP, first, np.where(np.abs(share - 1.0) <= AT_STEP, first + 1, -1))
    if moving is not None:
        rows[moving] = -1
    pair = NodePair(ends_of(nodes, first), nodes.multipliers[first], nodes.multipliers[first + 1])
    return States(*within_steps(nodes.model.layout, pair, h, share), times), Where(rows, first, h, share)
