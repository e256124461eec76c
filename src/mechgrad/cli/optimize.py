"""The command `mechgrad optimize`: the best design, as a file states the problem."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import mechgrad as mg
from mechgrad.cli.console import FAILED, MISUSED, fail
from mechgrad.cli.design_file import Answer, read_design
from mechgrad.cli.users import load_functions
from mechgrad.errors import MechgradError, printable
from mechgrad.io import save_model
from mechgrad.pages import checked_path, require_pictures

__all__ = ["optimize"]


def optimize(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.toml", help="A file of a design problem, see the docs.")],
    solver: Annotated[str | None, typer.Option(help="Instead of the solver in the file.")] = None,
    multistart: Annotated[int | None, typer.Option(metavar="COUNT", help="Search from so many starts.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the starts.")] = None,
    executor: Annotated[str | None, typer.Option(help="serial, threads or processes.")] = None,
    log: Annotated[Path | None, typer.Option(help="A new file for every evaluation, in JSON lines.")] = None,
    resume: Annotated[Path | None, typer.Option(help="The log of a run that ended; goes on with it.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the best model (.toml).")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="File for a plot (png, pdf or svg).")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="File for a page about the optimum (html).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    progress: Annotated[bool, typer.Option("--progress", help="Print a line per iteration, or per start.")] = False,
    functions: Annotated[
        Path | None,
        typer.Option("--functions", metavar="FILE.py", help="Run this Python file; formulas may use its functions."),
    ] = None,
) -> None:
    """Find the numbers of a mechanism that make objectives small and hold limits.

    Ctrl-C ends the search with the best design so far. Exit code 0: converged; 1: the search ended before, and what it
    reached is shown and written; 2: bad input.
    """
    console, found = Console(), None
    try:
        users = load_functions(str(functions)) if functions is not None else None
        design = read_design(problem, users)
        if report is not None:
            checked_path(report)
            require_pictures()
        found = design.solve(
            solver=solver, multistart=multistart, seed=seed, executor=executor, log=log, resume=resume,
            progress=True if progress and not as_json else None,
        )  # fmt: skip
        best = _best(found)
    except MechgradError as error:
        if isinstance(found, mg.design.Multistart):
            fail(f"{problem}: {error}", FAILED)
        fail(str(error), MISUSED)
    if as_json:
        print(json.dumps(_content(best, found), allow_nan=False))
    else:
        _show(console, best, found)
    told = [] if as_json else [console.print]
    try:
        for path in _write(found, best, output) if output is not None else []:
            for tell in told:
                tell(f"model written to {path}", highlight=False, soft_wrap=True, markup=False)
        if report is not None:
            best.report(report, **design.report)
            for tell in told:
                tell(f"report written to {report}", highlight=False, soft_wrap=True, markup=False)
        if plot is not None:
            found.plot().savefig(plot)
            for tell in told:
                tell(f"plot written to {plot}", highlight=False, soft_wrap=True, markup=False)
    except (OSError, ValueError, MechgradError) as error:  # no such folder, no such format
        fail(str(error), MISUSED)
    if not best.success:
        fail(best.reason, FAILED)


def _best(found: Answer) -> mg.design.Optimum:
    """The optimum itself, the best one of many starts, or that of the first objective of a front."""
    if isinstance(found, mg.design.Front):
        return min(found.points, key=lambda point: point.first).optimum
    return found if isinstance(found, mg.design.Optimum) else found.best


def _show(console: Console, best: mg.design.Optimum, found: Answer) -> None:
    if not isinstance(found, mg.design.Optimum):
        console.print(printable(str(found)), markup=False, highlight=False, soft_wrap=True)
    title = f"{best.status}: objective {best.start_value:.8g} -> {best.value:.8g}, {len(best.history)} evaluations"
    table = Table(title=escape(printable(title)), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("", overflow="fold")
    for heading in ("value", "lower", "upper", "multiplier"):
        table.add_column(heading, justify="right", no_wrap=True)
    for items in (best.variables, best.constraints):
        for side in items:
            numbers = (f"{side.value:.8g}", *(f"{x:.5g}" for x in (side.lower, side.upper, side.multiplier)))
            table.add_row(escape(printable(side.name)), *numbers)
        table.add_section()
    console.print(table)
    for failed in best.failures[-1:]:
        text = f"{len(best.failures)} designs failed on the way; number {failed.number}: {failed.failure}"
        console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def _content(best: mg.design.Optimum, found: Answer) -> dict[str, Any]:
    """All that is known of an answer, for other programs; numbers that are none are null."""
    content: dict[str, Any] = {
        "status": best.status, "reason": best.reason, "objective": _number(best.value),
        "start_objective": _number(best.start_value), "variables": best.values,
        "limits": [_side(side) for side in best.constraints], "bounds": [_side(side) for side in best.variables],
        "evaluations": len(best.history), "failures": len(best.failures), "iterations": best.iterations,
        "seconds": best.seconds, "solver": best.result.solver,
    }  # fmt: skip
    if isinstance(found, mg.design.Multistart):
        content["basins"] = [
            {"objective": _number(b.value), "starts": list(b.starts), "variables": b.values} for b in found.basins
        ]
        content["unfinished"] = [str(s) for s in found.unfinished]
    if isinstance(found, mg.design.Front):
        for key in ("points", "dominated"):
            content[key] = [
                {
                    "first": _number(p.first),
                    "second": _number(p.second),
                    "slope": _number(p.slope),
                    "variables": p.values,
                }
                for p in getattr(found, key)
            ]
        content["failed"] = [{"second": _number(limit), "reason": reason} for limit, reason in found.failed]
    return content


def _side(side: mg.design.Side) -> dict[str, Any]:
    numbers = {key: _number(getattr(side, key)) for key in ("value", "lower", "upper", "multiplier")}
    return {"name": side.name, **numbers, "active": side.active}


def _number(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _write(found: Answer, best: mg.design.Optimum, path: Path) -> list[Path]:
    """The best model, one file for each scenario, called after it, or for each point of a front, by its number."""
    if isinstance(found, mg.design.Front):
        numbered = [path.with_name(f"{path.stem}-{k}{path.suffix}") for k in range(1, len(found.points) + 1)]
        pairs = zip(found.points, numbered, strict=True)
        return [one for point, where in pairs for one in _write(point.optimum, point.optimum, where)]
    if len(best.models) == 1:
        save_model(best.model, path)
        return [path]
    paths = []
    for name, model in best.models.items():
        word = re.sub(r"[^\w.-]", "_", name)
        paths.append(path.with_name(f"{path.stem}-{word}{path.suffix}"))
        save_model(model, paths[-1])
    return paths
