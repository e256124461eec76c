"""The command `mechgrad warm`."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mechgrad.cli.warm import WarmStep, warm_steps
from mechgrad.kernels.disk.notices import compile_notices, expected, short
from mechgrad.kernels.disk.place import clean as clean_cache
from mechgrad.kernels.jit import CACHE_DIR

__all__ = ["run_steps", "warm"]


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
    run_steps(console, list(warm_steps()))


def run_steps(console: Console, steps: list[WarmStep]) -> None:
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
