"""Motions that are best: joint profiles as splines, torques by inverse dynamics, a sparse program with exact
derivatives."""

from mechgrad.optimization.motion.any_measure import Limits, Squares
from mechgrad.optimization.motion.constraints import (
    At,
    Coincident,
    DistanceLimits,
    JointLimits,
    KeepOut,
    Periodic,
    PointLimits,
    PointPath,
    ReactionLimits,
    SwingTogether,
    TorqueLimits,
    UserConstraint,
)
from mechgrad.optimization.motion.cost_terms import (
    Duration,
    Energy,
    ForceSquares,
    Free,
    FreeNumber,
    JerkSquares,
    PowerSquares,
    TorqueSquares,
    UserTerm,
)
from mechgrad.optimization.motion.ground_constraints import Contact, GroundFriction, ZeroMomentPoint
from mechgrad.optimization.motion.measures import (
    Coordinates,
    CutForce,
    LoadSchedule,
    Points,
    PointVelocities,
    Reactions,
    Stance,
    Torques,
)
from mechgrad.optimization.motion.overshoot import OvershootWarning
from mechgrad.optimization.motion.problem import MotionProblem
from mechgrad.optimization.motion.solution import GroundReactions, MotionSolution
from mechgrad.optimization.motion.splines import Splines

__all__ = [
    "At",
    "Coincident",
    "Contact",
    "Coordinates",
    "CutForce",
    "DistanceLimits",
    "Duration",
    "Energy",
    "ForceSquares",
    "Free",
    "FreeNumber",
    "GroundFriction",
    "GroundReactions",
    "JerkSquares",
    "JointLimits",
    "KeepOut",
    "Limits",
    "LoadSchedule",
    "MotionProblem",
    "MotionSolution",
    "OvershootWarning",
    "Periodic",
    "PointLimits",
    "PointPath",
    "PointVelocities",
    "Points",
    "PowerSquares",
    "ReactionLimits",
    "Reactions",
    "Splines",
    "Squares",
    "Stance",
    "SwingTogether",
    "TorqueLimits",
    "TorqueSquares",
    "Torques",
    "UserConstraint",
    "UserTerm",
    "ZeroMomentPoint",
]
