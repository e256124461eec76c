"""Limits and costs of any measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.measures.base import Measure
from mechgrad.optimization.motion.constraints import ALWAYS
from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.composite import Composite
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad
from mechgrad.optimization.motion.measures.sample_functions import Local
from mechgrad.optimization.motion.setting import IntegralOf, Requirement, Setting, bounded
from mechgrad.typing import Array, ArrayLike


def _measured(setting: Setting, measure: Measure, what: str, loads: Sequence[AnyLoad] | None) -> SampleFunction:
    if not isinstance(measure, Measure):
        raise InputError(f"{what} needs a measure first, such as mg.measures.Distance('P1', 'P2'); it got {measure!r}.")
    if loads is not None and not measure.depends_on_forces:
        raise InputError(f"{what} of {measure.label}: loads act on reactions alone (JointReaction); leave them out.")
    found: SampleFunction = setting.function_of(measure, loads)
    return found


@final
@dataclass(frozen=True, eq=False)
class Limits:
    """lower <= y <= upper for any measure y of the motion, along it or, with `xi`, at one instant.

    Attributes
    ----------
    measure : of `mg.measures`
        Of positions, velocities and accelerations; what force elements exert (`Effort`), multipliers of constraints
        (`Multiplier`), and what joints transmit in the motion (`JointReaction`).
    lower, upper : a number, or one for each number of the measure, in its unit; equal ones fix it
    xi : float, optional
        One instant in [0, 1] instead of all.
    per_segment, during : as of all limits
        Instants per segment of the splines, and the part of the motion that counts.
    loads : list, optional
        Loads that act on the mechanism, for what joints transmit.

    >>> Limits(mg.measures.Distance("wrist", "hip"), lower=0.12).measure.label
    'Distance(wrist, hip)'
    """

    measure: Measure
    lower: ArrayLike = -np.inf
    upper: ArrayLike = np.inf
    xi: float | None = None
    per_segment: int = 1
    during: tuple[float, float] = ALWAYS
    loads: Sequence[AnyLoad] | None = None

    def requirements(self, setting: Setting) -> list[Requirement]:
        """What the problem enforces."""
        measure = _measured(setting, self.measure, "Limits", self.loads)
        label = f"limits of {self.measure.label}"
        if not np.any(np.isfinite(np.asarray(self.lower, float))) and not np.any(
            np.isfinite(np.asarray(self.upper, float))
        ):
            raise InputError(f"{label}: give a lower or an upper bound.")
        if self.xi is not None and not 0 <= self.xi <= 1:
            raise InputError(f"{label}: xi is {self.xi}; need 0 <= xi <= 1 (xi = t / T).")
        along = setting.instants(self.per_segment, self.during, label)
        xi = along if self.xi is None else np.array([float(self.xi)])
        return [bounded(label, measure, xi, np.arange(measure.m), self.lower, self.upper)]


@final
@dataclass(frozen=True, eq=False)
class Squares:
    """weight * integral of sum ((y_i - target_i) / scale_i)^2 dt of any measure y, by the trapezoidal rule.

    Attributes
    ----------
    measure, loads : as of `Limits`
    weight : float
    target, scale : a number, or one for each number of the measure, in its unit
    per_segment : instants per segment of the splines

    >>> Squares(mg.measures.PointAcceleration("head"), scale=9.81).scale
    9.81
    """

    measure: Measure
    weight: float = 1.0
    target: ArrayLike = 0.0
    scale: ArrayLike = 1.0
    per_segment: int = 1
    loads: Sequence[AnyLoad] | None = None

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        measure = _measured(setting, self.measure, "Squares", self.loads)
        label = f"Squares of {self.measure.label}"
        target, scale = (
            _numbers(x, measure.m, f"{label}: {name}") for name, x in (("target", self.target), ("scale", self.scale))
        )
        if not np.all(scale > 0) or not 0 <= self.weight < np.inf:
            raise InputError(f"{label}: weight is {self.weight}, scale {scale.tolist()}; need weight >= 0, scale > 0.")
        away = Composite((measure,), _Deviation(target, scale), label)
        xi = setting.instants(self.per_segment, (0, 1), label)
        return IntegralOf(away, xi, np.zeros(away.m), np.full(away.m, float(self.weight)))


@final
@dataclass(frozen=True, eq=False)
class _Deviation(Local):
    """(z - target) / scale, number by number."""

    target: Array
    scale: Array

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"deviation of {name}" for name in inputs)

    def patterns(self, m_in: int) -> tuple[Array, Array]:
        return np.eye(m_in, dtype=bool), np.zeros((m_in, m_in), bool)

    def values(self, z: Array, xi: Array) -> Array:
        return np.asarray((z - self.target) / self.scale)

    def partials(self, z: Array, xi: Array) -> Array:
        return np.broadcast_to(np.diag(1.0 / self.scale), (len(z), z.shape[1], z.shape[1]))

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        return np.zeros((len(z), z.shape[1], z.shape[1]))


def _numbers(given: ArrayLike, size: int, what: str) -> Array:
    values = np.asarray(given, float)
    if values.shape not in ((), (size,)) or not np.all(np.isfinite(values)):
        raise InputError(f"{what} has shape {values.shape}; give a finite number, or {size} of them.")
    return np.broadcast_to(values, (size,))
