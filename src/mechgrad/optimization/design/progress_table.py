"""A search as it goes on: a live table on a terminal, a line per iteration elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table

from mechgrad.optimization.solvers.progress import Iteration, Progress, print_progress

SHOWN = 12  # iterations, the last ones
HEADINGS = ("iteration", "objective", "violation", "step", "time", "left at most")


def seconds_left(record: Iteration, max_iterations: int, time_limit: float | None) -> float:
    """What a search may still take [s]: the iterations that it may make at its pace, and not beyond its time.

    >>> seconds_left(Iteration(10, 1.0, 0.0, 0.1, 5.0), 30, None)
    10.0
    >>> seconds_left(Iteration(10, 1.0, 0.0, 0.1, 5.0), 30, 8.0)
    3.0
    """
    pace = record.time / max(record.iteration, 1)
    left = pace * max(max_iterations - record.iteration, 0)
    return left if time_limit is None else min(left, max(time_limit - record.time, 0.0))


def as_table(records: list[Iteration], max_iterations: int, time_limit: float | None) -> Table:
    """The last iterations as a table."""
    table = Table(*HEADINGS)
    for record in records[-SHOWN:]:
        left = seconds_left(record, max_iterations, time_limit)
        table.add_row(
            str(record.iteration), f"{record.objective:.6e}", f"{record.infeasibility:.1e}", f"{record.step:.1e}",
            f"{record.time:.2f} s", f"{left:.0f} s",
        )  # fmt: skip
    return table


@contextmanager
def shown(
    progress: Progress | bool | None, max_iterations: int, time_limit: float | None, console: Console | None = None
) -> Iterator[Progress | None]:
    """What a solver reports to: nothing, a function as it is, or a table for True."""
    if progress is not True:
        yield progress or None
        return
    console = Console() if console is None else console
    if not console.is_terminal:
        yield print_progress
        return
    records: list[Iteration] = []
    with Live(console=console, refresh_per_second=8) as live:

        def report(record: Iteration) -> None:
            records.append(record)
            live.update(as_table(records, max_iterations, time_limit))

        yield report
