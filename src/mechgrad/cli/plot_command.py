"""The command `mechgrad plot`: a motion as a picture of curves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mechgrad import plots
from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.shown import SHOWN_HELP, find_shown, measures_of
from mechgrad.errors import InputError, MechgradError

__all__ = ["KINDS", "plot"]

KINDS = {
    "motion": plots.motion,
    "energies": plots.energies,
    "reactions": plots.reactions,
    "phase": plots.phase,
    "constraints": plots.constraint_norms,
}


def plot(
    shown: Annotated[str, typer.Argument(metavar="WHAT", help=SHOWN_HELP)],
    measure: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MEASURE]...", help="Coordinates, KineticEnergy(), PointPosition(tip), ..."),
    ] = None,
    kind: Annotated[str, typer.Option(help=f"Without measures: {', '.join(KINDS)}.")] = "motion",
    duration: Annotated[float | None, typer.Option(help="Simulate a model for so long [s].")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture (png, pdf or svg).")] = Path("motion.png"),
) -> None:
    """Draw a motion: its coordinates, energies and constraints, or measures of it.

    Exit code 0: done; 2: bad input.
    """
    try:
        if kind not in KINDS:
            raise InputError(f"--kind is {kind!r}; choose one of {', '.join(KINDS)}.")
        measures = measures_of(measure)
        found = find_shown(shown, duration)
        figure = _drawn(found, measures, kind)
        formats = figure.canvas.get_supported_filetypes()
        if output.suffix.removeprefix(".") not in formats:
            raise InputError(f"cannot draw into {output}: its ending must be one of {', '.join(sorted(formats))}.")
        figure.savefig(output)
    except (MechgradError, OSError) as error:
        fail(str(error), MISUSED)
    Console().print(f"plot written to {output}", highlight=False, soft_wrap=True, markup=False)


def _drawn(found: Any, measures: list[Any], kind: str) -> Any:
    if not hasattr(found, "plot"):
        raise InputError("a model that stands still has no curves: add --duration 2, or give a motion (.npz).")
    if hasattr(found, "splines"):  # a planned motion
        if measures or kind != "motion":
            raise InputError("of what save_motion wrote only the whole is drawn: leave measures and --kind out.")
        return found.plot()
    return plots.histories(found, *measures) if measures else KINDS[kind](found)
