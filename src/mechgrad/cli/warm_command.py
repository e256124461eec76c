"""The command `mechgrad warm`."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mechgrad.cli.console import MISUSED, fail
from mechgrad.cli.warm import WarmStep, warm_steps
from mechgrad.cli.warm_processes import cores, run_in_processes
from mechgrad.errors import MechgradError
from mechgrad.kernels.disk.notices import compile_notices, expected, short
from mechgrad.kernels.disk.place import clean as clean_cache
from mechgrad.kernels.jit import CACHE_DIR

__all__ = ["run_steps", "warm"]


def warm(
    clean: Annotated[bool, typer.Option("--clean", help="First delete what other versions of mechgrad left.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Processes that compile; as many as there are cores."),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help='Steps whose name holds this text, "gradients" for instance.')
    ] = "",
) -> None:
    """Compile every kernel now, so that no later command or script has to."""
    console = Console()
    if clean:
        removed = clean_cache(CACHE_DIR)
        for path in removed:
            console.print(f"removed {path}", highlight=False, soft_wrap=True)
        if not removed:
            console.print("nothing to remove: no machine code of other versions")
    steps = [step for step in warm_steps() if only in step.label]
    if not steps:
        names = sorted({step.label.split(",")[0] for step in warm_steps()})
        fail(f"no step is called {only!r}; there are {', '.join(names)}.", MISUSED)
    try:
        run_steps(console, steps, jobs or cores())
    except MechgradError as error:
        fail(str(error))


def run_steps(console: Console, steps: list[WarmStep], jobs: int = 1) -> None:
    """Compile or load kernels, with a bar; say afterwards which of the two it was.

    jobs : processes; one is this process, which then has the kernels loaded
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    compiled: set[str] = set()
    now: dict[str, None] = {}  # being compiled, in the order in which they began
    jobs = min(jobs, len(steps))
    start = time.perf_counter()

    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(steps))

        def tell(kernel: str, seconds: float | None) -> None:
            compiled.add(kernel)
            if seconds is None:
                now[kernel] = None
            else:
                now.pop(kernel, None)
            if now:
                about = ", ".join(f"{short(name)} about {max(expected(name), 1.0):.0f} s" for name in list(now)[:2])
                more = f" and {len(now) - 2} more" if len(now) > 2 else ""
                progress.update(task, description=f"compiling for this machine, once: {about}{more}")

        if jobs > 1:
            run_in_processes([step.label for step in steps], jobs, tell, lambda: progress.advance(task))
        else:
            with compile_notices(tell):
                for step in steps:
                    progress.update(task, description=step.label)
                    step.run()
                    progress.advance(task)
    seconds = time.perf_counter() - start
    how = f"{len(compiled)} kernels compiled for this machine and kept" if compiled else "kernels loaded"
    by = f", {jobs} processes" if jobs > 1 else ""
    console.print(f"{how}, {seconds:.1f} s{by}", highlight=False)
