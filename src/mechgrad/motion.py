"""Motions that are best: problems, what limits them, what they cost, and their solutions.

>>> import mechgrad as mg
>>> "MotionProblem" in dir(mg.motion)
True
"""

from mechgrad.optimization.motion import *  # noqa: F403
from mechgrad.optimization.motion import __all__ as __all__
from mechgrad.renamed import renamed

__getattr__ = renamed("motion")


def __dir__() -> list[str]:
    return __all__
