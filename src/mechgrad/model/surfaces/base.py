"""What every surface is: a height over a plane, with its slopes, as numbers that kernels read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from mechgrad.errors import ValueRangeError
from mechgrad.model.functions import Function, freeze_functions
from mechgrad.model.primitives.fields import brief, check_nonzero, freeze_numbers, same, short_repr, where
from mechgrad.model.primitives.rows import SurfaceTable
from mechgrad.typing import Array, ArrayLike, Number


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Surface(ABC):
    """z = h(x, y) in axes of its own: z along the `normal` of the force that has it, x along the surface's `heading`,
    both from `plane_point`; all belong to one body.

    Its numbers are numbers of the force: `front.ground.height`. In a model file it is a table with a `type`:
    ground = {type = "step", start = 5.5, height = -0.01}.

    >>> round(float(mg.surfaces.Step(start=5.5, height=-0.01, width=0.1).elevation(5.55, 0.0)), 6)
    -0.005
    """

    noun: ClassVar[str] = "surface"
    type_name: ClassVar[str]

    def __post_init__(self) -> None:
        freeze_numbers(self)
        freeze_functions(self)
        self.check()

    def check(self) -> None:
        """Raise unless the numbers make a surface."""
        check_nonzero(self)

    @abstractmethod
    def elevation(self, x: ArrayLike, y: ArrayLike) -> Array:
        """h [m] at places [m]; NaN outside of a map."""

    @abstractmethod
    def slopes(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """dh/dx and dh/dy."""

    @abstractmethod
    def table(self) -> SurfaceTable:
        """What kernels read; its first number is a height that nothing of the surface exceeds."""

    @property
    def ahead(self) -> Array | None:
        """The direction that x is nearest to, in axes of the body; None where any will do."""
        return self.heading if any(f.name == "heading" for f in fields(self)) else None  # type: ignore[attr-defined]

    @property
    def lift(self) -> Function | None:
        """How the whole surface moves along z with time; None if it does not."""
        return None

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    def __hash__(self) -> int:
        return hash(self.type_name)

    def __repr__(self) -> str:
        return short_repr(self)


def check_extent(surface: Surface, name: str) -> None:
    """Raise unless a length within which the height changes is positive."""
    size: Number = getattr(surface, name)
    if not size.real > 0.0:
        raise ValueRangeError(
            f"{where(surface)}: {name} = {brief(size)} must be positive: within it the height changes smoothly. A jump "
            "has no slope that a wheel could touch; give a short one instead."
        )


def clipped(u: Array, least: float) -> Array:
    """u between `least` and 1; beyond these a constant."""
    return np.where(u.real <= least, least, np.where(u.real >= 1.0, 1.0, u))
