"""What constraints, forces and measures read of a model when they look whether the names they hold are there.

`model.model.Model` is one. It is stated here, since a model imports what it consists of, and these cannot import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mechgrad.typing import IntArray


class Named(Protocol):
    """Whatever has a name."""

    @property
    def name(self) -> str: ...


class NamedBody(Named, Protocol):
    """A body, its mass [kg], and its centre of mass in body axes [m]."""

    @property
    def mass(self) -> Any: ...
    @property
    def com(self) -> Any: ...


class NamedPoint(Named, Protocol):
    """A point of a body, in body axes [m]."""

    @property
    def body(self) -> str: ...
    @property
    def position(self) -> Any: ...


class NamedVector(Named, Protocol):
    """A direction of a body, in body axes, of any length."""

    @property
    def body(self) -> str: ...
    @property
    def direction(self) -> Any: ...


class CutJoint(Named, Protocol):
    """A joint that closes a loop, the labels of the coordinates that it would have, and the rows (`rows.Row`) that
    measure them."""

    @property
    def q_labels(self) -> tuple[str, ...]: ...
    def coordinate_rows(self) -> tuple[Any, ...]: ...


class Coordinates(Protocol):
    """Positions in q of the coordinates that add up: those of hinges and sliders."""

    @property
    def plain_q(self) -> IntArray: ...


class NamedParts(Named, Protocol):
    """A model as what acts in it sees it: bodies, markers and coordinates by name."""

    @property
    def bodies(self) -> Sequence[NamedBody]: ...
    @property
    def points(self) -> Sequence[NamedPoint]: ...
    @property
    def vectors(self) -> Sequence[NamedVector]: ...
    @property
    def cut_joints(self) -> Sequence[CutJoint]: ...
    @property
    def q_names(self) -> Sequence[str]: ...
    @property
    def layout(self) -> Coordinates: ...
