"""Recipes: all that makes a motion, as one value; and many motions at once.

>>> import mechgrad as mg
>>> "simulate_all" in dir(mg.recipes)
True
"""

from mechgrad.simulation.ensemble import SimulationsFailed, simulate_all
from mechgrad.simulation.recipe import Recipe

__all__ = ["Recipe", "SimulationsFailed", "simulate_all"]


def __dir__() -> list[str]:
    return __all__
