"""Which kind of step serves a formulation and a scheme: every folder beside this file says in `METHODS` what it serves.

A kind of step of one's own is a folder with a `methods.py` that states `METHODS`; it is found by being here, or by
`register`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from functools import cache

from mechgrad import steps
from mechgrad.dynamics.formulations import Formulation
from mechgrad.errors import InputError
from mechgrad.steps.base import StepMethod
from mechgrad.steps.schemes import Scheme

_REGISTERED: list[StepMethod] = []


def register(method: StepMethod) -> StepMethod:
    """Offer a kind of step from elsewhere, before those that are here; returns it."""
    _REGISTERED.insert(0, method)
    return method


@cache
def _here() -> tuple[StepMethod, ...]:
    found: list[StepMethod] = []
    for module in pkgutil.iter_modules(steps.__path__):
        place = f"{steps.__name__}.{module.name}.methods"
        if module.ispkg and importlib.util.find_spec(place) is not None:
            found += importlib.import_module(place).METHODS
    return tuple(found)


def method_of(formulation: Formulation, scheme: Scheme, controlled: bool) -> StepMethod:
    """The kind of step that serves a formulation and a scheme; controlled: no length of steps is given."""
    for method in (*_REGISTERED, *_here()):
        if method.serves(formulation, scheme, controlled):
            return method
    lengths = "without a step" if controlled else "with a step"
    raise InputError(f"no kind of step serves {formulation.name} with {scheme!r} {lengths}.")
