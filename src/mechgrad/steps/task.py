"""What a march is asked for: a mechanism, a start, a formulation, a scheme and how finely to step and report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.memory import require_memory
from mechgrad.model.model import Model
from mechgrad.steps.cuts import Divisions
from mechgrad.steps.independent.choices import Choices, Choosing
from mechgrad.steps.independent.dead_points import closer_reason
from mechgrad.steps.schemes import Scheme
from mechgrad.steps.watch import watching
from mechgrad.typing import Array, ArrayLike, FloatArray

Stop = Callable[[Array, Array, Array], ArrayLike]

MOST_STEPS = 10_000_000
MOST_FIXED = 1e15  # fixed steps: more cannot be counted without rounding, and last for decades
SAMPLES = 201  # instants reported, unless they are named
PARTS = 20  # of a march between two looks at a stop condition or a report
FINE_PARTS = 200  # of one that is watched, and whose steps do not know of parts


@dataclass(frozen=True, eq=False)
class Task:
    """One motion (or a batch) to be computed.

    q, v : (batch, n_q), (batch, n_v) the starts;   single : whether one start was given
    held : time and length of every step, perhaps with the states before them: marches that control their error then
        take these and no others
    choices : what Matrix R begins with;   hold : whether these are all, to be made as they are and no others
    divisions : into how many parts fixed steps are divided to begin with
    """

    system: System
    formulation: Formulation
    scheme: Scheme
    q: Array
    v: Array
    t0: float
    duration: float
    step: float | None
    samples: int | None
    rtol: float
    atol: float
    stop: Stop | None
    progress: bool
    single: bool
    held: FloatArray | None = None
    choices: Choices | None = None
    hold: bool = False
    divisions: Divisions | None = None

    @property
    def model(self) -> Model:
        """Whose motion it is."""
        return self.system.model

    def choosing(self, step: int = 0) -> Choosing | None:
        """The choice of a march from some step on, None but for Matrix R."""
        if self.choices is None:
            return None
        return Choosing(self.system, self.choices, hold=self.hold, step=step)

    def why(self, reason: int, choosing: Choosing | None, t: float) -> int:
        """The reason why a march ended, looked at closely: a change point where Gamma itself loses rank."""
        return closer_reason(self.system, reason, choosing, t, self.q[0], self.t0)

    def count(self) -> int:
        """Number of steps of a march with fixed ones."""
        assert self.step is not None
        return max(1, round(self.duration / self.step))

    def steps(self) -> tuple[int, int, float]:
        """(outputs, steps between two of them, step) of a march with fixed steps."""
        assert self.step is not None
        if not self.duration / self.step < MOST_FIXED:
            raise InputError(
                f"{self.duration} s in steps of {self.step} s are more than {MOST_FIXED:g} steps; take longer ones."
            )
        n_steps = self.count()
        if abs(n_steps * self.step - self.duration) > 1e-9 * self.duration:
            raise InputError(
                f"{self.duration} s are not a whole number of steps of {self.step} s; take "
                f"{self.duration / n_steps:.12g} s, or another duration."
            )
        outputs = n_steps + 1 if self.samples is None else self.samples
        if n_steps % (outputs - 1):
            raise InputError(
                f"{n_steps} steps cannot give {outputs} evenly spaced samples; choose samples - 1 that divides them."
            )
        self._require_memory(outputs)
        return outputs, n_steps // (outputs - 1), self.duration / n_steps

    def instants(self) -> int:
        """Outputs of a march that chooses its own steps."""
        outputs = SAMPLES if self.samples is None else self.samples
        self._require_memory(outputs)
        return outputs

    def _require_memory(self, outputs: int) -> None:
        remedy = "Give fewer samples."
        if self.samples is None:
            remedy = "Give samples=... to keep fewer instants than steps, or take a longer step."
        self.check_room(outputs, remedy)

    def check_room(self, outputs: int, remedy: str) -> None:
        """Raise unless so many states, accelerations and multipliers, and what schemes remember, can be kept."""
        n_q, n_v, m = self.q.shape[1], self.v.shape[1], self.system.n_constraints
        require_memory(
            float(outputs) * len(self.q) * ((n_q + 4 * n_v + m) * self.q.itemsize + 64.0),
            f"a motion of {self.model.name!r} with {outputs} instants of {n_q} coordinates and {n_v} velocities",
            remedy,
        )

    def parts(self, outputs: int, fine: bool = False) -> list[tuple[int, int]]:
        """First and last output of each part of the march; fine: steps do not end where parts do."""
        parts = PARTS if self.single and (self.stop is not None or self.progress) else 1
        if fine and watching() is not None:
            parts = FINE_PARTS
        ends = [part * (outputs - 1) // parts for part in range(parts + 1)]
        return [(a, b) for a, b in pairwise(ends) if b > a]

    def fills(self, t: FloatArray, Q: Array) -> None:
        """Say which rows the march is going to fill, for who watches it."""
        if (watch := watching()) is not None:
            watch.over(t, Q)

    def report(self, share: float, t: float) -> None:
        """Say how far the march has come."""
        if (watch := watching()) is not None:  # calls that listen are rare where parts are short
            watch.look()
        if self.progress:
            sys.stdout.write(f"\r  {100 * share:3.0f} %  t = {t:.4g} s" + ("\n" if share >= 1 else ""))
            sys.stdout.flush()

    def norms(self, t: Array, q: Array, v: Array, a: Array) -> Array:
        """Norms of constraint values, rates and second rates, (nt, 3)."""
        system = self.system
        if not system.n_constraints or not len(q):
            return np.zeros((*q.shape[:-1], 3))
        rows = system.constraints(q, v, a, t, jacobians=False)
        values = rows.values[:, : system.n_holonomic]
        return np.stack([np.linalg.norm(x, axis=1) for x in (values, rows.rates, rows.seconds)], axis=1)
