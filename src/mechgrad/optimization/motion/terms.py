"""The vocabulary of a motion problem: what to minimise and what to respect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.optimization.motion.measures import Coordinates, Measure, Points, Torques
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@final
@dataclass(frozen=True)
class Free:
    """A duration to be found, between `lower` and `upper` [s], starting from `guess` (their mean if left out)."""

    lower: float
    upper: float
    guess: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.lower < self.upper < np.inf:
            raise InputError(f"duration between {self.lower} and {self.upper} s: need 0 < lower < upper.")
        if self.guess is not None and not self.lower <= self.guess <= self.upper:
            raise InputError(
                f"the guess {self.guess} s of the duration is not between {self.lower} and {self.upper} s."
            )

    @property
    def start(self) -> float:
        """Where the search begins [s]."""
        return (self.lower + self.upper) / 2 if self.guess is None else self.guess


@final
@dataclass(frozen=True)
class FreeNumber:
    """A number of the model, or a design variable, to be found together with the motion, between `lower` and
    `upper`."""

    path: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not -np.inf < self.lower < self.upper < np.inf:
            raise InputError(f"{self.path!r} between {self.lower} and {self.upper}: need finite bounds, lower < upper.")


# --------------------------------------------------------------------------------------------------- to minimise
@final
@dataclass(frozen=True)
class Duration:
    """weight * T"""

    weight: float = 1.0


@final
@dataclass(frozen=True, eq=False)
class TorqueSquares:
    """weight * integral of sum (tau_i / scale_i)^2 dt, by the trapezoidal rule on `per_segment` samples per spline
    segment.

    With scale = the torque limits this is the normalised dynamic effort.
    """

    weight: float = 1.0
    scale: ArrayLike = 1.0
    joints: Sequence[str] | None = None
    loads: Sequence[Load] | None = None
    per_segment: int = 1

    def measure(self, model: Model, parameters: tuple[str, ...] = ()) -> Measure:
        """What is squared."""
        return Torques(model, self.joints, self.loads, parameters)


# ---------------------------------------------------------------------------------------------------- to respect
@dataclass(frozen=True, eq=False)
class Requirement:
    """A measure between bounds at some instants."""

    measure: Measure
    lower: Array
    upper: Array
    xi: Array
    label: str


def _bounds(lower: ArrayLike, upper: ArrayLike, measure: Measure, label: str) -> tuple[Array, Array]:
    lo, up = (np.broadcast_to(np.asarray(x, float), (measure.m,)).copy() for x in (lower, upper))
    for name, a, b in zip(measure.names, lo, up, strict=True):
        if np.isnan(a) or np.isnan(b) or a > b:
            raise InputError(f"{label}: {name} between {a} and {b}; the limits cross.")
    return lo, up


def _grid(segments: int, per_segment: int, label: str) -> Array:
    if per_segment < 1 or per_segment != int(per_segment):
        raise InputError(f"{label}: per_segment is {per_segment}; give 1, 2, ...")
    return np.linspace(0.0, 1.0, segments * per_segment + 1)


@final
@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """lower <= tau <= upper at the ends of the spline segments, and at `per_segment` - 1 instants between them."""

    lower: ArrayLike
    upper: ArrayLike
    joints: Sequence[str] | None = None
    loads: Sequence[Load] | None = None
    per_segment: int = 1

    def requirement(self, model: Model, segments: int, parameters: tuple[str, ...] = ()) -> Requirement:
        """What the problem enforces."""
        measure = Torques(model, self.joints, self.loads, parameters)
        return Requirement(
            measure, *_bounds(self.lower, self.upper, measure, "TorqueLimits"),
            _grid(segments, self.per_segment, "TorqueLimits"), "torque limits",
        )  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class JointLimits:
    """lower <= q (or v, or a, by `level`) <= upper along the motion."""

    lower: ArrayLike
    upper: ArrayLike
    joints: Sequence[str] | None = None
    level: str = "q"
    per_segment: int = 1

    def requirement(self, model: Model, segments: int, parameters: tuple[str, ...] = ()) -> Requirement:
        """What the problem enforces."""
        if self.level not in ("q", "v", "a"):
            raise InputError(f"JointLimits: level is {self.level!r}; choose 'q', 'v' or 'a'.")
        measure = Coordinates(model, self.level, self.joints)
        return Requirement(
            measure, *_bounds(self.lower, self.upper, measure, "JointLimits"),
            _grid(segments, self.per_segment, "JointLimits"), f"limits of {self.level}",
        )  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class At:
    """q, v or a of some joints at one instant, xi in [0, 1]: 0 is the start, 1 the end."""

    xi: float
    value: ArrayLike
    level: str = "q"
    joints: Sequence[str] | None = None

    def requirement(self, model: Model, segments: int, parameters: tuple[str, ...] = ()) -> Requirement:
        """What the problem enforces."""
        if self.level not in ("q", "v", "a") or not 0 <= self.xi <= 1:
            raise InputError(f"At: level {self.level!r} at xi = {self.xi}; choose 'q', 'v' or 'a' and 0 <= xi <= 1.")
        measure = Coordinates(model, self.level, self.joints)
        label = f"{self.level} at xi = {self.xi:g}"
        return Requirement(measure, *_bounds(self.value, self.value, measure, label), np.array([float(self.xi)]), label)


@final
@dataclass(frozen=True, eq=False)
class PointLimits:
    """lower <= world position of a point <= upper along the motion or, with `xi`, at one instant. Equal bounds fix
    it."""

    marker: str
    lower: ArrayLike
    upper: ArrayLike
    xi: float | None = None
    per_segment: int = 1

    def requirement(self, model: Model, segments: int, parameters: tuple[str, ...] = ()) -> Requirement:
        """What the problem enforces."""
        measure = Points(model, [self.marker], parameters)
        label = f"position of {self.marker}"
        grid = _grid(segments, self.per_segment, label) if self.xi is None else np.array([float(self.xi)])
        return Requirement(measure, *_bounds(self.lower, self.upper, measure, label), grid, label)
