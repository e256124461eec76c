"""Horizons that grow: short motions first, each optimum the start of the next longer one.

    shares 0.25, 0.5     the first quarter of every motion, its first half, and then all of it

A long motion is a function of its numbers with many folds (a swing that may be one turn off at the end), a short one is
not: the optimum of the short one lies in the right valley of the longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, Protocol, TypeVar

from mechgrad.errors import InputError
from mechgrad.optimization.design.goals import Goal
from mechgrad.optimization.design.requirements import Limit
from mechgrad.optimization.design.scenario import Scenario


class _Question(Protocol):
    """What is read of a `DesignProblem`."""

    @property
    def variables(self) -> Any: ...
    @property
    def constraints(self) -> Any: ...
    @property
    def goal(self) -> Goal: ...
    @property
    def scenarios(self) -> Any: ...


Problem = TypeVar("Problem", bound=_Question)


def checked_shares(given: Any) -> tuple[float, ...]:
    """Shares of the durations, increasing, below one."""
    shares = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    good = all(isinstance(x, Real) and not isinstance(x, bool) and 0.0 < float(x) < 1.0 for x in shares)
    if not good or any(b <= a for a, b in pairwise(shares)):
        raise InputError(
            f"horizons is {given!r}; give increasing shares of the durations between 0 and 1, such as (0.25, 0.5). The "
            "whole motion follows by itself."
        )
    return tuple(float(x) for x in shares)


def shortened(problem: Problem, share: float) -> Problem:
    """The same question about the first share of every motion: what is asked of later instants is left out, what is
    asked of the end is asked of the earlier one."""
    parts = [scenario.repeat.shortened(share) for scenario in problem.scenarios]
    scenarios = tuple(
        Scenario(repeat, s.name, s.weight) for s, (repeat, _) in zip(problem.scenarios, parts, strict=True)
    )
    ends = {s.name: end for s, (_, end) in zip(problem.scenarios, parts, strict=True)}
    constraints = [
        part for x in problem.constraints for part in (x.until(ends) if isinstance(x, Limit) else (x,))
    ]  # fmt: skip
    made: Callable[..., Problem] = type(problem)
    return made(scenarios, problem.variables, problem.goal.until(ends), constraints)
