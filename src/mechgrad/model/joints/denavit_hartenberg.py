"""A one-degree-of-freedom joint given by a Denavit-Hartenberg row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from mechgrad.errors import ValueRangeError, unknown_name
from mechgrad.model.joints.base import PRISMATIC, REVOLUTE, Atom, Joint
from mechgrad.model.joints.seat import Seat
from mechgrad.model.primitives.fields import scalar
from mechgrad.model.primitives.frames import rotation_x, rotation_z
from mechgrad.model.primitives.rows import Row
from mechgrad.typing import Array

KINDS = {"revolute": REVOLUTE, "prismatic": PRISMATIC}
ANGLE, LENGTH = scalar("dh", "rad"), scalar("dh", "m")
CONVENTIONS = ("standard", "modified")


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DenavitHartenberg(Joint):
    """A hinge or a slider along z, with the link's shape, in four numbers.

        standard (distal):    T(q) = Rz(theta) Tz(d) Tx(a) Rx(alpha)
        modified (proximal):  T(q) = Rx(alpha) Tx(a) Rz(theta) Tz(d)
        revolute: theta + sign q,   prismatic: d + sign q

    Attributes
    ----------
    kind : "revolute" or "prismatic"
    theta, alpha : float
        Angles [rad]. Paths `name.theta`, `name.alpha`.
    d, a : float
        Lengths [m]. Paths `name.d`, `name.a`.
    sign : 1 or -1
        Sense in which q counts.
    convention : "standard" or "modified"

    >>> DenavitHartenberg("dh.1", "ground", "link1", a=0.5)
    DenavitHartenberg('dh.1', 'ground', 'link1', a=0.5)
    """

    type_name: ClassVar[str] = "denavit-hartenberg"

    kind: str = "revolute"
    theta: float = field(default=0.0, metadata=ANGLE)
    d: float = field(default=0.0, metadata=LENGTH)
    a: float = field(default=0.0, metadata=LENGTH)
    alpha: float = field(default=0.0, metadata=ANGLE)
    sign: int = 1
    convention: str = "standard"

    def check(self) -> None:
        if self.kind not in KINDS:
            raise ValueRangeError(str(unknown_name("kind", self.kind, KINDS, f"joint {self.name!r}")))
        if self.convention not in CONVENTIONS:
            raise ValueRangeError(str(unknown_name("convention", self.convention, CONVENTIONS, f"joint {self.name!r}")))
        if self.sign not in (1, -1):
            raise ValueRangeError(f"joint {self.name!r}: sign = {self.sign!r} must be 1 or -1.")
        object.__setattr__(self, "sign", int(self.sign))

    @property
    def kinds(self) -> tuple[int, ...]:
        return (KINDS[self.kind],)

    def atoms(self) -> tuple[Atom, ...]:
        # sign = -1 turns the atom's z over by half a turn about x, exactly; the tail turns it back.
        flip = self._flip()
        E = rotation_z(self.theta) * flip
        r = np.zeros(3)
        if self.convention == "modified":
            E = rotation_x(self.alpha) @ E
            r = np.array([self.a, 0.0, 0.0])
        if self.kind == "prismatic":
            along = np.array([0.0, 0.0, self.d])
            r = r + (rotation_x(self.alpha) @ along if self.convention == "modified" else along)
        return (Atom(KINDS[self.kind], E, r),)

    def tail(self) -> tuple[Array, Array]:
        flip = self._flip()
        d = self.d if self.kind == "revolute" else 0.0
        if self.convention == "modified":
            return np.diag(flip), np.array([0.0, 0.0, self.sign * d])
        return flip[:, None] * rotation_x(self.alpha), np.array([self.a, 0.0, self.sign * d])

    def closure(self) -> tuple[Row, ...]:
        seat = Seat.of(self)
        if self.kind == "revolute":
            return (*seat.same_point(), *seat.same_axis())
        return (*seat.same_axis(), seat.same_angle(), *seat.on_axis())

    def coordinate_rows(self) -> tuple[Row, ...]:
        seat = Seat.of(self)
        return (seat.angle() if self.kind == "revolute" else seat.distance(),)

    def _flip(self) -> Array:
        return np.array([1.0, self.sign, self.sign])
