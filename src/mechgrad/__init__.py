"""mechgrad: multibody dynamics with exact sensitivities.

Model a mechanism, ask where it is and what drives it, and differentiate the answers by state, geometry, masses and
loads.

>>> import mechgrad as mg
>>> model = mg.Model("pendulum", [mg.Body("bob", mass=2, com=(0, 0, -1))], [mg.Revolute("pin", "ground", "bob",
axis=(0, 1, 0))])
>>> tau = mg.inverse_dynamics(model, q=[1.57])
>>> D = mg.inverse_dynamics_derivatives(model, q=[1.57], wrt=["bob.mass", "bob.com.z"])
"""

from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.dynamics.equilibrium import Equilibrium, NoEquilibriumError, equilibrium
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.matrix_r import MatrixR
from mechgrad.dynamics.open_trees import FullyRecursive, SemiRecursive
from mechgrad.dynamics.penalty import Penalty
from mechgrad.dynamics.system import state_accelerations
from mechgrad.dynamics.terms import ConstraintTerms, MotionTerms, constraint_terms, motion_terms
from mechgrad.errors import (
    AssemblyError,
    CertificateError,
    IdleGravityWarning,
    InputError,
    MechgradError,
    MechgradWarning,
    ModelError,
    SingularMassMatrixError,
)
from mechgrad.integrators.efforts import Efforts
from mechgrad.integrators.guided import GuidedMotion, kinematic_motion
from mechgrad.integrators.reactions import Power, state_reactions
from mechgrad.integrators.schemes import DOP853, HHT, RK4, GeneralizedAlpha, Newmark, Trapezoidal
from mechgrad.integrators.simulate import simulate
from mechgrad.integrators.trajectory import StepFailed, Trajectory
from mechgrad.inverse.accumulation import SemiRecursiveTerms, semi_recursive_terms
from mechgrad.inverse.forward import (
    ForwardDynamicsDerivatives,
    forward_dynamics,
    forward_dynamics_derivatives,
    mass_matrix,
)
from mechgrad.inverse.loads import Load
from mechgrad.inverse.reactions import (
    JointReactions,
    ReactionDerivatives,
    joint_reactions,
    joint_reactions_derivatives,
)
from mechgrad.inverse.second_order import (
    InverseDynamicsHessian,
    inverse_dynamics_gradient,
    inverse_dynamics_hessian,
)
from mechgrad.inverse.spatial import InverseDynamicsDerivatives
from mechgrad.io import load_model, save_model
from mechgrad.kinematics.assembly import State, assemble, solve_accelerations, solve_velocities
from mechgrad.kinematics.bodies import BodyMotion, body_jacobian, body_motion
from mechgrad.kinematics.from_points import coordinates_from_points, velocities_from_points
from mechgrad.kinematics.markers import (
    MarkerDerivatives,
    MarkerMotion,
    contracted_hessian,
    marker_derivatives,
    marker_jacobian,
    marker_motion,
)
from mechgrad.kinematics.mobility import Mobility, independent_coordinates, mobility
from mechgrad.mechanics.torque_derivatives import inverse_dynamics_derivatives
from mechgrad.mechanics.torques import inverse_dynamics
from mechgrad.model import (
    AngleBetween,
    Body,
    Bushing,
    Cardan,
    Constant,
    Constraint,
    Coordinate,
    Cylindrical,
    DenavitHartenberg,
    DesignVariable,
    DHRow,
    DotProduct,
    Driver,
    Fixed,
    FixedDistance,
    Floating,
    Force,
    Function,
    Gear,
    GuidedPoint,
    Harmonic,
    Height,
    Joint,
    JointFriction,
    JointSpring,
    LinearCombination,
    Model,
    Motor,
    Offset,
    Parallel,
    Parameter,
    Planar,
    Point,
    PointInPlane,
    PointOnLine,
    Polynomial,
    Prismatic,
    Revolute,
    Rolling,
    SamePoint,
    SameVector,
    Separation,
    SphereContact,
    Spherical,
    Spline,
    SpringCurve,
    SpringDamper,
    Table,
    TorsionSpring,
    Tyre,
    Universal,
    UserForce,
    Vector,
    WheelContact,
    dh_model,
)
from mechgrad.model.natural import (
    InPlane,
    NaturalBody,
    NaturalModel,
    OnLine,
    Perpendicular,
    UserAngle,
    UserCoordinate,
    UserDistance,
    model_from_points,
)
from mechgrad.model.pattern import Packed, Pattern
from mechgrad.sensitivities import (
    Angle,
    AtEnd,
    AtTime,
    Certificate,
    Distance,
    Effort,
    Gradient,
    Integral,
    JointAcceleration,
    JointCoordinate,
    JointReaction,
    JointVelocity,
    KineticEnergy,
    Measure,
    MotionSensitivities,
    Multiplier,
    Objective,
    PointAcceleration,
    PointPosition,
    PointVelocity,
    PotentialEnergy,
    Samples,
    Tracking,
    certify,
    certify_model,
    gradient,
    motion_sensitivities,
    smooth_abs,
)

__version__ = "0.1.0"

# In the order a script uses them.
__all__ = [  # noqa: RUF022
    # what is it?
    "Model", "Body", "Point", "Vector",
    "Joint", "Fixed", "Revolute", "Prismatic", "Cylindrical", "Cardan", "Universal", "Planar", "Spherical", "Floating",
    "DenavitHartenberg", "DHRow", "dh_model", "DesignVariable", "Parameter", "save_model", "load_model",
    # what holds and drives it?
    "Constraint", "SamePoint", "FixedDistance", "PointInPlane", "PointOnLine", "DotProduct", "Parallel", "SameVector",
    "AngleBetween", "LinearCombination", "Gear", "Driver", "GuidedPoint", "Rolling",
    "Force", "SpringDamper", "SpringCurve", "JointSpring", "TorsionSpring", "Bushing", "Motor", "JointFriction",
    "SphereContact", "WheelContact", "Tyre", "UserForce", "Separation", "Coordinate", "Height", "Offset",
    "Function", "Constant", "Polynomial", "Harmonic", "Table", "Spline",
    "model_from_points", "NaturalBody", "NaturalModel", "Perpendicular", "OnLine", "InPlane", "UserDistance",
    "UserAngle", "UserCoordinate",
    # where is it?
    "body_motion", "BodyMotion", "body_jacobian", "marker_motion", "MarkerMotion", "marker_jacobian",
    "marker_derivatives", "MarkerDerivatives", "contracted_hessian",
    "assemble", "State", "solve_velocities", "solve_accelerations", "mobility", "Mobility", "independent_coordinates",
    "kinematic_motion", "GuidedMotion", "coordinates_from_points", "velocities_from_points",
    # what drives it, and what does it do?
    "Load", "inverse_dynamics", "inverse_dynamics_derivatives", "InverseDynamicsDerivatives",
    "inverse_dynamics_gradient", "inverse_dynamics_hessian", "InverseDynamicsHessian",
    "joint_reactions", "joint_reactions_derivatives", "JointReactions", "ReactionDerivatives", "mass_matrix",
    "forward_dynamics", "forward_dynamics_derivatives", "ForwardDynamicsDerivatives", "Packed", "Pattern",
    "semi_recursive_terms", "SemiRecursiveTerms", "state_accelerations", "motion_terms", "MotionTerms",
    "constraint_terms", "ConstraintTerms", "equilibrium", "Equilibrium", "state_reactions", "Power",
    # how does it move?
    "simulate", "Trajectory", "Efforts", "ALI3P", "MatrixR", "Index1", "Penalty", "SemiRecursive", "FullyRecursive",
    "Trapezoidal", "Newmark", "HHT", "GeneralizedAlpha", "RK4", "DOP853",
    # what if?
    "gradient", "Gradient", "motion_sensitivities", "MotionSensitivities", "Objective", "Integral", "AtEnd", "AtTime",
    "Tracking", "Samples", "smooth_abs", "Measure", "JointCoordinate", "JointVelocity", "JointAcceleration",
    "PointPosition", "PointVelocity", "PointAcceleration", "Distance", "Angle", "KineticEnergy", "PotentialEnergy",
    "Multiplier", "JointReaction", "Effort",
    # is it right?
    "certify", "certify_model", "Certificate",
    # what went wrong?
    "MechgradError", "ModelError", "InputError", "AssemblyError", "SingularMassMatrixError", "StepFailed",
    "NoEquilibriumError", "CertificateError", "MechgradWarning", "IdleGravityWarning",
]  # fmt: skip
