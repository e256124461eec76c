"""Where is it? Poses, velocities, accelerations and Jacobians of bodies, points and vectors; knows no mass and no
force."""

from mechgrad.kinematics.assembly import solve_accelerations, solve_velocities
from mechgrad.kinematics.bodies import BodyMotion, body_jacobian, body_motion
from mechgrad.kinematics.marker_motions import (
    MarkerDerivatives,
    MarkerMotion,
    contracted_hessian,
    marker_derivatives,
    marker_jacobian,
    marker_motion,
)
from mechgrad.kinematics.mobility import independent_coordinates

__all__ = [
    "BodyMotion",
    "MarkerDerivatives",
    "MarkerMotion",
    "body_jacobian",
    "body_motion",
    "contracted_hessian",
    "independent_coordinates",
    "marker_derivatives",
    "marker_jacobian",
    "marker_motion",
    "solve_accelerations",
    "solve_velocities",
]


def __dir__() -> list[str]:
    return __all__
