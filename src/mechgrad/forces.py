"""What acts on it: springs, contacts, tyres, motors and laws of your own (which read `measures`).

>>> import mechgrad as mg
>>> "Force" in dir(mg.forces)
True
"""

from mechgrad.model import (
    BodyContact,
    Bushing,
    EllipseTyre,
    Force,
    JointFriction,
    JointSpring,
    MagicFormulaTyre,
    Motor,
    SphereContact,
    SpringCurve,
    SpringDamper,
    TorsionSpring,
    Tyre,
    UserForce,
    WheelContact,
)
from mechgrad.renamed import renamed

__all__ = [
    "BodyContact",
    "Bushing",
    "EllipseTyre",
    "Force",
    "JointFriction",
    "JointSpring",
    "MagicFormulaTyre",
    "Motor",
    "SphereContact",
    "SpringCurve",
    "SpringDamper",
    "TorsionSpring",
    "Tyre",
    "UserForce",
    "WheelContact",
]

__getattr__ = renamed("forces")


def __dir__() -> list[str]:
    return __all__
