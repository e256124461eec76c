"""An elastic mount between two bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.forces.base import Force
from mechgrad.model.primitives.attached import POINT, Attached, Where, check_not_negative
from mechgrad.model.primitives.fields import quaternion, vector
from mechgrad.model.primitives.frames import quaternion_to_matrix
from mechgrad.model.primitives.rows import PLANE, SKEW, SPRING, Law, Place, Row
from mechgrad.model.primitives.rows import vector as direction
from mechgrad.typing import ArrayField, Number

_NONE = (0.0, 0.0, 0.0)
_UNTURNED = (1.0, 0.0, 0.0, 0.0)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bushing(Force):
    """Six springs with dampers between two bodies: three against displacement, three against rotation.

        F_i = k_i d_i + c_i d_i',      d_i = a_i . (x_b - x_a)
        T_i = K_i s_i + C_i s_i',      s = (a_z.b_y - a_y.b_z,  a_x.b_z - a_z.b_x,  a_y.b_x - a_x.b_y) / 2

    a_x, a_y, a_z are the axes of a frame fixed to the body of point_a, b_x, b_y, b_z those of a frame fixed to the body
    of point_b. For a rotation of b against a by an angle phi about a unit vector w, s = w sin(phi): the rotation
    itself while it is small; beyond a quarter turn the stiffness is negative. Everything is derived from the potential
    sum (k_i d_i^2 + K_i s_i^2) / 2, so that energy is conserved without damping. Smooth (C-infinity).

    Attributes
    ----------
    point_a, point_b : str
        Points that coincide at rest.
    stiffness, damping : (3,) array
        k [N/m] and c [N s/m] along a_x, a_y, a_z. Paths `name.stiffness.x`, ...
    rotational_stiffness, rotational_damping : (3,) array
        K [N m/rad] and C [N m s/rad] about a_x, a_y, a_z. Paths `name.rotational_stiffness.x`, ...
    orientation_a, orientation_b : (4,) array
        Quaternions (w, x, y, z) of the two frames in the axes of their bodies; without them, the axes of the bodies.
        Paths `name.orientation_a.w`, ...

    Damping must not be negative.

    >>> Bushing("mount", "engine attachment", "frame pad", stiffness=(1e5, 1e5, 3e5), damping=(50, 50, 50))
    Bushing('mount', 'engine attachment', 'frame pad', stiffness=(100000, 100000, 300000), damping=(50, 50, 50))
    """

    type_name: ClassVar[str] = "bushing"

    point_a: str = field(metadata=POINT)
    point_b: str = field(metadata=POINT)
    stiffness: ArrayField = field(default=_NONE, metadata=vector("force", "N/m"))
    damping: ArrayField = field(default=_NONE, metadata=vector("force", "N s/m"))
    rotational_stiffness: ArrayField = field(default=_NONE, metadata=vector("force", "N m/rad"))
    rotational_damping: ArrayField = field(default=_NONE, metadata=vector("force", "N m s/rad"))
    orientation_a: ArrayField = field(default=_UNTURNED, metadata=quaternion("force"))
    orientation_b: ArrayField = field(default=_UNTURNED, metadata=quaternion("force"))

    def check(self) -> None:
        """Raise for negative damping, and for a quaternion of length zero."""
        Attached.check(self)
        check_not_negative(self, "damping", "rotational_damping")

    def laws(self, where: Where) -> tuple[Law, ...]:
        x_a, x_b = where(self.point_a), where(self.point_b)
        a, b = _axes(x_a.body, self.orientation_a), _axes(x_b.body, self.orientation_b)
        laws = [
            _spring(Row(PLANE, (a[i], x_b, x_a), label=f"displacement {axis}"), self.stiffness[i], self.damping[i])
            for i, axis in enumerate("xyz")
        ]
        for i, axis in enumerate("xyz"):
            j, k = (i + 1) % 3, (i + 2) % 3
            row = Row(SKEW, (a[k], b[j], a[j], b[k]), label=f"rotation {axis}")
            laws.append(_spring(row, self.rotational_stiffness[i], self.rotational_damping[i]))
        return tuple(laws)


def _axes(body: str, orientation: ArrayField) -> tuple[Place, ...]:
    return tuple(direction(body, column) for column in quaternion_to_matrix(orientation).T)


def _spring(row: Row, stiffness: Number, damping: Number) -> Law:
    return Law(SPRING, (row,), (stiffness, damping, 0.0))
