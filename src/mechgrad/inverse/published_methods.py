"""The methods of the literature for inverse dynamics of trees, by name, beside the fast one (`inverse.spatial`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mechgrad.errors import InputError
from mechgrad.inverse.lagrange import lagrange_derivatives, lagrange_torques
from mechgrad.inverse.newton_euler import newton_euler_derivatives, newton_euler_torques

SPATIAL = "spatial"


class Method(NamedTuple):
    """Torques, and torques with their derivatives by q, v and a; both take (model, q, v, a, loads=...)."""

    torques: Callable[..., Any]
    derivatives: Callable[..., Any]


METHODS = {
    "lagrange": Method(lagrange_torques, lagrange_derivatives),
    "newton-euler": Method(newton_euler_torques, newton_euler_derivatives),
}


def other_method(name: str, extras: bool) -> Method:
    """A method by name; `extras`: whether something is asked for that only the fast one has."""
    if name not in METHODS:
        raise InputError(f"method is {name!r}; choose one of {SPATIAL!r}, {', '.join(map(repr, METHODS))}.")
    if extras:
        raise InputError(f"method {name!r} takes no wrt, out or threads; use method={SPATIAL!r} for those.")
    return METHODS[name]
