"""Which derivative belongs to which start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mechgrad.simulation.starts.assembled import AssembledStart
from mechgrad.simulation.starts.base import Start
from mechgrad.simulation.starts.given import GivenStart
from mechgrad.simulation.starts.rest import RestStart

WAYS: dict[str, Callable[[Any], Start]] = {"assembled": AssembledStart, "at rest": RestStart}


def start_of(motion: Any) -> Start:
    """How a motion started: from given numbers, from `assemble` or from `equilibrium`."""
    found = motion.start
    if found is None or found.way not in WAYS:
        return GivenStart(motion.system, motion.q[0], motion.v[0], float(motion.t[0]))
    return WAYS[found.way](found)
