"""Quantities of a motion that objectives are made of, and what makes objectives of them.

>>> import mechgrad as mg
>>> "Measure" in dir(mg.measures)
True
"""

from mechgrad.sensitivities import (
    Angle,
    Distance,
    Effort,
    JointAcceleration,
    JointCoordinate,
    JointReaction,
    JointVelocity,
    KineticEnergy,
    Measure,
    Multiplier,
    Objective,
    PointAcceleration,
    PointPosition,
    PointVelocity,
    PotentialEnergy,
    Samples,
    smooth_abs,
)

__all__ = [
    "Angle",
    "Distance",
    "Effort",
    "JointAcceleration",
    "JointCoordinate",
    "JointReaction",
    "JointVelocity",
    "KineticEnergy",
    "Measure",
    "Multiplier",
    "Objective",
    "PointAcceleration",
    "PointPosition",
    "PointVelocity",
    "PotentialEnergy",
    "Samples",
    "smooth_abs",
]


def __dir__() -> list[str]:
    return __all__
