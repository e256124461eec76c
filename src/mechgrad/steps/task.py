"""What all marches share: the task, its parts, stop conditions, reports and what is kept of a failure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.formulations import Formulation
from mechgrad.dynamics.kernels.accelerations import (
    BAD_NUMBER,
    CHANGE_POINT,
    DEAD_POINT,
    DONE,
    INTERRUPTED,
    NOT_CONVERGED,
    SINGULAR,
    STUCK,
    TOO_MANY,
    TOO_SMALL,
)
from mechgrad.dynamics.system import System
from mechgrad.errors import InputError
from mechgrad.kernels.interrupt import raised
from mechgrad.kinematics.state import State
from mechgrad.memory import require_memory
from mechgrad.simulation.trajectory import StepFailed, Trace, Trajectory
from mechgrad.steps.cuts import FINEST, Divisions
from mechgrad.steps.matrix_r.choices import Choices, Choosing
from mechgrad.steps.matrix_r.independent import least_determined, rank_left
from mechgrad.steps.schemes import Scheme
from mechgrad.typing import Array, ArrayLike, FloatArray

Stop = Callable[[Array, Array, Array], ArrayLike]

MOST_STEPS = 10_000_000
MOST_FIXED = 1e15  # fixed steps: more cannot be counted without rounding, and last for decades
SAMPLES = 201  # instants reported, unless they are named
NEAR_DEAD_POINT = 0.3  # least singular value of [Gamma; B] beside the largest, where a march broke off
AT_DEAD_POINT = 0.03  # the same, where no part of the step can do better
NEAR_CHANGE_POINT = 0.1  # the same of Gamma alone, beside what it was at the start
PARTS = 20  # of a march between two looks at a stop condition or a report

REASONS = {
    BAD_NUMBER: "a number is not finite any more",
    SINGULAR: "the equations are singular: some coordinate moves no inertia, or constraints lose their rank",
    TOO_SMALL: "the step became too small for the tolerance",
    TOO_MANY: f"more than {MOST_STEPS} steps",
    NOT_CONVERGED: "the iteration of a step did not converge",
    CHANGE_POINT: "the constraints lose their rank there (a change point, where several motions meet)",
    DEAD_POINT: "the independent coordinates pass a dead point, where they cease to determine the motion",
    INTERRUPTED: "interrupted",
    STUCK: "there is no progress any more, thousands of steps shrink towards this instant",
}


NO_CHOICE = (DEAD_POINT, NOT_CONVERGED, SINGULAR, STUCK, TOO_SMALL)  # how marches of Matrix R end at dead points


@dataclass(frozen=True, eq=False)
class Job:
    """One motion (or a batch) to be computed.

    held : time and length of every step, perhaps with the states before them: DOP853 then takes these and no others
    choices : what Matrix R begins with;   hold : whether these are all, to be made as they are and no others
    divisions : into how many parts fixed steps are divided to begin with
    """

    system: System
    formulation: Formulation
    scheme: Scheme
    q: Array  # (batch, n_q)
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
    start: State | Equilibrium | None = None
    held: FloatArray | None = None
    choices: Choices | None = None
    hold: bool = False
    divisions: Divisions | None = None

    def choosing(self, step: int = 0) -> Choosing | None:
        """The choice of a march from some step on, None but for Matrix R."""
        if self.choices is None:
            return None
        return Choosing(self.system, self.choices, hold=self.hold, step=step)

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
        self._require_room(outputs)
        return outputs, n_steps // (outputs - 1), self.duration / n_steps

    def instants(self) -> int:
        """Outputs of a march that chooses its own steps."""
        outputs = SAMPLES if self.samples is None else self.samples
        self._require_room(outputs)
        return outputs

    def _require_room(self, outputs: int) -> None:
        """Raise unless so many states, accelerations and multipliers, and what schemes remember, can be kept."""
        n_q, n_v, m = self.q.shape[1], self.v.shape[1], self.system.n_constraints
        remedy = "Give fewer samples."
        if self.samples is None:
            remedy = "Give samples=... to keep fewer instants than steps, or take a longer step."
        require_memory(
            float(outputs) * len(self.q) * ((n_q + 4 * n_v + m) * self.q.itemsize + 64.0),
            f"a motion of {self.system.model.name!r} with {outputs} instants of {n_q} coordinates and {n_v} velocities",
            remedy,
        )

    def parts(self, outputs: int) -> list[tuple[int, int]]:
        """First and last output of each part of the march."""
        parts = PARTS if self.single and (self.stop is not None or self.progress) else 1
        ends = [part * (outputs - 1) // parts for part in range(parts + 1)]
        return [(a, b) for a, b in pairwise(ends) if b > a]

    def report(self, share: float, t: float) -> None:
        """Say how far the march has come."""
        if self.progress:
            sys.stdout.write(f"\r  {100 * share:3.0f} %  t = {t:.4g} s" + ("\n" if share >= 1 else ""))
            sys.stdout.flush()

    def trajectory(self, t: Array, q: Array, v: Array, *, ended: str, **more: Any) -> Trajectory:
        """The result; accelerations and multipliers are computed here unless they are given."""
        system = self.system
        if "a" not in more:
            flat_q, flat_v = q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1])
            a = np.full((len(flat_q), system.model.n_v), np.nan, q.dtype)
            lam = np.full((len(flat_q), system.n_constraints), np.nan, q.dtype)
            if len(flat_q):
                explicit = self.formulation.explicit()
                assert explicit is not None
                times = np.broadcast_to(t, q.shape[:-1]).ravel()
                a, lam, _, _ = system.accelerations(flat_q, flat_v, times, np.array(explicit[:4], float))
            more |= {"a": a.reshape(v.shape), "multipliers": lam.reshape(*v.shape[:-1], system.n_constraints)}
        if "norms" not in more:
            more["norms"] = self.norms(t, q, v, more["a"])
        more.setdefault("trace", Trace(self))
        return Trajectory(
            model=system.model, t=t, q=q, v=v, tau=system.tau, loads=system.loads, ended=ended, system=system,
            formulation=self.formulation, scheme=self.scheme, start=self.start, **more,
        )  # fmt: skip

    def norms(self, t: Array, q: Array, v: Array, a: Array) -> Array:
        """Norms of constraint values, rates and second rates, (nt, 3)."""
        system = self.system
        if not system.n_constraints or not len(q):
            return np.zeros((*q.shape[:-1], 3))
        rows = system.constraints(q, v, a, t)
        values = rows.values[:, : system.n_holonomic]
        return np.stack([np.linalg.norm(x, axis=1) for x in (values, rows.rates, rows.seconds)], axis=1)

    def why(self, reason: int, choosing: Choosing | None, t: float) -> int:
        """The reason why a march ended, looked at closely: a change point where Gamma itself loses rank."""
        if choosing is None or reason not in NO_CHOICE:
            return reason
        choices = choosing.taken()
        now = rank_left(self.system, choices, choosing.record.last, t)
        return CHANGE_POINT if now < NEAR_CHANGE_POINT * rank_left(self.system, choices, self.q[0], self.t0) else reason

    def failed(
        self, reason: int, t: float, trajectory: Trajectory, hint: str, choosing: Choosing | None = None
    ) -> BaseException:
        """The error that ends a march; raises what a user law did instead, if one failed."""
        self.system.users.raise_pending()
        if reason == INTERRUPTED:
            name = self.system.model.name
            until = f"the first {trajectory.q.shape[0]} motions" if trajectory.q.ndim == 3 else "the motion until then"
            note = f"the motion of {name!r} was interrupted at t = {t:.6g} s; {until}: `.trajectory` of this error."
            return raised(trajectory, note)
        if reason == CHANGE_POINT:
            hint = (
                f"{self.formulation.name} does not follow one of them in every case; ALI3P() with any implicit scheme "
                "and Index1() with explicit ones do."
            )
        elif choosing is not None and self._undetermined(reason, choosing, t):
            hint = self._dead_point(choosing, t)
        elif reason == NOT_CONVERGED:
            hint = "Look for a lock-up or a hard impact there, or take another start."
            if self.step is not None and self.scheme.implicit and choosing is None:
                hint = f"Steps down to 1/{FINEST} of it did not either. {hint}"
            else:
                hint = f"Take a shorter step. {hint}"
            if self.system.n_constraints:
                hint += " Index1() without a step (DOP853) tells what happens."
        elif reason == SINGULAR and self.system.n_constraints:
            hint = (
                "mg.mobility(model, q) names the constraints that depend on each other there. ALI3P() with a step and "
                "Index1() without one pass such configurations."
            )
        elif reason == STUCK:
            hint = (
                "Forces that jump or are noisy there (a contact, a law in Python), or a singular configuration, leave "
                "no step accurate enough: look at what happens there, loosen rtol and atol, or take a fixed step."
            )
        return StepFailed(
            f"the motion of {self.system.model.name!r} ends at t = {t:.6g} s: {REASONS[reason]}. {hint} The motion "
            "until then is in `.trajectory` of this error.",
            trajectory,
        )

    def is_undetermined(self, reason: int, choosing: Choosing, t: float) -> bool:
        """Whether a march of Matrix R ended at a change point or at a dead point of its coordinates."""
        near = least_determined(self.system, choosing.taken(), choosing.record.last, t)[1] < AT_DEAD_POINT
        return near or self.why(reason, choosing, t) == CHANGE_POINT

    def _undetermined(self, reason: int, choosing: Choosing, t: float) -> bool:
        """Whether the independent coordinates may be why a march ended; steps also become too small for others."""
        if reason in (STUCK, TOO_SMALL):
            return least_determined(self.system, choosing.taken(), choosing.record.last, t)[1] < NEAR_DEAD_POINT
        return reason in NO_CHOICE

    def _dead_point(self, choosing: Choosing, t: float) -> str:
        """What to do where Matrix R cannot go on, and which independent coordinate is at its turning point there."""
        choices = choosing.taken()
        name, share = least_determined(self.system, choices, choosing.record.last, t)
        text, more = f"{name!r} is at its turning point there, and does not tell how the motion goes on", ""
        if share >= NEAR_DEAD_POINT:
            text, more = (
                "The independent coordinates may not determine the motion any more",
                " A shorter step may help.",
            )
        if choices.named:
            chosen = choices.described(self.system)[-1].independent
            remedy = (
                f"choose others, MatrixR([...]), than {', '.join(map(repr, chosen))}, or leave the choice to MatrixR()"
            )
        else:
            remedy = "no joint coordinates tell there; take a shorter step"
        return f"{text}: {remedy}; start anew from there; or take ALI3P or Index1, which need none.{more}"


def taken_again(reason: int, t: float) -> None:
    """Raise an error if steps that a motion had taken before could not be taken again until t."""
    if reason == INTERRUPTED:
        raise raised(None, "Steps of a motion were being taken again.")
    if reason != DONE:
        raise InputError(f"the steps could not be taken again, at {t:.6g} s: {REASONS[reason]}.")


def signs(stop: Stop, t: Array, q: Array, v: Array) -> Array:
    """Values of a stop condition, checked."""
    values = np.asarray(stop(t, q, v), float)
    if values.shape != t.shape:
        raise InputError(f"stop returned shape {values.shape} for {t.size} instants; it must return ({t.size},).")
    if not np.all(np.isfinite(values)):
        raise InputError(f"stop returned {values[~np.isfinite(values)][0]} at t = {t[~np.isfinite(values)][0]:g} s.")
    return values


def crossing(stop: Stop, t: Array, q: Array, v: Array) -> int | None:
    """The first instant after which the sign differs from that before."""
    values = signs(stop, t, q, v)
    changes = np.flatnonzero((values[:-1] != 0) & (np.sign(values[:-1]) != np.sign(values[1:])))
    return int(changes[0]) if changes.size else None


def bisected(stop: Stop, t: Array, q: Array, v: Array, k: int, advance: Callable[[float], tuple[Any, ...]]) -> Any:
    """Where a stop condition changes sign between instants k and k + 1: what `advance(time)` gives just before.

    advance: from instant k to a time in between, returns (q, v, ...) there.
    """
    low, high = float(t[k]), float(t[k + 1])
    before = signs(stop, t[k : k + 1], q[k : k + 1], v[k : k + 1])[0]
    best: tuple[Any, ...] | None = None
    start = low
    while high - low > 1e-13 * max(abs(high), float(t[-1])):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        state = advance(middle)
        if np.sign(signs(stop, np.array([middle]), state[0][None], state[1][None])[0]) == np.sign(before):
            low, best = middle, state
        else:
            high = middle
    return (low, best) if best is not None else (start, None)


__all__ = [
    "CHANGE_POINT",
    "DONE",
    "MOST_STEPS",
    "REASONS",
    "Job",
    "Stop",
    "bisected",
    "crossing",
    "signs",
    "taken_again",
]
