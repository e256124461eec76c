"""What acts on it: springs, contacts, tyres, motors and laws of your own, and the quantities such laws read.

>>> import mechgrad as mg
>>> "Force" in dir(mg.forces)
True
"""

from mechgrad.model import (
    Bushing,
    Coordinate,
    Force,
    Height,
    JointFriction,
    JointSpring,
    Motor,
    Offset,
    Separation,
    SphereContact,
    SpringCurve,
    SpringDamper,
    TorsionSpring,
    Tyre,
    UserForce,
    WheelContact,
)

__all__ = [
    "Bushing",
    "Coordinate",
    "Force",
    "Height",
    "JointFriction",
    "JointSpring",
    "Motor",
    "Offset",
    "Separation",
    "SphereContact",
    "SpringCurve",
    "SpringDamper",
    "TorsionSpring",
    "Tyre",
    "UserForce",
    "WheelContact",
]


def __dir__() -> list[str]:
    return __all__
