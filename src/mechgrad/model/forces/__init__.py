"""The force elements, one file each; they know their laws, and nothing of the algorithms that run on them."""

from mechgrad.model.forces.base import Force
from mechgrad.model.forces.body_contact import BodyContact
from mechgrad.model.forces.bushing import Bushing
from mechgrad.model.forces.ellipse_tyre import EllipseTyre
from mechgrad.model.forces.joint_friction import JointFriction
from mechgrad.model.forces.joint_spring import JointSpring
from mechgrad.model.forces.magic_formula_tyre import MagicFormulaTyre
from mechgrad.model.forces.motor import Motor
from mechgrad.model.forces.sphere_contact import SphereContact
from mechgrad.model.forces.spring_curve import SpringCurve
from mechgrad.model.forces.spring_damper import SpringDamper
from mechgrad.model.forces.torsion_spring import TorsionSpring
from mechgrad.model.forces.tyre import Tyre
from mechgrad.model.forces.user_force import UserForce
from mechgrad.model.forces.wheel_contact import WheelContact

FORCE_TYPES: dict[str, type[Force]] = {
    cls.type_name: cls
    for cls in (
        SpringDamper, SpringCurve, JointSpring, TorsionSpring, Bushing, Motor, JointFriction, SphereContact,
        WheelContact, Tyre, EllipseTyre, MagicFormulaTyre, BodyContact,
    )
}  # fmt: skip
"""The force class of each `type` in a model file; a UserForce is code and in none."""

__all__ = [
    "FORCE_TYPES",
    "BodyContact",
    "Bushing",
    "EllipseTyre",
    "Force",
    "JointFriction",
    "JointSpring",
    "MagicFormulaTyre",
    "Motor",
    "SphereContact",
    "SpringCurve",
    "SpringDamper",
    "TorsionSpring",
    "Tyre",
    "UserForce",
    "WheelContact",
]
