"""What is it? Bodies, joints, markers, design variables and the Model they make; knows nothing of motion or forces."""

from mechgrad.model.body import Body
from mechgrad.model.dh import DHRow, dh_model
from mechgrad.model.joints import (
    BALL,
    FIXED,
    JOINT_TYPES,
    PRISMATIC,
    REVOLUTE,
    Atom,
    Cardan,
    Cylindrical,
    DenavitHartenberg,
    Fixed,
    Floating,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from mechgrad.model.markers import Point, Vector
from mechgrad.model.model import Model
from mechgrad.model.parameters import Parameter
from mechgrad.model.topology import (
    BranchMatrices,
    Topology,
    branch_matrices,
    canonical_order,
    is_canonical,
    joint_parent_matrix,
    parents_from_branches,
    renumber,
)
from mechgrad.model.variables import DesignVariable

__all__ = [
    "BALL",
    "FIXED",
    "JOINT_TYPES",
    "PRISMATIC",
    "REVOLUTE",
    "Atom",
    "Body",
    "BranchMatrices",
    "Cardan",
    "Cylindrical",
    "DHRow",
    "DenavitHartenberg",
    "DesignVariable",
    "Fixed",
    "Floating",
    "Joint",
    "Model",
    "Parameter",
    "Planar",
    "Point",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Topology",
    "Universal",
    "Vector",
    "branch_matrices",
    "canonical_order",
    "dh_model",
    "is_canonical",
    "joint_parent_matrix",
    "parents_from_branches",
    "renumber",
]
