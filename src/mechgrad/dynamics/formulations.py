"""What every formulation is, and how a name becomes one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mechgrad import dynamics
from mechgrad.dynamics.kernels.solver import Settings
from mechgrad.dynamics.written_choices import chosen
from mechgrad.errors import InputError

PROJECTED = 1e-10  # share of defects that projections leave, which are of second order in the step
MATRICES = ("auto", "dense", "sparse")
EXACT_BELOW = 24  # unknowns: smaller Newton matrices are made anew for every step, larger ones kept while they serve


class Explicit(NamedTuple):
    """How an explicit method treats constraints: numbers of the acceleration problem, and what follows a step."""

    eps: float
    frequency: float
    damping: float
    compliant: float
    after: int  # 0 nothing, 1 projection, 2 dependent coordinates are solved for


KNOWN: dict[str, type[Formulation]] = {}
"""Formulations by the names that `simulate` takes; a new one is there as soon as its file is read."""


@dataclass(frozen=True)
class Formulation:
    """A way to write the equations of motion; instances hold its numbers.

    key : the name that `simulate` takes for it with its usual numbers
    for_trees, for_loops : which mechanisms it serves
    fixed_point : whether implicit steps iterate accelerations to a fixed point
    recursive : whether accelerations come from recursive elimination
    independent_coordinates : whether steps act on independent coordinates, which are chosen along the way
    compliant : whether constraints yield, so that no configuration is singular
    meets_constraints : whether derivatives of its steps take constraints for met
    adjoint_equations : which continuous adjoint belongs to it (`sensitivities.continuous`)
    """

    name: ClassVar[str]
    key: ClassVar[str] = ""
    for_trees: ClassVar[bool] = True
    for_loops: ClassVar[bool] = True
    fixed_point: ClassVar[bool] = False
    recursive: ClassVar[bool] = False
    independent_coordinates: ClassVar[bool] = False
    compliant: ClassVar[bool] = False
    meets_constraints: ClassVar[bool] = False
    adjoint_equations: ClassVar[str] = "first order"

    def __init_subclass__(cls) -> None:
        if cls.key:
            KNOWN[cls.key] = cls

    def __str__(self) -> str:
        """The call that makes it, without what is left as it is: ALI3P(), MatrixR(independent=('A',))."""
        given = [f"{x.name}={getattr(self, x.name)!r}" for x in fields(self) if getattr(self, x.name) != x.default]
        return f"{type(self).__name__}({', '.join(given)})"

    def settings(self, numbers: tuple[float, float, float, float], size: int, redundant: bool) -> Settings | None:
        """Numbers of an implicit step for a scheme (beta, gamma, alpha_m, alpha_f), or None if there is none."""
        raise TypeError(f"{type(self).__name__} states no implicit step")  # pragma: no cover - every formulation does

    def named_coordinates(self) -> tuple[Any, ...] | None:
        """Independent coordinates that a user named; None where the choice is left to the march."""
        return None

    def matrix_choice(self) -> str:
        """Which matrices loops take: "sparse", "dense", or "auto", whichever serves better."""
        return "auto"

    def explicit(self) -> Explicit | None:
        """How explicit methods integrate it, or None if they cannot."""
        return None


def implicit_settings(numbers: tuple[float, float, float, float], **given: Any) -> Settings:
    """A `Settings` record with every field cast to its own type: one machine code serves all."""
    beta, gamma, alpha_m, alpha_f = numbers
    values: dict[str, Any] = {
        "beta": beta, "gamma": gamma, "alpha_m": alpha_m, "alpha_f": alpha_f,
        "weight_0": 1.0, "weight_1": 0.0, "weight_2": 0.0, "alpha": 1e9, "compliant": 0.0, "carry": 1.0,
        "projection": 0.0, "project_accelerations": False, "passes": 1, "enough": PROJECTED, "project_above": 0.0,
        "tolerance": 1e-10, "max_iterations": 50, "exact": True, "reuse": False, "watch": False,
        "scales": np.ones(0),
    }  # fmt: skip
    values |= given
    return Settings(**{name: cast(values[name]) for name, cast in _CASTS.items()})


# annotations of a NamedTuple are forward references
_CASTS: Mapping[str, Any] = {
    name: {"int": int, "bool": bool, "float": float, "np.ndarray": np.asarray}[kind.__forward_arg__]
    for name, kind in Settings.__annotations__.items()
}


def check_positive(owner: object, **numbers: float) -> None:
    """Raise unless all numbers are positive and finite."""
    for name, x in numbers.items():
        if not 0.0 < x < float("inf"):
            raise InputError(f"{type(owner).__name__}({name}={x}): must be positive and finite.")


def newton_numbers(tangent: str, reuse: bool | None, size: int) -> dict[str, bool]:
    """How the Newton matrix is made."""
    if tangent not in ("exact", "approximate"):
        raise InputError(f"tangent is {tangent!r}; choose 'exact' or 'approximate'.")
    return {"exact": tangent == "exact", "reuse": size > EXACT_BELOW if reuse is None else reuse}


def check_matrices(matrices: str) -> None:
    """Raise unless a choice of matrices is known."""
    if matrices not in MATRICES:
        raise InputError(f"matrices is {matrices!r}; choose one of {', '.join(map(repr, MATRICES))}.")


def as_formulation(given: str | Formulation) -> Formulation:
    """A formulation from its name, however it is written ("ALI3-P", "matrix_r"), from what it prints, or from itself.

    >>> as_formulation("matrix_r").name
    'Matrix R'
    >>> as_formulation("Index1(projection=False)").projection
    False
    """
    if isinstance(given, Formulation):
        return given
    if not isinstance(given, str):
        raise InputError(f"formulation is {given!r}; give one of {', '.join(known_formulations())}, or an instance.")
    return chosen(given, known_formulations(), "formulation")


@cache
def _read_all() -> None:
    """Read the files of this folder, each of which may state formulations."""
    for module in pkgutil.iter_modules(dynamics.__path__):
        importlib.import_module(f"{dynamics.__name__}.{module.name}")


def known_formulations() -> dict[str, type[Formulation]]:
    """All formulations by the names that `simulate` takes."""
    _read_all()
    return KNOWN
