"""Models drawn from points and vectors, or from Denavit-Hartenberg tables, and coordinates of such drawings.

>>> import mechgrad as mg
>>> "model_from_points" in dir(mg.drawing)
True
"""

from mechgrad.kinematics.from_points import coordinates_from_points, velocities_from_points
from mechgrad.model import DenavitHartenberg, DHRow
from mechgrad.model.natural import (
    InPlane,
    NaturalBody,
    NaturalModel,
    OnLine,
    Perpendicular,
    UserCoordinate,
    model_from_points,
)
from mechgrad.renamed import renamed

__all__ = [
    "DHRow",
    "DenavitHartenberg",
    "InPlane",
    "NaturalBody",
    "NaturalModel",
    "OnLine",
    "Perpendicular",
    "UserCoordinate",
    "coordinates_from_points",
    "model_from_points",
    "velocities_from_points",
]

__getattr__ = renamed("drawing")


def __dir__() -> list[str]:
    return __all__
