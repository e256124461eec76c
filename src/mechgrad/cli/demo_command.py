"""The command `mechgrad demo`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.demo import LIMIT, DemoResult, run_demo
from mechgrad.cli.warm import demo_steps
from mechgrad.cli.warm_command import run_steps
from mechgrad.errors import MechgradError

__all__ = ["demo"]

PICTURE, ANIMATION = Path("mechgrad-demo.png"), Path("mechgrad-demo.html")
HOW_TO_DRAW = "pip install 'mechgrad[viz]'"


def demo(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the plot (png, pdf or svg); mechgrad-demo.png.")
    ] = None,
) -> None:
    """Differentiate the torques of a human with 43 joints, check the result, time it and draw it."""
    console = Console()
    console.print(
        "[bold]mechgrad demo[/bold]: the torques that move a human with 43 joints for 3 s, and\n"
        "their exact derivatives by every coordinate, velocity and acceleration."
    )
    draws, moves = find_spec("matplotlib") is not None, find_spec("trimesh") is not None
    if output is not None and not draws:
        fail(f"{output} needs matplotlib to be drawn: {HOW_TO_DRAW}", MISUSED)
    run_steps(console, list(demo_steps()))
    try:
        with console.status("building the human") as status:
            page = ANIMATION if output is None else output.with_suffix(".html")
            result = run_demo((output or PICTURE) if draws else None, page if moves else None, say=status.update)
    except (MechgradError, OSError) as error:
        fail(str(error))
    console.print(_demo_table(result))
    seen = (("plot", "matplotlib", result.picture), ("animation", "trimesh", result.animation))
    for what, package, path in seen:
        told = f"no {what} without {package}: {HOW_TO_DRAW}" if path is None else f"{what} written to {path.absolute()}"
        console.print(told, highlight=False, soft_wrap=True, markup=False)
    if not result.passed:
        fail(
            f"the derivatives do not agree with the complex step: relative error {result.worst:.1e}, "
            f"accepted {LIMIT:.0e}. {result.verdict}\n"
            "Please report this together with the output of `mechgrad version`."
        )
    console.print(
        f"[green]derivatives agree with the complex step to {result.worst:.0e} (accepted {LIMIT:.0e})[/green]"
    )


def _demo_table(result: DemoResult) -> Table:
    table = Table(title=f"human, {result.dof} joints, one thread", caption="error: relative, against the complex step")
    table.add_column("", no_wrap=True)
    for heading in ("samples", "DOF", "ms in all", "µs per sample", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    timed = (
        ("torques", result.seconds_torques, ""),
        ("derivatives", result.seconds_derivatives, f"{result.worst:.1e}"),
    )
    for label, seconds, error in timed:
        each = f"{1e6 * seconds / result.samples:.2f}"
        table.add_row(label, str(result.samples), str(result.dof), f"{1e3 * seconds:.2f}", each, error)
    for family, relative in result.errors.items():
        table.add_row(f"  {family}", "", "", "", "", f"{relative:.1e}")
    return table
