"""Names of namespaces that moved, or are called otherwise now: asking for an old one tells where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

RENAMED: Final = {
    "forces.Separation": "measures.Distance",
    "forces.Coordinate": "measures.JointCoordinate",
    "forces.Height": "measures.Height",
    "forces.Offset": "measures.Offset",
    "drawing.UserDistance": "measures.Distance(..., name=...)",
    "drawing.UserAngle": "measures.Angle(..., name=...)",
    "motion.Distance": "motion.DistanceLimits",
    "measures.Objective": "objectives.Objective",
    "measures.Samples": "objectives.Samples",
    "measures.smooth_abs": "objectives.smooth_abs",
}


def renamed(space: str) -> Callable[[str], Any]:
    """The `__getattr__` of a namespace.

    >>> renamed("forces")("Separation")
    Traceback (most recent call last):
    AttributeError: module 'mechgrad.forces' has no attribute 'Separation'; it is mg.measures.Distance now
    """

    def __getattr__(name: str) -> Any:
        home = RENAMED.get(f"{space}.{name}")
        told = f"; it is mg.{home} now" if home else ""
        raise AttributeError(f"module 'mechgrad.{space}' has no attribute {name!r}{told}")

    return __getattr__
