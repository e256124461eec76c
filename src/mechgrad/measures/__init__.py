"""What is measured? Numbers of states, each stated once: values, derivatives, and the row that it is, if it is one."""

from mechgrad.measures.angle import Angle as Angle
from mechgrad.measures.base import Measure as Measure
from mechgrad.measures.distance import Distance as Distance
from mechgrad.measures.energies import KineticEnergy as KineticEnergy
from mechgrad.measures.energies import PotentialEnergy as PotentialEnergy
from mechgrad.measures.forces import Effort as Effort
from mechgrad.measures.forces import Multiplier as Multiplier
from mechgrad.measures.geometric import GeometricMeasure as GeometricMeasure
from mechgrad.measures.height import Height as Height
from mechgrad.measures.joints import JointAcceleration as JointAcceleration
from mechgrad.measures.joints import JointCoordinate as JointCoordinate
from mechgrad.measures.joints import JointVelocity as JointVelocity
from mechgrad.measures.momenta import AngularMomentum as AngularMomentum
from mechgrad.measures.momenta import CentreOfMass as CentreOfMass
from mechgrad.measures.momenta import Momentum as Momentum
from mechgrad.measures.offset import Offset as Offset
from mechgrad.measures.points import PointAcceleration as PointAcceleration
from mechgrad.measures.points import PointPosition as PointPosition
from mechgrad.measures.points import PointVelocity as PointVelocity
from mechgrad.measures.reactions import JointReaction as JointReaction
from mechgrad.measures.tyre_contact import TyreContact as TyreContact
from mechgrad.renamed import renamed

__all__ = sorted(name for name, thing in globals().items() if isinstance(thing, type) and issubclass(thing, Measure))
__getattr__ = renamed("measures")


def __dir__() -> list[str]:
    return __all__
