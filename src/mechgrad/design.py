"""What is best: variables, scenarios, goals and limits of a `DesignProblem`, and its answer.

>>> import mechgrad as mg
>>> "WorstCase" in dir(mg.design)
True
"""

from mechgrad.optimization.design import *  # noqa: F403
from mechgrad.optimization.design import __all__ as __all__
from mechgrad.renamed import renamed

__getattr__ = renamed("design")


def __dir__() -> list[str]:
    return __all__
