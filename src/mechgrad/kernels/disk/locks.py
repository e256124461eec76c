"""A lock between processes, kept by the operating system: it ends with the process that holds it, however that ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["FileLock"]

PAUSE = 0.05
"""Seconds between attempts; short against any compilation, and Ctrl-C is heard meanwhile."""

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _leave(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _leave(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


class FileLock:
    """One file that one process at a time can hold. The file stays: only holding it means something."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self, longest: float, waiting: Callable[[], Any]) -> bool:
        """Whether it is held now: at once, or after another process let go within `longest` seconds.

        `waiting` is called once if another process holds it. False, too, where the file system knows no locks.
        """
        if self._handle is not None:
            return True
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return False
        start, told = time.monotonic(), False
        try:
            while True:
                try:
                    _take(handle)
                except OSError as error:
                    if not isinstance(error, BlockingIOError | PermissionError) or time.monotonic() - start > longest:
                        break
                else:
                    self._handle, handle = handle, -1
                    return True
                if not told:
                    told = True
                    waiting()
                time.sleep(PAUSE)
        finally:
            if handle >= 0:
                os.close(handle)
        return False

    def release(self) -> None:
        """Let go; nothing happens if it is not held."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            try:
                _leave(handle)
            finally:
                os.close(handle)
