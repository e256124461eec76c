"""Equations of motion that `simulate` can take: what is integrated, and how constraints are kept.

>>> import mechgrad as mg
>>> "ALI3P" in dir(mg.formulations)
True
"""

from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.dynamics.fully_recursive import FullyRecursive
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.penalty import Penalty
from mechgrad.dynamics.semi_recursive import SemiRecursive

__all__ = [
    "ALI3P",
    "FullyRecursive",
    "Index1",
    "MatrixR",
    "Penalty",
    "SemiRecursive",
]


def __dir__() -> list[str]:
    return __all__
