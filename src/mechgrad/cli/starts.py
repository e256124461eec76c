"""Where a model starts, as options of commands say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import mechgrad as mg
from mechgrad.cli.models import GALLERY
from mechgrad.errors import InputError

__all__ = ["pairs", "start_of"]


def pairs(given: list[str] | None, option: str) -> dict[str, float]:
    """NAME=VALUE as a mapping."""
    found: dict[str, float] = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not equals or not name or not np.isfinite(number):
            raise InputError(f"{option} {text}: write {option} NAME=VALUE with a finite number, such as shoulder=0.3.")
        found[name.strip()] = number
    return found


def start_of(name: str, model: mg.Model, at: Mapping[str, float], rates: Mapping[str, float]) -> mg.State:
    """The usual start of a model of the gallery, its zero position, or what is asked for."""
    usual: mg.State | None = None
    if name in GALLERY:
        begun = GALLERY[name].start(model)
        usual = mg.state(model, *begun) if isinstance(begun, tuple) else begun
    if usual is not None and not at and not rates:
        return usual
    return mg.assemble(model, at or None, rates or None, guess=None if usual is None else usual.q)
