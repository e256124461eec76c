"""The command `mechgrad simulate`: a motion of a model, as a table, a file of numbers or a plot."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import mechgrad as mg
from mechgrad.cli.console import FAILED, MISUSED, fail
from mechgrad.cli.models import MODEL_HELP, find_model
from mechgrad.cli.starts import pairs, start_of
from mechgrad.errors import InputError, MechgradError, printable
from mechgrad.io import save_trajectory

__all__ = ["simulate"]

ROWS = 24
"""Coordinates shown; files have them all."""
KINDS = (".csv", ".npz")


def simulate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    duration: Annotated[float, typer.Option(help="[s]")] = 1.0,
    step: Annotated[float | None, typer.Option(help="Fixed step [s]; left out: error control.")] = None,
    samples: Annotated[int | None, typer.Option(help="How many instants are reported.")] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="NAME=VALUE", help="A coordinate at the start, repeatable; loops are closed."),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option("--rate", metavar="NAME=VALUE", help="A velocity at the start, repeatable.")
    ] = None,
    formulation: Annotated[str | None, typer.Option(help="ali3p, index1, penalty, matrix-r, ...")] = None,
    scheme: Annotated[str | None, typer.Option(help="dop853, rk4, trapezoidal, newmark, hht, ...")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for t, q, v and a (.csv or .npz).")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="File for a plot (png, pdf or svg).")] = None,
) -> None:
    """Simulate a model and show what moved.

    A model of the gallery starts as its documentation says, one of a file in its zero position with loops closed;
    --at and --rate say otherwise. Exit code 0: done; 1: the motion could not go on, and what there is of it is shown
    and written; 2: bad input.
    """
    console, trouble = Console(), ""
    try:
        if output is not None and output.suffix not in KINDS:
            raise InputError(f"{output}: motions are written as {' or '.join(KINDS)}.")
        found = find_model(model)
        start = start_of(model, found, pairs(at, "--at"), pairs(rate, "--rate"))
        motion = mg.simulate(found, start, duration, step=step, samples=samples, formulation=formulation, scheme=scheme)
    except mg.StepFailed as error:
        motion, trouble = error.trajectory, str(error)
    except MechgradError as error:
        fail(str(error), MISUSED)
    _show(console, motion)
    try:
        if output is not None:
            _write(motion, output)
            console.print(f"motion written to {output}", highlight=False, soft_wrap=True, markup=False)
        if plot is not None:
            motion.plot().savefig(plot)
            console.print(f"plot written to {plot}", highlight=False, soft_wrap=True, markup=False)
    except (OSError, ValueError) as error:  # no such folder, no such format
        fail(str(error), MISUSED)
    if trouble:
        fail(trouble, FAILED)


def _show(console: Console, motion: mg.Trajectory) -> None:
    how = f"{motion.formulation.name}, {type(motion.scheme).__name__}, {motion.steps} steps"
    title = f"{motion.model.name}: {motion.t[0]:g} to {motion.t[-1]:g} s, {how}, ended by {motion.ended}"
    table = Table(title=escape(printable(title)), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("coordinate", overflow="fold")
    for heading in ("start", "end", "least", "most"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, x in list(zip(motion.model.q_names, motion.q.T, strict=True))[:ROWS]:
        table.add_row(escape(printable(name)), *(f"{value:.6g}" for value in (x[0], x[-1], x.min(), x.max())))
    energy = motion.energy()
    table.add_section()
    table.add_row("energy [J]", *(f"{value:.6g}" for value in (energy[0], energy[-1], energy.min(), energy.max())))
    console.print(table)
    if (hidden := motion.model.n_q - ROWS) > 0:
        console.print(f"... and {hidden} more coordinates; --output writes all", highlight=False)


def _write(motion: mg.Trajectory, path: Path) -> None:
    """A file of `save_trajectory`, or columns t, then q, v and a under the names of coordinates and velocities."""
    if path.suffix == ".npz":
        save_trajectory(motion, path)
        return
    q, v = motion.model.q_names, motion.model.v_names
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["t", *(f"q {x}" for x in q), *(f"v {x}" for x in v), *(f"a {x}" for x in v)])
        for row in np.column_stack((motion.t, motion.q, motion.v, motion.a)):
            table.writerow(map(repr, row.tolist()))
