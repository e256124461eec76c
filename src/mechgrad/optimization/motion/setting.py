"""What terms and constraints are told of the problem, and how they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from mechgrad.errors import InputError
from mechgrad.inverse.loads import Load
from mechgrad.measures.base import Measure as AnyMeasure
from mechgrad.optimization.motion.measures.base import Measure
from mechgrad.optimization.motion.measures.composite import Composite
from mechgrad.optimization.motion.measures.functions import UserFunction
from mechgrad.optimization.motion.measures.ground import JUST_BEFORE, GroundTorques, Stance
from mechgrad.optimization.motion.measures.measured import Measured
from mechgrad.optimization.motion.measures.torques import AnyLoad, CutForce, LoadSchedule, Torques
from mechgrad.optimization.motion.splines import Splines
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model


@dataclass(frozen=True, eq=False)
class Setting:
    """The problem as its parts see it."""

    model: Model
    splines: Splines
    cuts: tuple[CutForce, ...] = ()

    def function_of(self, measure: Any) -> Any:
        """A measure of `mg.measures` as a function of samples; what is one already stays as it is."""
        return Measured(self.model, measure) if isinstance(measure, AnyMeasure) else measure

    def user_measure(
        self, function: Callable[..., Any], inputs: Sequence[Measure | AnyMeasure], label: str, time: bool
    ) -> Composite:
        """A user's function of measures of this problem."""
        given = () if isinstance(inputs, Measure | AnyMeasure) else tuple(self.function_of(x) for x in inputs)
        if not given or not all(isinstance(measure, Measure) for measure in given):
            raise InputError(
                f"{label}: inputs must be a list of measures: [mg.measures.PointPosition('tip'), Torques(model)]."
            )
        for measure in given:
            if getattr(measure, "model", self.model) is not self.model:
                raise InputError(f"{label}: a measure is of another model than the problem, {self.model.name!r}.")
            if isinstance(measure, Torques) and measure.cuts != self.cuts:
                raise InputError(f"{label}: the problem has cut joints; give Torques(model, cuts=...) the same ones.")
        return Composite(given, UserFunction(function, [m.m for m in given], label, time), label)

    def torques(self, loads: Sequence[AnyLoad] | None, ground: Sequence[Stance] | None) -> Measure:
        """Generalized forces, in the air or on the ground."""
        if isinstance(loads, Load | LoadSchedule) or isinstance(ground, Stance):
            raise InputError("loads and ground are lists: [Load(...)], [Stance(...)].")
        if ground is None:
            return Torques(self.model, loads, self.cuts)
        if self.cuts:
            raise InputError("torques on the ground are not defined with cut joints; give `ground` or cuts.")
        return GroundTorques(self.model, tuple(ground), loads)

    def instants(
        self, per_segment: int, during: tuple[float, float], label: str, ground: Sequence[Stance] | None = None
    ) -> Array:
        """Ends of the spline segments, `per_segment` - 1 instants between them, within `during`.

        Where a stance ends, forces change: with `ground` the instant just before is there, too.
        """
        if isinstance(per_segment, bool) or not isinstance(per_segment, int | np.integer) or per_segment < 1:
            raise InputError(f"{label}: per_segment is {per_segment!r}; give 1, 2, ...")
        if np.shape(during) != (2,):
            raise InputError(f"{label}: during is {during!r}; give (start, end).")
        start, end = during
        if not 0 <= start <= end <= 1:
            raise InputError(f"{label}: during is {during}; need 0 <= start <= end <= 1 (xi = t / T).")
        xi = np.linspace(0.0, 1.0, self.splines.segments * per_segment + 1)
        changes = {stance.end for stance in ground or () if stance.end < 1}
        xi = np.sort(np.concatenate([xi, [end - JUST_BEFORE for end in changes]]))
        xi = xi[(xi >= start - 1e-9) & (xi <= end + 1e-9)]
        if xi.size == 0:
            raise InputError(
                f"{label}: no instant of the grid lies between xi = {start} and {end}. Raise per_segment, or take more "
                "segments."
            )
        return xi


@dataclass(frozen=True, eq=False)
class Requirement:
    """Rows of a combination of a measure at some instants, between bounds.

    `rows` of `combine` (rows, nt m); None takes all values. Bounds per row; `scale` is a typical magnitude.
    """

    label: str
    measure: Measure
    xi: Array
    lower: Array
    upper: Array
    combine: sparse.csr_array | None = None
    names: tuple[str, ...] | None = None
    scale: Array | float = 1.0

    def matrix(self) -> sparse.csr_array:
        """`combine`, or the unit matrix."""
        size = self.xi.size * self.measure.m
        return sparse.csr_array(sparse.identity(size, format="csr")) if self.combine is None else self.combine

    def row_names(self) -> list[str]:
        """One per row."""
        if self.names is not None:
            return [f"{self.label}: {name}" for name in self.names]
        return [f"{self.label}: {name} at xi = {xi:.7g}" for xi in self.xi for name in self.measure.names]


@dataclass(frozen=True, eq=False)
class IntegralOf:
    """sum over samples of omega (linear . y + squares . y^2)."""

    measure: Measure
    xi: Array
    linear: Array
    squares: Array
    rule: str = "trapezoid"


def bounded(
    label: str,
    measure: Measure,
    xi: Array,
    rows: Array,
    lower: ArrayLike,
    upper: ArrayLike,
    scale: ArrayLike | None = None,
) -> Requirement:
    """Some rows of a measure between bounds: numbers, one per row, or one row per instant."""
    lo, up = (_spread(x, xi.size, rows.size, measure, rows, label) for x in (lower, upper))
    for k, r in np.argwhere(np.isnan(lo) | np.isnan(up) | (lo > up) | (lo == np.inf) | (up == -np.inf)):
        raise InputError(f"{label}: {measure.names[rows[r]]} between {lo[k, r]} and {up[k, r]}; the limits cross.")
    keep = np.isfinite(lo) | np.isfinite(up)
    index = (np.arange(xi.size)[:, None] * measure.m + rows)[keep]
    combine = sparse.csr_array((np.ones(index.size), (np.arange(index.size), index)), (index.size, xi.size * measure.m))
    names = [f"{measure.names[r]} at xi = {x:.7g}" for x in xi for r in rows]
    kept = tuple(name for name, k in zip(names, keep.ravel(), strict=True) if k)
    size = np.ones((xi.size, rows.size)) * (1.0 if scale is None else np.asarray(scale, float))
    return Requirement(label, measure, xi, lo[keep], up[keep], combine, kept, size[keep])


def numbers(x: ArrayLike, label: str) -> Array:
    """Bounds as an array."""
    try:
        return np.asarray(x, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label}: bounds must be numbers; one is {x!r}.") from error


def _spread(x: ArrayLike, nt: int, m: int, measure: Measure, rows: Array, label: str) -> Array:
    values = numbers(x, label)
    if values.shape not in ((), (m,), (nt, m)):
        some = ", ".join([*(measure.names[r] for r in rows[:4]), *(["..."] if m > 4 else [])])
        raise InputError(
            f"{label}: bounds have shape {values.shape}; give a number, {m} numbers ({some}) or ({nt}, {m})."
        )
    return np.broadcast_to(values, (nt, m)).copy()
