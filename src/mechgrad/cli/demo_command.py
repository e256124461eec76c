"""The command `mechgrad demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mechgrad.cli.console import fail
from mechgrad.cli.demo import LIMIT, DemoResult, run_demo
from mechgrad.cli.warm import demo_steps
from mechgrad.cli.warm_command import run_steps
from mechgrad.errors import MechgradError

__all__ = ["demo"]


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the plot (png, pdf or svg).")] = Path(
        "mechgrad-demo.png"
    ),
) -> None:
    """Differentiate the torques of a human with 43 joints, check the result, time it and draw it."""
    console = Console()
    console.print(
        "[bold]mechgrad demo[/bold]: the torques that move a human with 43 joints for 3 s, and\n"
        "their exact derivatives by every coordinate, velocity and acceleration."
    )
    run_steps(console, list(demo_steps()))
    try:
        with console.status("building the human") as status:
            result = run_demo(output, say=status.update)
    except (MechgradError, OSError) as error:
        fail(str(error))
    console.print(_demo_table(result))
    console.print(f"plot written to {result.picture}", highlight=False, soft_wrap=True)
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
