"""Formulations and schemes by name, or as results print them: "hht", "HHT", "HHT(damping=0.1)"."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from mechgrad.errors import InputError, unknown_name

T = TypeVar("T")


def chosen(given: str, known: Mapping[str, type[T]], noun: str) -> T:
    """The formulation or scheme that a text names, with the numbers it states; others have their usual values.

    Names are the keys of `known` or those of the classes, in capitals or not, with or without dashes.

    >>> from mechgrad.dynamics.formulations import known_formulations
    >>> chosen("Penalty(penalty=1e11)", known_formulations(), "formulation").penalty
    100000000000.0
    """
    name, bracket, _ = given.partition("(")
    kind = known.get(given)
    if kind is None:
        kinds = {_plain(key): kind for key, kind in known.items()} | {_plain(x.__name__): x for x in known.values()}
        kind = kinds.get(_plain(name))
    if kind is None:
        raise unknown_name(noun, given, known)
    numbers, named = _arguments(given, noun) if bracket else ((), {})
    needed = [f.name for f in fields(kind) if f.default is MISSING is f.default_factory]  # type: ignore[arg-type]
    if missing := [x for x in needed[len(numbers) :] if x not in named]:
        raise InputError(f"{noun} {given!r} has no usual numbers: give {kind.__name__}({', '.join(missing)}).")
    try:
        return kind(*numbers, **named)
    except TypeError as error:
        known_numbers = ", ".join(f.name for f in fields(kind))  # type: ignore[arg-type]
        raise InputError(
            f"{noun} {given!r} states numbers that {kind.__name__} has not: {error}. It has: {known_numbers or 'none'}."
        ) from error


def _arguments(given: str, noun: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What stands in the brackets: numbers, words, lists, None; nothing is run."""
    try:
        call = ast.parse(given.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or any(x.arg is None for x in call.keywords):
            raise ValueError("it is no name with numbers in brackets")
        numbers = tuple(ast.literal_eval(x) for x in call.args)
        return numbers, {str(x.arg): ast.literal_eval(x.value) for x in call.keywords}
    except (ValueError, SyntaxError) as error:
        raise InputError(f"{noun} {given!r} cannot be read: {error}. Write e.g. 'Name(number=1.0)'.") from error


def _plain(name: str) -> str:
    """A name without what is written in several ways."""
    return "".join(c for c in name.lower() if c.isalnum())
