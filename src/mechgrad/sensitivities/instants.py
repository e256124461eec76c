"""Where objectives look at a motion: its reported instants, single ones that are asked for, and those that move with
its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mechgrad.errors import InputError
from mechgrad.measures.base import StateSamples
from mechgrad.sensitivities.objectives import Objective
from mechgrad.sensitivities.repeat import samples_of
from mechgrad.simulation.trajectory import Trajectory
from mechgrad.steps.dense import Reading
from mechgrad.typing import Array, FloatArray


class Instants(NamedTuple):
    """Where a motion is looked at: instants (S,), those that move with its end as shares of the way from `start` to it
    (NaN: they stay), how many are a grid (`StateSamples.grid`), and the rule that suits it."""

    t: FloatArray
    share: FloatArray
    start: float
    grid: int
    rule: str

    @property
    def moving(self) -> Array:
        """Which of them move."""
        return ~np.isnan(self.share)

    def at(self, end: float) -> FloatArray:
        """They themselves, where the motion ends at another instant."""
        return np.where(self.moving, self.start + (end - self.start) * np.nan_to_num(self.share), self.t)


def asked_instants(motion: Trajectory, terms: Sequence[Objective]) -> Instants:
    """The reported instants of a motion, and those that objectives ask for besides."""
    rule = samples_of(motion).rule
    return with_asked(motion.t, np.full(len(motion.t), np.nan), 0.0, rule, terms, motion.t[0], motion.t[-1])


def with_asked(
    grid: FloatArray, share: FloatArray, start: float, rule: str, terms: Sequence[Objective], first: float, last: float
) -> Instants:
    """A grid, and the instants that objectives ask for besides."""
    asked = np.array(sorted({t for objective in terms for _, term in objective.terms() for t in term.times}))
    if asked.size:
        still = grid[np.isnan(share)]
        asked = asked[~np.isclose(asked[:, None], still, rtol=0.0, atol=1e-9 * (last - first)).any(axis=1)]
    check_within(asked, float(first), float(last))
    nowhere = np.full(len(asked), np.nan)
    return Instants(np.concatenate([grid, asked]), np.append(share, nowhere), start, len(grid), rule)


def check_within(asked: FloatArray, first: float, last: float) -> None:
    """Raise for instants outside of a motion."""
    outside = (asked < first) | (asked > last)
    if outside.any():
        raise InputError(
            f"t = {asked[outside][0]:.9g} s of AtTime is not within the motion, which goes from {first:.9g} to "
            f"{last:.9g} s."
        )


def samples_read(motion: Trajectory, reading: Reading, instants: Instants) -> StateSamples:
    """The states of a reading, to be measured."""
    return StateSamples(
        motion.model, reading.states, motion.tau, motion.loads, motion.constraint_names, instants.rule, instants.grid
    )
