"""Whether there is room for what a computation is about to take: said before it is taken."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from mechgrad.errors import TooLargeError
from mechgrad.typing import Array

UNASKED = 1 << 28  # bytes that are taken without a look at what is there
_CGROUP = Path("/sys/fs/cgroup")

LENT, KEPT = 1 << 20, 1 << 26  # bytes of results that come from blocks used before, and of blocks that wait at most
_LINE = 64  # bytes that arrays begin with a multiple of
_waiting: dict[int, Array] = {}


class _Loan:
    """A block of memory that arrays look at; it waits for the next result when the last of them is gone."""

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        start = block.ctypes.data
        self.block = block
        self.__array_interface__ = {
            "data": (start + -start % _LINE, False), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        if sum(x.nbytes for x in list(_waiting.values())) + self.block.nbytes <= KEPT:
            _waiting[id(self.block)] = self.block


def empty(shape: tuple[int, ...], dtype: Any = float) -> Array:
    """An uninitialised array, like that of `numpy.empty`.

    Large ones take a block that an earlier result has left: the system hands out fresh memory in pages that it fills
    with zeros first, which takes longer than computing what goes in. At most KEPT bytes wait for another result.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if not LENT <= size <= KEPT:
        return np.empty(shape, kind)
    found = None
    for key, block in list(_waiting.items()):
        if size + _LINE <= block.nbytes <= 2 * size + _LINE and (found := _waiting.pop(key, None)) is not None:
            break
    if found is None:
        found = np.empty(size + _LINE, np.uint8)
    return np.asarray(_Loan(found, shape, kind))


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Raise unless so many bytes are there.

    >>> require_memory(1e18, "samples=10**15 of 60 coordinates", "Take fewer samples.")
    Traceback (most recent call last):
    mechgrad.errors.TooLargeError: samples=10**15 of 60 coordinates takes 888 PiB of memory, and ...
    """
    if needed <= UNASKED:
        return
    there = available_memory()
    if there is not None and needed > there:
        raise TooLargeError(f"{what} takes {as_text(needed)} of memory, and {as_text(there)} is there. {remedy}")


def available_memory() -> float | None:
    """Bytes that can be taken without swapping; None where the system does not tell."""
    found = [x for x in (_available_here(), _left_in_group()) if x is not None]
    return min(found, default=None)


def as_text(size: float) -> str:
    """A number of bytes with a unit a person reads.

    >>> as_text(5.2 * 2**30), as_text(800)
    ('5.2 GiB', '800 B')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024 or unit == "PiB":
            return f"{size:.3g} {unit}" if size < 1e5 else f"{size:.1e} {unit}"
        size /= 1024
    raise AssertionError


def _available_here() -> float | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):  # free ones; all of them where free ones are not told
        try:
            return float(os.sysconf(pages)) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            continue
    return None


def _left_in_group() -> float | None:
    """What the limit of a container leaves; files that are only cached give way."""
    try:
        limit, used = (float((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        statistics = (line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        cached = next((float(number) for name, number in statistics if name == "inactive_file"), 0.0)
    except (OSError, ValueError):  # no such limit: "max" is no number
        return None
    return max(limit - used + cached, 0.0)
