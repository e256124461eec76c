"""Functions of time for drivers and motors; their numbers are parameters of the model.

>>> import mechgrad as mg
>>> "Function" in dir(mg.functions)
True
"""

from mechgrad.model import Constant, Function, Harmonic, Polynomial, Spline, Table

__all__ = [
    "Constant",
    "Function",
    "Harmonic",
    "Polynomial",
    "Spline",
    "Table",
]


def __dir__() -> list[str]:
    return __all__
