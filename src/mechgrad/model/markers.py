"""Points and directions fixed to a body, to be measured, loaded or constrained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from mechgrad.model.primitives import fields
from mechgrad.model.primitives.fields import check_name, check_nonzero, freeze_numbers, same, short_repr, vector
from mechgrad.typing import Array, ArrayField


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Point:
    """A point of a body: p_W = r_body + R_body position.

    Attributes
    ----------
    body : str
        The body it is fixed to; "ground" is the world.
    position : (3,) array
        From the body's origin, in body axes [m]. Paths `name.position.x`, `.y`, `.z`.

    >>> Point("tip", "arm", (1, 0, 0))
    Point('tip', 'arm', position=(1, 0, 0))
    """

    noun: ClassVar[str] = "point"

    name: str
    body: str
    position: ArrayField = field(default=(0.0, 0.0, 0.0), metadata=vector("point", "m"))

    def __post_init__(self) -> None:
        check_name(self, self.name)
        freeze_numbers(self)

    def check(self) -> None:
        """Any finite position is a point."""

    @property
    def local(self) -> Array:
        """The position, under the name that points and vectors share."""
        array: Array = self.position
        return array

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return short_repr(self)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vector:
    """A direction of a body: u_W = R_body direction.

    Attributes
    ----------
    body : str
        The body it is fixed to; "ground" is the world.
    direction : (3,) array
        In body axes; any non-zero length, which is kept [1]. Paths `name.direction.x`, `.y`, `.z`.

    >>> Vector("normal", "arm", (0, 0, 1))
    Vector('normal', 'arm', direction=(0, 0, 1))
    """

    noun: ClassVar[str] = "vector"

    name: str
    body: str
    direction: ArrayField = field(metadata=fields.direction("vector"))

    def __post_init__(self) -> None:
        check_name(self, self.name)
        freeze_numbers(self)
        self.check()

    def check(self) -> None:
        """Raise unless the direction has a length."""
        check_nonzero(self)

    @property
    def local(self) -> Array:
        """The direction, under the name that points and vectors share."""
        array: Array = self.direction
        return array

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return short_repr(self)
