"""What gradients are of: numbers of a motion, made of measures, and the data that motions are compared with.

>>> import mechgrad as mg
>>> "Tracking" in dir(mg.objectives)
True
"""

from mechgrad.sensitivities.objectives import AtEnd, AtTime, EndTime, Integral, Objective, Term, smooth_abs
from mechgrad.sensitivities.several_instants import AtTimes, SmoothMaximum
from mechgrad.sensitivities.tracking import Samples, Tracking

__all__ = [
    "AtEnd", "AtTime", "AtTimes", "EndTime", "Integral", "Objective", "Samples", "SmoothMaximum", "Term", "Tracking",
    "smooth_abs",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
