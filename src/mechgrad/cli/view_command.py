"""The command `mechgrad view`: a motion or a model in the browser, or as a file to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.shown import SHOWN_HELP, find_shown
from mechgrad.errors import MechgradError
from mechgrad.visualization import save_scene
from mechgrad.visualization import view as open_viewer

__all__ = ["view"]


def view(
    shown: Annotated[str, typer.Argument(metavar="WHAT", help=SHOWN_HELP)],
    duration: Annotated[float | None, typer.Option(help="Simulate a model for so long [s].")] = None,
    trail: Annotated[list[str] | None, typer.Option("--trail", help="A point whose way is drawn, repeatable.")] = None,
    port: Annotated[int, typer.Option(help="Of the page on this machine; 0 finds a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser; the address is printed in any case.")] = True,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a file instead (.html, .png, .gif or .mp4).")
    ] = None,
) -> None:
    """Look at a motion or a model in the browser, or write it as a page, a picture or a film.

    Exit code 0: done; 2: bad input.
    """
    try:
        found = find_shown(shown, duration)
        if output is None:
            open_viewer(found, trails=trail or (), port=port, open_browser=browser, block=True)
            return
        written = save_scene(found, output, trails=trail or ())
    except (MechgradError, OSError) as error:
        fail(str(error), MISUSED)
    Console().print(f"written to {written}", highlight=False, soft_wrap=True, markup=False)
