"""Schemes that `simulate` can take: how time advances.

>>> import mechgrad as mg
>>> "Trapezoidal" in dir(mg.schemes)
True
"""

from mechgrad.steps.schemes import DOP853, HHT, RK4, GeneralizedAlpha, Newmark, Trapezoidal

__all__ = [
    "DOP853",
    "HHT",
    "RK4",
    "GeneralizedAlpha",
    "Newmark",
    "Trapezoidal",
]


def __dir__() -> list[str]:
    return __all__
