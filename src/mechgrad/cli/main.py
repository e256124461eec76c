"""The commands of `mechgrad`."""

from __future__ import annotations

import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from mechgrad.cli.check import check
from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.demo import LIMIT, DemoResult, run_demo
from mechgrad.cli.gradient_command import gradient
from mechgrad.cli.linearise_command import linearise
from mechgrad.cli.models import MODEL_HELP, find_model
from mechgrad.cli.optimize import optimize
from mechgrad.cli.simulate_command import simulate
from mechgrad.cli.warm import WarmStep, demo_steps, warm_steps
from mechgrad.errors import MechgradError
from mechgrad.kernels.disk.notices import compile_notices, expected, short
from mechgrad.kernels.disk.place import clean as clean_cache
from mechgrad.kernels.jit import CACHE_DIR

__all__ = ["app"]

app = typer.Typer(
    name="mechgrad",
    help="Multibody dynamics with exact sensitivities.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


@app.command()
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
    _warm(console, list(demo_steps()))
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


@app.command()
def describe(model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP)]) -> None:
    """Print the bodies, joints, mobility and tree of a model."""
    try:
        loaded = find_model(model)
    except MechgradError as error:
        fail(str(error), MISUSED)
    typer.echo(loaded.describe())


app.command()(check)
app.command()(gradient)
app.command()(linearise)
app.command()(optimize)
app.command()(simulate)


@app.command()
def warm(
    clean: Annotated[bool, typer.Option("--clean", help="First delete what other versions of mechgrad left.")] = False,
) -> None:
    """Compile every kernel now, so that no later command or script has to."""
    console = Console()
    if clean:
        removed = clean_cache(CACHE_DIR)
        for path in removed:
            console.print(f"removed {path}", highlight=False, soft_wrap=True)
        if not removed:
            console.print("nothing to remove: no machine code of other versions")
    _warm(console, list(warm_steps()))


@app.command()
def version() -> None:
    """Print the versions that a report of a problem should quote."""
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "numba", "scipy"))
    typer.echo(f"mechgrad {_own_version()} (Python {platform.python_version()}, {packages}, {platform.machine()})")


def _own_version() -> str:
    try:
        return metadata.version("mechgrad")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _warm(console: Console, steps: list[WarmStep]) -> None:
    """Compile or load kernels, with a bar; say afterwards which of the two it was."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    compiled: set[str] = set()
    start = time.perf_counter()
    with (
        Progress(*columns, console=console, transient=True) as progress,
        compile_notices(lambda kernel, seconds: tell(kernel, seconds)),
    ):
        task = progress.add_task("", total=len(steps))

        def tell(kernel: str, seconds: float | None) -> None:
            compiled.add(kernel)
            if seconds is None:
                about = f"{short(kernel)}, about {max(expected(kernel), 1.0):.0f} s"
                progress.update(task, description=f"compiling for this machine, once: {about}")

        for step in steps:
            progress.update(task, description=step.label)
            step.run()
            progress.advance(task)
    seconds = time.perf_counter() - start
    how = f"{len(compiled)} kernels compiled for this machine and kept" if compiled else "kernels loaded"
    console.print(f"{how}, {seconds:.1f} s", highlight=False)


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
