"""The constraints, one file each; they know their rows, and nothing of the algorithms that run on them."""

from mechgrad.model.constraints.angle_between import AngleBetween
from mechgrad.model.constraints.base import Constraint
from mechgrad.model.constraints.dot_product import DotProduct
from mechgrad.model.constraints.driver import Driver
from mechgrad.model.constraints.fixed_distance import FixedDistance
from mechgrad.model.constraints.gear import Gear
from mechgrad.model.constraints.guided_point import GuidedPoint
from mechgrad.model.constraints.linear_combination import LinearCombination
from mechgrad.model.constraints.parallel import Parallel
from mechgrad.model.constraints.point_in_plane import PointInPlane
from mechgrad.model.constraints.point_on_curve import PointOnCurve
from mechgrad.model.constraints.point_on_line import PointOnLine
from mechgrad.model.constraints.rolling import Rolling
from mechgrad.model.constraints.same_point import SamePoint
from mechgrad.model.constraints.same_vector import SameVector

CONSTRAINT_TYPES: dict[str, type[Constraint]] = {
    cls.type_name: cls
    for cls in (
        SamePoint, FixedDistance, PointInPlane, PointOnLine, PointOnCurve, DotProduct, Parallel, SameVector,
        AngleBetween, LinearCombination, Gear, Driver, GuidedPoint, Rolling,
    )
}  # fmt: skip
"""The constraint class of each `type` in a model file."""

__all__ = [
    "CONSTRAINT_TYPES",
    "AngleBetween",
    "Constraint",
    "DotProduct",
    "Driver",
    "FixedDistance",
    "Gear",
    "GuidedPoint",
    "LinearCombination",
    "Parallel",
    "PointInPlane",
    "PointOnCurve",
    "PointOnLine",
    "Rolling",
    "SamePoint",
    "SameVector",
]
