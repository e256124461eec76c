"""What verbs return, for type hints.

>>> import mechgrad as mg
>>> "Equilibrium" in dir(mg.results)
True
"""

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.inverse.forward import ForwardDynamicsDerivatives
from mechgrad.inverse.reactions import JointReactions
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.kinematics.mobility import Mobility
from mechgrad.mechanics.efforts import Efforts
from mechgrad.mechanics.power import Power
from mechgrad.model import Joint, Parameter
from mechgrad.sensitivities import MotionSensitivities
from mechgrad.simulation.guided import GuidedMotion
from mechgrad.simulation.recipe import Recipe

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
    "Recipe",
]


def __dir__() -> list[str]:
    return __all__
