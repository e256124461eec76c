"""What Matrix R chose along a motion, step by step: made by a march, or held for one that is taken again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from mechgrad.dynamics.system import System
from mechgrad.model.mechanism import AT_COORDS, AT_ROWS, N_ALL, R_FIRST, ROW
from mechgrad.steps.independent.kernels.choices import HOLDS, NAMED, NOTED, RANK, STEP, Choice
from mechgrad.typing import Array, FloatArray, IntArray

FIRST_CAPACITY = 64  # for changes, that a march first has


class Chosen(NamedTuple):
    """What is chosen from an instant on: names of independent coordinates, and of constraint rows that are solved (the
    others depend on these)."""

    t: float
    independent: tuple[str, ...]
    rows: tuple[str, ...]


@final
@dataclass(frozen=True, eq=False)
class Choices:
    """Rows of W = [Gamma; B] along a motion. Parts of divided steps count as steps here (`steps.cuts.place`).

    first : (k,) the steps from which on each choice holds, 0 first;   times : (k,) their instants [s]
    picks : (k, n_v) rows of the record, `rank` constraints first
    named : whether the coordinates are those that a user named
    """

    first: IntArray
    times: FloatArray
    picks: IntArray
    rank: int
    named: bool

    def at(self, steps: IntArray) -> IntArray:
        """The rows of W in steps (N,), as (N, n_v)."""
        which = np.searchsorted(self.first, steps, side="right") - 1
        return np.asarray(self.picks[which])

    def changes(self, first: int, last: int) -> IntArray:
        """Numbers of the steps first < i < last from which on others hold."""
        inside = (self.first > first) & (self.first < last)
        return np.unique(self.first[inside])

    def described(self, system: System) -> tuple[Chosen, ...]:
        """In words, for those who look at a motion."""
        n_rows, rank = system.n_rows, self.rank
        return tuple(
            Chosen(
                float(t),
                tuple(system.independent[k - n_rows] for k in pick[rank:]),
                tuple(system.names[k] for k in pick[:rank]),
            )
            for t, pick in zip(self.times, self.picks, strict=True)
        )


@final
class Choosing:
    """The choice of a march under way.

    record : what kernels read and change
    """

    def __init__(self, system: System, choices: Choices, *, hold: bool = False, step: int = 0) -> None:
        """From `choices` at some step on; hold: make those that follow, and no others."""
        self.choices = choices
        before = max(int(np.searchsorted(choices.first, step, side="left")) - 1, 0)
        n, m = choices.picks.shape[1], system.n_constraints
        counts = np.zeros(6, np.int64)
        counts[[RANK, NAMED, HOLDS, STEP]] = choices.rank, choices.named, hold, step
        columns = np.full(n, -1, np.int64) if choices.named else coordinate_rows(system)
        held = np.column_stack([choices.first, choices.picks])[before + 1 :]
        self.record = Choice(
            choices.picks[before].copy(), np.zeros(n, np.int64), columns, np.ascontiguousarray(held),
            np.zeros((FIRST_CAPACITY, 1 + n), np.int64), np.zeros(FIRST_CAPACITY), counts, np.zeros(2),
            np.zeros((m + n) * n), np.zeros(m + 2 * n, np.int64), np.zeros(system.model.n_q),
        )  # fmt: skip

    def run(self, march: Callable[[Choice], Any], enough: Callable[[Any], bool] = lambda found: True) -> Any:
        """What a march returns; it is repeated with a longer log if that did not hold its changes, or not `enough`
        for what else it found."""
        while True:
            record, before = self.record, self.saved()
            found = march(record)
            noted, capacity = int(record.counts[NOTED]), len(record.log)
            if noted <= capacity and enough(found):
                return found
            self.back_to(before)
            if noted > capacity:
                log, times = np.zeros((2 * noted, record.log.shape[1]), np.int64), np.zeros(2 * noted)
                log[:capacity], times[:capacity] = record.log, record.times
                self.record = record._replace(log=log, times=times)

    def extend_log(self, changes: int) -> None:
        """Let the log hold some changes more than were noted, at least."""
        record = self.record
        noted, capacity = int(record.counts[NOTED]), len(record.log)
        if noted + changes > capacity:
            more = max(2 * capacity, noted + changes)
            log, times = np.zeros((more, record.log.shape[1]), np.int64), np.zeros(more)
            log[:noted], times[:noted] = record.log[:noted], record.times[:noted]
            self.record = record._replace(log=log, times=times)

    def saved(self) -> list[Array]:
        """What a march changes, as it is now."""
        return [x.copy() for x in (self.record.pick, self.record.counts, self.record.sizes)]

    def back_to(self, saved: list[Array]) -> None:
        """As it was when that was saved: steps since then are to be taken again."""
        for x, before in zip((self.record.pick, self.record.counts, self.record.sizes), saved, strict=True):
            x[:] = before

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return int(self.record.counts[STEP])

    def taken(self) -> Choices:
        """What was chosen, so far."""
        record, start = self.record, self.choices
        if record.counts[HOLDS]:
            return start
        noted = int(record.counts[NOTED])
        log, times = record.log[:noted], record.times[:noted]
        used = log[:, 0] < record.counts[STEP]
        # of several at one step only the last was used
        used &= np.append(log[1:, 0] != log[:-1, 0], True) if noted else used
        first, picks = np.append(start.first[:1], log[used, 0]), np.vstack([start.picks[:1], log[used, 1:]])
        times = np.append(start.times[:1], times[used])
        if len(first) > 1 and first[1] == 0:
            first, picks, times = first[1:], picks[1:], times[1:]
        return Choices(first, times, picks, start.rank, start.named)


def chosen(
    choosing: Choosing | None, march: Callable[[Choice | None], Any], enough: Callable[[Any], bool] = lambda found: True
) -> Any:
    """`Choosing.run`, where there is something to choose; the march alone where there is not."""
    if choosing is not None:
        return choosing.run(march, enough)
    while True:
        found = march(None)
        if enough(found):
            return found


def coordinate_rows(system: System) -> IntArray:
    """The row that makes each velocity's coordinate independent, -1 where there is none; of joint coordinates that are
    offered without having been named."""
    ints, first, last = system.T.ints, system.n_rows, int(system.T.ints[N_ALL])
    out = np.full(system.model.n_v, -1, np.int64)
    for k in range(first, last):
        coordinate = int(ints[ints[AT_ROWS] + ROW * k + R_FIRST])
        out[ints[ints[AT_COORDS] + 2 * coordinate + 1]] = k
    return out
