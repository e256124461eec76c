"""Measures: what objectives are made of."""

from mechgrad.sensitivities.measures.base import Gradients, Measure, Partials, StateSamples
from mechgrad.sensitivities.measures.energies import KineticEnergy, PotentialEnergy
from mechgrad.sensitivities.measures.forces import Effort, Multiplier
from mechgrad.sensitivities.measures.joints import JointAcceleration, JointCoordinate, JointVelocity
from mechgrad.sensitivities.measures.points import Angle, Distance, PointAcceleration, PointPosition, PointVelocity
from mechgrad.sensitivities.measures.reactions import JointReaction

__all__ = [
    "Angle",
    "Distance",
    "Effort",
    "Gradients",
    "JointAcceleration",
    "JointCoordinate",
    "JointReaction",
    "JointVelocity",
    "KineticEnergy",
    "Measure",
    "Multiplier",
    "Partials",
    "PointAcceleration",
    "PointPosition",
    "PointVelocity",
    "PotentialEnergy",
    "StateSamples",
]  # fmt: skip
