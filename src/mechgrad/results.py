"""What verbs return, for type hints.

>>> import mechgrad as mg
>>> "Equilibrium" in dir(mg.results)
True
"""

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.integrators.efforts import Efforts
from mechgrad.integrators.guided import GuidedMotion
from mechgrad.integrators.power import Power
from mechgrad.inverse.forward import ForwardDynamicsDerivatives
from mechgrad.inverse.reactions import JointReactions
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.kinematics.mobility import Mobility
from mechgrad.model import Joint, Parameter
from mechgrad.sensitivities import MotionSensitivities

__all__ = [
    "Efforts",
    "Equilibrium",
    "ForwardDynamicsDerivatives",
    "GuidedMotion",
    "InverseDynamicsDerivatives",
    "Joint",
    "JointReactions",
    "Mobility",
    "MotionSensitivities",
    "Parameter",
    "Power",
]


def __dir__() -> list[str]:
    return __all__
