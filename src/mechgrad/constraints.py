"""What holds it: rows that joints do not have, and motions that are prescribed.

>>> import mechgrad as mg
>>> "Constraint" in dir(mg.constraints)
True
"""

from mechgrad.model import (
    AngleBetween,
    Constraint,
    DotProduct,
    Driver,
    FixedDistance,
    Gear,
    GuidedPoint,
    LinearCombination,
    Parallel,
    PointInPlane,
    PointOnCurve,
    PointOnLine,
    Rolling,
    SamePoint,
    SameVector,
)

__all__ = [
    "AngleBetween",
    "Constraint",
    "DotProduct",
    "Driver",
    "FixedDistance",
    "Gear",
    "GuidedPoint",
    "LinearCombination",
    "Parallel",
    "PointInPlane",
    "PointOnCurve",
    "PointOnLine",
    "Rolling",
    "SamePoint",
    "SameVector",
]


def __dir__() -> list[str]:
    return __all__
