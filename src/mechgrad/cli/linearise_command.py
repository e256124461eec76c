"""The command `mechgrad linearise`: small motions of a model, as a table of modes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import mechgrad as mg
from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.models import MODEL_HELP, find_model
from mechgrad.cli.starts import pairs, start_of
from mechgrad.errors import InputError, MechgradError, printable
from mechgrad.results import Linearisation

__all__ = ["linearise"]

VALUES = 41
"""Of a parameter, along which eigenvalues are followed."""


def linearise(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)],
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="NAME=VALUE", help="A coordinate there, repeatable.")
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option("--rate", metavar="NAME=VALUE", help="A velocity there, repeatable.")
    ] = None,
    rest: Annotated[bool, typer.Option("--rest", help="Find the equilibrium near there, and take that.")] = False,
    wrt: Annotated[
        list[str] | None, typer.Option("--wrt", metavar="PATH", help="Differentiate eigenvalues by it, repeatable.")
    ] = None,
    locus: Annotated[
        str | None, typer.Option("--locus", metavar="PATH=FROM:TO", help="Follow eigenvalues along a number.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="File for a plot of the locus (png, pdf, svg).")] = None,
) -> None:
    """Show the modes of small motions about a state: eigenvalues, frequencies, damping, and who takes part.

    A model of the gallery is taken where its documentation starts it, one of a file in its zero position with loops
    closed; --at, --rate and --rest say otherwise. Exit code 0: done; 2: bad input.
    """
    console = Console()
    try:
        if plot is not None and locus is None:
            raise InputError("--plot draws a locus; give --locus PATH=FROM:TO as well.")
        found = find_model(model)
        about: mg.State | mg.results.Equilibrium = start_of(model, found, pairs(at, "--at"), pairs(rate, "--rate"))
        if rest:
            about = mg.equilibrium(found, about.q, t=about.t)
        lin = mg.linearise(found, about)
        slopes = lin.derivatives(wrt) if wrt else None
        console.print(_modes(lin))
        if lin.neutral:
            names = escape(printable(", ".join(lin.neutral)))
            console.print(f"nothing depends on: {names}", highlight=False)
        if not lin.steady:
            console.print("the state passes: eigenvalues belong to equations that change with time", highlight=False)
        if slopes is not None:
            console.print(_derivatives(lin, slopes.eigenvalues, slopes.parameters))
        if locus is not None:
            _follow(console, lin, locus, plot)
    except (MechgradError, OSError, ValueError) as error:  # no such folder, no such format
        fail(str(error), MISUSED)


def _modes(lin: Linearisation) -> Table:
    title = f"{lin.model.name}: small motions about {lin.about} at t = {float(lin.point.t[0]):g} s"
    table = Table(title=escape(printable(title)), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    for heading in ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("coordinates", overflow="fold")
    for mode in lin.modes:
        swings = (f"{mode.frequency:.4f}", f"{mode.damping_ratio:.4f}") if mode.oscillates else ("", "")
        table.add_row(mode.value_in_words, *swings, escape(printable(mode.name)))
    return table


def _derivatives(lin: Linearisation, slopes: np.ndarray, paths: tuple[str, ...]) -> Table:
    table = Table(title="derivatives of eigenvalues", title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("by", overflow="fold")
    shown = [k for k, value in enumerate(lin.eigenvalues) if value.imag >= 0.0]
    for mode in lin.modes:
        table.add_column(mode.value_in_words, justify="right")
    for path, row in zip(paths, slopes, strict=True):
        cells = (f"{x.real:.6g}" + (f" {x.imag:+.6g}i" if x.imag else "") for x in row[shown])
        table.add_row(escape(printable(path)), *cells)
    return table


def _follow(console: Console, lin: Linearisation, locus: str, plot: Path | None) -> None:
    path, equals, span = locus.rpartition("=")
    first, colon, last = span.partition(":")
    try:
        values = np.linspace(float(first), float(last), VALUES)
    except ValueError:
        values = np.array([np.nan])
    if not equals or not colon or not np.isfinite(values).all():
        raise InputError(f"--locus {locus}: write --locus PATH=FROM:TO with numbers, such as spring.damping=0:5.")
    found = lin.locus(path.strip(), values)
    crossings = found.crossings()
    for x in crossings:
        begins = "begins" if x.rate * (values[-1] - values[0]) > 0.0 else "ceases"
        swings = f", {x.eigenvalue.imag / (2 * np.pi):.4f} Hz" if x.eigenvalue.imag else ""
        console.print(f"at {path} = {x.value:.9g} a mode {begins} to grow{swings}", highlight=False, markup=False)
    if not crossings:
        console.print(f"along {path} no mode begins or ceases to grow", highlight=False, markup=False)
    if plot is not None:
        found.plot().savefig(plot)
        console.print(f"plot written to {plot}", highlight=False, soft_wrap=True, markup=False)
