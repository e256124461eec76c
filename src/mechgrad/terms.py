"""Terms of the equations of motion with all their derivatives, for those who build on them.

>>> import mechgrad as mg
>>> "motion_terms" in dir(mg.terms)
True
"""

from mechgrad.dynamics.terms import ConstraintTerms, MotionTerms, constraint_terms, motion_terms
from mechgrad.inverse.accumulation import SemiRecursiveTerms, semi_recursive_terms
from mechgrad.inverse.second_order import InverseDynamicsHessian
from mechgrad.inverse.tree_reactions import ReactionDerivatives
from mechgrad.mechanics.reaction_derivatives import joint_reactions_derivatives
from mechgrad.mechanics.torque_hessian import inverse_dynamics_gradient, inverse_dynamics_hessian
from mechgrad.model.pattern import Packed, Pattern

__all__ = [
    "ConstraintTerms",
    "InverseDynamicsHessian",
    "MotionTerms",
    "Packed",
    "Pattern",
    "ReactionDerivatives",
    "SemiRecursiveTerms",
    "constraint_terms",
    "inverse_dynamics_gradient",
    "inverse_dynamics_hessian",
    "joint_reactions_derivatives",
    "motion_terms",
    "semi_recursive_terms",
]


def __dir__() -> list[str]:
    return __all__
