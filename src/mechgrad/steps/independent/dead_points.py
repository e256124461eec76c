"""Where independent coordinates cease to determine a motion: how that is told from other ends of a march."""

from __future__ import annotations

from mechgrad.dynamics.kernels.state_accelerations import (
    CHANGE_POINT,
    DEAD_POINT,
    NOT_CONVERGED,
    SINGULAR,
    STUCK,
    TOO_SMALL,
)
from mechgrad.dynamics.system import System
from mechgrad.steps.independent.candidates import least_determined, rank_left
from mechgrad.steps.independent.choices import Choosing
from mechgrad.typing import Array

NEAR_DEAD_POINT = 0.3  # least singular value of [Gamma; B] beside the largest, where a march broke off
AT_DEAD_POINT = 0.03  # the same, where no part of the step can do better
NEAR_CHANGE_POINT = 0.1  # the same of Gamma alone, beside what it was at the start

NO_CHOICE = (DEAD_POINT, NOT_CONVERGED, SINGULAR, STUCK, TOO_SMALL)  # how marches of Matrix R end at dead points


def closer_reason(
    system: System, reason: int, choosing: Choosing | None, t: float, start: Array, start_time: float
) -> int:
    """The reason why a march ended, looked at closely: a change point where Gamma itself loses rank."""
    if choosing is None or reason not in NO_CHOICE:
        return reason
    choices = choosing.taken()
    now = rank_left(system, choices, choosing.record.last, t)
    return CHANGE_POINT if now < NEAR_CHANGE_POINT * rank_left(system, choices, start, start_time) else reason


def is_undetermined_there(system: System, reason: int, choosing: Choosing, t: float) -> bool:
    """Whether the independent coordinates may be why a march ended; steps also become too small for others."""
    if reason in (STUCK, TOO_SMALL):
        return least_determined(system, choosing.taken(), choosing.record.last, t)[1] < NEAR_DEAD_POINT
    return True


def at_dead_point(system: System, choosing: Choosing, t: float) -> bool:
    """Whether no part of the step that failed can do better."""
    return least_determined(system, choosing.taken(), choosing.record.last, t)[1] < AT_DEAD_POINT


def dead_point_hint(system: System, choosing: Choosing, t: float) -> str:
    """What to do where Matrix R cannot go on, and which independent coordinate is at its turning point there."""
    choices = choosing.taken()
    name, share = least_determined(system, choices, choosing.record.last, t)
    text, more = f"{name!r} is at its turning point there, and does not tell how the motion goes on", ""
    if share >= NEAR_DEAD_POINT:
        text = "The independent coordinates may not determine the motion any more"
        more = " A shorter step may help."
    if choices.named:
        chosen = choices.described(system)[-1].independent
        remedy = f"choose others, MatrixR([...]), than {', '.join(map(repr, chosen))}, or leave the choice to MatrixR()"
    else:
        remedy = "no joint coordinates tell there; take a shorter step"
    return f"{text}: {remedy}; start anew from there; or take ALI3P or Index1, which need none.{more}"
