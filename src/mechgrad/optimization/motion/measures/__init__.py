"""What can be limited, fixed or penalised along a motion; a new kind is one file."""

from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.composite import Composite
from mechgrad.optimization.motion.measures.coordinates import Coordinates, Profiles
from mechgrad.optimization.motion.measures.ground import GroundTorques, Stance
from mechgrad.optimization.motion.measures.joint_torques import CutForce, LoadSchedule, Torques
from mechgrad.optimization.motion.measures.joint_wrenches import Reactions
from mechgrad.optimization.motion.measures.point_motion import Points, PointVelocities
from mechgrad.optimization.motion.measures.sample_functions import Local, UserFunction

__all__ = [
    "Composite",
    "Coordinates",
    "CutForce",
    "GroundTorques",
    "LoadSchedule",
    "Local",
    "PointVelocities",
    "Points",
    "Profiles",
    "Reactions",
    "SampleFunction",
    "Stance",
    "Torques",
    "UserFunction",
]
