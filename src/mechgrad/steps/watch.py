"""A march that is watched while it runs: it is asked, in the calls that listen for Ctrl-C, how far it has come.

Marches write the states that they report one row after the other. Rows that are still to come are not numbers, so the
last one that is there is where the march stands; steps, and the motion, are those of a march that nobody watches.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kernels.interrupt import EVERY, ended_by
from mechgrad.typing import Array, FloatArray

Told = Callable[[float, Array], object]
"""What is told of a march that is under way: the time [s] and the coordinates q (n_q,) there."""

NOT_YET = float("nan")


@final
class Watch(threading.Event):
    """An event that marches ask whether they are to end; it never says so, and looks how far they are.

    told : called with (t, q), about twenty times a second, and at the end of the march; what it raises ends the march

    >>> seen = []
    >>> watch = Watch(lambda t, q: seen.append(t))
    >>> watch.over(np.array([0.0, 0.5]), Q := np.array([[0.0], [0.0]]))
    >>> Q[1, 0] = 0.1
    >>> watch.is_set(), seen
    (False, [0.5])
    """

    def __init__(self, told: Told) -> None:
        super().__init__()
        self._told, self._row, self._last = told, 0, -1.0
        self._t: FloatArray = np.zeros(0)
        self._Q: Array = np.zeros((0, 0))

    def over(self, t: FloatArray, Q: Array) -> None:
        """The rows that a march is about to fill, one per instant, behind the first."""
        Q[1:] = NOT_YET
        self._t, self._Q, self._row = t, Q, 0

    def is_set(self) -> bool:
        """False; looks at the march."""
        self.look()
        return False

    def look(self) -> None:
        """Tell where the march stands, if that is news, and about twenty times a second at most."""
        now = time.perf_counter()
        if now - self._last < 0.8 * EVERY or not len(self._Q):
            return
        there = np.isfinite(self._Q[self._row + 1 :, 0])
        more = int(there.argmin()) if not there.all() else len(there)
        if more:
            self._row += more
            self.tell(float(self._t[self._row]), self._Q[self._row])
            self._last = time.perf_counter()

    def tell(self, t: float, q: Array) -> None:
        """Say where the march is."""
        _here.telling = True
        try:
            self._told(t, np.real(q).copy())
        finally:
            _here.telling = False


_here = threading.local()


def watching() -> Watch | None:
    """The watch over the march of this thread, if there is one."""
    found: Watch | None = getattr(_here, "watch", None)
    return found


@contextmanager
def watched(watch: Watch | None) -> Iterator[None]:
    """Within the block the march of this thread is watched; by nobody if there is no watch."""
    if getattr(_here, "telling", False):
        raise InputError(
            "a progress function is called in the middle of a march and cannot begin another one: keep t and q, and "
            "simulate when the march is over."
        )
    before, _here.watch = watching(), watch
    try:
        with nullcontext() if watch is None else ended_by(watch):
            yield
    finally:
        _here.watch = before
