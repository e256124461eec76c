"""How commands end badly: one sentence on the error stream, and an exit code."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

__all__ = ["FAILED", "MISUSED", "fail"]

FAILED = 1
MISUSED = 2


def fail(message: str, code: int = FAILED) -> NoReturn:
    """Print to the error stream and leave."""
    print(f"mechgrad: {message}", file=sys.stderr)
    raise typer.Exit(code)
