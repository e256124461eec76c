"""The command `mechgrad gradient`: derivatives of objectives of a motion, as a problem file states them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mechgrad.cli.console import FAILED, MISUSED, fail
from mechgrad.cli.problem_file import read_problem
from mechgrad.cli.users import load_functions
from mechgrad.errors import MechgradError, printable

__all__ = ["gradient"]


def gradient(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.toml", help="A problem file, see the docs.")],
    method: Annotated[str | None, typer.Option("--method", help="Instead of the method in the file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Certify the result with a complex step.")] = False,
    functions: Annotated[
        Path | None,
        typer.Option("--functions", metavar="FILE.py", help="Run this Python file; formulas may use its functions."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="File for a bar chart (png, pdf or svg).")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="File for a page about it (.html).")] = None,
) -> None:
    """Simulate a motion and differentiate its objectives by parameters.

    Exit code 0: done; 1: the check failed; 2: bad input.
    """
    console = Console()
    try:
        users = load_functions(str(functions)) if functions is not None else None
        result = read_problem(problem, users).solve(method)
    except MechgradError as error:
        fail(str(error), MISUSED)
    table = Table(title=escape(printable(f"{result.motion.model.name}, {result.choice}")))
    table.add_column("")
    for name in result.objectives:
        table.add_column(escape(printable(name)), justify="right")
    table.add_row("value", *(f"{x:.8g}" for x in result.values), end_section=True)
    for name, column in zip(result.parameters, result.array.T, strict=True):
        table.add_row(escape(printable(name)), *(f"{x:.8g}" for x in column))
    console.print(table)
    if plot is not None:
        result.plot().savefig(plot)
        console.print(f"plot written to {plot}", highlight=False, soft_wrap=True)
    if report is not None:
        try:
            where = result.report(report)
        except MechgradError as error:
            fail(str(error), MISUSED)
        console.print(f"report written to {where}", highlight=False, soft_wrap=True, markup=False)
    if check:
        certificate = result.certify()
        if not certificate.passed:
            fail(certificate.verdict, FAILED)
        console.print(f"[green]{escape(printable(certificate.verdict))}[/green]", highlight=False, soft_wrap=True)
