"""How commands end badly: one sentence on the error stream, and an exit code."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

from mechgrad.errors import printable

__all__ = ["FAILED", "MISUSED", "fail"]

FAILED = 1
MISUSED = 2
LONGEST = 4000
"""Characters of a message; what a file holds is quoted in it, and files may be long."""


def fail(message: str, code: int = FAILED) -> NoReturn:
    """Print to the error stream, without control characters, and leave; what was misused is told in one line."""
    text = printable(message)
    if code == MISUSED:
        text = " ".join(text.split())
    print(f"mechgrad: {text if len(text) <= LONGEST else text[:LONGEST] + ' ...'}", file=sys.stderr)
    raise typer.Exit(code)
