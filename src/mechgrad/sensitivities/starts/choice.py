"""Which derivative belongs to which start."""

from __future__ import annotations

from typing import Any

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.sensitivities.starts.assembled import AssembledStart
from mechgrad.sensitivities.starts.base import Start
from mechgrad.sensitivities.starts.given import GivenStart
from mechgrad.sensitivities.starts.rest import RestStart


def start_of(motion: Any) -> Start:
    """How a motion started: from given numbers, from `assemble` or from `equilibrium`."""
    found = motion.start
    if found is None:
        return GivenStart(motion.system, motion.q[0], motion.v[0], float(motion.t[0]))
    if isinstance(found, Equilibrium):
        return RestStart(found)
    return AssembledStart(found)
