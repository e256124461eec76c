"""One line per iteration: what a solver has reached, and a printer for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Iteration:
    """What is known after one iteration.

    Attributes
    ----------
    iteration : int
        0 is the starting point.
    objective : float
        In the units of the program.
    infeasibility : float
        Largest violation of a constraint or bound, divided by its scale.
    step : float
        Largest change of a variable, divided by its scale.
    time : float
        Seconds since the start.
    """

    iteration: int
    objective: float
    infeasibility: float
    step: float
    time: float


Progress: TypeAlias = Callable[[Iteration], object]
"""Called once per iteration; returning False ends the solve."""


def print_progress(record: Iteration) -> None:
    """Print one line to standard output, with a heading every 20 lines.

    >>> print_progress(Iteration(0, 1.5, 0.25, 0.0, 0.125))
     iter       objective  infeasible      step    time
        0    1.500000e+00     2.5e-01   0.0e+00   0.12 s
    """
    if record.iteration % 20 == 0:
        sys.stdout.write(" iter       objective  infeasible      step    time\n")
    sys.stdout.write(
        f"{record.iteration:5d} {record.objective:15.6e}  {record.infeasibility:10.1e} {record.step:9.1e}"
        f" {record.time:6.2f} s\n"
    )
    sys.stdout.flush()
