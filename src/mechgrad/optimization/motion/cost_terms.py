"""What to find besides the motion, and what to minimise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.measures.base import Measure
from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.composite import Composite
from mechgrad.optimization.motion.measures.coordinates import Coordinates, Profiles
from mechgrad.optimization.motion.measures.ground import Stance
from mechgrad.optimization.motion.measures.joint_torques import AnyLoad
from mechgrad.optimization.motion.measures.sample_functions import Products
from mechgrad.optimization.motion.setting import IntegralOf, Setting
from mechgrad.typing import Array, ArrayLike


@final
@dataclass(frozen=True)
class Free:
    """A duration to be found, between `lower` and `upper` [s], starting from `guess` (their mean if left out).

    With `knots` the lengths of all spline segments are found, each between lower / s and upper / s. Then xi is not
    t / T: it runs evenly through the segments, whatever their lengths.
    """

    lower: float
    upper: float
    guess: float | None = None
    knots: bool = False

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
class Minimizes(Protocol):
    """An integral over time that can be minimised."""

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        ...


def _weight(weight: float, what: str) -> float:
    if not 0 <= weight < np.inf:
        raise InputError(f"{what}: weight is {weight}; give a finite number that is not negative.")
    return float(weight)


def _chosen(measure: SampleFunction, rows: Array, weights: ArrayLike) -> Array:
    """Weights of some rows of a measure, zero for the others."""
    out = np.zeros(measure.m)
    out[rows] = weights
    return out


def _scale(scale: ArrayLike, size: int, what: str) -> Array:
    values = np.asarray(scale, float)
    if values.shape not in ((), (size,)) or not np.all((values > 0) & (values < np.inf)):
        raise InputError(f"{what}: scale has shape {values.shape}; give a positive finite number or {size} of them.")
    return np.broadcast_to(values, (size,))


@final
@dataclass(frozen=True)
class Duration:
    """weight * T"""

    weight: float = 1.0

    def __post_init__(self) -> None:
        _weight(self.weight, "Duration")


@final
@dataclass(frozen=True, eq=False)
class TorqueSquares:
    """weight * integral of sum (tau_i / scale_i)^2 dt, by the trapezoidal rule on `per_segment` samples per spline
    segment.

    With the largest torques as scale this is the normalised dynamic effort. `ground` makes it that of a body that
    stands: a list of `Stance`.
    """

    weight: float = 1.0
    scale: ArrayLike = 1.0
    joints: Sequence[str] | None = None
    loads: Sequence[AnyLoad] | None = None
    per_segment: int = 1
    ground: Sequence[Stance] | None = None

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        measure = setting.torques(self.loads, self.ground)
        rows = setting.driven_rows(self.joints)
        squares = _weight(self.weight, "TorqueSquares") / _scale(self.scale, rows.size, "TorqueSquares") ** 2
        xi = setting.instants(self.per_segment, (0, 1), "TorqueSquares", self.ground)
        return IntegralOf(measure, xi, np.zeros(measure.m), _chosen(measure, rows, squares))


@final
@dataclass(frozen=True, eq=False)
class JerkSquares:
    """weight * integral of sum (d^3 q_i / dt^3)^2 dt, by the midpoint rule (exact for cubic splines)."""

    weight: float = 1.0
    scale: ArrayLike = 1.0
    joints: Sequence[str] | None = None
    per_segment: int = 1

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        measure = Coordinates(setting.model, "j", self.joints)
        squares = _weight(self.weight, "JerkSquares") / _scale(self.scale, measure.m, "JerkSquares") ** 2
        parts = setting.instants(self.per_segment, (0, 1), "JerkSquares").size - 1
        return IntegralOf(measure, (np.arange(parts) + 0.5) / parts, np.zeros(measure.m), squares, "midpoint")


@final
@dataclass(frozen=True, eq=False)
class PowerSquares:
    """weight * integral of sum (tau_i v_i)^2 dt: mechanical power of the drives [W^2 s].

    At one instant per segment a motion could make it zero there and do its work between: four are the default.
    """

    weight: float = 1.0
    joints: Sequence[str] | None = None
    loads: Sequence[AnyLoad] | None = None
    per_segment: int = 4
    ground: Sequence[Stance] | None = None

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        return _power(setting, self, Products("power of"), squared=True)


@final
@dataclass(frozen=True, eq=False)
class Energy:
    """weight * integral of sum |tau_i v_i| dt: energy that the drives give and take [J].

    The magnitude is sqrt(P^2 + smoothing^2) - smoothing, smooth where a drive changes from giving to taking.
    """

    weight: float = 1.0
    smoothing: float = 0.1
    joints: Sequence[str] | None = None
    loads: Sequence[AnyLoad] | None = None
    per_segment: int = 4
    ground: Sequence[Stance] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.smoothing < np.inf:
            raise InputError(f"Energy: smoothing is {self.smoothing}; give a positive power [W].")

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        return _power(setting, self, Products("|power| of", self.smoothing), squared=False)


def _power(setting: Setting, term: PowerSquares | Energy, function: Products, squared: bool) -> IntegralOf:
    torques = setting.torques(term.loads, term.ground)
    v = Coordinates(setting.model, "v")
    rows = setting.driven_rows(term.joints)
    if torques.m != v.m:  # the wrench of the ground stands behind the torques
        raise InputError("PowerSquares and Energy are of drives in the air; use a UserTerm for bodies on the ground.")
    measure = Composite((torques, v), function)
    weights = _chosen(measure, rows, _weight(term.weight, type(term).__name__))
    none = np.zeros(measure.m)
    xi = setting.instants(term.per_segment, (0, 1), type(term).__name__)
    return IntegralOf(measure, xi, *((none, weights) if squared else (weights, none)))


@final
@dataclass(frozen=True, eq=False)
class ForceSquares:
    """weight * integral of the squared forces in cut joints and multipliers of constraints: without it, or with passive
    joints instead, forces that only press the hands against each other are not determined."""

    weight: float = 1.0
    per_segment: int = 1

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        n = setting.model.n_v
        names = setting.profile_names[n : setting.first_multiplier + len(setting.rows)]
        if not names:
            raise InputError("ForceSquares: the problem has no cut joints; give MotionProblem(..., cuts=[...]).")
        measure = Profiles(n + np.arange(len(names)), names)
        xi = setting.instants(self.per_segment, (0, 1), "ForceSquares")
        weight = _weight(self.weight, "ForceSquares")
        return IntegralOf(measure, xi, np.zeros(measure.m), np.full(measure.m, weight))


@final
@dataclass(frozen=True, eq=False)
class UserTerm:
    """weight * integral of a function of measures, or of the squares of what it returns.

    Attributes
    ----------
    function : callable
        Of one array (nt, m_k) per input; returns (nt,) or (nt, m). Analytic: derivatives are a complex step.
    inputs : list of measures
        Of `mg.measures` (`mg.measures.PointPosition("tip")`), and `Torques(model)`, `Coordinates(model, "q")`, ...
    squared : bool
        Whether its values are squared (then the Gauss-Newton Hessian knows of it).
    time : bool
        Whether the function is also given xi = t / T, as last argument.
    """

    function: Callable[..., Any]
    inputs: Sequence[SampleFunction | Measure]
    weight: float = 1.0
    squared: bool = False
    per_segment: int = 1
    label: str = "user term"
    time: bool = False

    def integral(self, setting: Setting) -> IntegralOf:
        """What is integrated."""
        measure = setting.user_measure(self.function, self.inputs, self.label, self.time)
        if not np.isfinite(self.weight):
            raise InputError(f"{self.label}: weight is {self.weight}; give a finite number.")
        weights, none = np.full(measure.m, float(self.weight)), np.zeros(measure.m)
        xi = setting.instants(self.per_segment, (0, 1), self.label)
        return IntegralOf(measure, xi, *((none, weights) if self.squared else (weights, none)))
