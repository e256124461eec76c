"""What people are told while kernels are compiled: which one, how long it should take, and how far it is.

Expected seconds are those that the kernel took on this machine before (`seconds.json` beside the folders of machine
code), or else those of the table that comes with the package, times how much slower or faster this machine has been.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from numba.core import event as numba_event

__all__ = ["CompileNotice", "Teller", "because", "compile_notices", "expected", "short", "watch"]

SHIPPED = Path(__file__).with_name("seconds.json")
LONG = 2.0
"""Seconds from which on a kernel is worth a line of its own."""
TICK = 1.0

_why: list[str] = []  # why machine code that came with the package is not used, until it was told
_names: dict[str, Path] = {}  # kernels that are told of -> where their seconds are remembered


def watch(name: str, folder: Path) -> None:
    """Tell of this kernel, and remember its seconds in the folder."""
    _names[name] = folder / "seconds.json"


def because(reason: str) -> None:
    """Tell this, if it is anything, before the first compilation."""
    _why[:] = [reason] if reason else []


def short(name: str) -> str:
    """The name of a kernel without what all have in common."""
    return name.removeprefix("mechgrad.").replace(".kernels.", ".")


def expected(name: str) -> float:
    """Seconds that compiling a kernel should take on this machine."""
    shipped, known = _table(SHIPPED), _table(_names[name]) if name in _names else {}
    if name in known:
        return known[name]
    ratios = [seconds / shipped[other] for other, seconds in known.items() if shipped.get(other, 0.0) > 0.5]
    pace = statistics.median(ratios) if ratios else 1.0
    usual = statistics.median(shipped.values()) if shipped else 5.0
    return shipped.get(name, usual) * pace


def _table(path: Path) -> dict[str, float]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in found.items() if 0.0 <= float(seconds) < 1e5}
    except (OSError, ValueError, TypeError, AttributeError):  # not there, or not ours
        return {}


def learn(name: str, seconds: float) -> None:
    """Remember how long a kernel took; where that cannot be written, nothing is lost but an estimate."""
    path = _names[name]
    table = _table(path) | {name: round(seconds, 2)}
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(table, indent=0, sort_keys=True), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def failed(event: Any) -> bool:
    """Whether a compilation ended with an exception; Numba's own `is_failed` says so of every end without details."""
    details = getattr(event, "_exc_details", None)
    return details is not None and details[0] is not None


class CompileNotice(numba_event.Listener):  # type: ignore[misc]
    """Tells whoever waits that a kernel is being compiled for this machine, and how long it took.

    `report(name, seconds)` is called with seconds=None when a compilation starts and with its duration at the end.
    """

    def __init__(self, report: Callable[[str, float | None], None]) -> None:
        self.report = report
        self._started: dict[str, float] = {}

    def _name(self, event: Any) -> str | None:
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__name__}"
        return name if name in _names else None

    def on_start(self, event: Any) -> None:
        if name := self._name(event):
            self._started[name] = time.perf_counter()
            self.report(name, None)

    def on_end(self, event: Any) -> None:
        if (name := self._name(event)) and name in self._started:
            seconds = time.perf_counter() - self._started.pop(name)
            if not failed(event):
                learn(name, seconds)
            self.report(name, seconds)


class Teller:
    """Lines on the error stream: one for the first kernel, one for each that takes long; a clock on terminals."""

    def __init__(self) -> None:
        self.told, self.total = 0, 0.0
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, name: str, seconds: float | None) -> None:
        if os.environ.get("MECHGRAD_QUIET"):
            return
        if seconds is None:
            self._begin(name, expected(name), sys.stderr)
        else:
            self.total += seconds
            self._end(sys.stderr)

    def _begin(self, name: str, about: float, stream: TextIO) -> None:
        if self.told and about < LONG:
            return
        while _why:
            print(f"mechgrad: {_why.pop()}; kernels are compiled instead.", file=stream, flush=True)
        ahead = "; `mechgrad warm` compiles everything ahead" if not self.told else f"; {self.total:.0f} s so far"
        self.told += 1
        text = f"mechgrad: compiling for this machine, once: {short(name)}, about {max(about, 1.0):.0f} s{ahead}"
        print(text, "...", file=stream, flush=True)
        if stream.isatty() and self._thread is None:
            self._stop = threading.Event()
            self._thread = threading.Thread(target=_clock, args=(about, self._stop, stream), daemon=True)
            self._thread.start()

    def _end(self, stream: TextIO) -> None:
        if self._thread is not None and self._stop is not None:
            self._stop.set()
            self._thread.join()
            self._thread = self._stop = None


def _clock(about: float, stop: threading.Event, stream: TextIO) -> None:
    """Seconds gone, over and over in one line, which is empty again in the end."""
    start = time.monotonic()
    while not stop.wait(TICK):
        gone = time.monotonic() - start
        stream.write(f"\r          {gone:.0f} of about {max(about, 1.0):.0f} s ")
        stream.flush()
    stream.write("\r" + " " * 40 + "\r")
    stream.flush()


@contextmanager
def compile_notices(report: Callable[[str, float | None], None]) -> Iterator[None]:
    """Within this block compilations are reported to `report` instead of to stderr."""
    listener = CompileNotice(report)
    numba_event.unregister("numba:compile", default_notice)
    numba_event.register("numba:compile", listener)
    try:
        yield
    finally:
        numba_event.unregister("numba:compile", listener)
        numba_event.register("numba:compile", default_notice)


default_notice = CompileNotice(Teller())
numba_event.register("numba:compile", default_notice)
