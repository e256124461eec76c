"""What values in a file are, told or refused: each of these returns the value or says what it should have been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.typing import FloatArray


def only_known(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raise for a key that means nothing."""
    for key in given:
        if key not in known:
            raise unknown_name("key", key, known, where)


def short(value: Any) -> str:
    """A value as messages quote it.

    >>> short("a" * 100) == "a" * 60
    True
    """
    return f"{value!r:.60}" if not isinstance(value, str) else value[:60]


def table(value: Any, what: str) -> Mapping[str, Any]:
    """A table with its keys."""
    if not isinstance(value, Mapping):
        raise InputError(f"{what} is {short(value)}; it must be a table.")
    return value


def number(value: Any, what: str) -> float:
    """One finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise InputError(f"{what} is {short(value)}; it must be one finite number.")
    return float(value)


def count(value: Any, what: str, least: int = 2) -> int:
    """A whole number, `least` or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{what} is {short(value)}; it must be a whole number, {least} or more.")
    return value


def truth(value: Any, what: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise InputError(f"{what} is {short(value)}; it must be true or false.")
    return value


def word(value: Any, what: str) -> str:
    """A word in quotes."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{what} is {short(value)}; it must be a word in quotes.")
    return value


def words(value: Any, what: str) -> list[str]:
    """A list of words; one word stands for a list of it."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(x, str) and x for x in given):
        raise InputError(f"{what} is {short(value)}; it must be a list of names in quotes.")
    return given


def numbers(value: Any, what: str) -> FloatArray:
    """A list of numbers, or a list of such lists of one length.

    >>> numbers([[1, 2], [3, 4]], "q").shape
    (2, 2)
    """
    if not isinstance(value, list):
        raise InputError(f"{what} is {short(value)}; it must be a list of numbers.")
    rows = value if value and all(isinstance(row, list) for row in value) else [value]
    if any(len(row) != len(rows[0]) for row in rows):
        raise InputError(f"{what} is {short(value)}; its rows must be lists of numbers, of one length.")
    found = np.array([[number(x, f"{what}[{k}]") for k, x in enumerate(row)] for row in rows], float)
    return found if rows is value else found[0]
