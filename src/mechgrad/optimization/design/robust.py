"""Designs for numbers that scatter: mean and standard deviation of an objective as a goal, with exact slopes.

    f = m + k s        m = sum p_i F_i        s^2 = sum p_i (F_i - m)^2        df/dF_i = p_i (1 + k (F_i - m) / s)

F_i are values of one objective in scenarios whose numbers are scattered, p_i the shares of their weights. These
scenarios (`scattered`) are sigma points of a normal distribution with covariance C = L L^T,

    mean, mean +- c L e_i        c^2 = max(3, n)        p_0 = 1 - n / c^2,  p_i = 1 / (2 c^2)

2 n + 1 motions, 2 n from n = 3 on. Errors: m is that of a polynomial of third degree, s that of a linear function,
exactly; for one number, that of a quadratic one. Or they are a seeded sample (Sobol points), whose errors fall about
as 1 / count.

`deviation` states the linearised spread, s^2 = g^T C g with the exact gradient g: a check at the optimum that shares
nothing with the points, and what each number adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, final

import numpy as np
from scipy.stats import norm, qmc

from mechgrad.errors import InputError
from mechgrad.model.variables import DesignVariable
from mechgrad.optimization.design.goals import Asked, Goal
from mechgrad.optimization.design.scenario import Scenario
from mechgrad.sensitivities.gradient import gradient
from mechgrad.sensitivities.objectives import Objective
from mechgrad.typing import ArrayLike, FloatArray

LEAST_SQUARE: Final = 3.0  # c^2: the fourth moment of a normal distribution, in units of sigma^4


@final
@dataclass(frozen=True, eq=False)
class MeanDeviation(Goal):
    """The mean over all scenarios plus k standard deviations, shares by their weights.

    objectives : one objective for every scenario
    k : 0 for the mean alone, 3 for what 999 of 1000 stay below if values are normal

    Where all values are equal its slope jumps; there it is that of the mean.

    >>> goal = MeanDeviation(mg.AtEnd(mg.measures.JointCoordinate("pin")), k=2.0)
    >>> goal.value(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    4.0
    """

    k: float = 3.0
    one_value: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.k, bool) or not isinstance(self.k, int | float) or not 0.0 <= self.k < np.inf:
            raise InputError(f"MeanDeviation: k is {self.k!r}; give a number of standard deviations, 0 or more.")

    def asked(self, scenarios: Sequence[Scenario]) -> tuple[Asked, ...]:
        found = super().asked(scenarios)
        if sorted(a.scenario for a in found) != list(range(len(scenarios))):
            raise InputError(
                f"MeanDeviation takes one objective of every scenario; there are {len(found)} for {len(scenarios)} "
                "scenarios. Add objectives up, a + 2.0 * b."
            )
        return found

    def value(self, F: FloatArray, w: FloatArray) -> float:
        m, s = _moments(F, w)
        return float(m + self.k * s)

    def slope(self, F: FloatArray, w: FloatArray) -> FloatArray:
        m, s = _moments(F, w)
        share = w / w.sum()
        return np.asarray(share if s == 0.0 else share * (1.0 + self.k * (F - m) / s))


def _moments(F: FloatArray, w: FloatArray) -> tuple[float, float]:
    share = w / w.sum()
    m = float(share @ F)
    return m, float(np.sqrt(share @ (F - m) ** 2))


@final
@dataclass(frozen=True)
class Offset:
    """x + delta: a number that is made a little other than it was meant."""

    delta: float

    def __call__(self, x: Any) -> Any:
        return x + self.delta


def scattered(
    source: Any,
    sigma: Mapping[str, float],
    *,
    covariance: ArrayLike | None = None,
    varied: Sequence[str] = (),
    samples: int | None = None,
    seed: int = 0,
) -> dict[str, Scenario]:
    """Scenarios of one motion whose numbers scatter about those it has, for `DesignProblem` with `MeanDeviation`.

    Parameters
    ----------
    source : what a `Scenario` is made of
    sigma : standard deviations of numbers of the model or of the start, by path
    covariance : (n, n) between them in their order, in place of independent numbers; sigma then only names them
    varied : those that are variables of the problem as well, such as a length that is made with a tolerance. The
        variable is then called "nominal bob com z", with spaces for points; what is made is it plus its error
    samples : so many Sobol points of the normal distribution instead of sigma points; a power of two is best
    seed : of these

    >>> swing = mg.simulate(model, {"pin": 0.5}, 1.0, step=0.01)
    >>> cases = scattered(swing, {"bob.com.z": 0.01})
    >>> [(x.weight, round(x.model.value("bob.com.z"), 4)) for x in cases.values()]
    [(0.666..., -1.0), (0.166..., -0.9827), (0.166..., -1.0173)]
    """
    base = source if isinstance(source, Scenario) else Scenario(source)
    paths = list(sigma)
    points, weights = _points(_covariance(sigma, covariance), samples, seed)
    nominal = {path: _nominal(base, path) for path in paths}
    for path in varied:
        if path not in paths or path.startswith("start.") or path in base.repeat.force_values():
            raise InputError(
                f"scattered: varied names {path!r}; it must be a number of the model that scatters, one of {paths}."
            )
    found = {}
    for k, (delta, weight) in enumerate(zip(points, weights, strict=True)):
        repeat = base.repeat
        moved = {path: nominal[path] + float(d) for path, d in zip(paths, delta, strict=True) if path not in varied}
        linked = tuple(
            DesignVariable(f"nominal {path.replace('.', ' ')}", {path: Offset(float(d))}, nominal[path])
            for path, d in zip(paths, delta, strict=True) if path in varied
        )  # fmt: skip
        if linked:
            repeat = repeat.on(replace(repeat.model, variables=(*repeat.model.variables, *linked)))
        name = f"{base.name or 'point'} {k + 1}"
        found[name] = Scenario(repeat.with_values(moved) if moved else repeat, name, float(weight))
    return found


def _nominal(scenario: Scenario, path: str) -> float:
    """A number as a scenario has it; raises for a path that leads nowhere."""
    if path in (forces := scenario.repeat.force_values()):
        return forces[path]
    if path.startswith("start."):
        known = scenario.repeat.start_values()
        scenario.repeat.with_values({path: known.get(path, 0.0)})
        return float(np.real(known[path]))
    return float(np.real(scenario.model.value(path)))


def _covariance(sigma: Mapping[str, float], covariance: ArrayLike | None) -> FloatArray:
    """(n, n), checked."""
    n = len(sigma)
    if n == 0:
        raise InputError("nothing scatters; give standard deviations by path, {'S1.stiffness': 2.0}.")
    if covariance is None:
        s = np.array(list(sigma.values()), float)
        if not (np.isfinite(s).all() and (s > 0.0).all()):
            raise InputError(f"sigma is {dict(sigma)}; standard deviations are positive and finite.")
        return np.diag(s**2)
    C = np.array(covariance, float)
    if C.shape != (n, n) or not np.isfinite(C).all() or not np.allclose(C, C.T):
        raise InputError(f"covariance has shape {C.shape}; it must be a symmetric ({n}, {n}) of finite numbers.")
    if np.linalg.eigvalsh(C)[0] <= 0.0:
        raise InputError("covariance is not positive definite; leave numbers out that follow from others.")
    return C


def _points(C: FloatArray, samples: int | None, seed: int) -> tuple[FloatArray, FloatArray]:
    """Displacements (k, n) and their weights (k,), which add up to one."""
    n, L = len(C), np.linalg.cholesky(C)
    if samples is None:
        square = max(LEAST_SQUARE, float(n))
        z = np.sqrt(square) * np.concatenate([np.stack([x, -x]) for x in np.eye(n)])
        w = np.full(2 * n, 0.5 / square)
        if square > n:
            z, w = np.concatenate([np.zeros((1, n)), z]), np.concatenate([[1.0 - n / square], w])
        return z @ L.T, w
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2:
        raise InputError(f"samples is {samples!r}; give a whole number, 2 or more.")
    power = int(np.ceil(np.log2(samples)))
    share = qmc.Sobol(n, scramble=True, seed=seed).random_base2(power)[:samples]
    return np.asarray(norm.ppf(share)) @ L.T, np.full(samples, 1.0 / samples)


@final
@dataclass(frozen=True, eq=False)
class Deviation:
    """The linearised spread of an objective: s^2 = g^T C g.

    value : of the objective;   sigma : its standard deviation;   shares : of its variance, by path; with a covariance
    between numbers they may be negative, and add up to one
    """

    value: float
    sigma: float
    shares: dict[str, float]


def deviation(
    motion: Any, objective: Objective, sigma: Mapping[str, float], *, covariance: ArrayLike | None = None
) -> Deviation:
    """How far an objective of a motion, such as `best.motion`, spreads if numbers scatter; to first order.

    sigma, covariance : as in `scattered`

    >>> swing = mg.simulate(model, {"pin": 0.5}, 1.0, step=0.01)
    >>> found = deviation(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), {"start.position.pin": 0.01})
    >>> found.shares, bool(0.0 < found.sigma <= 0.0101)
    ({'start.position.pin': 1.0}, True)
    """
    C = _covariance(sigma, covariance)
    found = gradient(motion, objective, list(sigma))
    if found.array.shape != (1, len(sigma)):
        raise InputError(f"deviation is that of one value; the objective has {len(found.values)}, and paths must be "
                         "single numbers.")  # fmt: skip
    g = found.array[0]
    variance = float(g @ C @ g)
    parts = g * (C @ g) / variance if variance > 0.0 else np.zeros(len(g))
    return Deviation(float(found.values[0]), float(np.sqrt(variance)), dict(zip(sigma, parts.tolist(), strict=True)))
