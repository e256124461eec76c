"""The command `mechgrad report`: a motion as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.shown import SHOWN_HELP, find_shown, measures_of
from mechgrad.errors import InputError, MechgradError

__all__ = ["report"]


def report(
    shown: Annotated[str, typer.Argument(metavar="WHAT", help=SHOWN_HELP)],
    measure: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MEASURE]...", help="Coordinates, KineticEnergy(), PointPosition(tip), ..."),
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Simulate a model for so long [s].")] = None,
    title: Annotated[str, typer.Option(help="In place of the name of the model.")] = "",
    animated: Annotated[bool, typer.Option(help="Whether the motion can be played in it.")] = True,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page (.html).")] = Path("motion.html"),
) -> None:
    """Write a page about a motion: animation, plots, the model, how it was made.

    Of gradients and optima: `mechgrad gradient --report`, `mechgrad optimize --report`.

    Exit code 0: done; 2: bad input.
    """
    try:
        measures = measures_of(measure)
        found = find_shown(shown, duration)
        if not hasattr(found, "report"):
            raise InputError(
                "a report is about a motion: of a model, add --duration 2; what save_motion wrote has `mechgrad plot`."
            )
        written = found.report(output, measures, title=title, animated=animated)
    except (MechgradError, OSError) as error:
        fail(str(error), MISUSED)
    Console().print(f"report written to {written}", highlight=False, soft_wrap=True, markup=False)
