"""How motions start, differentiated: one file per way to find a start. Knows nothing of what comes after it."""

from mechgrad.simulation.starts.base import POSITION, VELOCITY, Start
from mechgrad.simulation.starts.ways import start_of

__all__ = ["POSITION", "VELOCITY", "Start", "start_of"]
