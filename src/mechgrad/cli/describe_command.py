"""The command `mechgrad describe`."""

from __future__ import annotations

from typing import Annotated

import typer

from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.models import MODEL_HELP, find_model
from mechgrad.errors import MechgradError

__all__ = ["describe"]


def describe(model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]) -> None:
    """Print the bodies, joints, mobility and tree of a model."""
    try:
        loaded = find_model(model)
    except MechgradError as error:
        fail(str(error), MISUSED)
    typer.echo(loaded.describe())
