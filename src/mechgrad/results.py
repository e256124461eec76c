"""What verbs return, for type hints.

>>> import mechgrad as mg
>>> "Equilibrium" in dir(mg.results)
True
"""

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.inverse.forward import ForwardDynamicsDerivatives
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.inverse.tree_reactions import JointReactions
from mechgrad.kinematics.mobility import Mobility
from mechgrad.linearisation import Linearisation, LinearisationDerivatives, Locus, Mode
from mechgrad.mechanics.efforts import Efforts
from mechgrad.mechanics.power import Power
from mechgrad.model import Joint, Parameter
from mechgrad.sensitivities import BatchCertificate, BatchGradient, CombinedGradient, MotionSensitivities
from mechgrad.simulation.guided import GuidedMotion
from mechgrad.simulation.recipe import Recipe
from mechgrad.simulation.saved import SavedMotion

__all__ = [
    "BatchCertificate",
    "BatchGradient",
    "CombinedGradient",
    "Efforts",
    "Equilibrium",
    "ForwardDynamicsDerivatives",
    "GuidedMotion",
    "InverseDynamicsDerivatives",
    "Joint",
    "JointReactions",
    "Linearisation",
    "LinearisationDerivatives",
    "Locus",
    "Mobility",
    "Mode",
    "MotionSensitivities",
    "Parameter",
    "Power",
    "Recipe",
    "SavedMotion",
]


def __dir__() -> list[str]:
    return __all__
