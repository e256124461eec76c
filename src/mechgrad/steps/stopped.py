"""The motion until a stop condition changes its sign: read between the steps that were taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mechgrad.steps.dense import accelerations_at
from mechgrad.steps.hermite import Ends, between
from mechgrad.steps.record import Record, recorded
from mechgrad.steps.stops import crossing, located
from mechgrad.typing import Array


class Nodes(NamedTuple):
    """The states between two outputs at the ends of all steps: t (N + 1,), q, v, a (N + 1, .)."""

    t: Array
    q: Array
    v: Array
    a: Array


def stopped_between(marched: Record, k: int, nodes: Nodes, h: float, degree: int) -> Record:
    """The motion until the condition changes its sign between outputs k and k + 1, by polynomials between steps of
    length h."""
    stop = marched.task.stop
    assert stop is not None
    found = crossing(stop, nodes.t, nodes.q, nodes.v)
    j = len(nodes.t) - 2 if found is None else found  # rounding of steps that were taken again
    ends = Ends(*(x[i : i + 1] for i in (j, j + 1) for x in nodes[1:]))
    layout = marched.model.layout

    def read(t: float) -> tuple[Array, Array]:
        share = np.array([(t - nodes.t[j]) / h])
        q, v = between(layout, ends, np.array([h]), share, degree)
        return q[0], v[0]

    return stopped_at(marched, k, located(stop, float(nodes.t[j]), float(nodes.t[j + 1]), read), read)


def stopped_at(marched: Record, k: int, end: float, read: Callable[[float], tuple[Array, ...]]) -> Record:
    """The motion until an instant after output k; read: q and v at an instant, or a and multipliers as well, which
    follow from these otherwise."""
    rows = k + 1 if end > marched.t[k] or k == 0 else k
    kept = {
        "a": marched.a[:rows], "multipliers": marched.multipliers[:rows], "norms": marched.norms[:rows],
        "iterations": None if marched.iterations is None else marched.iterations[:rows],
    }  # fmt: skip
    t, q, v = marched.t[:rows], marched.q[:rows], marched.v[:rows]
    if end > t[-1]:
        last_q, last_v, *more_of_it = (x[None] for x in read(end))
        a, lam = more_of_it or accelerations_at(marched.task, last_q, last_v, np.array([end]))
        t, q, v = np.append(t, end), np.concatenate([q, last_q]), np.concatenate([v, last_v])
        more: dict[str, Any] = {
            "a": a, "multipliers": lam, "norms": marched.task.norms(t[-1:], last_q, last_v, a),
            "iterations": None if marched.iterations is None else marched.iterations[rows : rows + 1],
        }  # fmt: skip
        kept = {name: None if x is None else np.concatenate([x, more[name]]) for name, x in kept.items()}
    return recorded(
        marched.task, t, q, v, ended="stop", steps=marched.steps, rejected=marched.rejected,
        events=marched.events[marched.events <= end], settings=marched.settings, choices=marched.choices,
        divisions=marched.divisions, held=marched.held, fold=marched.fold, marched=marched, **kept,
    )  # fmt: skip
