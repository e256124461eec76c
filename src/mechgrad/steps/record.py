"""What a march leaves behind: its states at the reported instants, and all that repeats or differentiates its steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.kernels.solver import Settings
from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.model.model import Model
from mechgrad.steps.cuts import Divisions
from mechgrad.steps.independent.choices import Choices
from mechgrad.steps.schemes import Scheme
from mechgrad.steps.task import Task
from mechgrad.typing import Array, FloatArray, IntArray


@final
@dataclass(frozen=True, eq=False)
class Record:
    """A march, done.

    task : what was asked
    t, q, v, a, multipliers : (nt, .) states at the reported instants; batches have a first axis more
    norms : (nt, 3) of constraint values, rates and second rates
    steps, rejected : how many were taken, and tried in vain
    ended : "duration", "stop", or why it could not go on
    iterations : (nt,) of Newton since the instant before, of implicit steps;   events : switches of contacts [s]
    settings : numbers of implicit steps
    memory, solved : (nt, n_v) the memory of the scheme at each instant, after and before projections
    projected : (nt,) whether the step to the instant ended with a projection
    choices : what Matrix R chose, step by step
    divisions : into how many parts steps were divided, by their number (`steps.cuts`)
    held : (steps, 2) time and length of every step, of implicit ones that controlled their error
    fold : the first instant [s] where constraint rows lost their rank and a step went across, or None
    dense_steps : how many steps dense matrices took, since sparse factors had lost digits there
    marched : of a motion that a stop condition ended, the march with the whole step in which it did; else None
    """

    task: Task
    t: Array
    q: Array
    v: Array
    a: Array
    multipliers: Array
    norms: Array
    steps: int
    rejected: int
    ended: str
    iterations: IntArray | None = None
    events: FloatArray = field(default_factory=lambda: np.zeros(0))
    settings: Settings | None = None
    memory: Array | None = None
    solved: Array | None = None
    projected: Array | None = None
    choices: Choices | None = None
    divisions: Divisions = field(default_factory=dict)
    held: FloatArray | None = None
    fold: float | None = None
    marched: Record | None = None
    dense_steps: int = 0

    @property
    def system(self) -> System:
        """The mechanism that moved."""
        return self.task.system

    @property
    def model(self) -> Model:
        """The model that moved."""
        return self.task.system.model

    @property
    def formulation(self) -> Formulation:
        """How the equations of motion were written."""
        return self.task.formulation

    @property
    def scheme(self) -> Scheme:
        """How time was stepped."""
        return self.task.scheme

    @property
    def step_length(self) -> float:
        """Of fixed steps [s]."""
        return float(self.t[-1] - self.t[0]) / self.steps

    def lengths(self, first: int, last: int) -> FloatArray:
        """Of steps from one to another [s]."""
        if self.held is None:
            return np.full(last - first, self.step_length)
        return np.ascontiguousarray(self.held[first:last, 1])

    @property
    def steps_per_output(self) -> int:
        """Fixed steps between two reported instants."""
        return self.steps // (len(self.t) - 1)

    def states(self, which: slice = slice(None)) -> States:
        """Some of the reported states."""
        return States(self.q, self.v, self.a, self.multipliers, self.t).rows(which)

    def one_of_batch(self, k: int) -> Record:
        """March k of a batch, as a record of its own: fixed explicit steps remember nothing besides their states."""
        task = replace(self.task, q=self.task.q[k : k + 1], v=self.task.v[k : k + 1], single=True)
        rows = {name: getattr(self, name)[k] for name in ("q", "v", "a", "multipliers", "norms")}
        return replace(self, task=task, **rows)


def recorded(task: Task, t: Array, q: Array, v: Array, *, ended: str, **more: Any) -> Record:
    """The record of a march; accelerations, multipliers and norms are computed here unless they are given."""
    system = task.system
    if "a" not in more:
        flat_q, flat_v = q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1])
        a = np.full((len(flat_q), system.model.n_v), np.nan, q.dtype)
        lam = np.full((len(flat_q), system.n_constraints), np.nan, q.dtype)
        if len(flat_q):
            explicit = task.formulation.explicit()
            assert explicit is not None
            times = np.broadcast_to(t, q.shape[:-1]).ravel()
            a, lam, _, _ = system.accelerations(
                flat_q, flat_v, times, np.array(explicit[:4], float), recursive=task.formulation.recursive
            )
        more |= {"a": a.reshape(v.shape), "multipliers": lam.reshape(*v.shape[:-1], system.n_constraints)}
    if "norms" not in more:
        more["norms"] = task.norms(t, q, v, more["a"])
    return Record(task=task, t=t, q=q, v=v, ended=ended, **more)
