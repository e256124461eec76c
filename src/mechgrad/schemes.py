"""Schemes that `simulate` can take: how time advances.

>>> import mechgrad as mg
>>> "Trapezoidal" in dir(mg.schemes)
True
"""

from mechgrad.steps.runge_kutta.dop853 import DOP853
from mechgrad.steps.runge_kutta.rk4 import RK4, RungeKutta
from mechgrad.steps.schemes import HHT, GeneralizedAlpha, Newmark, Trapezoidal

__all__ = [
    "DOP853",
    "HHT",
    "RK4",
    "GeneralizedAlpha",
    "Newmark",
    "RungeKutta",
    "Trapezoidal",
]


def __dir__() -> list[str]:
    return __all__
