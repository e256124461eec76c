"""Why a march ends early, in words, and the error that carries what it had computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mechgrad.dynamics.kernels.state_accelerations import (
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
from mechgrad.errors import InputError
from mechgrad.kernels.interrupt import raised
from mechgrad.steps.cuts import FINEST
from mechgrad.steps.independent.choices import Choosing
from mechgrad.steps.independent.dead_points import NO_CHOICE, dead_point_hint, is_undetermined_there
from mechgrad.steps.lock_up import lock_up_hint
from mechgrad.steps.task import MOST_STEPS

if TYPE_CHECKING:
    from mechgrad.steps.record import Record
    from mechgrad.steps.task import Task

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


LOCKS_UP = (SINGULAR, TOO_SMALL, NOT_CONVERGED, STUCK)  # how marches end at the end of a linkage's reach


class MarchEnded(Exception):
    """A march could not go on: `reason` at time `t`, what to do, and the record until then."""

    def __init__(self, reason: int, t: float, record: Record, hint: str) -> None:
        super().__init__(f"{REASONS[reason]} at t = {t:.6g} s. {hint}")
        self.reason, self.t, self.record, self.hint = reason, t, record, hint


def ended(task: Task, reason: int, t: float, record: Record, hint: str, choosing: Choosing | None = None) -> MarchEnded:
    """The error that ends a march, with advice that fits its reason; raises what a user's law did instead, if one
    failed."""
    task.system.users.raise_pending()
    locked = ""
    if reason in LOCKS_UP and record.q.ndim == 2 and len(record.t) > 1:
        locked = lock_up_hint(task.system, record.q, record.t)
    return MarchEnded(reason, t, record, locked + _advice(task, reason, t, hint, choosing))


def _advice(task: Task, reason: int, t: float, hint: str, choosing: Choosing | None) -> str:
    if reason == CHANGE_POINT:
        return (
            f"{task.formulation.name} does not follow one of them in every case; ALI3P() with any implicit scheme and "
            "Index1() with explicit ones do."
        )
    if choosing is not None and reason in NO_CHOICE and is_undetermined_there(task.system, reason, choosing, t):
        return dead_point_hint(task.system, choosing, t)
    if reason == NOT_CONVERGED:
        hint = "Look for a lock-up or a hard impact there, or take another start."
        if task.step is not None and task.scheme.implicit and choosing is None:
            hint = f"Steps down to 1/{FINEST} of it did not either. {hint}"
        else:
            hint = f"Take a shorter step. {hint}"
        return hint + (" Index1() without a step (DOP853) tells what happens." if task.system.n_constraints else "")
    if reason == SINGULAR and task.system.n_constraints:
        return (
            "mg.mobility(model, q) names the constraints that depend on each other there. ALI3P() with a step and "
            "Index1() without one pass such configurations."
        )
    if reason == STUCK:
        return (
            "Forces that jump or are noisy there (a contact, a law in Python), or a singular configuration, leave no "
            "step accurate enough: look at what happens there, loosen rtol and atol, or take a fixed step."
        )
    return hint


def taken_again(reason: int, t: float) -> None:
    """Raise an error if steps that a motion had taken before could not be taken again until t."""
    if reason == INTERRUPTED:
        raise raised(None, "Steps of a motion were being taken again.")
    if reason != DONE:
        raise InputError(f"the steps could not be taken again, at {t:.6g} s: {REASONS[reason]}.")
