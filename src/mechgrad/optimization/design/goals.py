"""What is wanted: a sum over scenarios, the worst of all values, or least squares of residuals.

    Total          f = sum w_i F_i
    WorstCase      f = max_i w_i F_i         as  min s  subject to  w_i F_i <= s   (epigraph)
    LeastSquares   f = sum w_i F_i^2 / 2

F are values of objectives of the scenarios, w the weights of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.measures.base import Measure
from mechgrad.optimization.design.scenario import Scenario
from mechgrad.sensitivities.objectives import SAME, Objective, as_objective
from mechgrad.sensitivities.several_instants import AtTimes
from mechgrad.typing import Array, ArrayLike, FloatArray


class Asked(NamedTuple):
    """An objective that is asked of a scenario: position of the scenario, name, objective."""

    scenario: int
    name: str
    objective: Objective


@dataclass(frozen=True, eq=False)
class Goal(ABC):
    """What is to be made small, from objectives of scenarios.

    objectives : one or a list for every scenario, or a mapping from names of scenarios to theirs
    epigraph : whether it is the largest of its values, carried by a variable of its own
    squares : whether it is a sum of squares
    one_value : whether every objective must have one value alone
    """

    objectives: Any
    epigraph: ClassVar[bool] = False
    squares: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for item in _every(self.objectives):
            self._checked(item)

    def asked(self, scenarios: Sequence[Scenario]) -> tuple[Asked, ...]:
        """Its objectives, scenario by scenario."""
        names = [s.name for s in scenarios]
        if isinstance(self.objectives, Mapping):
            for name in self.objectives:
                if name not in names:
                    raise unknown_name("scenario", str(name), names, "the objective")
        found = []
        for i, scenario in enumerate(scenarios):
            given = self.objectives
            if isinstance(given, Mapping):
                given = given.get(scenario.name, ())
            several = _listed(given)
            for k, item in enumerate(several):
                of = f" of {scenario.name}" if len(scenarios) > 1 else ""
                number = f" {k + 1}" if len(several) > 1 else ""
                found.append(Asked(i, f"{self.noun}{number}{of}", self._checked(item)))
        if not found:
            raise InputError("there is nothing to minimise; give an objective.")
        return tuple(found)

    noun: ClassVar[str] = "objective"

    def until(self, ends: Mapping[str, float]) -> Goal:
        """What it asks of scenarios that end earlier, by their names [s]: instants after that are left out."""
        found = {}
        for name, end in ends.items():
            given = self.objectives.get(name, ()) if isinstance(self.objectives, Mapping) else self.objectives
            found[name] = [x for x in (item.until(end) for item in _listed(given)) if x is not None]
        if not any(found.values()):
            last = max(ends.values())
            raise InputError(f"nothing of the objective happens before t = {last:g} s; begin with a longer horizon.")
        return replace(self, objectives=found)

    def _checked(self, item: Any) -> Objective:
        return as_objective(item)

    one_value: ClassVar[bool] = False

    def check_counts(self, counts: Sequence[int]) -> None:
        """Raise where objectives have more values than the goal can take."""
        if self.one_value and max(counts) > 1:
            raise InputError(
                f"the objective has {max(counts)} values, and only one number can be made small. Sum them in its "
                "function, or say what is meant: mg.design.WorstCase(objective) for the largest, "
                "mg.design.LeastSquares(objective) for the sum of their squares."
            )

    @abstractmethod
    def value(self, F: FloatArray, w: FloatArray) -> float:
        """f."""

    @abstractmethod
    def slope(self, F: FloatArray, w: FloatArray) -> FloatArray:
        """f by F."""


def _every(given: Any) -> list[Any]:
    if isinstance(given, Mapping):
        return [item for value in given.values() for item in _listed(value)]
    return _listed(given)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


@final
@dataclass(frozen=True, eq=False)
class Total(Goal):
    """The sum over all scenarios, weighted by these; what an objective means that stands alone."""

    one_value: ClassVar[bool] = True

    def value(self, F: FloatArray, w: FloatArray) -> float:
        return float(w @ F)

    def slope(self, F: FloatArray, w: FloatArray) -> FloatArray:
        return w


@final
@dataclass(frozen=True, eq=False)
class WorstCase(Goal):
    """The largest of all values: over scenarios, and over instants for `AtTimes`.

        min s   subject to   w_i F_i <= s         exact; at the optimum several are equal as a rule

    >>> fastest = mg.objectives.AtTimes(None, lambda v: v**2, mg.measures.JointVelocity("pin"))
    >>> mg.design.WorstCase(fastest).epigraph
    True
    """

    epigraph: ClassVar[bool] = True
    noun: ClassVar[str] = "case"

    def value(self, F: FloatArray, w: FloatArray) -> float:
        return float(np.max(w * F))

    def slope(self, F: FloatArray, w: FloatArray) -> FloatArray:
        slope = np.zeros(len(F))
        k = int(np.argmax(w * F))
        slope[k] = w[k]
        return slope


@final
@dataclass(frozen=True, eq=False)
class LeastSquares(Goal):
    """Half the sum of the squares of all values: residuals, which Gauss-Newton steps take one by one.

        f = sum w_i r_i^2 / 2

    objectives : `Measured` data, or objectives whose values are residuals; lists of them, or a mapping from scenarios

    >>> data = mg.design.Measured(mg.measures.JointCoordinate("pin"), [0.1, 0.2], [0.49, 0.46], sigma=1e-3)
    >>> mg.design.LeastSquares(data).squares
    True
    """

    squares: ClassVar[bool] = True
    noun: ClassVar[str] = "residual"

    @property
    def noise_known(self) -> bool:
        """Whether all residuals are divided by the standard deviation of their noise."""
        return all(isinstance(item, Measured) and item.sigma is not None for item in _every(self.objectives))

    def _checked(self, item: Any) -> Objective:
        return item.residuals() if isinstance(item, Measured) else as_objective(item)

    def value(self, F: FloatArray, w: FloatArray) -> float:
        return float(0.5 * (w * F) @ F)

    def slope(self, F: FloatArray, w: FloatArray) -> FloatArray:
        return np.asarray(w * F)


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured at some instants, to be met by `LeastSquares`:  r = (y(t_k) - values_k) / sigma.

    Attributes
    ----------
    measure : what was measured
    t : (n,) increasing [s]
    values : (n, *shape of the measure)
    sigma : standard deviation of the noise, one number or one for each value of an instant; None: unknown, the same
        for all, estimated from what is left over

    >>> mg.design.Measured(mg.measures.JointCoordinate("pin"), [0.1, 0.2], [0.49, 0.46]).residuals().times
    (0.1, 0.2)
    """

    measure: Measure
    t: ArrayLike
    values: ArrayLike
    sigma: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.measure, Measure):
            raise InputError(f"Measured needs a measure first, such as mg.measures.JointCoordinate('pin'); it got "
                             f"{self.measure!r}.")  # fmt: skip
        for name in ("t", "values"):
            array = np.array(getattr(self, name), float)
            if array.ndim < 1 or not np.isfinite(array).all():
                raise InputError(f"{name} of Measured must be finite numbers; leave instants without a value out.")
            object.__setattr__(self, name, array)
        if len(np.asarray(self.t)) != len(np.asarray(self.values)):
            raise InputError(
                f"Measured has {len(np.asarray(self.t))} instants and {len(np.asarray(self.values))} values; one each."
            )
        if self.sigma is not None:
            sigma = np.array(self.sigma, float)
            if not (np.isfinite(sigma).all() and (sigma > 0.0).all()):
                raise InputError(f"sigma of Measured is {self.sigma!r}; standard deviations are positive.")
            object.__setattr__(self, "sigma", sigma)

    def until(self, end: float) -> Measured | None:
        """Data up to an instant [s]; None where there are none."""
        t = np.asarray(self.t, float)
        kept = t <= end + SAME * max(abs(end), SAME)
        return replace(self, t=t[kept], values=np.asarray(self.values, float)[kept]) if kept.any() else None

    def residuals(self) -> AtTimes:
        """The residuals as an objective."""
        t, values = np.asarray(self.t, float), np.asarray(self.values, float)
        sigma = 1.0 if self.sigma is None else np.asarray(self.sigma, float)
        name = type(self.measure).__name__

        def missed(y: Any, t: FloatArray) -> Any:
            if y.shape[1:] != values.shape[1:]:
                raise InputError(
                    f"Measured compares {name}, whose values have shape {y.shape[1:]} at an instant, with values of "
                    f"shape {values.shape[1:]}."
                )
            return ((y - values[_nearest(times, t)]) / sigma).reshape(len(t), -1)

        times = t
        return AtTimes(t, missed, self.measure)


def _nearest(times: FloatArray, t: FloatArray) -> Array:
    """Which sample belongs to each instant."""
    return np.asarray(np.abs(np.asarray(t)[:, None] - times).argmin(axis=1))


def as_goal(given: Any) -> Goal:
    """A goal from what a user wrote."""
    return given if isinstance(given, Goal) else Total(given)
