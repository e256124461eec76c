"""The command `mechgrad version`, and the option `--version`."""

from __future__ import annotations

import platform
from importlib import metadata

import typer

__all__ = ["own_version", "version"]


def version() -> None:
    """Print the versions that a report of a problem should quote."""
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "numba", "scipy"))
    typer.echo(f"mechgrad {own_version()} (Python {platform.python_version()}, {packages}, {platform.machine()})")


def own_version() -> str:
    """As it was installed."""
    try:
        return metadata.version("mechgrad")
    except metadata.PackageNotFoundError:
        return "(not installed)"
