"""How time is stepped: the Newmark family, the classical Runge-Kutta method and the one of order eight.

Implicit schemes are four numbers. With h the step and x a memory of accelerations,

    (1 - alpha_m) x1 + alpha_m x0 = (1 - alpha_f) a1 + alpha_f a0
    q1 = q0 moved by  h v0 + h^2 ((1/2 - beta) x0 + beta x1),       v1 = v0 + h ((1 - gamma) x0 + gamma x1)

and the equations of motion hold at the new time. Newmark: alpha_m = alpha_f = 0, x = a.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, final

from mechgrad.dynamics.written_choices import chosen
from mechgrad.errors import InputError, unknown_name
from mechgrad.steps.butcher_tableau import Tableau

KNOWN: dict[str, type[Scheme]] = {}
"""Schemes by the names that `simulate` takes; a new one is there as soon as its file is read."""


@dataclass(frozen=True)
class Scheme:
    """What every scheme is: a way to advance by one step.

    key : the name that `simulate` takes for it with its usual numbers
    implicit : whether steps are equations to be solved
    chooses_steps : whether steps are as long as the tolerance allows, whatever length is given
    """

    key: ClassVar[str] = ""
    implicit: ClassVar[bool] = True
    chooses_steps: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if cls.key:
            KNOWN[cls.key] = cls

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """(beta, gamma, alpha_m, alpha_f) of implicit schemes."""
        raise TypeError(f"{type(self).__name__} states no numbers")  # pragma: no cover - every implicit scheme does

    @property
    def tableau(self) -> Tableau:
        """Coefficients of the stages of explicit schemes."""
        raise TypeError(f"{type(self).__name__} states no tableau")  # pragma: no cover - every explicit scheme does


@final
@dataclass(frozen=True)
class Newmark(Scheme):
    """Newmark's scheme; beta = 1/4, gamma = 1/2 is the trapezoidal rule.

    Second order for gamma = 1/2; gamma > 1/2 damps, to first order.

    >>> Newmark().numbers
    (0.25, 0.5, 0.0, 0.0)
    """

    key: ClassVar[str] = "newmark"

    beta: float = 0.25
    gamma: float = 0.5

    def __post_init__(self) -> None:
        if not (0.0 < self.beta <= 0.5 and 0.5 <= self.gamma <= 1.0):
            raise InputError(
                f"Newmark(beta={self.beta}, gamma={self.gamma}): take 0 < beta <= 1/2 and 1/2 <= gamma <= 1; it is "
                "unconditionally stable for 2 beta >= gamma."
            )

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        return self.beta, self.gamma, 0.0, 0.0


@final
@dataclass(frozen=True)
class Trapezoidal(Scheme):
    """The trapezoidal rule: second order, no damping.

    >>> Trapezoidal().numbers
    (0.25, 0.5, 0.0, 0.0)
    """

    key: ClassVar[str] = "trapezoidal"

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        return 0.25, 0.5, 0.0, 0.0


@final
@dataclass(frozen=True)
class HHT(Scheme):
    """Hilber, Hughes and Taylor: second order, damps high frequencies by `damping` in [0, 1/3].

        alpha_f = damping, alpha_m = 0, beta = (1 + damping)^2 / 4, gamma = 1/2 + damping

    >>> HHT(0.05).numbers
    (0.275625, 0.55, 0.0, 0.05)
    """

    key: ClassVar[str] = "hht"

    damping: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 <= self.damping <= 1.0 / 3.0:
            raise InputError(f"HHT(damping={self.damping}): take a damping from 0 (none) to 1/3.")

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        d = self.damping
        return (1.0 + d) ** 2 / 4.0, 0.5 + d, 0.0, d


@final
@dataclass(frozen=True)
class GeneralizedAlpha(Scheme):
    """Chung and Hulbert: second order, `radius` in [0, 1] is the spectral radius at infinite frequency.

        alpha_m = (2 radius - 1) / (radius + 1),   alpha_f = radius / (radius + 1)
        gamma = 1/2 + alpha_f - alpha_m,           beta = (1/2 + gamma)^2 / 4

    radius = 1 does not damp, 0 annihilates what a step cannot resolve.

    >>> GeneralizedAlpha(1.0).numbers
    (0.25, 0.5, 0.5, 0.5)
    """

    key: ClassVar[str] = "generalized-alpha"

    radius: float = 0.8

    def __post_init__(self) -> None:
        if not 0.0 <= self.radius <= 1.0:
            raise InputError(
                f"GeneralizedAlpha(radius={self.radius}): take a radius from 0 (most damping) to 1 (none)."
            )

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        m, f = (2.0 * self.radius - 1.0) / (self.radius + 1.0), self.radius / (self.radius + 1.0)
        gamma = 0.5 + f - m
        return (0.5 + gamma) ** 2 / 4.0, gamma, m, f


@dataclass(frozen=True)
class ExplicitScheme(Scheme):
    """A Runge-Kutta method; a new one is a file that states its tableau (`steps.runge_kutta.rk4`)."""

    implicit: ClassVar[bool] = False


def as_scheme(given: str | Scheme) -> Scheme:
    """A scheme from its name, from what it prints, or from itself.

    >>> as_scheme("hht")
    HHT(damping=0.05)
    >>> as_scheme("HHT(damping=0.1)").damping
    0.1
    """
    if isinstance(given, Scheme):
        return given
    if not isinstance(given, str):
        raise unknown_name("scheme", str(given), known_schemes())
    return chosen(given, known_schemes(), "scheme")


@cache
def _read_all() -> None:
    """Read the files of explicit methods, each of which may state schemes."""
    methods = importlib.import_module("mechgrad.steps.runge_kutta")
    for module in pkgutil.iter_modules(methods.__path__):
        importlib.import_module(f"{methods.__name__}.{module.name}")


def known_schemes() -> dict[str, type[Scheme]]:
    """All schemes by the names that `simulate` takes."""
    _read_all()
    return KNOWN
