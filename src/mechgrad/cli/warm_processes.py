"""Warm steps on all cores: processes of their own take steps from one list; locks on disk see that no kernel is
compiled twice (`kernels/disk/locks.py`)."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from mechgrad.errors import MechgradError

__all__ = ["cores", "run_in_processes"]

Report = Callable[[str, float | None], None]
TICK = 0.2
"""Seconds between looks at what processes say."""

_messages: Any = None


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _prepare(messages: Any) -> None:
    """In a process: keep the way back, and be quiet, since the one bar of the parent says all."""
    global _messages
    _messages = messages
    os.environ["MECHGRAD_QUIET"] = "1"


def _run(label: str) -> None:
    """In a process: one warm step; begin and end of every compilation are told to the parent."""
    from mechgrad.cli.warm import warm_steps
    from mechgrad.kernels.disk.notices import compile_notices

    step = next(step for step in warm_steps() if step.label == label)
    with compile_notices(lambda kernel, seconds: _messages.put((kernel, seconds))):
        step.run()


def run_in_processes(labels: Sequence[str], jobs: int, report: Report, done: Callable[[], None]) -> None:
    """Run warm steps in so many processes, those that compile longest (the last of the list) first.

    report : told the name of a kernel, and None when it begins or its seconds when it ends
    done : called once per step that ended
    """
    spawned = multiprocessing.get_context("spawn")  # a copy of a process with threads may hang
    messages = spawned.SimpleQueue()

    def listen() -> None:
        while not messages.empty():
            report(*messages.get())

    with ProcessPoolExecutor(jobs, mp_context=spawned, initializer=_prepare, initargs=(messages,)) as pool:
        waiting = {pool.submit(_run, label) for label in reversed(labels)}
        try:
            while waiting:
                ended, waiting = wait(waiting, TICK, FIRST_COMPLETED)
                listen()
                for future in ended:
                    future.result()
                    done()
        except BrokenProcessPool as error:
            raise MechgradError(
                f"a process that compiled kernels ended by itself; {jobs} at once may need more memory than there is. "
                "What was compiled is kept: run `mechgrad warm --jobs 1`."
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    listen()
