"""The joints, one file each; they know their motion as atoms, and nothing of the algorithms that run on them."""

from mechgrad.model.joints.base import BALL, FIXED, PRISMATIC, REVOLUTE, Atom, Joint
from mechgrad.model.joints.cardan import Cardan, Universal
from mechgrad.model.joints.cylindrical import Cylindrical
from mechgrad.model.joints.denavit_hartenberg import DenavitHartenberg
from mechgrad.model.joints.fixed import Fixed
from mechgrad.model.joints.floating import Floating
from mechgrad.model.joints.planar import Planar
from mechgrad.model.joints.prismatic import Prismatic
from mechgrad.model.joints.revolute import Revolute
from mechgrad.model.joints.spherical import Spherical

JOINT_TYPES: dict[str, type[Joint]] = {
    cls.type_name: cls
    for cls in (Fixed, Revolute, Prismatic, Cylindrical, Cardan, Planar, Spherical, Floating, DenavitHartenberg)
}
"""The joint class of each `type` in a model file."""
JOINT_TYPES["universal"] = Cardan

__all__ = [
    "BALL",
    "FIXED",
    "JOINT_TYPES",
    "PRISMATIC",
    "REVOLUTE",
    "Atom",
    "Cardan",
    "Cylindrical",
    "DenavitHartenberg",
    "Fixed",
    "Floating",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]
