"""A march read at any instants: what lies between its steps, and how that changes with them.

Marches of order eight and those that an implicit scheme controls report any instant themselves, from the steps that
were taken (`StepMethod.reported_at`). All others are read by polynomials between two steps (`steps.hermite`); a step
that was divided counts as one. Accelerations and multipliers between steps are those that the equations of motion ask
for in (q, v, t).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final
from weakref import WeakKeyDictionary

import numpy as np

from mechgrad.dynamics.states import StateGradients, States
from mechgrad.dynamics.system import INDEX_1
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
    """

    record: Record
    states: States
    rows: IntArray
    first: IntArray
    h: FloatArray
    share: FloatArray
    degree: int

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
        if np.any(ga) or np.any(glam):
            there = States(*(x[~known] for x in self.states))
            pulls = np.ascontiguousarray(np.concatenate([ga, glam], axis=2).swapaxes(0, 1))
            found = pulled_back(record.system, acceleration_numbers(record.task), there, pulls)
            gq, gv = gq + found.q, gv + found.v
            weights.append(found.weights)
        partials = end_partials(record.model.layout, ends_of(record, self.first), self.h, self.share, self.degree)
        into = (total.q, total.v, total.a) * 2
        for k, (out, pull) in enumerate(zip(into, self._by_ends(partials, gq, gv), strict=True)):
            np.add.at(out, self.first + (k >= 3), pull)
        return total, weights

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
        found = method.reported_at(record, t)
        rows = rows[:-1]
        return Reading(found, States(*(x[rows] for x in found.states())), rows, none.astype(int), none, none, 0)
    nodes = every_step(record, method)
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
    """The march with every step reported; once more, where it reported fewer."""
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
    a, lam, _, _ = task.system.accelerations(q, v, t, acceleration_numbers(task))
    return a, lam


def _between(nodes: Record, first: IntArray, share: FloatArray, degree: int) -> tuple[Array, Array]:
    lengths = np.full(len(first), nodes.step_length)
    return between(nodes.model.layout, ends_of(nodes, first), lengths, share, degree)
