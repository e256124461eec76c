"""Motions that are best: joint profiles as splines, torques by inverse dynamics, a sparse program with exact
derivatives."""

from mechgrad.optimization.motion.problem import MotionProblem
from mechgrad.optimization.motion.solution import MotionSolution
from mechgrad.optimization.motion.splines import Splines
from mechgrad.optimization.motion.terms import (
    At,
    Duration,
    Free,
    FreeNumber,
    JointLimits,
    PointLimits,
    TorqueLimits,
    TorqueSquares,
)

__all__ = [
    "At",
    "Duration",
    "Free",
    "FreeNumber",
    "JointLimits",
    "MotionProblem",
    "MotionSolution",
    "PointLimits",
    "Splines",
    "TorqueLimits",
    "TorqueSquares",
]
